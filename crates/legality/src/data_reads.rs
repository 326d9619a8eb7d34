//! Values that the kernel reads from arrays that it does not write, as functions of the execution
//! that reads them.
//!
//! Such a value appears in constraints and subscripts under a name: that of the scalar temporary it
//! was loaded into, or a generated one (`idx[i]`, which no kernel can declare). The array and the
//! subscripts are recorded with the name, so that a query about two executions can use the declared
//! facts about the array: see [`crate::Load`].
//!
//! A scalar counts as loaded if exactly one instruction writes it, unconditionally, before the
//! reader in the loop tree, if its type keeps the element's value, and if the loaded element is a
//! function of coordinates, parameters and loops that also enclose the reader. A conversion of an
//! element or of such a scalar is the value itself if the type has all values of the array's, or
//! all that are declared of it.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{Access, AddressSpace, Expr, Instruction, KernelData, Name, Part, PartRef, Type};

/// The read-only arrays, and the scalar temporaries that are loaded from them.
pub struct DataReads<'k> {
    kernel: &'k KernelData,
    unwritten: BTreeSet<&'k Name>,
    scalars: BTreeMap<&'k Name, (&'k Instruction, &'k Access)>,
}

impl<'k> DataReads<'k> {
    /// The read-only arrays and loaded scalars of a kernel.
    pub fn new(kernel: &'k KernelData) -> Self {
        let mut writers: BTreeMap<&Name, Vec<&Instruction>> = BTreeMap::new();
        for i in &kernel.instructions {
            i.targets.iter().for_each(|t| writers.entry(&t.array).or_default().push(i));
        }
        let unwritten = kernel
            .args
            .iter()
            .filter(|a| matches!(a, loopwright_kernel_ir::Arg::Array(_)))
            .map(|a| a.name())
            .chain(kernel.constants.iter().map(|c| &c.array.name))
            .filter(|n| !writers.contains_key(*n))
            .collect::<BTreeSet<&Name>>();
        let mut scalars = BTreeMap::new();
        for t in kernel.temporaries.iter().filter(|t| t.axes.is_empty() && t.space != AddressSpace::Global) {
            if let Some([i]) = writers.get(&t.name).map(Vec::as_slice)
                && i.update.is_none()
                && let ([_], None, Expr::Subscript(access)) = (i.targets.as_slice(), &i.predicate, &i.value)
                && unwritten.contains(&access.array)
                && kernel.keeps(&t.name, &access.array)
            {
                scalars.insert(&t.name, (*i, access));
            }
        }
        DataReads { kernel, unwritten, scalars }
    }

    /// The part that loads a scalar, and the element that it loads.
    pub fn load_of(&self, scalar: &Name) -> Option<(PartRef, &'k Access)> {
        let (i, access) = self.scalars.get(scalar)?;
        Some((PartRef { instruction: i.id.clone(), part: Part::Whole }, access))
    }

    /// The expression with each element of a read-only array replaced by a name, and without the
    /// conversions that keep what was loaded. The names and their elements are appended to `found`.
    pub fn named(&self, e: &Expr, found: &mut Vec<(Name, Access)>) -> Expr {
        match e {
            Expr::Subscript(access) if self.unwritten.contains(&access.array) => {
                let name = Name::new(e.to_string());
                if !found.iter().any(|(n, _)| *n == name) {
                    found.push((name.clone(), access.clone()));
                }
                Expr::Name(name)
            }
            Expr::Cast(dtype, value) => match self.named(value, found) {
                Expr::Name(name) if self.is_kept_by(dtype, &name, found) => Expr::Name(name),
                value => Expr::Cast(dtype.clone(), value.into()),
            },
            _ => e.map_children(&mut |child| self.named(child, found)),
        }
    }

    /// Whether a conversion to this type does not change a loaded value.
    fn is_kept_by(&self, dtype: &Type, name: &Name, found: &[(Name, Access)]) -> bool {
        let element = found.iter().find(|(n, _)| n == name).map(|(_, access)| access);
        let access = element.or_else(|| Some(self.scalars.get(name)?.1));
        access.is_some_and(|access| self.kernel.is_kept_by(&access.array, dtype))
    }
}
