//! From a kernel to the one lowered program that the CUDA printer, the emulator and every analysis
//! read.
//!
//! [`lower`] decides order, bounds, guards, barriers, kernel boundaries and storage:
//!
//! 1. Each part of each instruction gets its constraints and accesses over coordinates, loops and
//!    parameters (`analysis`).
//! 2. The host's level of the loop tree is cut into device kernels where blocks depend on one
//!    another (`structure`, `sync`).
//! 3. In each device kernel, barriers go where different threads of a block may meet in a cell
//!    (`sync`).
//! 4. Bodies are written out with tight loop bounds and the guards that are needed (`emit`),
//!    reductions realised by where their inames run (`reduce`), variables declared (`declare`).
//! 5. The finished program is read once more by what knows nothing of all that ([`verify`]).
//!
//! What the check finds, once a barrier is taken away:
//!
//! ```
//! use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name, Part, PartRef, Tag, Tree};
//! use loopwright_lowering::{LowerOptions, lower, program::Stmt, verify::{Finding, verify}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let declared = LoopKernel::parse("\
//! kernel mirror(x: f32[n, 128], y: f32[n, 128], n: i32)
//! domain { [b, t, u] : 0 <= b < n and 0 <= t < 128 and 0 <= u < 128 }
//! temp row: f32[128] shared
//! row[t] = x[b, t] {id=load}
//! y[b, u] = row[127 - u] {id=store}
//! ")?;
//! // tag_inames(b: block.x, t: thread.x, u: thread.x)
//! let kernel = declared.edit(|data| {
//!     let tags = [("b", Tag::Block(0)), ("t", Tag::Thread(0)), ("u", Tag::Thread(0))];
//!     data.tags = tags.map(|(iname, tag)| (Name::new(iname), tag)).into_iter().collect();
//!     let leaf = |id: &str| Tree::Leaf(PartRef { instruction: Name::new(id), part: Part::Whole });
//!     data.tree = vec![leaf("load"), leaf("store")];
//!     Ok::<(), Diagnostic>(())
//! })?;
//! let mut program = lower(&kernel, LowerOptions::default())?;
//! assert!(matches!(verify(&program), Finding::Proved { .. }));
//!
//! program.kernels[0].body.retain(|s| !matches!(s, Stmt::Sync { .. }));
//! let Finding::Refuted(why) = verify(&program) else { panic!("two threads race") };
//! assert_eq!(
//!     why.witness.as_deref(),
//!     Some("thread (0, 0, 0) in load writes row[0], thread (127, 0, 0) in store reads it; block (0, 0, 0), n=1"),
//! );
//! # Ok(())
//! # }
//! ```

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod accumulate;
mod analysis;
mod block;
mod bounds;
mod cell;
mod counted;
mod dead;
mod declare;
mod depend;
mod device_kernel;
mod early;
mod elect;
mod emit;
mod emitter;
mod env;
mod flat;
mod fold;
mod grid;
mod grid_reduce;
mod grid_update;
mod guards;
mod items;
mod join;
mod layout;
mod loads;
mod loop_bounds;
mod names;
mod partial;
mod paths;
mod peel;
mod private;
mod race;
mod ranges;
mod reduce;
mod rewrite;
mod scan;
mod scan_order;
mod scope;
mod structure;
mod sync;
mod translate;
mod vectorize;

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel};
/// The lowered program, which has a crate of its own.
pub use loopwright_program as program;
pub use loopwright_program::{index_range, verify};
/// What a program is written for.
pub use loopwright_target::{Language, Target};

/// Choices of lowering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LowerOptions {
    /// The type of index arithmetic: I32 or I64.
    pub index: DType,
    /// What the program is written for.
    pub target: Target,
}

impl Default for LowerOptions {
    fn default() -> Self {
        LowerOptions { index: DType::I32, target: Target::default() }
    }
}

/// Lowers a kernel whose types are all bound.
///
/// Errors: races that nothing can synchronise, values of private or shared temporaries that other
/// threads or blocks read, loops whose bounds differ between threads that have to meet inside,
/// shapes that are not constant where they have to be, vectors that do not begin at a multiple of
/// their bytes; and what [`verify::verify`] finds in the finished program.
pub fn lower(kernel: &LoopKernel, options: LowerOptions) -> Result<program::Program, Diagnostic> {
    let program = lower_unverified(kernel, options)?;
    match refused(kernel, &program) {
        None => Ok(program),
        Some(why) => Err(kernel.locate(*why)),
    }
}

/// Why the final check refuses a program.
fn refused(kernel: &LoopKernel, program: &program::Program) -> Option<Box<Diagnostic>> {
    match verify::verify(program) {
        verify::Finding::Proved { .. } => None,
        // What the user has vouched for may rest on what cannot be shown.
        verify::Finding::Unknown(_) if !kernel.vouched.is_empty() => None,
        verify::Finding::Refuted(why) | verify::Finding::Unknown(why) => Some(why),
    }
}

/// As [`lower`], without the final check of the finished program. For measurements of what that
/// costs.
pub fn lower_unverified(kernel: &LoopKernel, options: LowerOptions) -> Result<program::Program, Diagnostic> {
    lower_with(kernel, options, Hazards::Refused)
}

/// As [`lower`], for a kernel that may be illegal: what nothing can order is left without an order,
/// values that cannot reach their readers are read as they are, lanes that are not aligned move one
/// by one, and the finished program is not asked about. For tests that show, by running it, that
/// what was refused really goes wrong.
pub fn lower_forced(kernel: &LoopKernel, options: LowerOptions) -> Result<program::Program, Diagnostic> {
    lower_with(kernel, options, Hazards::Left)
}

/// What becomes of executions that nothing can order, and of values that do not reach their
/// readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hazards {
    /// The kernel is refused.
    Refused,
    /// They stay in the program.
    Left,
}

fn lower_with(
    kernel: &LoopKernel,
    options: LowerOptions,
    hazards: Hazards,
) -> Result<program::Program, Diagnostic> {
    scan_order::check(kernel, hazards).map_err(|diagnostic| kernel.locate(diagnostic))?;
    let lower = |kernel: &LoopKernel| match grid_reduce::take_apart(kernel)? {
        Some(apart) => structure::lower(&apart.kernel, options, hazards, apart.updates),
        None => structure::lower(kernel, options, hazards, BTreeMap::new()),
    };
    // Where rows begin anywhere, a reduction can begin its vectors before them.
    let shifted = match hazards {
        Hazards::Refused => peel::rows_from_multiples(kernel, &options.target)?,
        Hazards::Left => None,
    };
    lower(shifted.as_ref().unwrap_or(kernel)).map_err(|diagnostic| kernel.locate(diagnostic))
}
