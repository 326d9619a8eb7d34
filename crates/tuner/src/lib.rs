//! Finds values for the open parameters of a pipeline.
//!
//! ```
//! use loopwright_kernel_ir::LoopKernel;
//! use loopwright_runtime::{Args, Device, Tensor};
//! use loopwright_transforms::Pipeline;
//! use loopwright_tuner::{Space, Tuner};
//!
//! let kernel = LoopKernel::parse("\
//! kernel row_sum(x: f32[n, m], out: f32[n], n: i32, m: i32)
//! assume 0 <= n and 0 <= m
//! domain { [s] : 0 <= s < n }
//! domain { [i] : 0 <= i < m }
//! out[s] = sum(i, x[s, i])
//! ")?;
//! let pipeline = Pipeline::parse("\
//! split_iname(s, $rows)
//! split_iname(i, $lanes)
//! tag_inames(s_outer: block.x, s_inner: thread.y, i_inner: thread.x)
//! ")?;
//! let space = Space::parse("\
//! rows in [1, 4, 16]
//! lanes in powers(8, 64)
//! require rows * lanes >= 32
//! ")?;
//! let device = Device::emulator();
//! let args = Args::new().tensor("x", &Tensor::random(&[64, 100], loopwright_kernel_ir::DType::F32, 1)?);
//! let tuning = Tuner::new(&device, &kernel, &pipeline, &space, &args).run()?;
//! assert_eq!(tuning.candidates.len(), 10);
//! println!("{}", tuning.table());
//! let best = tuning.best_point().expect("some point is legal");
//! assert!(best.get("lanes").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Space`] is data: candidates and requirements. A [`Tuner`] checks and counts every point on
//! the emulator, which gives a [`Cost`] and a bound, then times points on a GPU if there is one, in
//! the order of a [`Strategy`], and names the best of the finalists. Points that are illegal,
//! impossible or wrong are [`Outcome`]s with a reason. A [`Log`] keeps outcomes; [`simulate`]
//! replays a strategy over them without a device. [`TunedRecords`] are the best points that a
//! project ships, with everything they depend on. A [`LimitReport`] shows the fraction of the
//! memory's limit that the best points of several searches reach, over a size.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod basis;
mod binaries;
mod body;
mod bottleneck;
mod candidate;
mod choose;
mod compile_only;
mod cost;
mod data_class;
mod estimate;
mod figures;
mod gaussian_process;
mod html;
mod judge;
mod kept;
mod key;
mod limits;
mod lint;
mod log;
mod machine;
mod measured;
mod outcome;
mod page;
mod partial_tiles;
mod point;
mod points;
mod progress;
mod replay;
mod residents;
mod scaled;
mod search;
mod space;
mod strategy;
mod table;
mod throughput;
mod tuned;
mod tuner;
mod tuning;
mod under_way;
mod work;

pub use binaries::BinaryFolder;
pub use bottleneck::Bottleneck;
pub use choose::{Choice, choose};
pub use compile_only::CompiledFolder;
pub use cost::{Cost, Counted, Machine};
pub use data_class::{indices_class, offsets_class};
pub use estimate::estimate;
pub use key::{Key, Record};
pub use limits::{Best, LimitReport, Reached, Series};
pub use lint::{Attempt, CODES as LINT_CODES, Lint, LintPlace, Repair, lint};
pub use log::{Log, Recalled, best_in_log};
pub use machine::Rates;
pub use outcome::{Outcome, Times};
pub use point::Point;
pub use points::points;
pub use progress::{Phase, Progress, Spent};
pub use replay::{Replayed, replay};
pub use scaled::estimate_at;
pub use space::{Requirement, Space};
pub use strategy::{Search, Simulated, Strategy, simulate};
pub use tuned::{Difference, RecordKey, TunedPoint, TunedRecord, TunedRecords, length_class};
pub use tuner::Tuner;
pub use tuning::{Finalist, Tuning};
