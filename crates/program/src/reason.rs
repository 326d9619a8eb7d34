//! Why a barrier, a kernel boundary, a host loop or a guard is there.

use std::{collections::BTreeMap, fmt, sync::Arc};

use loopwright_kernel_ir::{Aff, Constraint, Fact, Name, PartRef};
use loopwright_legality::{Load, contradicted};
use loopwright_poly::System;

/// A one-line comment, possibly empty, and its reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    /// The line; empty if nothing needs saying.
    pub text: String,
    /// The fact that the line states, for tools.
    pub reason: Reason,
}

impl Note {
    /// A predicate needs no comment, since it is part of the kernel's text.
    pub fn predicate() -> Note {
        Note { text: String::new(), reason: Reason::Predicate }
    }

    /// Whether it concerns a predicate.
    pub fn is_predicate(&self) -> bool {
        self.reason == Reason::Predicate
    }

    /// A line that is self-explanatory.
    pub fn new(text: impl Into<String>) -> Note {
        Note { text: text.into(), reason: Reason::Stated }
    }
}

/// The reason behind a [`Note`].
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Reason {
    /// None besides what the line says.
    #[default]
    Stated,
    /// Executions that touch the same cell keep their order. An item and the statements made from
    /// it share the same dependence.
    Dependence(Arc<Dependence>),
    /// Each condition of a guard has its own reason.
    Guard(Vec<Condition>),
    /// The condition is a predicate of the kernel's text: a value, which wraps in its type, whereas
    /// guards are over the integers. Whether its operands cannot wrap is left to the readers.
    Predicate,
}

/// One condition of a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The condition, in the kernel's names.
    pub condition: String,
    /// Why it is tested, and the step that made it necessary.
    pub why: String,
}

/// One of the two sides of a [`Dependence`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The part of the transformed kernel that runs.
    pub part: PartRef,
    /// Whether it writes the cell.
    pub writes: bool,
    /// The name of its executions: the declared instruction, or the copy.
    pub name: String,
    /// The inames that identify an instance of it, with their values over the names of
    /// [`Dependence::pairs`].
    pub instance: Vec<(Name, Aff)>,
    /// The domain of those instances, over the same names, with the ranges of the data in it;
    /// `None` if it depends on data of which nothing is known. A part may run beyond it where that
    /// is harmless.
    pub domain: Option<Vec<Constraint>>,
    /// The time at which the declared kernel runs it, compared lexicographically; `None` for a
    /// copy, which the declared kernel does not contain.
    pub declared_time: Option<Vec<Aff>>,
}

/// Pairs of executions, the first before the second, that touch the same cell, at least one of them
/// writing.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependence {
    /// The array that contains the cell.
    pub array: Name,
    /// The subscripts of the cell; `None` for a subscript that is not quasi-affine.
    pub cell: Vec<Option<Aff>>,
    /// The side that comes first.
    pub first: End,
    /// The side that comes second.
    pub second: End,
    /// The loop that carries the dependence: the second side runs in a later iteration of it.
    /// `None` within one iteration of all common loops.
    pub carried_by: Option<Name>,
    /// Which names of the pairs are parameters.
    pub parameters: Vec<Name>,
    /// The values that both sides read from data, those of the second side primed.
    pub loads: Vec<Load>,
    /// What is declared of that data.
    pub facts: Vec<Fact>,
    /// All pairs, over the parameters and the names that identify executions; those of the second
    /// side are primed.
    pub pairs: System,
}

/// Two executions that exhibit a [`Dependence`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Both instances with their iname values, such as `update[i=1, j=0]`.
    pub instances: [String; 2],
    /// The cell, such as `A[1, 0]`.
    pub cell: String,
    /// Values of the parameters, by name.
    pub parameters: BTreeMap<Name, i64>,
    /// Whether the declared kernel runs them in the same order; `None` if it does not contain one
    /// of them.
    pub declared_order: Option<bool>,
}

/// How often an example may contradict the facts about data before none is given.
const MOST_CONTRADICTIONS: usize = 16;

impl Dependence {
    /// Values of all names for which both instances are in their domains, and the data as declared.
    fn point(&self) -> Option<BTreeMap<Name, i64>> {
        let domain = [self.first.domain.as_deref()?, self.second.domain.as_deref()?].concat();
        let mut pairs = self.pairs.with(&domain).ok()?;
        for _ in 0..MOST_CONTRADICTIONS {
            let point = pairs.sample_in_order(&BTreeMap::new(), &self.parameters).ok()??;
            match contradicted(&point, &self.loads, &self.facts).ok()? {
                None => return Some(point),
                Some(rows) => pairs = pairs.with(&rows).ok()?,
            }
        }
        None
    }

    /// Two executions with small numbers; `None` if the cell depends on data, or if no declared
    /// instances are known to be an example.
    pub fn example(&self) -> Option<Example> {
        let point = self.point()?;
        let value = |aff: &Aff| aff.eval(&|n| point.get(n).copied().or(Some(0)));
        let instance = |end: &End| -> Option<String> {
            let mut values = Vec::new();
            for (name, aff) in &end.instance {
                values.push(format!("{name}={}", value(aff)?));
            }
            let values = values.join(", ");
            Some(if values.is_empty() { end.name.clone() } else { format!("{}[{values}]", end.name) })
        };
        let mut cell = Vec::new();
        for subscript in &self.cell {
            cell.push(value(subscript.as_ref()?)?.to_string());
        }
        let time = |end: &End| {
            let time = end.declared_time.as_ref()?;
            time.iter().map(value).collect::<Option<Vec<i64>>>()
        };
        let declared_order =
            time(&self.first).zip(time(&self.second)).filter(|(a, b)| a != b).map(|(a, b)| a < b);
        let parameters = self.parameters.iter().filter_map(|n| Some((n.clone(), *point.get(n)?))).collect();
        Some(Example {
            instances: [instance(&self.first)?, instance(&self.second)?],
            cell: if cell.is_empty() {
                self.array.to_string()
            } else {
                format!("{}[{}]", self.array, cell.join(", "))
            },
            parameters,
            declared_order,
        })
    }
}

fn verb(writes: bool) -> &'static str {
    if writes { "writes" } else { "reads" }
}

/// Prints, for example, `divide writes A, update reads it`.
impl fmt::Display for Dependence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = (&self.first, &self.second);
        write!(
            f,
            "{} {} {}, {} {} it",
            first.part,
            verb(first.writes),
            self.array,
            second.part,
            verb(second.writes)
        )
    }
}

impl Dependence {
    /// The example in words:
    /// `divide[i=1, j=0] writes A[1, 0] before update[i=2, j=1, k=0] reads it`.
    pub fn shown(&self, example: &Example) -> String {
        let [a, b] = &example.instances;
        let (first, second) = (verb(self.first.writes), verb(self.second.writes));
        let mut text = format!("{a} {first} {} before {b} {second} it", example.cell);
        let order = match example.declared_order {
            Some(true) => Some("as declared"),
            Some(false) => Some("declared the other way round"),
            None => None,
        };
        let values = example.parameters.iter().map(|(n, v)| format!("{n}={v}"));
        let notes: Vec<String> = order.map(str::to_string).into_iter().chain(values).collect();
        if !notes.is_empty() {
            text.push_str(&format!(" ({})", notes.join(", ")));
        }
        text
    }
}
