//! Kernels from a line: products of arrays in einsum's notation, element-wise maps, copies with
//! permuted axes, reductions, scans, and the `k` largest along an axis.
//!
//! What is made is a declared kernel like any other: its text reads as if a user had written it,
//! and steps, or `auto`, decide how it runs.
//!
//! ```
//! use loopwright_generate::einsum;
//! use loopwright_kernel_ir::DType::F32;
//!
//! let product = einsum("ik,kj->ij", [F32, F32])?;
//! assert_eq!(product.to_string(), "\
//! kernel einsum(a: f32[n_i, n_k], b: f32[n_k, n_j], out: f32[n_i, n_j], n_i: i32, n_k: i32, n_j: i32)
//! assume 0 <= n_i and 0 <= n_k and 0 <= n_j
//! domain { [i, j] : 0 <= i < n_i and 0 <= j < n_j }
//! domain { [k] : 0 <= k < n_k }
//! out[i, j] = sum(k, a[i, k] * b[k, j]) {id=product}
//! ");
//! # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
//! ```
//!
//! | function | what the kernel computes |
//! |---|---|
//! | [`einsum`] | sums of products of operands' elements, which letters name |
//! | [`map`] | an expression of the elements at one place |
//! | [`copy`] | the same elements with the axes in another order |
//! | [`reduce`] | sums, products, means, extrema and their places, `any`, `all`, along axes |
//! | [`scan`] | sums, products and extrema of all elements up to one's own |
//! | [`top_k`] | the `k` largest along an axis, with their places |
//!
//! The functions take the usual types and names; a [`Generator`] has methods of the same names, and
//! changes those.
//!
//! # Shapes
//!
//! All but `einsum` take the shape of their operands as a text, `"m, n, 4"`: names of sizes, which
//! become arguments of type i32, and constants. A name that stands twice is one size. Axes are
//! numbered from 0; negative numbers count from the end, so that -1 is the last axis. Sizes may be
//! zero, and there are 32 axes at most (`generate-limit`). An array of no axes does not exist in
//! the language: a single result is `out: f32[1]`.
//!
//! # Types
//!
//! Sums, products and means are accumulated in the type where the operands meet by the rules of the
//! language, with that of the result if it is given: f16, bf16 and the types of eight bits in f32,
//! other floating-point types in their own, integers in their own of at least 32 bits, in which
//! they wrap. [`Generator::acc`] names another one of 32 or 64 bits, to which each operand is cast.
//! The result has the type of the operands if that is the same for all of them, otherwise the one
//! they meet in; [`Generator::out`] names another one.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

use std::fmt;

use loopwright_kernel_ir::{DType, Diagnostic, Name};

mod complex;
mod copy;
mod einsum;
mod map;
mod reduce;
mod scan;
mod shape;
mod top_k;
mod types;

pub use complex::{complex_part, with_complex};
pub use copy::copy;
pub use einsum::einsum;
pub use map::map;
pub use reduce::{REDUCTIONS, reduce};
pub use scan::{SCANS, scan};
pub use top_k::top_k;

/// What is not as usual in the next kernel: its name, types, and what belongs to one kind of
/// kernel.
///
/// ```
/// use loopwright_generate::Generator;
/// use loopwright_kernel_ir::DType::{F32, F64};
///
/// let dot = Generator::new().name("dot").acc(F64).einsum("i,i->", [F32, F32])?;
/// assert!(dot.to_string().ends_with("\
/// out[0] = cast(f32, sum(i, cast(f64, a[i]) * cast(f64, b[i]))) {id=product}
/// "));
/// # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "its methods return a changed one"]
pub struct Generator {
    name: Option<Name>,
    acc: Option<DType>,
    out: Option<DType>,
    exclusive: bool,
    typed: Vec<(Name, DType)>,
    scalars: Vec<Name>,
}

impl Generator {
    /// A generator with the usual names and types.
    pub fn new() -> Self {
        Generator::default()
    }

    /// The kernel's name; the usual one says what it computes, such as `einsum` or `reduce_sum`.
    pub fn name(mut self, name: impl Into<Name>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The type in which sums, products and means are accumulated. What accumulates nothing refuses
    /// it.
    pub fn acc(mut self, dtype: DType) -> Self {
        self.acc = Some(dtype);
        self
    }

    /// The type in which the result is stored.
    pub fn out(mut self, dtype: DType) -> Self {
        self.out = Some(dtype);
        self
    }

    /// A [`scan`](Generator::scan) leaves out one's own element: the first result is that of no
    /// elements, 0 for sums. Other kernels refuse it.
    pub fn exclusive(mut self) -> Self {
        self.exclusive = true;
        self
    }

    /// An operand of a [`map`](Generator::map) has a type of its own. Other kernels refuse it.
    pub fn typed(mut self, operand: impl Into<Name>, dtype: DType) -> Self {
        self.typed.push((operand.into(), dtype));
        self
    }

    /// An operand of a [`map`](Generator::map) is one number, not an array. Other kernels refuse
    /// it.
    pub fn scalar(mut self, operand: impl Into<Name>) -> Self {
        self.scalars.push(operand.into());
        self
    }

    /// Refuses what has no meaning for a kind of kernel.
    fn check(&self, kind: Kind) -> Result<(), Diagnostic> {
        let misplaced = |option: &str, of: &str| {
            Err(Diagnostic::new(
                "generate-option",
                format!("`{option}` is an option of {of}s, not of {kind}"),
            )
            .help(format!("leave it out, or make a {of}")))
        };
        if self.exclusive && !matches!(kind, Kind::Scan) {
            return misplaced("exclusive", "scan");
        }
        let of_operands = [(!self.typed.is_empty(), "typed"), (!self.scalars.is_empty(), "scalar")];
        match of_operands.iter().find(|(given, _)| *given) {
            Some((_, option)) if !matches!(kind, Kind::Map) => misplaced(option, "map"),
            _ => Ok(()),
        }
    }

    fn named(&self, usual: &str) -> Name {
        self.name.clone().unwrap_or_else(|| Name::new(usual))
    }
}

/// The family of kernels of which one is made, which decides what may be set.
#[derive(Clone, Copy)]
enum Kind {
    Einsum,
    Map,
    Copy,
    Reduction,
    Scan,
    TopK,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Einsum => "an einsum",
            Kind::Map => "a map",
            Kind::Copy => "a copy",
            Kind::Reduction => "a reduction",
            Kind::Scan => "a scan",
            Kind::TopK => "the k largest",
        })
    }
}
