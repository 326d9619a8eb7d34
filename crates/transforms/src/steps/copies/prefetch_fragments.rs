//! Loads the fragments of a product before it, by instructions of their own.

use loopwright_atom::{Factors, matching};
use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, Axis, Diagnostic, Expr, Instruction, Lookup, LoopKernel, Name, Part,
    PartRef, Role, Tag, Tree,
};

use crate::{
    TagInames, Transform,
    rewrite::{
        extent::{Extents, instances_of},
        fresh, give_own_inames, map_expressions, replace_accesses, require_array, tree, unknown_instruction,
    },
};

step! {
    /// `prefetch_fragments(product)`: the fragments of a product by a hardware instruction are
    /// loaded by instructions of their own, which other steps can move ahead of the product.
    ///
    /// # Meaning
    ///
    /// The instruction has its updates done by an atom (see [`tensorize`](crate::Tensorize)). For
    /// each factor there is a private array, for `a_tile` it is `a_fragment`, with an axis for each
    /// lane of the thread that the factor depends on, and one for the atom's `k`. `a_load` copies
    /// what a box needs into it, directly before the loop over `k`, and the product reads the
    /// array.
    ///
    /// In the kernel each thread has all elements that its results need. In the program a warp
    /// shares them: a thread holds its part of each fragment, as the atom's placements say, and
    /// `a_load` is a load of fragments (`ldmatrix` where rows of shared memory allow it). The final
    /// check shows, lane by lane and element by element, that the instruction finds what the kernel
    /// reads.
    ///
    /// [`pipeline`](crate::Pipelined) with two stages then loads the fragments of the next step
    /// while the products of this one run, and [`advance`](crate::Advance) does so across the edge
    /// of a tile. Loops whose iterations take turns with the slots have to be unrolled, so that
    /// registers have constant numbers.
    ///
    /// # Legality
    ///
    /// The copies are judged as those of [`add_prefetch`](crate::AddPrefetch) are. Lanes need
    /// constant lengths. Lowering refuses such an array if anything but loads of fragments writes
    /// it, or anything but products by one kind of atom reads it.
    ///
    /// In text: `prefetch_fragments(product)`.
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
    /// let steps = Pipeline::parse("\
    /// tensorize(product, mma_m8n8k4_f64, m=i, n=j, k=k)
    /// prefetch_fragments(product)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel tile(a: f64[8, 4], b: f64[4, 8], c: f64[8, 8])
    /// domain { [i, j] : 0 <= i <= 7 and 0 <= j <= 7 }
    /// domain { [k] : 0 <= k <= 3 }
    /// domain { [j_lane, j_reg] : 0 <= j_reg <= 1 }
    /// domain { [lane] : 0 <= lane <= 31 }
    /// domain { [k_a] : 0 <= k_a <= 3 }
    /// domain { [j_reg_b, k_b] : 0 <= 2*(lane mod 4) + j_reg_b <= 7 and 0 <= k_b <= 3 and 0 <= j_reg_b <= 1 }
    /// temp a_fragment: f64[4] private
    /// temp b_fragment: f64[2, 4] private
    /// let j = 2*j_lane + j_reg
    /// let i = floor(lane/4)
    /// let j_lane = lane mod 4
    /// tag j_reg: ilp
    /// tag j_reg_b: unroll
    /// tag k_a: unroll
    /// tag k_b: unroll
    /// tag lane: lane
    /// a_fragment[k_a] = a[i, k_a] {id=a_load, inames=lane:k_a, copies=a, by=prefetch_fragments}
    /// b_fragment[j_reg_b, k_b] = b[k_b, 2 * (lane % 4) + j_reg_b] {id=b_load, inames=lane:j_reg_b:k_b, copies=b, by=prefetch_fragments}
    /// c[i, j] = sum(k, a_fragment[k] * b_fragment[j_reg, k]) {id=product, inames=lane:j_reg, atom=mma_m8n8k4_f64(i, j, k)}
    /// tree {
    ///     product.init
    ///     for k_a {
    ///         a_load
    ///     }
    ///     for j_reg_b {
    ///         for k_b {
    ///             b_load
    ///         }
    ///     }
    ///     for k {
    ///         product.update
    ///     }
    ///     product.finish
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct PrefetchFragments as "prefetch_fragments" {
        /// The id of an instruction that `tensorize` has given to an atom.
        pub instruction: Name = next("the instruction"),
    }
    table: "prefetch_fragments(id)" => "–",
    methods: {
        /// See [`PrefetchFragments`].
        fn prefetch_fragments(&self, instruction: &str) -> Result<Self, Diagnostic> {
            self.step(PrefetchFragments::new(instruction))
        }
    }
}

impl PrefetchFragments {
    /// Loads the fragments of this product by instructions of their own.
    pub fn new(instruction: impl Into<Name>) -> Self {
        PrefetchFragments { instruction: instruction.into() }
    }

    /// The kernel with the fragments of one factor loaded before the loop over `k`.
    fn load(&self, kernel: &LoopKernel, factor: &Access, k: &Name) -> Result<LoopKernel, Diagnostic> {
        let id = &self.instruction;
        let source = require_array(kernel, &factor.array)?.clone();
        if source.space == AddressSpace::Private {
            let message = format!("`{id}` reads `{}`, which is in registers already", source.name);
            return Err(Diagnostic::new("fragments", message)
                .help("fragments are loaded from shared or global memory, once"));
        }
        let update = PartRef { instruction: id.clone(), part: Part::Update(0) };
        let mut loops = tree::path_of(&kernel.tree, &update);
        if loops.pop().as_ref() != Some(k) {
            let message =
                format!("the loop over `{k}` is not the innermost one around the updates of `{id}`");
            return Err(
                Diagnostic::new("fragments", message).help("move it inside of the others with `reorder`")
            );
        }
        // What the factor depends on, as base inames.
        let mut needed: Vec<Name> = Vec::new();
        for e in &factor.index {
            if let Some(aff) = e.to_aff() {
                needed.extend(kernel.expand(&aff)?.names());
            }
        }
        let inames = kernel.part_inames(&update);
        let lanes: Vec<Name> =
            inames.iter().filter(|n| needed.contains(n) && kernel.tag(n).is_jam()).cloned().collect();
        let extents = Extents::new(kernel);
        let mut axes = Vec::new();
        for n in lanes.iter().chain([k]) {
            let range = extents.range(n)?;
            let length = range.and_then(|r| r.length.filter(|_| r.lower.as_constant() == Some(0)));
            let Some(length) = length else {
                let message =
                    format!("`{n}` does not go from 0 to a constant, so its fragments have no number");
                return Err(Diagnostic::new("fragments", message).help("split it by a constant first"));
            };
            axes.push(Axis::new(Expr::Int(length)));
        }
        // It runs in the threads and blocks of the product, for the executions that some update
        // needs: of the lanes that it does not depend on, there has to be one at all.
        let is_dropped = |n: &&Name| kernel.tag(n).is_jam() && !lanes.contains(n);
        let within: Vec<Name> = inames.iter().filter(|n| !is_dropped(n)).cloned().collect();
        let stays = |n: &Name| within.contains(n) || !(kernel.is_iname(n) || kernel.temporary(n).is_some());
        let wanted = instances_of(kernel, &update)?.keep_only(&stays)?.system;
        let stem = factor.array.trim_end_matches("_tile").to_string();
        let buffer = fresh(kernel, &format!("{stem}_fragment"));
        let load = fresh(kernel, &format!("{stem}_load"));
        let old: Vec<Name> = lanes.iter().chain([k]).cloned().collect();
        let own: Vec<Name> = old.iter().map(|n| fresh(kernel, &format!("{n}_{stem}"))).collect();
        let element = Access::new(&buffer, old.iter().map(|n| Expr::Name(n.clone())).collect());
        let mut failed = None;
        let changed = kernel.edit(|data| {
            let Some(at) = data.instructions.iter().position(|i| i.id == *id) else {
                return Err(unknown_instruction(kernel, id));
            };
            let mut replace = |e: &Expr| {
                let of = |access: &Access| {
                    let element = if access == factor { &element } else { access };
                    Ok(Expr::Subscript(element.clone()))
                };
                replace_accesses(e, &factor.array, &of, &mut failed)
            };
            map_expressions(&mut data.instructions[at], &mut replace);
            if let Some(d) = failed.take() {
                return Err(d);
            }
            data.temporaries.push(Array::new(&buffer, source.dtype.clone(), axes, AddressSpace::Private));
            let copy = Instruction {
                within: within.clone(),
                made_by: Some(Name::new("prefetch_fragments")),
                ..Instruction::new(
                    &load,
                    vec![element.clone()],
                    Expr::Subscript(factor.clone()),
                    Role::Copies { source: factor.array.clone() },
                )
            };
            data.instructions.insert(at, copy);
            let leaf = Tree::Leaf(PartRef { instruction: load.clone(), part: Part::Whole });
            for tree in tree::nest(&own, vec![leaf]) {
                tree::insert_before(&mut data.tree, &loops, std::slice::from_ref(&update), tree)?;
            }
            let pairs: Vec<(Name, Name)> = old.iter().cloned().zip(own.iter().cloned()).collect();
            give_own_inames(data, std::slice::from_ref(&load), &pairs)?;
            // It does no instance of a declared instruction.
            for copy in data.instructions.iter_mut().filter(|i| i.id == load) {
                copy.map.clear();
            }
            let copied = PartRef { instruction: load.clone(), part: Part::Whole };
            let runs = instances_of(data, &copied)?;
            for c in wanted.constraints() {
                let c = c.substitute(&|n| {
                    let new = pairs.iter().find(|(old, _)| old == n);
                    new.map(|(_, new)| Aff::var(new))
                })?;
                if !runs.implies(&c)?
                    && let Some(domain) = data.domains.last_mut()
                {
                    domain.constraints.push(c);
                }
            }
            Ok(())
        })?;
        TagInames { tags: own.into_iter().map(|n| (n, Tag::Unroll)).collect() }.apply(&changed)
    }
}

impl Transform for PrefetchFragments {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let id = &self.instruction;
        let Some(instruction) = kernel.instruction(id) else {
            return Err(unknown_instruction(kernel, id));
        };
        let Some(used) = &instruction.atom else {
            let message = format!("`{id}` is not done by an atom, so that it has no fragments");
            return Err(Diagnostic::new("fragments", message)
                .help("give its updates to an instruction first, with `tensorize` or `map_to_atom`"));
        };
        let Some(atom) = loopwright_atom::named(&kernel.atoms, &used.name).cloned() else {
            return Err(Diagnostic::new("unknown-atom", format!("there is no atom `{}`", used.name)));
        };
        let Factors { a, b } = matching(&Lookup::new(kernel), instruction, &atom, used)?;
        let k = &used.axes[2];
        let loaded = self.load(kernel, &a, k)?;
        self.load(&loaded, &b, k)
    }
}
