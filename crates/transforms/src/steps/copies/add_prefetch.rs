//! Prefetches the elements of an array that a sweep reads into a buffer.

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, Axis, Diagnostic, Expr, Instruction, LoopKernel, Name, Role, Tree, Via,
};

use crate::{
    Number, Transform,
    rewrite::{
        add_instruction, buffered,
        chosen::Chosen,
        fetch_names,
        footprint::{self, Span},
        fresh, map_expressions, onto, replace_accesses, require_array, require_fresh, require_iname, site,
        spread,
    },
};

step! {
    /// `add_prefetch(a, [i_inner, k_inner])`: copies the elements of `a` that are read in the sweep
    /// over the inames into a buffer of the block first.
    ///
    /// # Meaning
    ///
    /// The *footprint* of all reads under the sweep is a box: on each axis a base, which is a
    /// function of the names that are not swept, and a constant length; of cells that are
    /// all a step apart, those between them are left out. `a_tile` has these lengths
    /// (axes of length 1 are left out), `a_fetch` copies the cells that exist and are needed, and
    /// the reads become reads of `a_tile`. A stencil's halo is part of the box. The copy is
    /// directly before the first subtree that reads, inside the innermost sequential loop that its
    /// base depends on; for a split reduction iname that is between the loops of the reduction. Its
    /// loops are spread over all threads of the block that are tagged so far.
    ///
    /// # Legality
    ///
    /// Subscripts that are not affine, footprints without a constant length, and bases that differ
    /// between the threads that would share the buffer are refused. Every read of the buffer must
    /// see a copy of the cell that it read before, made after the last write of that cell before
    /// the read and before the next one: if the kernel writes the array, the copy is inside the
    /// loops around its reads and writes, and the step is refused with a counter-example if that is
    /// not enough.
    ///
    /// In text: `add_prefetch(a, [i_inner, k_inner])` with the options `space=private`,
    /// `name=a_tile`, `pad=1` (elements added to each row, against bank conflicts), `inames=[r, c]`
    /// (of the copy, one for each axis), `readers=[id, ...]` (only their reads),
    /// `accesses=[a[i, k]]` (only reads with these subscripts, compared as functions of inames),
    /// `vec=4` (a thread moves four neighbours of a row of `a` at once, where lowering can show
    /// that rows consist of whole vectors; `explain --lowered` says where it cannot),
    /// `via=cp_async` (the copies go on while their threads do, which wait for them before the
    /// barrier that stands before the readers; 4, 8 or 16 bytes at once, from global to shared
    /// memory, on sm_80 and later), `onto=[r, c]` (the copy runs in loops, or by threads, that
    /// exist, as of another copy; their inames have to take the values that new ones would take,
    /// neither more nor fewer).
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel transpose(x: f32[n, m], y: f32[m, n], n: i32, m: i32)
    /// assume 1 <= n and 1 <= m
    /// domain { [i, j] : 0 <= i < n and 0 <= j < m }
    /// y[j, i] = x[i, j] {id=move}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// split_iname(i, 32)
    /// split_iname(j, 32)
    /// split_iname(i_inner, 8, outer=ii, inner=it)
    /// tag_inames(i_outer: block.y, j_outer: block.x, it: thread.y, j_inner: thread.x)
    /// add_prefetch(x, [ii, it, j_inner], pad=1, inames=[r, c])
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel transpose(x: f32[n, m], y: f32[m, n], n: i32, m: i32)
    /// assume 1 <= n and 1 <= m
    /// domain { [i, j] : 0 <= i < n and 0 <= j < m }
    /// domain { [i_outer, i_inner] : 0 <= i_inner <= 31 }
    /// domain { [j_outer, j_inner] : 0 <= j_inner <= 31 }
    /// domain { [ii, it] : 0 <= it <= 7 }
    /// domain { [r, c] : 0 <= r <= 31 and 32*i_outer + r < n and 0 <= c <= 31 and 32*j_outer + c < m and 0 <= i_outer and 0 <= j_outer }
    /// domain { [r_outer, r_inner] : 0 <= r_inner <= 7 }
    /// temp x_tile: f32[32, 32 pad 1] shared
    /// let i = 32*i_outer + i_inner
    /// let j = 32*j_outer + j_inner
    /// let i_inner = 8*ii + it
    /// let r = 8*r_outer + r_inner
    /// tag c: thread.x
    /// tag i_outer: block.y
    /// tag it: thread.y
    /// tag j_inner: thread.x
    /// tag j_outer: block.x
    /// tag r_inner: thread.y
    /// tag r_outer: unroll
    /// x_tile[r, c] = x[32 * i_outer + r, 32 * j_outer + c] {id=x_fetch, inames=i_outer:j_outer:r_outer:r_inner:c, copies=x, by=add_prefetch}
    /// y[j, i] = x_tile[8 * ii + it, j_inner] {id=move, inames=i_outer:ii:it:j_outer:j_inner}
    /// tree {
    ///     for r_outer {
    ///         x_fetch
    ///     }
    ///     for ii {
    ///         move
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// One of two reads of an array in one statement, chosen by its subscripts:
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel gram(a: f32[64, 64], c: f32[64, 64])
    /// domain { [i, j, k] : 0 <= i < 64 and 0 <= j < 64 and 0 <= k < 64 }
    /// c[i, j] = sum(k, a[i, k]*a[j, k]) {id=gram}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// tag_inames(i: block.x, j: thread.x)
    /// add_prefetch(a, [k], accesses=a[i, k], name=row, inames=[r])
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel gram(a: f32[64, 64], c: f32[64, 64])
    /// domain { [i, j, k] : 0 <= i <= 63 and 0 <= j <= 63 and 0 <= k <= 63 }
    /// domain { [r] : 0 <= r <= 63 and i <= 63 and 0 <= i }
    /// temp row: f32[64] shared
    /// tag i: block.x
    /// tag j: thread.x
    /// tag r: thread.x
    /// row[r] = a[i, r] {id=a_fetch, inames=i:r, copies=a, by=add_prefetch}
    /// c[i, j] = sum(k, row[k] * a[j, k]) {id=gram, inames=i:j}
    /// tree {
    ///     gram.init
    ///     a_fetch
    ///     for k {
    ///         gram.update
    ///     }
    ///     gram.finish
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct AddPrefetch as "add_prefetch" {
        /// An array with axes, in any memory.
        pub array: Name = next("the array to prefetch"),
        /// The inames that are swept over.
        pub sweep: Vec<Name> = next("the inames to sweep over, as `[i_inner, j_inner]`") of Inames,
        /// The memory of the buffer: shared, which is the default, or private.
        #[serde(default = "shared")]
        pub space: AddressSpace = option(shared()),
        /// The buffer's name; by default the array's with the suffix `_tile`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<Name> = option(),
        /// The padding of each row in elements.
        #[serde(default = "no_padding")]
        pub pad: Number = option(no_padding()),
        /// Names of the copy's inames, one for each axis of the buffer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub inames: Vec<Name> = option(),
        /// The instructions whose reads are replaced; if empty, all instructions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub readers: Vec<Name> = option() of Instructions,
        /// The accesses that are replaced, written as in the kernel or as equal functions; if
        /// empty, all accesses.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub accesses: Vec<Access> = option(),
        /// The number of neighbours that a thread moves at once: 1, 2, 4, 8 or 16.
        #[serde(default = "single", skip_serializing_if = "is_single")]
        pub vec: Number = option(single()),
        /// How the elements are moved.
        #[serde(default, skip_serializing_if = "Via::is_plain")]
        pub via: Via = option(),
        /// Inames that exist, one for each axis of the buffer, in place of new ones.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub onto: Vec<Name> = option(),
    }
    table: "add_prefetch(a, [i_inner, k_inner])" => "`add_prefetch(k, \"a\", [\"i_inner\", \
        \"k_inner\"])`", "add_prefetch(a, [k], accesses=[a[i, k]])" => "`add_prefetch(k, \"a[i, :]\", \
        [\"k\"])`",
    methods: {
        /// See [`AddPrefetch`], which has options.
        fn add_prefetch(&self, array: &str, sweep: impl IntoNames) -> Result<Self, Diagnostic> {
            self.step(AddPrefetch::new(array, sweep.into_names()))
        }
    }
}

fn shared() -> AddressSpace {
    AddressSpace::Shared
}

fn no_padding() -> Number {
    Number::Known(0)
}

fn single() -> Number {
    Number::Known(1)
}

fn is_single(number: &Number) -> bool {
    *number == single()
}

impl AddPrefetch {
    /// A prefetch into shared memory.
    pub fn new<N: Into<Name>>(array: impl Into<Name>, sweep: impl IntoIterator<Item = N>) -> Self {
        AddPrefetch {
            array: array.into(),
            sweep: sweep.into_iter().map(Into::into).collect(),
            space: shared(),
            name: None,
            pad: no_padding(),
            inames: Vec::new(),
            readers: Vec::new(),
            accesses: Vec::new(),
            vec: single(),
            via: Via::Plain,
            onto: Vec::new(),
        }
    }

    /// Puts the buffer into private memory instead of shared memory.
    pub fn private(mut self) -> Self {
        self.space = AddressSpace::Private;
        self
    }

    /// Names the buffer, instead of the default name.
    pub fn named(mut self, name: impl Into<Name>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Pads each row of the buffer.
    pub fn padded(mut self, by: impl Into<Number>) -> Self {
        self.pad = by.into();
        self
    }

    /// Names the inames of the copy.
    pub fn fetch_inames<N: Into<Name>>(mut self, inames: impl IntoIterator<Item = N>) -> Self {
        self.inames = inames.into_iter().map(Into::into).collect();
        self
    }

    /// Moves this number of neighbours at once, as one vector.
    pub fn by_vectors(mut self, of: impl Into<Number>) -> Self {
        self.vec = of.into();
        self
    }

    /// Lets the copies go on while their threads do.
    pub fn asynchronous(mut self) -> Self {
        self.via = Via::Asynchronous;
        self
    }

    /// Restricts the step to the reads of these instructions.
    pub fn readers<N: Into<Name>>(mut self, ids: impl IntoIterator<Item = N>) -> Self {
        self.readers = ids.into_iter().map(Into::into).collect();
        self
    }

    /// Restricts the step to accesses with these subscripts.
    pub fn accesses(mut self, accesses: impl IntoIterator<Item = Access>) -> Self {
        self.accesses = accesses.into_iter().collect();
        self
    }
}

impl AddPrefetch {
    /// The reads that the step replaces.
    fn chosen(&self) -> Chosen<'_> {
        Chosen { array: &self.array, readers: &self.readers, accesses: &self.accesses }
    }

    fn check(&self, kernel: &LoopKernel) -> Result<(), Diagnostic> {
        let array = require_array(kernel, &self.array)?;
        if array.axes.is_empty() {
            let name = &self.array;
            let help = match array.space {
                AddressSpace::Private => "name an array; a scalar is already in a register".to_string(),
                space => format!(
                    "name an array; the value of `{name}` in {space} memory can be kept in a \
                     private scalar: `<> own = {name}`"
                ),
            };
            return Err(Diagnostic::new(
                "prefetch-scalar",
                format!("`{name}` is a scalar; there is no axis to copy along"),
            )
            .help(help));
        }
        for iname in &self.sweep {
            require_iname(kernel, iname)?;
        }
        self.chosen().check(kernel)?;
        if self.space == AddressSpace::Global {
            return Err(Diagnostic::new(
                "prefetch-space",
                "a prefetch buffer has to be in shared or private memory, not in global memory",
            ));
        }
        Ok(())
    }
}

impl AddPrefetch {
    /// Whether such elements can be copied asynchronously, so many at once.
    fn check_via(&self, source: &Array, vector: i64) -> Result<(), Diagnostic> {
        if !self.via.is_asynchronous() {
            return Ok(());
        }
        let array = &self.array;
        let refuse = |why: String, help: String| {
            let message = format!("`{array}` cannot be copied asynchronously: {why}");
            Err(Diagnostic::new("prefetch-via", message).help(help))
        };
        if source.space != AddressSpace::Global {
            let why = format!("it is in {} memory", source.space);
            return refuse(why, "asynchronous copies are from global memory; leave out `via`".into());
        }
        if self.space != AddressSpace::Shared {
            let why = format!("its buffer is in {} memory", self.space);
            return refuse(why, "leave out `space`, so that the buffer is in shared memory, or `via`".into());
        }
        let Some(dtype) = source.dtype.known() else { return Ok(()) };
        let one = i64::try_from(dtype.bytes()).unwrap_or(i64::MAX);
        let bytes = one.saturating_mul(vector);
        if bytes >= 16 || bytes == 4 || bytes == 8 {
            return Ok(());
        }
        let why = match vector {
            1 => format!("one element has {bytes} byte{}, not 4, 8 or 16", if bytes == 1 { "" } else { "s" }),
            _ => format!("{vector} elements have {bytes} bytes, not 4, 8 or 16"),
        };
        refuse(why, format!("copy several neighbours at once: `vec={}`", 16 / one))
    }
}

impl Transform for AddPrefetch {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        self.check(kernel)?;
        let pad = u32::try_from(self.pad.at_least(0, "the padding")?).map_err(|_| {
            Diagnostic::new("number-range", "the padding does not fit into 32 bits")
                .help("use a smaller padding")
        })?;
        let source = require_array(kernel, &self.array)?.clone();
        let buffer = match &self.name {
            Some(name) => {
                require_fresh(kernel, name, "name")?;
                name.clone()
            }
            None => fresh(kernel, &format!("{}_tile", self.array)),
        };
        let concerns = |access: &Access| self.chosen().has_access(kernel, access);
        let reads = footprint::reads_where(kernel, &self.array, &self.readers, &concerns)?;
        let spans = footprint::spans(kernel, &self.array, &reads, &self.sweep)?;
        let vector = spread::vector(&self.vec, &source, &spans)?;
        self.check_via(&source, vector)?;
        let site = site(kernel, &reads, &spans, &self.sweep, self.space, &self.array, true)?;
        let kept: Vec<usize> = (0..spans.len()).filter(|k| spans[*k].length > 1).collect();
        let id = fresh(kernel, &format!("{}_fetch", self.array));
        if !self.onto.is_empty() {
            if vector > 1 {
                let why = "`onto=` names the loops of single elements, `vec=` moves several at once";
                return Err(Diagnostic::new("onto-inames", why).help("leave out one of the two"));
            }
            onto::require_new_or_onto(&self.inames)?;
            onto::require_onto(kernel, &self.onto, kept.len(), &site, &id)?;
        }
        let inames = fetch_names(kernel, &self.inames, &self.array, kept.len())?;
        let fetch: Vec<(Name, usize, Span)> =
            inames.iter().zip(&kept).map(|(n, k)| (n.clone(), *k, spans[*k].clone())).collect();
        let shape: Vec<Option<Aff>> = source.axes.iter().map(|a| a.length.to_aff()).collect();
        let keep =
            |n: &Name| site.within.contains(n) || !(kernel.is_iname(n) || kernel.temporary(n).is_some());
        let constraints = footprint::needed(kernel, &reads, &fetch, &shape, &keep)?;

        let mut failed = None;
        let changed = kernel.edit(|data| {
            for k in 0..data.instructions.len() {
                if !self.chosen().has_reader(&data.instructions[k].id) {
                    continue;
                }
                let mut instruction = data.instructions[k].clone();
                let replace = |access: &Access| match concerns(access) {
                    true => buffered(kernel, &buffer, access, &spans, &kept),
                    false => Ok(Expr::Subscript(access.clone())),
                };
                let mut rewrite = |e: &Expr| replace_accesses(e, &self.array, &replace, &mut failed);
                map_expressions(&mut instruction, &mut rewrite);
                data.instructions[k] = instruction;
            }
            if let Some(d) = failed.take() {
                return Err(d);
            }
            let mut axes: Vec<Axis> = kept.iter().map(|k| Axis::new(Expr::Int(spans[*k].length))).collect();
            if let Some(last) = axes.last_mut() {
                last.padding = pad;
            }
            data.temporaries.push(Array::new(&buffer, source.dtype.clone(), axes, self.space));
            let index = spans
                .iter()
                .enumerate()
                .map(|(k, span)| match fetch.iter().find(|(_, axis, _)| *axis == k) {
                    Some((f, _, _)) => Ok(Expr::from_aff(&span.cell(f)?)),
                    None => Ok(Expr::from_aff(&span.base)),
                })
                .collect::<Result<Vec<Expr>, Diagnostic>>()?;
            let target = Access::new(&buffer, inames.iter().map(|f| Expr::Name(f.clone())).collect());
            let value = Expr::Subscript(Access::new(&self.array, index));
            let role = Role::Copies { source: self.array.clone() };
            let copy = Instruction {
                within: site.within.iter().chain(&inames).cloned().collect(),
                made_by: Some(Name::new("add_prefetch")),
                via: self.via,
                ..Instruction::new(&id, vec![target], value, role)
            };
            if self.onto.is_empty() {
                return add_instruction(data, copy, &inames, constraints, &site);
            }
            let (copy, needed) = onto::moved(kernel, copy, &constraints, &inames, &self.onto, &site)?;
            let parts = data.parts(&copy).into_iter().map(Tree::Leaf).collect();
            onto::add_onto(data, copy, parts, &self.onto, &needed, &site)
        })?;
        if !self.onto.is_empty() {
            return Ok(changed);
        }
        let loops: Vec<(Name, i64)> = fetch.iter().map(|(n, _, s)| (n.clone(), s.length)).collect();
        spread::for_space(&changed, &loops, self.space, vector)
    }
}
