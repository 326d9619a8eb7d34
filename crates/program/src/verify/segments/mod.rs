//! Flattened nests over segments: whether they write what the kernel says, on data that are chosen
//! to take each way through them.
//!
//! In such a nest data decide which thread runs which instance, so that its statements have no
//! instances that could be compared with the kernel's for all sizes. By the theorem of
//! `loopwright_legality::flat` *some* distribution of the points exists. Whether the text is one is
//! found out by running it:
//!
//! 1. `lengths` chooses lengths of segments, and from these follow offsets and parameters (a point
//!    of the assumptions, the domain of the segments and the declared ranges). Lengths that the
//!    kernel cannot have are made to fit (`sizes`); one of them has to have a point, if the
//!    kernel's can.
//! 2. `block` executes the launches of the nest on numbers, a block at a time, its threads in step;
//!    elements of arrays are what `data` says: numbers for which what the kernel declares holds.
//! 3. `wanted` interprets the kernel's tree on the same numbers: the loads of a segment, the
//!    neutral value, the points in their order, the results.
//! 4. Each element of a target that the kernel writes has to be written, once, with the same number
//!    (of floating-point numbers, up to rounding); no other element may be. No thread may access
//!    what is outside of an array, decide by what nothing has written, or give a variable a value
//!    outside of its stated bounds ([`crate::Var::within`]).
//!
//! The runs do not depend on each other, and go on side by side.
//!
//! This refutes and does not prove: it stands for the data that it has been run on. It owes
//! lowering nothing, and legality no more than what the kernel's nest is called; both sides have
//! code of their own. What it does not reach is listed at the head of [`super`].

mod block;
mod data;
mod lengths;
mod nest;
mod number;
mod sizes;
mod wanted;

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
};

use loopwright_kernel_ir::{Aff, Constraint, DType, Diagnostic, Expr, Fact, LoopKernel, Name};
use loopwright_poly::{System, Table, remembering};

use super::{side_by_side, values::Spec};
use crate::{Owner, Program, eval_host};
use block::{Machine, Stop};
use data::{Data, room};
use lengths::{Lengths, cases};
use nest::Nest;
use number::{Num, Written};
pub(super) use number::{hash, hash_of_name};
use sizes::{Sizes, with_other_segments};
use wanted::Interpreter;

/// What is wrong with a nest.
pub(super) enum WrongNest {
    /// It writes something else than the kernel.
    Wrong(Box<Diagnostic>),
    /// The check does not know what it does, so that nothing is shown.
    NotFollowed(Box<Diagnostic>),
}

/// How many statements a run may execute, those of each thread counted.
const MOST_STATEMENTS: u64 = 400_000_000;

/// Why a nest is not followed of which [`Nest::of`] makes nothing.
const FORM: &str = "it is of another form";

/// The first flattened nest that does not do what the kernel says.
pub(super) fn wrong_nest<'k>(kernel: &'k LoopKernel, program: &'k Program) -> Option<WrongNest> {
    kernel.flat.keys().find_map(|segment| {
        let message = format!("the flattened nest over `{segment}` may not compute what the kernel says");
        let found = Diagnostic::new("wrong-value", message);
        let unknown = |why: &str| {
            WrongNest::NotFollowed(Box::new(found.clone().help(format!("{why}; it is not followed"))))
        };
        let Some(nest) = Nest::of(kernel, segment) else { return Some(unknown(FORM)) };
        let Some(launches) = nest.launches(program) else {
            return Some(unknown("no launches of it are found"));
        };
        let sizes = Sizes::of(&nest, program);
        // If there can be points, some have to be run.
        let mut is_run = sizes.as_ref().is_some_and(|sizes| !sizes.have_points());
        // What is chosen for any kernel may be of no size that this one has.
        // A nest keeps what it has looked up, so that each run has one of its own.
        let run = |lengths: &Lengths| {
            let nest = Nest::of(kernel, segment).ok_or((Stop::NotFollowed(FORM), String::new()))?;
            remembering(|| run(&nest, program, &launches, lengths, sizes.as_ref()))
        };
        let cases = cases(nest.flat, program.target.warp_size.into());
        for outcome in side_by_side::until(&cases, run, Result::is_err) {
            match outcome {
                Ok(has_points) => is_run |= has_points,
                Err((Stop::Wrong(what), lengths)) => {
                    return Some(WrongNest::Wrong(Box::new(found.witness(format!("{what}; {lengths}")))));
                }
                Err((Stop::NotFollowed(why), _)) => return Some(unknown(why)),
            }
        }
        (!is_run).then(|| unknown("no sizes are found for which a segment has a point"))
    })
}

/// Runs a nest on segments of these lengths, or else of others in their place that it can have, and
/// says whether points were run; how it stops, with the lengths.
fn run<'k>(
    nest: &Nest<'k>,
    program: &'k Program,
    launches: &[usize],
    lengths: &Lengths,
    sizes: Option<&Sizes>,
) -> std::result::Result<bool, (Stop, String)> {
    let mut is_run = false;
    let fitted = sizes.and_then(|sizes| sizes.fit(lengths));
    let other = LazyCell::new(|| with_other_segments(nest, program, fitted.as_ref().unwrap_or(lengths)));
    let tried = [Some(lengths), fitted.as_ref()].into_iter();
    for lengths in tried.chain(std::iter::once_with(|| other.as_ref())).flatten() {
        match check(nest, program, launches, lengths) {
            Ok(Ran::Yes) => return Ok(is_run | lengths.lengths.iter().any(|length| *length > 0)),
            Ok(Ran::No) => {}
            Ok(Ran::Wider) => is_run = true,
            Err(stop) => return Err((stop, lengths.to_string())),
        }
    }
    Ok(is_run)
}

/// What holds of scalars for which there are this many segments, whose points begin after `before`
/// others and end with those before `last`; and what holds besides if the declared range of the
/// offsets ends there. `None` where the segments have no single end.
fn premises(
    nest: &Nest<'_>,
    program: &Program,
    count: &Aff,
    [before, last]: [&Aff; 2],
) -> Option<(Vec<Constraint>, Vec<Constraint>)> {
    let mut known = super::context(program).ok()?;
    let mut ends = Vec::new();
    for c in &nest.of_segments {
        let at = |segment: &Aff| -> Option<Constraint> {
            Some(Constraint { kind: c.kind, aff: c.aff.substitute_one(&nest.segment, segment).ok()? })
        };
        if !c.aff.mentions(&nest.segment) {
            known.push(c.clone());
        } else if c.aff.coefficient(&nest.segment) < 0 {
            ends.push(Constraint::zero(at(&count.add_constant(-1).ok()?)?.aff));
        } else if count.as_constant() != Some(0) {
            known.push(at(&Aff::constant(0))?);
        }
    }
    let [end] = ends.as_slice() else { return None };
    known.push(end.clone());
    let mut exact = Vec::new();
    for fact in &nest.kernel.facts {
        let Fact::Range { array, lower, upper } = fact else { continue };
        if *array != nest.bounds[0].array {
            continue;
        }
        let of = |e: &Option<Expr>| e.as_ref().and_then(Expr::to_aff);
        if let Some(lower) = of(lower) {
            known.push(Constraint::le(&lower, before).ok()?);
        }
        if let Some(upper) = of(upper) {
            let least = last.add_constant(1).ok()?;
            known.push(Constraint::le(&least, &upper).ok()?);
            exact.push(Constraint::zero(upper.sub(&least).ok()?));
        }
    }
    Some((known, exact))
}

/// Scalars for which there are these segments; `None` where the kernel has none such.
fn scalars(nest: &Nest<'_>, program: &Program, lengths: &Lengths) -> Option<BTreeMap<Name, i64>> {
    let count = i64::try_from(lengths.lengths.len()).ok()?;
    let last = lengths.before + lengths.lengths.iter().sum::<i64>();
    let places = [&Aff::constant(lengths.before), &Aff::constant(last)];
    let (known, mut exact) = premises(nest, program, &Aff::constant(count), places)?;
    // As few blocks as there can be, if the range may end with the last point.
    exact.extend(known.iter().cloned());
    let sample = |constraints: &[Constraint]| System::new(constraints).ok()?.sample(&BTreeMap::new()).ok()?;
    // Ranges that hold no number do not matter where nothing is read from their arrays.
    let room = room(nest.kernel, &nest.bounds[0].array);
    let and_room = |constraints: &[Constraint]| sample(&[constraints, &room].concat());
    let mut found = and_room(&exact)
        .or_else(|| and_room(&known))
        .or_else(|| sample(&exact))
        .or_else(|| sample(&known))?;
    // Names that no constraint mentions are not in the system.
    for scalar in program.scalars() {
        found.entry(scalar.name.clone()).or_insert(1);
    }
    for name in &nest.around {
        found.entry(name.clone()).or_insert(0);
    }
    Some(found)
}

/// Whether a nest was run with certain sizes.
enum Ran {
    Yes,
    /// The kernel has no such sizes; others are tried.
    No,
    /// The program with wider indices runs nests of such sizes.
    Wider,
}

/// Runs a nest on segments of these lengths.
fn check<'k>(
    nest: &Nest<'k>,
    program: &'k Program,
    launches: &[usize],
    lengths: &Lengths,
) -> std::result::Result<Ran, Stop> {
    let Some(scalars) = scalars(nest, program, lengths) else { return Ok(Ran::No) };
    let scalar = |name: &Name| scalars.get(name).copied();
    let floats: BTreeSet<&Name> = program.scalars().filter(|s| s.dtype.is_float()).map(|s| &s.name).collect();
    let of_float = |name: &Name| match floats.contains(name) {
        true => Num::drawn(DType::F64, hash_of_name(name)),
        false => Num::Nothing,
    };
    let mut sizes = Vec::new();
    for global in &program.globals {
        let size = eval_host(&global.size, &scalar);
        sizes.push(size.ok_or(Stop::NotFollowed("the size of an array is no number"))?);
    }
    if program.index == DType::I32 && sizes.iter().any(|size| i32::try_from(*size).is_err()) {
        return Ok(Ran::Wider);
    }
    let mut spec = Spec::new(nest.kernel, program);
    let names: Table<Name, i64> = scalars.iter().map(|(n, v)| (n.clone(), *v)).collect();

    // Where the offsets of the segments lie: the first one by the load of a begin.
    let nothing = |_: usize, _: i64| Num::Nothing;
    let mut reader = Interpreter::new(nest, program, &mut spec, names.clone(), &nothing, &of_float);
    let mut position = |which: usize, segment: i64| {
        reader.names.insert(nest.segment.clone(), segment);
        reader.element_of(&nest.bounds[which])
    };
    let (array, first) = position(0, 0)?;
    if position(1, 0)? != (array, first + 1) || position(0, 1)? != (array, first + 1) {
        return Err(Stop::NotFollowed("a segment does not end where the next one begins"));
    }
    let mut offsets = vec![lengths.before];
    for length in &lengths.lengths {
        offsets.push(offsets[offsets.len() - 1] + length);
    }
    let data = Data::of(nest.kernel, program, &scalar);
    let element = |k: usize, offset: i64| -> Num {
        let global = &program.globals[k];
        if k == array {
            let at = (offset - first).clamp(0, lengths.lengths.len() as i64);
            return Num::Int(offsets[at as usize]);
        }
        if global.owner == Owner::Launch && !nest.is_of_kernel(&global.name) {
            return Num::Nothing;
        }
        data.element(program, k, offset)
    };

    let mut interpreter = Interpreter::new(nest, program, &mut spec, names.clone(), &element, &of_float);
    interpreter.run(lengths.lengths.len() as i64)?;
    let wanted = interpreter.written;

    let mut machine = Machine {
        program,
        scalars: names,
        sizes,
        written: Table::default(),
        is_written: vec![false; program.globals.len()],
        first: &element,
        scalar: &of_float,
        left: MOST_STATEMENTS,
    };
    for launch in launches {
        machine.launch(&program.kernels[*launch])?;
    }
    compare(nest, program, &wanted, &machine.written)?;
    Ok(Ran::Yes)
}

fn compare(
    nest: &Nest<'_>,
    program: &Program,
    wanted: &Written,
    found: &Written,
) -> std::result::Result<(), Stop> {
    let mut elements: Vec<&(usize, i64)> = wanted
        .keys()
        .chain(found.keys().filter(|(k, _)| nest.is_of_kernel(&program.globals[*k].name)))
        .collect();
    elements.sort_unstable();
    elements.dedup();
    for at in elements {
        let name = format!("element {} of `{}`", at.1, program.globals[at.0].name);
        let why = match (wanted.get(at), found.get(at)) {
            (Some(_), None) => format!("{name} is not written"),
            (None, _) => format!("{name} is written"),
            (Some((_, 1)), Some((_, times))) if *times > 1 => format!("{name} is written {times} times"),
            (Some((a, _)), Some((b, _))) if !a.agrees(*b) => match (a, b) {
                (Num::Nothing, _) => return Err(Stop::NotFollowed("the kernel's value is none")),
                (_, Num::Nothing) => format!("{name} is given a value that nothing has written"),
                _ => format!("{name} is {}, not {}", shown(*b), shown(*a)),
            },
            _ => continue,
        };
        return Err(Stop::Wrong(why));
    }
    Ok(())
}

fn shown(number: Num) -> String {
    match number {
        Num::Nothing => "none".into(),
        Num::Int(v) => v.to_string(),
        Num::Float(v) => format!("{v:.6e}"),
    }
}
