//! Structs that are elements of arguments, as the text defines them.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{DType, Name, Struct};
use loopwright_program::Program;

/// The definitions of these structs, each once, in the order of the program; `c_type` writes a
/// type.
pub(crate) fn definitions(
    program: &Program,
    needed: &BTreeSet<Name>,
    c_type: &dyn Fn(DType) -> &'static str,
) -> Vec<String> {
    let mut found: Vec<&Struct> = Vec::new();
    for of in program.records.iter().map(|r| &r.of).filter(|of| needed.contains(&of.name)) {
        if !found.contains(&of) {
            found.push(of);
        }
    }
    found.into_iter().map(|of| definition(of, c_type)).collect()
}

/// A struct, with assertions about the sizes and alignments from which its layout follows by the
/// rules of C: those who pass arrays of it compute offsets by them. NVRTC has no `offsetof`.
fn definition(of: &Struct, c_type: &dyn Fn(DType) -> &'static str) -> String {
    let Struct { name, fields } = of;
    let mut lines = vec![format!("struct {name} {{")];
    lines.extend(fields.iter().map(|f| format!("    {} {};", c_type(f.dtype), f.name)));
    lines.push("};".into());
    let bytes = of.bytes();
    lines.push(format!("static_assert(sizeof({name}) == {bytes}, \"an element has {bytes} bytes\");"));
    let types: BTreeSet<DType> = fields.iter().map(|f| f.dtype).collect();
    for dtype in types {
        let (t, bytes) = (c_type(dtype), dtype.bytes());
        lines.push(format!(
            "static_assert(sizeof({t}) == {bytes} && alignof({t}) == {bytes}, \"{t} is aligned\");"
        ));
    }
    lines.join("\n")
}
