//! Places in a kernel where steps may apply: loops, sweeps over arrays, scans, segments, values
//! that several instructions read.

use loopwright_kernel_ir::{AddressSpace, Array, Expr, Instruction, LoopKernel, Name, Tree};

use crate::rng::{Rng, any};

/// The structure of the loop tree.
#[derive(Default)]
pub(crate) struct Loops {
    /// The path of every loop: the loops around it, outermost first, then itself.
    pub paths: Vec<Vec<Name>>,
    /// Loops whose body is a single loop, with that loop.
    pub perfect: Vec<(Name, Name)>,
    /// Loops that are neighbours.
    pub neighbours: Vec<(Name, Name)>,
    /// Loops with several children.
    pub several: Vec<Name>,
}

impl Loops {
    pub fn of(kernel: &LoopKernel) -> Loops {
        let mut loops = Loops::default();
        loops.walk(&kernel.tree, &mut Vec::new());
        loops
    }

    fn walk(&mut self, trees: &[Tree], path: &mut Vec<Name>) {
        for pair in trees.windows(2) {
            if let [Tree::Loop { iname: i, .. }, Tree::Loop { iname: j, .. }] = pair {
                self.neighbours.push((i.clone(), j.clone()));
            }
        }
        for tree in trees {
            let Tree::Loop { iname, body } = tree else { continue };
            path.push(iname.clone());
            self.paths.push(path.clone());
            match body.as_slice() {
                [Tree::Loop { iname: inner, .. }] => self.perfect.push((iname.clone(), inner.clone())),
                [_, _, ..] => self.several.push(iname.clone()),
                _ => {}
            }
            self.walk(body, path);
            path.pop();
        }
    }

    pub fn names(&self) -> Vec<Name> {
        self.paths.iter().filter_map(|p| p.last().cloned()).collect()
    }

    /// Some loops, each the only child of the previous one.
    pub fn chain(&self, rng: &mut Rng) -> Option<Vec<Name>> {
        let (i, j) = any(rng, &self.perfect)?;
        let mut chain = vec![i, j];
        while let Some((_, next)) = self.perfect.iter().find(|(o, _)| chain.last() == Some(o)) {
            if chain.len() > 2 || rng.chance(50) {
                break;
            }
            chain.push(next.clone());
        }
        Some(chain)
    }
}

pub(crate) fn mentions(e: &Expr, array: &Name) -> bool {
    let mut found = false;
    e.visit(&mut |e| {
        found |= match e {
            Expr::Subscript(a) => a.array == *array,
            Expr::Name(n) => n == array,
            _ => false,
        }
    });
    found
}

pub(crate) fn inames_of(i: &Instruction) -> Vec<Name> {
    let reduced = i.reductions().iter().flat_map(|r| r.inames.clone()).collect::<Vec<_>>();
    i.within.iter().cloned().chain(reduced).collect()
}

/// Inames for a sweep: one or two of the innermost of an instruction that reads (or writes) the
/// array.
pub(crate) fn sweep(rng: &mut Rng, kernel: &LoopKernel, array: &Name, writes: bool) -> Option<Vec<Name>> {
    let touching: Vec<&Instruction> = kernel
        .instructions
        .iter()
        .filter(|i| mentions(&i.value, array) || writes && i.targets.iter().any(|t| t.array == *array))
        .collect();
    let i = any(rng, &touching)?;
    let inames = inames_of(i);
    if inames.is_empty() {
        return None;
    }
    let count = 1 + usize::from(inames.len() > 1 && rng.chance(40));
    let last = inames.len() - usize::from(inames.len() > count && rng.chance(25));
    let mut chosen = inames[last - count..last].to_vec();
    // The inner part of a split has constant length.
    if rng.chance(60)
        && let Some(inner) = inames.iter().find(|n| n.ends_with("_inner"))
    {
        chosen = vec![inner.clone()];
    }
    Some(chosen)
}

pub(crate) fn temporaries(kernel: &LoopKernel, wanted: impl Fn(&Array) -> bool) -> Vec<Name> {
    kernel.temporaries.iter().filter(|t| wanted(t)).map(|t| t.name.clone()).collect()
}

/// The innermost loop around a reduction with one of its inames.
pub(crate) fn scans(kernel: &LoopKernel) -> Vec<(Name, Name)> {
    let mut pairs: Vec<(Name, Name)> = Vec::new();
    for i in kernel.instructions.iter().filter(|i| i.reductions().len() == 1 && i.scan.is_none()) {
        let points = i.reductions().iter().flat_map(|r| r.inames.clone()).collect::<Vec<_>>();
        pairs.extend(i.within.last().into_iter().flat_map(|w| points.iter().map(|p| (w.clone(), p.clone()))));
    }
    pairs
}

/// The scans whose range grows with the loop.
pub(crate) fn growing(kernel: &LoopKernel) -> Vec<(Name, Name)> {
    let grows = |(sweep, point): &(Name, Name)| {
        kernel.domains.iter().any(|d| {
            d.inames.contains(point)
                && d.constraints.iter().any(|c| c.aff.mentions(sweep) && c.aff.mentions(point))
        })
    };
    scans(kernel).into_iter().filter(grows).collect()
}

/// Whether a kernel has a rare feature that some step needs.
pub fn is_rare(kernel: &LoopKernel) -> bool {
    if crate::products::is_product(kernel) {
        return true;
    }
    !segments(kernel).is_empty() || !growing(kernel).is_empty()
}

/// Loops over segments between offsets, with the iname of their points.
pub(crate) fn segments(kernel: &LoopKernel) -> Vec<(Name, Name)> {
    let bound = Name::new("lo");
    let points: Vec<&Name> = kernel
        .domains
        .iter()
        .filter(|d| d.constraints.iter().any(|c| c.aff.mentions(&bound)))
        .flat_map(|d| &d.inames)
        .collect();
    let reduced = |x: &Instruction, i: &Name| x.reductions().iter().any(|r| r.inames.contains(i));
    let of = |i: &Name| {
        let x = kernel.instructions.iter().find(|x| reduced(x, i))?;
        Some((x.within.last()?.clone(), i.clone()))
    };
    points.into_iter().filter_map(of).collect()
}

/// Loops over private and shared values that several instructions read, with the enclosing loops:
/// on blocks, a kernel boundary may be needed between two of the instructions.
pub(crate) fn kept(kernel: &LoopKernel) -> Vec<(Name, Vec<Name>)> {
    let mut found = Vec::new();
    for t in &kernel.temporaries {
        let readers = kernel.instructions.iter().filter(|i| mentions(&i.value, &t.name)).count();
        let writers: Vec<&Instruction> =
            kernel.instructions.iter().filter(|i| i.targets.iter().any(|x| x.array == t.name)).collect();
        let ([writer], true) = (writers.as_slice(), readers > 1 && t.space != AddressSpace::Global) else {
            continue;
        };
        let own: Vec<Name> = writer.targets[0].index.iter().flat_map(Expr::names).collect();
        if let Some(at) = writer.within.iter().rposition(|n| !own.contains(n)) {
            found.push((writer.within[at].clone(), writer.within[..at].to_vec()));
        }
    }
    found
}
