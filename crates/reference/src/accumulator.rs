//! The state of a reduction, and its steps: sequential, one update after the other.

use std::collections::BTreeMap;

use loopwright_kernel_ir::Diagnostic;

use crate::{
    machine::{Machine, Scope, error},
    prepared::{Plan, Prepared},
    val::{Val, mix},
};

fn plan(instruction: &Prepared, n: usize) -> Result<&Plan, Diagnostic> {
    let missing = || error("unknown-name", format!("the instruction has no reduction {n}"));
    instruction.reductions.get(n).ok_or_else(missing)
}

impl Machine<'_> {
    /// Starts a reduction: its state becomes the operator's neutral element.
    pub fn init(&mut self, instruction: usize, n: usize) -> Result<(), Diagnostic> {
        let prepared = self.prepared.clone();
        let plan = plan(&prepared[instruction], n)?;
        let mut state = Vec::new();
        for neutral in &plan.neutral {
            // A sum of no hashes.
            state.push(Val { hash: 0, ..self.value(neutral, &Scope::default())? });
        }
        self.accumulators.insert((instruction, n), state);
        Ok(())
    }

    /// Adds the point at the present values of the inames to a reduction.
    pub fn update(&mut self, instruction: usize, n: usize) -> Result<(), Diagnostic> {
        let prepared = self.prepared.clone();
        let plan = plan(&prepared[instruction], n)?;
        let Some(before) = self.accumulators.get(&(instruction, n)) else {
            return Err(error("uninitialised-read", format!("a reduction `{}` has not begun", plan.op.name)));
        };
        let op = &plan.op;
        let scope = Scope { locals: None, instruction: Some(instruction) };
        let mut locals = BTreeMap::new();
        for (name, arg) in op.inputs.iter().zip(&plan.args) {
            locals.insert(name.clone(), self.value(arg, &scope)?);
        }
        let mut both = BTreeMap::new();
        let lifted = Scope { locals: Some(&locals), instruction: Some(instruction) };
        for (k, lift) in plan.lift.iter().enumerate() {
            both.insert(plan.before[k].clone(), before[k]);
            both.insert(plan.brought[k].clone(), self.value(lift, &lifted)?);
        }
        let combining = Scope { locals: Some(&both), instruction: Some(instruction) };
        let mut after = Vec::new();
        for (k, combine) in plan.combine.iter().enumerate() {
            let value = self.value(combine, &combining)?;
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
        self.accumulators.insert((instruction, n), after);
        Ok(())
    }

    /// All results of a reduction of the instruction.
    pub fn results(&self, instruction: usize, n: usize) -> Result<Vec<Val>, Diagnostic> {
        let plan = plan(&self.prepared[instruction], n)?;
        let Some(state) = self.accumulators.get(&(instruction, n)) else {
            let message = format!("the reduction `{}` has no result here", plan.op.name);
            return Err(error("uninitialised-read", message));
        };
        let mut locals = BTreeMap::new();
        for (var, value) in plan.op.state.iter().zip(state) {
            let hash = self.hash(|| mix(&plan.op.name, &[mix(&var.name, &[]), value.hash]));
            locals.insert(var.name.clone(), Val { hash, ..*value });
        }
        let inner = Scope { locals: Some(&locals), instruction: None };
        plan.result.iter().map(|result| self.value(result, &inner)).collect()
    }
}
