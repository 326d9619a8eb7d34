//! Bounds of loops.
//!
//! A loop runs over the hull of the ranges of the parts inside (`loop_bounds`). Each part's range
//! is the projection of its constraints onto the iname and what has a value before the loop; where
//! threads meet inside, onto what all threads of the block agree on. Bounds that follow from others
//! with what is known at that place are left out.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name, Part};
use loopwright_legality::THREAD_COORDINATES;
use loopwright_poly::{Bound, System};

use crate::{
    analysis::PartInfo,
    emitter::Emitter,
    env::Env,
    items::Item,
    loop_bounds::{LoopBounds, LoopEnd, Side},
    program::{BinOp, Value},
};

impl Emitter<'_, '_> {
    /// The bounds of the loop over an iname. `converges`: threads of the block meet inside;
    /// `unroll`: the bounds are to be constant.
    pub fn loop_bounds(
        &self,
        items: &[Item],
        iname: &Name,
        env: &Env,
        converges: bool,
        unroll: bool,
    ) -> Result<LoopBounds, Diagnostic> {
        let analysis = self.analysis;
        let mut all: Vec<(usize, Vec<Bound>, Vec<Bound>)> = Vec::new();
        let known = |c: &Constraint| env.implies(c);
        let mut unbounded = None;
        for part in Item::parts(items) {
            let info = self.part(part);
            if matches!(info.execution.part.part, Part::Init(_)) && !info.inames.contains(iname) {
                continue;
            }
            let mut system = System::new(&analysis.context)?;
            let inside = self.piece.as_ref().map_or(&[][..], |p| &p.inside);
            for g in info.guards.iter().filter(|g| !inside.contains(&g.canonical)) {
                system.add(&g.canonical)?;
            }
            // The coordinates' ranges matter where they are eliminated.
            for (axis, coordinate) in THREAD_COORDINATES.iter().enumerate() {
                let value = Aff::var(*coordinate);
                if env.bound.contains(*coordinate) {
                    system.add(&Constraint::lt(&value, &Aff::constant(i64::from(self.block[axis])))?)?;
                    system.add(&Constraint::nonneg(value))?;
                }
            }
            if unroll {
                let range = system.constant_range(&Aff::var(iname))?;
                let (Some(low), Some(high)) = range else {
                    return Err(Diagnostic::new(
                        "not-constant-length",
                        format!("`{iname}` is to be unrolled, but its length is not bounded by a constant"),
                    )
                    .help(format!(
                        "split it first, as split_iname({iname}, 4), and unroll the inner iname"
                    )));
                };
                let bound = |v| vec![Bound { aff: Aff::constant(v), denominator: 1 }];
                all.push((part, bound(low), bound(high)));
                continue;
            }
            let keep = |n: &Name| {
                let available = env.bound.contains(n) || analysis.is_parameter(n) || self.data.contains(n);
                available && (!converges || self.uniform(&Aff::var(n)))
            };
            let bounds = system.bounds(iname, &keep)?;
            if bounds.lower.is_empty() || bounds.upper.is_empty() {
                // A part between the loops of a split reduction knows of the outer one only through
                // the inner one: the parts inside say how far it runs.
                let any = system.bounds(iname, &|_| true)?;
                if (any.lower.is_empty() || any.upper.is_empty()) && Item::parts(items).len() > 1 {
                    unbounded = Some(part);
                    continue;
                }
                let refusal = Diagnostic::new(
                    "no-bound",
                    format!("the loop over `{iname}` has no bound for {} here", info.execution.part),
                );
                if !converges {
                    return Err(refusal.help(
                        "give the iname a lower and an upper bound, loaded before the loop if they are read from data",
                    ));
                }
                let refusal = refusal.help(
                    "threads wait for each other inside the loop, so its bounds have to be the same for all threads of the block",
                );
                return Err(match self.different_rounds(iname, info) {
                    Some(witness) => refusal.witness(witness),
                    None => refusal,
                });
            }
            // What is known here needs no second mention.
            let lower = Side::Lower.needed(bounds.lower, &known)?;
            let upper = Side::Upper.needed(bounds.upper, &known)?;
            all.push((part, lower, upper));
        }
        if let (Some(part), true) = (unbounded, all.is_empty()) {
            let part = &analysis.parts[part].execution.part;
            return Err(Diagnostic::new("no-bound", format!("the loop over `{iname}` has no bound for {part} here"))
                .help("give the iname a lower and an upper bound, loaded before the loop if they are read from data"));
        }
        // A projection says nothing of a loop where it is not gone round; the loop of an end stays
        // within that over all instances.
        if let (Some(whole), [(_, lower, upper)]) =
            (self.piece.as_ref().and_then(|p| p.ends_of.as_ref()), all.as_mut_slice())
        {
            lower.extend(whole.lower.0.iter().flatten().cloned());
            upper.extend(whole.upper.0.iter().flatten().cloned());
            *lower = Side::Lower.needed(std::mem::take(lower), &known)?;
            *upper = Side::Upper.needed(std::mem::take(upper), &known)?;
        }
        let of_part = |k: usize, c: &Constraint| {
            let guards = self.part(all[k].0).guards.iter().map(|g| g.canonical.clone());
            Ok(env.system().with(&guards.collect::<Vec<_>>())?.implies(c)?)
        };
        let (lower, upper) = all.iter().map(|(_, low, high)| (low.clone(), high.clone())).unzip();
        Ok(LoopBounds {
            lower: LoopEnd::hull(Side::Lower, iname, lower, &known, &of_part)?,
            upper: LoopEnd::hull(Side::Upper, iname, upper, &known, &of_part)?,
        })
    }

    /// Two threads of a block that go round a loop different numbers of times: those whose own data
    /// bound it.
    fn different_rounds(&self, iname: &Name, info: &PartInfo) -> Option<String> {
        let bounding = |c: &&Constraint| c.aff.mentions(iname);
        let names: Vec<Name> =
            info.execution.constraints.iter().filter(bounding).flat_map(Constraint::names).collect();
        let load = info.execution.loads.iter().find(|l| names.contains(&l.name))?;
        let own = |n: &Name| THREAD_COORDINATES.contains(&n.as_str());
        let coordinate = load.arguments.iter().flat_map(Aff::names).find(own)?;
        let thread = info.inames.iter().find(|i| {
            let axis = self.analysis.kernel.tag(i).thread_axis();
            axis.is_some_and(|axis| coordinate == *THREAD_COORDINATES[axis])
        })?;
        let least = self.analysis.extents.get(thread)?.lower.as_constant()?;
        let cell = |value: i64| -> Option<String> {
            let index: Option<Vec<String>> = load
                .arguments
                .iter()
                .map(|a| a.eval(&|n| (*n == coordinate).then_some(value)).map(|v| v.to_string()))
                .collect();
            Some(format!("{}[{}]", load.array, index?.join(", ")))
        };
        let (first, second) = (cell(0)?, cell(1)?);
        Some(format!(
            "where {first} and {second} differ, ({thread} = {least}) and ({thread} = {}) go round the loop over `{iname}` different numbers of times, and one waits where the other never comes",
            least.checked_add(1)?
        ))
    }

    /// The greatest of lower bounds, or one more than the least of upper bounds; of several lists
    /// the weakest.
    pub fn extreme(&mut self, end: &LoopEnd, env: &Env, side: Side) -> Result<Value, Diagnostic> {
        let (inner, outer) = match side {
            Side::Lower => (BinOp::Max, BinOp::Min),
            Side::Upper => (BinOp::Min, BinOp::Max),
        };
        let mut all: Option<Value> = None;
        for bounds in &end.0 {
            let mut own: Option<Value> = None;
            for b in bounds {
                let value = self.bound_value(b, env, side)?;
                own = Some(match own {
                    None => value,
                    Some(o) => Value::binary(inner, o, value),
                });
            }
            let own = own.ok_or_else(|| Diagnostic::new("no-bound", "a loop has no bound"))?;
            all = Some(match all {
                None => own,
                Some(a) => Value::binary(outer, a, own),
            });
        }
        all.ok_or_else(|| Diagnostic::new("no-bound", "a loop has no bound"))
    }

    /// `ceil(aff/d)` of a lower bound, `floor(aff/d) + 1` of an upper one.
    pub fn bound_value(&mut self, b: &Bound, env: &Env, side: Side) -> Result<Value, Diagnostic> {
        let d = b.denominator;
        // ceil(a/d) = floor((a+d-1)/d); floor(a/d) + 1 = floor((a+d)/d).
        let numerator = b.aff.add_constant(if side == Side::Lower { d - 1 } else { d })?;
        if d > 1
            && let (Some(least), Some(greatest)) = env.system().constant_range(&numerator)?
            && least.div_euclid(d) == greatest.div_euclid(d)
        {
            return Ok(self.index_int(least.div_euclid(d)));
        }
        self.aff_value(&numerator.floor_div(d)?, env)
    }
}
