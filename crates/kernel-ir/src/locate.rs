//! The place of a refusal that was made without access to the text.
//!
//! Steps, lowering and the runtime refer to instructions, inames and arrays by name. These names
//! are looked up in a text of the kernel: first as an instruction, then as a tag, a definition, a
//! temporary, an array, a scalar, a domain. The sentence takes precedence over the witness, and the
//! witness over the remedy; in each, text between backquotes takes precedence over bare words,
//! which name instructions only.

use crate::{
    Arg, Diagnostic, KernelData, Library, LoopKernel, Place,
    text::{
        map_of_print, map_of_text,
        source_map::{Item, SourceMap},
    },
};

impl LoopKernel {
    /// The refusal with its place in the text of this kernel as it prints, unless it has a place or
    /// names nothing of the kernel.
    pub fn locate(&self, diagnostic: Diagnostic) -> Diagnostic {
        if diagnostic.place.is_some() {
            return diagnostic;
        }
        let place = find(self, &diagnostic, &|| map_of_print(self));
        diagnostic.at(place)
    }

    /// As [`LoopKernel::locate`], in the text that this kernel was read from, called `origin`. A
    /// place found here replaces one in the kernel's printed form.
    pub fn locate_in(&self, origin: &str, text: &str, diagnostic: Diagnostic) -> Diagnostic {
        self.locate_in_with(origin, text, &Library::new(), diagnostic)
    }

    /// As [`LoopKernel::locate_in`], for a text that was read with a library.
    pub fn locate_in_with(
        &self,
        origin: &str,
        text: &str,
        library: &Library,
        mut diagnostic: Diagnostic,
    ) -> Diagnostic {
        if diagnostic.place.as_ref().is_some_and(|p| &*p.origin != PRINTED) {
            return diagnostic;
        }
        if let Some(place) = find(self, &diagnostic, &|| map_of_text(origin, text, library)) {
            diagnostic.place = Some(place);
        }
        diagnostic
    }
}

impl LoopKernel {
    /// A note on an instruction with its place in the text that this kernel was read from, called
    /// `origin`, instead of the one in the printed form: the same words, or the whole instruction
    /// where the text spells them otherwise.
    pub fn note_in(&self, origin: &str, text: &str, note: Diagnostic) -> Diagnostic {
        self.note_in_with(origin, text, &Library::new(), note)
    }

    /// As [`LoopKernel::note_in`], for a text that was read with a library.
    pub fn note_in_with(
        &self,
        origin: &str,
        text: &str,
        library: &Library,
        mut note: Diagnostic,
    ) -> Diagnostic {
        let Some(place) = note.place.as_ref().filter(|place| &*place.origin == PRINTED) else { return note };
        let words = place.text.get(place.span.clone()).unwrap_or_default();
        let holds = |whole: &Place| whole.span.start <= place.span.start && place.span.end <= whole.span.end;
        let in_text = || {
            let printed = map_of_print(self)?;
            let own =
                |k: &usize| printed.locate(&Item::Instruction(*k), "").is_some_and(|whole| holds(&whole));
            let k = (0..self.instructions.len()).find(own)?;
            map_of_text(origin, text, library)?.locate(&Item::Instruction(k), words)
        };
        if let Some(found) = in_text() {
            note.place = Some(found);
        }
        note
    }
}

/// The name of the text that a kernel prints itself as.
pub(crate) const PRINTED: &str = "<kernel>";

fn find(kernel: &LoopKernel, d: &Diagnostic, map: &dyn Fn() -> Option<SourceMap>) -> Option<Place> {
    if d.code == "assumption"
        && let Some(k) = d
            .message
            .split('`')
            .skip(1)
            .step_by(2)
            .find_map(|quoted| kernel.declared().assumptions.iter().position(|a| a.to_string() == quoted))
    {
        return map()?.locate(&Item::Assumption(k), "");
    }
    let texts = [Some(&d.message), d.witness.as_ref(), d.help.as_ref()];
    let found = texts.into_iter().flatten().find_map(|text| named(kernel, text));
    // Many sentences name the kernel, and are about something else.
    let of_kernel = || (d.code == "reserved-name").then(|| (Item::Header, kernel.name.to_string()));
    let (item, part) = found.or_else(of_kernel)?;
    map()?.locate(&item, &part)
}

/// The first item of the kernel that a sentence names, and what it calls it.
fn named(kernel: &KernelData, sentence: &str) -> Option<(Item, String)> {
    let (mut quoted, mut bare) = (Vec::new(), Vec::new());
    for (k, segment) in sentence.split('`').enumerate() {
        if k % 2 == 0 {
            bare.extend(words(segment));
        // The text of a step is the user's: what it names need not be what is wrong.
        } else if !segment.contains('(') {
            quoted.extend(words(segment));
        }
    }
    let instruction = |word: &&&str| {
        let id = word.split('.').next().unwrap_or(word);
        kernel.instructions.iter().any(|i| *i.id == *id)
    };
    if let Some(word) = quoted.iter().find(instruction).or_else(|| bare.iter().find(instruction)) {
        let id = word.split('.').next().unwrap_or(word);
        let k = kernel.instructions.iter().position(|i| *i.id == *id)?;
        return Some((Item::Instruction(k), String::new()));
    }
    type Kind = fn(&KernelData, &str) -> Option<Item>;
    let kinds: [Kind; 7] = [
        |k, w| k.is_tagged(w).then(|| Item::Tag(w.to_string())),
        |k, w| k.definitions.iter().position(|d| *d.iname == *w).map(Item::Definition),
        |k, w| k.temporaries.iter().position(|t| *t.name == *w).map(Item::Temporary),
        |k, w| k.constants.iter().position(|c| *c.array.name == *w).map(Item::Constant),
        |k, w| k.args.iter().position(|a| matches!(a, Arg::Array(a) if *a.name == *w)).map(Item::Arg),
        |k, w| k.args.iter().position(|a| **a.name() == *w).map(Item::Arg),
        |k, w| k.domains.iter().position(|d| d.inames.iter().any(|i| **i == *w)).map(Item::Domain),
    ];
    kinds.iter().find_map(|kind| quoted.iter().find_map(|word| Some((kind(kernel, word)?, String::new()))))
}

/// The names in a text, with the parts of instructions: `total.update`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
        .map(|w| w.trim_matches('.'))
        .filter(|w| !w.is_empty())
}
