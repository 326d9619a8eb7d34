//! Layouts: functions from nested coordinates to indices, and the algebra on them.
//!
//! A layout has a shape and a stride, written `(4,8):(8,1)`: the coordinate `(i, j)` has the index
//! `8 i + j`. Modes nest, a number counts colexicographically wherever a tuple is expected, and the
//! operations have the names that they have in CuTe: [`composition`], [`complement`], inverses,
//! divides, products, swizzles.
//!
//! Each operation succeeds exactly if its post-condition can be satisfied, and otherwise reports
//! which mode fails and why, with indices as witness. Sizes that are launch parameters are
//! polynomials ([`Int`]); for these, an operation succeeds if the rules of divisibility hold for
//! all sizes.
//!
//! ```
//! use loopwright_layout::{Layout, Tiler, logical_divide};
//!
//! # fn main() -> loopwright_layout::Result<()> {
//! let a: Layout = "(4,2,3):(2,1,8)".parse()?;
//! let tile: Layout = "4:2".parse()?;
//! assert_eq!(logical_divide(&a, &Tiler::Layout(tile))?.to_string(), "((2,2),(2,3)):((4,1),(2,8))");
//! # Ok(())
//! # }
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`eval`] | expressions as text, with CuTe's names |
//! | [`cases`] | running files of cases |

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod bits;
mod bridge;
pub mod cases;
mod complement;
mod compose;
mod composed;
mod divide;
mod error;
pub mod eval;
mod fit;
mod instruction;
mod int;
mod interpolate;
mod inverse;
mod layout;
mod picture;
mod recast;
mod simplify;
mod slice;
mod swizzle;
mod tuple;

pub use bits::BitMap;
pub use complement::{collision, complement};
pub use compose::{Tiler, compose_tiler, composition};
pub use composed::ComposedLayout;
pub use divide::{
    blocked_product, flat_divide, flat_product, logical_divide, logical_product, ordered, raked_product,
    tile_to_shape, tiled_divide, tiled_product, zipped_divide, zipped_product,
};
pub use error::{Error, Result};
pub use fit::layout_of;
pub use instruction::{Held, Holder, Instruction, TiledInstruction, instruction_names};
pub use int::Int;
pub use inverse::{left_inverse, max_common_layout, max_common_vector, nullspace, right_inverse};
pub use layout::{Known, Layout};
pub use picture::Picture;
pub use recast::{downcast, recast, upcast};
pub use slice::Coordinate;
pub use swizzle::Swizzle;
pub use tuple::{IntTuple, crd2idx};
