//! What the declared parts of a kernel compute, as expressions with a type at every node.

use std::collections::HashMap;

use loopwright_kernel_ir::{DType, Diagnostic, Expr, Instruction, LoopKernel, Name, Part, TypeTable, Typed};

use super::Stop;

/// What a part computes, as typed expressions.
pub(crate) enum Computes {
    /// The value of its only target, or the arguments of one point of a reduction.
    Values(Vec<Typed>),
    /// The results of a reduction with several of them, in the types of the targets.
    Results(Vec<DType>),
}

/// What declared instructions compute: their values, and the points of their reductions by number.
#[derive(Default)]
pub(crate) struct Expressions {
    values: HashMap<Name, Computes>,
    points: HashMap<(Name, usize), Computes>,
}

impl Expressions {
    /// What a part computes, if it computes anything.
    pub fn of(&self, instruction: &Name, part: Part) -> Option<&Computes> {
        match part {
            Part::Whole | Part::Finish => self.values.get(instruction),
            Part::Update(n) => self.points.get(&(instruction.clone(), n)),
            Part::Init(_) => None,
        }
    }
}

/// The types that open types may stand for, in the order in which they are tried: what a kernel
/// does with numbers of some type is a counter-example.
const OPEN: [DType; 3] = [DType::F32, DType::F64, DType::I32];

/// The expressions of a declared kernel.
///
/// Errors: no type is known for which the kernel is valid.
pub(crate) fn expressions(declared: &LoopKernel) -> Result<Expressions, Stop> {
    let open = declared.open_types();
    if open.is_empty() {
        return Ok(of_known_types(declared)?);
    }
    let bound = |t: DType| declared.bind_types(&open.iter().map(|n| (n.clone(), t)).collect::<Vec<_>>()).ok();
    let unknown = || Stop::Other(format!("the type `{}` is open", open[0]));
    Ok(of_known_types(&OPEN.into_iter().find_map(bound).ok_or_else(unknown)?)?)
}

fn of_known_types(declared: &LoopKernel) -> Result<Expressions, Diagnostic> {
    let table = TypeTable::new(declared);
    let mut found = Expressions::default();
    for i in &declared.instructions {
        instruction(&table, i, &mut found)?;
    }
    Ok(found)
}

/// Subscripts are integers of 64 bits.
const INDEX: Option<DType> = Some(DType::I64);

fn instruction(table: &TypeTable<'_>, i: &Instruction, found: &mut Expressions) -> Result<(), Diagnostic> {
    let mut wanted = Vec::new();
    for target in &i.targets {
        wanted.push(known(table, &target.array)?);
    }
    let value = match wanted[..] {
        [wanted] => Computes::Values(vec![table.typed(&i.value, wanted, INDEX)?]),
        _ => Computes::Results(wanted.clone()),
    };
    let reductions = i.reductions();
    let types = table.reduction_types(&i.value, &wanted)?;
    for (n, (r, types)) in reductions.iter().zip(&types).enumerate() {
        // The reductions inside the arguments come before it.
        let inside = |e: &Expr| e.reductions().len();
        let mut first = n.saturating_sub(r.args.iter().map(inside).sum());
        let mut args = Vec::new();
        for (a, dtype) in r.args.iter().zip(&types.inputs) {
            args.push(table.typed_from(a, *dtype, INDEX, first)?);
            first += inside(a);
        }
        found.points.insert((i.id.clone(), n), Computes::Values(args));
    }
    found.values.insert(i.id.clone(), value);
    Ok(())
}

fn known(table: &TypeTable<'_>, array: &Name) -> Result<DType, Diagnostic> {
    let element = table.element(array).and_then(|t| t.known());
    element.ok_or_else(|| Diagnostic::new("open-type", format!("the type of `{array}` is not known")))
}
