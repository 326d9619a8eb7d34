//! How often a program launches its kernels, and how often blocks wait at barriers, as formulas of
//! the parameters.
//!
//! The points that are counted are those of the host's loops around a launch, of the blocks of its
//! grid, and of the loops and conditions around a barrier. Control flow around a barrier is uniform
//! over the block, so that one count holds for all its threads. Bounds have to be affine, with
//! minima and maxima; a bound that depends on data is refused.

use std::{collections::BTreeMap, convert::Infallible};

use loopwright_counts::{Formula, Refusal, assumptions, points};
use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Dim, KernelData, Name};
use loopwright_program::{
    BinOp, DeviceKernel, HostStmt, Program, Scope, Step, Stmt, Value, ValueKind, VarId,
};

/// What one device kernel of a program costs besides its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchCount {
    /// The name of the device kernel.
    pub kernel: Name,
    /// How often it is launched, empty grids included.
    pub launches: Result<Formula, Diagnostic>,
    /// The blocks of all launches.
    pub blocks: Result<Formula, Diagnostic>,
    /// The barriers of blocks, for all blocks of all launches.
    pub barriers: Result<Formula, Diagnostic>,
}

/// A place in a program: names that range over values, and what holds for them.
#[derive(Clone, Debug, Default)]
struct Place {
    dims: Vec<Name>,
    constraints: Vec<Constraint>,
    /// The values of a thread's variables, where they are affine.
    variables: BTreeMap<VarId, Aff>,
    fresh: usize,
}

/// Counts the launches and barriers of a program that was lowered from a kernel, whose assumptions
/// hold.
pub fn count_launches(kernel: &KernelData, program: &Program) -> Vec<LaunchCount> {
    let mut places: Vec<(usize, Place)> = Vec::new();
    let mut refused: BTreeMap<usize, Refusal> = BTreeMap::new();
    host(&program.host, &Place::default(), &mut places, &mut refused);
    let mut found = Vec::new();
    for (number, device) in program.kernels.iter().enumerate() {
        let own: Vec<&Place> = places.iter().filter(|(n, _)| *n == number).map(|(_, place)| place).collect();
        let sum = |of: &dyn Fn(&Place) -> Result<Formula, Refusal>, what: &str| {
            let sum = || {
                if let Some(refusal) = refused.get(&number) {
                    return Err(refusal.clone());
                }
                own.iter().try_fold(Formula::default(), |sum, place| sum.plus(&of(place)?))
            };
            sum().map_err(|r| r.about(&format!("the {what} of `{}`", device.name)))
        };
        let barriers = |place: &Place| {
            let mut total = Formula::default();
            walk(device, &device.body, blocks_of(device, place)?, &mut |at| {
                total = total.plus(&at.count(kernel)?)?;
                Ok(())
            })?;
            Ok(total)
        };
        found.push(LaunchCount {
            kernel: device.name.clone(),
            launches: sum(&|place| place.count(kernel), "launches"),
            blocks: sum(&|place| blocks_of(device, place)?.count(kernel), "blocks"),
            barriers: sum(&barriers, "barriers"),
        });
    }
    found
}

/// The place of each launch in the host's loops.
fn host(
    body: &[HostStmt],
    place: &Place,
    found: &mut Vec<(usize, Place)>,
    refused: &mut BTreeMap<usize, Refusal>,
) {
    for stmt in body {
        match stmt {
            HostStmt::Launch(number) => found.push((*number, place.clone())),
            HostStmt::For { var, lower, upper, body, .. } => {
                let mut inside = place.clone();
                inside.dims.push(var.clone());
                let counter = Aff::var(var);
                match inside.at_least(&counter, lower).and_then(|()| inside.below(&counter, upper)) {
                    Ok(()) => host(body, &inside, found, refused),
                    Err(refusal) => launches_in(body, &mut |number| {
                        refused.insert(number, refusal.clone());
                    }),
                }
            }
        }
    }
}

fn launches_in(body: &[HostStmt], f: &mut dyn FnMut(usize)) {
    for stmt in body {
        match stmt {
            HostStmt::Launch(number) => f(*number),
            HostStmt::For { body, .. } => launches_in(body, f),
        }
    }
}

/// The blocks of a launch.
fn blocks_of(device: &DeviceKernel, place: &Place) -> Result<Place, Refusal> {
    let mut inside = place.clone();
    for dim in [Dim::X, Dim::Y, Dim::Z] {
        let index = block_index(dim);
        inside.dims.push(index.clone());
        inside.constraints.push(Constraint::nonneg(Aff::var(&index)));
        inside.below(&Aff::var(&index), &device.grid[dim])?;
    }
    Ok(inside)
}

/// The name of a block's index, which no text can spell.
fn block_index(dim: Dim) -> Name {
    Name::new(format!("\u{0}block.{dim}"))
}

fn not_affine() -> Refusal {
    Refusal::new("count-control", "a bound or a condition around them is not affine")
}

fn has_barrier(body: &[Stmt]) -> bool {
    Stmt::synchronises(body, &[Scope::Block])
}

/// Calls `f` with the place of each barrier of a body.
fn walk(
    device: &DeviceKernel,
    body: &[Stmt],
    mut place: Place,
    f: &mut dyn FnMut(&Place) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    for stmt in body {
        match stmt {
            Stmt::Sync { scope: Scope::Block, .. } => f(&place)?,
            Stmt::Let { var, value, .. } => {
                let constant = device.vars.get(var.0).is_some_and(|v| !v.mutable);
                if constant && let Some(value) = place.affine(value) {
                    place.variables.insert(*var, value);
                }
            }
            Stmt::For { var, lower, upper, step, body, .. } if has_barrier(body) => {
                let mut inside = place.clone();
                inside.enter(*var, lower, upper, *step)?;
                walk(device, body, inside, f)?;
            }
            Stmt::If { cond, body, otherwise, .. } if has_barrier(body) || has_barrier(otherwise) => {
                let mut held = Vec::new();
                place.condition(cond, &mut held)?;
                let mut inside = place.clone();
                inside.constraints.extend(held.iter().cloned());
                walk(device, body, inside, f)?;
                if has_barrier(otherwise) {
                    let [one] = &held[..] else { return Err(not_affine()) };
                    for negation in one.negations()? {
                        let mut inside = place.clone();
                        inside.constraints.push(negation);
                        walk(device, otherwise, inside, f)?;
                    }
                }
            }
            // What is printed and run of an atom is its body.
            Stmt::Atom { body, .. } | Stmt::Collective { body, .. } => {
                walk(device, body, place.clone(), f)?;
            }
            _ => {}
        }
    }
    Ok(())
}

impl Place {
    fn count(&self, kernel: &KernelData) -> Result<Formula, Refusal> {
        points(&self.dims, &self.constraints, &assumptions(kernel))
    }

    /// An integer as a function of parameters, blocks and loops.
    fn affine(&self, value: &Value) -> Option<Aff> {
        let known = value.affine(&mut |leaf| -> Result<_, Infallible> {
            Ok(match &leaf.kind {
                ValueKind::Var(var) => self.variables.get(var).cloned(),
                ValueKind::BlockIdx(dim) => Some(Aff::var(block_index(*dim))),
                _ => None,
            })
        });
        match known {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// `counter >= bound`, the bound a maximum of affine functions.
    fn at_least(&mut self, counter: &Aff, bound: &Value) -> Result<(), Refusal> {
        if let ValueKind::Binary(BinOp::Max, a, b) = &bound.kind {
            self.at_least(counter, a)?;
            return self.at_least(counter, b);
        }
        let bound = self.affine(bound).ok_or_else(not_affine)?;
        self.constraints.push(Constraint::le(&bound, counter)?);
        Ok(())
    }

    /// `counter < bound`, the bound a minimum of affine functions.
    fn below(&mut self, counter: &Aff, bound: &Value) -> Result<(), Refusal> {
        if let ValueKind::Binary(BinOp::Min, a, b) = &bound.kind {
            self.below(counter, a)?;
            return self.below(counter, b);
        }
        let bound = self.affine(bound).ok_or_else(not_affine)?;
        self.constraints.push(Constraint::lt(counter, &bound)?);
        Ok(())
    }

    /// Enters a loop: its counter becomes known, by a dimension that counts its iterations.
    fn enter(&mut self, var: VarId, lower: &Value, upper: &Value, step: Step) -> Result<(), Refusal> {
        self.fresh += 1;
        let round = Name::new(format!("\u{0}round{}", self.fresh));
        self.dims.push(round.clone());
        let counter = Aff::var(&round);
        match step {
            Step::Add(1) => {
                self.at_least(&counter, lower)?;
                self.below(&counter, upper)?;
                self.variables.insert(var, counter);
            }
            Step::Add(by) => {
                let lower = self.affine(lower).ok_or_else(not_affine)?;
                let value = counter.scale(by)?.add(&lower)?;
                self.constraints.push(Constraint::nonneg(counter));
                self.below(&value, upper)?;
                self.variables.insert(var, value);
            }
            Step::Halve | Step::Double => {
                let constant = |value: &Value| self.affine(value)?.as_constant();
                let (Some(mut at), Some(end)) = (constant(lower), constant(upper)) else {
                    return Err(not_affine());
                };
                let mut rounds = 0i64;
                while rounds < 64 && if step == Step::Halve { at > end } else { at < end } {
                    at = if step == Step::Halve { at / 2 } else { at.saturating_mul(2) };
                    rounds += 1;
                }
                self.constraints.push(Constraint::nonneg(counter.clone()));
                self.constraints.push(Constraint::lt(&counter, &Aff::constant(rounds))?);
            }
        }
        Ok(())
    }

    /// The constraints of a conjunction of comparisons.
    fn condition(&self, condition: &Value, found: &mut Vec<Constraint>) -> Result<(), Refusal> {
        let ValueKind::Binary(op, a, b) = &condition.kind else { return Err(not_affine()) };
        if *op == BinOp::And {
            self.condition(a, found)?;
            return self.condition(b, found);
        }
        let sides = self.affine(a).zip(self.affine(b)).filter(|_| a.dtype.is_integer());
        let (a, b) = sides.ok_or_else(not_affine)?;
        found.push(match op {
            BinOp::Lt => Constraint::lt(&a, &b)?,
            BinOp::Le => Constraint::le(&a, &b)?,
            BinOp::Gt => Constraint::lt(&b, &a)?,
            BinOp::Ge => Constraint::le(&b, &a)?,
            BinOp::Eq => Constraint::equal(&a, &b)?,
            _ => return Err(not_affine()),
        });
        Ok(())
    }
}
