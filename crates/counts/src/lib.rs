//! What a kernel does, as formulas of its parameters: executions, operations, accesses, elements.
//!
//! A count is a [`Formula`]: quasi-polynomials (polynomials in parameters and in quotients such as
//! `(n + 127) // 128`), each under affine conditions on the parameters. There is an exact formula
//! for domains that are conjunctions of affine constraints with rounded quotients, as long as it
//! stays small: boxes, triangles, simplices and their splits, tiles and strides. What depends on
//! data is refused, by name; see [`count`].
//!
//! The counts are of the kernel, not of the lowered program. They need no run and no sizes, unlike
//! the emulator's counters, which know what lowering has added.
//!
//! | module | what it does |
//! |---|---|
//! | `kernel` | walks the parts of a kernel and adds up |
//! | `operations`, `accesses`, `footprint` | what one part does |
//! | `domain` | where a part runs, and conditions in expressions |
//! | `points` | counts the integer points of a conjunction |
//! | `sum` | sums a quasi-polynomial over an interval |
//! | `formula`, `polynomial`, `floors`, `rational` | values |

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod accesses;
mod domain;
mod floors;
mod footprint;
mod formula;
mod kernel;
mod operations;
mod points;
mod polynomial;
mod rational;
mod refusal;
mod sum;
mod total;

pub use accesses::{Along, Direction, Stride};
pub use domain::assumptions;
pub use formula::{Formula, Piece};
pub use kernel::{AccessCount, Counts, Footprint, OperationCount, PartCount, count, executions};
pub use operations::Operation;
pub use points::points;
pub use polynomial::QuasiPolynomial;
pub use refusal::Refusal;
pub use total::Total;
