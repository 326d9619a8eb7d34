//! Whether the claims of a program's leaves agree with the kernel.
//!
//! The final check compares statements with the instances that their leaves claim. Lowering writes
//! these claims, so a mistake there could corrupt the program and its specification alike. Here the
//! claims are checked against the transformed kernel, by separate code that shares definitions with
//! lowering (`Lookup`, [`executor`]) but no results of its analysis:
//!
//! 1. Assumptions and facts are the kernel's.
//! 2. An iname on an axis is the axis's coordinate plus a function of the parameters, and a part
//!    has at most one iname on each axis, so coordinates and inames correspond one to one.
//! 3. A leaf belongs to a part of the kernel and uses the axes that the kernel assigns to the part;
//!    its instances are those of the part: the constraints of each imply those of the other.
//! 4. The executions that are allowed include the instances; only copies that fill their buffer,
//!    updates of reductions and stores of matrices may allow more. That these have no effect is
//!    *not* shown here.
//! 5. Each part on which an argument depends has a leaf, unless it has no instances, and the leaf
//!    requires each of its values, except those private to a thread, those of a reduction's state
//!    that nothing reads, and first values with which no instance continues.
//! 6. Only in nests over segments do data decide which executions run, and there [`flat_nest`]
//!    checks the premises of the theorem.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use loopwright_kernel_ir::{
    AddressSpace, Aff, Arg, Constraint, DeviceFunction, Diagnostic, Expr, HardwareAxis, Instruction, Lookup,
    LoopKernel, Name, Part, PartRef, ReductionOp, Role, Struct, Tree, Via,
};
use loopwright_layout::Layout;
use loopwright_legality::{Executor, Presence, consumer, context, executor, flat_nests};
use loopwright_poly::{System, Table};

use super::declared;
use crate::{Instances, Leaf, Memory, Owner, Program, Stmt, Value, local_layout::row_major, quotient};

/// The first claim of a program that does not hold for a kernel.
///
/// Errors: numbers beyond 64 bits.
pub(super) fn wrong_claim(kernel: &LoopKernel, program: &Program) -> Result<Option<Diagnostic>, Diagnostic> {
    if program.assumptions != kernel.assumptions || program.facts != kernel.facts {
        return Ok(Some(refusal("the program assumes something else than the kernel".into())));
    }
    if let Some(why) = wrong_tables(kernel, program) {
        return Ok(Some(refusal(why)));
    }
    if let Some(why) = wrong_records(kernel, program) {
        return Ok(Some(refusal(why)));
    }
    if let Some(why) = declared::wrong_array(kernel, program) {
        return Ok(Some(refusal(why)));
    }
    let own = |known: &DeviceFunction, f: &DeviceFunction| {
        (&known.name, &known.params, known.result) == (&f.name, &f.params, f.result)
            && known.source.trim() == f.source.trim()
    };
    let foreign = program.functions.iter().find(|f| !kernel.functions.iter().any(|known| own(known, f)));
    if let Some(foreign) = foreign {
        return Ok(Some(refusal(format!("the function `{}` is none of the kernel's", foreign.name))));
    }
    if let Some(foreign) = program.atoms.iter().find(|atom| !kernel.atoms.contains(atom)) {
        return Ok(Some(refusal(format!("the atom `{}` is none of the kernel's", foreign.name()))));
    }
    let claims = Claims::new(kernel, program)?;
    if let Some(wrong) = claims.coordinates() {
        return Ok(Some(wrong));
    }
    for leaf in &program.leaves {
        if let Some(why) = claims.leaf(leaf)? {
            return Ok(Some(refusal(format!("{} {why}", leaf.part))));
        }
    }
    claims.missing()
}

/// Why the constant tables of a program are not those of the kernel: other values, another layout
/// than row by row, or a statement that writes one.
fn wrong_tables(kernel: &LoopKernel, program: &Program) -> Option<String> {
    for (number, global) in program.globals.iter().enumerate() {
        let name = &global.name;
        let declared = kernel.constant(name);
        let Some(table) = global.table() else {
            if declared.is_some() {
                return Some(format!("`{name}` is a constant table of the kernel, and none of the program"));
            }
            continue;
        };
        let Some(declared) = declared else {
            return Some(format!("the kernel has no constant table `{name}`"));
        };
        let numbers = declared.numbers().map(|n| crate::Table(n.into()));
        if numbers.as_ref() != Some(table) || declared.array.dtype.known() != Some(global.dtype) {
            return Some(format!("the values of the constant table `{name}` are not those of the kernel"));
        }
        let shape = declared.shape().unwrap_or_default();
        let axes: Option<Vec<Layout>> = (global.shape.len() == global.strides.len())
            .then(|| global.shape.iter().zip(&global.strides))
            .and_then(|axes| axes.map(|(n, by)| Some(Layout::mode(n.as_int()?, by.as_int()?))).collect());
        let elements = i64::try_from(table.0.len()).ok();
        let by_rows = axes.is_some_and(|axes| row_major(&shape) == Some(Layout::Tuple(axes)));
        if !by_rows || global.size.as_int() != elements {
            return Some(format!("the constant table `{name}` does not lie row by row"));
        }
        let mut written = global.written;
        for device in &program.kernels {
            Stmt::visit(&device.body, &mut |stmt| {
                written |= stmt.written().is_some_and(|to| to.element.memory == Memory::Global(number));
            });
        }
        if written {
            return Some(format!("the constant table `{name}` is written"));
        }
    }
    None
}

/// A record that is not one of the kernel, or whose fields are other arrays.
fn wrong_records(kernel: &LoopKernel, program: &Program) -> Option<String> {
    if let Err(misplaced) = kernel.check_records() {
        return Some(misplaced.message);
    }
    let names = |of: &Struct, fields: Vec<Name>, name: &Name| (name.clone(), of.clone(), fields);
    let declared: Option<Vec<_>> = kernel
        .records
        .iter()
        .map(|record| {
            let of = kernel.structure(record.of())?;
            let fields = of.fields.iter().map(|f| record.field_name(&f.name)).collect();
            Some(names(of, fields, &record.array.name))
        })
        .collect();
    let found: Option<Vec<_>> = program
        .records
        .iter()
        .map(|record| {
            let fields: Option<Vec<Name>> =
                record.fields.iter().map(|g| Some(program.globals.get(*g)?.name.clone())).collect();
            Some(names(&record.of, fields?, &record.name))
        })
        .collect();
    (declared.is_none() || declared != found)
        .then(|| "the arrays of structs are not those of the kernel".to_owned())
}

/// A record whose fields have cells in common: the strides of one are no multiples of an element.
pub(super) fn overlapping_fields(program: &Program) -> Option<Diagnostic> {
    for record in &program.records {
        if record.fields.len() != record.of.fields.len() {
            return Some(refusal(format!("`{}` has not an array for each field", record.name)));
        }
        for (field, global) in record.of.fields.iter().zip(&record.fields) {
            let Some((place, global)) = program.field_place(*global).zip(program.globals.get(*global)) else {
                return Some(refusal(format!("`{}` has no array for `{}`", record.name, field.name)));
            };
            let is_whole = |stride: &Value| quotient(stride, place.width).is_some();
            if global.dtype != field.dtype
                || global.owner != Owner::Caller
                || !global.strides.iter().all(is_whole)
            {
                return Some(refusal(format!(
                    "`{}` does not lie in `{}` as `{}` does in a `{}`",
                    global.name, record.name, field.name, record.of.name
                )));
            }
        }
    }
    None
}

fn refusal(message: String) -> Diagnostic {
    Diagnostic::new("wrong-claim", message)
}

struct Claims<'k> {
    kernel: &'k LoopKernel,
    program: &'k Program,
    lookup: Lookup<'k>,
    context: Vec<Constraint>,
    /// The instances of parts, by their inames, which many have in common.
    known: RefCell<Table<Vec<Name>, Rc<Vec<Constraint>>>>,
    /// Parts whose instances data may distribute among threads: those of nests over segments that
    /// may be flattened.
    by_data: BTreeSet<PartRef>,
    /// Where each part stands in the tree: its number, and the loops around it.
    places: Table<PartRef, (usize, Vec<&'k Name>)>,
}

/// A part with the instances that the kernel states for it.
struct Stated<'k> {
    instruction: &'k Instruction,
    inames: Vec<Name>,
    /// Its instances, over coordinates and the inames of loops and lanes.
    instances: Rc<Vec<Constraint>>,
}

impl<'k> Claims<'k> {
    fn new(kernel: &'k LoopKernel, program: &'k Program) -> Result<Self, Diagnostic> {
        let mut places = Table::default();
        Tree::visit_leaves(&kernel.tree, &mut |path, part| {
            places.insert(part.clone(), (places.len(), path.to_vec()));
        });
        Ok(Claims {
            kernel,
            program,
            places,
            lookup: Lookup::new(kernel),
            context: context(kernel),
            known: RefCell::default(),
            by_data: flat_nests(kernel).flat_map(|nest| nest.parts).collect(),
        })
    }

    /// Whether the values of inames on axes are those of the axes' coordinates, moved.
    fn coordinates(&self) -> Option<Diagnostic> {
        for (iname, tag) in &self.kernel.tags {
            let Some(axis) = tag.axis() else { continue };
            // An iname of parts that have no instances needs no value.
            let Some(value) = self.coordinate(iname) else { continue };
            let moved = value.sub(&axis.position());
            let is_moved = moved.is_ok_and(|by| !by.mentions_any(&|n| !self.lookup.is_scalar(n)));
            if !is_moved {
                let message = format!("`{iname}` is not the coordinate of `{tag}`, moved, but {value}");
                return Some(refusal(message));
            }
        }
        None
    }

    fn coordinate(&self, iname: &Name) -> Option<&'k Aff> {
        self.program.coordinates.iter().find(|(name, _)| name == iname).map(|(_, value)| value)
    }

    /// What the kernel says of a part; `None` where it has no such part.
    fn stated(&self, part: &PartRef) -> Result<Option<Stated<'k>>, Diagnostic> {
        let Some(instruction) = self.lookup.instruction(&part.instruction) else { return Ok(None) };
        if !self.kernel.parts(instruction).contains(part) {
            return Ok(None);
        }
        let inames = self.lookup.part_inames(part);
        let known = self.known.borrow().get(&inames).cloned();
        let instances = match known {
            Some(known) => known,
            None => {
                let mut instances = Vec::new();
                for c in self.lookup.instances(&inames) {
                    let c = self.lookup.expand_constraint(&c)?;
                    instances.push(c.substitute(&|n| self.coordinate(n).cloned())?);
                }
                let instances = Rc::new(instances);
                self.known.borrow_mut().insert(inames.clone(), instances.clone());
                instances
            }
        };
        Ok(Some(Stated { instruction, inames, instances }))
    }

    /// The lanes that an accumulator has copies for besides those of its first value: with their
    /// ranges, each a number from the least to the greatest value in any update.
    fn lanes_of_accumulator(&self, part: &PartRef, own: &[Name]) -> Result<Vec<Constraint>, Diagnostic> {
        let Part::Init(n) = part.part else { return Ok(Vec::new()) };
        let update = PartRef { part: Part::Update(n), ..part.clone() };
        let Some(stated) = self.stated(&update)? else { return Ok(Vec::new()) };
        let system = System::new(&[self.context.as_slice(), stated.instances.as_slice()].concat())?;
        let mut rows = Vec::new();
        for lane in stated.inames.iter().filter(|i| self.kernel.tag(i).is_jam() && !own.contains(i)) {
            let value = Aff::var(lane);
            if let (Some(low), Some(high)) = system.constant_range(&value)? {
                rows.push(Constraint::le(&Aff::constant(low), &value)?);
                // Without any update there is still one copy, which holds the first value.
                rows.push(Constraint::le(&value, &Aff::constant(high.max(low)))?);
            }
        }
        Ok(rows)
    }

    /// What is wrong with a leaf.
    fn leaf(&self, leaf: &Leaf) -> Result<Option<String>, Diagnostic> {
        let Some(stated) = self.stated(&leaf.part)? else {
            return Ok(Some("is not a part of the kernel".into()));
        };
        if leaf.role != stated.instruction.role {
            return Ok(Some("has another role in the kernel".into()));
        }
        if leaf.decided_by_data {
            let may = self.by_data.contains(&leaf.part);
            return Ok((!may).then(|| "is not of a nest over segments that can be flattened".into()));
        }
        let Some(claim) = &leaf.instances else {
            return Ok(Some("does not say for which executions it has to run".into()));
        };
        let axes: Vec<HardwareAxis> =
            stated.inames.iter().filter_map(|i| self.kernel.tag(i).axis()).collect();
        if axes.iter().enumerate().any(|(k, axis)| axes[..k].contains(axis)) {
            return Ok(Some("has two inames on one axis".into()));
        }
        let lanes: Vec<&Name> = stated.inames.iter().filter(|i| self.kernel.tag(i).is_jam()).collect();
        if lanes != claim.lanes.iter().collect::<Vec<_>>() {
            return Ok(Some("runs in other lanes than in the kernel".into()));
        }
        if claim.conditional != stated.instruction.predicate.is_some() {
            return Ok(Some("has a predicate in one of program and kernel only".into()));
        }
        let executor = executor(&self.lookup, stated.instruction, leaf.part.part, &stated.inames);
        if !self.runs_as_stated(leaf, claim, &executor.unnamed()) {
            return Ok(Some("runs in other threads or blocks than in the kernel".into()));
        }
        if let Some(why) = self.instances(leaf, claim, &stated)? {
            return Ok(Some(why));
        }
        let forgotten = self.values(&leaf.part, stated.instruction);
        match forgotten.difference(&claim.values.iter().copied().collect()).next() {
            Some(number) if !self.serves_nothing(&leaf.part, stated.instruction)? => {
                Ok(Some(format!("does not give its value number {number}")))
            }
            _ => Ok(None),
        }
    }

    /// Whether a leaf runs in the threads and blocks that the kernel says, or where all that may
    /// read what it writes to a scalar runs in one block, in that one.
    fn runs_as_stated(&self, leaf: &Leaf, claim: &Instances, stated: &Executor<()>) -> bool {
        claim.executor.iter().all(|(axis, claimed)| {
            if *claimed == stated[axis] {
                return true;
            }
            if axis.is_in_block() {
                return false;
            }
            let Some(instruction) = self.lookup.instruction(&leaf.part.instruction) else { return false };
            let [target] = instruction.targets.as_slice() else { return false };
            let array = self.lookup.array(&target.array);
            let is_scalar = array.is_some_and(|a| a.space == AddressSpace::Private && a.axes.is_empty());
            let reads = |other: &&Leaf| {
                let reader = self.lookup.instruction(&other.part.instruction);
                reader.is_some_and(|r| r.id != instruction.id && reads(r).contains(&target.array))
            };
            let elected = |other: &Leaf| {
                other.instances.as_ref().is_some_and(|i| i.executor[axis] == Presence::Elected)
            };
            *claimed == Presence::Elected
                && stated[axis] == Presence::Replicated
                && is_scalar
                && !self.bounds_mention(&target.array)
                && self
                    .program
                    .leaves
                    .iter()
                    .filter(reads)
                    .all(|other| elected(other) || !self.may_find(other, leaf, &target.array))
        })
    }

    /// Whether a leaf that reads a private scalar may find what another leaf has written there. It
    /// does not if it always runs first, nor if its thread writes the scalar anew between the two.
    fn may_find(&self, reader: &Leaf, writer: &Leaf, scalar: &Name) -> bool {
        let (Some((to, loops)), Some((from, around))) =
            (self.places.get(&reader.part), self.places.get(&writer.part))
        else {
            return true;
        };
        let repeated = loops.first().zip(around.first()).is_some_and(|(a, b)| a == b);
        if to < from && !repeated {
            return false;
        }
        let renewed = |other: &Leaf| {
            let Some((at, same)) = self.places.get(&other.part) else { return false };
            // Of an iteration of one body: what stands after the write, and before the read.
            (at < to && (*from < *at || to <= from)) && same == loops && self.renews(other, reader, scalar)
        };
        !self.program.leaves.iter().any(renewed)
    }

    /// Whether a leaf writes a scalar in each thread and for each instance of a reader in the same
    /// loops, whatever the data are.
    fn renews(&self, leaf: &Leaf, reader: &Leaf, scalar: &Name) -> bool {
        let Some(instruction) = self.lookup.instruction(&leaf.part.instruction) else { return false };
        let inames = self.lookup.part_inames(&leaf.part);
        let (Some(claim), Some(other)) = (&leaf.instances, &reader.instances) else { return false };
        leaf.part.part == Part::Whole
            && instruction.targets.iter().any(|t| t.array == *scalar)
            && instruction.predicate.is_none()
            && instruction.update.is_none()
            && !reads(instruction).contains(scalar)
            && inames == self.lookup.part_inames(&reader.part)
            && !inames.iter().any(|i| self.kernel.tag(i).is_jam())
            && claim.executor.iter().all(|(axis, presence)| match presence {
                Presence::Replicated => true,
                _ => *presence == other.executor[axis],
            })
    }

    fn bounds_mention(&self, name: &Name) -> bool {
        self.kernel.domains.iter().flat_map(|d| &d.constraints).any(|c| c.aff.mentions(name))
    }

    /// What is wrong with the instances of a claim.
    fn instances(
        &self,
        leaf: &Leaf,
        claim: &Instances,
        stated: &Stated<'_>,
    ) -> Result<Option<String>, Diagnostic> {
        let more = self.lanes_of_accumulator(&leaf.part, &stated.inames)?;
        let own = match more.is_empty() {
            true => Cow::Borrowed(stated.instances.as_slice()),
            false => Cow::Owned([stated.instances.as_slice(), &more].concat()),
        };
        let follows = |from: &[Constraint], what: &[Constraint]| -> Result<Option<Constraint>, Diagnostic> {
            // Most of it is said in the same words, and in the same order.
            if from == what {
                return Ok(None);
            }
            let mut others = what.iter().filter(|c| !from.contains(c)).peekable();
            if others.peek().is_none() {
                return Ok(None);
            }
            // The axes that the part is on have coordinates from 0 on.
            let axes = stated.inames.iter().filter_map(|i| self.kernel.tag(i).axis());
            let mut known = self.context.clone();
            known.extend(axes.map(|axis| Constraint::nonneg(axis.position())));
            let system = System::new(&[known.as_slice(), from].concat())?;
            for c in others {
                if !system.implies(c)? {
                    return Ok(Some(c.clone()));
                }
            }
            Ok(None)
        };
        if let Some(c) = follows(&own, &claim.constraints)? {
            return Ok(Some(format!("has instances in the kernel for which `{c}` does not hold")));
        }
        // An accumulator may have copies that no update goes into.
        if let Some(c) = follows(&claim.constraints, &stated.instances)? {
            return Ok(Some(format!("has no instances in the kernel for which `{c}` does not hold")));
        }
        if claim.allowed != claim.constraints {
            let harmless = matches!(leaf.part.part, Part::Update(_) | Part::Init(_))
                || matches!(leaf.role, Role::Copies { .. })
                || stated.instruction.via == Via::Matrices;
            let narrow = follows(&own, &claim.allowed)?;
            // Only the lanes of an accumulator make a first value's instances more than may run.
            let same = follows(&claim.allowed, &stated.instances)?.is_none();
            if narrow.is_some() || !(same || harmless) {
                return Ok(Some("may run for executions that are not its instances".into()));
            }
        }
        Ok(None)
    }

    /// The instructions that an argument or a bound depends on.
    fn live(&self) -> BTreeSet<&'k Name> {
        let kernel: &'k LoopKernel = self.kernel;
        let mut wanted: BTreeSet<Name> = kernel
            .args
            .iter()
            .filter_map(|arg| match arg {
                Arg::Array(array) => Some(array.name.clone()),
                Arg::Scalar(_) => None,
            })
            .collect();
        wanted.extend(kernel.domains.iter().flat_map(|d| &d.constraints).flat_map(Constraint::names));
        let mut live = BTreeSet::new();
        let mut seen = wanted.clone();
        while let Some(array) = wanted.pop_first() {
            for instruction in self.lookup.writers(&array) {
                let instruction = &kernel.instructions[*instruction];
                if live.insert(&instruction.id) {
                    wanted.extend(reads(instruction).into_iter().filter(|name| seen.insert(name.clone())));
                }
            }
        }
        live
    }

    /// Whether each thread has an array for itself.
    fn is_private(&self, array: &Name) -> bool {
        self.lookup.temporary(array).is_some_and(|t| t.space == AddressSpace::Private)
    }

    /// Whether nothing gives this value of a reduction's state, whose result another part gives.
    /// What the program reads has to be given ([`super::given`]), and what that part gives is
    /// compared with the kernel (`values`): it does not depend on the value then, as a product with
    /// zero does not.
    fn is_dropped(&self, instruction: &Instruction, n: usize, value: usize) -> bool {
        let leaves = || self.program.leaves.iter().filter(|leaf| leaf.part.instruction == instruction.id);
        let gives = |leaf: &Leaf| {
            leaf.instances.as_ref().is_none_or(|i| i.values.iter().any(|v| usize::from(*v) == value))
        };
        let of_state = |leaf: &&Leaf| matches!(leaf.part.part, Part::Init(m) | Part::Update(m) if m == n);
        consumer(instruction, n) == Part::Finish
            && leaves().any(|leaf| leaf.part.part == Part::Finish)
            && !leaves().filter(of_state).any(gives)
    }

    /// Whether a part gives a reduction's state its first value, and nothing uses that value: no
    /// update and nothing that takes the result has an instance. A scan has such a first value in
    /// front of a loop that has no iteration.
    fn serves_nothing(&self, part: &PartRef, instruction: &Instruction) -> Result<bool, Diagnostic> {
        let Part::Init(n) = part.part else { return Ok(false) };
        for other in [Part::Update(n), consumer(instruction, n)] {
            let Some(stated) = self.stated(&PartRef { part: other, ..part.clone() })? else {
                return Ok(false);
            };
            if !self.is_without_instances(&stated)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_without_instances(&self, stated: &Stated<'_>) -> Result<bool, Diagnostic> {
        Ok(System::new(&[self.context.as_slice(), stated.instances.as_slice()].concat())?.is_empty()?)
    }

    /// The numbers of the values of a part that have to be given.
    fn values(&self, part: &PartRef, instruction: &Instruction) -> BTreeSet<u8> {
        let numbers: Vec<usize> = match part.part {
            Part::Init(n) | Part::Update(n) => {
                let reductions = instruction.reductions();
                let operator = reductions.get(n).and_then(|r| self.kernel.operator(&r.op));
                let spread = |iname: &Name| {
                    let tag = self.kernel.tag(iname);
                    tag.is_jam() || tag.is_hardware()
                };
                let joined = reductions
                    .get(n)
                    .is_some_and(|r| r.inames.iter().flat_map(|i| self.lookup.base_of(i)).any(spread));
                let needed = operator.map(|operator| needed_state(&operator, joined)).unwrap_or_default();
                needed.into_iter().filter(|k| !self.is_dropped(instruction, n, *k)).collect()
            }
            Part::Whole | Part::Finish => {
                // A thread's own value that nothing reads may be left out: a product with zero has
                // no operands. What the program reads has to be given ([`super::given`]).
                let targets = instruction.targets.iter().enumerate();
                targets.filter(|(_, t)| !self.is_private(&t.array)).map(|(k, _)| k).collect()
            }
        };
        numbers.into_iter().filter_map(|k| u8::try_from(k).ok()).collect()
    }

    /// The first part that has to run and has no leaf.
    fn missing(&self) -> Result<Option<Diagnostic>, Diagnostic> {
        let live = self.live();
        let claimed: BTreeSet<&PartRef> = self.program.leaves.iter().map(|leaf| &leaf.part).collect();
        for part in self.kernel.tree.iter().flat_map(Tree::leaves) {
            if claimed.contains(part) || !live.contains(&part.instruction) {
                continue;
            }
            let Some(stated) = self.stated(part)? else { continue };
            if !self.is_without_instances(&stated)? {
                return Ok(Some(refusal(format!("nothing in the program is of {part}"))));
            }
        }
        Ok(None)
    }
}

/// The names of all that an instruction reads.
fn reads(instruction: &Instruction) -> BTreeSet<Name> {
    let mut found = BTreeSet::new();
    let subscripts = instruction.targets.iter().flat_map(|t| &t.index);
    for e in std::iter::once(&instruction.value).chain(&instruction.predicate).chain(subscripts) {
        e.visit(&mut |e| match e {
            Expr::Name(name) => {
                found.insert(name.clone());
            }
            Expr::Subscript(access) => {
                found.insert(access.array.clone());
            }
            _ => {}
        });
    }
    found
}

/// The values of an operator's state that its results come from: those that they name, and those of
/// the state before that these are combined from. Where partial results are joined, the second
/// operand is a state too; otherwise it is a point.
fn needed_state(operator: &ReductionOp, joined: bool) -> Vec<usize> {
    let mentions = |e: &Expr, name: &str| {
        let mut found = false;
        e.visit(&mut |e| found |= matches!(e, Expr::Name(n) if **n == *name));
        found
    };
    let states: BTreeMap<usize, &Name> = operator.state.iter().map(|s| &s.name).enumerate().collect();
    let named = |k: &usize, e: &Expr| {
        let name = states[k];
        mentions(e, name) || mentions(e, &format!("a.{name}")) || joined && mentions(e, &format!("b.{name}"))
    };
    let mut needed: BTreeSet<usize> =
        states.keys().copied().filter(|k| operator.result.iter().any(|e| named(k, e))).collect();
    loop {
        let more: Vec<usize> = states
            .keys()
            .copied()
            .filter(|k| !needed.contains(k))
            .filter(|k| needed.iter().any(|n| operator.combine.get(*n).is_some_and(|e| named(k, e))))
            .collect();
        if more.is_empty() {
            return needed.into_iter().collect();
        }
        needed.extend(more);
    }
}

#[cfg(test)]
mod tests;
