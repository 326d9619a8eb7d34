//! Reads of arrays that only copies of one other array fill, which nothing writes.
//!
//! What such a read should see is known: the initial value of the declared cell. A copy of that
//! cell is looked for instead of the last write ([`last_gives`]), which costs less where a ring of
//! buffers is filled by several copies, some of them iterations ago.

use loopwright_kernel_ir::{Aff, Name};
use loopwright_poly::{Valued, last_gives};

use super::{Checked, flows::Flows};
use crate::copies::source;

impl Flows<'_, '_> {
    /// Whether a read provably sees the initial value of a cell of an array, in terms of the read's
    /// inames. `false` means only that there is no proof.
    pub(super) fn sees_initial(
        &mut self,
        (p, k): (usize, usize),
        array: &Name,
        cell: &[Aff],
    ) -> Checked<bool> {
        let mut writes = Vec::new();
        for (w, e) in self.writes(&self.model.parts[p].events[k].array) {
            let Some(value) = self.copied_from(w, array) else { return Ok(false) };
            let Ok(access) = self.access(w, e) else { return Ok(false) };
            writes.push(Valued { access, value });
        }
        let Ok(read) = self.access(p, k) else { return Ok(false) };
        self.queries += 1;
        Ok(last_gives(&read, &writes, cell)?)
    }

    /// The cell of the array that each execution of a part copies, if it does nothing else.
    fn copied_from(&self, w: usize, array: &Name) -> Option<Vec<Aff>> {
        let part = &self.model.parts[w];
        let source = source(self.model, part).filter(|e| e.array == *array && e.under.is_empty())?;
        let plain = |s: &Aff| !s.mentions_any(&|n| !part.inames.contains(n) && !self.model.is_parameter(n));
        source.cell.iter().map(|s| s.clone().filter(plain)).collect()
    }
}
