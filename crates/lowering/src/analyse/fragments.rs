//! Private arrays that products by an atom read as a factor: a warp loads fragments for them.
//!
//! The copies that fill them load whole fragments, together, so that what decides whether they run
//! may not depend on their own loops. A guard that does may still say no more than one that does
//! not: `16*k + k_box <= 47`, where `k_box` goes from 0 to 15, is `k <= 2`. Such guards are derived
//! here, before anything is decided, and then the others follow from them.

use loopwright_atom::{Operand, matching};
use loopwright_kernel_ir::{Access, AddressSpace, Constraint, Diagnostic, Expr, HardwareAxis, Name, Part};
use loopwright_poly::{System, Table};

use super::analysis::{Analysis, Guard};

/// How a product by an atom reads a private array.
pub(crate) struct FragmentUse {
    /// The number of the product's instruction.
    pub instruction: usize,
    pub operand: Operand,
    pub access: Access,
}

impl Analysis<'_> {
    /// The product that reads a private array as one of its factors, if one does.
    pub fn fragment(&self, array: &Name) -> Option<&FragmentUse> {
        let fragments = self.fragments.get_or_init(|| {
            let mut found = Table::default();
            for (number, instruction) in self.kernel.instructions.iter().enumerate() {
                let Some(used) = &instruction.atom else { continue };
                let atom = loopwright_atom::named(&self.kernel.atoms, &used.name);
                let Some(Ok(factors)) = atom.map(|a| matching(&self.lookup, instruction, a, used)) else {
                    continue;
                };
                for (operand, access) in [(Operand::A, factors.a), (Operand::B, factors.b)] {
                    let array = self.lookup.temporary(&access.array);
                    if array.is_some_and(|array| array.space == AddressSpace::Private) {
                        let of = FragmentUse { instruction: number, operand, access: access.clone() };
                        found.entry(access.array).or_insert(of);
                    }
                }
            }
            found
        });
        fragments.get(array)
    }
}

/// Adds, to the guards of copies that load fragments, those that say whether there is anything to
/// load.
pub(crate) fn guard_whole_fragments(analysis: &mut Analysis<'_>) -> Result<(), Diagnostic> {
    for number in 0..analysis.parts.len() {
        let info = &analysis.parts[number];
        let instruction = analysis.instruction(info);
        let ([target], Part::Whole) = (instruction.targets.as_slice(), info.execution.part.part) else {
            continue;
        };
        if analysis.fragment(&target.array).is_none() {
            continue;
        }
        let loops = &info.execution.loops;
        let is_own = |n: &Name| loops.contains(n) && target.index.contains(&Expr::Name(n.clone()));
        let system = |rows: &mut dyn Iterator<Item = Constraint>| -> Result<System, Diagnostic> {
            let mut rows: Vec<Constraint> = analysis.context.iter().cloned().chain(rows).collect();
            for axis in HardwareAxis::all() {
                rows.push(Constraint::nonneg(axis.position()));
            }
            Ok(System::new(&rows)?)
        };
        let guards = || info.guards.iter().map(|g| g.canonical.clone());
        let runs = system(&mut guards())?.keep_only(&|n| !is_own(n))?.system;
        let mut known = system(&mut guards().filter(|c| !c.aff.mentions_any(&|n| is_own(n))))?;
        let mut derived = Vec::new();
        for c in runs.constraints() {
            if !known.implies(c)? {
                known.add(c)?;
                derived.push(Guard { declared: c.clone(), canonical: c.clone() });
            }
        }
        analysis.parts[number].guards.extend(derived);
    }
    Ok(())
}
