//! Computes the values of a temporary again, where they are used.

use std::{collections::BTreeMap, fmt};

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, Axis, Constraint, Diagnostic, Expr, Instruction, KernelData,
    LoopKernel, Name, Part, PartRef, Role, Tree,
};
use serde::{Deserialize, Serialize};

use crate::{
    Number, Transform,
    add_prefetch::{
        add_instruction, buffered, fetch_names, parse_space, replace_accesses, require_array, site,
    },
    call::Args,
    edit::{fresh, map_expressions, parts_with_inames, require_fresh, require_iname},
    footprint::{self, Span},
    names, spread,
    step::BuiltIn,
};

/// `precompute(t, [i_inner])`: computes what the sweep reads of the temporary `t` directly before, into a buffer of the block.
///
/// # Meaning
///
/// The footprint of all reads of `t` under the sweep is a box, as for [`crate::AddPrefetch`]. The instruction that computes `t` is
/// replaced by one that computes the box into `t_tile` where it is read; values that several blocks need are computed by each of them.
/// The map of the new instruction says which declared instances it does.
///
/// # Legality
///
/// `t` has one writer, without a reduction or a predicate, whose subscripts are its inames, each once; all reads of `t` are affine. That each
/// read of the buffer sees the value of its declared instance, and that what is computed later reads what it would have read, is proved by
/// following values, or refused with a counter-example.
///
/// In text: `precompute(t, [i_inner, j_inner])` with the options `space=private`, `name=t_tile`, `pad=1`, `inames=[r, c]`.
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Precompute {
    /// The temporary.
    pub temporary: Name,
    /// The inames whose reads are gathered.
    pub sweep: Vec<Name>,
    /// Shared or private.
    pub space: AddressSpace,
    /// The buffer's name; by default the temporary's with `_tile` behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// Elements added behind each row.
    pub pad: Number,
    /// Names of the new inames, an axis of the buffer each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inames: Vec<Name>,
}

impl Precompute {
    /// Into shared memory.
    pub fn new<N: Into<Name>>(temporary: impl Into<Name>, sweep: impl IntoIterator<Item = N>) -> Self {
        Precompute {
            temporary: temporary.into(),
            sweep: sweep.into_iter().map(Into::into).collect(),
            space: AddressSpace::Shared,
            name: None,
            pad: Number::Known(0),
            inames: Vec::new(),
        }
    }

    /// Into the memory of each thread.
    pub fn private(mut self) -> Self {
        self.space = AddressSpace::Private;
        self
    }
}

impl BuiltIn for Precompute {
    const NAME: &'static str = "precompute";

    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let mut step = Precompute::new::<Name>(args.name("the temporary to precompute")?, []);
        step.sweep = args.names("the inames to sweep over, as `[i_inner, j_inner]`")?;
        if let Some((text, span)) = args.key_text("space") {
            step.space = parse_space(args, &text, span)?;
        }
        step.name = args.key_name("name")?;
        step.pad = args.key_number("pad")?.unwrap_or(Number::Known(0));
        step.inames = args.key_names("inames")?.unwrap_or_default();
        Ok(step)
    }

    fn numbers(&mut self) -> Vec<&mut Number> {
        vec![&mut self.pad]
    }
}

/// The one instruction that computes the temporary, and for each axis the iname that is its subscript.
fn writer<'a>(data: &'a KernelData, temporary: &Name) -> Result<(&'a Instruction, Vec<Name>), Diagnostic> {
    let refuse = |why: String| {
        Diagnostic::new("precompute-writer", format!("`{temporary}` cannot be precomputed: {why}"))
            .help("a value can be computed again where one plain instruction computes it")
    };
    let writers: Vec<&Instruction> =
        data.instructions.iter().filter(|i| i.targets.iter().any(|t| t.array == *temporary)).collect();
    let [writer] = writers.as_slice() else {
        return Err(refuse(format!("{} instructions write it, not one", writers.len())));
    };
    let id = &writer.id;
    if writer.targets.len() != 1 || writer.predicate.is_some() || !writer.reductions().is_empty() {
        return Err(refuse(format!("`{id}` has a predicate, a reduction or several targets")));
    }
    let Role::Does(_) = writer.role else {
        return Err(refuse(format!("`{id}` is a copy already")));
    };
    let mut inames = Vec::new();
    for e in &writer.targets[0].index {
        match e {
            Expr::Name(n) if writer.within.contains(n) && !inames.contains(n) => inames.push(n.clone()),
            _ => return Err(refuse(format!("the subscript `{e}` in `{id}` is no loop of its own"))),
        }
    }
    if let Some(extra) = writer.within.iter().find(|n| !inames.contains(n)) {
        return Err(refuse(format!("`{id}` also runs over `{extra}`")));
    }
    Ok((*writer, inames))
}

/// The trees without the leaves of an instruction, and without loops that are empty then.
fn without(trees: &[Tree], id: &Name) -> Vec<Tree> {
    trees
        .iter()
        .filter_map(|tree| match tree {
            Tree::Leaf(part) => (part.instruction != *id).then(|| tree.clone()),
            Tree::Loop { iname, body } => {
                let body = without(body, id);
                (!body.is_empty()).then(|| Tree::Loop { iname: iname.clone(), body })
            }
        })
        .collect()
}

impl Transform for Precompute {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let t = &self.temporary;
        let source = require_array(kernel, t)?.clone();
        if kernel.temporary(t).is_none() {
            return Err(Diagnostic::new(
                "precompute-argument",
                format!("`{t}` is an argument, not a temporary"),
            )
            .help(format!("`add_prefetch({t}, ...)` copies parts of an argument")));
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
        let (old, subscripts) = writer(kernel, t)?;
        let old = old.clone();
        let buffer = match &self.name {
            Some(name) => {
                require_fresh(kernel, name, "name")?;
                name.clone()
            }
            None => fresh(kernel, &format!("{t}_tile")),
        };
        let reads = footprint::reads_of(kernel, t, &[])?;
        let spans = footprint::spans(kernel, t, &reads, &self.sweep)?;
        let site = site(kernel, &reads, &spans, &self.sweep, self.space, t, true)?;
        let kept: Vec<usize> = (0..spans.len()).filter(|k| spans[*k].length > 1).collect();
        let inames = fetch_names(kernel, &self.inames, t, kept.len())?;
        let fetch: Vec<(Name, usize, Span)> =
            inames.iter().zip(&kept).map(|(n, k)| (n.clone(), *k, spans[*k].clone())).collect();
        let keep =
            |n: &Name| site.within.contains(n) || !(kernel.is_iname(n) || kernel.temporary(n).is_some());
        let mut constraints = footprint::needed(kernel, &reads, &fetch, &[], &keep)?;
        // The cell on each axis, and by it every name whose value depends on the writer's inames.
        let mut cells: BTreeMap<Name, Aff> = BTreeMap::new();
        for (k, iname) in subscripts.iter().enumerate() {
            let cell = match fetch.iter().find(|(_, axis, _)| *axis == k) {
                Some((f, _, span)) => span.base.add(&Aff::var(f))?,
                None => spans[k].base.clone(),
            };
            cells.insert(iname.clone(), cell);
        }
        for c in kernel.instances(&PartRef { instruction: old.id.clone(), part: Part::Whole }) {
            let c: Constraint = c.substitute(&|n| cells.get(n).cloned())?;
            if !constraints.contains(&c) {
                constraints.push(c);
            }
        }
        let first = constraints.iter().take(2 * inames.len()).cloned().collect::<Vec<_>>();
        let context = loopwright_poly::System::new(&kernel.assumptions)?;
        let mut needed = loopwright_poly::System::new(&constraints)?.gist(&context)?;
        for c in first.into_iter().rev() {
            if !needed.contains(&c) {
                needed.insert(0, c);
            }
        }

        let mut failed = None;
        let changed = kernel.edit(|data| {
            for instruction in &mut data.instructions {
                let replace = |access: &Access| buffered(kernel, &buffer, access, &spans, &kept);
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
            data.temporaries.retain(|a| a.name != *t);
            data.temporaries.push(Array {
                name: buffer.clone(),
                dtype: source.dtype.clone(),
                axes,
                order: Vec::new(),
                space: self.space,
            });
            data.instructions.retain(|i| i.id != old.id);
            data.tree = without(&data.tree, &old.id);
            let used: Vec<Name> =
                parts_with_inames(data).into_iter().flat_map(|(_, inames)| inames).collect();
            data.tags.retain(|iname, _| used.contains(iname) || !old.within.contains(iname));
            let mut map = BTreeMap::new();
            for (name, value) in &old.map {
                map.insert(name.clone(), value.substitute(&|n| cells.get(n).cloned())?);
            }
            for (name, cell) in &cells {
                map.entry(name.clone()).or_insert_with(|| cell.clone());
            }
            let new = Instruction {
                id: old.id.clone(),
                targets: vec![Access {
                    array: buffer.clone(),
                    index: inames.iter().map(|f| Expr::Name(f.clone())).collect(),
                }],
                value: old.value.substitute(&|n| cells.get(n).map(Expr::from_aff)),
                predicate: None,
                within: site.within.iter().chain(&inames).cloned().collect(),
                role: old.role.clone(),
                map,
                after: Vec::new(),
                scan: None,
                made_by: Some(Name::new("precompute")),
            };
            add_instruction(data, new, &inames, needed, &site)
        })?;
        let loops: Vec<(Name, i64)> = fetch.iter().map(|(n, _, s)| (n.clone(), s.length)).collect();
        match self.space {
            AddressSpace::Private => spread::unrolled(&changed, &loops),
            _ => spread::over_threads(&changed, &loops),
        }
    }
}

impl fmt::Display for Precompute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "precompute({}, [{}]", self.temporary, names::comma(&self.sweep))?;
        if self.space != AddressSpace::Shared {
            write!(f, ", space={}", self.space)?;
        }
        if let Some(name) = &self.name {
            write!(f, ", name={name}")?;
        }
        if self.pad != Number::Known(0) {
            write!(f, ", pad={}", self.pad)?;
        }
        if !self.inames.is_empty() {
            write!(f, ", inames=[{}]", names::comma(&self.inames))?;
        }
        f.write_str(")")
    }
}
