//! Keeps part of an array in a buffer and writes it back.

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, Axis, Diagnostic, Domain, Expr, Instruction, KernelData, LoopKernel,
    Name, PartRef, Role, Tree,
};

use crate::{
    Number, Transform,
    arguments::{Args, Argument, keyed},
    patterns::Subject,
    rewrite::{
        add_instruction, buffered, element,
        extent::last_part,
        footprint::{self, Read, Span, affine_subscript},
        fresh, map_expressions, replace_accesses, require_fresh, require_iname, require_no_table, site,
        spread, tree,
    },
    step::{List, TextForm},
};

step! {
    /// `buffer_array(c, [k])`: keeps the cells of an array that a sweep reads and writes in a
    /// buffer, loads them before and stores them after.
    ///
    /// # Meaning
    ///
    /// The footprint of all accesses under the sweep is a box, as for
    /// [`AddPrefetch`](crate::AddPrefetch). `c_buf` has its lengths; `c_load` copies the cells
    /// before the first access, and `c_store` copies the written ones back after the last one; all
    /// accesses go to the buffer. With `init=none` nothing is loaded, which is for cells that are
    /// written before they are read. A sum that is kept in memory moves into a register: `c[i] =
    /// c[i] + a[i, k]` with `k` swept.
    ///
    /// # Legality
    ///
    /// All accesses of the array are affine and under the sweep, with a constant footprint. The
    /// step is legal if no other instruction reads a cell that is not yet stored or writes one that
    /// is loaded: { v -> r : the cell of r is in the buffer when v writes the array }, { store -> v
    /// : a stale cell is stored over what v wrote } are empty.
    ///
    /// In text: `buffer_array(c, [k])` with the options `space=shared` (private by default),
    /// `name=c_buf`, `init=none`, `vec=4` (a thread moves vectors, as in
    /// [`AddPrefetch`](crate::AddPrefetch)).
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel rows(a: f32[n, m], c: f32[n], n: i32, m: i32)
    /// assume 1 <= n and 0 <= m
    /// domain { [i, k] : 0 <= i < n and 0 <= k < m }
    /// c[i] = c[i] + a[i, k] {id=add}
    /// ")?;
    /// let steps = Pipeline::parse("buffer_array(c, [k])")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel rows(a: f32[n, m], c: f32[n], n: i32, m: i32)
    /// assume 1 <= n and 0 <= m
    /// domain { [i, k] : 0 <= i < n and 0 <= k < m }
    /// temp c_buf: f32 private
    /// c_buf = c[i] {id=c_load, inames=i, copies=c, by=buffer_array}
    /// c_buf = c_buf + a[i, k] {id=add, inames=i:k}
    /// c[i] = c_buf {id=c_store, inames=i, copies=c_buf, by=buffer_array}
    /// tree {
    ///     for i {
    ///         c_load
    ///         for k {
    ///             add
    ///         }
    ///         c_store
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct BufferArray as "buffer_array", by hand {
        /// An array with axes that some instruction writes.
        pub array: Name,
        /// The inames that are swept over.
        pub sweep: Vec<Name>,
        /// The memory of the buffer: private, which is the default, or shared.
        #[serde(default = "private")]
        pub space: AddressSpace,
        /// The buffer's name; by default the array's with the suffix `_buf`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<Name>,
        /// Whether the cells are loaded first.
        #[serde(default = "yes")]
        pub load: bool,
        /// The number of neighbours that a thread moves at once: 1, 2, 4, 8 or 16.
        #[serde(default = "single", skip_serializing_if = "is_single")]
        pub vec: Number,
    }
    table: "buffer_array(c, [k])" => "`buffer_array(k, \"c\", [\"k\"])`",
    methods: {
        /// See [`BufferArray`], which has options.
        fn buffer_array(&self, array: &str, sweep: impl IntoNames) -> Result<Self, Diagnostic> {
            self.step(BufferArray::new(array, sweep.into_names()))
        }
    }
}

fn private() -> AddressSpace {
    AddressSpace::Private
}

fn yes() -> bool {
    true
}

fn single() -> Number {
    Number::Known(1)
}

fn is_single(number: &Number) -> bool {
    *number == single()
}

impl BufferArray {
    /// A private buffer of each thread.
    pub fn new<N: Into<Name>>(array: impl Into<Name>, sweep: impl IntoIterator<Item = N>) -> Self {
        BufferArray {
            array: array.into(),
            sweep: sweep.into_iter().map(Into::into).collect(),
            space: private(),
            name: None,
            load: true,
            vec: single(),
        }
    }

    /// Uses one buffer for the block, in shared memory.
    pub fn shared(mut self) -> Self {
        self.space = AddressSpace::Shared;
        self
    }

    /// Does not load the cells first.
    pub fn without_load(mut self) -> Self {
        self.load = false;
        self
    }

    /// Moves this number of neighbours at once, as one vector.
    pub fn by_vectors(mut self, of: impl Into<Number>) -> Self {
        self.vec = of.into();
        self
    }
}

/// The writes to an array, each with the part that executes it.
fn writes_of(data: &KernelData, array: &Name) -> Result<Vec<Read>, Diagnostic> {
    let mut writes = Vec::new();
    for i in &data.instructions {
        for target in i.targets.iter().filter(|t| t.array == *array) {
            let index: Option<Vec<Aff>> = target.index.iter().map(|e| affine_subscript(data, e)).collect();
            let Some(index) = index else {
                return Err(Diagnostic::new(
                    "prefetch-not-affine",
                    format!("`{array}` is written in `{}` at a subscript that is not affine", i.id),
                ));
            };
            writes.push(Read { part: last_part(data, &i.id), index, under: Vec::new() });
        }
    }
    Ok(writes)
}

/// Puts `new` directly after the last subtree that has one of `parts`, inside the loops of `path`.
fn insert_behind(trees: &mut Vec<Tree>, path: &[Name], parts: &[PartRef], new: Tree) {
    if let Some((first, rest)) = path.split_first() {
        for tree in trees.iter_mut() {
            if let Tree::Loop { iname, body } = tree
                && iname == first
            {
                return insert_behind(body, rest, parts, new);
            }
        }
    }
    let has = |tree: &Tree| tree.leaves().iter().any(|leaf| parts.contains(leaf));
    let position = trees.iter().rposition(has).map_or(trees.len(), |k| k + 1);
    trees.insert(position, new);
}

impl TextForm for BufferArray {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let mut step = BufferArray::new::<Name>(args.next::<Name>("the array")?, []);
        step.sweep = args.next("the inames to sweep over, as `[i_inner]`")?;
        step.space = args.option("space")?.unwrap_or(step.space);
        step.name = args.option("name")?;
        step.vec = args.option("vec")?.unwrap_or(step.vec);
        if let Some((text, span)) = args.key_text("init") {
            step.load = match text.as_str() {
                "copy" => true,
                "none" => false,
                _ => return Err(args.error_in(span, format!("`init` is `copy` or `none`, not `{text}`"))),
            };
        }
        Ok(step)
    }

    fn arguments(&self) -> Vec<String> {
        let mut texts = vec![self.array.text(), self.sweep.text()];
        texts.extend((self.space != private()).then(|| keyed("space", &self.space)));
        texts.extend(self.name.as_ref().map(|name| keyed("name", name)));
        texts.extend((!self.load).then(|| "init=none".to_string()));
        texts.extend((!is_single(&self.vec)).then(|| keyed("vec", &self.vec)));
        texts
    }

    fn numbers(&mut self) -> Vec<&mut Number> {
        vec![&mut self.vec]
    }

    fn lists(&mut self) -> Vec<List<'_>> {
        List::of(&mut self.sweep, Some(Subject::Inames)).into_iter().collect()
    }
}

impl Transform for BufferArray {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let array = &self.array;
        let source = require_no_table(kernel, array)?.clone();
        for iname in &self.sweep {
            require_iname(kernel, iname)?;
        }
        if source.axes.is_empty() || self.space == AddressSpace::Global {
            return Err(Diagnostic::new(
                "prefetch-space",
                format!("a buffer of `{array}` is private or shared, and the array has axes"),
            ));
        }
        let buffer = match &self.name {
            Some(name) => {
                require_fresh(kernel, name, "name")?;
                name.clone()
            }
            None => fresh(kernel, &format!("{array}_buf")),
        };
        let writes = writes_of(kernel, array)?;
        if writes.is_empty() {
            return Err(Diagnostic::new("buffer-nothing", format!("nothing writes `{array}`"))
                .help(format!("use `add_prefetch({array}, ...)` for an array that is only read")));
        }
        let (mut all, _) = footprint::any_reads_of(kernel, array, &[])?;
        all.extend(writes.iter().cloned());
        let spans = footprint::spans(kernel, array, &all, &self.sweep)?;
        let vector = spread::vector(&self.vec, &source, &spans)?;
        let site = site(kernel, &all, &spans, &self.sweep, self.space, array, false)?;
        let kept: Vec<usize> = (0..spans.len()).filter(|k| spans[*k].length > 1).collect();
        let shape: Vec<Option<Aff>> = source.axes.iter().map(|a| a.length.to_aff()).collect();
        let keep =
            |n: &Name| site.within.contains(n) || !(kernel.is_iname(n) || kernel.temporary(n).is_some());
        let mut failed = None;
        let mut loops: Vec<Vec<(Name, i64)>> = Vec::new();
        let changed = kernel.edit(|data| {
            for instruction in &mut data.instructions {
                let replace = |access: &Access| buffered(kernel, &buffer, access, &spans, &kept);
                map_expressions(instruction, &mut |e| replace_accesses(e, array, &replace, &mut failed));
                for target in instruction.targets.iter_mut().filter(|t| t.array == *array) {
                    match buffered(kernel, &buffer, target, &spans, &kept)? {
                        Expr::Subscript(access) => *target = access,
                        _ => *target = Access { array: buffer.clone(), index: Vec::new() },
                    }
                }
            }
            if let Some(d) = failed.take() {
                return Err(d);
            }
            let axes = kept.iter().map(|k| Axis::new(Expr::Int(spans[*k].length))).collect();
            data.temporaries.push(Array::new(&buffer, source.dtype.clone(), axes, self.space));
            for load in [true, false] {
                if load && !self.load {
                    continue;
                }
                let letter = if load { "f" } else { "s" };
                let inames: Vec<Name> =
                    (0..kept.len()).map(|k| fresh(data, &format!("{array}_{letter}{k}"))).collect();
                let fetch: Vec<(Name, usize, Span)> =
                    inames.iter().zip(&kept).map(|(n, k)| (n.clone(), *k, spans[*k].clone())).collect();
                let cells = if load { &all } else { &writes };
                let constraints = footprint::needed(kernel, cells, &fetch, &shape, &keep)?;
                let mut index = Vec::new();
                for (k, span) in spans.iter().enumerate() {
                    let own = fetch.iter().find(|(_, axis, _)| *axis == k);
                    let cell = match own {
                        Some((f, _, _)) => span.cell(f)?,
                        None => span.base.clone(),
                    };
                    index.push(Expr::from_aff(&cell));
                }
                let outside = Access { array: array.clone(), index };
                let inside = Access {
                    array: buffer.clone(),
                    index: inames.iter().map(|f| Expr::Name(f.clone())).collect(),
                };
                let read = |a: &Access| element(&a.array, a.index.clone());
                let (target, value, from) = match load {
                    true => (inside, read(&outside), array.clone()),
                    false => (outside, read(&inside), buffer.clone()),
                };
                let id = fresh(data, &format!("{array}_{}", if load { "load" } else { "store" }));
                let copy = Instruction {
                    within: site.within.iter().chain(&inames).cloned().collect(),
                    made_by: Some(Name::new("buffer_array")),
                    ..Instruction::new(id, vec![target], value, Role::Copies { source: from })
                };
                loops.push(inames.iter().cloned().zip(kept.iter().map(|k| spans[*k].length)).collect());
                if load {
                    add_instruction(data, copy, &inames, constraints, &site)?;
                    continue;
                }
                if !inames.is_empty() {
                    data.domains.push(Domain { inames: inames.clone(), constraints });
                }
                let leaf = Tree::Leaf(last_part_of(&copy));
                for tree in tree::nest(&inames, vec![leaf]) {
                    insert_behind(&mut data.tree, &site.loops, &site.readers, tree);
                }
                let last = data
                    .instructions
                    .iter()
                    .rposition(|i| site.readers.iter().any(|r| r.instruction == i.id));
                data.instructions.insert(last.map_or(data.instructions.len(), |k| k + 1), copy);
            }
            Ok(())
        })?;
        let mut kernel = changed;
        for copies in loops {
            kernel = spread::for_space(&kernel, &copies, self.space, vector)?;
        }
        Ok(kernel)
    }
}

fn last_part_of(copy: &Instruction) -> PartRef {
    PartRef { instruction: copy.id.clone(), part: loopwright_kernel_ir::Part::Whole }
}
