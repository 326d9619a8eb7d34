//! Updates of elements: atomic ones, and reads and writes where no other thread comes between.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Combination, DType, Diagnostic, Name, PerDim, UpdateOp, UpdateScope};

use crate::{
    analyse::{analysis::Analysis, state::count},
    program::{Atomic, BinOp, DeclaredUpdate, LeafId, Stmt, Value, ValueKind},
    write::{
        emitter::{Emitter, Shared},
        env::Env,
        scope::Scope,
    },
};

/// The names of the functions for updates by operators with names, by operator and type.
pub(crate) fn names(analysis: &Analysis<'_>, shared: &Shared) -> BTreeMap<(Name, DType), Name> {
    let kernel = analysis.kernel;
    let mut found: BTreeMap<(Name, DType), Name> = BTreeMap::new();
    for instruction in &kernel.instructions {
        let ([target], Some(UpdateOp::By(operator))) =
            (instruction.targets.as_slice(), analysis.update_of(instruction))
        else {
            continue;
        };
        let Some(dtype) = analysis.lookup.array(&target.array).and_then(|a| a.dtype.known()) else {
            continue;
        };
        let of = (operator, dtype);
        if found.contains_key(&of) {
            continue;
        }
        let name = shared.free_function(kernel, &format!("atomic_{}", of.0), found.values());
        found.insert(of, name);
    }
    found
}

impl Emitter<'_, '_> {
    /// The statements of an update, made of one that stores its operand. Among whom it is one step
    /// is said, if it is atomic.
    pub(super) fn update(
        &mut self,
        op: &UpdateOp,
        atomic: Option<UpdateScope>,
        mut stmts: Vec<Stmt>,
        leaf: LeafId,
        env: &Env,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let Some(last) = stmts.pop() else { return Ok(stmts) };
        let held = match &last {
            Stmt::Store { to, value, .. } => self.load(to.clone(), value.dtype),
            Stmt::Set { var, .. } => self.var_value(*var),
            _ => {
                stmts.push(last);
                return Ok(stmts);
            }
        };
        let updated = match (last, atomic) {
            (Stmt::Store { to, value, leaf }, Some(scope)) => {
                Stmt::Update { atomic: self.atomic(op, value.dtype)?, scope, to, value, leaf }
            }
            (Stmt::Store { to, value, leaf: of }, None) => {
                let value = self.combined(op, held, value, leaf, &mut stmts, env)?;
                Stmt::Store { to, value, leaf: of }
            }
            (Stmt::Set { var, value, leaf: of }, _) => {
                let value = self.combined(op, held, value, leaf, &mut stmts, env)?;
                Stmt::Set { var, value, leaf: of }
            }
            (other, _) => other,
        };
        stmts.push(updated);
        Ok(stmts)
    }

    /// What a target holds after an update that is not atomic. Values that are used several times
    /// get variables.
    fn combined(
        &mut self,
        op: &UpdateOp,
        held: Value,
        value: Value,
        leaf: LeafId,
        stmts: &mut Vec<Stmt>,
        env: &Env,
    ) -> Result<Value, Diagnostic> {
        let dtype = held.dtype;
        let operand = value.cast(dtype);
        if let Some(of) = op.combination(self.analysis.kernel, dtype)? {
            let mut named = |name: &Name, value: Value, like: &str| {
                let is_plain = matches!(value.kind, ValueKind::Var(_)) || value.as_int().is_some();
                if is_plain || count(&of.combined, name) < 2 {
                    return value;
                }
                let var = self.new_var(like, dtype, false);
                stmts.push(Stmt::Let { var, value, leaf: Some(leaf) });
                self.var_value(var)
            };
            let operands = [named(&of.value, operand, "operand"), named(&of.held, held, "held")];
            return self.function(&of, operands, env);
        }
        let op = match op {
            UpdateOp::Sum => BinOp::Add,
            UpdateOp::Min => BinOp::Min,
            UpdateOp::Max => BinOp::Max,
            UpdateOp::And => BinOp::BitAnd,
            UpdateOp::Or => BinOp::BitOr,
            UpdateOp::By(name) => {
                return Err(Diagnostic::new("internal", format!("the update by `{name}` is no function")));
            }
        };
        Ok(Value { dtype, kind: ValueKind::Binary(op, Box::new(held), Box::new(operand)) })
    }

    fn combination(&self, op: &UpdateOp, dtype: DType) -> Result<Combination, Diagnostic> {
        let of = op.combination(self.analysis.kernel, dtype)?;
        of.ok_or_else(|| Diagnostic::new("internal", format!("`{}` has a sign of its own", op.name())))
    }

    /// What an update computes of the operand and of what an element holds.
    fn function(
        &mut self,
        of: &Combination,
        [value, held]: [Value; 2],
        env: &Env,
    ) -> Result<Value, Diagnostic> {
        let local = BTreeMap::from([(of.held.clone(), held), (of.value.clone(), value)]);
        let scope = Scope { env, local: Some(&local), results: None };
        Ok(self.value(&of.combined, of.dtype, scope)?.cast(of.dtype))
    }

    /// The atomic update of the program for one of the kernel.
    fn atomic(&mut self, op: &UpdateOp, dtype: DType) -> Result<Atomic, Diagnostic> {
        if let Some(atomic) = Atomic::of(op) {
            return Ok(atomic);
        }
        let of = (Name::new(op.name()), dtype);
        let mut known = self.shared_state.updates.iter();
        if let Some(number) = known.position(|(name, update)| *name == of.0 && update.dtype == dtype) {
            return Ok(Atomic::By(number));
        }
        let name = self.shared_state.update_names.get(&of).cloned().ok_or_else(|| {
            Diagnostic::new("internal", format!("the update by `{}` has no function", of.0))
        })?;
        let combination = self.combination(op, dtype)?;
        let env = Env::new(&self.analysis.context)?;
        // The function has no variables but its two.
        let mut own = Emitter::new(self.analysis, self.shared_state, PerDim::all(1), "");
        let [held, value] = DeclaredUpdate::NAMES.map(|name| {
            let var = own.new_var(name, dtype, false);
            own.var_value(var)
        });
        let combined = own.function(&combination, [value, held], &env)?;
        self.shared_state.updates.push((of.0, DeclaredUpdate { name, dtype, combined }));
        Ok(Atomic::By(self.shared_state.updates.len() - 1))
    }
}
