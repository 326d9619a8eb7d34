//! Each operation by its definition, on random layouts, by enumeration.

use crate::common;

use std::collections::BTreeSet;

use common::{Plain, any_layout, ascending_layout, is_injective, orderly_layout, some_layout, values};
use loopwright_layout::{
    ComposedLayout, Error, Int, IntTuple, Layout, Swizzle, Tiler, blocked_product, complement, composition,
    flat_divide, left_inverse, logical_divide, logical_product, max_common_layout, nullspace, raked_product,
    recast, right_inverse, tile_to_shape, tiled_divide, upcast, zipped_divide,
};
use proptest::prelude::*;

fn image(layout: &Layout) -> BTreeSet<i64> {
    values(layout).into_iter().collect()
}

/// Whether a function on `0 .. size` has a layout of that size, by all factorisations of the size.
fn has_layout(f: &dyn Fn(i64) -> i64, size: i64) -> bool {
    fn holds(f: &dyn Fn(i64) -> i64, size: i64, sizes: &[i64]) -> bool {
        let strides: Vec<i64> = (0..sizes.len()).map(|k| f(sizes[..k].iter().product())).collect();
        let plain = Plain(sizes.iter().copied().zip(strides).collect());
        (0..size).all(|i| plain.at(i) == f(i))
    }
    fn search(f: &dyn Fn(i64) -> i64, size: i64, sizes: &mut Vec<i64>) -> bool {
        let done: i64 = sizes.iter().product();
        if done == size {
            return holds(f, size, sizes);
        }
        (2..=size / done).filter(|n| (size / done) % n == 0).any(|n| {
            sizes.push(n);
            let found = search(f, size, sizes);
            sizes.pop();
            found
        })
    }
    search(f, size, &mut Vec::new())
}

/// Whether any layout with the tree of `b` is the composition: each leaf has one, and they add up.
fn has_composition(a: &Layout, b: &Layout) -> bool {
    let (outer, inner) = (Plain::of(a), Plain::of(b));
    let mut p = 1;
    let mut leaves = Vec::new();
    for (s, _) in &inner.0 {
        let f = |c: i64| outer.at(inner.at(c * p));
        if !has_layout(&f, *s) {
            return false;
        }
        leaves.push((p, *s));
        p *= s;
    }
    (0..inner.size()).all(|i| {
        let parts = leaves.iter().map(|(p, s)| outer.at(inner.at(i / p % s * p)));
        parts.sum::<i64>() == outer.at(inner.at(i))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_round_trips(l in some_layout()) {
        prop_assert_eq!(common::layout(&l.to_string()), l);
    }

    #[test]
    fn layouts_are_their_definition(l in any_layout(), i in -20i64..200) {
        let plain = Plain::of(&l);
        prop_assert_eq!(l.at(i).unwrap(), plain.at(i));
        if i >= 0 && i < plain.size() {
            // By index, by the coordinate of the index, and by the flat coordinate.
            let coordinate = l.shape().coordinate(i).unwrap();
            prop_assert_eq!(l.at_coordinate(&coordinate).unwrap(), plain.at(i));
            prop_assert_eq!(l.shape().index(&coordinate).unwrap(), i);
        }
        let all = plain.values();
        prop_assert_eq!(l.cosize().unwrap(), Int::from(all.iter().max().unwrap() + 1));
    }

    #[test]
    fn coalescing_keeps_the_function(l in any_layout()) {
        let r = l.coalesce().unwrap();
        prop_assert!(r.depth() <= 1);
        prop_assert_eq!(values(&r), values(&l));
        // No two neighbours are left that one mode could be.
        let plain = Plain::of(&r).0;
        prop_assert!(plain.windows(2).all(|w| w[0].0 * w[0].1 != w[1].1));
        prop_assert!(plain.len() == 1 || plain.iter().all(|(s, _)| *s != 1));
    }

    #[test]
    fn coalescing_by_mode_keeps_modes(l in any_layout()) {
        let profile = IntTuple::from(vec![1i64; l.rank()]);
        let r = l.coalesce_by(&profile).unwrap();
        prop_assert_eq!(r.rank(), l.rank());
        for (r, l) in r.modes().iter().zip(l.modes()) {
            prop_assert_eq!(values(r), values(&l));
        }
    }

    #[test]
    fn filtering_keeps_the_image(l in any_layout()) {
        let r = l.filter().unwrap();
        prop_assert_eq!(image(&r), image(&l));
        prop_assert!(Plain::of(&r).0.iter().all(|(s, d)| *d != 0 || *s == 1));
    }

    /// Exactly if there is one, and then it is right.
    #[test]
    fn composition_is_composition(a in some_layout(), b in some_layout()) {
        match composition(&a, &b) {
            Ok(r) => {
                let (outer, inner) = (Plain::of(&a), Plain::of(&b));
                let expected: Vec<i64> = inner.values().into_iter().map(|i| outer.at(i)).collect();
                prop_assert_eq!(values(&r), expected, "{}", r);
                prop_assert!(b.shape().is_compatible(&r.shape()).unwrap(), "{}", r);
            }
            Err(Error::NoLayout { .. }) => prop_assert!(!has_composition(&a, &b)),
            Err(e) => prop_assert!(false, "{e}"),
        }
    }

    /// Exactly if the layout is injective without its modes of stride 0.
    #[test]
    fn complements_complete(l in ascending_layout(), size in 1i64..80) {
        let image = image(&l);
        match complement(&l, &Int::from(size)) {
            Ok(r) => {
                let rest = values(&r);
                prop_assert!(rest.windows(2).all(|w| w[0] < w[1]), "ordered: {}", r);
                prop_assert!(rest[1..].iter().all(|v| !image.contains(v)), "disjoint: {}", r);
                let both: Vec<i64> = image.iter().flat_map(|a| rest.iter().map(move |b| a + b)).collect();
                prop_assert!(is_injective(&both), "injective: {}", r);
                prop_assert!(both.iter().max().unwrap() + 1 >= size, "complete: {}", r);
                // No longer than the size in whole repetitions of the layout with its gaps.
                let extent = Plain::of(&l).0.iter().filter(|(s, _)| *s > 1).map(|(s, d)| s * d).max();
                let whole = extent.unwrap_or(1).max(image.last().unwrap() + 1);
                prop_assert!(rest.last().unwrap() < &((size + whole - 1) / whole * whole), "short: {}", r);
            }
            Err(Error::NoLayout { .. }) => {
                prop_assert!(!is_injective(&values(&l.filter().unwrap())));
            }
            Err(e) => prop_assert!(false, "{e}"),
        }
    }

    #[test]
    fn right_inverses_invert(l in some_layout()) {
        let r = right_inverse(&l).unwrap();
        let (l, r) = (Plain::of(&l), Plain::of(&r));
        prop_assert!((0..r.size()).all(|i| l.at(r.at(i)) == i));
    }

    /// A layout onto `0 .. size` has a whole right inverse.
    #[test]
    fn bijections_have_whole_inverses(l in orderly_layout()) {
        let all = values(&l);
        let size = i64::try_from(all.len()).unwrap();
        if *all.iter().max().unwrap() != size - 1 {
            return Ok(());
        }
        let (right, left) = (right_inverse(&l).unwrap(), left_inverse(&l).unwrap());
        prop_assert_eq!(Plain::of(&right).size(), size);
        prop_assert_eq!(values(&right), values(&left));
    }

    #[test]
    fn left_inverses_invert(l in some_layout()) {
        let plain = Plain::of(&l);
        match left_inverse(&l) {
            Ok(r) => {
                let r = Plain::of(&r);
                let whole = is_injective(&plain.values());
                for (i, value) in (0i64..).zip(plain.values()) {
                    let back = r.at(value);
                    prop_assert_eq!(plain.at(back), value);
                    prop_assert!(!whole || back == i);
                }
            }
            // No layout of two modes takes the values back.
            Err(Error::NoLayout { .. }) => {
                let points: Vec<(i64, i64)> = plain.values().into_iter().zip(0..).collect();
                for first in 1..=32 {
                    for d in -8..=32 {
                        for e in -8..=32 {
                            let r = Plain(vec![(first, d), (2, e)]);
                            prop_assert!(points.iter().any(|(x, y)| r.at(*x) != *y), "{first}, {d}, {e}");
                        }
                    }
                }
            }
            Err(Error::TooLarge { .. }) => {}
            Err(e) => prop_assert!(false, "{e}"),
        }
    }

    #[test]
    fn null_spaces_vanish(l in any_layout()) {
        let n = nullspace(&l).unwrap();
        let all = values(&n);
        prop_assert!(is_injective(&all));
        prop_assert!(all.iter().all(|i| Plain::of(&l).at(*i) == 0));
    }

    #[test]
    fn common_layouts_are_common(a in orderly_layout(), b in orderly_layout()) {
        if let Ok(r) = max_common_layout(&a, &b) {
            let (a, b) = (Plain::of(&a), Plain::of(&b));
            for (k, i) in (0i64..).zip(values(&r)) {
                prop_assert_eq!((a.at(i), b.at(i)), (k, k));
            }
        }
    }

    /// The first mode is the composition with the tile; the whole is a permutation if tiles fit.
    #[test]
    fn divides_divide(a in orderly_layout(), b in orderly_layout()) {
        let tiler = Tiler::Layout(b.clone());
        let Ok(r) = logical_divide(&a, &tiler) else { return Ok(()) };
        let (outer, tile) = (Plain::of(&a), Plain::of(&b));
        let expected: Vec<i64> = tile.values().into_iter().map(|i| outer.at(i)).collect();
        prop_assert_eq!(values(&r.modes()[0]), expected);
        let rest = complement(&b, &a.size().unwrap()).unwrap();
        if tile.size() * Plain::of(&rest).size() == outer.size() {
            let (mut all, mut before) = (values(&r), outer.values());
            all.sort_unstable();
            before.sort_unstable();
            prop_assert_eq!(all, before);
        }
        prop_assert_eq!(zipped_divide(&a, &tiler).unwrap(), r);
    }

    /// By mode, the forms of divides are groupings of the logical one.
    #[test]
    fn divides_group(a in orderly_layout(), sizes in prop::collection::vec(1i64..=4, 1..=2)) {
        if sizes.len() > a.rank() {
            return Ok(());
        }
        let tiler = Tiler::from(&IntTuple::from(sizes.clone()));
        let Ok(logical) = logical_divide(&a, &tiler) else { return Ok(()) };
        let count = sizes.len();
        let modes = logical.modes();
        let (tiles, rests): (Vec<Layout>, Vec<Layout>) = modes[..count].iter().map(|m| {
            let halves = m.modes();
            (halves[0].clone(), halves[1].clone())
        }).unzip();
        let rests = [rests, modes[count..].to_vec()].concat();
        let zipped = Layout::Tuple(vec![Layout::Tuple(tiles.clone()), Layout::Tuple(rests.clone())]);
        prop_assert_eq!(zipped_divide(&a, &tiler).unwrap(), zipped);
        let tiled = Layout::Tuple([vec![Layout::Tuple(tiles.clone())], rests.clone()].concat());
        prop_assert_eq!(tiled_divide(&a, &tiler).unwrap(), tiled);
        prop_assert_eq!(flat_divide(&a, &tiler).unwrap(), Layout::Tuple([tiles, rests].concat()));
    }

    /// Copies of `A` that lie apart, as many as `B` has indices, in the order of `B`.
    #[test]
    fn products_repeat(a in orderly_layout(), b in orderly_layout()) {
        let Ok(r) = logical_product(&a, &Tiler::Layout(b.clone())) else { return Ok(()) };
        prop_assert_eq!(&r.modes()[0], &a);
        prop_assert!(b.shape().is_compatible(&r.modes()[1].shape()).unwrap());
        prop_assert!(is_injective(&values(&r)));
        let copies = values(&r.modes()[1]);
        let order = values(&b);
        for i in 0..copies.len() {
            for j in 0..i {
                prop_assert_eq!(copies[i] < copies[j], order[i] < order[j]);
            }
        }
    }

    /// Blocks and rakes are the logical product with modes paired.
    #[test]
    fn products_pair_modes(a in orderly_layout(), b in orderly_layout()) {
        let Ok(blocked) = blocked_product(&a, &b) else { return Ok(()) };
        let raked = raked_product(&a, &b).unwrap();
        prop_assert_eq!(blocked.rank(), a.rank().max(b.rank()));
        prop_assert!(is_injective(&values(&blocked)));
        for (k, (block, rake)) in blocked.modes().iter().zip(raked.modes()).enumerate() {
            let (first, second) = (&block.modes()[0], &block.modes()[1]);
            prop_assert_eq!(rake.modes(), vec![second.clone(), first.clone()]);
            let mode = a.modes().get(k).cloned().unwrap_or(Layout::mode(1, 0));
            prop_assert_eq!(first, &mode);
        }
    }

    #[test]
    fn tiles_cover_shapes(a in orderly_layout(), counts in prop::collection::vec(1i64..=3, 4)) {
        let sizes: Vec<i64> = a.modes().iter().zip(&counts).map(|(m, n)| Plain::of(m).size() * n).collect();
        let Ok(r) = tile_to_shape(&a, &IntTuple::from(sizes.clone()), None) else { return Ok(()) };
        prop_assert!(IntTuple::from(sizes).is_compatible(&r.shape()).unwrap());
        prop_assert!(is_injective(&values(&r)));
        // The block lies at the beginning of each mode.
        for (tile, mode) in r.modes().iter().zip(a.modes()) {
            let size = usize::try_from(Plain::of(&mode).size()).unwrap();
            prop_assert_eq!(&values(tile)[..size], &values(&mode)[..]);
        }
    }

    /// Units of `n` elements are those that the elements lie in.
    #[test]
    fn units_hold_their_elements(l in orderly_layout(), n in prop::sample::select(vec![2i64, 3, 4])) {
        let Ok(r) = upcast(&l, &Int::from(n)) else { return Ok(()) };
        let units: BTreeSet<i64> = values(&l).into_iter().map(|v| v.div_euclid(n)).collect();
        prop_assert_eq!(image(&r), units);
        prop_assert_eq!(recast(&l, 8, 8 * n).unwrap(), r);
    }

    /// Parts of neighbours are neighbours: all parts of all elements, if one mode runs along
    /// memory.
    #[test]
    fn parts_are_neighbours(l in orderly_layout(), n in 2i64..=4) {
        if Plain::of(&l).0.iter().filter(|(_, d)| *d == 1).count() != 1 {
            return Ok(());
        }
        let r = recast(&l, 8 * n, 8).unwrap();
        let parts: BTreeSet<i64> = values(&l).into_iter().flat_map(|v| (0..n).map(move |k| v * n + k)).collect();
        prop_assert_eq!(image(&r), parts);
    }

    /// A slice and its offset are the layout where the coordinate fixes modes.
    #[test]
    fn slices_are_restrictions(l in some_layout(), i in 0i64..6, keep_first in any::<bool>()) {
        use loopwright_layout::Coordinate::{All, Index, Tuple};
        let Layout::Tuple(modes) = &l else { return Ok(()) };
        if modes.len() != 2 {
            return Ok(());
        }
        let fixed = &modes[usize::from(keep_first)];
        let kept = &modes[usize::from(!keep_first)];
        let i = i % Plain::of(fixed).size();
        let c = if keep_first { vec![All, Index(i)] } else { vec![Index(i), All] };
        let (r, offset) = l.slice_and_offset(&Tuple(c)).unwrap();
        let expected: Vec<i64> = values(kept).into_iter().map(|v| v + Plain::of(fixed).at(i)).collect();
        let found: Vec<i64> = values(&r).into_iter().map(|v| v + offset).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn swizzles_undo_themselves(bits in 0i64..=4, base in 0i64..=4, more in 0i64..=3, down in any::<bool>(), x in 0i64..1 << 16) {
        let shift = if down { -(bits + more) } else { bits + more };
        let swizzle = Swizzle::new(bits, base, shift).unwrap();
        prop_assert_eq!(swizzle.apply(swizzle.apply(x)), x);
        // Bit by bit.
        let (low, far) = (base, base + bits + more);
        let expected = (0..bits).fold(x, |sum, b| {
            let (changed, by) = if down { (far + b, low + b) } else { (low + b, far + b) };
            sum ^ (x >> by & 1) << changed
        });
        prop_assert_eq!(swizzle.apply(x), expected);
        // Blocks of 2^base neighbours stay together.
        prop_assert_eq!(swizzle.apply(x) % (1 << base), x % (1 << base));
        prop_assert_eq!(swizzle.to_string().parse::<Swizzle>().unwrap(), swizzle);
    }

    #[test]
    fn swizzled_layouts_are_functions_in_turn(l in orderly_layout(), b in orderly_layout(), offset in 0i64..64) {
        let swizzle = Swizzle::new(2, 1, 2).unwrap();
        let composed = ComposedLayout { swizzle, offset: offset.into(), layout: l.clone() };
        let expected: Vec<i64> = values(&l).into_iter().map(|v| swizzle.apply(v + offset)).collect();
        prop_assert_eq!(composed.values().unwrap(), expected);
        prop_assert_eq!(composed.to_string().parse::<ComposedLayout>().unwrap(), composed.clone());
        if let Ok(inner) = composed.compose(&b) {
            let all = values(&b).into_iter().map(|i| swizzle.apply(Plain::of(&l).at(i) + offset));
            prop_assert_eq!(inner.values().unwrap(), all.collect::<Vec<_>>());
        }
        if let Some(plain) = composed.as_layout().unwrap() {
            prop_assert_eq!(values(&plain), composed.values().unwrap());
        }
    }
}

proptest! {
    // These try all swizzles.
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// What changes coordinates keeps the values at these; what is asked of the function is decided
    /// by it.
    #[test]
    fn operations_on_swizzled_layouts(l in orderly_layout(), b in 0i64..=2, m in 0i64..=2, more in 0i64..=1, down in any::<bool>(), offset in prop_oneof![3 => Just(0i64), 1 => 0i64..9]) {
        let shift = if down { -(b + more) } else { b + more };
        let (swizzle, offset) = (Swizzle::new(b, m, shift).unwrap(), Int::from(offset));
        let c = ComposedLayout { swizzle, offset, layout: l };
        let all = c.values().unwrap();
        let text = c.to_string();
        let value = |e: String| loopwright_layout::eval::evaluate(&e).map(|v| v.to_string());
        let numbers = |e: String| value(format!("values({e})"));
        prop_assert_eq!(numbers(format!("coalesce({text})")), numbers(text.clone()));
        prop_assert_eq!(value(format!("size({text})")).unwrap(), all.len().to_string());
        prop_assert_eq!(value(format!("cosize({text})")).unwrap(), (all.iter().max().unwrap() + 1).to_string());
        // Its first half, as a tile.
        let half = all.len() / 2;
        if half > 0 && all.len().is_multiple_of(2) {
            let tile: Vec<String> = all[..half].iter().map(i64::to_string).collect();
            if let Ok(found) = numbers(format!("layout<0>(logical_divide({text}, {half}))")) {
                prop_assert_eq!(found, format!("({})", tile.join(",")));
            }
        }
        // Each element in two parts, which stay together, and the other way round.
        if let Ok(parts) = c.downcast(2) {
            let offset = 2 * c.offset.as_const().unwrap();
            let plain = values(&parts.layout).into_iter().map(|x| offset + x);
            let wanted: Vec<i64> = plain.map(|x| 2 * swizzle.apply(x / 2) + x % 2).collect();
            prop_assert_eq!(parts.values().unwrap(), wanted);
            if let Ok(inside) = upcast(&parts.layout, &Int::from(2)) {
                prop_assert_eq!(parts.upcast(2).unwrap().values(), c.with(inside).values());
            }
        }
        match c.right_inverse() {
            Ok(r) => {
                for (i, at) in (0..).zip(r.values().unwrap()) {
                    prop_assert_eq!(c.at(at).unwrap(), i, "{} of {}", r, c);
                }
            }
            Err(e) => prop_assert!(!all.contains(&0), "{e}"),
        }
        if let Ok(r) = c.left_inverse() {
            for value in &all {
                prop_assert_eq!(c.at(r.at(*value).unwrap()).unwrap(), *value, "{} of {}", r, c);
            }
        }
        if let Ok(r) = c.complement(&Int::from(64)) {
            let (image, rest): (BTreeSet<i64>, Vec<i64>) = (all.iter().copied().collect(), values(&r));
            let both: Vec<i64> = image.iter().flat_map(|a| rest.iter().map(move |b| a + b)).collect();
            prop_assert!(is_injective(&both), "{} of {}", r, c);
        }
        // A swizzle once more is none, wherever the offset is.
        let twice = value(format!("values({swizzle} o ({text}))"));
        let plain: Vec<String> = all.iter().map(|v| swizzle.apply(*v).to_string()).collect();
        prop_assert_eq!(twice.unwrap(), format!("({})", plain.join(",")));
    }

    /// A swizzled layout that comes after another one, and a layout that comes after a swizzled
    /// one: exactly if there is a swizzled layout with these values.
    #[test]
    fn what_comes_after_a_swizzle(l in orderly_layout(), b in 1i64..=2, m in 0i64..=2, more in 0i64..=1, factor in 1i64..=3) {
        let swizzle = Swizzle::new(b, m, b + more).unwrap();
        let c = ComposedLayout { swizzle, offset: 0.into(), layout: l };
        let found = c.followed_by("composition", &|v| Ok(factor * v));
        let wanted: Vec<i64> = c.values().unwrap().into_iter().map(|v| factor * v).collect();
        match found {
            Ok(found) => prop_assert_eq!(found.values().unwrap(), wanted),
            // Twice the values: a swizzle of bits one higher.
            Err(e) => prop_assert!(factor == 3 && matches!(e, Error::NoLayout { .. }), "{e}"),
        }
    }
}
