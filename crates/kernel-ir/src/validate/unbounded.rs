//! Warnings about subscripts that data may take out of their arrays.

use std::collections::{BTreeSet, VecDeque};

use crate::{
    BinaryOp, Constraint, Diagnostic, Expr, Fact, Lookup, LoopKernel, Name,
    text::{map_of_print, source_map::Item},
    validate::{Check, bounds, domains::is_integer},
};

impl LoopKernel {
    /// Where the declared kernel reads or writes elements that data decide on, and neither declared
    /// facts nor a condition on data keep them inside of their array: one warning
    /// (`unbounded-data`) for each access, in the order of the text, with places in the printed
    /// form. Arrays that the kernel itself computes are not reported; scalars are, that are
    /// assigned more than once, under a condition, or in a type in which they may wrap, and
    /// subscripts that are computed in floating point. So are subscripts that are functions of
    /// inames and leave their array unless a condition on data prevents it.
    pub fn unbounded_subscripts(&self) -> Vec<Diagnostic> {
        let declared = self.declared();
        let lookup = Lookup::new(declared);
        let (found, wrong) = (Vec::new(), BTreeSet::new());
        let mut check = Check { data: declared, lookup: &lookup, found, wrong, along: Vec::new() };
        let by_data = bounds::by_data(&mut check);
        let (mut told, mut notes, mut map) = (BTreeSet::new(), Vec::new(), None);
        for found in by_data {
            let text = Expr::Subscript(found.access.clone()).to_string();
            if let Some(divisor) = &found.divisor {
                if told.insert(text.clone()) {
                    let map = map.get_or_insert_with(|| map_of_print(self));
                    let place =
                        map.as_ref().and_then(|m| m.locate(&Item::Instruction(found.instruction), &text));
                    let message = format!("`{text}` divides by `{divisor}`, which may be 0");
                    notes.push(Diagnostic::new("unbounded-data", message).at(place).help(format!(
                        "assume that it is not, as in `assume 1 <= {divisor}`: launches are refused otherwise"
                    )));
                }
                continue;
            }
            let sources = sources(&lookup, found.instruction, &found.access.index[found.axis]);
            // A condition on data counts as a bound of what data decide on themselves.
            let by_inames =
                || found.access.index[found.axis].names().iter().all(|n| lookup.temporary(n).is_none());
            if found.guarded && !(sources.is_empty() && by_inames()) {
                continue;
            }
            // What is read of an argument before the text writes it comes from the caller.
            let is_argument = |name: &Name| declared.args.iter().any(|a| a.name() == name);
            let is_computed = |(name, reader): &(Name, usize)| {
                let mut writers = lookup.writers(name).iter();
                writers.any(|writer| writer < reader || !is_argument(name))
            };
            let array = sources.iter().find(|source| !is_computed(source)).map(|(name, _)| name);
            if array.is_none() && !sources.is_empty() || !told.insert(text.clone()) {
                continue;
            }
            let map = map.get_or_insert_with(|| map_of_print(self));
            let place = map.as_ref().and_then(|m| m.locate(&Item::Instruction(found.instruction), &text));
            let has_range = |name: &Name| {
                declared.lasting_facts().any(|fact| match fact {
                    Fact::Range { array, lower, upper } => {
                        array == name && lower.is_some() && upper.is_some()
                    }
                    Fact::Monotone(_) | Fact::Injective(_) => false,
                })
            };
            let length = lookup.array(&found.access.array).map(|a| a.axes[found.axis].length.to_string());
            let length = length.unwrap_or_default();
            if found.guarded {
                let message = format!("`{text}` leaves its array unless the condition on data prevents it");
                notes.push(Diagnostic::new("unbounded-data", message).at(place).help(format!(
                    "keep `{}` at least 0 and below {length} by the domain or by a condition on inames; \
                     nothing is to be done if the data are known to prevent it",
                    found.access.index[found.axis]
                )));
                continue;
            }
            let Some(array) = array else {
                let index = &found.access.index[found.axis];
                let names = index.names();
                let Some(scalar) = names.iter().find(|n| lookup.temporary(n).is_some()) else {
                    let message = format!(
                        "`{text}` may leave its array: `{index}` is not followed through floating point"
                    );
                    notes.push(
                        Diagnostic::new("unbounded-data", message).at(place).help(format!(
                            "keep `{index}` at least 0 and below {length}, by `min` and `max`"
                        )),
                    );
                    continue;
                };
                let message = format!("`{text}` may leave its array: what `{scalar}` holds is not followed");
                notes.push(Diagnostic::new("unbounded-data", message).at(place).help(format!(
                    "assign `{scalar}` once, unconditionally, from sums and multiples of inames and \
                     arguments; or keep `{index}` at least 0 and below {length}, by `min` and `max`"
                )));
                continue;
            };
            let is_table = declared.constant(array).is_some();
            let why = match has_range(array) {
                _ if is_table => format!("the values of the constant table `{array}` do not keep it inside"),
                true => format!("the declared range of `{array}` does not keep it inside"),
                false => format!("nothing bounds the elements of `{array}`"),
            };
            let message = format!("`{text}` may leave its array: {why}");
            // Facts about an array that is written do not last.
            let is_integer =
                lookup.writers(array).is_empty() && lookup.array(array).is_some_and(|a| is_integer(&a.dtype));
            let index = &found.access.index[found.axis];
            let help = match (is_integer, has_range(array)) {
                _ if is_table => format!(
                    "correct the values, the shape or the assumptions: `{}` has to be at least 0 and below \
                     {length}",
                    found.access.index[found.axis]
                ),
                (true, false) => match from_element(&lookup, index, array) {
                    Reach::Equal => {
                        format!("declare their range, which is then checked: `fact 0 <= {array} < {length}`")
                    }
                    Reach::Sum => format!(
                        "declare a range of `{array}` for which `{index}` is at least 0 and below {length}; \
                         it is checked"
                    ),
                    Reach::Other => format!(
                        "no range of `{array}` would show it: keep `{index}` at least 0 and below {length}, \
                         by `min` and `max` or by `%`"
                    ),
                },
                (true, true) => format!(
                    "correct the range, which is checked, or the assumptions: `{}` has to be at least 0 \
                     and below {length}",
                    found.access.index[found.axis]
                ),
                (false, _) => format!(
                    "keep `{}` at least 0 and below {length}, by `min` and `max` or by a condition",
                    found.access.index[found.axis]
                ),
            };
            notes.push(Diagnostic::new("unbounded-data", message).at(place).help(help));
        }
        notes
    }
}

/// How a subscript follows from an element of an array.
enum Reach {
    /// It is the element.
    Equal,
    /// It is a sum of multiples, which ranges bound.
    Sum,
    /// It is another function of it.
    Other,
}

fn from_element(lookup: &Lookup<'_>, index: &Expr, array: &Name) -> Reach {
    let assigned = |name: &Name| match lookup.writers(name) {
        [writer] => lookup.kernel().instructions.get(*writer).map(|i| &i.value),
        _ => None,
    };
    match index {
        Expr::Subscript(access) if access.array == *array => return Reach::Equal,
        Expr::Name(name) => {
            if let Some(value) = assigned(name) {
                return from_element(lookup, value, array);
            }
        }
        _ => {}
    }
    let mut is_sum = true;
    index.visit(&mut |e| {
        is_sum &= match e {
            Expr::Binary(op, ..) => matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul),
            Expr::Call { .. } | Expr::Cast(..) | Expr::If(..) | Expr::Reduce(_) => false,
            _ => true,
        }
    });
    if is_sum { Reach::Sum } else { Reach::Other }
}

/// The arrays whose elements decide on the value of a subscript, each with the number of an
/// instruction that reads it. Which elements are read is decided by others, which are not among
/// them.
fn sources(lookup: &Lookup<'_>, instruction: usize, subscript: &Expr) -> Vec<(Name, usize)> {
    let of = |e: &Expr, reader: usize| names_of_value(e).into_iter().map(move |n| (n, reader));
    let mut open: VecDeque<(Name, usize)> = of(subscript, instruction).collect();
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    while let Some((name, reader)) = open.pop_front() {
        if !seen.insert(name.clone()) {
            continue;
        }
        if lookup.is_iname(&name) {
            let rows = lookup.instances(std::slice::from_ref(&name));
            open.extend(rows.iter().flat_map(Constraint::names).map(|n| (n, reader)));
        } else if lookup.array(&name).is_some_and(|a| !a.axes.is_empty()) {
            found.push((name, reader));
        } else {
            for w in lookup.writers(&name) {
                open.extend(lookup.kernel().instructions.get(*w).into_iter().flat_map(|i| of(&i.value, *w)));
            }
        }
    }
    found
}

/// The names and arrays in an expression that are not in a subscript of it.
fn names_of_value(e: &Expr) -> Vec<Name> {
    match e {
        Expr::Name(name) => vec![name.clone()],
        Expr::Subscript(access) => vec![access.array.clone()],
        _ => {
            let mut found = Vec::new();
            e.each_child(&mut |child| found.extend(names_of_value(child)));
            found
        }
    }
}
