//! Slots of rings are counted up, instead of being divided for, in loops over products of
//! fragments.
//!
//! A ring of `S` slots has subscripts `(k + c) % S`, where `k` counts the loop. All addresses of an
//! iteration depend on them, those of its first loads among them; a quotient by a constant, which
//! is a product of 64 bits and a shift, then stands at the beginning of each iteration. In a loop
//! whose products are made by the fragments of whole warps there are few warps to hide it:
//! registers hold fragments. So such a loop keeps each remainder that it uses in a variable, as one
//! would by hand. Other loops have many warps, or need each issue slot for their arithmetic, and
//! divide.
//!
//! The counter advances by one, and nothing else assigns it, so that after an iteration the
//! remainder of `k + c` is the one of `k + c + 1` before it: a variable that is there, or the
//! variable plus one, or 0. Subscripts are not negative where they are used, so that C's remainder
//! is the one meant; of offsets with the same remainder the greatest one is the one to begin with.
//! A loop may begin before one of them is used, though. A variable that begins below 0 is right
//! again when it has come to 0, but until then nothing may be taken over from it.

use std::collections::BTreeMap;

use loopwright_program::{BinOp, Step, Stmt, Value, ValueKind, VarId};

use crate::context::Context;

/// The remainders of a loop's counter that variables hold.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    counter: VarId,
    rings: Vec<Ring>,
}

/// The slots of the buffers that have one number of slots, which are counted together.
#[derive(Clone, Debug)]
struct Ring {
    slots: i64,
    /// By the remainder of the offset `c`: the offset, and the variable.
    variables: BTreeMap<i64, (i64, String)>,
}

/// `(counter + offset) % slots`.
struct Remainder {
    counter: VarId,
    offset: i64,
    slots: i64,
}

impl Remainder {
    fn of(value: &Value) -> Option<Remainder> {
        let ValueKind::Binary(BinOp::TruncRem, dividend, divisor) = &value.kind else { return None };
        let slots = divisor.as_int().filter(|slots| *slots > 1)?;
        let (counter, offset) = match &dividend.kind {
            ValueKind::Var(counter) => (*counter, 0),
            ValueKind::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) => {
                let ValueKind::Var(counter) = a.kind else { return None };
                let offset = b.as_int()?;
                (counter, if *op == BinOp::Add { offset } else { offset.checked_neg()? })
            }
            _ => return None,
        };
        Some(Remainder { counter, offset, slots })
    }
}

/// Whether a value is evidently not negative.
fn is_nonnegative(value: &Value) -> bool {
    match &value.kind {
        ValueKind::Binary(BinOp::Max, a, b) => is_nonnegative(a) || is_nonnegative(b),
        _ => value.as_int().is_some_and(|value| value >= 0),
    }
}

impl Slots {
    /// The variable that holds a value in this loop, if one does.
    fn holds(&self, value: &Value) -> Option<&str> {
        let remainder = Remainder::of(value).filter(|found| found.counter == self.counter)?;
        let ring = self.rings.iter().find(|ring| ring.slots == remainder.slots)?;
        let (_, name) = ring.variables.get(&remainder.offset.rem_euclid(ring.slots))?;
        Some(name)
    }
}

impl Context<'_> {
    /// The variable that holds a value, if one does.
    pub(crate) fn slot(&self, value: &Value) -> Option<String> {
        self.slots.borrow().iter().find_map(|slots| slots.holds(value).map(str::to_owned))
    }

    /// The remainders that a loop counts up, if it does so.
    pub(crate) fn slots_of(&self, stmt: &Stmt) -> Option<Slots> {
        let Stmt::For { var: counter, step: Step::Add(1), unroll: false, body, .. } = stmt else {
            return None;
        };
        let mut has_fragments = false;
        let mut rings: BTreeMap<i64, BTreeMap<i64, i64>> = BTreeMap::new();
        let mut add = |value: &Value| {
            if let Some(found) = Remainder::of(value).filter(|found| found.counter == *counter) {
                let offsets = rings.entry(found.slots).or_default();
                let offset = offsets.entry(found.offset.rem_euclid(found.slots)).or_insert(found.offset);
                *offset = found.offset.max(*offset);
            }
        };
        Stmt::visit(body, &mut |stmt| {
            has_fragments |= matches!(stmt, Stmt::Mma { .. });
            stmt.visit_values(&mut |value| {
                if let ValueKind::Load(element) = &value.kind {
                    element.subscripts.iter().for_each(|s| s.visit(&mut add));
                }
            });
            for accessed in stmt.written().into_iter().chain(stmt.source()) {
                accessed.element.subscripts.iter().for_each(|s| s.visit(&mut add));
            }
        });
        if !has_fragments || rings.is_empty() {
            return None;
        }
        let alone = rings.len() == 1 && self.slots.borrow().is_empty();
        let named = |slots: i64, residue: i64| {
            let base = match alone {
                true => "slot".to_owned(),
                false => format!("{}_slot_of_{slots}", self.var(*counter)),
            };
            self.free_name(&if residue == 0 { base } else { format!("{base}_{residue}") })
        };
        let rings = rings.into_iter().map(|(slots, offsets)| Ring {
            slots,
            variables: offsets
                .into_iter()
                .map(|(residue, offset)| (residue, (offset, named(slots, residue))))
                .collect(),
        });
        Some(Slots { counter: *counter, rings: rings.collect() })
    }

    /// What the variables are, for a comment.
    pub(crate) fn about_slots(&self, slots: &Slots) -> String {
        let counter = self.var(slots.counter);
        let mut about = Vec::new();
        for ring in &slots.rings {
            for (residue, (_, name)) in &ring.variables {
                about.push(match residue {
                    0 => format!("{name} is {counter} % {}", ring.slots),
                    _ => format!("{name} is ({counter} + {residue}) % {}", ring.slots),
                });
            }
        }
        about.join(", ")
    }

    /// Their declarations, behind that of the counter.
    pub(crate) fn first_slots(&self, slots: &Slots, lower: &Value) -> String {
        let mut text = String::new();
        for ring in &slots.rings {
            for (offset, name) in ring.variables.values() {
                let first = match lower.as_int().and_then(|lower| lower.checked_add(*offset)) {
                    Some(first) => Value::int(lower.dtype, first.rem_euclid(ring.slots)),
                    None => {
                        let alone = ring.variables.len() == 1;
                        let rem = match alone || *offset >= 0 && is_nonnegative(lower) {
                            true => BinOp::TruncRem,
                            false => BinOp::FloorMod,
                        };
                        let offset = Value::int(lower.dtype, *offset);
                        let dividend = match offset.as_int() {
                            Some(0) => lower.clone(),
                            _ => Value::binary(BinOp::Add, lower.clone(), offset),
                        };
                        Value::binary(rem, dividend, Value::int(lower.dtype, ring.slots))
                    }
                };
                text += &format!(", {name} = {}", self.converted(&first));
            }
        }
        text
    }

    /// The statements that count them up, at the end of an iteration.
    pub(crate) fn next_slots(&self, slots: &Slots) -> Vec<String> {
        let mut lines = Vec::new();
        let c_type = self.kernel.vars.get(slots.counter.0).map_or("int", |v| self.needs.c_type(v.dtype));
        for ring in &slots.rings {
            let name = |residue: i64| {
                ring.variables.get(&residue.rem_euclid(ring.slots)).map(|(_, name)| name.as_str())
            };
            // All of them: the first one's value goes to the last one.
            let Some(first) = (0..ring.slots).find(|residue| name(residue - 1).is_none()) else {
                let least = name(0).unwrap_or_default();
                let passed = self.free_name(&format!("passed_{least}"));
                lines.push(format!("const {c_type} {passed} = {least};"));
                for residue in 0..ring.slots {
                    let next = if residue + 1 == ring.slots { Some(&*passed) } else { name(residue + 1) };
                    if let (Some(own), Some(next)) = (name(residue), next) {
                        lines.push(format!("{own} = {next};"));
                    }
                }
                continue;
            };
            // Each before the one that it takes its value from.
            for residue in first..first + ring.slots {
                let Some(own) = name(residue) else { continue };
                lines.push(match name(residue + 1) {
                    Some(next) => format!("{own} = {next};"),
                    None => format!("{own} = {own} == {} ? 0 : {own} + 1;", ring.slots - 1),
                });
            }
        }
        lines
    }
}
