//! A nest over segments, as the kernel has it, and the launches of the program that run it.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{
    Access, Aff, Constraint, Expr, Flat, Kind, Lookup, LoopKernel, Name, Part, PartRef, Tree,
};

use crate::{HostStmt, Memory, Owner, Program, Stmt};

/// A loop over segments with all that is in it.
pub(super) struct Nest<'k> {
    pub kernel: &'k LoopKernel,
    lookup: Lookup<'k>,
    pub segment: Name,
    /// What is inside the loop over segments.
    pub body: &'k [Tree],
    /// How the nest is cut: whoever chooses the data wants to reach all of it.
    pub flat: Flat,
    /// The constraints of the segments, over parameters and inames of host loops.
    pub of_segments: Vec<Constraint>,
    /// The constraints of the points of a segment that mention the iname of the points, each with
    /// what it says besides that.
    pub of_points: Vec<(Constraint, Aff)>,
    /// Inames of host loops around.
    pub around: Vec<Name>,
    /// The instruction's loads of the begin and of the end of a segment.
    pub bounds: [Access; 2],
}

impl<'k> Nest<'k> {
    /// The nest over these segments; `None` if the segments do not make one.
    pub fn of(kernel: &'k LoopKernel, segment: &Name) -> Option<Nest<'k>> {
        let lookup = Lookup::new(kernel);
        let mut around = Vec::new();
        let body = inside(&kernel.tree, segment, &mut around)?;
        let parts: Vec<&PartRef> = body.iter().flat_map(Tree::leaves).collect();
        let update = parts.iter().find(|p| matches!(p.part, Part::Update(_)))?;
        let points: Vec<Name> =
            lookup.part_inames(update).into_iter().filter(|i| i != segment && !around.contains(i)).collect();
        let [point] = points.as_slice() else { return None };
        let mut of_segments = Vec::new();
        for c in lookup.instances(&[around.as_slice(), std::slice::from_ref(segment)].concat()) {
            of_segments.push(lookup.expand_constraint(&c).ok()?);
        }
        let mut of_points = Vec::new();
        let mut bounds = [None, None];
        for c in lookup.instances(&[segment.clone(), point.clone()]) {
            let c = lookup.expand_constraint(&c).ok()?;
            let k = c.aff.coefficient(point);
            if k == 0 {
                continue;
            }
            let rest = c.aff.sub(&Aff::var(point).scale(k).ok()?).ok()?;
            let scalar = match (c.kind, k) {
                (Kind::Ge, 1) => rest.neg().ok()?,
                (Kind::Ge, -1) => rest.add_constant(1).ok()?,
                _ => return None,
            };
            let [writer] = lookup.writers(scalar.as_var()?) else { return None };
            let Expr::Subscript(access) = &kernel.instructions.get(*writer)?.value else { return None };
            *bounds.get_mut(usize::from(k < 0))? = Some(access.clone());
            of_points.push((c, rest));
        }
        let [Some(begin), Some(end)] = bounds else { return None };
        let flat = *kernel.flat.get(segment)?;
        let segment = segment.clone();
        Some(Nest {
            kernel,
            lookup,
            segment,
            body,
            flat,
            of_segments,
            of_points,
            around,
            bounds: [begin, end],
        })
    }

    /// A name as a function of inames and parameters, if it is defined.
    pub fn function(&self, name: &Name) -> Option<Aff> {
        self.lookup.definition(name)?;
        self.lookup.expand(&Aff::var(name)).ok()
    }

    /// A function over base inames and parameters.
    pub fn expanded(&self, aff: &Aff) -> Option<Aff> {
        self.lookup.expand(aff).ok()
    }

    /// Whether the kernel has an array, or the program alone.
    pub fn is_of_kernel(&self, array: &Name) -> bool {
        self.lookup.array(array).is_some()
    }

    /// The host statements that run the nest: the launches in which statements of its parts are,
    /// and those before them that write what only the program has and these read. They have to
    /// stand in one body.
    pub fn launches(&self, program: &Program) -> Option<Vec<usize>> {
        let instructions: BTreeSet<&Name> =
            self.body.iter().flat_map(Tree::leaves).map(|part| &part.instruction).collect();
        let is_own = |kernel: usize| {
            let mut found = false;
            Stmt::visit(&program.kernels.get(kernel)?.body, &mut |stmt| {
                let leaf = stmt.leaf().and_then(|id| program.leaves.get(id.0));
                found |= leaf.is_some_and(|leaf| instructions.contains(&leaf.part.instruction));
            });
            Some(found)
        };
        let list = body_with(&program.host, &|kernel| is_own(kernel) == Some(true))?;
        let launches: Vec<usize> = list
            .iter()
            .filter_map(|stmt| match stmt {
                HostStmt::Launch(kernel) => Some(*kernel),
                HostStmt::For { .. } => None,
            })
            .collect();
        // Only the program has them: the kernel says nothing of what they hold.
        let of_program = |k: usize| {
            let global = &program.globals[k];
            global.owner == Owner::Launch && !self.is_of_kernel(&global.name)
        };
        let (mut wanted, mut kept) = (BTreeSet::new(), Vec::new());
        for kernel in launches.into_iter().rev() {
            let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
            Stmt::visit(&program.kernels.get(kernel)?.body, &mut |stmt| {
                if let Some(to) = stmt.written()
                    && let Memory::Global(k) = to.element.memory
                {
                    writes.insert(k);
                }
                stmt.each_read(&mut |from| {
                    if let Memory::Global(k) = from.element.memory {
                        reads.insert(k);
                    }
                });
            });
            if is_own(kernel)? || !wanted.is_disjoint(&writes) {
                wanted.extend(reads.into_iter().filter(|k| of_program(*k)));
                kept.push(kernel);
            }
        }
        kept.reverse();
        Some(kept)
    }
}

/// The body of the loop over the segments, with the host loops around.
fn inside<'k>(trees: &'k [Tree], segment: &Name, around: &mut Vec<Name>) -> Option<&'k [Tree]> {
    for tree in trees {
        let Tree::Loop { iname, body } = tree else { continue };
        if iname == segment {
            return Some(body);
        }
        around.push(iname.clone());
        if let Some(found) = inside(body, segment, around) {
            return Some(found);
        }
        around.pop();
    }
    None
}

/// The first host body in which a launch is asked for.
fn body_with<'p>(body: &'p [HostStmt], wanted: &dyn Fn(usize) -> bool) -> Option<&'p [HostStmt]> {
    let is_here = body.iter().any(|stmt| matches!(stmt, HostStmt::Launch(kernel) if wanted(*kernel)));
    if is_here {
        return Some(body);
    }
    body.iter().find_map(|stmt| match stmt {
        HostStmt::For { body, .. } => body_with(body, wanted),
        HostStmt::Launch(_) => None,
    })
}
