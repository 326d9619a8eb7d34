//! Recomputes the values of a temporary where they are used.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, Axis, Constraint, Diagnostic, Expr, Instruction, KernelData, Lookup,
    LoopKernel, Name, Part, PartRef, Role, Tag, Tree,
};

use crate::{
    Number, Transform,
    rewrite::{
        Site, add_parts, buffered,
        chosen::Chosen,
        element, fetch_names,
        footprint::{self, Span},
        fresh, map_expressions, onto, parts_with_inames, replace_accesses, require_fresh, require_iname,
        require_no_table, rule_uses, site, spread,
        tree::{self, without},
    },
};

step! {
    /// `precompute(t, [i_inner])`: computes the elements of the temporary `t` that the sweep reads
    /// directly before it, into a buffer of the block.
    ///
    /// # Meaning
    ///
    /// The footprint of all reads of `t` under the sweep is a box, as for
    /// [`AddPrefetch`](crate::AddPrefetch).
    /// The instruction that computes `t` is replaced by one that computes the box into `t_tile`
    /// where it is read; values that several blocks need are computed by each of them. The map of
    /// the new instruction relates it to the declared instances. Where several instructions write
    /// `t` (the inside and the ends of a range, or a value in two stages), each is replaced by a
    /// separate one, in their order.
    ///
    /// # Legality
    ///
    /// With `readers=[id, ...]` or `accesses=[t[i]]` only these reads see the buffer; what computes
    /// `t` for others stays. The writers of `t` have no predicates. Their subscripts are their
    /// inames, each once, or do not depend on inames; other loops around them are also around all
    /// readers. The loops of their reductions are sequential and have nothing else in them, and
    /// their bounds are functions of the parameters: such a loop moves as a whole. A writer may
    /// read the cell that it writes, but no other cell of `t`. All other reads of `t` are affine.
    /// It is proved by following values, or refuted with a counter-example, that each read of the
    /// buffer sees the value of its declared instance, and that the later computation reads the
    /// same values as before.
    ///
    /// With `onto=[r, c]` the values are computed in loops, or by threads, that exist: inames of
    /// other instructions, one for each axis of the buffer, which have to take the values that new
    /// inames would take, neither more nor fewer: { v : v is a value of `r, c` and not of the new
    /// inames, or the other way round } is empty. Two copies of the same shape then share their
    /// loops.
    ///
    /// In text: `precompute(t, [i_inner, j_inner])` with the options `space=private`,
    /// `name=t_tile`, `pad=1`, `inames=[r, c]` or `onto=[r, c]`, `readers=[id, ...]`,
    /// `accesses=[t[i + 1]]`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel blur(x: f32[n], y: f32[n], n: i32)
    /// assume 3 <= n
    /// domain { [i] : 0 <= i < n }
    /// domain { [j] : 1 <= j < n - 1 }
    /// temp t: f32[n] global
    /// t[i] = sqrt(x[i]) {id=root}
    /// y[j] = t[j - 1] + t[j] + t[j + 1] {id=blur}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// split_iname(j, 128)
    /// tag_inames(j_outer: block.x, j_inner: thread.x)
    /// precompute(t, [j_inner])
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel blur(x: f32[n], y: f32[n], n: i32)
    /// assume 3 <= n
    /// domain { [i] : 0 <= i < n }
    /// domain { [j] : 1 <= j <= n - 2 }
    /// domain { [j_outer, j_inner] : 0 <= j_inner <= 127 }
    /// domain { [t_f0] : 0 <= t_f0 <= 129 and 0 <= j_outer and 128*j_outer <= n - 2 and 1 <= 128*j_outer + t_f0 <= n }
    /// domain { [t_f0_outer, t_f0_inner] : 0 <= t_f0_inner <= 127 }
    /// temp t_tile: f32[130] shared
    /// let j = 128*j_outer + j_inner
    /// let t_f0 = 128*t_f0_outer + t_f0_inner
    /// tag j_inner: thread.x
    /// tag j_outer: block.x
    /// tag t_f0_inner: thread.x
    /// tag t_f0_outer: unroll
    /// t_tile[t_f0] = sqrt(x[128 * j_outer + t_f0 - 1]) {id=root, inames=j_outer:t_f0_outer:t_f0_inner, by=precompute, map=[i: 128*j_outer + t_f0 - 1]}
    /// y[j] = t_tile[j_inner] + t_tile[j_inner + 1] + t_tile[j_inner + 2] {id=blur, inames=j_outer:j_inner}
    /// tree {
    ///     for t_f0_outer {
    ///         root
    ///     }
    ///     blur
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A temporary whose inside and end are written by different instructions:
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel slopes(x: f32[n + 1], y: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n }
    /// domain { [j] : 0 <= j < n }
    /// temp t: f32[n + 1] global
    /// t[i] = x[i + 1] - x[i] {id=inside}
    /// t[n] = 0.0 {id=end}
    /// y[j] = t[j + 1] - t[j] {id=second}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// split_iname(j, 64)
    /// tag_inames(j_outer: block.x)
    /// precompute(t, [j_inner], inames=[c])
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel slopes(x: f32[n + 1], y: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n }
    /// domain { [j] : 0 <= j < n }
    /// domain { [j_outer, j_inner] : 0 <= j_inner <= 63 }
    /// domain { [c] : 0 <= c <= 64 and 0 <= j_outer and 64*j_outer + c < n }
    /// domain { [c_end] : 0 <= c_end <= 64 and 64*j_outer < n and n = 64*j_outer + c_end }
    /// temp t_tile: f32[65] shared
    /// let j = 64*j_outer + j_inner
    /// tag j_outer: block.x
    /// t_tile[c] = x[64 * j_outer + c + 1] - x[64 * j_outer + c] {id=inside, inames=j_outer:c, by=precompute, map=[i: 64*j_outer + c]}
    /// t_tile[c_end] = 0.0 {id=end, inames=j_outer:c_end, by=precompute}
    /// y[j] = t_tile[j_inner + 1] - t_tile[j_inner] {id=second, inames=j_outer:j_inner}
    /// tree {
    ///     for c {
    ///         inside
    ///     }
    ///     for c_end {
    ///         end
    ///     }
    ///     for j_inner {
    ///         second
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    /// Two copies that share their loops:
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel twice(a: f32[8], b: f32[8], y: f32[n, 8], z: f32[n, 8], n: i32)
    /// assume 1 <= n
    /// rule first(j) = a[j]*0.5
    /// rule second(j) = b[j]*2.0
    /// domain { [i, j] : 0 <= i < n and 0 <= j < 8 }
    /// domain { [k] : 0 <= k < 8 }
    /// y[i, j] = first(j)
    /// z[i, k] = second(k)
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// subst_to_assignment(first)
    /// subst_to_assignment(second)
    /// precompute(first, [j], inames=[c])
    /// precompute(second, [k], onto=[c])
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel twice(a: f32[8], b: f32[8], y: f32[n, 8], z: f32[n, 8], n: i32)
    /// assume 1 <= n
    /// domain { [i, j] : 0 <= i < n and 0 <= j <= 7 }
    /// domain { [k] : 0 <= k <= 7 }
    /// domain { [first_j] : 0 <= first_j <= 7 }
    /// domain { [second_j] : 0 <= second_j <= 7 }
    /// domain { [c] : 0 <= c <= 7 }
    /// temp first_tile: f32[8] shared
    /// temp second_tile: f32[8] shared
    /// first_tile[c] = a[c] * 0.5 {id=set_first, inames=c, by=precompute, map=[first_j: c]}
    /// y[i, j] = first_tile[j] {id=set_y, inames=i:j}
    /// second_tile[c] = b[c] * 2.0 {id=set_second, inames=c, by=precompute, map=[second_j: c]}
    /// z[i, k] = second_tile[k] {id=set_z, inames=i:k}
    /// tree {
    ///     for c {
    ///         set_first
    ///         set_second
    ///     }
    ///     for i {
    ///         for j {
    ///             set_y
    ///         }
    ///         for k {
    ///             set_z
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Precompute as "precompute" {
        /// A temporary with axes, read by instructions that do not write it.
        pub temporary: Name = next("the temporary to precompute"),
        /// The inames that are swept over.
        pub sweep: Vec<Name> = next("the inames to sweep over, as `[i_inner, j_inner]`") of Inames,
        /// The memory of the buffer: shared, which is the default, or private.
        pub space: AddressSpace = option(AddressSpace::Shared),
        /// The buffer's name; by default the temporary's with the suffix `_tile`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<Name> = option(),
        /// The padding of each row in elements.
        pub pad: Number = option(Number::Known(0)),
        /// Names of the new inames, one for each axis of the buffer. Those of a second writer have
        /// its id as a suffix.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub inames: Vec<Name> = option(),
        /// Inames that exist, one for each axis of the buffer, in place of new ones.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub onto: Vec<Name> = option(),
        /// The instructions whose reads are replaced; if empty, all that read the temporary.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub readers: Vec<Name> = option() of Instructions,
        /// The accesses that are replaced, written as in the kernel or as equal functions; if
        /// empty, all accesses.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub accesses: Vec<Access> = option(),
    }
    table: "precompute(t, [i_inner])" => "`precompute(k, \"t_subst\", \"i_inner\")` after \
        `assignment_to_subst`", "precompute(t, [j], onto=[r, c])" => "`precompute(k, ..., \
        precompute_inames=\"r,c\")` with inames that exist",
    methods: {
        /// See [`Precompute`], which has options.
        fn precompute(&self, temporary: &str, sweep: impl IntoNames) -> Result<Self, Diagnostic> {
            self.step(Precompute::new(temporary, sweep.into_names()))
        }
    }
}

impl Precompute {
    /// Precomputes into shared memory.
    pub fn new<N: Into<Name>>(temporary: impl Into<Name>, sweep: impl IntoIterator<Item = N>) -> Self {
        Precompute {
            temporary: temporary.into(),
            sweep: sweep.into_iter().map(Into::into).collect(),
            space: AddressSpace::Shared,
            name: None,
            pad: Number::Known(0),
            inames: Vec::new(),
            onto: Vec::new(),
            readers: Vec::new(),
            accesses: Vec::new(),
        }
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

    /// Puts the buffer into private memory instead of shared memory.
    pub fn private(mut self) -> Self {
        self.space = AddressSpace::Private;
        self
    }
}

/// A subscript of an instruction that computes the temporary.
enum Cell {
    /// A loop that only the writer has.
    Loop(Name),
    /// A value that is the same in all instances.
    Fixed(Aff),
}

/// An instruction that computes the temporary, with its subscripts.
struct Writer<'a> {
    instruction: &'a Instruction,
    cells: Vec<Cell>,
}

/// The instructions that compute the temporary, in the order of the tree.
fn writers<'a>(data: &'a KernelData, temporary: &Name) -> Result<Vec<Writer<'a>>, Diagnostic> {
    let refuse = |why: String| {
        Diagnostic::new("precompute-writer", format!("`{temporary}` cannot be precomputed: {why}"))
            .help("only values that plain instructions compute can be recomputed")
    };
    let mut found: Vec<Writer<'a>> = Vec::new();
    for part in data.tree.iter().flat_map(Tree::leaves) {
        let Some(x) = data.instruction(&part.instruction) else { continue };
        let id = &x.id;
        if x.targets.iter().all(|t| t.array != *temporary) || found.iter().any(|w| w.instruction.id == *id) {
            continue;
        }
        if x.targets.len() != 1 || x.predicate.is_some() {
            return Err(refuse(format!("`{id}` has a predicate or several targets")));
        }
        if x.update.is_some() {
            return Err(refuse(format!("`{id}` updates what it holds")));
        }
        let Role::Does(_) = x.role else {
            return Err(refuse(format!("`{id}` is already a copy")));
        };
        let target = &x.targets[0];
        let mut own: Vec<&Name> = Vec::new();
        let mut cells = Vec::new();
        for e in &target.index {
            let fixed = || {
                let aff = footprint::affine_subscript(data, e)?;
                aff.names().iter().all(|n| !data.is_iname(n)).then_some(aff)
            };
            cells.push(match e {
                Expr::Name(n) if x.within.contains(n) && !own.contains(&n) => {
                    own.push(n);
                    Cell::Loop(n.clone())
                }
                _ => match fixed() {
                    Some(aff) => Cell::Fixed(aff),
                    None => {
                        return Err(refuse(format!(
                            "the subscript `{e}` in `{id}` is not one of its inames, each used \
                             once"
                        )));
                    }
                },
            });
        }
        let mut elsewhere = None;
        x.value.visit(&mut |e| match e {
            Expr::Subscript(access) if access.array == *temporary && access != target => {
                elsewhere = Some(access.clone());
            }
            _ => {}
        });
        if let Some(access) = elsewhere {
            return Err(refuse(format!("`{id}` reads `{access}`, which is not the cell that it computes")));
        }
        if let Some(why) = fixed_reduction(data, x) {
            return Err(refuse(format!("`{id}` has a reduction {why}")));
        }
        found.push(Writer { instruction: x, cells });
    }
    if found.is_empty() {
        return Err(refuse("no instruction writes it".into()));
    }
    Ok(found)
}

/// Why the reductions of a writer cannot go with it, if they cannot: their loops are moved with
/// all that is in them, and only the cell that is computed is another.
fn fixed_reduction(data: &KernelData, writer: &Instruction) -> Option<String> {
    if writer.reductions().is_empty() {
        return None;
    }
    if writer.scan.is_some() || writer.atom.is_some() || writer.atomic {
        return Some("of which a step has decided how it runs".into());
    }
    let lookup = Lookup::new(data);
    let own: Vec<Name> = data
        .parts(writer)
        .iter()
        .flat_map(|p| lookup.part_inames(p))
        .filter(|n| !writer.within.contains(n))
        .collect();
    for part in data.tree.iter().flat_map(Tree::leaves).filter(|p| p.instruction != writer.id) {
        if let Some(n) = tree::path_of(&data.tree, part).iter().find(|n| own.contains(n)) {
            return Some(format!("over `{n}`, in whose loop `{part}` stands as well"));
        }
    }
    for n in &own {
        if data.tag(n) != Tag::Seq {
            return Some(format!("over `{n}`, which is tagged `{}`", data.tag(n)));
        }
    }
    let parts = data.parts(writer);
    for c in parts.iter().flat_map(|p| lookup.instances(&lookup.part_inames(p))) {
        let names: Vec<Name> = c.names().into_iter().flat_map(|n| lookup.base_of(&n).to_vec()).collect();
        let reads = c.names().into_iter().find(|n| data.temporary(n).is_some());
        if names.iter().any(|n| own.contains(n))
            && let Some(other) = names.into_iter().find(|n| !own.contains(n)).or(reads)
        {
            return Some(format!("whose bounds depend on `{other}`"));
        }
    }
    None
}

impl Transform for Precompute {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let t = &self.temporary;
        if kernel.array(t).is_none() && kernel.rules.iter().any(|r| r.name == *t) {
            return Err(Diagnostic::new("precompute-argument", format!("`{t}` is a rule, not a temporary"))
                .help(format!("`subst_to_assignment({t})` makes a temporary of it, which this step takes")));
        }
        let source = require_no_table(kernel, t)?.clone();
        if kernel.temporary(t).is_none() {
            return Err(Diagnostic::new(
                "precompute-argument",
                format!("`{t}` is an argument, not a temporary"),
            )
            .help(format!("`add_prefetch({t}, ...)` copies parts of an argument")));
        }
        if source.axes.is_empty() {
            return Err(Diagnostic::new(
                "prefetch-scalar",
                format!("`{t}` is a scalar; there is no axis to sweep along"),
            )
            .help("name an array; to recompute a scalar, move its instruction to the use"));
        }
        for iname in &self.sweep {
            require_iname(kernel, iname)?;
        }
        if self.space == AddressSpace::Global {
            return Err(Diagnostic::new(
                "prefetch-space",
                "values are precomputed in shared or private memory, not in global memory",
            ));
        }
        let pad = u32::try_from(self.pad.at_least(0, "the padding")?)
            .map_err(|_| Diagnostic::new("number-range", "the padding does not fit into 32 bits"))?;
        let writers = writers(kernel, t)?;
        let writes = |id: &Name| writers.iter().any(|w| w.instruction.id == *id);
        let buffer = match &self.name {
            Some(name) => {
                require_fresh(kernel, name, "name")?;
                name.clone()
            }
            None => fresh(kernel, &format!("{t}_tile")),
        };
        let chosen = Chosen { array: t, readers: &self.readers, accesses: &self.accesses };
        chosen.check(kernel)?;
        let others = || kernel.instructions.iter().filter(|i| !writes(&i.id));
        let readers: Vec<Name> = others().map(|i| i.id.clone()).filter(|id| chosen.has_reader(id)).collect();
        let is_replaced = |i: &Instruction| {
            let mut accesses = i.expressions().flat_map(Expr::accesses).filter(|a| a.array == *t);
            accesses.all(|a| chosen.has_reader(&i.id) && chosen.has_access(kernel, &a))
        };
        // What computes the temporary stays where something still reads it.
        let stays = !others().all(is_replaced);
        if readers.is_empty() {
            return Err(Diagnostic::new(
                "prefetch-nothing",
                format!("only the instructions that write `{t}` read it"),
            )
            .help("name a temporary that another instruction reads"));
        }
        let reads = footprint::reads_where(kernel, t, &readers, &|a| chosen.has_access(kernel, a))?;
        let spans = footprint::spans(kernel, t, &reads, &self.sweep)?;
        let site = site(kernel, &reads, &spans, &self.sweep, self.space, t, true)?;
        let kept: Vec<usize> = (0..spans.len()).filter(|k| spans[*k].length > 1).collect();
        if !self.onto.is_empty() {
            onto::require_new_or_onto(&self.inames)?;
            onto::require_onto(kernel, &self.onto, kept.len(), &site, &writers[0].instruction.id)?;
        }
        let inames = fetch_names(kernel, &self.inames, t, kept.len())?;
        let mut pieces = Vec::new();
        for (k, writer) in writers.iter().enumerate() {
            let own = match k {
                0 => inames.clone(),
                _ => {
                    let id = &writer.instruction.id;
                    inames.iter().map(|n| fresh(kernel, &format!("{n}_{id}"))).collect()
                }
            };
            let mut piece = self.piece(kernel, writer, own, &reads, &spans, &kept, &site, &buffer)?;
            if stays {
                let id = &writer.instruction.id;
                if !writer.instruction.reductions().is_empty() {
                    let why =
                        format!("`{id}` has a reduction, whose loops stay with the other reads of `{t}`");
                    let d =
                        Diagnostic::new("precompute-writer", format!("`{t}` cannot be precomputed: {why}"));
                    return Err(d.help("precompute it for all reads, without `readers` and `accesses`"));
                }
                piece.instruction.id = fresh(kernel, &format!("{id}_tile"));
            }
            pieces.push(match self.onto.is_empty() {
                true => piece,
                false => piece.onto(kernel, &self.onto, &site)?,
            });
        }

        let mut failed = None;
        let mut changed = kernel.edit(|data| {
            data.instructions.retain(|i| stays || !writes(&i.id));
            for instruction in data.instructions.iter_mut().filter(|i| readers.contains(&i.id)) {
                let replace = |access: &Access| match chosen.has_access(kernel, access) {
                    true => buffered(kernel, &buffer, access, &spans, &kept),
                    false => Ok(Expr::Subscript(access.clone())),
                };
                let mut rewrite = |e: &Expr| {
                    let e = replace_accesses(e, t, &replace, &mut failed);
                    // A temporary without axes is read by its name.
                    e.substitute(&|n| (n == t).then(|| Expr::Name(buffer.clone())))
                };
                map_expressions(instruction, &mut rewrite);
            }
            if let Some(d) = failed.take() {
                return Err(d);
            }
            let mut axes: Vec<Axis> = kept.iter().map(|k| Axis::new(Expr::Int(spans[*k].length))).collect();
            if let Some(last) = axes.last_mut() {
                last.padding = pad;
            }
            data.temporaries.retain(|a| stays || a.name != *t);
            data.temporaries.push(Array::new(&buffer, source.dtype.clone(), axes, self.space));
            let whole = |id: &Name| Tree::Leaf(PartRef { instruction: id.clone(), part: Part::Whole });
            let bodies: Vec<Vec<Tree>> = match stays {
                true => pieces.iter().map(|piece| vec![whole(&piece.instruction.id)]).collect(),
                false => writers.iter().map(|w| rule_uses::inside(&data.tree, w.instruction)).collect(),
            };
            for writer in writers.iter().filter(|_| !stays) {
                data.tree = without(&data.tree, &writer.instruction.id);
            }
            let used: Vec<Name> =
                parts_with_inames(data).into_iter().flat_map(|(_, inames)| inames).collect();
            let gone =
                |n: &Name| !used.contains(n) && writers.iter().any(|w| w.instruction.within.contains(n));
            data.retain_tags(|iname| !gone(iname));
            for (piece, body) in pieces.iter().zip(bodies) {
                let (new, needed) = (piece.instruction.clone(), piece.needed.clone());
                if self.onto.is_empty() {
                    add_parts(data, new, body, &piece.inames, needed, &site)?;
                } else {
                    onto::add_onto(data, new, body, &self.onto, &needed, &site)?;
                }
            }
            Ok::<(), Diagnostic>(())
        })?;
        for piece in pieces.iter().filter(|_| self.onto.is_empty()) {
            changed = spread::for_space(&changed, &piece.loops, self.space, 1)?;
        }
        Ok(changed)
    }
}

/// The replacement of one writer.
struct Piece {
    instruction: Instruction,
    /// Its inames apart from those around the readers.
    inames: Vec<Name>,
    needed: Vec<Constraint>,
    /// The inames that sweep the box of cells, outermost first, each with its number of values.
    loops: Vec<(Name, i64)>,
}

impl Piece {
    /// The piece over inames that exist, in place of those of the box.
    fn onto(self, kernel: &LoopKernel, onto: &[Name], site: &Site) -> Result<Self, Diagnostic> {
        let own: Vec<Name> = self.loops.iter().map(|(n, _)| n.clone()).collect();
        let (instruction, needed) = onto::moved(kernel, self.instruction, &self.needed, &own, onto, site)?;
        Ok(Piece { instruction, needed, inames: Vec::new(), ..self })
    }
}

impl Precompute {
    /// The instruction that computes a writer's part of the box.
    #[allow(clippy::too_many_arguments)]
    fn piece(
        &self,
        kernel: &LoopKernel,
        writer: &Writer<'_>,
        mut inames: Vec<Name>,
        reads: &[footprint::Read],
        spans: &[Span],
        kept: &[usize],
        site: &Site,
        buffer: &Name,
    ) -> Result<Piece, Diagnostic> {
        let t = &self.temporary;
        let old = writer.instruction;
        let is_own = |n: &Name| writer.cells.iter().any(|c| matches!(c, Cell::Loop(own) if own == n));
        if let Some(extra) = old.within.iter().find(|n| !is_own(n) && !site.within.contains(n)) {
            let why = format!("`{}` also runs over `{extra}`, which is not around all readers", old.id);
            return Err(Diagnostic::new("precompute-writer", format!("`{t}` cannot be precomputed: {why}"))
                .help("only values that plain instructions compute can be recomputed"));
        }
        let fetch: Vec<(Name, usize, Span)> =
            inames.iter().zip(kept).map(|(n, k)| (n.clone(), *k, spans[*k].clone())).collect();
        let keep =
            |n: &Name| site.within.contains(n) || !(kernel.is_iname(n) || kernel.temporary(n).is_some());
        let mut constraints = footprint::needed(kernel, reads, &fetch, &[], &keep)?;
        // The cell on each axis, and by it every name whose value depends on the writer's inames.
        let mut cells: BTreeMap<Name, Aff> = BTreeMap::new();
        let mut own_rows = Vec::new();
        for (k, cell) in writer.cells.iter().enumerate() {
            let value = match fetch.iter().find(|(_, axis, _)| *axis == k) {
                Some((f, _, span)) => span.cell(f)?,
                None => spans[k].base.clone(),
            };
            match cell {
                Cell::Loop(iname) => {
                    cells.insert(iname.clone(), value);
                }
                Cell::Fixed(at) => own_rows.push(Constraint::equal(&value, at)?),
            }
        }
        for c in kernel.instances(&PartRef { instruction: old.id.clone(), part: Part::Whole }) {
            own_rows.push(c.substitute(&|n| cells.get(n).cloned())?);
        }
        let index: Vec<Expr> = inames.iter().map(|f| Expr::Name(f.clone())).collect();
        // Constraints on this writer alone belong to an iname that only it has.
        if inames.is_empty() {
            let all = loopwright_poly::System::new(&[&kernel.assumptions[..], &constraints].concat())?;
            let mut restricted = false;
            for c in &own_rows {
                restricted |= !all.implies(c)?;
            }
            if restricted {
                let alone = fresh(kernel, &format!("{t}_{}", old.id));
                constraints.insert(0, Constraint::zero(Aff::var(&alone)));
                inames.push(alone);
            }
        }
        for c in own_rows {
            if !constraints.contains(&c) {
                constraints.push(c);
            }
        }
        let first = constraints.iter().take(2 * fetch.len()).cloned().collect::<Vec<_>>();
        let context = loopwright_poly::System::new(&kernel.assumptions)?;
        let mut needed = loopwright_poly::System::new(&constraints)?.gist(&context)?;
        for c in first.into_iter().rev() {
            if !needed.contains(&c) {
                needed.insert(0, c);
            }
        }
        let mut map = BTreeMap::new();
        for (name, value) in &old.map {
            map.insert(name.clone(), value.substitute(&|n| cells.get(n).cloned())?);
        }
        for (name, cell) in &cells {
            map.entry(name.clone()).or_insert_with(|| cell.clone());
        }
        let target = Access { array: buffer.clone(), index };
        let here = element(buffer, target.index.clone());
        // It reads only its own cell of the temporary.
        let mut failed = None;
        let value = replace_accesses(&old.value, t, &|_| Ok(here.clone()), &mut failed);
        let value = value.substitute(&|n| match n == t {
            true => Some(here.clone()),
            false => cells.get(n).map(Expr::from_aff),
        });
        let instruction = Instruction {
            within: site.within.iter().chain(&inames).cloned().collect(),
            map,
            made_by: Some(Name::new("precompute")),
            ..Instruction::new(&old.id, vec![target], value, old.role.clone())
        };
        let loops = fetch.iter().map(|(n, _, s)| (n.clone(), s.length)).collect();
        Ok(Piece { instruction, inames, needed, loops })
    }
}
