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

/// A struct, with assertions that it lies as the program takes it to: those who pass arrays of it
/// compute offsets by the same rules.
fn definition(of: &Struct, c_type: &dyn Fn(DType) -> &'static str) -> String {
    let Struct { name, fields } = of;
    let mut lines = vec![format!("struct {name} {{")];
    lines.extend(fields.iter().map(|f| format!("    {} {};", c_type(f.dtype), f.name)));
    lines.push("};".into());
    let bytes = of.bytes();
    lines.push(format!("static_assert(sizeof({name}) == {bytes}, \"an element has {bytes} bytes\");"));
    for (field, offset) in fields.iter().zip(of.offsets()) {
        let place = format!("__builtin_offsetof({name}, {})", field.name);
        lines.push(format!("static_assert({place} == {offset}, \"{} is at {offset}\");", field.name));
    }
    lines.join("\n")
}
