//! What a call requires, and what the lines in its place no longer show: that lengths agree, that
//! what the called kernel assumes holds where it is called, that inames keep their width, and that
//! nothing which the call names changes while the lines run.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_poly::{Aff, Constraint, System};

use super::{Actual, Fault, Given, Inliner, Replacement};
use crate::{
    Diagnostic, Expr, Fact, Name, Standing, TypeTable, text::text_of_constraints, validate::context,
};

impl Inliner<'_, '_> {
    /// The length of an axis of the called kernel, in the caller's names.
    fn length(&self, formal: &Name, length: &Expr, sizes: &BTreeMap<Name, Aff>) -> Result<Expr, Fault> {
        // Its name here might be that of another thing of the caller's.
        if let Some(size) = length.names().into_iter().find(|n| !sizes.contains_key(n)) {
            let message = format!(
                "`{formal}` of `{}` has the length `{length}`, and in this call `{size}` is no affine function \
                 of inames and integer scalars",
                self.callee().name
            );
            let help = format!(
                "give `{size}` such a function; a value of data goes through a scalar: `<i32> p = ...`"
            );
            return Err(Fault::about(&size, Diagnostic::new("call-length", message).help(help)));
        }
        let made = length.substitute(&|n| sizes.get(n).map(Expr::from_aff));
        Ok(made.to_aff().map_or(made, |aff| Expr::from_aff(&aff)))
    }

    /// Requires that ranks and lengths of slices are those that the called kernel declares.
    pub(super) fn lengths(&self, given: &Given, sizes: &BTreeMap<Name, Aff>) -> Result<(), Fault> {
        let callee = &self.callee().name;
        for (formal, actual) in given {
            let Some(array) = self.formal_array(formal) else { continue };
            let Some(found) = actual.lengths(self.lookup) else { continue };
            if found.len() != array.axes.len() {
                let axes = |n: usize| if n == 1 { "1 axis".to_string() } else { format!("{n} axes") };
                let message = format!(
                    "`{formal}` of `{callee}` has {}, and a slice of {} is given",
                    axes(array.axes.len()),
                    axes(found.len())
                );
                let help = "each `:` or range is an axis of the slice, as in `x[i, :]`; a bare name is the \
                            whole array";
                return Err(Fault::about(formal, Diagnostic::new("wrong-subscript", message).help(help)));
            }
            for (k, (axis, found)) in array.axes.iter().zip(found).enumerate() {
                let declared = self.length(formal, &axis.length, sizes)?;
                let equal = match (declared.to_aff(), found.to_aff()) {
                    (Some(a), Some(b)) => self.equal(&a, &b)?,
                    _ => declared == found,
                };
                if !equal {
                    let message = format!(
                        "axis {k} of `{formal}` of `{callee}` has the length `{declared}` in this call, and \
                         that of the slice is `{found}`"
                    );
                    let help = "give a slice of that length, as `x[0:n]`, or other sizes";
                    return Err(Fault::about(formal, Diagnostic::new("call-length", message).help(help)));
                }
            }
        }
        Ok(())
    }

    fn equal(&self, a: &Aff, b: &Aff) -> Result<bool, Fault> {
        let difference = a.sub(b)?;
        if let Some(c) = difference.as_constant() {
            return Ok(c == 0);
        }
        Ok(self.context()?.implies(&Constraint::zero(difference))?)
    }

    /// What holds where the call stands.
    fn context(&self) -> Result<System, Fault> {
        let mut known = context(self.lookup);
        known.extend(self.lookup.instances(&self.call.within));
        if let Some(predicate) = &self.call.predicate {
            let standing = Standing::new(self.lookup, &self.call.within);
            known.extend(standing.where_true(predicate));
        }
        Ok(System::new(&known)?)
    }

    /// Requires that no result is a scalar that other arguments name: it would change while the
    /// lines run.
    pub(super) fn unchanged(&self, given: &Given, by: &Replacement) -> Result<(), Fault> {
        for (result, access) in &by.results {
            if !access.index.is_empty() {
                continue;
            }
            let name = &access.array;
            let uses = |formal: &Name, actual: &Actual| match actual {
                Actual::Value(_) => by.values.get(formal).is_some_and(|e| e.names().contains(name)),
                Actual::Element(a) => {
                    (formal != result && a.array == *name) || a.index.iter().any(|e| e.names().contains(name))
                }
                Actual::Slice { .. } => actual.names().contains(name),
            };
            if let Some((formal, _)) = given.iter().find(|(f, a)| uses(f, a)) {
                let message = format!(
                    "the result `{result}` of `{}` is written to `{name}`, which `{formal}` depends on",
                    self.callee().name
                );
                let help = "write the result to another scalar, and copy it behind the call";
                return Err(Fault::about(result, Diagnostic::new("call-overlap", message).help(help)));
            }
        }
        Ok(())
    }

    /// Requires that no line writes what the condition of another one reads under another name: in
    /// the called kernel they are two arrays, so that a block's lines are all under one value of
    /// its condition.
    pub(super) fn conditions(&self, by: &Replacement) -> Result<(), Fault> {
        let callee = self.callee();
        let here = |n: &Name| {
            let array = by.arrays.get(n).map(|(array, _)| array);
            array.or_else(|| by.results.get(n).map(|access| &access.array))
        };
        let conditions = callee.instructions.iter().filter_map(|i| i.predicate.as_ref());
        let read: BTreeSet<Name> = conditions.flat_map(Expr::reads).collect();
        for target in callee.instructions.iter().flat_map(|i| &i.targets) {
            let written = &target.array;
            let Some(array) = here(written) else { continue };
            if let Some(other) = read.iter().find(|r| *r != written && here(r) == Some(array)) {
                let message = format!(
                    "`{}` writes `{written}` and has conditions on `{other}`, and in this call both are `{array}`",
                    callee.name
                );
                let help = "pass two arrays, or keep the condition in a scalar of the called kernel: `<bool> c = ...`";
                return Err(Fault::about(written, Diagnostic::new("call-overlap", message).help(help)));
            }
        }
        Ok(())
    }

    /// Requires that what the called kernel assumes follows where it is called.
    pub(super) fn follows(&self, by: &Replacement) -> Result<(), Fault> {
        let callee = self.callee();
        if callee.assumptions.is_empty() {
            return Ok(());
        }
        let context = self.context()?;
        for c in &callee.assumptions {
            let here = c.substitute(&|n| by.affs.get(n).cloned())?;
            if context.implies(&here)? {
                continue;
            }
            let text = |c: &Constraint| text_of_constraints(std::slice::from_ref(c));
            let (assumed, here_text) = (text(c), text(&here));
            let shown = match assumed == here_text {
                true => String::new(),
                false => format!(", here `{here_text}`"),
            };
            let message = format!(
                "`{}` assumes `{assumed}`{shown}, which does not follow where it is called",
                callee.name
            );
            let arguments: BTreeSet<Name> = here.names();
            let are_arguments = arguments.iter().all(|n| self.lookup.scalar(n).is_some());
            let help = match are_arguments {
                true => format!("assume it in the caller as well: `assume {here_text}`"),
                false => "call it where the domains around the call imply it, or leave the assumption \
                          out"
                .to_string(),
            };
            let formal = c.names().into_iter().find(|n| by.affs.contains_key(n));
            return Err(Fault { diagnostic: Diagnostic::new("call-assumption", message).help(help), formal });
        }
        Ok(())
    }

    /// Requires that the facts of the called kernel are the caller's.
    pub(super) fn facts(&self, given: &Given, by: &Replacement) -> Result<(), Fault> {
        let callee = self.callee();
        for fact in &callee.facts {
            let formal = fact.array();
            let Some(Actual::Slice { array, .. }) = given.get(formal) else { continue };
            let own = self.lookup.kernel().facts.iter().filter(|f| f.array() == array);
            let mut held = false;
            for known in own {
                held |= match (fact, known) {
                    (Fact::Monotone(_), Fact::Monotone(_)) | (Fact::Injective(_), Fact::Injective(_)) => true,
                    (Fact::Range { lower, upper, .. }, Fact::Range { lower: low, upper: high, .. }) => {
                        self.at_most(by, lower.as_ref(), low.as_ref(), true)?
                            && self.at_most(by, upper.as_ref(), high.as_ref(), false)?
                    }
                    _ => false,
                };
            }
            if !held {
                let text = crate::text::text_of_fact(fact);
                let message = format!(
                    "`{}` has the fact `{text}`, and the caller says nothing like it of `{array}`",
                    callee.name
                );
                let help = format!("give the caller a `fact` about `{array}` that implies it");
                return Err(Fault::about(formal, Diagnostic::new("call-fact", message).help(help)));
            }
        }
        Ok(())
    }

    /// Whether a bound of a fact of the called kernel follows from that of the caller's.
    fn at_most(
        &self,
        by: &Replacement,
        wanted: Option<&Expr>,
        known: Option<&Expr>,
        lower: bool,
    ) -> Result<bool, Fault> {
        let Some(wanted) = wanted else { return Ok(true) };
        let Some(known) = known else { return Ok(false) };
        let (Some(wanted), Some(known)) = (wanted.to_aff(), known.to_aff()) else { return Ok(false) };
        let wanted = wanted.substitute(&|n| by.affs.get(n).cloned())?;
        let (low, high) = if lower { (wanted, known) } else { (known, wanted) };
        Ok(self.context()?.implies(&Constraint::le(&low, &high)?)?)
    }

    /// Requires that inames keep their width: values computed with them would change.
    pub(super) fn widths(&self) -> Result<(), Fault> {
        let (caller, callee) = (self.lookup.kernel(), self.callee());
        let mut whole = caller.clone();
        whole.temporaries.extend(self.made.temporaries.iter().cloned());
        whole.domains.extend(self.made.domains.iter().cloned());
        for t in &mut whole.temporaries {
            t.dtype = self.made.types.get(&t.name).unwrap_or(&t.dtype).clone();
        }
        let (here, there) = (TypeTable::new(&whole), TypeTable::new(callee));
        for iname in callee.domains.iter().flat_map(|d| &d.inames) {
            let (was, is) = (there.scalar_type(iname), here.scalar_type(&self.call.names.of(iname)));
            if let (Some(was), Some(is)) = (was, is)
                && was != is
            {
                let message = format!(
                    "`{iname}` of `{}` is {was} there, and would be {is} with the sizes of this call",
                    callee.name
                );
                let help = "declare the sizes of the two kernels with one type";
                return Err(Diagnostic::new("call-type", message).help(help).into());
            }
        }
        Ok(())
    }
}
