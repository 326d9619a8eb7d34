//! Whether all lanes of a warp come to its exchanges, and take values from lanes that are there.
//!
//! Shuffles, votes, look-backs and barriers of a warp are printed for all of its lanes: the
//! conditions and bounds around them must have one value for all lanes of each warp. So must the
//! conditions of values around them: of `c ? a : b` and `c && a` a lane evaluates only what `c`
//! leaves. What is plain is said by [`Varying`]; otherwise two lanes of a warp that differ are
//! looked for, as two threads of a block are for its barriers.
//!
//! The last warp of a block may have fewer lanes than others. Those that take a value there have to
//! take it from one of these; a lane outside of the group that exchanges is not asked for its
//! value.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic};
use loopwright_poly::{Result, System};

use super::{
    Finding,
    integers::Asked,
    reading::{Decision, Reading, ScopeId},
    thread,
    uniform::{Divergence, Varying},
};
use crate::{BinOp, Scope as SyncScope, ShuffleMode, Stmt, Value, ValueKind};

/// A condition or bounds around an exchange, and the scope in which they are evaluated.
type Around<'p> = (ScopeId, Decision<'p>);

/// A statement or a value that all lanes of a warp have to reach.
struct Exchange<'p> {
    what: &'static str,
    note: &'p str,
    /// The scope in which it stands.
    scope: ScopeId,
    around: Vec<Around<'p>>,
    /// What is taken from which lane, if it is a shuffle.
    shuffle: Option<&'p Value>,
}

/// The walk through the text of a kernel.
struct Walk<'a, 'p> {
    /// The scopes of the statements, in the order of the text.
    places: &'a [ScopeId],
    next: usize,
    around: Vec<Around<'p>>,
    found: Vec<Exchange<'p>>,
}

impl<'p> Walk<'_, 'p> {
    fn body(&mut self, body: &'p [Stmt]) {
        for stmt in body {
            let Some(scope) = self.places.get(self.next).copied() else { return };
            self.next += 1;
            match stmt {
                Stmt::Sync { scope: SyncScope::Warp, note } => {
                    self.exchange("barrier", &note.text, scope, None)
                }
                Stmt::LookBack(_) => self.exchange("look-back", "", scope, None),
                _ => {}
            }
            match stmt {
                Stmt::For { lower, upper, step, body, .. } => {
                    self.value(lower, scope);
                    // It is evaluated again in each iteration.
                    self.around.push((scope, Decision::Bounds(lower, upper, *step)));
                    self.value(upper, scope);
                    self.body(body);
                    self.around.pop();
                }
                Stmt::If { cond, body, otherwise, note } => {
                    self.value(cond, scope);
                    let asked = if note.is_predicate() { Asked::Indices } else { Asked::All };
                    for (side, body) in [(true, body), (false, otherwise)] {
                        self.around.push((scope, Decision::If(cond, side, asked)));
                        self.body(body);
                        self.around.pop();
                    }
                }
                _ => {
                    stmt.each_value(&mut |value| self.value(value, scope));
                    stmt.bodies().for_each(|body| self.body(body));
                }
            }
        }
    }

    fn exchange(&mut self, what: &'static str, note: &'p str, scope: ScopeId, shuffle: Option<&'p Value>) {
        self.found.push(Exchange { what, note, scope, around: self.around.clone(), shuffle });
    }

    fn value(&mut self, value: &'p Value, scope: ScopeId) {
        match &value.kind {
            ValueKind::Shuffle { .. } => self.exchange("shuffle", "", scope, Some(value)),
            ValueKind::Any(_) | ValueKind::Ballot(_) => self.exchange("vote", "", scope, None),
            _ => {}
        }
        let mut under = |cond: &'p Value, side: bool, value: &'p Value| {
            self.around.push((scope, Decision::If(cond, side, Asked::Indices)));
            self.value(value, scope);
            self.around.pop();
        };
        match &value.kind {
            ValueKind::Select(cond, a, b) => {
                under(cond, true, a);
                under(cond, false, b);
                self.value(cond, scope);
            }
            ValueKind::Binary(op @ (BinOp::And | BinOp::Or), a, b) => {
                under(a, *op == BinOp::And, b);
                self.value(a, scope);
            }
            _ => value.children().into_iter().for_each(|child| self.value(child, scope)),
        }
    }
}

impl<'p> Reading<'p> {
    fn exchanges(&self) -> Vec<Exchange<'p>> {
        let (around, found) = (Vec::new(), Vec::new());
        let mut walk = Walk { places: &self.places, next: 0, around, found };
        walk.body(&self.kernel.body);
        walk.found
    }

    /// The first exchange to which some lanes of a warp may come and others not.
    pub fn divided_exchange(
        &mut self,
        context: &[Constraint],
        queries: &mut usize,
    ) -> Result<Option<Divergence>> {
        let mut found = self.exchanges();
        found.retain(|exchange| !exchange.around.is_empty());
        if found.is_empty() {
            return Ok(None);
        }
        let varying = Varying::new(self.program, self.kernel, SyncScope::Warp);
        let mut asked: Vec<Around<'_>> = Vec::new();
        for Exchange { what, note, around, .. } in found {
            for (scope, decision) in around {
                if !varying.decision(&decision) || asked.contains(&(scope, decision)) {
                    continue;
                }
                if let Some(case) = self.differs(SyncScope::Warp, (scope, decision), context, queries)? {
                    return Ok(Some(Divergence { what, among: SyncScope::Warp, barrier: note.into(), case }));
                }
                asked.push((scope, decision));
            }
        }
        Ok(None)
    }

    /// What is wrong with a shuffle in which a lane takes a value from one that is no thread.
    pub fn absent_source(&mut self, queries: &mut usize) -> Result<Option<Finding>> {
        let threads = i64::from(self.kernel.threads());
        let found = Diagnostic::new(
            "divergent-shuffle",
            format!("a shuffle of `{}` takes a value from a lane that is no thread", self.kernel.name),
        );
        let mut asked: Vec<(ScopeId, &Value)> = Vec::new();
        for Exchange { scope, shuffle, .. } in self.exchanges() {
            let Some(shuffle) = shuffle else { continue };
            let ValueKind::Shuffle { mode, operand, width, .. } = &shuffle.kind else { continue };
            let width = i64::from(*width).max(1);
            // Groups begin at multiples of their width: all but the last one are whole.
            if threads % width == 0 || asked.contains(&(scope, shuffle)) {
                continue;
            }
            asked.push((scope, shuffle));
            let mut all = self.context.to_vec();
            all.extend(self.scope(scope).rows.iter().cloned());
            let own = self.number_in_block()?;
            let (begin, end) = (threads - threads % width, threads - threads % width + width);
            all.push(Constraint::le(&Aff::constant(begin), &own)?);
            let Some(mut cases) =
                self.cases_of_source(scope, (*mode, operand), &own, (begin, end), threads)?
            else {
                *queries += 1;
                match System::new(&all)?.is_empty()? {
                    true => continue,
                    false => return Ok(Some(Finding::Unknown(Box::new(found)))),
                }
            };
            let exact = self.scope(scope).exact;
            for case in &mut cases {
                case.extend(all.iter().cloned());
                *queries += 1;
                let system = System::new(case)?;
                if system.is_empty()? {
                    continue;
                }
                let point = if exact { system.sample(&BTreeMap::new())? } else { None };
                let Some(point) = point else { return Ok(Some(Finding::Unknown(Box::new(found)))) };
                let witness = format!(
                    "thread {} of block {}",
                    thread(&point, "", "thread"),
                    thread(&point, "", "block")
                );
                return Ok(Some(Finding::Refuted(Box::new(found.witness(witness)))));
            }
        }
        Ok(None)
    }

    /// The cases in which a thread of the last group of a block takes a value from a lane behind
    /// the last thread; `None` where it is not known from which it takes one. The group has the
    /// numbers from `begin` on, to that before `end`.
    fn cases_of_source(
        &mut self,
        scope: ScopeId,
        (mode, operand): (ShuffleMode, &Value),
        own: &Aff,
        (begin, end): (i64, i64),
        threads: i64,
    ) -> Result<Option<Vec<Vec<Constraint>>>> {
        let absent = |source: &Aff| -> Result<Vec<Constraint>> {
            Ok(vec![
                Constraint::le(&Aff::constant(threads), source)?,
                Constraint::lt(source, &Aff::constant(end))?,
            ])
        };
        if let (ShuffleMode::Xor, Some(mask)) = (mode, operand.as_int()) {
            let takes = |lane: &i64| {
                let source = begin + ((lane - begin) ^ mask);
                (threads..end).contains(&source)
            };
            let of = |lane| Ok(vec![Constraint::equal(own, &Aff::constant(lane))?]);
            return (begin..threads).filter(takes).map(of).collect::<Result<_>>().map(Some);
        }
        let Some(by) = self.at(scope, |this| this.aff(operand))? else { return Ok(None) };
        let source = match mode {
            ShuffleMode::Xor => return Ok(None),
            ShuffleMode::Down => own.add(&by)?,
            ShuffleMode::Up => own.sub(&by)?,
            ShuffleMode::Index => by.modulo(end - begin)?.add_constant(begin)?,
        };
        Ok(Some(vec![absent(&source)?]))
    }
}
