//! Finds the hardware instruction that does the updates of a reduction.

use std::collections::HashMap;

use loopwright_atom::{Atom, Operand, atoms_of, matching};
use loopwright_kernel_ir::{
    AtomUse, DType, Diagnostic, Instruction, Lookup, LoopKernel, Name, Part, Tag, TypeTable,
};

use super::tensorize::{Tensorize, require_length};
use crate::{Transform, rewrite::unknown_instruction};

step! {
    /// `map_to_atom(product)`: the updates of a sum of products are done by the first hardware
    /// instruction (*atom*) that fits.
    ///
    /// # Meaning
    ///
    /// As [`Tensorize`](crate::Tensorize), with an atom and loops that are searched for: of all
    /// atoms, the kernel's own first and then the library's, each after those with larger boxes;
    /// for `m` and `n` the loops around the instruction, outermost first, and for `k` those of its
    /// reduction. An atom fits if loops have the lengths of its box, if the instruction is the
    /// atom's product, and if it is added in the atom's type. `explain` shows which was chosen.
    ///
    /// # Legality
    ///
    /// That of `tensorize`. If no atom fits, the refusal says for each of them which condition does
    /// not hold.
    ///
    /// In text: `map_to_atom(product)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel tile(a: f64[8, 4], b: f64[4, 8], c: f64[8, 8])
    /// domain { [i, j] : 0 <= i < 8 and 0 <= j < 8 }
    /// domain { [k] : 0 <= k < 4 }
    /// c[i, j] = sum(k, a[i, k] * b[k, j]) {id=product}
    /// ")?;
    /// let searched = Pipeline::parse("map_to_atom(product)")?.apply(&before)?;
    /// let named = Pipeline::parse("tensorize(product, mma_m8n8k4_f64, m=i, n=j, k=k)")?.apply(&before)?;
    /// assert_eq!(searched, named);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct MapToAtom as "map_to_atom" {
        /// The id of an instruction whose value is a sum of products.
        pub instruction: Name = next("the instruction"),
    }
    table: "map_to_atom(id)" => "–",
    methods: {
        /// See [`MapToAtom`].
        fn map_to_atom(&self, instruction: &str) -> Result<Self, Diagnostic> {
            self.step(MapToAtom::new(instruction))
        }
    }
}

impl MapToAtom {
    /// The updates of this instruction by the first atom that fits.
    pub fn new(instruction: impl Into<Name>) -> Self {
        MapToAtom { instruction: instruction.into() }
    }

    /// The step with the atom and the loops that are chosen.
    fn chosen(&self, kernel: &LoopKernel) -> Result<Tensorize, Diagnostic> {
        let id = &self.instruction;
        let Some(instruction) = kernel.instruction(id) else {
            return Err(unknown_instruction(kernel, id));
        };
        let sums = sum_types(kernel, instruction)?;
        let lookup = Lookup::new(kernel);
        let loops = lookup.inames_of(instruction, Part::Update(0));
        let is_around = |iname: &&Name| instruction.within.contains(iname);
        let sequential = |iname: &&Name| matches!(kernel.tag(iname), Tag::Seq | Tag::Unroll);
        let around: Vec<&Name> =
            loops.iter().filter(is_around).filter(|n| kernel.tag(n) == Tag::Seq).collect();
        let reduced: Vec<&Name> = loops.iter().filter(|n| !is_around(n)).filter(sequential).collect();
        let volume = |atom: &Atom| atom.shape().iter().product::<i64>();
        let mut atoms: Vec<&Atom> = atoms_of(kernel).map(|atom| &**atom).collect();
        let own = kernel.atoms.len();
        for part in [0..own, own..atoms.len()] {
            atoms[part].sort_by_key(|atom| std::cmp::Reverse(volume(atom)));
        }
        let mut refusals = Vec::new();
        let mut lengths = Lengths::default();
        for atom in atoms {
            match fit(kernel, &lookup, instruction, atom, (&around, &reduced), (&sums, &mut lengths)) {
                Ok(axes) => return Ok(Tensorize::new(id, atom.name(), axes)),
                Err(why) => refusals.push(format!("`{}`: {why}", atom.name())),
            }
        }
        Err(Diagnostic::new("no-atom-fits", format!("no atom does the updates of `{id}`"))
            .witness(refusals.join("\n"))
            .help("split loops to the lengths of a box first, as split_iname(i, 16)"))
    }
}

/// The types in which the reductions of an instruction are added up; none where that is open.
fn sum_types(kernel: &LoopKernel, i: &Instruction) -> Result<Vec<DType>, Diagnostic> {
    let table = TypeTable::new(kernel).or_else(DType::I32);
    let wanted: Vec<DType> = i.targets.iter().filter_map(|t| table.element(&t.array)?.known()).collect();
    Ok(table.reduction_types(&i.value, &wanted)?.into_iter().flat_map(|types| types.state).collect())
}

/// Whether loops go from 0 to a length, as far as that was asked: atoms ask the same of them.
type Lengths = HashMap<(Name, i64), bool>;

/// The loops for an atom's `m`, `n` and `k`, or why it does not fit.
fn fit(
    kernel: &LoopKernel,
    lookup: &Lookup<'_>,
    instruction: &Instruction,
    atom: &Atom,
    (around, reduced): (&[&Name], &[&Name]),
    (sums, lengths): (&[DType], &mut Lengths),
) -> Result<[Name; 3], String> {
    let mut with_length = |inames: &[&Name], axis: usize| -> Vec<Name> {
        let (name, length) = (["m", "n", "k"][axis], atom.shape()[axis]);
        let mut fits = |iname: &&Name| {
            let known = lengths.entry(((**iname).clone(), length));
            *known.or_insert_with(|| require_length(kernel, atom, name, iname, length).is_ok())
        };
        inames.iter().copied().filter(|iname| fits(iname)).cloned().collect()
    };
    let candidates = [with_length(around, 0), with_length(around, 1), with_length(reduced, 2)];
    for (axis, found) in candidates.iter().enumerate() {
        if found.is_empty() {
            let (name, length) = (["m", "n", "k"][axis], atom.shape()[axis]);
            let place = if axis == 2 { "of its reduction" } else { "around it, without a tag," };
            return Err(format!("no loop {place} goes from 0 to {}, as `{name}` does", length - 1));
        }
    }
    let [of_m, of_n, of_k] = &candidates;
    let mut first = None;
    for (m, n, k) in of_m
        .iter()
        .flat_map(|m| of_n.iter().map(move |n| (m, n)))
        .flat_map(|(m, n)| of_k.iter().map(move |k| (m, n, k)))
    {
        if m == n {
            continue;
        }
        let axes = [m.clone(), n.clone(), k.clone()];
        let used = AtomUse { name: atom.name().clone(), axes: axes.clone() };
        match matching(lookup, instruction, atom, &used) {
            Ok(_) => {
                let d = atom.operand(Operand::D).dtype;
                if *sums != [d] {
                    let found = sums.iter().map(DType::to_string).collect::<Vec<_>>().join(", ");
                    return Err(format!("it adds in {d}, and the sum is {found}"));
                }
                return Ok(axes);
            }
            Err(refused) => {
                first.get_or_insert_with(|| {
                    refused
                        .message
                        .split_once(": ")
                        .map_or_else(|| refused.message.clone(), |(_, why)| why.to_string())
                });
            }
        }
    }
    Err(first.unwrap_or_else(|| "one loop cannot be both `m` and `n`".into()))
}

impl Transform for MapToAtom {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        self.chosen(kernel)?.apply(kernel)
    }

    fn notes(&self, before: &LoopKernel) -> Vec<String> {
        let Ok(Tensorize { atom, m, n, k, .. }) = self.chosen(before) else { return Vec::new() };
        vec![format!("`{atom}` with m={m}, n={n}, k={k}")]
    }
}
