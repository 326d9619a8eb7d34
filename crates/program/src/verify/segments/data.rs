//! What the elements of arrays are before a nest runs: numbers that a hash gives, such that what
//! the kernel declares about the arrays holds.
//!
//! * An element of an array with a declared range lies in it; of a range with one end, within
//!   [`WIDTH`] of it.
//! * Elements of an array that is declared injective are different, those of a monotone one do not
//!   decrease: they count up from the lower end of the range.
//!
//! A range that holds no number is one that no data have, so that parameters are chosen such that
//! each range holds one ([`room`]).

use loopwright_kernel_ir::{Aff, Constraint, Expr, Fact, KernelData, Name};
use loopwright_poly::Table;

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
    declared: Table<usize, Declared>,
}

impl Data {
    /// Data for which the facts that the kernel declares hold, with these parameters.
    pub fn of(kernel: &KernelData, program: &Program, scalar: &dyn Fn(&Name) -> Option<i64>) -> Data {
        let mut declared: Table<usize, Declared> = Table::default();
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use loopwright_kernel_ir::LoopKernel;

    use super::*;

    /// The first elements of an integer array of which this is declared.
    fn elements(declared: Declared) -> Vec<i64> {
        let program =
            Program::parse("program k(a, b) index i32\nglobal a: i32[9] read\nglobal b: i32[9] read\n");
        let program = program.unwrap_or_else(|d| panic!("{d}"));
        let data = Data { declared: Table::from_iter([(1, declared)]) };
        (0..9_000).map(|offset| data.element(&program, 1, offset).int().unwrap_or(i64::MIN)).collect()
    }

    fn range(lower: Option<i64>, upper: Option<i64>) -> Declared {
        Declared { lower, upper, ..Declared::default() }
    }

    #[test]
    fn elements_go_through_all_of_their_range() {
        let all = |declared| -> BTreeSet<i64> { elements(declared).into_iter().collect() };
        assert_eq!(all(range(Some(3), Some(8))), (3..8).collect());
        assert_eq!(all(range(Some(-2), None)), (-2..-2 + WIDTH).collect());
        assert_eq!(all(range(None, Some(10))), (10 - WIDTH..10).collect());
        assert_eq!(all(range(Some(4), Some(5))), BTreeSet::from([4]));
        // Of a range of no number, any.
        let drawn: BTreeSet<i64> = (-99..=99).collect();
        assert_eq!(all(range(Some(5), Some(5))), drawn);
        assert_eq!(all(range(Some(6), Some(5))), drawn);
    }

    #[test]
    fn elements_that_do_not_decrease_or_are_different_count_up() {
        let bounded = Declared { monotone: true, ..range(Some(3), Some(8)) };
        assert_eq!(elements(bounded)[..7], [3, 4, 5, 6, 7, 7, 7]);
        let injective = Declared { injective: true, ..range(Some(-1), None) };
        assert_eq!(elements(injective), (-1..8_999).collect::<Vec<_>>());
        let monotone = Declared { monotone: true, ..Declared::default() };
        assert_eq!(elements(monotone), (0..9_000).collect::<Vec<_>>());
    }

    const KERNEL: &str = "\
kernel k(a: i32[n], b: i32[n], c: i32[n], y: i32[n], n: i32, m: i32)
assume 0 <= n
fact 2 <= a < m
fact 1 <= a < 3*n
fact 0 <= b < n
fact 5 <= c
fact monotone(c)
fact injective(b)
domain { [i] : 0 <= i < n }
y[i] = a[i] + b[i] + c[i]
";

    /// Of several declarations about one array all hold.
    #[test]
    fn declared_facts_of_each_array_are_joined() {
        let kernel = LoopKernel::parse(KERNEL).unwrap_or_else(|d| panic!("{d}"));
        let globals = ["a", "b", "c", "y"].map(|name| format!("global {name}: i32[n] read\n")).concat();
        let text = format!("program k(a, b, c, y, n: i32, m: i32) index i32\n{globals}");
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{d}"));
        for (m, n) in [(7, 100), (1_000, 4)] {
            let scalar = |name: &Name| Some(if **name == *"m" { m } else { n });
            let data = Data::of(&kernel, &program, &scalar);
            let of = |k: usize| data.declared.get(&k).map(|d| (d.lower, d.upper, d.monotone, d.injective));
            assert_eq!(of(0), Some((Some(2), Some(m.min(3 * n)), false, false)));
            assert_eq!(of(1), Some((Some(0), Some(n), false, true)));
            assert_eq!(of(2), Some((Some(5), None, true, false)));
            assert_eq!(of(3), None);
        }
    }

    #[test]
    fn each_range_but_that_of_one_array_holds_a_number() {
        let kernel = LoopKernel::parse(KERNEL).unwrap_or_else(|d| panic!("{d}"));
        let less = |lower: i64, upper: Aff| Constraint::le(&Aff::constant(lower + 1), &upper);
        let (n, m) = (Aff::var(Name::new("n")), Aff::var(Name::new("m")));
        let of_a = [less(2, m), less(1, n.scale(3).unwrap_or_default())].map(Result::unwrap);
        let of_b = [less(0, n)].map(Result::unwrap);
        assert_eq!(room(&kernel, &Name::new("b")), of_a);
        assert_eq!(room(&kernel, &Name::new("a")), of_b);
        assert_eq!(room(&kernel, &Name::new("c")), [&of_a[..], &of_b].concat());
    }
}
