//! The values of a function of lanes, from each lane's range and the elements of a vector.

use loopwright_kernel_ir::{Aff, Name};

use super::range_of;

fn lane(name: &str) -> Aff {
    Aff::var(Name::new(name))
}

fn range(aff: &Aff) -> Option<(i64, i64)> {
    let lanes = [(Name::new("l"), Some((2, 5))), (Name::new("m"), None)];
    range_of(aff, &lanes, Some(&(Name::new("v"), 4)))
}

#[test]
fn ends_are_those_of_all_values_of_all_lanes() {
    assert_eq!(range(&Aff::constant(7)), Some((7, 7)));
    for (factor, constant) in [(1, 0), (3, -1), (-2, 5), (0, 1)] {
        let of_lane = lane("l").scale(factor).unwrap().add_constant(constant).unwrap();
        let values = (2..5).map(|l| factor * l + constant);
        assert_eq!(range(&of_lane), values.clone().min().zip(values.max()), "{of_lane}");
        let both = of_lane.sub(&lane("v")).unwrap();
        let values = (2..5).flat_map(|l| (0..4).map(move |v| factor * l + constant - v));
        assert_eq!(range(&both), values.clone().min().zip(values.max()), "{both}");
    }
}

#[test]
fn nothing_is_known_of_quotients_and_of_names_without_a_range() {
    assert_eq!(range(&lane("l").floor_div(2).unwrap()), None);
    assert_eq!(range(&lane("m")), None);
    assert_eq!(range(&lane("other").add(&lane("l")).unwrap()), None);
}
