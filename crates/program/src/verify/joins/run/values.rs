//! Values of the text, for all threads of the block at once.

use std::rc::Rc;

use loopwright_kernel_ir::DType;
use loopwright_poly::Table;

use super::{
    super::{
        known::{Cell, Known, Values, computed, known, rounded},
        parts::Parts,
        terms::{Op, Term},
    },
    Run, Stop,
};
use crate::{BinOp, Memory, ShuffleMode, UnOp, Value, ValueKind};

impl Run<'_> {
    /// An integer in one thread of those that run.
    pub(super) fn int(&mut self, value: &Value, thread: usize, active: &[bool]) -> Result<i64, Stop> {
        if let ValueKind::Int(v) = value.kind {
            return Ok(v);
        }
        let mut only = vec![false; self.threads];
        only[thread] = true;
        Ok(self.ints(value, &only, active)?[thread])
    }

    /// An integer in each of the wanted threads; 0 in the others.
    pub(super) fn ints(&mut self, value: &Value, wanted: &[bool], active: &[bool]) -> Result<Vec<i64>, Stop> {
        if let ValueKind::Int(v) = value.kind {
            return Ok(vec![v; self.threads]);
        }
        let values = self.of_block(value, wanted, active)?;
        let int = |(thread, wanted): (usize, &bool)| match values.at(thread) {
            Known::Int(v) => Ok(*v),
            _ if !wanted => Ok(0),
            _ => Err(Stop::NotFollowed),
        };
        wanted.iter().enumerate().map(int).collect()
    }

    /// The subscripts of an element in each of the wanted threads; none in the others.
    pub(super) fn subscripts(
        &mut self,
        of: &[Value],
        wanted: &[bool],
        active: &[bool],
    ) -> Result<Vec<Vec<i64>>, Stop> {
        let mut all = Vec::with_capacity(of.len());
        for subscript in of {
            all.push(self.ints(subscript, wanted, active)?);
        }
        let own = |thread: usize| match wanted[thread] {
            true => all.iter().map(|at| at[thread]).collect(),
            false => Vec::new(),
        };
        Ok((0..self.threads).map(own).collect())
    }

    /// The values of all threads at once. Only those of wanted threads, which are among those that
    /// run, can be relied on.
    pub(in super::super) fn of_block(
        &mut self,
        value: &Value,
        wanted: &[bool],
        active: &[bool],
    ) -> Result<Values, Stop> {
        let threads = self.threads;
        Ok(match &value.kind {
            ValueKind::Int(v) => Values::same(Known::Int(*v)),
            ValueKind::Bool(v) => Values::same(Known::Int((*v).into())),
            ValueKind::Float(v) => Values::same(Known::Float(rounded(*v, value.dtype))),
            ValueKind::ThreadIdx(axis) => {
                (0..threads).map(|t| Known::Int(self.coordinates(t)[*axis] as i64)).collect()
            }
            ValueKind::Var(var) => self.values(&Cell::Var(*var)).clone(),
            ValueKind::Cast(a) if a.dtype == value.dtype => return self.of_block(a, wanted, active),
            ValueKind::Cast(a) => {
                let values = self.of_block(a, wanted, active)?;
                let cast = |of: &Known| match of.term().map(|term| term.cast(a.dtype, value.dtype)) {
                    Some(Term::Int(v)) => Known::Int(v),
                    Some(Term::Float(v)) => Known::Float(v),
                    term => known(term),
                };
                values.distinct().iter().map(cast).collect()
            }
            ValueKind::Load(element) => match element.memory {
                Memory::Private(array) => {
                    match self.element_of_all(array, &element.subscripts, wanted, active)? {
                        Some(cell) => self.values(&cell).clone(),
                        None => Values::same(Known::Nothing),
                    }
                }
                Memory::Shared(array) => {
                    let all = self.subscripts(&element.subscripts, wanted, active)?;
                    let at = |(at, wanted): (Vec<i64>, &bool)| match wanted {
                        true => self.shared.get(&(array, at)).cloned().unwrap_or(Known::Nothing),
                        false => Known::Nothing,
                    };
                    all.into_iter().zip(wanted).map(at).collect()
                }
                Memory::Global(_) => return Err(Stop::NotFollowed),
            },
            ValueKind::Shuffle { mode, value, operand, width } => {
                let operands = self.ints(operand, wanted, active)?;
                let width = i64::from(*width).max(1);
                let mut from = vec![None; threads];
                let mut read = vec![false; threads];
                for thread in (0..threads).filter(|t| wanted[*t]) {
                    // Groups begin at multiples of their width, in each warp.
                    let (own, operand) = (thread as i64, operands[thread]);
                    let lane = own % self.warp_size % width;
                    let to = match mode {
                        ShuffleMode::Xor => lane ^ operand,
                        ShuffleMode::Down => lane + operand,
                        ShuffleMode::Up => lane - operand,
                        ShuffleMode::Index => operand,
                    };
                    let to = if (0..width).contains(&to) { to } else { lane };
                    let other = usize::try_from(own - lane + to).ok();
                    from[thread] = other.filter(|other| *other < threads && active[*other]);
                    if let Some(other) = from[thread] {
                        read[other] = true;
                    }
                }
                let values = self.of_block(value, &read, active)?;
                let read = |other: Option<usize>| other.map_or(Known::Nothing, |t| values.at(t).clone());
                from.into_iter().map(read).collect()
            }
            ValueKind::Binary(op, a, b) => {
                // What C cuts off of unsigned numbers is what the floor leaves.
                let op = match op {
                    BinOp::TruncDiv if a.dtype.is_unsigned() => BinOp::FloorDiv,
                    BinOp::TruncRem if a.dtype.is_unsigned() => BinOp::FloorMod,
                    op => *op,
                };
                let of = a.dtype;
                let (a, b) = (self.of_block(a, wanted, active)?, self.of_block(b, wanted, active)?);
                self.binary_of_block(op, of, (&a, &b), wanted)?
            }
            ValueKind::Unary(op, a) => {
                let values = self.of_block(a, wanted, active)?;
                let unary = |(thread, wanted): (usize, &bool)| match (op, values.at(thread)) {
                    _ if !wanted => Known::Nothing,
                    (UnOp::Neg, Known::Int(a)) => Known::Int(a.saturating_neg()),
                    (UnOp::Neg, Known::Float(a)) => Known::Float(-a),
                    (UnOp::Not, Known::Int(a)) => Known::Int((*a == 0).into()),
                    (op, a) => known(a.term().map(|a| Term::unary(*op, a))),
                };
                wanted.iter().enumerate().map(unary).collect()
            }
            ValueKind::Select(cond, a, b) => {
                let conds = self.of_block(cond, wanted, active)?;
                // Each side where it is chosen, or may be.
                let side = |not: bool| -> Vec<bool> {
                    let chosen = |(thread, wanted): (usize, &bool)| match conds.at(thread) {
                        Known::Int(v) => *wanted && (*v == 0) == not,
                        _ => *wanted,
                    };
                    wanted.iter().enumerate().map(chosen).collect()
                };
                // An exchange in one side reaches only those that are known to choose it.
                let there = |not: bool| -> Vec<bool> {
                    let taken = |(t, side): (usize, bool)| side && matches!(conds.at(t), Known::Int(_));
                    side(not).into_iter().enumerate().map(taken).collect()
                };
                let (a, b) = (
                    self.of_block(a, &side(false), &there(false))?,
                    self.of_block(b, &side(true), &there(true))?,
                );
                let select = |thread: usize| match (conds.at(thread), a.at(thread), b.at(thread)) {
                    (Known::Int(0), _, b) => b.clone(),
                    (Known::Int(_), a, _) => a.clone(),
                    (cond, a, b) => {
                        let args: Option<Vec<Term>> = [cond, a, b].into_iter().map(Known::term).collect();
                        known(args.map(|args| Term::Op(Op::Select, args)))
                    }
                };
                (0..threads).map(select).collect()
            }
            ValueKind::Call { function, args, .. } => {
                let mut given = Vec::new();
                for arg in args {
                    given.push(self.of_block(arg, wanted, active)?);
                }
                let call = |thread: usize| {
                    let terms: Option<Vec<Term>> = given.iter().map(|arg| arg.at(thread).term()).collect();
                    known(terms.map(|terms| Term::Op(Op::Call(function.clone()), terms)))
                };
                (0..threads).map(call).collect()
            }
            ValueKind::Param(_)
            | ValueKind::BlockIdx(_)
            | ValueKind::Any(_)
            | ValueKind::Ballot(_)
            | ValueKind::LeadingZeros(_) => return Err(Stop::NotFollowed),
        })
    }

    /// What an operation makes of two values of a type in each of the wanted threads. Those that
    /// join the same two states share what comes of it: of threads that exchange what they have,
    /// each joins it with that of the other.
    fn binary_of_block(
        &self,
        op: BinOp,
        of: DType,
        (a, b): (&Values, &Values),
        wanted: &[bool],
    ) -> Result<Values, Stop> {
        if let ([a], [b]) = (a.distinct(), b.distinct()) {
            let found = match wanted.contains(&true) {
                true => self.binary(op, of, a, b)?,
                false => Known::Nothing,
            };
            return Ok(Values::same(found));
        }
        let mut joined: Table<(usize, usize), Known> = Table::default();
        let mut found = Vec::with_capacity(self.threads);
        for (thread, wanted) in wanted.iter().enumerate() {
            let (a, b) = (a.at(thread), b.at(thread));
            found.push(match (wanted, a, b) {
                (false, ..) => Known::Nothing,
                (true, Known::Parts(one), Known::Parts(other)) => {
                    let (mut from, mut to) = (Rc::as_ptr(one) as usize, Rc::as_ptr(other) as usize);
                    // Of sets in which nothing is twice, it does not matter which is which.
                    let exchanges = self.is_simple(op, one, other)
                        && [one, other].iter().all(|parts| parts.content.is_plain_set());
                    if exchanges && from > to {
                        (from, to) = (to, from);
                    }
                    match joined.get(&(from, to)) {
                        Some(known) => known.clone(),
                        None => {
                            let known = self.binary(op, of, a, b)?;
                            joined.insert((from, to), known.clone());
                            known
                        }
                    }
                }
                _ => self.binary(op, of, a, b)?,
            });
        }
        Ok(found.into_iter().collect())
    }

    /// Whether an operation of two states is all of the operator, which commutes.
    fn is_simple(&self, op: BinOp, a: &Parts, b: &Parts) -> bool {
        self.simple == Some(op) && [a, b].iter().all(|parts| parts.number == Some(0))
    }

    /// What an operation makes of two values of a type.
    fn binary(&self, op: BinOp, of: DType, a: &Known, b: &Known) -> Result<Known, Stop> {
        let is_negative = |v: i64| of.is_unsigned() && v < 0;
        match (a, b) {
            // What is not known of bits is compared as it is written.
            (Known::Int(x), Known::Int(y)) if is_of_bits(op) || is_negative(*x) || is_negative(*y) => {
                Ok(match a.term().zip(b.term()).map(|(a, b)| Term::binary(op, of, a, b)) {
                    Some(Term::Int(value)) => Known::Int(value),
                    term => known(term),
                })
            }
            (Known::Int(a), Known::Int(b)) => computed(op, *a, *b).map(Known::Int).ok_or(Stop::NotFollowed),
            (Known::Parts(a), Known::Parts(b)) if self.is_simple(op, a, b) => {
                let content = a.content.with(&b.content, true);
                Ok(Known::Parts(Rc::new(Parts { number: Some(0), content })))
            }
            (a, b) => Ok(known(a.term().zip(b.term()).map(|(a, b)| Term::binary(op, of, a, b)))),
        }
    }
}

fn is_of_bits(op: BinOp) -> bool {
    matches!(op, BinOp::Shl | BinOp::Shr | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor)
}
