//! Reductions, one update after the other.
//!
//! How one goes is looked up by its first init.

use std::collections::BTreeMap;
use std::sync::Arc;

use loopwright_kernel_ir::{DType, Diagnostic, Instruction, Name, Number, Reduce, ReductionOp};

use crate::{
    accumulator::{Accumulator, Plan},
    machine::{Machine, Scope, error},
    types::{computing, state_type},
    val::{Val, mix},
};

impl Machine<'_> {
    fn operator(&self, r: &Reduce) -> Result<ReductionOp, Diagnostic> {
        let unknown = || error("unknown-operator", format!("there is no reduction operator `{}`", r.op));
        self.kernel.operator(&r.op).ok_or_else(unknown)
    }

    /// The types of an operator's inputs and of its state.
    fn state_types(
        &self,
        r: &Reduce,
        op: &ReductionOp,
        scope: &Scope<'_>,
    ) -> Result<(Vec<DType>, Vec<DType>), Diagnostic> {
        let inputs = r.args.iter().map(|a| self.natural(a, scope)).collect::<Result<Vec<_>, _>>()?;
        let state = op.state.iter().map(|s| state_type(&s.dtype, &inputs, &op.name)).collect();
        Ok((inputs, state))
    }

    fn plan(&self, instruction: &Instruction, n: usize) -> Result<Arc<Plan>, Diagnostic> {
        if let Some(accumulator) = self.accumulators.get(&(instruction.id.clone(), n)) {
            return Ok(accumulator.plan.clone());
        }
        let missing = || error("unknown-name", format!("`{}` has no reduction {n}", instruction.id));
        let reduce = instruction.reductions().get(n).cloned().ok_or_else(missing)?;
        let op = self.operator(&reduce)?;
        let scope = Scope { locals: None, instruction: Some(instruction) };
        let (inputs, state) = self.state_types(&reduce, &op, &scope)?;
        let named = |side: &str| op.state.iter().map(|s| Name::new(format!("{side}.{}", s.name))).collect();
        let (before, brought) = (named("a"), named("b"));
        Ok(Arc::new(Plan { reduce, op, inputs, state, before, brought }))
    }

    /// Begins a reduction anew.
    pub fn init(&mut self, instruction: &Instruction, n: usize) -> Result<(), Diagnostic> {
        let plan = self.plan(instruction, n)?;
        let scope = Scope { locals: None, instruction: Some(instruction) };
        let mut state = Vec::new();
        for (neutral, dtype) in plan.op.neutral.iter().zip(&plan.state) {
            // A sum of no hashes.
            state.push(Val { hash: 0, ..self.value(neutral, *dtype, &scope)? });
        }
        self.accumulators.insert((instruction.id.clone(), n), Accumulator { plan, state });
        Ok(())
    }

    /// One update of it.
    pub fn update(&mut self, instruction: &Instruction, n: usize) -> Result<(), Diagnostic> {
        let key = (instruction.id.clone(), n);
        let Some(Accumulator { plan, state: before }) = self.accumulators.get(&key) else {
            return Err(error("uninitialised-read", format!("`{}` has no accumulator", instruction.id)));
        };
        let op = &plan.op;
        let scope = Scope { locals: None, instruction: Some(instruction) };
        let mut locals = BTreeMap::new();
        for ((name, arg), dtype) in op.inputs.iter().zip(&plan.reduce.args).zip(&plan.inputs) {
            locals.insert(name.clone(), self.value(arg, computing(*dtype), &scope)?);
        }
        let mut both = BTreeMap::new();
        let lifted = Scope { locals: Some(&locals), instruction: Some(instruction) };
        for (k, lift) in op.lift.iter().enumerate() {
            both.insert(plan.before[k].clone(), before[k]);
            both.insert(plan.brought[k].clone(), self.value(lift, plan.state[k], &lifted)?);
        }
        let combining = Scope { locals: Some(&both), instruction: Some(instruction) };
        let mut after = Vec::new();
        for (k, combine) in op.combine.iter().enumerate() {
            let value = self.value(combine, plan.state[k], &combining)?;
            let hash = self.hash(|| {
                let inputs: Vec<_> = op.inputs.iter().filter_map(|i| locals.get(i)).map(|v| v.hash).collect();
                let update = mix(&format!("update {k}"), &inputs);
                match op.commutes {
                    true => before[k].hash.wrapping_add(update),
                    false => mix("then", &[before[k].hash, update]),
                }
            });
            after.push(Val { hash, ..value });
        }
        if let Some(accumulator) = self.accumulators.get_mut(&key) {
            accumulator.state = after;
        }
        Ok(())
    }

    /// All that a reduction of the instruction delivers.
    pub fn results(&self, r: &Reduce, scope: &Scope<'_>) -> Result<Vec<Val>, Diagnostic> {
        let missing = || error("uninitialised-read", format!("the reduction `{}` has no result here", r.op));
        let instruction = scope.instruction.ok_or_else(missing)?;
        // The same node of the expression, not an equal one: equal ones have equal results.
        let number = instruction.reductions().iter().position(|other| **other == *r).ok_or_else(missing)?;
        let Accumulator { plan, state } =
            self.accumulators.get(&(instruction.id.clone(), number)).ok_or_else(missing)?;
        let mut locals = BTreeMap::new();
        for (var, value) in plan.op.state.iter().zip(state) {
            let hash = self.hash(|| mix(&r.op, &[mix(&var.name, &[]), value.hash]));
            locals.insert(var.name.clone(), Val { hash, ..*value });
        }
        let inner = Scope { locals: Some(&locals), instruction: None };
        let mut results = Vec::new();
        for result in &plan.op.result {
            let dtype = self.natural(result, &inner)?;
            results.push(self.value(result, dtype, &inner)?);
        }
        Ok(results)
    }

    /// The type of the first of them, which may be asked for before there is one.
    pub fn result_type(&self, r: &Reduce, scope: &Scope<'_>) -> Result<DType, Diagnostic> {
        let op = self.operator(r)?;
        let (_, types) = self.state_types(r, &op, scope)?;
        let state = op.state.iter().zip(types);
        let zero = |t: DType| self.plain(Number::from_bits(self.held(t), 0));
        let locals = state.map(|(s, t)| (s.name.clone(), zero(t))).collect();
        match op.result.first() {
            Some(result) => self.natural(result, &Scope { locals: Some(&locals), instruction: None }),
            None => Err(error("targets", format!("`{}` delivers nothing", r.op))),
        }
    }

    /// The first of them.
    pub fn result_of(&self, r: &Reduce, scope: &Scope<'_>) -> Result<Val, Diagnostic> {
        let first = self.results(r, scope)?.first().copied();
        first.ok_or_else(|| error("targets", format!("`{}` delivers nothing", r.op)))
    }
}
