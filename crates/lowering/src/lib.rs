//! From a kernel to the one lowered program that the CUDA printer, the emulator and every analysis
//! read.
//!
//! [`lower`] first rewrites instructions that have to become several: reductions over blocks, and
//! reductions along misaligned rows ([`realized`]). Each rewrite has its own verdict, and is
//! refused if it is not proved. Then [`lower`] decides order, bounds, guards, barriers, kernel
//! boundaries and storage ([`schedule()`] prints these decisions), and writes the program:
//!
//! 1. Each part of each instruction gets its constraints and accesses over coordinates, loops and
//!    parameters (`analysis`).
//! 2. The host's level of the loop tree is cut into device kernels where blocks depend on one
//!    another (`schedule::host`, `sync`).
//! 3. In each device kernel, barriers are placed where different threads of a block may access the
//!    same cell (`sync`).
//! 4. Each decision is a pass: guards, bounds of loops, vectors and their remainders, loads that
//!    lanes share, joins of partial results, storage, loop counters (`schedule`). Passes of their
//!    own decide about flattened nests (`flat::plan`).
//! 5. The schedule is written out (`write`): what is decided there changes no order and no value,
//!    but what gets a name. Variables are declared, and what nothing reads is dropped (`declare`).
//! 6. The finished program is verified by code that is independent of lowering ([`verify`]).
//!
//! What the verifier reports if a barrier is removed:
//!
//! ```
//! use loopwright_kernel_ir::{Diagnostic, Dim, LoopKernel, Name, Part, PartRef, Tag, Tree};
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
//!     let x = Dim::X;
//!     let tags = [("b", Tag::Block(x)), ("t", Tag::Thread(x)), ("u", Tag::Thread(x))];
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

mod analyse;
mod flat;
mod schedule;
mod write;

pub use analyse::dead::LeftOut;
pub use flat::min_blocks as flat_min_blocks;
use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel};
use loopwright_poly::remembering;
/// The lowered program, re-exported from its crate.
pub use loopwright_program as program;
pub use loopwright_program::{index_range, verify};
use loopwright_realize::{Realized, Wanted, realize};
/// The target of a program.
pub use loopwright_target::{Language, Target};

/// The inputs of lowering other than the kernel: the type of indices, and the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LowerOptions {
    /// The type of index arithmetic: I32 or I64.
    pub index: DType,
    /// What the program is written for.
    pub target: Target,
}

impl Default for LowerOptions {
    fn default() -> Self {
        LowerOptions::new(DType::I32)
    }
}

impl LowerOptions {
    /// Programs for CUDA with this type of index arithmetic.
    pub fn new(index: DType) -> LowerOptions {
        LowerOptions { index, target: Target::default() }
    }

    /// The same for another target.
    pub fn on(self, target: Target) -> LowerOptions {
        LowerOptions { target, ..self }
    }
}

/// Lowers a kernel whose types are all bound.
///
/// Errors: races that no synchronisation prevents, values of private or shared temporaries that
/// other threads or blocks read, loops with a barrier inside whose bounds differ between threads,
/// shapes that must be constant and are not, misaligned vectors, realisations that are not proved,
/// and what [`verify::verify`] finds in the finished program.
pub fn lower(kernel: &LoopKernel, options: LowerOptions) -> Result<program::Program, Diagnostic> {
    remembering(|| {
        let realized = realized_for(kernel, options, Hazards::Refused)?;
        realized.check().map_err(|d| kernel.locate(d))?;
        let program = written(kernel, &realized, options, Hazards::Refused)?;
        match verify::verify_kernel(realized.kernel(), &program) {
            verify::Finding::Proved { .. } => Ok(program),
            verify::Finding::Refuted(why) | verify::Finding::Unknown(why) => Err(kernel.locate(*why)),
        }
    })
}

/// As [`lower`], without the verdicts on realisations and the final check of the finished program.
/// For measuring the cost of these.
pub fn lower_unverified(kernel: &LoopKernel, options: LowerOptions) -> Result<program::Program, Diagnostic> {
    remembering(|| {
        let realized = realized_for(kernel, options, Hazards::Refused)?;
        written(kernel, &realized, options, Hazards::Refused)
    })
}

/// As [`lower`], for a kernel that may be illegal: conflicts that nothing can order are left
/// unordered, values that cannot reach their readers are read nevertheless, misaligned lanes are
/// accessed one by one, and the finished program is not verified. For tests that run refused
/// kernels to show that they go wrong.
pub fn lower_forced(kernel: &LoopKernel, options: LowerOptions) -> Result<program::Program, Diagnostic> {
    remembering(|| {
        let realized = realized_for(kernel, options, Hazards::Left)?;
        written(kernel, &realized, options, Hazards::Left)
    })
}

/// The decisions of [`lower`] for a kernel, as text: launches with their blocks and grids, where
/// temporaries live, loops with their bounds and counters, guards, barriers with the dependence
/// that requires each, loads that lanes share, vectors, and how partial results are joined; of
/// flattened nests, how their steps are cut, and what warps do with chunks and tiles.
///
/// ```
/// use loopwright_kernel_ir::LoopKernel;
/// use loopwright_lowering::{LowerOptions, schedule};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let kernel = LoopKernel::parse("\
/// kernel scale(x: f32[n], y: f32[n], n: i32)
/// domain { [i] : 0 <= i < n }
/// y[i] = 2*x[i] {id=scale}
/// ")?;
/// assert_eq!(schedule(&kernel, LowerOptions::default())?, "\
/// kernel scale_0: block 1 x 1 x 1
///     loop i: 0 <= i and i < n
///         scale
/// ");
/// # Ok(())
/// # }
/// ```
///
/// Errors: those of [`lower`], except for those of the final check.
pub fn schedule(kernel: &LoopKernel, options: LowerOptions) -> Result<String, Diagnostic> {
    let realized = realized_for(kernel, options, Hazards::Refused)?;
    let text = || {
        let analysis = analysed(realized.kernel(), &options.target)?;
        let schedule = schedule::host::schedule(&analysis, options, Hazards::Refused)?;
        schedule::show::text(&schedule, &analysis)
    };
    text().map_err(|diagnostic| kernel.locate(diagnostic))
}

/// The instructions of a kernel that its program does not run, since nothing reads the private or
/// shared temporaries that they write.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use loopwright_kernel_ir::LoopKernel;
/// use loopwright_lowering::{Target, left_out};
///
/// let text = "kernel k(x: f32[n], y: f32[n], n: i32)
///     domain { [i] : 0 <= i < n }
///     temp t: f32
///     t = 3.0*x[i] {id=forgotten}
///     y[i] = 2.0*x[i]";
/// let kernel = LoopKernel::parse(text)?;
/// let found = left_out(&kernel, &Target::default())?;
/// assert_eq!(found[0].to_string(), "left out: forgotten (nothing reads t)");
/// # Ok(())
/// # }
/// ```
///
/// Errors: those of [`realized`].
pub fn left_out(kernel: &LoopKernel, target: &Target) -> Result<Vec<LeftOut>, Diagnostic> {
    let realized = realized(kernel, target)?;
    let analysis = analyse::analysis::Analysis::new(realized.kernel());
    Ok(analysis.map_err(|diagnostic| kernel.locate(diagnostic))?.left_out)
}

/// The kernel whose parts a lowered program runs, with the rewrites that led to it: a reduction
/// over blocks is one of several instructions, and a reduction along a misaligned row counts its
/// points from an aligned address. The claims of a program about its parts are checked against this
/// kernel ([`verify::verify_kernel`]), and this kernel against the transformed one
/// ([`Realized::judged`]).
///
/// Errors: reductions over blocks, and orders of scans, without a realisation.
pub fn realized(kernel: &LoopKernel, target: &Target) -> Result<Realized, Diagnostic> {
    realized_for(kernel, LowerOptions { target: *target, ..LowerOptions::default() }, Hazards::Refused)
}

/// How to treat executions that nothing can order, and values that do not reach their readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hazards {
    /// The kernel is refused, with the executions or the value that nothing orders or delivers.
    Refused,
    /// They stay in the program, for runs that show what they do.
    Left,
}

fn realized_for(
    kernel: &LoopKernel,
    options: LowerOptions,
    hazards: Hazards,
) -> Result<Realized, Diagnostic> {
    let wanted = match hazards {
        Hazards::Refused => Wanted::All,
        Hazards::Left => Wanted::Needed,
    };
    let realized =
        analyse::scan_order::check(kernel, hazards).and_then(|()| realize(kernel, &options.target, wanted));
    realized.map_err(|diagnostic| kernel.locate(diagnostic))
}

/// The program of a realised kernel. `kernel` is the user's, to whose text diagnostics refer.
fn written(
    kernel: &LoopKernel,
    realized: &Realized,
    options: LowerOptions,
    hazards: Hazards,
) -> Result<program::Program, Diagnostic> {
    let program = || {
        analyse::names::check(realized.kernel(), options.target.language)?;
        let analysis = analysed(realized.kernel(), &options.target)?;
        let schedule = schedule::host::schedule(&analysis, options, hazards)?;
        write::program(&analysis, &schedule, options)
    };
    program().map_err(|diagnostic| kernel.locate(diagnostic))
}

/// The analysis of a realised kernel, before anything is decided.
fn analysed<'k>(
    kernel: &'k LoopKernel,
    target: &Target,
) -> Result<analyse::analysis::Analysis<'k>, Diagnostic> {
    analyse::tables::check(kernel, target.constant_memory)?;
    let mut analysis = analyse::analysis::Analysis::new(kernel)?;
    analyse::elect::elect_writers(&mut analysis);
    analyse::accumulate::fill_partial_tiles(&mut analysis)?;
    analyse::whole_boxes::store_whole_boxes(&mut analysis)?;
    analyse::fragments::guard_whole_fragments(&mut analysis)?;
    analyse::via::check(&analysis)?;
    Ok(analysis)
}
