//! The expressions of the kernel's parts, with types.

use std::{collections::BTreeMap, rc::Rc};

use loopwright_kernel_ir::{
    Combination, DType, Diagnostic, Expr, Name, Part, PartRef, ReductionOp, ReductionTypes, Share, TypeTable,
    Typed, UpdateOp, UpdateScope,
};
use loopwright_legality::consumer;

use super::Spec;

/// The expressions of a part, with types.
pub(in crate::verify) struct Text {
    /// The target and its subscripts, by the number of the value.
    pub(in crate::verify) targets: Vec<(Name, Vec<Typed>)>,
    /// The values, over results of reductions; empty where a reduction gives several.
    pub(in crate::verify) values: Vec<Typed>,
    /// The types of the targets.
    pub(in crate::verify) stored: Vec<DType>,
    /// The results of reductions that it uses, over their states.
    pub(in crate::verify) results: BTreeMap<usize, Vec<Typed>>,
    /// Of a part of a reduction.
    pub(in crate::verify) reduction: Option<OfReduction>,
    pub predicate: Option<Typed>,
    /// The kind of update by which it writes, which has to be atomic.
    pub atomic: Option<UpdateOp>,
    /// How the instruction updates its target, atomically or not.
    pub update: Option<UpdateOp>,
    /// Among whom its update has to be one step, if more than this launch's accesses matter.
    pub scope: UpdateScope,
    /// The function by which an operator with a name does either.
    pub combination: Option<(Combination, Typed)>,
}

/// The expressions of one reduction's operator.
pub(in crate::verify) struct OfReduction {
    pub(in crate::verify) operator: Rc<ReductionOp>,
    pub(in crate::verify) types: Rc<Vec<ReductionTypes>>,
    pub(in crate::verify) neutral: Vec<Typed>,
    pub(in crate::verify) args: Vec<Typed>,
    pub(in crate::verify) lift: Vec<Typed>,
    pub(in crate::verify) combine: Vec<Typed>,
}

impl Spec<'_> {
    /// The expressions of a part; `None` where the kernel has none for it.
    pub(super) fn read(&mut self, part: &PartRef) -> Result<Option<Text>, Diagnostic> {
        let Some(i) = self.lookup.instruction(&part.instruction) else { return Ok(None) };
        let index = Some(self.program.index);
        let table = self.types.clone();
        let reductions = i.reductions();
        let types = match reductions.is_empty() {
            true => Rc::default(),
            false => self.reduction_types(i)?,
        };
        let mut text = Text {
            targets: Vec::new(),
            values: Vec::new(),
            stored: Vec::new(),
            results: BTreeMap::new(),
            reduction: None,
            predicate: None,
            atomic: None,
            update: None,
            scope: UpdateScope::Device,
            combination: None,
        };
        if let Some(predicate) = &i.predicate {
            text.predicate = Some(table.typed(predicate, DType::Bool, index)?);
        }
        for (n, reduce) in reductions.iter().enumerate() {
            if consumer(i, n) != part.part {
                continue;
            }
            let (Some(operator), Some(own)) = (self.operator(&reduce.op), types.get(n)) else {
                return Ok(None);
            };
            let names = operator.state.iter().map(|s| s.name.clone());
            let table = table.with_scalars(names.zip(own.state.iter().map(|t| (*t).into())));
            let results = operator.result.iter().zip(&own.results);
            let results = results.map(|(e, t)| table.typed(e, *t, None)).collect::<Result<_, _>>()?;
            text.results.insert(n, results);
        }
        match part.part {
            Part::Whole | Part::Finish => {
                for target in &i.targets {
                    let Some(dtype) = self.types.element(&target.array).and_then(|t| t.known()) else {
                        return Ok(None);
                    };
                    let indices = table.of_indices(self.program.index);
                    let inside = |s| indices.typed(s, self.program.index, index);
                    let subscripts = target.index.iter().map(inside).collect::<Result<_, _>>()?;
                    text.targets.push((target.array.clone(), subscripts));
                    text.stored.push(dtype);
                    if i.targets.len() == 1 {
                        text.values.push(table.typed(&i.value, dtype, index)?);
                    }
                }
                text.update.clone_from(&i.update);
                // A declared scope may be the caller's word about its memory.
                let declared = i.role.declared().and_then(|id| self.kernel.declared().instruction(id));
                text.scope = declared.map_or(i.scope, |declared| i.scope.max(declared.scope));
                if let (Part::Finish, Some(Share::Update), [reduce], [dtype]) =
                    (part.part, i.role.share(), reductions.as_slice(), text.stored.as_slice())
                {
                    text.atomic = UpdateOp::joining(self.kernel, &reduce.op, *dtype).ok();
                }
                let update = text.update.as_ref().or(text.atomic.as_ref());
                if let (Some(op), [dtype]) = (update, text.stored.as_slice())
                    && let Some(of) = op.combination(self.kernel, *dtype)?
                {
                    let typed = of.typed(&self.types)?;
                    text.combination = Some((of, typed));
                }
            }
            Part::Init(n) | Part::Update(n) => {
                let Some(reduce) = reductions.get(n) else { return Ok(None) };
                let (Some(operator), Some(own)) = (self.operator(&reduce.op), types.get(n)) else {
                    return Ok(None);
                };
                let each = |exprs: &[Expr], table: &TypeTable<'_>| -> Result<Vec<Typed>, Diagnostic> {
                    exprs.iter().zip(&own.state).map(|(e, t)| table.typed(e, *t, None)).collect()
                };
                let neutral = each(&operator.neutral, &table)?;
                let (mut args, mut lift, mut combine) = (Vec::new(), Vec::new(), Vec::new());
                if let Part::Update(_) = part.part {
                    let inside: usize = reduce.args.iter().map(|a| a.reductions().len()).sum();
                    let mut first = n.saturating_sub(inside);
                    for (arg, t) in reduce.args.iter().zip(&own.inputs) {
                        args.push(table.typed_from(arg, *t, index, first)?);
                        first += arg.reductions().len();
                    }
                    let inputs = operator.inputs.iter().cloned();
                    let inputs = inputs.zip(own.inputs.iter().map(|t| (*t).into()));
                    lift = each(&operator.lift, &table.with_scalars(inputs))?;
                    let states = operator.state.iter().zip(&own.state).flat_map(|(s, t)| {
                        ["a", "b"].map(|side| (Name::new(format!("{side}.{}", s.name)), (*t).into()))
                    });
                    combine = each(&operator.combine, &table.with_scalars(states))?;
                }
                text.reduction = Some(OfReduction { operator, types, neutral, args, lift, combine });
            }
        }
        Ok(Some(text))
    }
}
