//! Checks declared facts about data when arguments are bound.

use loopwright_kernel_ir::{Diagnostic, Expr, Fact, Name, Number};

use super::Tensor;
use super::host::Integers;

/// Checks one fact about an array. Properties of its elements are computed once and stored with
/// them.
pub(super) fn check(fact: &Fact, data: &Tensor, scalars: &Integers) -> Result<(), Diagnostic> {
    let lookup = |name: &Name| scalars.get(name).copied();
    let (buffer, known) = (data.buffer(), data.properties());
    let at = |k: usize| buffer.get(k).and_then(Number::as_i128).unwrap_or(0);
    match fact {
        Fact::Range { array, lower, upper } => {
            let bound = |e: &Option<Expr>| match e {
                None => Ok(None),
                Some(e) => match e.to_integer(&lookup) {
                    Some(value) => Ok(Some(i128::from(value))),
                    None => Err(Diagnostic::new(
                        "fact",
                        format!("the bound `{e}` of the elements of `{array}` has no value in 64 bits"),
                    )
                    .help("work on smaller pieces")),
                },
            };
            let (low, high) = (bound(lower)?, bound(upper)?);
            let outside = |v: i128| low.is_some_and(|l| v < l) || high.is_some_and(|h| v >= h);
            let Some((least, greatest)) = known.range(buffer) else { return Ok(()) };
            if outside(least) || outside(greatest) {
                let k = (0..buffer.len()).find(|k| outside(at(*k))).unwrap_or(0);
                let text = |b: Option<i128>, none: &str| b.map_or(none.to_owned(), |b| b.to_string());
                return Err(broken(
                    format!("the elements of `{array}` are not all in their declared range"),
                    format!(
                        "{} is {}, and the declared range is {} to {}",
                        element(array, data, k),
                        at(k),
                        text(low, "no least"),
                        text(high.map(|h| h - 1), "no greatest")
                    ),
                ));
            }
        }
        Fact::Monotone(array) => {
            if let Some(k) = known.fall(buffer) {
                return Err(broken(
                    format!("the elements of `{array}` decrease, but are declared monotone"),
                    format!(
                        "{} is {}, {} is {}",
                        element(array, data, k),
                        at(k),
                        element(array, data, k + 1),
                        at(k + 1)
                    ),
                ));
            }
        }
        Fact::Injective(array) => {
            if let Some((first, second)) = known.equal(buffer) {
                return Err(broken(
                    format!("two elements of `{array}` are equal, but are declared distinct"),
                    format!(
                        "{} and {} are both {}",
                        element(array, data, first),
                        element(array, data, second),
                        at(first)
                    ),
                ));
            }
        }
    }
    Ok(())
}

fn broken(message: String, witness: String) -> Diagnostic {
    Diagnostic::new("fact", message)
        .witness(witness)
        .help("correct the data or the fact: the kernel relies on it")
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

#[cfg(test)]
mod tests {
    use loopwright_kernel_ir::DType;

    use super::*;

    #[test]
    fn an_element_is_named_by_its_subscripts() {
        let data = Tensor::zeros(&[2, 3, 4], DType::I32).unwrap();
        let name = Name::new("idx");
        assert_eq!(element(&name, &data, 0), "idx[0, 0, 0]");
        assert_eq!(element(&name, &data, 7), "idx[0, 1, 3]");
        assert_eq!(element(&name, &data, 23), "idx[1, 2, 3]");
    }
}
