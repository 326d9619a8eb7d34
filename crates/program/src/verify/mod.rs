//! The final check: whether the finished program does what the proofs assume.
//!
//! The steps of a pipeline are judged on kernels. [`verify`] reads the finished [`Program`] as
//! the printer and the emulator do, with its threads, loops, guards, barriers and launches, and
//! uses nothing that lowering computed to place them:
//!
//! 1. *All threads reach each barrier* (`uniform`): conditions and bounds around a barrier have one
//!    value for all threads of a block. All lanes of a warp reach its barriers, shuffles and votes,
//!    and what a lane takes from another comes from one that is there (`exchanges`).
//! 2. *Instances are run* (`instances`): loops and guards run each statement for exactly the
//!    instances of its part: none is lost, none is extra, none runs twice.
//! 3. *Conflicts are ordered* (`order`): two accesses to one element of shared or global memory by
//!    different threads, at least one of them a write, are separated by a barrier if the threads
//!    belong to one block, and by a kernel boundary otherwise. The accesses of joins of partial
//!    results and of vector copies count too.
//!    Asynchronous copies take effect by the time at which their thread has waited for them; until
//!    a barrier after that wait nothing else may touch their elements (`flights`).
//! 4. *Indices have one type* (`width`): the range of every index and offset that is printed is
//!    among those that are checked at launch.
//! 5. *Variables are assigned before they are read* (`given`), and what is read of local arrays is
//!    written: a value private to a thread may be left out only if nothing reads it. What is
//!    assigned, stored or copied has the type of its place (`types`).
//! 6. *Atoms do what their contract says* (`atoms`): each lane's results are those of the
//!    statements that the hardware instruction stands for, element by element, and whole warps run
//!    it.
//! 7. *Partial results of threads and of lanes are joined* (`joins`), each exactly once, before
//!    they are read, wherever they are, and by the reduction's operator; those of a scan in their
//!    order. Nothing but what joins stands in a collective.
//!    Blocks that look back find what they wait for (`look_back`).
//! 8. *Each execution comes once, and dependent ones in the kernel's order* (`sequence`): no two
//!    statements give one value of a part for one instance, and where the kernel runs one of two
//!    executions first that access one cell, the text does too. What is read of shared and private
//!    memory was written in the same launch.
//!
//! 9. *Accesses stay inside their arrays* (`bounds`), where subscripts, lengths and the conditions
//!    around them are affine; vectors of local arrays are aligned.
//! 10. *Device kernels have the parameters that they use* (`declared`).
//!
//! If the kernel is known ([`verify_kernel`]), these are held to it besides:
//!
//! 11. *What leaves claim* (`claims`): the instances, the executors and the values of parts; and
//!     the arrays, which are those that the kernel declares (`declared`).
//! 12. *What statements compute* (`values`), the elements that they write, and the predicates
//!     around them; statements of no part write nothing that the kernel has.
//! 13. *What flattened nests compute* (`segments`): where data decide which thread runs which
//!     instance ([`crate::Leaf::decided_by_data`]), the launches of the nest are run on numbers and
//!     compared with the kernel's tree. Each element of a target has to be written once, with what
//!     the kernel says, whoever has computed and joined it.
//!
//! Taken on trust is:
//!
//! * of a nest over segments that is flattened: that it does for all lengths of segments what it
//!   does for those on which it is run. A proof would need invariants of the bisection, of the
//!   segmented scan and of the joins, which the program does not state. Not run is what takes more
//!   than some 150,000 steps, such as many blocks of long chunks, of which the last launch then
//!   joins few (it is run on several of its rounds where blocks have no more than 256 steps), and
//!   sizes of which an index may need 64 bits, where it has 32; scalars and host loops have one
//!   value each; the rounding of floating-point types is not followed, nor are functions of the
//!   user's;
//! * what the user has vouched for, if the kernel is known: that two executions of one part in one
//!   iteration of the loops around it do not touch one cell, where data decide that (`vouched`);
//! * that subscripts which read data or are not affine, or stand under conditions that are not,
//!   stay inside their arrays; and that vectors of the caller's arrays are aligned, where data are
//!   in their subscripts or strides are not known to be multiples of their length: a launch asks
//!   that arrays begin at an aligned address, and the emulator checks each access;
//! * the bounds of variables that data give ([`crate::Var::within`]), but on the runs of 13; and
//!   the declared facts.
//!
//! A refusal names both executions. It is [`Finding::Refuted`] where the pair is known to run,
//! and [`Finding::Unknown`] where guards or subscripts depend on data or are not affine. What a
//! statement or an atom computes is refuted where it has been evaluated to be something else.

mod affine;
mod atoms;
mod bounds;
mod cases;
mod claims;
mod declared;
mod exchanges;
mod flights;
mod given;
mod instances;
mod integers;
mod joins;
mod layouts;
mod look_back;
mod order;
mod reading;
mod segments;
mod sequence;
mod side_by_side;
mod sizes;
mod types;
mod uniform;
mod values;
mod vouched;
mod width;

use std::{collections::BTreeMap, fmt};

use loopwright_kernel_ir::{
    Aff, Constraint, Diagnostic, KernelData, LoopKernel, Name, ReductionOp, TypeTable,
};
use loopwright_legality::is_coordinate;
use loopwright_poly::{Result, System, TableSet, remembering};

use crate::{DeviceKernel, HostStmt, LeafId, Program, Scope as SyncScope, Value};
use instances::{Coverage, Flaw, Misfit};
use joins::WrongJoin;
use order::{Meeting, Order, Who};
use reading::{HostLoop, Reading, Targets, Terms, TouchId};
use segments::WrongNest;
use sequence::Sequence;
use uniform::Divergence;
use values::{Values, WrongValue};

/// The outcome of the final check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Everything holds, for all values of the parameters; of pairs that the user has vouched for,
    /// their disjointness is assumed.
    Proved {
        /// The number of queries about integer sets.
        queries: usize,
    },
    /// A property does not hold; the diagnostic has a counter-example.
    Refuted(Box<Diagnostic>),
    /// A property could neither be proved nor refuted.
    Unknown(Box<Diagnostic>),
}

impl Finding {
    /// The diagnostic; `None` for a proof.
    pub fn refusal(self) -> Option<Diagnostic> {
        match self {
            Finding::Proved { .. } => None,
            Finding::Refuted(d) | Finding::Unknown(d) => Some(*d),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Proved { queries } => write!(f, "proved ({queries} queries)"),
            Finding::Refuted(d) => write!(f, "refuted: {d}"),
            Finding::Unknown(d) => write!(f, "unknown: {d}"),
        }
    }
}

/// As [`verify`]; also checks the executions that leaves claim against the kernel from which the
/// program was lowered: see the head of `verify/claims.rs`.
pub fn verify_kernel(kernel: &LoopKernel, program: &Program) -> Finding {
    remembering(|| match claims::wrong_claim(kernel, program) {
        Ok(None) => verify_with(program, &Operators { kernel: Some(kernel), types: TypeTable::new(kernel) }),
        Ok(Some(wrong)) => Finding::Refuted(Box::new(wrong)),
        Err(unknown) => Finding::Unknown(Box::new(unknown)),
    })
}

/// Checks a program, trusting what its leaves claim. See the head of this module.
pub fn verify(program: &Program) -> Finding {
    let library = KernelData::new(Name::new("library"));
    remembering(|| verify_with(program, &Operators { kernel: None, types: TypeTable::new(&library) }))
}

/// The operators of reductions.
struct Operators<'k> {
    kernel: Option<&'k LoopKernel>,
    /// The types of the kernel's names; without a kernel there are none.
    types: TypeTable<'k>,
}

impl Operators<'_> {
    /// The operator with this name, of the kernel or of the library.
    fn named(&self, name: &Name) -> Option<ReductionOp> {
        match self.kernel {
            Some(kernel) => kernel.operator(name),
            None => ReductionOp::library(name),
        }
    }

    /// The name of that of a reduction of an instruction, if the kernel is known.
    fn of(&self, instruction: &Name, number: usize) -> Option<Name> {
        let instruction = self.kernel?.instructions.iter().find(|i| i.id == *instruction)?;
        instruction.reductions().get(number).map(|reduce| reduce.op.clone())
    }
}

fn verify_with<'p>(program: &'p Program, operators: &Operators<'p>) -> Finding {
    if let Some(found) = sizes::too_large(program) {
        return found;
    }
    if let Some(wrong) = width::wrong_index(program) {
        let found = match wrong {
            width::WrongIndex::Type(place, dtype) => Diagnostic::new(
                "index-type",
                format!("{place} is {dtype}, where indices are {}", program.index),
            ),
            width::WrongIndex::Offset(array) => Diagnostic::new(
                "wrong-offset",
                format!("the offset of an element of `{array}` is not that of its subscripts"),
            ),
            width::WrongIndex::NotCompared(array) => {
                let message = format!(
                    "the offset of an element of `{array}` has factors beyond 64 bits, or too many terms"
                );
                return Finding::Unknown(Box::new(Diagnostic::new("overflow", message)));
            }
        };
        return Finding::Refuted(Box::new(found));
    }
    if let Some(why) = types::wrong_type(program) {
        return Finding::Refuted(Box::new(Diagnostic::new("invalid-program", why)));
    }
    if let Some(found) = layouts::wrong_layout(program) {
        return Finding::Refuted(Box::new(found));
    }
    if let Some((name, kernel)) = given::not_given(program) {
        let message = format!("`{name}` is read in `{kernel}`, where nothing gives it a value");
        return Finding::Refuted(Box::new(Diagnostic::new("no-value", message)));
    }
    if let Some((name, kernel)) = given::given_again(program) {
        let message = format!("`{name}` in `{kernel}` is an index, and is given more than one value");
        return Finding::Refuted(Box::new(Diagnostic::new("wrong-index", message)));
    }
    if let Some((name, kernel)) = given::declared_again(program) {
        let message = format!("`{name}` is declared again in `{kernel}`, where it is known already");
        return Finding::Refuted(Box::new(Diagnostic::new("invalid-program", message)));
    }
    if let Some((name, kernel)) = given::endless(program) {
        let message = format!("the loop over `{name}` in `{kernel}` may never end");
        let help = "double from a constant above 0, halve down to what is not negative";
        let found = Diagnostic::new("invalid-program", message).help(help);
        return Finding::Unknown(Box::new(found));
    }
    if let Some(found) = look_back::wrong_look_back(program) {
        return Finding::Refuted(Box::new(found));
    }
    match program.kernels.iter().find_map(|kernel| joins::wrong_join(program, kernel, operators)) {
        Some(WrongJoin::Wrong(found)) => return Finding::Refuted(found),
        Some(WrongJoin::NotFollowed(found)) => return Finding::Unknown(found),
        None => {}
    }
    let targets = match operators.kernel.map(|kernel| Targets::of(kernel, program)).transpose() {
        Ok(targets) => targets.unwrap_or_default(),
        Err(e) => return Finding::Unknown(Box::new(e.into())),
    };
    let values = operators.kernel.map(|kernel| Values::new(kernel, program));
    let sequence = Sequence::new(program);
    let vouched = operators.kernel.is_some_and(|kernel| !kernel.vouched.is_empty());
    let seen = TableSet::default();
    let mut check = Check { program, targets, vouched, queries: 0, seen, values, sequence };
    match check.all(operators.kernel) {
        Ok(None) => match operators.kernel.and_then(|kernel| segments::wrong_nest(kernel, program)) {
            Some(WrongNest::Wrong(found)) => Finding::Refuted(found),
            Some(WrongNest::NotFollowed(found)) => Finding::Unknown(found),
            None => Finding::Proved { queries: check.queries + check.sequence.queries },
        },
        Ok(Some(finding)) => finding,
        Err(e) => Finding::Unknown(Box::new(e)),
    }
}

/// What is found on the way through the launches.
struct Check<'p> {
    program: &'p Program,
    /// What parts in lanes write, if the kernel is known.
    targets: Targets,
    /// Whether the user has vouched for a step of the kernel.
    vouched: bool,
    queries: usize,
    /// The values of parts that are given somewhere.
    seen: TableSet<(LeafId, u8)>,
    values: Option<Values<'p>>,
    sequence: Sequence<'p>,
}

impl<'p> Check<'p> {
    fn all(&mut self, kernel: Option<&'p LoopKernel>) -> std::result::Result<Option<Finding>, Diagnostic> {
        if let Some(wrong) = claims::overlapping_fields(self.program) {
            return Ok(Some(Finding::Refuted(Box::new(wrong))));
        }
        if let Some(found) = self.launches(&self.program.host, &mut Vec::new())? {
            return Ok(Some(found));
        }
        if let Some(found) = self.forgotten()? {
            return Ok(Some(found));
        }
        let context = context(self.program)?;
        if let Some(found) = self.sequence.repeated(&context)? {
            return Ok(Some(found));
        }
        if let Some(kernel) = kernel
            && let Some(found) = self.sequence.turned(kernel, &context)?
        {
            return Ok(Some(found));
        }
        let wrong = declared::wrong_parameters(self.program);
        Ok(wrong.map(|why| Finding::Refuted(Box::new(Diagnostic::new("invalid-program", why)))))
    }

    /// The first thing that is wrong in the launches of a host body.
    fn launches(&mut self, body: &'p [HostStmt], around: &mut Vec<HostLoop<'p>>) -> Result<Option<Finding>> {
        for (number, stmt) in body.iter().enumerate() {
            self.sequence.enter(number);
            let found = match stmt {
                HostStmt::For { var, lower, upper, body, .. } => {
                    around.push((var.clone(), lower, upper));
                    self.sequence.enter_loop(var);
                    let found = self.launches(body, around)?;
                    self.sequence.leave();
                    around.pop();
                    found
                }
                HostStmt::Launch(number) => match self.program.kernels.get(*number) {
                    Some(kernel) => self.launch(kernel, around)?,
                    None => None,
                },
            };
            self.sequence.leave();
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn launch(&mut self, kernel: &'p DeviceKernel, around: &[HostLoop<'_>]) -> Result<Option<Finding>> {
        let program = self.program;
        let context = context(program)?;
        let mut reading = Reading::new(program, kernel, &self.targets, around, &context, Terms::Text)?;
        if let Some(divergence) = reading.divergence(&context, &mut self.queries)? {
            return diverges(kernel, &divergence).map(Some);
        }
        if let Some(divergence) = reading.divided_exchange(&context, &mut self.queries)? {
            return diverges(kernel, &divergence).map(Some);
        }
        if let Some(found) = reading.absent_source(&mut self.queries)? {
            return Ok(Some(found));
        }
        if let Some(wrong) = atoms::wrong_atom(&reading)? {
            return Ok(Some(wrong));
        }
        let in_inames = Reading::new(program, kernel, &self.targets, around, &context, Terms::Instances)?;
        let mut coverage = Coverage::new(&in_inames, &context);
        let misfit = coverage.check(&mut self.seen)?;
        self.queries += coverage.queries;
        if let Some(misfit) = misfit {
            return Ok(Some(misfits(program, &kernel.name, &misfit)?));
        }
        if let Some(part) = given::not_begun(program, kernel) {
            let message = format!("the accumulator of {part} has no first value in `{}`", kernel.name);
            return Ok(Some(Finding::Refuted(Box::new(Diagnostic::new("no-value", message)))));
        }
        match self.values.as_mut().map(|values| values.check(kernel, &in_inames)) {
            Some(Err(WrongValue::Wrong(found))) => return Ok(Some(Finding::Refuted(found))),
            Some(Err(WrongValue::NotFollowed(found))) => return Ok(Some(Finding::Unknown(found))),
            Some(Ok(())) | None => {}
        }
        self.sequence.launch(&in_inames)?;
        let mut order = Order::new(&reading, &context, self.vouched);
        let meeting = order.check()?;
        self.queries += order.queries;
        if let Some(meeting) = meeting {
            return describe(&reading, &meeting).map(Some);
        }
        if let Some(name) = order.not_exchanged()? {
            let message = format!(
                "threads of `{}` pass values to each other through `{name}`, which is not said to be \
                 exchanged",
                kernel.name
            );
            let found = Diagnostic::new("invalid-program", message);
            return Ok(Some(Finding::Unknown(Box::new(found))));
        }
        if let Some(found) = flights::check(&reading, &context, &mut self.queries)? {
            return Ok(Some(found));
        }
        let wrong = bounds::wrong_access(&reading, &mut self.queries)?;
        Ok(wrong.map(|wrong| Finding::Refuted(Box::new(wrong))))
    }

    /// The first part that has instances, and no statement in any kernel for one of its values.
    fn forgotten(&self) -> Result<Option<Finding>> {
        let (program, seen) = (self.program, &self.seen);
        let context = context(program)?;
        let first = instances::first_of_part(program);
        for (k, leaf) in program.leaves.iter().enumerate() {
            let Some(instances) = &leaf.instances else { continue };
            // The leaves of a part say the same.
            if first[k] != LeafId(k)
                || instances.values.iter().all(|value| seen.contains(&(LeafId(k), *value)))
            {
                continue;
            }
            let case = System::new(&Coverage::instances(instances, &context, None)?)?;
            if !case.is_empty()? {
                let misfit = Misfit { flaw: Flaw::Lost(LeafId(k)), case, exact: true };
                return Ok(Some(misfits(program, &program.name, &misfit)?));
            }
        }
        Ok(None)
    }
}

/// The finding for a divergence: of two threads, one comes to a barrier and the other does not.
fn diverges(kernel: &DeviceKernel, divergence: &Divergence) -> Result<Finding> {
    let barrier = match divergence.barrier.as_str() {
        "" => format!("a {}", divergence.what),
        note => format!("the {} of `{note}`", divergence.what),
    };
    let (code, who) = match (divergence.what, divergence.among) {
        (_, SyncScope::Block) => ("divergent-barrier", "threads of a block"),
        ("barrier", SyncScope::Warp) => ("divergent-barrier", "lanes of a warp"),
        (_, SyncScope::Warp) => ("divergent-shuffle", "lanes of a warp"),
    };
    let found = Diagnostic::new(code, format!("not all {who} of `{}` reach {barrier}", kernel.name));
    let case = divergence.case.as_ref().map(|c| c.sample(&BTreeMap::new())).transpose()?.flatten();
    Ok(match case {
        Some(point) => {
            let (one, other) = (thread(&point, "", "thread"), thread(&point, "'", "thread"));
            let rest = rest(&point, true);
            Finding::Refuted(Box::new(
                found.witness(format!(
                    "thread {one} does and thread {other} does not, or not as often; {rest}"
                )),
            ))
        }
        None => {
            Finding::Unknown(Box::new(found.help("it depends on values that may differ between threads")))
        }
    })
}

/// What a misfit says: the instance that is lost or extra, where it runs or should.
fn misfits(program: &Program, kernel: &Name, misfit: &Misfit) -> Result<Finding> {
    let part = |leaf: LeafId| program.leaves.get(leaf.0).map_or_else(String::new, |l| l.part.to_string());
    let (found, what) = match &misfit.flaw {
        Flaw::Lost(leaf) => {
            let message = format!("`{kernel}` may not run all instances of {}", part(*leaf));
            (Diagnostic::new("lost-instance", message), format!("{} does not run", part(*leaf)))
        }
        Flaw::Extra(leaf) => {
            let message = format!("`{kernel}` may run {} for more than its instances", part(*leaf));
            (Diagnostic::new("extra-instance", message), format!("{} runs", part(*leaf)))
        }
        Flaw::Again(leaf) => {
            let message = format!("{} may run more than once for one of its instances", part(*leaf));
            let help = format!("a loop of `{kernel}` around it counts nothing of the kernel");
            (Diagnostic::new("repeated-instance", message).help(help), String::new())
        }
        Flaw::Index(name) => {
            let message = format!("`{name}` in `{kernel}` may not have the value that it stands for");
            (Diagnostic::new("wrong-index", message), format!("`{name}` is wrong"))
        }
    };
    // Facts and the kernel's scalars may rule out what a point has for an element.
    let by_data = misfit.case.names().iter().any(|name| name.contains('['));
    let mut typed = Vec::new();
    for scalar in program.scalars().filter(|s| s.dtype.is_integer()) {
        let (low, high) = integers::limits(scalar.dtype);
        let (low, high) = (low.max(-integers::FAR), high.min(integers::FAR));
        typed.push(Constraint::le(&Aff::constant(low), &Aff::var(&scalar.name))?);
        typed.push(Constraint::le(&Aff::var(&scalar.name), &Aff::constant(high))?);
    }
    let point = match misfit.exact && !by_data {
        true => misfit.case.with(&typed)?.sample(&BTreeMap::new())?,
        false => None,
    };
    let Some(point) = point else { return Ok(Finding::Unknown(Box::new(found))) };
    let values: Vec<String> =
        point.iter().filter(|(n, _)| !is_coordinate(n)).map(|(n, v)| format!("{n}={v}")).collect();
    let at = if values.is_empty() { String::new() } else { format!(", where {}", values.join(", ")) };
    let witness = format!(
        "{what} in thread {} of block {}{at}",
        thread(&point, "", "thread"),
        thread(&point, "", "block")
    );
    Ok(Finding::Refuted(Box::new(found.witness(witness))))
}

/// What holds for the parameters: assumptions, and that no array has a negative length.
fn context(program: &Program) -> Result<Vec<Constraint>> {
    let mut context = program.assumptions.clone();
    for length in program.globals.iter().flat_map(|g| &g.shape) {
        if let Some(aff) = parameters(length)?
            && aff.as_constant().is_none()
        {
            let c = Constraint::nonneg(aff);
            if !context.contains(&c) {
                context.push(c);
            }
        }
    }
    Ok(context)
}

/// The value as a function of parameters.
pub fn parameters(value: &Value) -> Result<Option<loopwright_kernel_ir::Aff>> {
    use crate::{BinOp, ValueKind};
    use loopwright_kernel_ir::Aff;
    Ok(match &value.kind {
        ValueKind::Int(v) => Some(Aff::constant(*v)),
        ValueKind::Param(name) => Some(Aff::var(name)),
        ValueKind::Cast(a) if a.dtype.is_integer() && value.dtype.is_integer() => parameters(a)?,
        ValueKind::Binary(op, a, b) => match (op, parameters(a)?, parameters(b)?) {
            (BinOp::Add, Some(a), Some(b)) => Some(a.add(&b)?),
            (BinOp::Sub, Some(a), Some(b)) => Some(a.sub(&b)?),
            (BinOp::Mul, Some(a), Some(b)) => match (a.as_constant(), b.as_constant()) {
                (Some(k), _) => Some(b.scale(k)?),
                (_, Some(k)) => Some(a.scale(k)?),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    })
}

/// `(1, 0, 0)` of `thread` or `block` at a point.
fn thread(point: &BTreeMap<Name, i64>, prime: &str, what: &str) -> String {
    let of = |axis: &str| point.get(&Name::new(format!("{what}.{axis}{prime}"))).copied().unwrap_or(0);
    format!("({}, {}, {})", of("x"), of("y"), of("z"))
}

/// The block, if it is one, and the parameters of a point.
fn rest(point: &BTreeMap<Name, i64>, one_block: bool) -> String {
    let mut parts = Vec::new();
    if one_block {
        parts.push(format!("block {}", thread(point, "", "block")));
    }
    let is_scalar = |n: &Name| !is_coordinate(n.trim_end_matches('\'')) && !n.contains(['#', '[', ' ', '\'']);
    parts.extend(point.iter().filter(|(n, _)| is_scalar(n)).map(|(n, v)| format!("{n}={v}")));
    parts.join(", ")
}

fn describe(reading: &Reading<'_>, meeting: &Meeting) -> Result<Finding> {
    let (first, second) = (&reading.touches[meeting.first], &reading.touches[meeting.second]);
    let array = reading.array_name(first.memory);
    let part = |id: TouchId| match reading.touches[id].leaf {
        Some(leaf) => reading.program.leaves.get(leaf.0).map_or_else(String::new, |l| l.part.to_string()),
        None => "a statement of its own".to_string(),
    };
    let (who, between) = match meeting.who {
        Who::Threads => ("threads of one block", "no barrier"),
        Who::Blocks => ("blocks", "no kernel boundary"),
    };
    let verb = |write: bool| if write { "writes" } else { "reads" };
    let message = format!(
        "different {who} may touch one element of `{array}` in `{}`: {} {} it, {} {} it, and \
         {between} is between them",
        reading.kernel.name,
        part(meeting.first),
        verb(first.write),
        part(meeting.second),
        verb(second.write)
    );
    let found = Diagnostic::new("unordered", message);
    let point = match meeting.exact {
        true => meeting.case.sample(&BTreeMap::new())?,
        false => None,
    };
    let Some(point) = point else { return Ok(Finding::Unknown(Box::new(found))) };
    let own = |n: &Name| point.get(n).copied().or(Some(0));
    let cell: Vec<String> = first
        .cell
        .iter()
        .map(|s| s.as_ref().and_then(|s| s.eval(&own)).map_or("?".into(), |v| v.to_string()))
        .collect();
    let execution = |id: TouchId, prime: &str| {
        let touch = &reading.touches[id];
        let mut text = match meeting.who {
            Who::Threads => format!("thread {}", thread(&point, prime, "thread")),
            Who::Blocks => {
                format!(
                    "thread {} of block {}",
                    thread(&point, prime, "thread"),
                    thread(&point, prime, "block")
                )
            }
        };
        text.push_str(&format!(" in {}", part(id)));
        let loops: Vec<String> = reading
            .scope(touch.scope)
            .loops
            .iter()
            .filter_map(|l| {
                let name = &reading.loops[*l].name;
                // Where both are in one iteration, the name stands once.
                let value = point.get(&Name::new(format!("{name}{prime}"))).or_else(|| point.get(name))?;
                Some(format!("{}={value}", name.split('#').next().unwrap_or_default()))
            })
            .collect();
        if !loops.is_empty() {
            text.push_str(&format!(" at {}", loops.join(", ")));
        }
        text
    };
    let witness = format!(
        "{} {} {array}[{}], {} {} it; {}",
        execution(meeting.first, ""),
        verb(first.write),
        cell.join(", "),
        execution(meeting.second, "'"),
        verb(second.write),
        rest(&point, meeting.who == Who::Threads)
    );
    Ok(Finding::Refuted(Box::new(found.witness(witness))))
}
