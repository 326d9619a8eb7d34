//! How an access that meets an asynchronous copy is reported.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Diagnostic, Name};
use loopwright_poly::{Result, System};

use super::{Flight, State};
use crate::verify::{
    Finding,
    reading::{Reading, Touch, TouchId},
    rest, thread,
};

/// An access that meets a flight.
pub(super) struct Met {
    pub flight: Flight,
    /// `None` at the end of the kernel.
    pub by: Option<TouchId>,
    pub case: System,
    pub exact: bool,
}

/// What an access that meets a flight says: both executions, if the pair is known to run.
pub(super) fn describe(reading: &Reading<'_>, met: &Met) -> Result<Finding> {
    let first = &reading.touches[met.flight.touch];
    let array = reading.array_name(first.memory);
    let kernel = &reading.kernel.name;
    let part = |id: TouchId| match reading.touches[id].leaf {
        Some(leaf) => reading.program.leaves.get(leaf.0).map_or_else(String::new, |l| l.part.to_string()),
        None => "a statement of its own".to_string(),
    };
    let verb = |touch: &Touch| match (touch.asynchronous, touch.write) {
        (true, true) => "copies to",
        (true, false) => "copies from",
        (false, true) => "writes",
        (false, false) => "reads",
    };
    let one = part(met.flight.touch);
    let message = match met.by {
        None => format!("`{kernel}` may end while {one} is under way: no wait covers its last group"),
        Some(by) => {
            let second = &reading.touches[by];
            let why = match (met.flight.state, first.asynchronous) {
                (State::UnderWay(_), _) => "no wait that covers the copy is between them",
                (State::Done, true) => "no barrier is between them, after the wait for the copy",
                (State::Done, false) => "no barrier is between them",
            };
            format!(
                "an asynchronous copy may meet another access of one element of `{array}` in `{kernel}`: \
                 {one} {} it, {} {} it, and {why}",
                verb(first),
                part(by),
                verb(second)
            )
        }
    };
    let found = Diagnostic::new("under-way", message);
    let point = match met.exact {
        true => met.case.sample(&BTreeMap::new())?,
        false => None,
    };
    let Some(point) = point else { return Ok(Finding::Unknown(Box::new(found))) };
    let execution = |id: TouchId, prime: &str| {
        let mut text = format!("thread {} in {}", thread(&point, prime, "thread"), part(id));
        let loops = reading.scope(reading.touches[id].scope).loops.iter().filter_map(|l| {
            let name = &reading.loops[*l].name;
            let value = point.get(&Name::new(format!("{name}{prime}")))?;
            Some(format!("{}={value}", name.split('#').next().unwrap_or_default()))
        });
        let loops: Vec<String> = loops.collect();
        if !loops.is_empty() {
            text.push_str(&format!(" at {}", loops.join(", ")));
        }
        text
    };
    let own = |n: &Name| point.get(n).copied().or(Some(0));
    let cell = first.cell.iter().map(|s| s.as_ref().and_then(|s| s.eval(&own)));
    let cell: Vec<String> = cell.map(|v| v.map_or("?".into(), |v| v.to_string())).collect();
    let cell = format!("{array}[{}]", cell.join(", "));
    let mut witness = format!("{} {} {cell}", execution(met.flight.touch, ""), verb(first));
    if let Some(by) = met.by {
        witness += &format!(", {} {} it", execution(by, "'"), verb(&reading.touches[by]));
    }
    witness += &format!("; {}", rest(&point, true));
    Ok(Finding::Refuted(Box::new(found.witness(witness))))
}
