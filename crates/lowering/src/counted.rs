//! Loops that count the index that the body speaks of, as an engineer writes them:
//! `for (int i = threadIdx.x; i < n; i += 256)`.
//!
//! A loop over `i_outer` whose body uses it only through one defined iname `i = 256*i_outer + r`
//! counts `i`, or the part of it that has a value before the loop where `r` has inner inames. With
//! `256*i_outer <= U` the bound is `i <= U + r`; with `i_outer <= u` it is `i < 256*(u + 1) + r`,
//! where parts of `r` between 0 and 255 may be left out: they decide nothing.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Aff, Diagnostic, Name};
use loopwright_legality::THREAD_COORDINATES;

use crate::{
    emitter::Emitter,
    env::Env,
    fold::{add, mul},
    items::Item,
    loop_bounds::{LoopBounds, Side},
    program::{BinOp, Note, Step, Stmt, Value},
};

impl Emitter<'_, '_> {
    /// The loop over `iname` as one that counts a defined iname, or `None` where the body needs
    /// `iname` itself.
    #[allow(clippy::too_many_arguments)]
    pub fn counted(
        &mut self,
        iname: &Name,
        items: &[Item],
        bounds: &LoopBounds,
        inner: &mut Env,
        env: &Env,
        unroll: bool,
        converges: bool,
    ) -> Result<Option<Stmt>, Diagnostic> {
        let analysis = self.analysis;
        let (Some([low]), Some(highs)) = (bounds.lower.conjunction(), bounds.upper.conjunction()) else {
            return Ok(None);
        };
        if unroll {
            return Ok(None);
        }
        let Some(defined) = self.only_use(iname, items, inner)? else { return Ok(None) };
        if env.values.contains_key(&defined) {
            return Ok(None);
        }
        let canonical = analysis.canonical(&Aff::var(&defined))?;
        let step = canonical.coefficient(iname);
        if step < 2 || !canonical.is_affine() {
            return Ok(None);
        }
        // The part that has a value here; inner inames add theirs.
        let mut rest = Aff::default();
        let mut whole = true;
        for (term, c) in canonical.terms() {
            let loopwright_kernel_ir::Term::Var(name) = term else { return Ok(None) };
            if name == iname {
                continue;
            }
            if self.available(name, env) {
                rest = rest.add(&Aff::var(name).scale(*c)?)?;
            } else {
                whole = false;
            }
        }
        if whole {
            rest = rest.add_constant(canonical.constant_term())?;
        }
        if converges && rest.names().iter().any(|n| THREAD_COORDINATES.contains(&n.as_str())) {
            return Ok(None);
        }
        // Parts of the rest that are less than a step.
        let mut fixed = Aff::constant(rest.constant_term());
        let mut small = Aff::default();
        for (term, c) in rest.terms() {
            let loopwright_kernel_ir::Term::Var(name) = term else { return Ok(None) };
            let one = Aff::var(name).scale(*c)?;
            if c.abs() < step { small = small.add(&one)? } else { fixed = fixed.add(&one)? }
        }
        let (least, greatest) = env.system().constant_range(&small)?;
        if !(least.is_some_and(|l| l >= 0) && greatest.is_some_and(|g| g < step)) {
            fixed = rest.clone();
        }
        let mut upper: Option<Value> = None;
        for high in highs {
            let end = if high.denominator == step {
                high.aff.add(&rest)?.add_constant(1)?
            } else if high.denominator % step == 0 {
                // m*(step*iname + rest) <= U, where the rest of the bound is that of the sum.
                let m = high.denominator / step;
                let sum = high.aff.add(&rest.scale(m)?)?;
                if sum.names().iter().any(|n| rest.mentions(n)) {
                    return Ok(None);
                }
                sum.floor_div(m)?.add_constant(1)?
            } else if high.denominator == 1 {
                high.aff.add_constant(1)?.scale(step)?.add(&fixed)?
            } else {
                return Ok(None);
            };
            let end = self.aff_value(&end, env)?;
            upper = Some(match upper {
                None => end,
                Some(u) => Value::binary(BinOp::Min, u, end),
            });
        }
        let Some(upper) = upper else { return Ok(None) };
        let start = self.bound_value(low, env, Side::Lower)?;
        let rest_value = self.aff_value(&rest, env)?;
        let lower = add(mul(start, self.index_int(step)), rest_value);
        let canonical_here = Aff::var(iname).scale(step)?.add(&rest)?;
        let mut name = if whole { defined.clone() } else { Name::new(format!("{defined}_tile")) };
        // The part of a split may have that name itself.
        while !whole && analysis.lookup.is_iname(&name) {
            name = Name::new(format!("{name}_begin"));
        }
        let var = self.new_index(&name, env.with_constants(&canonical_here)?);
        inner.set(name.clone(), self.var_value(var));
        inner.named.push((name, canonical_here));
        let mut body = self.lets(inner)?;
        body.extend(self.emit_items(items, inner)?);
        Ok(Some(Stmt::For {
            var,
            lower,
            upper,
            step: Step::Add(step),
            unroll: false,
            body,
            note: Note::default(),
        }))
    }

    /// The one name through which the parts below use an iname, if it is a defined one.
    fn only_use(&self, iname: &Name, items: &[Item], inner: &Env) -> Result<Option<Name>, Diagnostic> {
        let analysis = self.analysis;
        let mut used: BTreeSet<Name> = BTreeSet::new();
        let mut note = |names: BTreeSet<Name>| {
            for n in names {
                if analysis.lookup.base_of(&n).contains(iname) {
                    used.insert(n);
                }
            }
        };
        for part in Item::parts(items) {
            let info = &analysis.parts[part];
            let instruction = analysis.instruction(info);
            for e in loopwright_legality::evaluated(instruction, info.execution.part.part) {
                note(e.names());
            }
            let filling = info.filling.iter().flat_map(|f| &f.guards);
            for g in info.guards.iter().chain(filling) {
                if g.canonical.aff.mentions(iname) && !inner.implies(&g.canonical)? {
                    note(g.declared.names());
                }
            }
        }
        let mut used = used.into_iter();
        Ok(match (used.next(), used.next()) {
            (Some(one), None) if analysis.lookup.definition(&one).is_some() => Some(one),
            _ => None,
        })
    }
}
