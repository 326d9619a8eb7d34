//! Accesses of a nest, and how they move along its inames.

use loopwright_kernel_ir::{AddressSpace, Aff, Expr, Instruction, KernelData, Name};

/// How far apart in memory the elements are that neighbouring values of an iname access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stride {
    /// It is the same element.
    Same,
    /// The elements are neighbours.
    Unit,
    /// They are apart by more, or by what only data tell.
    Apart,
}

/// One access to global memory in the text of a kernel.
#[derive(Clone, Debug)]
pub struct Site {
    /// The id of the instruction that makes the access.
    pub instruction: Name,
    /// The array in global memory.
    pub array: Name,
    /// Whether the access writes; it reads otherwise.
    pub is_write: bool,
    /// Its subscripts as functions of inames and parameters; `None` for one that is not affine.
    pub index: Vec<Option<Aff>>,
    /// Its subscripts in the text.
    pub text: Vec<Expr>,
    /// Size of an element in bytes.
    pub bytes: usize,
    /// The axis along which elements are neighbours; `None` if the array has no such axis.
    pub dense: Option<usize>,
    /// The inames around it, those of reductions included.
    pub inames: Vec<Name>,
}

impl Site {
    /// How it moves along an iname.
    pub fn stride(&self, iname: &str) -> Stride {
        let names = |k: usize| match (&self.index[k], self.text.get(k)) {
            (Some(aff), _) => aff.mentions(iname),
            (None, Some(text)) => text.names().iter().any(|n| **n == *iname),
            (None, None) => true,
        };
        let moving: Vec<usize> = (0..self.index.len()).filter(|k| names(*k)).collect();
        match *moving {
            [] => Stride::Same,
            [axis] if Some(axis) == self.dense => match &self.index[axis] {
                Some(aff) if aff.coefficient(iname).abs() == 1 => Stride::Unit,
                _ => Stride::Apart,
            },
            _ => Stride::Apart,
        }
    }

    /// How often it is made, relative to accesses outside all loops.
    pub fn weight(&self) -> f64 {
        32f64.powi(i32::try_from(self.inames.len()).unwrap_or(i32::MAX)) * self.bytes as f64
    }
}

/// The arrays that an instruction reads, in any memory.
pub(crate) fn reads(instruction: &Instruction) -> Vec<Name> {
    let expressions = instruction.targets.iter().flat_map(|target| &target.index);
    let expressions = expressions.chain([&instruction.value]).chain(&instruction.predicate);
    expressions.flat_map(|e| e.accesses()).map(|access| access.array).collect()
}

/// The accesses of an instruction to global memory.
pub fn sites(kernel: &KernelData, instruction: &Instruction) -> Vec<Site> {
    let mut found = Vec::new();
    let around: Vec<Name> = instruction.within.clone();
    for target in &instruction.targets {
        push(kernel, instruction, &target.array, &target.index, true, &around, &mut found);
        for e in &target.index {
            walk(kernel, instruction, e, &around, &mut found);
        }
    }
    walk(kernel, instruction, &instruction.value, &around, &mut found);
    if let Some(e) = &instruction.predicate {
        walk(kernel, instruction, e, &around, &mut found);
    }
    found
}

fn walk(kernel: &KernelData, of: &Instruction, e: &Expr, inames: &[Name], found: &mut Vec<Site>) {
    let mut inner = inames.to_vec();
    match e {
        Expr::Subscript(access) => {
            push(kernel, of, &access.array, &access.index, false, inames, found);
        }
        Expr::Reduce(reduce) => {
            let own = reduce.inames.iter().flat_map(|n| kernel.base_of(n));
            for n in own {
                if !inner.contains(&n) {
                    inner.push(n);
                }
            }
        }
        _ => {}
    }
    e.each_child(&mut |child| walk(kernel, of, child, &inner, found));
}

fn push(
    kernel: &KernelData,
    of: &Instruction,
    array: &Name,
    index: &[Expr],
    is_write: bool,
    inames: &[Name],
    found: &mut Vec<Site>,
) {
    let Some(declared) = kernel.array(array) else { return };
    if declared.space != AddressSpace::Global || index.is_empty() {
        return;
    }
    let dense = declared.storage_order().last().copied().filter(|k| {
        let axis = &declared.axes[*k];
        axis.stride.as_ref().is_none_or(|s| *s == Expr::Int(1))
    });
    // An instruction may iterate over declared inames under other names.
    let own = |name: &Name| of.map.get(name).cloned();
    let aff = |e: &Expr| {
        let aff = e.to_aff().filter(|aff| {
            aff.names()
                .iter()
                .all(|n| kernel.is_iname(n) || kernel.definition(n).is_some() || is_scalar(kernel, n))
        })?;
        kernel.expand(&aff.substitute(&own).ok()?).ok()
    };
    found.push(Site {
        instruction: of.id.clone(),
        array: array.clone(),
        is_write,
        index: index.iter().map(aff).collect(),
        text: index.to_vec(),
        bytes: declared.dtype.known().map_or(4, |t| t.bytes()),
        dense,
        inames: inames.to_vec(),
    });
}

/// Whether the name is a scalar argument: the same for the whole launch.
fn is_scalar(kernel: &KernelData, name: &str) -> bool {
    kernel.args.iter().any(|arg| **arg.name() == *name) && kernel.array(name).is_none()
}
