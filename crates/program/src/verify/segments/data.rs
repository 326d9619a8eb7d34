//! What the elements of arrays are before a nest runs: numbers that a hash gives, such that what the
//! kernel declares about the arrays holds.
//!
//! * An element of an array with a declared range lies in it; of a range with one end, within
//!   [`WIDTH`] of it.
//! * Elements of an array that is declared injective are different, those of a monotone one do not
//!   decrease: they count up from the lower end of the range.
//!
//! A range that holds no number is one that no data have, so that parameters are chosen such that
//! each range holds one ([`room`]).

use std::collections::HashMap;

use loopwright_kernel_ir::{Aff, Constraint, Expr, Fact, KernelData, Name};

use super::number::{Num, hash};
use crate::Program;

/// How many numbers an array without a declared range, or with one end of it, is drawn from.
const WIDTH: i64 = 199;

/// What is declared about an integer array.
#[derive(Clone, Copy, Default)]
struct Declared {
    lower: Option<i64>,
    /// One more than the greatest value.
    upper: Option<i64>,
    monotone: bool,
    injective: bool,
}

/// The first values of the elements of arrays.
pub(super) struct Data {
    declared: HashMap<usize, Declared>,
}

impl Data {
    /// Data of which what the kernel declares holds, for these parameters.
    pub fn of(kernel: &KernelData, program: &Program, scalar: &dyn Fn(&Name) -> Option<i64>) -> Data {
        let mut declared: HashMap<usize, Declared> = HashMap::new();
        let value = |e: &Option<Expr>| e.as_ref()?.to_aff()?.eval(scalar);
        for fact in &kernel.facts {
            let Some(k) = program.globals.iter().position(|g| g.name == *fact.array()) else { continue };
            let known = declared.entry(k).or_default();
            match fact {
                Fact::Range { lower, upper, .. } => {
                    let (lower, upper) = (value(lower), value(upper));
                    known.lower = known.lower.max(lower);
                    known.upper = match (known.upper, upper) {
                        (Some(a), Some(b)) => Some(a.min(b)),
                        (a, b) => a.or(b),
                    };
                }
                Fact::Monotone(_) => known.monotone = true,
                Fact::Injective(_) => known.injective = true,
            }
        }
        Data { declared }
    }

    /// An element of a global array, by the array's number and the element's offset.
    pub fn element(&self, program: &Program, k: usize, offset: i64) -> Num {
        let drawn = hash([k as u64, offset as u64]);
        let Some(known) = self.declared.get(&k) else { return Num::drawn(program.globals[k].dtype, drawn) };
        let lower = known.lower.unwrap_or(known.upper.map_or(0, |upper| upper.saturating_sub(WIDTH)));
        let upper = known.upper.unwrap_or(i64::MAX);
        if lower >= upper {
            return Num::drawn(program.globals[k].dtype, drawn);
        }
        let beyond = if known.injective || known.monotone {
            offset.max(0)
        } else {
            let width = upper.saturating_sub(lower);
            (drawn % (if known.upper.is_none() { WIDTH } else { width }) as u64) as i64
        };
        Num::Int(lower.saturating_add(beyond).min(upper - 1))
    }
}

/// That each declared range of an array other than this one holds a number.
pub(super) fn room(kernel: &KernelData, except: &Name) -> Vec<Constraint> {
    let ends = kernel.facts.iter().filter_map(|fact| match fact {
        Fact::Range { array, lower: Some(lower), upper: Some(upper) } if array != except => {
            Some((lower.to_aff()?, upper.to_aff()?))
        }
        _ => None,
    });
    ends.filter_map(|(lower, upper)| Constraint::le(&lower.add(&Aff::constant(1)).ok()?, &upper).ok())
        .collect()
}
