//! Which reads of an array a step replaces: those of some instructions, and those with some
//! subscripts.

use loopwright_kernel_ir::{Access, Diagnostic, Expr, LoopKernel, Name};

use crate::rewrite::{footprint, require_instructions};

/// The reads of an array that a step is asked to replace; empty lists stand for all.
pub(crate) struct Chosen<'a> {
    pub array: &'a Name,
    pub readers: &'a [Name],
    pub accesses: &'a [Access],
}

impl Chosen<'_> {
    /// Whether the reads of an instruction are among them.
    pub fn has_reader(&self, id: &Name) -> bool {
        self.readers.is_empty() || self.readers.contains(id)
    }

    /// Whether an access, compared as functions of inames, is among them.
    pub fn has_access(&self, kernel: &LoopKernel, access: &Access) -> bool {
        let equal = |a: &Expr, b: &Expr| {
            let affine = |e: &Expr| footprint::affine_subscript(kernel, e);
            a == b || affine(a).is_some_and(|a| affine(b) == Some(a))
        };
        let same = |wanted: &Access| {
            wanted.array == access.array
                && wanted.index.len() == access.index.len()
                && wanted.index.iter().zip(&access.index).all(|(a, b)| equal(a, b))
        };
        self.accesses.is_empty() || self.accesses.iter().any(same)
    }

    /// Refuses unknown instructions, and accesses that nothing has.
    pub fn check(&self, kernel: &LoopKernel) -> Result<(), Diagnostic> {
        require_instructions(kernel, self.readers)?;
        for wanted in self.accesses {
            let alone = Chosen { accesses: std::slice::from_ref(wanted), ..*self };
            let mut there: Vec<String> = Vec::new();
            let mut found = false;
            for i in kernel.instructions.iter().filter(|i| self.has_reader(&i.id)) {
                for access in i.expressions().flat_map(Expr::accesses).filter(|a| a.array == *self.array) {
                    found = found || alone.has_access(kernel, &access);
                    let text = format!("`{access}`");
                    if !there.contains(&text) {
                        there.push(text);
                    }
                }
            }
            if !found {
                let d = Diagnostic::new("prefetch-nothing", format!("nothing reads `{wanted}`"));
                return Err(match there.is_empty() {
                    true => d.help("name an array that an instruction reads"),
                    false => d.help(format!("its reads are {}", there.join(", "))),
                });
            }
        }
        Ok(())
    }
}
