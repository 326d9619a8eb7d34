//! Structs, and arguments whose elements are structs.

use std::collections::HashSet;

use crate::{
    DType, Diagnostic, KernelData,
    complex::TYPES,
    text::{RESERVED, is_identifier, source_map::Item},
    validate::Check,
};

pub(crate) fn check(check: &mut Check<'_>) {
    let data = check.data;
    for (k, of) in data.structs.iter().enumerate() {
        let item = Item::Struct(k);
        if DType::from_name(&of.name).is_some() || TYPES.iter().any(|(name, _)| **name == *of.name) {
            let d = Diagnostic::new("duplicate-name", format!("`{}` is already a type", of.name));
            check.add(item.clone(), &of.name, d.help("give the struct another name"));
        }
        if of.fields.is_empty() {
            let d = Diagnostic::new("struct-field", format!("the struct `{}` has no fields", of.name));
            check.add(
                item.clone(),
                &of.name,
                d.help("declare its scalars: `struct point { x: f32, y: f32 }`"),
            );
        }
        let mut seen = HashSet::new();
        for field in &of.fields {
            let name = &field.name;
            if !is_identifier(name) || RESERVED.contains(&&**name) {
                let d = Diagnostic::new(
                    "bad-name",
                    format!("`{}` is not a name for a field", name.escape_debug()),
                );
                let help = "a name is a letter, then letters, digits and underscores, and not a keyword";
                check.add(item.clone(), "", d.help(help));
            }
            if !seen.insert(name) {
                let message = format!("`{}` has two fields `{name}`", of.name);
                let d = Diagnostic::new("duplicate-name", message).help("give one of them another name");
                check.add(item.clone(), name, d);
            }
        }
    }
    for record in &data.records {
        let item = || item_of(data, &record.field_name(""));
        let Some(of) = data.structure(record.of()) else {
            let message = format!("there is no struct `{}`", record.of());
            let d = Diagnostic::new("unknown-type", message)
                .help("declare it: `struct point { x: f32, y: f32 }`");
            check.add(item(), &record.array.name, d);
            continue;
        };
        if let Some(d) = data.misplaced_field(record, of) {
            check.add(item(), &record.array.name, d);
        }
    }
}

/// The first argument whose name begins like this.
fn item_of(data: &KernelData, start: &str) -> Item {
    data.args.iter().position(|a| a.name().starts_with(start)).map_or(Item::Header, Item::Arg)
}
