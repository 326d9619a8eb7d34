//! Values of the text, for all threads of the block at once.

use std::rc::Rc;

use loopwright_kernel_ir::DType;

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
        if let [Known::Int(v)] = values.distinct() {
            return Ok(vec![*v; self.threads]);
        }
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
                // The thread that each reads; out of the block, one that does not read.
                let mut from = vec![threads; threads];
                let mut read = vec![false; threads];
                for (thread, operand) in operands.into_iter().enumerate().filter(|(t, _)| wanted[*t]) {
                    // Groups begin at multiples of their width, in each warp.
                    let own = thread as i64;
                    let lane = own % self.warp_size % width;
                    let to = match mode {
                        ShuffleMode::Xor => lane ^ operand,
                        ShuffleMode::Down => lane.saturating_add(operand),
                        ShuffleMode::Up => lane.saturating_sub(operand),
                        ShuffleMode::Index => operand,
                    };
                    let to = if (0..width).contains(&to) { to } else { lane };
                    let other = (own - lane + to) as usize;
                    if active.get(other) == Some(&true) {
                        from[thread] = other;
                        read[other] = true;
                    }
                }
                let values = self.of_block(value, &read, active)?;
                let read = |other| if other < threads { values.at(other).clone() } else { Known::Nothing };
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
        let mut joined = Joined::default();
        let mut found: Vec<Known> = Vec::with_capacity(self.threads);
        for (thread, wanted) in wanted.iter().enumerate() {
            if !wanted {
                found.push(Known::Nothing);
                continue;
            }
            let (a, b) = (a.at(thread), b.at(thread));
            let known = match (a, b) {
                (Known::Parts(one), Known::Parts(other)) => {
                    let (mut from, mut to) = (Rc::as_ptr(one), Rc::as_ptr(other));
                    // Of sets in which nothing is twice, it does not matter which is which.
                    if from > to
                        && self.is_simple(op, one, other)
                        && [one, other].iter().all(|parts| parts.content.is_plain_set())
                    {
                        (from, to) = (to, from);
                    }
                    match joined.thread(from, to, thread) {
                        Some(before) => found[before].clone(),
                        None => self.binary(op, of, a, b)?,
                    }
                }
                _ => self.binary(op, of, a, b)?,
            };
            found.push(known);
        }
        Ok(Values::of(found))
    }

    /// Whether an operation of two states is all of the operator, which commutes.
    fn is_simple(&self, op: BinOp, a: &Parts, b: &Parts) -> bool {
        self.simple == Some(op) && [a, b].iter().all(|parts| parts.number == Some(0))
    }

    /// What an operation makes of two values of a type.
    fn binary(&self, op: BinOp, of: DType, a: &Known, b: &Known) -> Result<Known, Stop> {
        let is_negative = |v: i64| v < 0 && of.is_unsigned();
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

/// Which thread has last joined two states, for pairs of addresses in as many places as a block
/// has threads, or some more. Another pair may take a place: then what it held is joined again.
#[derive(Default)]
struct Joined(Vec<(usize, usize, usize)>);

impl Joined {
    /// The number of places is two to this power.
    const PLACES: u32 = 9;

    /// The thread that has joined the same two states, if that is known; otherwise this one has.
    fn thread(&mut self, one: *const Parts, other: *const Parts, thread: usize) -> Option<usize> {
        if self.0.is_empty() {
            self.0 = vec![(0, 0, 0); 1 << Joined::PLACES];
        }
        let (one, other) = (one as usize, other as usize);
        // States lie in memory one behind the other, with no pattern but that of their size.
        let pair = (one as u64) ^ (other as u64).rotate_left(7);
        let place = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - Joined::PLACES);
        let known = &mut self.0[place as usize];
        if (known.0, known.1) == (one, other) {
            return Some(known.2);
        }
        *known = (one, other, thread);
        None
    }
}

fn is_of_bits(op: BinOp) -> bool {
    matches!(op, BinOp::Shl | BinOp::Shr | BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::joins::parts::Content;

    /// Whatever is said to have been joined has been: pairs are not mixed up, nor their order.
    #[test]
    fn a_thread_is_known_for_the_same_two_states_alone() {
        let part = |k| Rc::new(Parts { number: Some(0), content: Content::single(64, k) });
        let states: Vec<Rc<Parts>> = (0..64).map(part).collect();
        let mut joined = Joined::default();
        let mut by: Vec<(usize, usize)> = Vec::new();
        let mut known = 0;
        for round in 0..2 {
            for (a, b) in (0..64).flat_map(|a| (0..64).map(move |b| (a, b))) {
                let thread = by.len();
                by.push((a, b));
                if let Some(before) = joined.thread(Rc::as_ptr(&states[a]), Rc::as_ptr(&states[b]), thread) {
                    assert_eq!((by[before], round), ((a, b), 1));
                    known += 1;
                }
                let again = joined.thread(Rc::as_ptr(&states[a]), Rc::as_ptr(&states[b]), thread + 1);
                assert!(again.is_some_and(|before| by[before] == (a, b)));
            }
        }
        assert!(known < 512, "more are known than there are places: {known}");
    }
}
