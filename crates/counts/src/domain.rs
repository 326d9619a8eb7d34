//! Where parts of instructions run: integer points, and conditions inside expressions.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{
    Aff, Arg, AxisSet, BinaryOp, Constraint, Expr, Instruction, KernelData, Lookup, Name, Part, Standing,
    UnaryOp,
};
use loopwright_legality::executor;
use loopwright_poly::System;

use crate::{Formula, Refusal, points::count_points};

/// The points at which a part runs, or the reason why they are unknown.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    /// Base inames of the part, outermost first.
    pub inames: Vec<Name>,
    /// All names that range over points: the inames, and the defined ones that constraints mention.
    pub dims: Vec<Name>,
    /// Over these, and parameters; with the definitions.
    pub constraints: Vec<Constraint>,
    /// Where the instruction's predicate holds.
    pub guard: Guard,
    /// The axes along which each coordinate runs a copy of the part for itself.
    pub copies: AxisSet,
}

/// Where an expression is evaluated, within its part's domain.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// Disjoint alternatives, each a conjunction.
    pub regions: Vec<Vec<Constraint>>,
    /// Whether it is evaluated less often, by conditions that are not affine.
    pub at_most: bool,
}

/// The greatest number of alternatives of a guard.
const REGIONS: usize = 32;

impl Guard {
    /// No condition: a guard that holds everywhere.
    pub fn always() -> Guard {
        Guard { regions: vec![Vec::new()], at_most: false }
    }

    /// Inside a condition that is not affine.
    pub fn undecided(&self) -> Guard {
        Guard { at_most: true, ..self.clone() }
    }

    fn and(&self, more: &[Constraint]) -> Guard {
        let both = |own: &Vec<Constraint>| own.iter().chain(more).cloned().collect();
        Guard { regions: self.regions.iter().map(both).collect(), ..self.clone() }
    }

    /// Where a conjunction does not hold: its first constraint does not; or it does, and the second
    /// does not; and so on.
    fn and_not(&self, condition: &[Constraint]) -> Guard {
        let mut found = Guard { regions: Vec::new(), ..self.clone() };
        for (k, c) in condition.iter().enumerate() {
            let Ok(negations) = c.negations() else { return self.undecided() };
            for negation in negations {
                let more: Vec<Constraint> = condition[..k].iter().cloned().chain([negation]).collect();
                found.regions.extend(self.and(&more).regions);
            }
        }
        found
    }

    /// Where one of two holds that exclude each other, both inside this guard, which is exact.
    fn either(&self, one: Guard, other: Guard) -> Guard {
        let mut regions = one.regions;
        regions.extend(other.regions);
        let undecided = one.at_most || other.at_most;
        if undecided || regions.len() > REGIONS {
            self.undecided()
        } else {
            Guard { regions, ..self.clone() }
        }
    }

    /// What holds in all alternatives.
    fn known(&self) -> Vec<Constraint> {
        let Some((first, rest)) = self.regions.split_first() else { return Vec::new() };
        first.iter().filter(|c| rest.iter().all(|r| r.contains(c))).cloned().collect()
    }
}

/// What is known about the parameters of a kernel: its assumptions, and that no argument has a
/// negative length.
pub fn assumptions(kernel: &KernelData) -> Vec<Constraint> {
    let mut rows = kernel.assumptions.clone();
    for arg in &kernel.args {
        if let Arg::Array(array) = arg {
            let lengths = array.axes.iter().filter_map(|axis| axis.length.to_aff());
            rows.extend(lengths.filter(|l| l.as_constant().is_none()).map(Constraint::nonneg));
        }
    }
    rows
}

/// The counts of a kernel's domains.
pub(crate) struct Domains<'l, 'k> {
    pub lookup: &'l Lookup<'k>,
    /// What is known about parameters: assumptions, and that no argument has a negative length.
    pub context: System,
    known: BTreeMap<(Vec<Name>, String), Result<Formula, Refusal>>,
}

impl<'l, 'k> Domains<'l, 'k> {
    pub fn new(lookup: &'l Lookup<'k>) -> Result<Self, Refusal> {
        let context = System::of(assumptions(lookup.kernel()))?;
        Ok(Domains { lookup, context, known: BTreeMap::new() })
    }

    /// The executions of a part of an instruction, under the instruction's predicate.
    pub fn of(&self, instruction: &Instruction, part: Part) -> Result<Domain, Refusal> {
        let inames = self.lookup.inames_of(instruction, part);
        let guard = match &instruction.predicate {
            Some(predicate) => self.when(&inames, predicate, &Guard::always(), true),
            None => Guard::always(),
        };
        let (dims, constraints) = self.close(&inames, self.lookup.instances(&inames))?;
        let copies = self.copies(instruction, part);
        Ok(Domain { inames, dims, constraints, guard, copies })
    }

    /// The axes along which each coordinate runs a copy of a part for itself.
    pub fn copies(&self, instruction: &Instruction, part: Part) -> AxisSet {
        let inames = self.lookup.inames_of(instruction, part);
        executor(self.lookup, instruction, part, &inames).everywhere().collect()
    }

    /// The names that range over points, and the constraints with the definitions that they need.
    pub fn close(
        &self,
        inames: &[Name],
        mut constraints: Vec<Constraint>,
    ) -> Result<(Vec<Name>, Vec<Constraint>), Refusal> {
        let mut dims = inames.to_vec();
        let mut seen: BTreeSet<Name> = dims.iter().cloned().collect();
        let mut k = 0;
        while k < constraints.len() {
            let c = constraints[k].clone();
            k += 1;
            for name in c.names() {
                if !seen.insert(name.clone()) {
                    continue;
                }
                if let Some(value) = self.lookup.definition(&name) {
                    constraints.push(Constraint::equal(&Aff::var(&name), value)?);
                    dims.push(name);
                } else if self.lookup.is_iname(&name) {
                    let message = format!("`{c}` mentions `{name}`, which is not around it");
                    return Err(Refusal::new("count-foreign", message));
                } else if self.lookup.temporary(&name).is_some() {
                    let message = format!("`{c}` depends on data: `{name}` is computed by the kernel");
                    return Err(Refusal::new("count-data", message));
                }
            }
        }
        Ok((dims, constraints))
    }

    /// The number of points of a domain where a guard holds.
    pub fn count(&mut self, domain: &Domain, guard: &Guard) -> Result<Formula, Refusal> {
        let mut sum = Formula::default();
        for region in &guard.regions {
            sum = sum.plus(&self.count_where(domain, region)?)?;
        }
        Ok(sum)
    }

    fn count_where(&mut self, domain: &Domain, more: &[Constraint]) -> Result<Formula, Refusal> {
        let all = domain.constraints.iter().chain(more).cloned().collect();
        let (dims, constraints) = self.close(&domain.dims, all)?;
        let text: Vec<String> = constraints.iter().map(|c| format!("{c:?}")).collect();
        let key = (dims.clone(), text.join(";"));
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        // A loop that was split is counted as the loop before: its parts are solved for first,
        // those that were made last before those that they were made of.
        let definitions = &self.lookup.kernel().definitions;
        let rank = |n: &Name| {
            let defined = definitions.iter().position(|d| d.iname == *n);
            defined.map_or(0, |k| definitions.len() - k)
        };
        let formula = count_points(&dims, &constraints, &self.context, &rank);
        self.known.insert(key, formula.clone());
        formula
    }

    /// Calls `f` on an expression and on all that is evaluated inside it, outer before inner, with
    /// the guard of each. Reductions are left out: their parts have domains of their own.
    /// Subscripts are visited, as parts of the access.
    pub fn visit<'e>(
        &self,
        inames: &[Name],
        e: &'e Expr,
        guard: &Guard,
        f: &mut dyn FnMut(&'e Expr, &Guard),
    ) {
        if matches!(e, Expr::Reduce(_)) {
            return;
        }
        f(e, guard);
        match e {
            Expr::If(c, a, b) => {
                self.visit(inames, c, guard, f);
                self.visit(inames, a, &self.when(inames, c, guard, true), f);
                self.visit(inames, b, &self.when(inames, c, guard, false), f);
            }
            Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                self.visit(inames, a, guard, f);
                self.visit(inames, b, &self.when(inames, a, guard, *op == BinaryOp::And), f);
            }
            _ => e.each_child(&mut |child| self.visit(inames, child, guard, f)),
        }
    }

    /// The guard where a condition has this value.
    pub fn when(&self, inames: &[Name], condition: &Expr, guard: &Guard, value: bool) -> Guard {
        let exact = Guard { at_most: false, ..guard.clone() };
        let inside = self.when_exact(inames, condition, &exact, value);
        Guard { at_most: inside.at_most || guard.at_most, ..inside }
    }

    fn when_exact(&self, inames: &[Name], condition: &Expr, guard: &Guard, value: bool) -> Guard {
        use BinaryOp::{And, Eq, Ne, Or};
        match condition {
            Expr::Unary(UnaryOp::Not, inner) => return self.when(inames, inner, guard, !value),
            Expr::Binary(Ne, a, b) => {
                let equal = Expr::Binary(Eq, a.clone(), b.clone());
                return self.when(inames, &equal, guard, !value);
            }
            _ => {}
        }
        let standing = Standing::new(self.lookup, inames).given(&guard.known());
        match (standing.constraints(condition), condition) {
            (Some(c), _) if value => guard.and(&c),
            (Some(c), _) => guard.and_not(&c),
            // `a and b` is false if `a` is, or if `a` holds and `b` does not; likewise for `or`.
            (None, Expr::Binary(op @ (And | Or), a, b)) => {
                let both = *op == And;
                let first = self.when(inames, a, guard, both);
                let second = self.when(inames, b, &first, value);
                if value == both { second } else { guard.either(self.when(inames, a, guard, value), second) }
            }
            (None, _) => guard.undecided(),
        }
    }
}
