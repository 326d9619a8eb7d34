//! Names that a program takes over from its kernel must be legal in the target's language. A
//! declared kernel is checked against the language of the default target; variables and arrays that
//! lowering adds always get legal names.

use loopwright_kernel_ir::{AddressSpace, Diagnostic, LoopKernel, Name, Tag};
use loopwright_target::Language;

/// Refuses names that are reserved in the language.
pub(crate) fn check(kernel: &LoopKernel, language: Language) -> Result<(), Diagnostic> {
    let global = kernel.temporaries.iter().filter(|t| t.space == AddressSpace::Global).map(|t| &t.name);
    let constants = kernel.constants.iter().map(|c| &c.array.name);
    let host = kernel.tags.iter().filter(|(_, tag)| **tag == Tag::Host).map(|(iname, _)| iname);
    let names = kernel.args.iter().map(|a| a.name()).chain(global).chain(constants).chain(host);
    let names =
        names.chain(kernel.functions.iter().map(|f| &f.name)).chain(kernel.atoms.iter().map(|a| a.name()));
    let names = names.chain([&kernel.name]);
    let refused = |name: &&Name| !language.is_legal_name(name);
    let Some(name) = { names }.find(refused) else { return Ok(()) };
    let message = format!("`{name}` means something else in {}", language.name);
    Err(Diagnostic::new("reserved-name", message)
        .help(format!("give it another name, as `{}`", language.legal_like(name, |_| false))))
}
