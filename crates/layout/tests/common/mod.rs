//! Shared parts of the tests: a plain evaluator of layouts, and random layouts.
//!
//! `Plain` evaluates a layout from its definition and shares no code with the library.

#![allow(dead_code)]

use loopwright_layout::{Layout, Tiler};
use proptest::prelude::*;

/// Sizes and strides of all leaves.
pub struct Plain(pub Vec<(i64, i64)>);

impl Plain {
    pub fn of(layout: &Layout) -> Self {
        let leaf = |(s, d): (loopwright_layout::Int, loopwright_layout::Int)| {
            (s.as_const().expect("a constant"), d.as_const().expect("a constant"))
        };
        Plain(layout.leaves().into_iter().map(leaf).collect())
    }

    pub fn size(&self) -> i64 {
        self.0.iter().map(|(s, _)| s).product()
    }

    /// `sum_k d_k (floor(i / p_k) mod s_k)`, the last mode without `mod`.
    pub fn at(&self, i: i64) -> i64 {
        let mut p = 1;
        let mut sum = 0;
        for (k, (s, d)) in self.0.iter().enumerate() {
            let digit = i.div_euclid(p);
            sum += d * if k + 1 < self.0.len() { digit.rem_euclid(*s) } else { digit };
            p *= s;
        }
        sum
    }

    pub fn values(&self) -> Vec<i64> {
        (0..self.size()).map(|i| self.at(i)).collect()
    }
}

pub fn layout(text: &str) -> Layout {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

pub fn tiler(text: &str) -> Tiler {
    loopwright_layout::eval::evaluate(text).unwrap().tiler().unwrap()
}

pub fn values(layout: &Layout) -> Vec<i64> {
    Plain::of(layout).values()
}

pub fn is_injective(values: &[i64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|w| w[0] != w[1])
}

/// A leaf or a tuple of them, nested at most twice.
fn tree(leaf: BoxedStrategy<Layout>, most: usize) -> BoxedStrategy<Layout> {
    let pair = prop::collection::vec(leaf.clone(), 1..=2).prop_map(Layout::Tuple);
    let mode = prop_oneof![3 => leaf.clone(), 1 => pair];
    prop_oneof![
        1 => leaf,
        4 => prop::collection::vec(mode, 1..=most).prop_map(Layout::Tuple),
    ]
    .boxed()
}

/// Any layout with small sizes and strides; most of them are neither injective nor compact.
pub fn any_layout() -> BoxedStrategy<Layout> {
    let leaf = (1i64..=6, prop_oneof![4 => 0i64..=12, 1 => -4i64..=-1]);
    tree(leaf.prop_map(|(s, d)| Layout::mode(s, d)).boxed(), 3)
}

/// Any layout whose strides are not negative.
pub fn ascending_layout() -> BoxedStrategy<Layout> {
    tree((1i64..=6, 0i64..=16).prop_map(|(s, d)| Layout::mode(s, d)).boxed(), 3)
}

/// Layouts as they occur: compact in some order of the modes, with gaps that divide.
pub fn orderly_layout() -> BoxedStrategy<Layout> {
    let sizes = prop::collection::vec(prop::sample::select(vec![1i64, 2, 3, 4, 8]), 1..=4);
    (
        sizes,
        prop::collection::vec(prop::sample::select(vec![1i64, 1, 1, 2, 3]), 4),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(sizes, gaps, turn)| {
            let count = sizes.len();
            let mut strides = vec![0; count];
            let mut next = 1;
            for (k, gap) in gaps.iter().enumerate().take(count) {
                let place = (k + turn.index(count)) % count;
                next *= gap;
                strides[place] = next;
                next *= sizes[place];
            }
            Layout::Tuple(sizes.iter().zip(strides).map(|(s, d)| Layout::mode(*s, d)).collect())
        })
        .boxed()
}

pub fn some_layout() -> BoxedStrategy<Layout> {
    prop_oneof![orderly_layout(), ascending_layout(), any_layout()].boxed()
}
