//! Writes look-backs, and what they need of a program: an array for the words of the tiles, the
//! counter of blocks, the functions that join totals, and the launches that reset words.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Diagnostic, Dim, Name, PerDim, ReductionOp};

use crate::{
    analyse::{
        analysis::{Analysis, reduction},
        scan_order::tiles,
        state::names as state_names,
    },
    program::{
        BinOp, DeclaredLookBack, DeviceKernel, Global, HostStmt, InOrder, LocalArray, LookBack, MemRef,
        Memory, Note, Owner, Stmt, Value, VarId, reset_of,
    },
    schedule::{items::Join, join_barriers::JoinBarriers},
    write::{
        Writing,
        emitter::{Emitter, Shared},
        env::Env,
        join::barrier,
        scan::Cells,
        scope::Scope,
    },
};

/// The names of the functions that look back, by operator and type.
pub(crate) fn names(
    analysis: &Analysis<'_>,
    shared: &Shared,
) -> Result<BTreeMap<(Name, Vec<DType>), Name>, Diagnostic> {
    let kernel = analysis.kernel;
    let mut found: BTreeMap<(Name, Vec<DType>), Name> = BTreeMap::new();
    for (k, instruction) in kernel.instructions.iter().enumerate() {
        if tiles(kernel, &analysis.lookup, k).is_none() {
            continue;
        }
        let types = analysis.reduction_types(k)?;
        for (n, types) in types.iter().enumerate() {
            let Some(reduce) = reduction(instruction, n) else { continue };
            let of = (reduce.op.clone(), types.state.clone());
            if found.contains_key(&of) {
                continue;
            }
            let others = shared.update_names.values().chain(found.values());
            let name = shared.free_function(kernel, &format!("look_back_{}", of.0), others);
            found.insert(of, name);
        }
    }
    Ok(found)
}

impl Emitter<'_, '_> {
    /// Publishes what the block's tile joins, and learns what the tiles before it do: the values,
    /// in all threads.
    pub(super) fn look_back(
        &mut self,
        (join, barriers): (&Join, &JoinBarriers),
        axis: Dim,
        operator: &ReductionOp,
        (mine, total): (&Cells, Vec<Value>),
        of_lane: &Value,
        body: &mut Vec<Stmt>,
    ) -> Result<Vec<Value>, Diagnostic> {
        let state: Vec<DType> = mine.iter().map(|(_, dtype)| *dtype).collect();
        let instruction = &self.analysis.kernel.instructions[join.instruction];
        let id = instruction.id.clone();
        let what = instruction.targets.first().map_or_else(|| id.clone(), |t| t.array.clone());
        let by = self.declared_look_back(operator, &state)?;
        self.number_blocks();
        let (grid, index, words) = (self.grid.clone(), self.index(), LookBack::words(&state));
        let size = LookBack::words_of(&grid, axis, words, index);
        let array = self.global_of_launch(&format!("{what}_tiles"), DType::U64, size);
        let first = LookBack::word_of(&grid, axis, words, index);
        let memory = Memory::Global(array);
        let word = MemRef { memory, subscripts: vec![first.clone()], offset: Box::new(first) };
        let before: Vec<VarId> = state_names(operator, "earlier")
            .iter()
            .zip(&state)
            .map(|(name, dtype)| self.new_var(name, *dtype, false))
            .collect();
        let slots = self.scratch("before_tile", &what, operator, mine, 1);
        let kept: Vec<MemRef> = slots
            .iter()
            .map(|slot| self.local_element(Memory::Shared(*slot), vec![self.index_int(0)]))
            .collect();
        let first_lane = Value::binary(BinOp::Eq, of_lane.clone(), self.index_int(0));
        let stores = kept.iter().zip(&before).map(|(to, var)| Stmt::Store {
            to: to.clone(),
            value: self.var_value(*var),
            leaf: None,
        });
        let stores: Vec<Stmt> = stores.collect();
        body.push(Stmt::If {
            cond: self.is_first_warp(),
            body: vec![
                Stmt::LookBack(LookBack { by, axis, total, before, word }),
                Stmt::If { cond: first_lane, body: stores, otherwise: Vec::new(), note: Note::default() },
            ],
            otherwise: Vec::new(),
            note: Note::new(format!("the first warp publishes the tile's total for {id}, and looks back")),
        });
        body.extend(barrier(barriers.learnt.as_ref()));
        Ok(kept.into_iter().zip(&state).map(|(from, dtype)| self.load(from, *dtype)).collect())
    }

    /// The blocks of the kernel are numbered in the order in which they start.
    fn number_blocks(&mut self) {
        if self.in_order.is_some() {
            return;
        }
        let size = self.index_int(1);
        let counter = self.global_of_launch("blocks_started", DType::U32, size);
        let name = self.unique("block_number");
        let note = "the block's number in the order in which blocks start".into();
        self.shared.push(LocalArray { name, dtype: DType::U32, dims: vec![1], layout: None, note });
        self.in_order = Some(InOrder { counter, number: self.shared.len() - 1 });
    }

    /// An array that the launch allocates.
    fn global_of_launch(&mut self, like: &str, dtype: DType, size: Value) -> usize {
        let name = self.unique(like);
        let globals = &mut self.shared_state.globals;
        globals.push(Global {
            name,
            dtype,
            shape: vec![size.clone()],
            strides: vec![Value::int(size.dtype, 1)],
            size,
            owner: Owner::Launch,
            read: false,
            written: false,
            hints: Default::default(),
        });
        globals.len() - 1
    }

    /// The number of the program's look-back by an operator on states of these types.
    fn declared_look_back(&mut self, operator: &ReductionOp, state: &[DType]) -> Result<usize, Diagnostic> {
        let mut known = self.shared_state.look_backs.iter();
        if let Some(number) = known.position(|(name, of)| *name == operator.name && of.state == state) {
            return Ok(number);
        }
        let of = (operator.name.clone(), state.to_vec());
        let Some(name) = self.shared_state.look_back_names.get(&of).cloned() else {
            return Err(Diagnostic::new("internal", format!("the look-back by `{}` has no function", of.0)));
        };
        let env = Env::new(&self.analysis.context)?;
        // The function has no variables but those of the two runs.
        let mut own = Emitter::new(self.analysis, self.shared_state, PerDim::all(1), "");
        let mut local = BTreeMap::new();
        let sides = ["a", "b"].into_iter().flat_map(|side| operator.state.iter().map(move |s| (side, s)));
        let types = state.iter().chain(state);
        for ((name, dtype), (side, of)) in DeclaredLookBack::names(state.len()).iter().zip(types).zip(sides) {
            let var = own.new_var(name, *dtype, false);
            local.insert(Name::new(format!("{side}.{}", of.name)), own.var_value(var));
        }
        let (mut combined, mut neutral) = (Vec::new(), Vec::new());
        for (e, dtype) in operator.combine.iter().zip(state) {
            combined.push(own.value(e, *dtype, Scope { env: &env, local: Some(&local), results: None })?);
        }
        for (e, dtype) in operator.neutral.iter().zip(state) {
            neutral.push(own.value(e, *dtype, Scope::of(&env))?);
        }
        let declared = DeclaredLookBack { name, state: of.1, neutral, combined };
        self.shared_state.look_backs.push((of.0, declared));
        Ok(self.shared_state.look_backs.len() - 1)
    }
}

impl Writing<'_, '_> {
    /// Puts the launches that reset words before those of kernels that look back, and their kernels
    /// before these kernels.
    pub(super) fn with_resets(program: &mut super::Program) {
        let kernels = std::mem::take(&mut program.kernels);
        let mut numbers: Vec<(Option<usize>, usize)> = Vec::new();
        let mut all: Vec<DeviceKernel> = Vec::new();
        for kernel in kernels {
            let mut name = format!("{}_reset", kernel.name);
            while program.globals.iter().any(|g| *g.name == *name) {
                name.push('_');
            }
            let reset = reset_of(program, &kernel, name.into());
            let number = reset.is_some().then_some(all.len());
            let early = kernel.early;
            // It starts while the launch that resets its words ends, and waits for that.
            let mut kernel = DeviceKernel { early: early || reset.is_some(), ..kernel };
            if let Some(reset) = &reset {
                let why =
                    format!("launched after {}: it sets to 0 what the blocks count and publish", reset.name);
                kernel.notes.push(Note::new(why));
            }
            all.extend(reset.map(|reset| DeviceKernel { early, ..reset }));
            numbers.push((number, all.len()));
            all.push(kernel);
        }
        program.kernels = all;
        launches(&mut program.host, &numbers);
    }
}

/// Numbers launches anew: of each kernel that of its reset, if it has one, and its own.
fn launches(body: &mut Vec<HostStmt>, numbers: &[(Option<usize>, usize)]) {
    for stmt in std::mem::take(body) {
        match stmt {
            HostStmt::Launch(number) => {
                let (reset, own) = numbers.get(number).copied().unwrap_or((None, number));
                body.extend(reset.map(HostStmt::Launch));
                body.push(HostStmt::Launch(own));
            }
            HostStmt::For { var, lower, upper, body: mut inside, note } => {
                launches(&mut inside, numbers);
                body.push(HostStmt::For { var, lower, upper, body: inside, note });
            }
        }
    }
}
