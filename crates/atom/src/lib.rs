//! The library's atoms, and whether an instruction's update is one.
//!
//! An [`Atom`] is a hardware instruction described as a tiny kernel, by a text that kernels may
//! hold as well ([`loopwright_kernel_ir::atom`]). The library's are in `atoms/*.atoms`; a kernel's
//! own come first where one has a name that the library has, too.
//!
//! ```
//! use loopwright_atom::{Operand, library};
//!
//! let atom = library("mma_m16n8k16_bf16").ok_or("no such atom")?;
//! assert_eq!(atom.shape(), [16, 8, 16]);
//! // Lane 5 holds in its third element of `a` what is in row 9 and column 2.
//! assert_eq!(atom.position(Operand::A, 5, 2), (9, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod matching;

use std::sync::{Arc, LazyLock};

use loopwright_kernel_ir::KernelData;

pub use loopwright_kernel_ir::atom::{Atom, Digit, Operand, Placement, parse_atoms};
pub use matching::{Factors, Subscript, matching};

/// The library's atoms, in the order of their texts.
pub fn all() -> &'static [Arc<Atom>] {
    static ATOMS: LazyLock<Vec<Arc<Atom>>> = LazyLock::new(|| {
        // Errors in these texts would be noticed by the tests of this crate.
        let atoms = parse_atoms(include_str!("../atoms/mma.atoms")).unwrap_or_default();
        atoms.into_iter().map(Arc::new).collect()
    });
    &ATOMS
}

/// The library's atom of this name.
pub fn library(name: &str) -> Option<&'static Arc<Atom>> {
    all().iter().find(|atom| **atom.name() == *name)
}

/// The atom of this name among these, and then in the library.
pub fn named<'a>(own: &'a [Arc<Atom>], name: &str) -> Option<&'a Arc<Atom>> {
    own.iter().find(|atom| **atom.name() == *name).or_else(|| library(name))
}

/// All atoms that a kernel can use, its own first.
pub fn atoms_of(kernel: &KernelData) -> impl Iterator<Item = &Arc<Atom>> {
    let hidden = |atom: &Arc<Atom>| kernel.own_atom(atom.name()).is_some();
    kernel.atoms.iter().chain(all().iter().filter(move |atom| !hidden(atom)))
}
