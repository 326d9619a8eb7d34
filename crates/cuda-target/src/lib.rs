//! Prints a lowered [`Program`] as CUDA C for NVRTC, or in a language that differs from it by a
//! [`Dialect`].
//!
//! Lowering has decided everything about order, bounds, guards and barriers; this crate decides how
//! it is written. Of order and guards only what cannot be observed is its own: loops over products
//! of registers go back and forth, and the condition of a copy may be its predicate
//! ([`PredicatedCopies`](loopwright_program::PredicatedCopies)). In order of priority:
//!
//! 1. **The text computes what the program says.** C's typing rules are taken into account at each
//!    operand (unsigned builtin variables, integer promotion, the types of literals): a cast is
//!    printed where C would compute something else, and nowhere else. Signed index arithmetic is
//!    C's: it is proved or checked not to overflow.
//! 2. **It reads like hand-written code**: literal names, parentheses where C or most readers need
//!    them, lines of at most 100 columns broken at the loosest operator, headers and helper
//!    functions only if used.
//! 3. **It is deterministic**: the same program gives the same bytes.
//!
//! Each line is mapped to the instruction that it comes from ([`CudaSource::map`]).

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod asynchronous;
mod atom;
mod binary;
mod bounds;
mod context;
mod declared_update;
mod dialect;
mod expr;
mod helpers;
mod kernel;
mod literal;
mod look_back;
mod math;
mod printed;
mod record;
mod serpentine;
mod slots;
mod stmt;
mod table;
mod types;
mod wrap;

pub use dialect::Dialect;

use loopwright_kernel_ir::{DType, Diagnostic, Name, PerDim};
use loopwright_program::{LeafId, Program, Target};

use context::{Context, Needs};
use stmt::Lines;

/// What a launch needs to know about a printed kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// The name of the `extern "C"` function.
    pub name: Name,
    /// Bytes of shared memory, declared in the text or requested at launch.
    pub shared_bytes: u64,
    /// Whether the launch must request them: they exceed what may be declared
    /// ([`Target::static_shared`](loopwright_program::Target::static_shared)).
    pub dynamic_shared: bool,
    /// Threads per block on each dimension.
    pub block: PerDim<u32>,
}

impl KernelInfo {
    /// The bytes of shared memory that the launch must request; 0 if they are declared in the text.
    pub fn dynamic_bytes(&self) -> u64 {
        if self.dynamic_shared { self.shared_bytes } else { 0 }
    }
}

/// A hardware instruction that a text uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedInstruction {
    /// Its name: that of an atom, or `ldmatrix` or `stmatrix`.
    pub name: Name,
    /// The first architecture that has it, as 80 for sm_80.
    pub since: u32,
}

/// A program printed as CUDA C, with what a launch of its kernels needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaSource {
    /// The text: one translation unit for NVRTC.
    pub text: String,
    /// The kernels, in the order of [`Program::kernels`].
    pub kernels: Vec<KernelInfo>,
    /// For each line of the text, the leaf of the program that it comes from, if any.
    pub map: Vec<Option<LeafId>>,
    /// The instructions in it that not every architecture has, each once.
    pub instructions: Vec<UsedInstruction>,
}

impl CudaSource {
    /// The leaf that a line comes from; lines are numbered from 1, as in compilers and profilers.
    pub fn leaf_of_line(&self, line: usize) -> Option<LeafId> {
        self.map.get(line.checked_sub(1)?).copied().flatten()
    }
}

/// The program as CUDA C. Errors: names that CUDA C does not allow, or a program that violates its
/// invariants.
pub fn cuda_source(program: &Program) -> Result<CudaSource, Diagnostic> {
    source_in(&Dialect::CUDA_C, program)
}

/// The program in a language of CUDA's family. Refusals are those of [`cuda_source`].
pub fn source_in(dialect: &Dialect, program: &Program) -> Result<CudaSource, Diagnostic> {
    let Target { language, warp_size, .. } = program.target;
    if language != dialect.language || !dialect.warps.contains(&warp_size) {
        let warps: Vec<String> = dialect.warps.iter().map(u32::to_string).collect();
        let (other, warps) = (dialect.language.name, warps.join(" or "));
        let message = format!(
            "`{}` was lowered for {} and warps of {warp_size} threads, and cannot be printed in \
             {other} for warps of {warps}",
            program.name, language.name
        );
        return Err(Diagnostic::new("other-target", message)
            .help("lower it for a target with the language that it is printed in"));
    }
    let needs = Needs::of(*dialect);
    if let Some(refusal) = table::taken_name(program) {
        return Err(refusal);
    }
    let mut body = Lines::default();
    let mut kernels = Vec::new();
    for (k, kernel) in program.kernels.iter().enumerate() {
        let context = Context::new(program, kernel, &needs);
        if k > 0 {
            body.push("", 0, None);
        }
        context.kernel(&mut body);
        kernels.push(KernelInfo {
            name: kernel.name.clone(),
            shared_bytes: kernel.shared_bytes(),
            dynamic_shared: context.uses_dynamic_shared(),
            block: kernel.block,
        });
    }
    let mut updates = Vec::new();
    for (name, dtype, scope) in needs.exchanges.borrow().iter().filter(|(_, t, _)| t.is_narrow_float()) {
        let mut definition = Lines::default();
        let update = declared_update::rounded(name, *dtype);
        declared_update::definition(program, &update, *scope, &needs, &mut definition);
        updates.push(definition);
    }
    for (number, scope) in needs.updates.borrow().iter() {
        let mut definition = Lines::default();
        if let Some(update) = program.updates.get(*number) {
            declared_update::definition(program, update, *scope, &needs, &mut definition);
        }
        updates.push(definition);
    }
    for number in needs.look_backs.borrow().iter() {
        let mut definition = Lines::default();
        if let Some(of) = program.look_backs.get(*number) {
            look_back::definition(program, of, &needs, &mut definition);
        }
        updates.push(definition);
    }
    let mut lines = Lines::default();
    let Needs {
        headers,
        helpers,
        exchanges,
        waves,
        atoms,
        matrices,
        stored_matrices,
        async_copies,
        functions,
        error,
        warp_barrier,
        warp_functions,
        tables,
        structs,
        ..
    } = needs;
    if let Some(error) = error.into_inner() {
        return Err(error);
    }
    for header in dialect.headers.iter().copied().chain(headers.into_inner()) {
        lines.push(&format!("#include <{header}>"), 0, None);
    }
    let paragraph = |lines: &mut Lines, text: String| {
        if !lines.0.is_empty() {
            lines.push("", 0, None);
        }
        lines.source(&text);
    };
    if let (true, Some(macro_of_size)) = (warp_functions.into_inner(), dialect.warp_size_macro) {
        let check = format!(
            "#if defined({macro_of_size}) && {macro_of_size} != {warp_size}\n\
             #error \"this text is for warps of {warp_size} threads\"\n\
             #endif"
        );
        paragraph(&mut lines, check);
    }
    let type_name = |dtype| if dtype == DType::BF16 { dialect.bf16[0] } else { types::c_type(dtype) };
    for definition in record::definitions(program, &structs.into_inner(), &type_name) {
        paragraph(&mut lines, definition);
    }
    for (name, dtype, scope) in exchanges.into_inner().into_iter().filter(|(_, t, _)| !t.is_narrow_float()) {
        paragraph(&mut lines, helpers::exchanged(name, dtype, scope).join("\n"));
    }
    for (name, dtype) in helpers.into_inner() {
        paragraph(&mut lines, helpers::definition(name, dtype).join("\n"));
    }
    for (dtype, lanes) in waves.into_inner() {
        if let Some(definition) = helpers::waves(dtype, lanes, program.index) {
            paragraph(&mut lines, definition.join("\n"));
        }
    }
    let instructions = atom::used(&matrices.borrow(), &stored_matrices.borrow(), &atoms.borrow());
    for (dtype, count, transposed) in matrices.into_inner() {
        paragraph(&mut lines, atom::matrices(dtype, count, transposed, dialect));
    }
    for (dtype, count, transposed) in stored_matrices.into_inner() {
        paragraph(&mut lines, atom::stored_matrices(dtype, count, transposed, dialect));
    }
    for atom in atoms.into_inner().values() {
        paragraph(&mut lines, atom::definition(atom, dialect));
    }
    for definition in asynchronous::definitions(&async_copies.into_inner()) {
        paragraph(&mut lines, definition);
    }
    if warp_barrier.into_inner() && !dialect.warp_barrier_definition.is_empty() {
        paragraph(&mut lines, dialect.warp_barrier_definition.into());
    }
    if dialect.hints && program.kernels.iter().any(|kernel| kernel.early) {
        paragraph(&mut lines, helpers::wait().join("\n"));
    }
    let called = functions.into_inner();
    for function in program.functions.iter().filter(|f| called.contains(f.name.as_str())) {
        paragraph(&mut lines, function.source.to_string());
    }
    for definition in table::definitions(program, &tables.into_inner(), dialect) {
        paragraph(&mut lines, definition);
    }
    for mut definition in updates {
        if !lines.0.is_empty() {
            lines.push("", 0, None);
        }
        lines.0.append(&mut definition.0);
    }
    if !lines.0.is_empty() {
        lines.push("", 0, None);
    }
    lines.0.append(&mut body.0);
    let map = lines.0.iter().map(|(_, leaf)| *leaf).collect();
    let text = lines.0.into_iter().flat_map(|(line, _)| [line, "\n".into()]).collect();
    Ok(CudaSource { text, kernels, map, instructions })
}
