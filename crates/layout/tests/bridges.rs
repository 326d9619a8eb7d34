//! Layouts as affine functions and as maps of bits, against their values.

use crate::common;

use common::{Plain, is_injective, layout, orderly_layout, some_layout, values};
use loopwright_layout::{ComposedLayout, Layout, Swizzle};
use loopwright_poly::{Aff, Name};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn affine_forms_have_the_values(l in some_layout(), i in 0i64..300) {
        let aff = l.to_aff(&Aff::var("i")).unwrap();
        prop_assert_eq!(aff.eval(&|_: &Name| Some(i)), Some(Plain::of(&l).at(i)));
    }

    #[test]
    fn natural_maps_decide_injectivity(l in some_layout()) {
        prop_assert_eq!(l.is_injective().unwrap(), is_injective(&values(&l)));
    }

    #[test]
    fn swizzles_have_affine_forms(bits in 0i64..=3, base in 0i64..=3, more in 0i64..=2, down in any::<bool>(), x in 0i64..4096) {
        let shift = if down { -(bits + more) } else { bits + more };
        let swizzle = Swizzle::new(bits, base, shift).unwrap();
        let aff = swizzle.to_aff(&Aff::var("x")).unwrap();
        prop_assert_eq!(aff.eval(&|_: &Name| Some(x)), Some(swizzle.apply(x)));
    }

    /// A map of bits is the layout, and its ranks count values.
    #[test]
    fn bits_are_values(sizes in prop::collection::vec(0u32..=3, 1..=3), places in prop::collection::vec(0u32..=7, 3), b in 0i64..=3) {
        let modes = sizes.iter().zip(&places).map(|(s, d)| Layout::mode(1i64 << s, 1i64 << d)).collect();
        let l = Layout::Tuple(modes);
        let composed = ComposedLayout { swizzle: Swizzle::new(b, 1, 3).unwrap(), offset: 0.into(), layout: l };
        if let Some(map) = composed.to_bits().unwrap() {
            let all = composed.values().unwrap();
            for (i, value) in all.iter().enumerate() {
                prop_assert_eq!(map.at(i as u64), *value as u64);
            }
            prop_assert_eq!(map.is_injective(), is_injective(&all));
            let mask = 0b1101_0110u64;
            let distinct: std::collections::BTreeSet<u64> = all.iter().map(|v| *v as u64 & mask).collect();
            prop_assert_eq!(1u64 << map.rank(mask), distinct.len() as u64);
        }
    }

    /// The conflict of a request is the largest number of words of one bank.
    #[test]
    fn conflicts_are_words_of_a_bank(a in 0u32..=11, b in 0u32..=11, c in 0u32..=3) {
        let l = Layout::Tuple(vec![Layout::mode(8, 1i64 << a), Layout::mode(4, 1i64 << b)]);
        let composed = ComposedLayout { swizzle: Swizzle::new(c.into(), 4, 3).unwrap(), offset: 0.into(), layout: l };
        if let Some(map) = composed.to_bits().unwrap() {
            let mut words: Vec<i64> = composed.values().unwrap().iter().map(|v| v / 4).collect();
            words.sort_unstable();
            words.dedup();
            let most = (0..32).map(|bank| words.iter().filter(|w| **w % 32 == bank).count()).max();
            prop_assert_eq!(map.bank_conflict(5, 2), most.unwrap() as u64);
        }
    }

    #[test]
    fn other_layouts_are_no_maps_of_bits(l in orderly_layout()) {
        let plain = Plain::of(&l);
        let powers = plain.0.iter().all(|(s, d)| s.count_ones() == 1 && d.count_ones() <= 1);
        if !powers {
            prop_assert_eq!(l.to_bits().unwrap(), None);
        }
    }
}

/// A column of a tile of 64 columns of 16 bits, eight rows at a time as `ldmatrix` reads them: all
/// rows begin in one bank, and the swizzle spreads them.
#[test]
fn the_swizzle_of_128_bytes_spreads_rows() {
    let rows = layout("8:128");
    assert_eq!(rows.to_bits().unwrap().unwrap().bank_conflict(5, 2), 8);
    let swizzle = Swizzle::new(3, 4, 3).unwrap();
    let swizzled = ComposedLayout { swizzle, offset: 0.into(), layout: rows };
    assert_eq!(swizzled.to_bits().unwrap().unwrap().bank_conflict(5, 2), 1);
}
