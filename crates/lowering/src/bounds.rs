//! Bounds of loops.
//!
//! A loop runs over the union of the ranges of the parts inside, where one of them contains the others. Each part's range is the projection
//! of its constraints onto the iname and what has a value before the loop; where threads meet inside, onto what all threads of the block
//! agree on. Bounds that follow from others with what is known at that place are left out.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Name, Part};
use loopwright_legality::THREAD_COORDINATES;
use loopwright_poly::{Bound, System};

use crate::{
    analysis::PartInfo,
    emitter::Emitter,
    env::Env,
    items::Item,
    loop_bounds::LoopBounds,
    program::{BinOp, Value},
};

/// Where the first of two bounds is no tighter than the second: a/d against b/e, as fractions, or, if `exact`, as the integers that they are
/// rounded to, if the first is one. ceil(b/e) >= a is b >= e*a - (e - 1), and floor(b/e) <= a is b <= e*a + (e - 1).
fn weaker(first: &Bound, second: &Bound, lower: bool, exact: bool) -> Result<Constraint, Diagnostic> {
    let (a, b) = (first.aff.scale(second.denominator)?, second.aff.scale(first.denominator)?);
    let slack = if exact && first.denominator == 1 { second.denominator - 1 } else { 0 };
    let constraint = if lower {
        Constraint::le(&a, &b.add_constant(slack)?)
    } else {
        Constraint::le(&b, &a.add_constant(slack)?)
    };
    Ok(constraint?)
}

impl Emitter<'_, '_> {
    /// The bounds of the loop over an iname. `converges`: threads of the block meet inside; `unroll`: the bounds are to be constant.
    pub fn loop_bounds(
        &self,
        items: &[Item],
        iname: &Name,
        env: &Env,
        converges: bool,
        unroll: bool,
    ) -> Result<LoopBounds, Diagnostic> {
        let analysis = self.analysis;
        let mut all: Vec<(Vec<Bound>, Vec<Bound>)> = Vec::new();
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
                all.push((bound(low), bound(high)));
                continue;
            }
            let keep = |n: &Name| {
                let available = env.bound.contains(n) || analysis.is_parameter(n) || self.data.contains(n);
                available && (!converges || self.uniform(&Aff::var(n)))
            };
            let bounds = system.bounds(iname, &keep)?;
            if bounds.lower.is_empty() || bounds.upper.is_empty() {
                // A part between the loops of a split reduction knows of the outer one only through the inner one: the parts inside
                // say how far it runs.
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
            let lower = self.needed_bounds(bounds.lower, env, true)?;
            let upper = self.needed_bounds(bounds.upper, env, false)?;
            all.push((lower, upper));
        }
        let mut result = LoopBounds::default();
        if let (Some(part), true) = (unbounded, all.is_empty()) {
            let part = &analysis.parts[part].execution.part;
            return Err(Diagnostic::new("no-bound", format!("the loop over `{iname}` has no bound for {part} here"))
                .help("give the iname a lower and an upper bound, loaded before the loop if they are read from data"));
        }
        // A projection says nothing of a loop where it is not gone round; the loop of an end stays within that over all instances.
        if let (Some(whole), [(lower, upper)]) =
            (self.piece.as_ref().and_then(|p| p.ends_of.as_ref()), all.as_mut_slice())
        {
            lower.extend(whole.lower.iter().cloned());
            upper.extend(whole.upper.iter().cloned());
            *lower = self.needed_bounds(std::mem::take(lower), env, true)?;
            *upper = self.needed_bounds(std::mem::take(upper), env, false)?;
        }
        let Some((first_low, first_high)) = all.first().cloned() else { return Ok(result) };
        let same_low = all.iter().all(|(l, _)| *l == first_low);
        let same_high = all.iter().all(|(_, h)| *h == first_high);
        result.lower = first_low;
        result.upper = first_high;
        if !same_low || !same_high {
            // Different ranges: the loop runs over all of them, and the parts are guarded inside.
            let (lower, upper): (Vec<_>, Vec<_>) = all.into_iter().skip(1).unzip();
            result.lower = self.union_bounds(result.lower, if same_low { &[] } else { &lower }, env, true)?;
            result.upper =
                self.union_bounds(result.upper, if same_high { &[] } else { &upper }, env, false)?;
        }
        Ok(result)
    }

    /// Of several bounds those that do not follow from the others with what is known here.
    fn needed_bounds(&self, bounds: Vec<Bound>, env: &Env, lower: bool) -> Result<Vec<Bound>, Diagnostic> {
        if bounds.len() < 2 {
            return Ok(bounds);
        }
        let mut kept = bounds;
        for exact in [false, true] {
            let mut k = 0;
            while k < kept.len() && kept.len() > 1 {
                let mut implied = false;
                for n in (0..kept.len()).filter(|n| *n != k) {
                    let weaker = weaker(&kept[k], &kept[n], lower, exact)?;
                    if env.implies(&weaker)? {
                        implied = true;
                        break;
                    }
                }
                if implied {
                    kept.remove(k);
                } else {
                    k += 1;
                }
            }
        }
        Ok(kept)
    }

    /// Two threads of a block that go round a loop different numbers of times: those whose own data bound it.
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

    /// The weakest of the bounds of several parts, where one of them is the weakest everywhere.
    fn union_bounds(
        &self,
        first: Vec<Bound>,
        others: &[Vec<Bound>],
        env: &Env,
        lower: bool,
    ) -> Result<Vec<Bound>, Diagnostic> {
        let mut weakest = first;
        for other in others {
            let ([a], [b]) = (weakest.as_slice(), other.as_slice()) else {
                return Err(Diagnostic::new(
                    "different-bounds",
                    "parts inside one loop run over ranges of which none contains the other",
                )
                .help("duplicate the iname for one of them"));
            };
            let (x, y) = (a.aff.scale(b.denominator)?, b.aff.scale(a.denominator)?);
            let (x_le_y, y_le_x) = (Constraint::le(&x, &y)?, Constraint::le(&y, &x)?);
            let keep_a = if lower { env.implies(&x_le_y)? } else { env.implies(&y_le_x)? };
            let take_b = if lower { env.implies(&y_le_x)? } else { env.implies(&x_le_y)? };
            if !keep_a && take_b {
                weakest = other.clone();
            } else if !keep_a {
                return Err(Diagnostic::new(
                    "different-bounds",
                    format!(
                        "parts inside one loop run over ranges of which none contains the other: {} and {}",
                        a.aff, b.aff
                    ),
                )
                .help("duplicate the iname for one of them"));
            }
        }
        Ok(weakest)
    }

    /// The greatest of lower bounds, or one more than the least of upper bounds.
    pub fn extreme(&mut self, bounds: &[Bound], env: &Env, lower: bool) -> Result<Value, Diagnostic> {
        let mut result: Option<Value> = None;
        for b in bounds {
            let value = self.bound_value(b, env, lower)?;
            result = Some(match result {
                None => value,
                Some(r) => Value::binary(if lower { BinOp::Max } else { BinOp::Min }, r, value),
            });
        }
        result.ok_or_else(|| Diagnostic::new("no-bound", "a loop has no bound"))
    }

    /// `ceil(aff/d)` of a lower bound, `floor(aff/d) + 1` of an upper one.
    pub fn bound_value(&mut self, b: &Bound, env: &Env, lower: bool) -> Result<Value, Diagnostic> {
        let d = b.denominator;
        // ceil(a/d) = floor((a+d-1)/d); floor(a/d) + 1 = floor((a+d)/d).
        let numerator = if lower { b.aff.add_constant(d - 1)? } else { b.aff.add_constant(d)? };
        if d > 1
            && let (Some(least), Some(greatest)) = env.system().constant_range(&numerator)?
            && least.div_euclid(d) == greatest.div_euclid(d)
        {
            return Ok(self.index_int(least.div_euclid(d)));
        }
        self.aff_value(&numerator.floor_div(d)?, env)
    }
}
