//! The evidence that a step is wrong: two instances, the cell that they share, parameter values,
//! both orders, and a repair.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};

use crate::replay::{CellName, Failure, Instance, Parameters, Token};

/// A counterexample whose replay failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Its diagnostic code, which stays the same in later versions.
    pub code: &'static str,
    /// The instances involved, in their declared order.
    pub instances: Vec<Instance>,
    /// The cell involved, if any.
    pub cell: Option<CellName>,
    /// Parameter values, as small as the search could make them.
    pub parameters: Parameters,
    /// What the declared kernel does, as a clause of the message.
    pub declared: String,
    /// What the transformed kernel does instead, as a clause of the message.
    pub transformed: String,
    /// What would repair it, if known.
    pub repair: Option<String>,
    /// What went wrong in the replay.
    pub failure: Failure,
}

fn list<'a>(names: impl IntoIterator<Item = &'a Name>) -> String {
    names.into_iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

fn wrote(token: &Token) -> String {
    match token {
        Token::Unwritten => "nobody wrote".into(),
        Token::Initial(cell) => format!("{cell} held before"),
        Token::Definition(i, _) => format!("{i} wrote"),
        Token::Updated(_, instances) => match instances.as_slice() {
            [i] => format!("{i} updated"),
            [i, ..] => format!("{i} and {} others updated", instances.len() - 1),
            [] => "was updated".into(),
        },
    }
}

/// How the updates of a cell differ in two histories.
enum Differ {
    /// An instance has updated it in the first one, and not (or less often) in the second.
    Missing(Instance),
    /// An instance has updated it in the second one, and not (or less often) in the first.
    Extra(Instance),
    /// The first instance comes before the second one, and in the second history after it.
    Turned(Instance, Instance),
    /// What is updated is another value.
    Base,
}

/// The groups of updates of a cell, each of one kind, in their order.
fn groups(token: &Token) -> Vec<&[Instance]> {
    let mut found = Vec::new();
    let mut token = token;
    while let Token::Updated(base, instances) = token {
        found.push(instances.as_slice());
        token = base;
    }
    found.reverse();
    found
}

/// An instance that occurs more often in one list than in another.
fn more(a: &[Instance], b: &[Instance]) -> Option<Instance> {
    let times = |who: &Instance, list: &[Instance]| list.iter().filter(|i| *i == who).count();
    a.iter().find(|i| times(i, a) > times(i, b)).cloned()
}

/// How the updates of a cell differ in two histories, if it has been updated in one of them.
fn updates(expected: &Token, found: &Token) -> Option<Differ> {
    let (was, is) = (groups(expected), groups(found));
    if was.is_empty() && is.is_empty() {
        return None;
    }
    let (all_was, all_is) = (was.concat(), is.concat());
    if let Some(missing) = more(&all_was, &all_is) {
        return Some(Differ::Missing(missing));
    }
    if let Some(extra) = more(&all_is, &all_was) {
        return Some(Differ::Extra(extra));
    }
    // In the first group that differs, an instance is missing, before which one of the next group
    // runs; or one of a later group is there too early.
    let nothing: &[Instance] = &[];
    let group = |all: &[&[Instance]], k: usize| all.get(k).copied().unwrap_or(nothing).to_vec();
    for k in 0..was.len().max(is.len()) {
        let (here, there) = (group(&was, k), group(&is, k));
        if let (Some(late), Some(early)) = (more(&here, &there), group(&is, k + 1).first()) {
            return Some(Differ::Turned(late, early.clone()));
        }
        if let (Some(early), Some(late)) = (more(&there, &here), group(&was, k + 1).first()) {
            return Some(Differ::Turned(late.clone(), early));
        }
    }
    Some(Differ::Base)
}

impl Witness {
    /// The witness of a failed run of a kernel.
    pub fn new(after: &LoopKernel, failure: Failure, parameters: Parameters) -> Witness {
        let mut witness = Witness {
            code: "",
            instances: Vec::new(),
            cell: None,
            parameters,
            declared: String::new(),
            transformed: String::new(),
            repair: None,
            failure,
        };
        witness.describe(after);
        witness
    }

    fn describe(&mut self, after: &LoopKernel) {
        match self.failure.clone() {
            Failure::Race { instances: [(a, a_writes), (b, b_writes)], cell, differ } => {
                self.code = "race";
                self.declared = match (a_writes, b_writes) {
                    (true, true) if a == b => format!("{a} writes {cell} once"),
                    (true, true) => format!("{a} writes {cell}, {b} writes it after it"),
                    (true, false) => format!("{a} writes {cell}, {b} must read it"),
                    _ => format!("{a} must read {cell} before {b} writes it"),
                };
                let tags: Vec<String> = differ.iter().map(|n| format!("`{n}` on {}", after.tag(n))).collect();
                self.transformed = match tags.is_empty() {
                    true => "nothing orders them, for several threads run it".into(),
                    false => format!("with {} nothing orders them", tags.join(" and ")),
                };
                if !differ.is_empty() {
                    self.repair = Some(format!(
                        "leave {} sequential, write different cells, or skew the loops first so \
                         that these lie at different times",
                        list(&differ)
                    ));
                }
                self.cell = Some(cell);
                self.instances = vec![a, b];
            }
            Failure::Read { reader, cell, expected, found, later } => {
                let updated = updates(&expected, &found);
                if let Some(differ) = updated {
                    self.code = "dependence-violated";
                    self.cell = Some(cell.clone());
                    self.repair = Some("read the array before or after all of its updates".into());
                    (self.declared, self.transformed, self.instances) = match differ {
                        Differ::Missing(who) => (
                            format!("{who} updates {cell}, {reader} must read it afterwards"),
                            format!("{reader} runs first"),
                            vec![who, reader],
                        ),
                        Differ::Extra(who) => (
                            format!("{reader} must read {cell} before {who} updates it"),
                            format!("{who} runs first"),
                            vec![reader, who],
                        ),
                        Differ::Turned(who, other) => (
                            format!("{who} updates {cell} before {other} does"),
                            format!("{other} runs first"),
                            vec![who, other],
                        ),
                        Differ::Base => (
                            format!("{reader} must read {cell}"),
                            format!("it reads what {}", wrote(&found)),
                            vec![reader],
                        ),
                    };
                    return;
                }
                match (&expected, &found) {
                    (Token::Definition(w, _), Token::Unwritten) => {
                        self.code = "unwritten-value";
                        self.declared = format!("{w} writes {cell}, {reader} must read it");
                        self.transformed = match later {
                            true => format!("{reader} runs first and reads what nobody has written"),
                            false => format!("{reader} reads a copy that nobody has written"),
                        };
                        self.repair = Some(
                            "compute or copy the value where its reader runs, or keep it in \
                             memory that both see"
                                .into(),
                        );
                    }
                    (Token::Definition(w, _), found) => {
                        self.code = if later { "dependence-violated" } else { "stale-value" };
                        self.declared = format!("{w} writes {cell}, {reader} must read it");
                        self.transformed = match later {
                            true => format!("{reader} runs first"),
                            false => format!("{reader} reads what {}", wrote(found)),
                        };
                        self.repair = Some(match later {
                            true => "keep the order of the two, or skew the loops first".into(),
                            false => "keep a copy for each value that is still needed, or copy it \
                                      anew after each write"
                                .into(),
                        });
                    }
                    (_, Token::Definition(z, _)) => {
                        self.code = "dependence-violated";
                        self.declared = format!("{reader} must read {cell} before {z} writes it");
                        self.transformed = format!("{z} runs first");
                        self.repair = Some(
                            "keep the order of the two, or read the old values into a copy first \
                             (add_prefetch)"
                                .into(),
                        );
                    }
                    (_, Token::Initial(other)) => {
                        self.code = "wrong-cell";
                        self.declared = format!("{reader} must read {cell}");
                        self.transformed = format!("{reader} reads {other}");
                        self.repair = Some(
                            "keep a copy of each cell until its last read, as in slots of its own".into(),
                        );
                    }
                    (_, Token::Updated(..)) => {}
                    (_, Token::Unwritten) => {
                        self.code = "unwritten-value";
                        self.declared = format!("{reader} must read {cell}");
                        self.transformed = format!("{reader} reads a copy that nobody has written");
                        self.repair = Some("widen the copy so that it covers all reads".into());
                    }
                }
                self.instances.extend([&expected, &found].into_iter().filter_map(|t| match t {
                    Token::Definition(i, _) => Some(i.clone()),
                    _ => None,
                }));
                self.instances.push(reader);
                self.cell = Some(cell);
            }
            Failure::Output { cell, expected, found, ran } => {
                if let Some(differ) = updates(&expected, &found) {
                    let lost = !ran && matches!(differ, Differ::Missing(_));
                    self.code = if lost { "instances-lost" } else { "dependence-violated" };
                    self.cell = Some(cell.clone());
                    (self.declared, self.transformed, self.instances) = match differ {
                        Differ::Missing(who) => (
                            format!("{who} updates {cell}"),
                            match ran {
                                true => "what it holds at the end has lost that".into(),
                                false => format!("{who} does not run"),
                            },
                            vec![who],
                        ),
                        Differ::Extra(who) => (
                            format!("what {cell} holds at the end does not come from {who}"),
                            format!("{who} updates it"),
                            vec![who],
                        ),
                        Differ::Turned(who, other) => {
                            self.repair = Some("keep the order of updates by different operators".into());
                            (
                                format!("{who} updates {cell} before {other} does"),
                                format!("{other} runs first"),
                                vec![who, other],
                            )
                        }
                        Differ::Base => (
                            format!("{cell} is updated from the value that it is declared to have"),
                            format!("it ends with what {}", wrote(&found)),
                            Vec::new(),
                        ),
                    };
                    return;
                }
                self.code = match (&expected, ran) {
                    (Token::Definition(..), false) => "instances-lost",
                    (Token::Definition(..), true) if matches!(found, Token::Definition(..)) => {
                        "dependence-violated"
                    }
                    _ => "stale-value",
                };
                self.declared = match &expected {
                    Token::Definition(i, _) => format!("{i} is the last to write {cell}"),
                    _ => format!("nobody writes {cell}"),
                };
                self.transformed = match (&expected, ran, &found) {
                    (Token::Definition(i, _), false, _) => format!("{i} does not run"),
                    (_, _, Token::Definition(i, _)) => format!("{i} is"),
                    (_, _, other) => format!("it ends with what {}", wrote(other)),
                };
                self.repair = match self.code {
                    "dependence-violated" => Some("keep the order of the two".into()),
                    "stale-value" => Some(
                        "store the value where it is computed, or keep it in memory that all who \
                         store it see"
                            .into(),
                    ),
                    _ => None,
                };
                self.instances = [expected, found]
                    .into_iter()
                    .filter_map(|t| match t {
                        Token::Definition(i, _) => Some(i),
                        _ => None,
                    })
                    .collect();
                self.cell = Some(cell);
            }
            Failure::Points { reader, point, times, expected } => {
                self.code = "reduction-points";
                let point: Vec<String> = point.iter().map(i64::to_string).collect();
                let joins = |who: &str, what: &str, times: usize| match times {
                    0 => format!("{who} does not join {what}"),
                    1 => format!("{who} joins {what} once"),
                    n => format!("{who} joins {what} {n} times"),
                };
                self.declared =
                    joins(&reader.to_string(), &format!("the point ({})", point.join(", ")), expected);
                self.transformed = match times == expected {
                    true => "the points come in another order, and the operator does not commute".into(),
                    false => joins("it", "it", times),
                };
                self.instances = vec![reader];
            }
        }
    }

    /// The diagnostic that refuses the step.
    pub fn diagnostic(&self) -> Diagnostic {
        let message = match self.code {
            "race" => "different threads would touch one cell at the same time, and one of them writes",
            "dependence-violated" => "a dependence would be reversed",
            "stale-value" => "a value would be lost or an old one come back",
            "unwritten-value" => "a value would be read that nobody has written",
            "wrong-cell" => "a read would see another cell",
            "instances-lost" => "an instance would not run",
            _ => "a reduction would join other points",
        };
        let diagnostic = Diagnostic::new(self.code, message).witness(self.to_string());
        match &self.repair {
            Some(repair) => diagnostic.help(repair.clone()),
            None => diagnostic,
        }
    }
}

/// Prints, for example,
/// ``S0[i=3] writes a[3], S0[i=4] must read it; with `i` on thread.x nothing orders them (n=5)``.
impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.declared, self.transformed)?;
        if !self.parameters.is_empty() {
            let values: Vec<String> = self.parameters.iter().map(|(n, v)| format!("{n}={v}")).collect();
            write!(f, " ({})", values.join(", "))?;
        }
        Ok(())
    }
}
