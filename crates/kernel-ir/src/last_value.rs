//! Warnings about scalars of which only the last value is read.
//!
//! In `<> t = 2*x[i]; acc = acc + t`, the second line mentions no iname: it runs once, after the
//! loop over `i`, and sees the last `t`. That is what the text says, and it is rarely meant. A
//! scalar that accumulates (`t = t + x[i]`), or that a predicate sets (a search), is read after its
//! loop by right, and is not reported.

use crate::{
    Diagnostic, Instruction, LoopKernel, Name,
    text::{map_of_print, source_map::Item},
};

/// Whether an instruction reads a scalar.
fn reads(instruction: &Instruction, scalar: &Name) -> bool {
    instruction.expressions().any(|e| e.names().contains(scalar))
}

impl LoopKernel {
    /// Where an instruction outside of a loop reads a scalar that each iteration of the loop
    /// overwrites, in the order of the text, with places in the printed form. None is an error.
    pub fn last_values(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let scalars = || self.temporaries.iter().filter(|t| t.axes.is_empty());
        let mut map = None;
        for (k, reader) in self.instructions.iter().enumerate() {
            for scalar in scalars().filter(|t| reads(reader, &t.name)) {
                let name = &scalar.name;
                // The last one before it is the one whose value it sees.
                let mut writers =
                    self.instructions[..k].iter().filter(|w| w.targets.iter().any(|t| t.array == *name));
                let Some(writer) = writers.next_back() else { continue };
                let overwrites = writer.predicate.is_none() && !reads(writer, name);
                let outside: Vec<&Name> =
                    writer.within.iter().filter(|n| !reader.within.contains(n)).collect();
                let (true, Some(iname)) = (overwrites, outside.first()) else { continue };
                let message = format!(
                    "`{}` is outside of the loop over `{iname}` and reads the last value of `{name}`, \
                     which each iteration overwrites",
                    reader.id
                );
                let map = map.get_or_insert_with(|| map_of_print(self));
                let place = map.as_ref().and_then(|m| m.locate(&Item::Instruction(k), ""));
                found.push(Diagnostic::new("last-value", message).at(place).help(format!(
                    "if it belongs into the loop, put both lines into a block, `for {iname} {{ ... }}`, or \
                     add `inames={iname}`"
                )));
            }
        }
        found
    }
}
