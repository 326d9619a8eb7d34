//! Writes the program of a schedule.
//!
//! Each node has one form in the program: loops, guards, branches, barriers, joins and storage are
//! those of the schedule. What is still decided here changes neither an order nor a value:
//!
//! * expressions are folded (`fold`), and a number that several statements need gets a name
//!   (`emit`, `translate`);
//! * once all is written, variables get their places and names, and named indices that nothing
//!   reads, variables that are copies of others, empty loops and guards, and private values that
//!   nothing reads are dropped (`declare`);
//! * constant tables that do not fit, and names that the target's language reserves, are refused.

pub(crate) mod asynchronous;
pub(crate) mod atom;
pub(crate) mod bounds;
pub(crate) mod cell;
pub(crate) mod declare;
pub(crate) mod device_kernel;
pub(crate) mod emit;
pub(crate) mod emitter;
pub(crate) mod env;
pub(crate) mod fold;
pub(crate) mod guards;
pub(crate) mod join;
pub(crate) mod layout;
pub(crate) mod look_back;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod scope;
pub(crate) mod translate;
pub(crate) mod update;

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{
    AddressSpace, Arg, Diagnostic, HardwareAxis, LoopKernel, Name, Part, PartRef, PerDim, Record,
};

use crate::{
    LowerOptions,
    analyse::{analysis::Analysis, arrays::known},
    flat,
    program::{
        BinOp, DeclaredLookBack, DeclaredUpdate, DeviceKernel, Global, HostStmt, LeafId, Owner, Param,
        Program, ProgramArg, Purpose, RecordArg, ScalarArg, Stmt, Table, Value, ValueKind,
    },
    schedule::{
        Body, GridExtent, HostNode, HostPlace, KernelBody, KernelPlan, Schedule, host::relevant,
        loop_bounds::Side,
    },
    write::{
        device_kernel::{Draft, called_functions, globals_read},
        emitter::{Emitter, Shared},
        env::Env,
        layout::layout,
    },
};

/// The program of a schedule.
pub(crate) fn program(
    analysis: &Analysis<'_>,
    schedule: &Schedule,
    options: LowerOptions,
) -> Result<Program, Diagnostic> {
    let kernel = analysis.kernel;
    let mut shared = Shared {
        globals: Vec::new(),
        leaves: Vec::new(),
        updates: Vec::new(),
        update_names: BTreeMap::new(),
        look_backs: Vec::new(),
        look_back_names: BTreeMap::new(),
        index: options.index,
        target: options.target,
    };
    let args = declare_globals(analysis, &mut shared)?;
    shared.update_names = update::names(analysis, &shared);
    shared.look_back_names = look_back::names(analysis, &shared)?;
    let mut program = Writing { analysis, shared, kernels: Vec::new(), scratch: None };
    for plan in &schedule.kernels {
        program.kernel(plan)?;
    }
    let host = program.host(&schedule.host)?;
    let Writing { mut shared, mut kernels, .. } = program;
    if let [only] = kernels.as_mut_slice() {
        only.name = kernel.name.clone();
    }
    for k in &kernels {
        for p in &k.params {
            if let Param::Global { global, written, .. } = p {
                shared.globals[*global].written |= *written;
            }
        }
        for global in globals_read(&k.body) {
            shared.globals[global].read = true;
        }
    }
    let early = kernels.iter_mut().filter(|k| k.early);
    early.for_each(|k| withdraw_promises(k, &shared.globals));
    // Parts without a statement: their loops are empty, or something went wrong.
    let emitted: BTreeSet<PartRef> = shared.leaves.iter().map(|l| l.part.clone()).collect();
    for part in (0..analysis.parts.len()).filter(|p| !emitted.contains(&analysis.parts[*p].execution.part)) {
        Emitter::new(analysis, &mut shared, PerDim::all(1), "").leaf_at(part, BTreeMap::new());
    }
    let look_backs: Vec<DeclaredLookBack> = shared.look_backs.into_iter().map(|(_, of)| of).collect();
    let updates: Vec<DeclaredUpdate> = shared.updates.into_iter().map(|(_, update)| update).collect();
    let called = called_functions(&kernels, &updates, &look_backs);
    let on_axes = analysis.extents.keys().filter_map(|i| Some((i.clone(), analysis.coordinate_of(i)?)));
    let coordinates = on_axes.collect();
    let mut program = Program {
        name: kernel.name.clone(),
        target: options.target,
        index: options.index,
        args,
        records: records(kernel, &shared.globals),
        globals: shared.globals,
        kernels,
        host,
        coordinates,
        leaves: shared.leaves,
        functions: kernel.functions.iter().filter(|f| called.contains(&f.name)).cloned().collect(),
        updates,
        look_backs,
        atoms: kernel
            .atoms
            .iter()
            .filter(|a| kernel.instructions.iter().any(|i| i.uses(a)))
            .cloned()
            .collect(),
        assumptions: kernel.assumptions.clone(),
        facts: kernel.facts.clone(),
    };
    Writing::with_resets(&mut program);
    Ok(program)
}

/// Withdraws the promise that a kernel that starts early alone accesses what it reads, for arrays
/// that the program writes: the compiler could load them ahead of the kernel's wait
/// ([`crate::schedule::early`]).
fn withdraw_promises(kernel: &mut DeviceKernel, globals: &[Global]) {
    let read = globals_read(&kernel.body);
    for param in &mut kernel.params {
        if let Param::Global { global, exchanged, .. } = param {
            *exchanged |= read.contains(global) && globals[*global].written;
        }
    }
}

/// The records, with the arrays of their fields.
fn records(kernel: &LoopKernel, globals: &[Global]) -> Vec<RecordArg> {
    let record = |record: &Record| {
        let of = kernel.structure(record.of())?.clone();
        let global = |name: &Name| globals.iter().position(|g| g.name == *name);
        let fields: Option<Vec<usize>> =
            of.fields.iter().map(|f| global(&record.field_name(&f.name))).collect();
        Some(RecordArg { name: record.array.name.clone(), of, fields: fields? })
    };
    kernel.records.iter().filter_map(record).collect()
}

fn declare_globals(analysis: &Analysis<'_>, shared: &mut Shared) -> Result<Vec<ProgramArg>, Diagnostic> {
    let kernel = analysis.kernel;
    let mut args = Vec::new();
    let mut globals = Vec::new();
    let env = Env::new(&analysis.context)?;
    let index = shared.index;
    let arrays = kernel.args.iter().filter_map(|a| match a {
        Arg::Array(array) => Some((array, Owner::Caller)),
        Arg::Scalar(_) => None,
    });
    let temporaries =
        kernel.temporaries.iter().filter(|t| t.space == AddressSpace::Global).map(|t| (t, Owner::Launch));
    let constants = kernel.constants.iter().map(|c| {
        let numbers = c.numbers().unwrap_or_default();
        (&c.array, Owner::Program(Table(numbers.into())))
    });
    let mut emitter = Emitter::new(analysis, shared, PerDim::all(1), "");
    for (array, owner) in arrays.chain(temporaries).chain(constants) {
        let l = layout(array, index, &mut |e| emitter.index_value(e, &env))?;
        globals.push(Global {
            name: array.name.clone(),
            dtype: known(&array.dtype, &array.name)?,
            shape: l.shape,
            strides: l.strides,
            size: l.size,
            owner,
            read: false,
            written: false,
            hints: array.hints.clone(),
        });
    }
    let mut number = 0;
    for arg in &kernel.args {
        args.push(match arg {
            Arg::Array(_) => {
                number += 1;
                ProgramArg::Array(number - 1)
            }
            Arg::Scalar(s) => {
                ProgramArg::Scalar(ScalarArg { name: s.name.clone(), dtype: known(&s.dtype, &s.name)? })
            }
        });
    }
    shared.globals = globals;
    Ok(args)
}

struct Writing<'a, 'k> {
    analysis: &'a Analysis<'k>,
    shared: Shared,
    kernels: Vec<DeviceKernel>,
    /// The arrays through which the launches of the current nest over segments pass data.
    scratch: Option<flat::write::Scratch>,
}

impl Writing<'_, '_> {
    fn host(&mut self, nodes: &[HostNode]) -> Result<Vec<HostStmt>, Diagnostic> {
        let mut stmts = Vec::new();
        for node in nodes {
            stmts.push(match node {
                HostNode::Launch(number) => HostStmt::Launch(*number),
                HostNode::For { iname, bounds, around, body, note } => {
                    let env = self.host_env(around)?;
                    let mut emitter = Emitter::new(self.analysis, &mut self.shared, PerDim::all(1), "");
                    let lower = emitter.extreme(&bounds.lower, &env, Side::Lower)?;
                    let upper = emitter.extreme(&bounds.upper, &env, Side::Upper)?;
                    let (body, note) = (self.host(body)?, Box::new(note.clone()));
                    HostStmt::For { var: iname.clone(), lower, upper, body, note }
                }
            });
        }
        Ok(stmts)
    }

    /// Host variables and facts inside these host loops.
    fn host_env(&mut self, around: &HostPlace) -> Result<Env, Diagnostic> {
        let mut env = Env::at(around.place(self.analysis)?);
        for name in &around.around {
            let value = match around.fixed.get(name) {
                Some(aff) => {
                    Emitter::new(self.analysis, &mut self.shared, PerDim::all(1), "").aff_value(aff, &env)?
                }
                None => Value { dtype: self.shared.index, kind: ValueKind::Param(name.clone()) },
            };
            env.set(name.clone(), value);
        }
        Ok(env)
    }

    fn kernel(&mut self, plan: &KernelPlan) -> Result<(), Diagnostic> {
        let kernel = match &plan.body {
            KernelBody::Segments(launch) => {
                let mut env = self.host_env(&plan.around)?;
                env.place.learn(&plan.around.known)?;
                let to = (self.analysis, &mut self.shared, &mut self.scratch);
                flat::write::kernel(launch, to, env, (&plan.name, &plan.around.around))?
            }
            KernelBody::Nodes(body) => {
                let Body { block, grid, place, nodes, exchanged } = body.as_ref();
                let analysis = self.analysis;
                let index = self.shared.index;
                let host = self.host_env(&plan.around)?;
                let mut env = host.inside(place);
                for axis in HardwareAxis::all() {
                    let has_one = match axis {
                        HardwareAxis::Block(dim) => block[dim] <= 1,
                        HardwareAxis::Grid(dim) => !grid.contains_key(&dim),
                    };
                    let value = match has_one {
                        true => Value::int(index, 0),
                        false => Value { dtype: index, kind: ValueKind::of_axis(axis) },
                    };
                    env.set(Name::new(axis.coordinate()), value);
                }
                let mut blocks = PerDim::all(Value::int(index, 1));
                for (dim, extent) in grid {
                    blocks[*dim] = self.grid_value(extent, &host)?;
                }
                let mut emitter = Emitter::new(analysis, &mut self.shared, *block, &plan.name);
                emitter.grid = blocks.clone();
                emitter.relevant = relevant(analysis, &plan.parts);
                let mut body = emitter.lets(&mut env)?;
                body.extend(emitter.coordinate_lets(&plan.parts, &mut env)?);
                body.extend(emitter.nodes(nodes, &env)?);
                let mut draft = Draft::of(emitter, body);
                let given = Stmt::given(&draft.body, &self.shared.leaves);
                draft.finish();
                let kept = Stmt::given(&draft.body, &self.shared.leaves);
                self.leave_out(&given, &kept);
                let of = (analysis, self.shared.globals.as_slice());
                draft.kernel((plan.name.clone(), blocks, *block), of, &plan.around.around, exchanged)
            }
        };
        let (early, notes) = (plan.starts_early, plan.notes.clone());
        self.kernels.push(DeviceKernel { early, notes, ..kernel });
        Ok(())
    }

    fn grid_value(&mut self, extent: &GridExtent, env: &Env) -> Result<Value, Diagnostic> {
        let one = Value::int(self.shared.index, 1);
        let mut blocks: Option<Value> = None;
        for uppers in &extent.uppers {
            let mut emitter = Emitter::new(self.analysis, &mut self.shared, PerDim::all(1), "");
            let mut own: Option<Value> = None;
            for b in uppers {
                let v = emitter.bound_value(b, env, Side::Upper)?;
                own = Some(match own {
                    None => v,
                    Some(o) => Value::binary(BinOp::Min, o, v),
                });
            }
            let Some(own) = own else { continue };
            blocks = Some(match blocks {
                None => own,
                Some(e) if e == own => e,
                Some(e) => Value::binary(BinOp::Max, e, own),
            });
        }
        let blocks = blocks.ok_or_else(|| Diagnostic::new("internal", "a grid without bounds"))?;
        Ok(if extent.at_least_one { Value::binary(BinOp::Max, blocks, one) } else { blocks })
    }

    /// Private values that are never read have been dropped by now, and need not be computed.
    fn leave_out(&mut self, given: &BTreeSet<LeafId>, kept: &BTreeSet<LeafId>) {
        let value = |shared: &Shared, leaf: LeafId| {
            let leaf = &shared.leaves[leaf.0];
            match leaf.purpose {
                Purpose::Value(number) => Some((leaf.part.clone(), number)),
                Purpose::Support => None,
            }
        };
        let kept: BTreeSet<_> = kept.iter().filter_map(|leaf| value(&self.shared, *leaf)).collect();
        for (part, number) in given.iter().filter_map(|leaf| value(&self.shared, *leaf)).collect::<Vec<_>>() {
            if kept.contains(&(part.clone(), number)) || !self.is_private(&part, number) {
                continue;
            }
            for leaf in self.shared.leaves.iter_mut().filter(|leaf| leaf.part == part) {
                if let Some(instances) = &mut leaf.instances {
                    instances.values.retain(|v| *v != number);
                }
            }
        }
    }

    /// Whether a value of a part is private to a thread.
    fn is_private(&self, part: &PartRef, number: u8) -> bool {
        let lookup = &self.analysis.lookup;
        let target = match part.part {
            Part::Init(_) | Part::Update(_) => return true,
            Part::Whole | Part::Finish => {
                lookup.instruction(&part.instruction).and_then(|i| i.targets.get(usize::from(number)))
            }
        };
        let array = target.and_then(|t| lookup.array(&t.array));
        array.is_some_and(|array| array.space == AddressSpace::Private)
    }
}
