//! Assigns inames to blocks, threads, lanes and unrolled loops.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Diagnostic, Flat, KernelData, LoopKernel, Name, Tag, Tree};

use crate::{
    Transform,
    arguments::Args,
    call::{name_in, unquoted},
    names,
    patterns::{self, Subject, is_pattern, not_a_pattern},
    rewrite::{extent::Extents, parts_with_inames, require_iname},
    step::TextForm,
};

step! {
    /// `tag_inames(i_outer: block.x, i_inner: thread.x)`: determines where inames run. The page
    /// [`tags`](crate::tags) lists all tags.
    ///
    /// # Meaning
    ///
    /// A parallel tag makes the iname a coordinate of executions: its loop is removed from the loop
    /// tree and replaced by its body. `unroll`, `partition`, `seq` and `host` keep the loop.
    ///
    /// # Legality
    ///
    /// The step refuses an iname that has another tag, two inames on one axis in one instruction,
    /// `host` inside a loop that is not a host loop, and lengths that a tag does not allow
    /// (`thread`, `warp`, `unroll`, `ilp` and `vec` need a constant one, `lane` a power of two up
    /// to 32). Lanes (`ilp`, `vec`) change the order in a thread and must not reverse a dependence.
    /// Whether instances may run at the same time in different threads is judged when the kernel is
    /// lowered.
    ///
    /// In text: `tag_inames(i: block.x, j: thread.x)`; loopy's `g.0`, `l.0`, `unr` mean the same,
    /// also as `tag_inames("i:g.0, j:l.0")`. An iname may be a [pattern](crate::patterns):
    /// `tag_inames(*_inner: unroll)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
    /// assume 1 <= nseg and 0 <= len
    /// domain { [s] : 0 <= s < nseg }
    /// domain { [i] : 0 <= i < len }
    /// out[s] = sum(i, x[s, i]) {id=total}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// split_iname(i, 128)
    /// split_iname(i_inner, 32)
    /// tag_inames(s:g.0, i_inner_outer:l.1, i_inner_inner:l.0)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
    /// assume 1 <= nseg and 0 <= len
    /// domain { [s] : 0 <= s < nseg }
    /// domain { [i] : 0 <= i < len }
    /// domain { [i_outer, i_inner] : 0 <= i_inner <= 127 }
    /// domain { [i_inner_outer, i_inner_inner] : 0 <= i_inner_inner <= 31 }
    /// let i = 128*i_outer + i_inner
    /// let i_inner = 32*i_inner_outer + i_inner_inner
    /// tag i_inner_inner: thread.x
    /// tag i_inner_outer: thread.y
    /// tag s: block.x
    /// out[s] = sum([i_outer, i_inner_outer, i_inner_inner], x[s, i]) {id=total, inames=s}
    /// tree {
    ///     total.init
    ///     for i_outer {
    ///         total.update
    ///     }
    ///     total.finish
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[serde(into = "Vec<(Name, String)>", try_from = "Vec<(Name, String)>")]
    pub struct TagInames as "tag_inames", by hand {
        /// Inames with their tags.
        pub tags: Vec<(Name, Tag)>,
    }
    table: "tag_inames(i: block.x)" => "`tag_inames(k, \"i:g.0\")`",
    methods: {
        /// See [`TagInames`]; `i_outer: block.x, i_inner: thread.x`.
        fn tag_inames(&self, tags: &str) -> Result<Self, Diagnostic> {
            self.step(TagInames::parse(tags)?)
        }
    }
}

impl From<TagInames> for Vec<(Name, String)> {
    fn from(step: TagInames) -> Self {
        step.tags.into_iter().map(|(n, t)| (n, t.to_string())).collect()
    }
}

impl TryFrom<Vec<(Name, String)>> for TagInames {
    type Error = Diagnostic;
    fn try_from(tags: Vec<(Name, String)>) -> Result<Self, Diagnostic> {
        Ok(TagInames {
            tags: tags
                .into_iter()
                .map(|(n, t)| Ok((n, parse_tag(&t)?)))
                .collect::<Result<_, Diagnostic>>()?,
        })
    }
}

fn parse_tag(text: &str) -> Result<Tag, Diagnostic> {
    if Flat::parse(text).is_some() {
        return Err(Diagnostic::new(
            "unknown-tag",
            format!("`{text}` describes the execution of a nest of two loops"),
        )
        .help("`flatten_ragged(s, i)` sets it on the loop over the segments"));
    }
    if let Some(tag) = Tag::parse(text) {
        return Ok(tag);
    }
    let d = Diagnostic::new("unknown-tag", format!("there is no tag `{text}`"));
    let foreign = names::foreign_tag(text);
    let tags: Vec<String> = Tag::ALL.iter().filter(|t| **t != Tag::Flat).map(Tag::to_string).collect();
    let tags = || tags.iter().map(String::as_str);
    Err(match (foreign, names::nearest(text, tags())) {
        (Some(ours), _) => d.help(format!("here it is {ours}")),
        (None, Some(near)) => d.help(format!("did you mean `{near}`?")),
        (None, None) => d.help(format!("the tags are {}", names::list(tags()))),
    })
}

impl TagInames {
    /// Tags for inames, from pairs of names and texts of tags.
    pub fn new<N: AsRef<str>, T: AsRef<str>>(
        tags: impl IntoIterator<Item = (N, T)>,
    ) -> Result<Self, Diagnostic> {
        let tags = tags
            .into_iter()
            .map(|(n, t)| Ok((Name::new(n), parse_tag(t.as_ref())?)))
            .collect::<Result<_, Diagnostic>>()?;
        Ok(TagInames { tags })
    }

    /// The tags in a text such as `i_outer: block.x, i_inner: thread.x`, or loopy's `i_outer:g.0,
    /// i_inner:l.0`.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let mut tags = Vec::new();
        for pair in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            // A pattern may have a `:` of its own, a tag has none.
            let parsed = pair.rsplit_once(':').map(|(n, t)| (unquoted(n.trim()), t.trim()));
            let named = parsed.and_then(|(n, t)| match name_in(n) {
                None if is_pattern(n) => Some((Name::new(n), t)),
                name => Some((name?, t)),
            });
            if let Some((name, _)) = &named
                && is_pattern(name)
            {
                patterns::check(name).map_err(|why| not_a_pattern(name, &why))?;
            }
            let Some((name, tag)) = named else {
                return Err(Diagnostic::new(
                    "step-arguments",
                    format!("expected `iname: tag`, not `{pair}`"),
                )
                .help("write, for example, `i_outer: block.x, i_inner: thread.x`"));
            };
            tags.push((name, parse_tag(tag)?));
        }
        Ok(TagInames { tags })
    }
}

/// Refuses two inames on one axis of the grid or the block in one part.
fn check_axes(data: &KernelData) -> Result<(), Diagnostic> {
    for (part, inames) in parts_with_inames(data) {
        for (k, a) in inames.iter().enumerate() {
            for b in &inames[..k] {
                let (x, y) = (data.tag(a), data.tag(b));
                if x.axis().is_some() && x.axis() == y.axis() {
                    return Err(Diagnostic::new(
                        "axis-twice",
                        format!("`{part}` would have two inames on one axis: `{b}: {y}` and `{a}: {x}`"),
                    )
                    .help("map one of them to another axis, or join the two with `join_inames`"));
                }
            }
        }
    }
    Ok(())
}

/// Refuses a host loop inside a loop that is not one.
fn check_host(data: &KernelData) -> Result<(), Diagnostic> {
    fn walk(data: &KernelData, trees: &[Tree], outer: Option<&Name>) -> Result<(), Diagnostic> {
        for tree in trees {
            let Tree::Loop { iname, body } = tree else { continue };
            let host = data.tag(iname) == Tag::Host;
            if let (true, Some(outer)) = (host, outer) {
                return Err(Diagnostic::new(
                    "host-inside",
                    format!(
                        "`{iname}` cannot be a loop on the host: it runs inside the loop over \
                        `{outer}`"
                    ),
                )
                .help(format!("tag `{outer}` `host` as well, or move `{iname}` outside it with `reorder`")));
            }
            walk(data, body, outer.or((!host).then_some(iname)))?;
        }
        Ok(())
    }
    walk(data, &data.tree, None)
}

/// Removes the loops of inames that have become parallel from the tree.
fn splice(data: &mut KernelData, parallel: &mut BTreeSet<&Name>) {
    if !parallel.is_empty() {
        data.tree = Tree::splice_all(&data.tree, &|n| parallel.contains(n));
        parallel.clear();
    }
}

impl TextForm for TagInames {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let mut tags = Vec::new();
        for (text, span) in args.all_texts() {
            let parsed = TagInames::parse(&text).map_err(|mut d| {
                d.place = args.error_in(span, "").place;
                d
            })?;
            tags.extend(parsed.tags);
        }
        if tags.is_empty() {
            return Err(args.error("`tag_inames` needs inames with their tags"));
        }
        Ok(TagInames { tags })
    }

    fn arguments(&self) -> Vec<String> {
        self.tags.iter().map(|(iname, tag)| format!("{iname}: {tag}")).collect()
    }

    fn expand(&mut self, kernel: &KernelData) -> Result<(), Diagnostic> {
        patterns::expand(kernel, Subject::Inames, &mut self.tags)
    }
}

impl Transform for TagInames {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        // Tags do not change domains and instructions, so that one table serves all of them.
        let extents = Extents::new(kernel);
        kernel.edit(|data| {
            // Loops that are removed from the tree together, when it is next needed.
            let mut parallel: BTreeSet<&Name> = BTreeSet::new();
            for (iname, tag) in &self.tags {
                let lookup = extents.lookup();
                if !lookup.is_iname(iname) || lookup.definition(iname).is_some() {
                    require_iname(data, iname)?;
                }
                let old = data.tag(iname);
                if old == *tag {
                    continue;
                }
                if old != Tag::Seq {
                    return Err(Diagnostic::new(
                        "conflicting-tags",
                        format!(
                            "`{iname}` is already tagged `{}` and cannot be `{tag}` as well",
                            data.tag_text(iname)
                        ),
                    )
                    .help(format!("`untag_inames({iname})` first")));
                }
                extents.check_tag(iname, *tag)?;
                data.tags.insert(iname.clone(), *tag);
                if tag.is_parallel() {
                    parallel.insert(iname);
                }
            }
            splice(data, &mut parallel);
            check_axes(data)?;
            check_host(data)
        })
    }
}
