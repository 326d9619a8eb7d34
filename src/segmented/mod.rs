//! Reductions of segments that are fast without tuning.
//!
//! ```
//! use loopwright::prelude::*;
//! use loopwright::segmented::{Operator, SegmentedReduce, Segments, Shape, segmented_reduce};
//!
//! let device = Device::best();
//! let x: Vec<f32> = (1..=12).map(|v| v as f32).collect();
//! let sums = segmented_reduce(&device, Operator::Sum, &x, Segments::Length(4))?;
//! assert_eq!(sums.values.to_vec::<f32>()?, [10.0, 26.0, 42.0]);
//!
//! // Offsets: segment s is x[offsets[s]] up to, without, x[offsets[s + 1]]; the second is empty.
//! let largest = segmented_reduce(&device, Operator::Argmax, &x, Segments::Offsets(&[0, 5, 5,
//! 12]))?; assert_eq!(largest.indices.expect("argmax has indices").to_vec::<i32>()?, [4, i32::MAX,
//! 6]);
//!
//! // For many launches: compiled once, bound to arrays, then launched without lookups.
//! let squares = SegmentedReduce::new(Operator::Sum, DType::F32).map("x * x")?;
//! let compiled = squares.compile(&Shape::rows(3, 4), &device)?;
//! let bound = compiled.bind(&Args::new().tensor("x", &Tensor::from_slice(&[3, 4], &x)?))?;
//! bound.launch()?;
//! assert_eq!(bound.read("out")?.to_vec::<f32>()?, [30.0, 174.0, 446.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The stages, in order, and where to take over:
//!
//! 1. [`SegmentedReduce::kernel`] declares what is computed, as text that can be printed.
//! 2. [`SegmentedReduce::choose`] asks the rules of [`auto`](crate::auto) for a pipeline, given the
//!    sizes and a device that need not be present: a few lanes per row, a block per row, chunks of
//!    a row, or flattened segments. Nothing is timed; the cost is estimated from counts.
//! 3. [`SegmentedReduce::compile`] compiles that for a device; binaries are cached on disk. The
//!    sizes stay arguments: a compiled reduction also works for other sizes that satisfy the
//!    assumptions of its pipeline (rows of whole vectors), although it was chosen for the first.
//! 4. [`CompiledReduce::bind`] checks arguments and gives a [`Bound`](crate::runtime::Bound), whose
//!    launches neither allocate nor look anything up.
//!
//! Results are bitwise reproducible, unless [`SegmentedReduce::reduce_atomically`] is used.
//!
//! The reduction is an ordinary kernel with an ordinary pipeline: [`Chosen::kernel`] and
//! [`Chosen::pipeline`] are the starting point for a tuner, a longer pipeline or a fused kernel of
//! your own.

mod compiled;
mod declare;
mod reduce;
mod sample;
mod shape;

pub use compiled::{CompiledReduce, Reduced, segmented_reduce};
pub use reduce::{Chosen, Operator, SegmentedReduce};
pub use shape::{Segments, Shape};
