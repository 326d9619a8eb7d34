//! Declared facts about data, checked where the arguments are bound and the caller asked for it.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Diagnostic, Fact, Name, Number};

use super::Tensor;
use super::host::{Integers, eval_expr};

/// Checks one fact of an array.
pub(super) fn check(fact: &Fact, data: &Tensor, scalars: &Integers) -> Result<(), Diagnostic> {
    let values = || data.buffer().numbers().map(|n| Number::as_i128(n).unwrap_or(0));
    let lookup = |name: &Name| scalars.get(name).copied();
    match fact {
        Fact::Range { array, lower, upper } => {
            let bound = |e: &Option<_>| e.as_ref().and_then(|e| eval_expr(e, &lookup)).map(i128::from);
            let (low, high) = (bound(lower), bound(upper));
            let outside = |v: &i128| low.is_some_and(|l| *v < l) || high.is_some_and(|h| *v >= h);
            if let Some((k, value)) = values().enumerate().find(|(_, v)| outside(v)) {
                let text = |b: Option<i128>, none: &str| b.map_or(none.to_owned(), |b| b.to_string());
                return Err(broken(
                    format!("the elements of `{array}` are not all in their declared range"),
                    format!(
                        "{} is {value}, declared are {} to {}",
                        element(array, data, k),
                        text(low, "no least"),
                        text(high.map(|h| h - 1), "no greatest")
                    ),
                ));
            }
        }
        Fact::Monotone(array) => {
            let falls = values().zip(values().skip(1)).position(|(a, b)| b < a);
            if let Some(k) = falls {
                let pair: Vec<i128> = values().skip(k).take(2).collect();
                return Err(broken(
                    format!("the elements of `{array}` fall, and were declared monotone"),
                    format!(
                        "{} is {}, {} is {}",
                        element(array, data, k),
                        pair[0],
                        element(array, data, k + 1),
                        pair[1]
                    ),
                ));
            }
        }
        Fact::Injective(array) => {
            let mut seen = BTreeMap::new();
            for (k, value) in values().enumerate() {
                if let Some(first) = seen.insert(value, k) {
                    return Err(broken(
                        format!("two elements of `{array}` are equal, and were declared different"),
                        format!(
                            "{} and {} are both {value}",
                            element(array, data, first),
                            element(array, data, k)
                        ),
                    ));
                }
            }
        }
    }
    Ok(())
}

fn broken(message: String, witness: String) -> Diagnostic {
    Diagnostic::new("fact", message)
        .witness(witness)
        .help("the data are wrong, or the fact is: the kernel relies on it")
}

fn element(array: &Name, data: &Tensor, number: usize) -> String {
    let mut rest = number;
    let mut subscripts: Vec<String> = data
        .shape()
        .iter()
        .rev()
        .map(|length| {
            let subscript = rest % (*length).max(1);
            rest /= (*length).max(1);
            subscript.to_string()
        })
        .collect();
    subscripts.reverse();
    format!("{array}[{}]", subscripts.join(", "))
}
