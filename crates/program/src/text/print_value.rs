//! Values as text.

use std::{collections::HashMap, fmt::Write};

use loopwright_kernel_ir::{DType, Precision};

use super::{
    names::{CALLED, Names, is_math},
    operators::{binding, spelling},
};
use crate::{MemRef, ShuffleMode, UnOp, Value, ValueKind, Var, VarId};

/// The modes of shuffles with their names in texts.
pub(super) const SHUFFLES: [(ShuffleMode, &str); 4] = [
    (ShuffleMode::Xor, "shuffle_xor"),
    (ShuffleMode::Down, "shuffle_down"),
    (ShuffleMode::Up, "shuffle_up"),
    (ShuffleMode::Index, "shuffle_index"),
];

/// Prints values of a kernel or of the host.
pub(super) struct ValuePrinter<'a> {
    pub names: &'a Names,
    /// The printed names of the kernel's variables.
    pub variables: Vec<String>,
}

/// The printed names of variables: their names, followed by a number from the second one of a name
/// on, as in `i.1`.
pub(super) fn labels(variables: &[Var]) -> Vec<String> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let label = |var: &Var, number: usize| match number {
        0 => var.name.to_string(),
        number => format!("{}.{number}", var.name),
    };
    let mut labels = Vec::with_capacity(variables.len());
    for var in variables {
        let number = seen.entry(&var.name).or_default();
        labels.push(label(var, *number));
        *number += 1;
    }
    labels
}

impl ValuePrinter<'_> {
    pub fn text(&self, v: &Value) -> String {
        let mut out = String::new();
        self.above(&mut out, v, binding::OR);
        out
    }

    pub fn list(&self, values: &[Value]) -> String {
        let mut out = String::new();
        self.listed(&mut out, values);
        out
    }

    pub fn element(&self, element: &MemRef) -> String {
        let mut out = String::new();
        self.access(&mut out, element);
        out
    }

    pub fn variable(&self, var: VarId) -> &str {
        self.variables.get(var.0).map_or("?", String::as_str)
    }

    /// Parenthesised if its precedence is below `least`.
    fn above(&self, out: &mut String, v: &Value, least: u8) {
        let strength = match (&v.kind, self.is_said(v)) {
            (_, true) => binding::ATOM,
            (ValueKind::Unary(UnOp::Not, _), _) => binding::NOT,
            (ValueKind::Unary(..), _) => binding::SIGN,
            (ValueKind::Binary(op, ..), _) => spelling(*op).map_or(binding::ATOM, |(_, strength)| strength),
            _ => binding::ATOM,
        };
        if strength < least {
            out.push('(');
            self.value(out, v);
            out.push(')');
        } else {
            self.value(out, v);
        }
    }

    /// Whether the type has to be written around the value.
    fn is_said(&self, v: &Value) -> bool {
        match &v.kind {
            ValueKind::Int(_) => !v.dtype.is_integer(),
            ValueKind::Float(_) => !v.dtype.is_float(),
            ValueKind::Cast(_) => false,
            // The name determines the type.
            ValueKind::Param(name) => !self.is_strange(name) && self.names.scalar_of(name) != Some(v.dtype),
            kind => self.names.derived(kind) != Some(v.dtype),
        }
    }

    /// Whether the name of a scalar is ambiguous by itself.
    fn is_strange(&self, name: &str) -> bool {
        !self.names.variables_of(name).is_empty() || self.names.scalar_of(name).is_none()
    }

    fn value(&self, out: &mut String, v: &Value) {
        if self.is_said(v) {
            let _ = write!(out, "typed({}, ", v.dtype);
            self.bare(out, v);
            out.push(')');
        } else {
            self.bare(out, v);
        }
    }

    fn bare(&self, out: &mut String, v: &Value) {
        // Writing to a string does not fail.
        let _ = match &v.kind {
            ValueKind::Int(value) if v.dtype.is_integer() && v.dtype != self.names.index => {
                write!(out, "{value}{}", v.dtype)
            }
            ValueKind::Int(value) => write!(out, "{value}"),
            ValueKind::Float(value) => {
                out.push_str(&float(*value, if v.dtype.is_float() { v.dtype } else { DType::F64 }));
                Ok(())
            }
            ValueKind::Bool(value) => write!(out, "{value}"),
            ValueKind::Var(var) => write!(out, "{}", self.variable(*var)),
            ValueKind::Param(name) if self.is_strange(name) => write!(out, "param({name}: {})", v.dtype),
            ValueKind::Param(name) => write!(out, "{name}"),
            ValueKind::BlockIdx(dim) => write!(out, "block.{dim}"),
            ValueKind::ThreadIdx(dim) => write!(out, "thread.{dim}"),
            ValueKind::Load(element) => {
                self.access(out, element);
                Ok(())
            }
            ValueKind::Unary(op, a) => {
                out.push_str(match op {
                    UnOp::Neg => "-",
                    UnOp::Not => "not ",
                    UnOp::BitNot => "~",
                });
                match (op, &a.kind) {
                    // `-5` is a literal.
                    (UnOp::Neg, ValueKind::Int(_) | ValueKind::Float(_)) => {
                        out.push('(');
                        self.value(out, a);
                        out.push(')');
                    }
                    (UnOp::Not, _) => self.above(out, a, binding::NOT),
                    _ => self.above(out, a, binding::SIGN),
                }
                Ok(())
            }
            ValueKind::Binary(op, a, b) => {
                match spelling(*op) {
                    Some((text, strength)) => {
                        // Comparisons do not associate.
                        let left = if strength == binding::COMPARE { strength + 1 } else { strength };
                        self.above(out, a, left);
                        let _ = write!(out, " {text} ");
                        self.above(out, b, strength + 1);
                    }
                    None => {
                        let name = CALLED.iter().find(|(known, _)| known == op).map_or("?", |(_, n)| n);
                        self.call(out, name, &[a, b]);
                    }
                }
                Ok(())
            }
            ValueKind::Select(c, a, b) => {
                self.call(out, "if", &[c, a, b]);
                Ok(())
            }
            ValueKind::Cast(a) => {
                let _ = write!(out, "cast({}, ", v.dtype);
                self.value(out, a);
                out.push(')');
                Ok(())
            }
            ValueKind::Call { function, precision, args } => {
                let call = if is_math(function) { "" } else { "call " };
                let fast = if *precision == Precision::Fast { "fast." } else { "" };
                let _ = write!(out, "{call}{fast}{function}(");
                self.listed(out, args);
                out.push(')');
                Ok(())
            }
            ValueKind::Shuffle { mode, value, operand, width } => {
                let name = SHUFFLES.iter().find(|(known, _)| known == mode).map_or("?", |(_, n)| n);
                let _ = write!(out, "{name}(");
                self.value(out, value);
                out.push_str(", ");
                self.value(out, operand);
                write!(out, ", {width})")
            }
            ValueKind::Any(a) => {
                self.call(out, "any", &[a]);
                Ok(())
            }
            ValueKind::Ballot(a) => {
                self.call(out, "ballot", &[a]);
                Ok(())
            }
            ValueKind::LeadingZeros(a) => {
                self.call(out, "leading_zeros", &[a]);
                Ok(())
            }
        };
    }

    fn call(&self, out: &mut String, function: &str, args: &[&Value]) {
        out.push_str(function);
        out.push('(');
        for (k, a) in args.iter().enumerate() {
            out.push_str(if k > 0 { ", " } else { "" });
            self.value(out, a);
        }
        out.push(')');
    }

    fn listed(&self, out: &mut String, values: &[Value]) {
        for (k, v) in values.iter().enumerate() {
            out.push_str(if k > 0 { ", " } else { "" });
            self.value(out, v);
        }
    }

    /// An element, with its offset if that does not follow from the subscripts.
    fn access(&self, out: &mut String, element: &MemRef) {
        let held = self.names.held(element.memory);
        let _ = write!(out, "{}[", held.map_or("?", |h| &*h.name));
        self.listed(out, &element.subscripts);
        let follows = held.and_then(|h| h.layout.offset(&element.subscripts, self.names.index));
        if follows.as_ref() != Some(&*element.offset) {
            out.push_str(if element.subscripts.is_empty() { "@ " } else { " @ " });
            self.value(out, &element.offset);
        }
        out.push(']');
    }
}

/// A floating-point constant that reads back to the same bits.
fn float(value: f64, dtype: DType) -> String {
    if value.is_nan() {
        return match value.to_bits() {
            bits if bits == f64::NAN.to_bits() => format!("{dtype}.nan"),
            bits => format!("{dtype}.nan({bits:#x})"),
        };
    }
    if value.is_infinite() {
        return format!("{}{dtype}.inf", if value < 0.0 { "-" } else { "" });
    }
    format!("{value:?}{dtype}")
}
