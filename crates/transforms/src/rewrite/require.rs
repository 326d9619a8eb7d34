//! Requirements of steps on the given kernel, with their refusals.

use loopwright_kernel_ir::{AddressSpace, Arg, Array, ArrayLayout, Diagnostic, KernelData, Name, Tag};
use loopwright_poly::System;

use crate::names;

/// Refuses names that are not loops or coordinates of the kernel: unknown names, and inames that
/// others have replaced.
pub(crate) fn require_iname(data: &KernelData, name: &str) -> Result<(), Diagnostic> {
    if !data.is_iname(name) {
        let d = Diagnostic::new("unknown-iname", format!("the kernel has no iname `{name}`"));
        let base = data.base_inames();
        return Err(match names::nearest(name, base.iter().map(Name::as_str)) {
            Some(near) => d.help(format!("did you mean `{near}`?")),
            None => d.help(format!("its inames are {}", names::list(base.iter().map(Name::as_str)))),
        });
    }
    if let Some(value) = data.definition(name) {
        let by = data.base_of(&Name::new(name));
        return Err(Diagnostic::new(
            "replaced-iname",
            format!("`{name}` is no longer a loop: {name} = {value}"),
        )
        .help(format!("use {}", names::list(by.iter().map(Name::as_str)))));
    }
    Ok(())
}

/// The refusal to reshape a tagged iname.
pub(crate) fn require_untagged(data: &KernelData, iname: &Name, doing: &str) -> Result<(), Diagnostic> {
    match data.tag(iname) {
        Tag::Seq => Ok(()),
        _ => {
            let tag = data.tag_text(iname);
            Err(Diagnostic::new("tagged-iname", format!("`{iname}` is tagged `{tag}` and cannot be {doing}"))
                .help(format!("do it before tagging, or `untag_inames({iname})` first")))
        }
    }
}

/// The array or temporary of this name, or a refusal that suggests the nearest name.
pub(crate) fn require_array<'a>(data: &'a KernelData, name: &str) -> Result<&'a Array, Diagnostic> {
    data.array(name).ok_or_else(|| {
        let known = data
            .args
            .iter()
            .filter(|a| matches!(a, Arg::Array(_)))
            .map(|a| a.name().as_str())
            .chain(data.temporaries.iter().map(|t| t.name.as_str()))
            .chain(data.constants.iter().map(|c| c.array.name.as_str()))
            .collect::<Vec<_>>();
        let d = Diagnostic::new("unknown-array", format!("the kernel has no array `{name}`"));
        match names::nearest(name, known.iter().copied()) {
            Some(near) => d.help(format!("did you mean `{near}`?")),
            None => d.help(format!("its arrays are {}", names::list(known))),
        }
    })
}

/// As [`require_array`], for steps that change where elements lie or which there are: refuses
/// constant tables.
pub(crate) fn require_no_table<'a>(data: &'a KernelData, name: &str) -> Result<&'a Array, Diagnostic> {
    let array = require_array(data, name)?;
    if data.constant(name).is_none() {
        return Ok(array);
    }
    let message = format!("`{name}` is a constant table, which stays as it is declared");
    Err(Diagnostic::new("constant-table", message)
        .help("declare it in the form in which it should be read, or make it an argument"))
}

/// Refuses arrays that are not temporaries, and temporaries that bound loops, which are scalars.
pub(crate) fn require_temporary(data: &KernelData, name: &Name) -> Result<(), Diagnostic> {
    require_no_table(data, name)?;
    if data.temporary(name).is_none() {
        return Err(Diagnostic::new("not-a-temporary", format!("`{name}` is an argument, not a temporary"))
            .help("the storage of arguments belongs to the caller"));
    }
    if data.domains.iter().flat_map(|d| &d.constraints).any(|c| c.aff.mentions(name)) {
        return Err(Diagnostic::new(
            "bounds-a-loop",
            format!("`{name}` bounds a loop and has to remain a scalar"),
        ));
    }
    Ok(())
}

/// Refuses a layout of what has none to set: of an argument, as of any array in global memory.
pub(crate) fn require_layout_of_its_own(
    data: &KernelData,
    name: &Name,
    layout: &ArrayLayout,
) -> Result<(), Diagnostic> {
    let array = require_no_table(data, name)?;
    let set = Array { layout: layout.clone(), ..array.clone() };
    match set.layout_fault().filter(|_| array.space == AddressSpace::Global) {
        Some(fault) => Err(fault),
        None => require_temporary(data, name),
    }
}

/// Refuses the first id that no instruction has.
pub(crate) fn require_instructions(data: &KernelData, ids: &[Name]) -> Result<(), Diagnostic> {
    match ids.iter().find(|id| data.instruction(id).is_none()) {
        Some(id) => Err(unknown_instruction(data, id)),
        None => Ok(()),
    }
}

/// The refusal of an instruction's id that does not exist.
pub(crate) fn unknown_instruction(data: &KernelData, id: &str) -> Diagnostic {
    let d = Diagnostic::new("unknown-instruction", format!("the kernel has no instruction `{id}`"));
    let known = data.instructions.iter().map(|i| i.id.as_str()).collect::<Vec<_>>();
    let writes = data.instructions.iter().filter(|i| i.targets.iter().any(|t| *t.array == *id));
    let writers: Vec<&str> = writes.map(|i| i.id.as_str()).collect();
    if !writers.is_empty() {
        return d.help(format!("`{id}` is written by {}", names::list(writers)));
    }
    match names::nearest(id, known.iter().copied()) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.help(format!("its instructions are {}", names::list(known))),
    }
}

/// The names of the scalar arguments.
fn parameters(data: &KernelData) -> Vec<&Name> {
    data.args.iter().filter(|a| matches!(a, Arg::Scalar(_))).map(Arg::name).collect()
}

/// The refusal of a name that is not a scalar argument.
pub(crate) fn require_parameter(data: &KernelData, name: &Name) -> Result<(), Diagnostic> {
    let known = parameters(data);
    if known.contains(&name) {
        return Ok(());
    }
    let d = Diagnostic::new("unknown-argument", format!("the kernel has no scalar argument `{name}`"));
    Err(match names::nearest(name, known.iter().map(|n| n.as_str())) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.help(format!("its scalar arguments are {}", names::list(known.iter().map(|n| n.as_str())))),
    })
}

/// Refuses assumptions that no values satisfy.
pub(crate) fn check_consistent(data: &KernelData) -> Result<(), Diagnostic> {
    if System::new(&data.assumptions)?.is_empty()? {
        let all = data.assumptions.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
        return Err(Diagnostic::new("assumption-contradicts", format!("no parameters satisfy {all}")));
    }
    Ok(())
}

/// Refuses a change of order inside a reduction that does not commute.
pub(crate) fn check_commutes(data: &KernelData, moved: &[Name]) -> Result<(), Diagnostic> {
    for instruction in &data.instructions {
        for reduce in instruction.reductions() {
            let Some(iname) = reduce.inames.iter().find(|i| moved.contains(i)) else { continue };
            if let Some(op) = data.operator(&reduce.op).filter(|op| !op.commutes) {
                let help = data.forgotten_commutes(&op).unwrap_or_else(|| {
                    "keep the order of its loops, or declare that the operator `commutes` if it \
                     does"
                        .into()
                });
                return Err(Diagnostic::new(
                    "order-of-reduction",
                    format!(
                        "the reduction `{}` in `{}` does not commute, so the loop over `{iname}` \
                         has to keep its order",
                        reduce.op, instruction.id
                    ),
                )
                .help(help));
            }
        }
    }
    Ok(())
}
