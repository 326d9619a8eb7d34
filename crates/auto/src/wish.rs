//! What a user could say about a kernel for a better form to be found.

use std::fmt;

use loopwright_kernel_ir::{Fact, Name};
use loopwright_transforms::Step;

use crate::text::names;

/// What a user could say, and what that would allow. It prints as a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// A step that comes first: an assumption, a fixed parameter, another order of rounding.
    Step {
        /// The step.
        step: Step,
        /// Its text, as users write it: `assume(n % 4 = 0)`.
        text: String,
        /// What it would allow.
        allows: String,
    },
    /// A declared property of data.
    Fact {
        /// The property.
        fact: Fact,
        /// What it would allow.
        allows: String,
    },
    /// Properties of data of which legality asks for some, in its words.
    Independence {
        /// What to declare.
        facts: String,
        /// The loop whose iterations may be parallel then.
        iname: Name,
    },
    /// A linear recurrence that would have to be declared as a scan.
    Scan {
        /// The array, each of whose elements is a linear function of the one before it.
        array: Name,
        /// The loop along which they are.
        iname: Name,
        /// Whether the one before is multiplied. Otherwise the scan is of sums.
        scales: bool,
    },
    /// A recurrence by `min` or `max` that would have to be declared as a scan.
    Extremes {
        /// The array, each of whose elements is the least or the greatest of the one before it and
        /// something else.
        array: Name,
        /// The loop along which they are.
        iname: Name,
        /// `min` or `max`.
        operator: &'static str,
    },
    /// Reductions of the same points, which would have to be declared as one with several results.
    OneReduction {
        /// The arrays of the results.
        arrays: Vec<Name>,
        /// What that would allow.
        allows: String,
    },
    /// Arrays whose elements would have to lie in the other order in memory.
    Order {
        /// The arrays.
        arrays: Vec<Name>,
        /// The loop whose neighbours would be neighbours in memory then.
        iname: Name,
    },
}

impl Wish {
    /// A step that would come first; `None` if the text is none.
    pub(crate) fn step(text: impl Into<String>, allows: impl Into<String>) -> Option<Wish> {
        let text = text.into();
        Some(Wish::Step { step: Step::parse(&text).ok()?, text, allows: allows.into() })
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wish::Step { text, allows, .. } => write!(f, "`{text}` would allow {allows}"),
            Wish::Fact { fact, allows } => write!(f, "`{}` would allow {allows}", declared(fact)),
            Wish::Independence { facts, iname } => {
                write!(f, "{facts}: iterations of `{iname}` may be parallel then")
            }
            Wish::Scan { array, iname, scales } => {
                let declared = match scales {
                    true => {
                        "a scan of pairs, by an operator with `combine f = a.f*b.f, v = b.f*a.v + b.v` over \
                         factors and what is added"
                    }
                    false => "a prefix sum, `sum(j, ...)` over the points up to one's own",
                };
                write!(
                    f,
                    "`{array}` depends linearly on what is before it along `{iname}`: declared as {declared}, \
                     it is spread over threads"
                )
            }
            Wish::Extremes { array, iname, operator } => write!(
                f,
                "`{array}` is the `{operator}` of what is up to there along `{iname}`: declared as \
                 `{operator}(j, ...)` over the points up to one's own, it is spread over threads"
            ),
            Wish::OneReduction { arrays, allows } => write!(
                f,
                "{}, declared as the results of one reduction by an operator with {} values, would allow {allows}",
                names(arrays),
                arrays.len()
            ),
            Wish::Order { arrays, iname } => {
                let steps: Vec<String> =
                    arrays.iter().map(|array| format!("tag_array_axes({array}, f)")).collect();
                write!(
                    f,
                    "{} would allow neighbours of `{iname}` to be neighbours in memory: arrays are passed in \
                     that order then",
                    names(&steps)
                )
            }
        }
    }
}

/// A fact as a kernel declares it.
fn declared(fact: &Fact) -> String {
    match fact {
        Fact::Range { array, lower, upper } => {
            let lower = lower.as_ref().map_or(String::new(), |lower| format!("{lower} <= "));
            let upper = upper.as_ref().map_or(String::new(), |upper| format!(" < {upper}"));
            format!("fact {lower}{array}{upper}")
        }
        Fact::Monotone(array) => format!("fact monotone({array})"),
        Fact::Injective(array) => format!("fact injective({array})"),
    }
}

#[cfg(test)]
mod tests {
    use loopwright_kernel_ir::Expr;

    use super::*;

    #[test]
    fn wishes_print_as_sentences() {
        let step = Wish::step("assume(n % 4 = 0)", "whole vectors").expect("a step");
        assert!(matches!(&step, Wish::Step { step, .. } if step.to_string() == "assume(n mod 4 = 0)"));
        assert_eq!(step.to_string(), "`assume(n % 4 = 0)` would allow whole vectors");
        assert_eq!(Wish::step("assume n", "nothing"), None);
        let array = Name::new("keys");
        let range =
            Fact::Range { array: array.clone(), lower: Some(Expr::Int(0)), upper: Some(Expr::Int(8)) };
        let printed = |fact| Wish::Fact { fact, allows: "copies".into() }.to_string();
        assert_eq!(printed(range), "`fact 0 <= keys < 8` would allow copies");
        assert_eq!(printed(Fact::Injective(array.clone())), "`fact injective(keys)` would allow copies");
        let scan = |scales| Wish::Scan { array: array.clone(), iname: Name::new("i"), scales }.to_string();
        assert_eq!(
            scan(false),
            "`keys` depends linearly on what is before it along `i`: declared as a prefix sum, `sum(j, ...)` \
             over the points up to one's own, it is spread over threads"
        );
        assert!(scan(true).contains("declared as a scan of pairs, by an operator with `combine f = a.f*b.f"));
        let running = Wish::Extremes { array: array.clone(), iname: Name::new("i"), operator: "max" };
        assert_eq!(
            running.to_string(),
            "`keys` is the `max` of what is up to there along `i`: declared as `max(j, ...)` over the points up \
             to one's own, it is spread over threads"
        );
        let arrays = vec![Name::new("y"), Name::new("z")];
        let one = Wish::OneReduction { arrays: arrays.clone(), allows: "equal chunks".into() };
        assert_eq!(
            one.to_string(),
            "`y` and `z`, declared as the results of one reduction by an operator with 2 values, would allow \
             equal chunks"
        );
        assert_eq!(
            Wish::Order { arrays, iname: Name::new("r") }.to_string(),
            "`tag_array_axes(y, f)` and `tag_array_axes(z, f)` would allow neighbours of `r` to be neighbours in \
             memory: arrays are passed in that order then"
        );
    }
}
