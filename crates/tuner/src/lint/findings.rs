//! The kinds of findings: when they are reported, and the number that measures their severity.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_emulator::CountedAccess;
use loopwright_kernel_ir::{Name, Role};
use loopwright_runtime::Arch;

use super::LintPlace;
use super::measured::{Guard, Measured};

/// What a finding is about; its number can also be computed for another form of the kernel.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Accesses of this shared array conflict in banks.
    BankConflicts(Name),
    /// Accesses of this global array are not coalesced.
    Uncoalesced(Name),
    IdleLanes,
    BytesInFlight,
    FewBlocks,
    Guards,
    /// Of an array in shared memory, filled with elements of another.
    NoReuse(Name, Name),
    TooSmall,
    Spilled,
    FewResident,
    Instructions,
}

/// A finding before repairs are tried.
pub(super) struct Finding {
    pub kind: Kind,
    pub message: String,
    pub place: LintPlace,
    pub number: f64,
    pub unit: &'static str,
}

/// Conflicts per request from which they are reported: a second pass for every other request.
const CONFLICTS: f64 = 0.5;
/// Sectors over the minimum from which an access counts as uncoalesced. Misaligned rows need a
/// quarter more.
const SCATTERED: f64 = 1.5;
/// The fraction of all sectors below which an access does not matter.
const PART: f64 = 0.02;
/// The fraction of the lanes that may idle.
const IDLE: f64 = 0.125;

impl Kind {
    pub fn lint_code(&self) -> &'static str {
        match self {
            Kind::BankConflicts(_) => "bank-conflicts",
            Kind::Uncoalesced(_) => "uncoalesced-access",
            Kind::IdleLanes => "idle-lanes",
            Kind::BytesInFlight => "low-bytes-in-flight",
            Kind::FewBlocks => "few-blocks",
            Kind::Guards => "guard-not-needed",
            Kind::NoReuse(..) => "copy-without-reuse",
            Kind::TooSmall => "sizes-too-small",
            Kind::Spilled => "spilled-registers",
            Kind::FewResident => "few-resident-threads",
            Kind::Instructions => "instruction-limit",
        }
    }

    /// What a number is of, where it is that of blocks or of loads.
    pub fn unit(&self) -> &'static str {
        match self {
            Kind::IdleLanes => "% idle lanes",
            Kind::BytesInFlight => "KiB missing",
            _ => "multiprocessors without a block",
        }
    }

    /// Whether a number depends on what the compiler reports.
    pub fn is_of_registers(&self) -> bool {
        matches!(self, Kind::Spilled | Kind::FewResident | Kind::BytesInFlight | Kind::Instructions)
    }

    /// Whichever of the findings about the sizes of blocks, other than this one, is made worse by
    /// another form, with its number in both: a block that is larger leaves fewer of them. Threads
    /// with fewer registers must not have too few loads in flight.
    pub fn worsened(&self, before: &Measured, after: &Measured) -> Option<(Kind, f64, f64)> {
        let waits = matches!(self, Kind::FewResident) && !before.is_computing();
        let others = [(Kind::IdleLanes, 100.0 * IDLE), (Kind::FewBlocks, 0.0)];
        let others = others.into_iter().chain(waits.then_some((Kind::BytesInFlight, 0.0)));
        let others = others.filter(|(kind, _)| kind.lint_code() != self.lint_code());
        let numbers = others.map(|(kind, least)| {
            let (from, to) = (kind.number(before), kind.number(after));
            (to > 1.05 * from.max(least)).then_some((kind, from, to))
        });
        numbers.flatten().next()
    }

    /// Why more blocks are no repair if all of them together have no more threads: those that are
    /// too few for a device do not become more by being divided, and smaller blocks share less.
    pub fn only_divided(&self, before: &Measured, after: &Measured) -> Option<String> {
        if !matches!(self, Kind::FewBlocks) {
            return None;
        }
        let threads = |m| fewest_blocks(m).map_or(0, |(_, _, threads)| threads);
        let (threads, now, most) = (threads(before), threads(after), before.most_threads());
        (threads < most && now <= threads).then(|| {
            format!("the same {threads} threads in more blocks, and {} holds {most}", before.machine.device)
        })
    }

    /// The severity: lower is better, 0 if there is no finding.
    pub fn number(&self, m: &Measured) -> f64 {
        match self {
            Kind::BankConflicts(array) => {
                worst(m.accesses(true).filter(|a| a.array == *array), &conflicts).map_or(0.0, |(_, n)| n)
            }
            Kind::Uncoalesced(array) => {
                worst(m.accesses(false).filter(|a| a.array == *array), &sectors).map_or(0.0, |(_, n)| n)
            }
            Kind::IdleLanes => idle(m).map_or(0.0, |idle| 100.0 * idle.lanes),
            Kind::BytesInFlight => missing_bytes(m).map_or(0.0, |(_, missing, _)| missing / 1024.0),
            Kind::FewBlocks => {
                let fewest = fewest_blocks(m).map_or(0.0, |(_, blocks, _)| blocks as f64);
                (f64::from(m.machine.multiprocessors) - fewest).max(0.0)
            }
            Kind::Guards => m.guards().len() as f64,
            Kind::NoReuse(tile, _) => copied(m, tile).map_or(0.0, |(_, each)| each),
            Kind::TooSmall => missing_elements(m),
            Kind::Spilled => m.spilled().map_or(0.0, |(_, bytes, _)| f64::from(bytes)),
            Kind::FewResident => m.few_resident().map_or(0.0, |(_, threads, quarter, _)| quarter - threads),
            Kind::Instructions => m.instructions().map_or(0.0, |(_, times)| times),
        }
    }
}

fn conflicts(a: &CountedAccess) -> f64 {
    a.traffic.excess as f64 / a.traffic.requests.max(1) as f64
}

fn sectors(a: &CountedAccess) -> f64 {
    a.traffic.passes as f64 / a.traffic.requests.max(1) as f64
}

fn worst<'a>(
    accesses: impl Iterator<Item = &'a CountedAccess>,
    of: &dyn Fn(&CountedAccess) -> f64,
) -> Option<(&'a CountedAccess, f64)> {
    accesses.map(|a| (a, of(a))).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The lanes of a device kernel that have nothing to do.
struct Idle<'m> {
    kernel: &'m Name,
    /// Their fraction, which includes those of warps that do nothing at all.
    lanes: f64,
    /// The fraction of such warps.
    warps: f64,
}

/// The device kernel with the most idle lanes.
fn idle(m: &Measured) -> Option<Idle<'_>> {
    let parts = m.report.kernels.iter().zip(&m.program.kernels).map(|((kernel, c), device)| {
        let lanes = (c.active_lanes + c.idle_lanes).max(1);
        // A kernel with little work does not matter.
        let all = (m.report.total.active_lanes + m.report.total.idle_lanes).max(1);
        if (lanes as f64) < PART * all as f64 {
            return Idle { kernel, lanes: 0.0, warps: 0.0 };
        }
        let warps = c.blocks * u64::from(device.threads().div_ceil(m.program.target.warp_size));
        let warps = c.idle_warps as f64 / warps.max(1) as f64;
        // What a warp does not do is counted of no warp: it takes its place all the same.
        let active = (1.0 - warps) * c.active_lanes as f64 / lanes as f64;
        Idle { kernel, lanes: 1.0 - active, warps }
    });
    parts.max_by(|a, b| a.lanes.total_cmp(&b.lanes))
}

/// The device kernel that lacks the most bytes in flight: its number, the missing bytes, the bytes
/// it has. A kernel with few loads does not count.
fn missing_bytes(m: &Measured) -> Option<(usize, f64, f64)> {
    let needed = needed_bytes(m);
    let all = m.sectors();
    let lacking = m.under_way.iter().enumerate().filter_map(|(k, bytes)| {
        let loads = m.report.kernels.get(k)?.1.global_loads.sectors as f64;
        let bytes = (*bytes)?;
        (loads >= 0.5 * all && bytes < needed).then_some((k, needed - bytes, bytes))
    });
    lacking.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// By Little's law: the bytes that a multiprocessor must have in flight for its share of the
/// memory's bandwidth.
fn needed_bytes(m: &Measured) -> f64 {
    m.machine.bandwidth * m.machine.latency / f64::from(m.machine.multiprocessors.max(1))
}

/// The device kernel with the most sectors, with its blocks in one launch, and the threads of all
/// of them.
fn fewest_blocks(m: &Measured) -> Option<(&Name, u64, u64)> {
    let kernels = m.report.kernels.iter().zip(&m.program.kernels);
    let ((name, counters), device) =
        kernels.max_by_key(|((_, c), _)| c.global_loads.sectors + c.global_stores.sectors)?;
    let blocks = counters.blocks.checked_div(counters.launches)?;
    Some((name, blocks, blocks * u64::from(device.threads())))
}

/// How many elements a copy stores in an array in shared memory for each that is read there, with
/// the copied array; `None` if anything but a copy fills it.
fn copied(m: &Measured, tile: &Name) -> Option<(Name, f64)> {
    let (mut source, mut stored, mut read) = (None, 0, 0);
    for access in m.accesses(true).filter(|a| a.array == *tile) {
        if !access.write {
            read += access.traffic.bytes;
            continue;
        }
        let Role::Copies { source: from } = &m.program.leaves.get(access.leaf?.0)?.role else { return None };
        source = Some(from.clone());
        stored += access.traffic.bytes;
    }
    Some((source?, stored as f64 / (read as f64).max(1.0)))
}

/// How many elements the arguments lack to be more than the threads of one block take at once.
fn missing_elements(m: &Measured) -> f64 {
    let elements: usize = m.known.arrays.values().map(|(_, shape)| shape.iter().product::<usize>()).sum();
    (f64::from(m.program.target.most_threads) - elements as f64).max(0.0)
}

pub(super) fn all(m: &Measured) -> Vec<Finding> {
    let mut found = Vec::new();
    spilled(m, &mut found);
    few_resident(m, &mut found);
    // How such sizes use a device says nothing about others.
    let missing = missing_elements(m);
    if missing > 0.0 {
        let most = f64::from(m.program.target.most_threads);
        found.push(Finding {
            kind: Kind::TooSmall,
            message: format!(
                "these sizes have {}, fewer than one block has threads: give those that matter to learn how \
                 a kernel uses a device",
                counted((most - missing) as u64, "element")
            ),
            place: LintPlace { kernel: m.program.name.to_string(), array: None, instruction: None },
            number: missing,
            unit: "elements missing",
        });
        return found;
    }
    accesses(m, true, &mut found);
    accesses(m, false, &mut found);
    let tiles: BTreeSet<&Name> = m.accesses(true).map(|a| &a.array).collect();
    for tile in tiles {
        let Some((source, each)) = copied(m, tile).filter(|(_, each)| *each >= 1.0) else { continue };
        found.push(Finding {
            message: format!(
                "each element of `{source}` that is copied to `{tile}` is read there once at most"
            ),
            kind: Kind::NoReuse(tile.clone(), source),
            place: LintPlace {
                kernel: m.program.name.to_string(),
                array: Some(tile.to_string()),
                instruction: None,
            },
            number: each,
            unit: "elements copied for each that is read",
        });
    }
    let of_kernel = |name: &Name| LintPlace { kernel: name.to_string(), array: None, instruction: None };
    if let Some(idle) = idle(m).filter(|idle| idle.lanes > IDLE) {
        let wholly = match 100.0 * idle.warps {
            warps if warps < 1.0 => String::new(),
            warps => format!(": {warps:.0} % of them do nothing at all"),
        };
        found.push(Finding {
            number: 100.0 * idle.lanes,
            kind: Kind::IdleLanes,
            message: format!("{:.0} % of the lanes of its warps are idle{wholly}", 100.0 * idle.lanes),
            place: of_kernel(idle.kernel),
            unit: Kind::IdleLanes.unit(),
        });
    }
    if let Some((k, missing, has)) = missing_bytes(m).filter(|_| !m.is_computing()) {
        let kib = |bytes: f64| bytes / 1024.0;
        found.push(Finding {
            number: kib(missing),
            kind: Kind::BytesInFlight,
            message: format!(
                "resident threads have {:.1} KiB of loads in flight on a multiprocessor, and \
                 {:.1} KiB keep the memory of {} busy",
                kib(has),
                kib(needed_bytes(m)),
                m.machine.device
            ),
            place: of_kernel(&m.program.kernels[k].name),
            unit: "KiB missing",
        });
    }
    let multiprocessors = u64::from(m.machine.multiprocessors);
    if let Some((name, blocks, _)) = fewest_blocks(m).filter(|(_, blocks, _)| *blocks < multiprocessors) {
        found.push(Finding {
            number: (multiprocessors - blocks) as f64,
            kind: Kind::FewBlocks,
            message: format!(
                "{} for the {multiprocessors} multiprocessors of {}",
                counted(blocks, "block"),
                m.machine.device
            ),
            place: of_kernel(name),
            unit: Kind::FewBlocks.unit(),
        });
    }
    if let Some((unit, times)) = m.instructions() {
        found.push(Finding {
            number: times,
            kind: Kind::Instructions,
            message: format!(
                "{} take {times:.1} times as long as the memory of {}, {}",
                unit.name(),
                m.machine.device,
                m.known_by(unit)
            ),
            place: LintPlace { kernel: m.program.name.to_string(), array: None, instruction: None },
            unit: "times the memory's time",
        });
    }
    guards(m, &mut found);
    found
}

/// `1 block`, `2 blocks`.
fn counted(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Registers that the compiler could not keep.
fn spilled(m: &Measured, found: &mut Vec<Finding>) {
    let Some((kernel, bytes, registers)) = m.spilled() else { return };
    found.push(Finding {
        number: f64::from(bytes),
        kind: Kind::Spilled,
        message: format!(
            "{bytes} bytes a thread are spilled to memory and read back: the compiler gives it {registers} \
             registers for {}",
            Arch::SM_90A
        ),
        place: LintPlace { kernel: kernel.to_owned(), array: None, instruction: None },
        unit: "bytes spilled a thread",
    });
}

/// Registers of which a thread has so many that few threads are resident.
fn few_resident(m: &Measured, found: &mut Vec<Finding>) {
    let Some((kernel, threads, quarter, registers)) = m.few_resident() else { return };
    found.push(Finding {
        number: quarter - threads,
        kind: Kind::FewResident,
        message: format!(
            "a multiprocessor holds {threads} threads of the {} that it could: the compiler gives each \
             {registers} registers for {}",
            4.0 * quarter,
            Arch::SM_90A
        ),
        place: LintPlace {
            kernel: m.program.kernels[kernel].name.to_string(),
            array: None,
            instruction: None,
        },
        unit: "threads missing to a quarter",
    });
}

/// The worst access of each array.
fn accesses(m: &Measured, shared: bool, found: &mut Vec<Finding>) {
    let mut arrays: BTreeMap<&Name, &CountedAccess> = BTreeMap::new();
    let bad = |a: &CountedAccess| if shared { conflicts(a) } else { sectors(a) };
    for access in m.accesses(shared) {
        let traffic = &access.traffic;
        let speaks = if shared {
            conflicts(access) >= CONFLICTS
        } else {
            let least = traffic.passes.saturating_sub(traffic.excess).max(1);
            traffic.passes as f64 > SCATTERED * least as f64 && traffic.passes as f64 >= PART * m.sectors()
        };
        if speaks {
            let worst = arrays.entry(&access.array).or_insert(access);
            if bad(access) > bad(worst) {
                *worst = access;
            }
        }
    }
    for (array, access) in arrays {
        let does = if access.write { "a write" } else { "a read" };
        let t = &access.traffic;
        let requests = t.requests.max(1) as f64;
        let (message, unit) = if shared {
            let passes = t.passes as f64 / requests;
            (
                format!("{does} of `{array}` in shared memory takes {passes:.1} passes over the banks"),
                "conflicts per request",
            )
        } else {
            let least = t.passes.saturating_sub(t.excess) as f64 / requests;
            let sectors = sectors(access);
            (
                format!(
                    "{does} of `{array}` touches {sectors:.1} sectors where {least:.1} hold \
                    its bytes"
                ),
                "sectors per request",
            )
        };
        let leaf = access.leaf.and_then(|l| m.program.leaves.get(l.0));
        found.push(Finding {
            number: bad(access),
            kind: if shared { Kind::BankConflicts(array.clone()) } else { Kind::Uncoalesced(array.clone()) },
            message,
            place: LintPlace {
                kernel: m.program.kernels.get(access.kernel).map_or_else(String::new, |k| k.name.to_string()),
                array: Some(array.to_string()),
                instruction: leaf.map(|l| l.text.clone()),
            },
            unit,
        });
    }
}

/// Guards; which of them these sizes do not need is only known after trying a repair: until then
/// the finding is about the first.
fn guards(m: &Measured, found: &mut Vec<Finding>) {
    let guards = m.guards();
    let Some(first) = guards.first() else { return };
    let (message, place) = of_guard(first);
    found.push(Finding { number: guards.len() as f64, kind: Kind::Guards, message, place, unit: "guards" });
}

/// What is said of a guard that is not needed, and its place.
pub(super) fn of_guard(guard: &Guard) -> (String, LintPlace) {
    let message = format!("its text tests for partial tiles that these sizes do not have: {}", guard.reason);
    let kernel = guard.kernel.clone().unwrap_or_default();
    (message, LintPlace { kernel, array: None, instruction: None })
}
