//! What messages say of the spaces of two values that do not fit together.

use loopwright_poly::{Error, Name};

use crate::short::{map, set};

/// A map is shown with both of its tuples: one may have no name, and one no dimensions.
#[test]
fn maps_are_shown_with_both_tuples() {
    let message = |found: Result<_, Error>| match found {
        Err(Error::Space(message)) => message,
        Err(other) => panic!("{other}"),
        Ok(()) => panic!("the spaces fit"),
    };
    let then = |first: &str, second: &str| message(map(first).then(&map(second)).map(|_| ()));
    assert_eq!(then("{ [i] -> [j] }", "{ [a, b] -> [c] }"), "[i] -> [j] then [a, b] -> [c]");
    assert_eq!(then("{ S[] -> [j] }", "{ T[j] -> [c] }"), "S[] -> [j] then T[j] -> [c]");
    assert_eq!(then("{ S[i] -> [j] }", "{ T[] -> U[] }"), "S[i] -> [j] then T[] -> U[]");
    let of_set = set("{ [i, j] : i <= j }").project_out(&[Name::new("k")]).map(|_| ());
    assert_eq!(message(of_set), "`k` is not a dimension of [i, j]");
}
