//! Affine changes of inames: skewing, wavefronts, diamonds, shifts, reversal.

use loopwright_kernel_ir::{
    Aff, Constraint, Definition, Diagnostic, Domain, KernelData, Lookup, LoopKernel, Name, Tree,
    parse_expression,
};
use loopwright_poly::System;

use crate::{
    Transform,
    arguments::{Args, Argument},
    call::name_in,
    names,
    rewrite::{
        body_of, check_commutes, map_reductions, parts_with_inames, path_to, require_fresh, require_iname,
        require_untagged, tree,
    },
    step::TextForm,
};

step! {
    /// `map_domain([t, i] -> [w, t], w = 2*t + i)`: replaces inames by affine functions of them,
    /// which run over the same points in another order.
    ///
    /// # Meaning
    ///
    /// The loops over the old inames become loops over the new ones, in the order in which these
    /// are listed. An iname in both lists is kept; for each other new iname, its function of the
    /// old inames, parameters, inames around all of them and a constant follows the lists.
    /// Different points need different values: the matrix of the map is square and has an inverse.
    /// Old inames that are not kept get their value from the inverse map:
    /// `[t, i] -> [w, t], w = 2*t + i` has `i = w - 2*t`.
    ///
    /// If the determinant is neither 1 nor -1, the new inames skip points: in
    /// `[t, i] -> [w, i], w = 2*t + i`, where `t = floor((w - i)/2)`, those of which `w - i` is
    /// odd. Each inverse function with a division adds the condition that nothing remains to the
    /// domain of the new inames.
    ///
    /// It expresses skewing (`w = t + i`), wavefronts (sequential `w`, the others parallel),
    /// diamonds (`[t, i] -> [a, b], a = t + i, b = t - i`, in tiles after `tile`), shifts
    /// (`[i] -> [k], k = i + 1`), reversal (see [`Reverse`](crate::Reverse)) and interchange. A
    /// shift by an iname around (`[i] -> [w], w = i - k - 1` of a loop from `k + 1`) makes a loop
    /// begin at 0: where `k` is a loop of the host, each launch then has the blocks that it has
    /// work for.
    ///
    /// # Legality
    ///
    /// The loops have to be untagged and nested perfectly, so that each part runs over all of the
    /// inames or none. The order of a reduction whose operator does not commute is kept. The map is
    /// legal if for every dependence { x -> y } of the declared kernel the new time of x is before
    /// the new time of y: { x -> y : M x >= M y lexicographically } is empty.
    ///
    /// In text: as above, with a function for each new iname.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel sweep(x: f32[n, n], n: i32)
    /// assume 2 <= n
    /// domain { [i, j] : 1 <= i < n and 1 <= j < n }
    /// x[i, j] = x[i - 1, j] + x[i, j - 1] {id=add}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// map_domain([i, j] -> [w, i], w = i + j)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel sweep(x: f32[n, n], n: i32)
    /// assume 2 <= n
    /// domain { [i, j] : 1 <= i < n and 1 <= j < n }
    /// domain { [w] }
    /// let j = w - i
    /// x[i, j] = x[i - 1, j] + x[i, j - 1] {id=add, inames=w:i}
    /// tree {
    ///     for w {
    ///         for i {
    ///             add
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A map whose image is every other point:
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel sweep(x: f32[n, n], n: i32)
    /// assume 2 <= n
    /// domain { [i, j] : 1 <= i < n and 1 <= j < n }
    /// x[i, j] = x[i - 1, j] + x[i, j - 1] {id=add}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// map_domain([i, j] -> [w, d], w = i + j, d = i - j)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel sweep(x: f32[n, n], n: i32)
    /// assume 2 <= n
    /// domain { [i, j] : 1 <= i < n and 1 <= j < n }
    /// domain { [w, d] : 0 = (d + w) mod 2 }
    /// let i = floor((d + w)/2)
    /// let j = floor((w - d)/2)
    /// x[i, j] = x[i - 1, j] + x[i, j - 1] {id=add, inames=w:d}
    /// tree {
    ///     for w {
    ///         for d {
    ///             add
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct MapDomain as "map_domain", by hand {
        /// The inames that are replaced.
        pub old: Vec<Name>,
        /// The inames that replace them, outermost first.
        pub new: Vec<Name>,
        /// The functions of the new inames that are not among the old ones.
        pub values: Vec<Definition>,
    }
    table: "map_domain([t, i] -> [w, t], w = 2*t + i)" => "`map_domain(k, isl_map)`, `affine_map_inames`",
    methods: {
        /// See [`MapDomain`](crate::MapDomain); `[t, i] -> [w, t], w = 2*t + i`.
        fn map_domain(&self, map: &str) -> Result<Self, Diagnostic> {
            self.step(Step::parse(&format!("map_domain({map})"))?)
        }
    }
}

impl MapDomain {
    /// A map from old inames to new ones, with the functions of those that are not kept.
    pub fn new<A: Into<Name>, B: Into<Name>, C: Into<Name>>(
        old: impl IntoIterator<Item = A>,
        new: impl IntoIterator<Item = B>,
        values: impl IntoIterator<Item = (C, Aff)>,
    ) -> Self {
        MapDomain {
            old: old.into_iter().map(Into::into).collect(),
            new: new.into_iter().map(Into::into).collect(),
            values: values
                .into_iter()
                .map(|(iname, value)| Definition { iname: iname.into(), value })
                .collect(),
        }
    }

    /// The function of a new iname.
    fn value(&self, iname: &Name) -> Option<Aff> {
        if self.old.contains(iname) {
            return Some(Aff::var(iname));
        }
        self.values.iter().find(|d| d.iname == *iname).map(|d| d.value.clone())
    }

    /// Checks the lists themselves.
    fn check_lists(&self, kernel: &KernelData) -> Result<(), Diagnostic> {
        let refuse = |message: String| Err(Diagnostic::new("map-domain", message));
        for list in [&self.old, &self.new] {
            for (k, n) in list.iter().enumerate() {
                if list[..k].contains(n) {
                    return Err(Diagnostic::new("iname-listed-twice", format!("`{n}` is listed twice")));
                }
            }
        }
        for iname in &self.old {
            require_iname(kernel, iname)?;
            require_untagged(kernel, iname, "mapped")?;
        }
        if self.old.is_empty() || self.old.len() != self.new.len() {
            return refuse(format!(
                "{} inames cannot be mapped one-to-one to {}",
                self.old.len(),
                self.new.len()
            ));
        }
        for d in &self.values {
            if !self.new.contains(&d.iname) || self.old.contains(&d.iname) {
                return refuse(format!("`{}` has a function, but it is not a new iname", d.iname));
            }
            require_fresh(kernel, &d.iname, "new").map_err(|refusal| match refusal.code {
                "name-taken" => refusal.help("choose another name in the second list, and for its function"),
                _ => refusal,
            })?;
            let scalar = |n: &Name| kernel.args.iter().any(|a| a.name() == n) && kernel.array(n).is_none();
            for n in d.value.names().into_iter().filter(|n| !self.old.contains(n) && !scalar(n)) {
                if !Lookup::new(kernel).is_iname(&n) {
                    return refuse(format!(
                        "the function of `{}` mentions `{n}`, which is neither an iname nor a parameter",
                        d.iname
                    ));
                }
                self.require_around(kernel, &n)?;
            }
            if !d.value.is_affine() {
                return refuse(format!("the function of `{}` is not affine: {}", d.iname, d.value));
            }
        }
        match self.new.iter().find(|n| self.value(n).is_none()) {
            Some(n) => Err(Diagnostic::new("map-domain", format!("the new iname `{n}` has no function"))
                .help(format!("write it after the lists, as `{n} = {}`", self.old.join_plus()))),
            None => Ok(()),
        }
    }

    /// Refuses an iname that is not mapped itself, unless it has one value for all that the mapped
    /// ones run over: its loop, or what it is on, is around theirs.
    fn require_around(&self, kernel: &KernelData, iname: &Name) -> Result<(), Diagnostic> {
        let mapped = |list: &[Name]| self.old.iter().any(|own| list.contains(own));
        let mut parts = parts_with_inames(kernel).into_iter().filter(|(_, have)| mapped(have));
        if let Some((part, _)) = parts.find(|(_, have)| !have.contains(iname)) {
            let message = format!("the map uses `{iname}`, which is not around `{part}`");
            return Err(Diagnostic::new("map-domain", message)
                .help("map it, too, or give the part a separate loop with `distribute`"));
        }
        let Some(path) = path_to(&kernel.tree, iname) else { return Ok(()) };
        let inside = self.old.iter().find(|own| path.contains(own));
        match inside {
            Some(own) => Err(Diagnostic::new(
                "map-domain",
                format!("the map uses `{iname}`, whose loop is inside of that over `{own}`"),
            )
            .help("map it, too, or bring its loop outside with `reorder`")),
            None => Ok(()),
        }
    }

    /// The inverse map: the value of each old iname that is not kept, and what the new inames have
    /// to fulfil for these values to be integers.
    fn inverse(&self) -> Result<(Vec<Definition>, Vec<Constraint>), Diagnostic> {
        let mut rows = Vec::new();
        let mut offsets = Vec::new();
        for n in &self.new {
            let value = self.value(n).unwrap_or_default();
            rows.push(self.old.iter().map(|o| value.coefficient(o)).collect::<Vec<i64>>());
            // The constant terms of the map.
            let offset = value.substitute(&|name| self.old.contains(name).then(|| Aff::constant(0)))?;
            offsets.push(Aff::var(n).sub(&offset)?);
        }
        let Some(inverse) = super::inverse::inverse(&rows) else {
            return Err(Diagnostic::new(
                "not-one-to-one",
                format!("this map takes several points to one: the matrix {rows:?} has no inverse"),
            )
            .help("keep one of the old inames"));
        };
        let mut values = Vec::new();
        let mut whole = Vec::new();
        for (o, (row, by)) in self.old.iter().zip(&inverse) {
            if self.new.contains(o) {
                continue;
            }
            let mut value = Aff::default();
            for (c, offset) in row.iter().zip(&offsets) {
                value = value.add(&offset.scale(*c)?)?;
            }
            let divided = value.floor_div(*by)?;
            if *by != 1 {
                let condition = Constraint::equal(&value, &divided.scale(*by)?)?;
                if !System::new(&whole)?.implies(&condition)? {
                    whole.push(condition);
                }
            }
            values.push(Definition { iname: o.clone(), value: divided });
        }
        Ok((values, whole))
    }
}

trait JoinPlus {
    fn join_plus(&self) -> String;
}

impl JoinPlus for Vec<Name> {
    fn join_plus(&self) -> String {
        self.iter().map(Name::as_str).collect::<Vec<_>>().join(" + ")
    }
}

/// Refuses parts that run over some of the inames but not over all, and loops that are not
/// perfectly nested. Returns the outermost loop.
fn require_perfect_nest(data: &KernelData, inames: &[Name]) -> Result<Option<Name>, Diagnostic> {
    for (part, have) in parts_with_inames(data) {
        let some = inames.iter().filter(|i| have.contains(i)).count();
        if some != 0 && some != inames.len() {
            return Err(Diagnostic::new(
                "loops-not-perfect",
                format!(
                    "`{part}` runs over some of {} but not over all",
                    names::list(inames.iter().map(|n| &**n))
                ),
            )
            .help("give it a separate loop with `distribute`"));
        }
    }
    let Some(path) = inames.iter().filter_map(|i| path_to(&data.tree, i)).max_by_key(Vec::len) else {
        return Ok(None);
    };
    let nest = &path[path.len().saturating_sub(inames.len())..];
    if let Some(other) = inames.iter().find(|i| !nest.contains(i)) {
        return Err(Diagnostic::new(
            "loops-not-perfect",
            format!(
                "the loops over {} are not directly nested: `{other}` is elsewhere",
                names::list(inames.iter().map(|n| &**n))
            ),
        )
        .help("bring them next to each other with `reorder`"));
    }
    for pair in nest.windows(2) {
        if body_of(&data.tree, &pair[0]).is_some_and(|b| b.len() > 1) {
            return Err(Diagnostic::new(
                "loops-not-perfect",
                format!("the loop over `{}` contains more than the loop over `{}`", pair[0], pair[1]),
            )
            .help("move what is between them to a separate loop with `distribute`"));
        }
    }
    Ok(nest.first().cloned())
}

/// The body of the `depth` outermost loops of a perfect nest.
fn inside(trees: &[Tree], depth: usize) -> Vec<Tree> {
    match trees {
        [Tree::Loop { body, .. }] if depth > 0 => inside(body, depth - 1),
        _ => trees.to_vec(),
    }
}

/// The list with the old inames replaced by the new ones, at the position of the first old one.
fn swap(list: &[Name], old: &[Name], new: &[Name]) -> Vec<Name> {
    let Some(at) = list.iter().position(|n| old.contains(n)) else { return list.to_vec() };
    let rest = |part: &[Name]| part.iter().filter(|n| !old.contains(n)).cloned().collect::<Vec<_>>();
    [rest(&list[..at]), new.to_vec(), rest(&list[at..])].concat()
}

impl TextForm for MapDomain {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let usage = "`map_domain` takes two lists and functions, such as `[t, i] -> [w, t], w = \
                     2*t + i`";
        let texts = args.all_texts();
        let [(lists, span)] = texts.as_slice() else { return Err(args.error(usage)) };
        let list = |text: &str| -> Option<Vec<Name>> {
            let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
            inner.split(',').map(|t| name_in(t.trim())).collect()
        };
        let sides = lists.split_once("->").and_then(|(a, b)| Some((list(a)?, list(b)?)));
        let Some((old, new)) = sides else { return Err(args.error_in(span.clone(), usage)) };
        let mut values = Vec::new();
        for (key, text, span) in args.all_keyed() {
            let value = parse_expression(&text)
                .map_err(|d| args.error_in(span.clone(), format!("`{text}`: {}", d.message)))?;
            let Some(value) = value.to_aff() else {
                return Err(args.error_in(span, format!("`{text}` is not affine")));
            };
            values.push(Definition { iname: Name::new(key), value });
        }
        Ok(MapDomain { old, new, values })
    }

    fn arguments(&self) -> Vec<String> {
        let lists = format!("{} -> {}", self.old.text(), self.new.text());
        let values = self.values.iter().map(|Definition { iname, value }| format!("{iname} = {value}"));
        [lists].into_iter().chain(values).collect()
    }
}

impl Transform for MapDomain {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        self.check_lists(kernel)?;
        let (inverse, whole) = self.inverse()?;
        let outermost = require_perfect_nest(kernel, &self.old)?;
        if self.old != self.new {
            check_commutes(kernel, &self.old)?;
        }
        kernel.edit(|data| {
            let added: Vec<Name> = self.values.iter().map(|d| d.iname.clone()).collect();
            if !added.is_empty() {
                data.domains.push(Domain { inames: added, constraints: whole });
            }
            data.definitions.extend(inverse);
            for instruction in &mut data.instructions {
                instruction.within = swap(&instruction.within, &self.old, &self.new);
                if instruction
                    .value
                    .reductions()
                    .iter()
                    .any(|r| r.inames.iter().any(|n| self.old.contains(n)))
                {
                    instruction.value = map_reductions(&instruction.value, &mut |mut r| {
                        r.inames = swap(&r.inames, &self.old, &self.new);
                        loopwright_kernel_ir::Expr::Reduce(r.into())
                    });
                }
            }
            if let Some(outermost) = outermost {
                data.tree = tree::replace_loop(&data.tree, &outermost, &|nest| {
                    tree::nest(&self.new, inside(std::slice::from_ref(nest), self.old.len()))
                });
            }
            Ok(())
        })
    }
}
