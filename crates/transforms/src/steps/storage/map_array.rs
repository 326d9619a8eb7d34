//! Changes the subscripts of a temporary by a map of its cells.

use loopwright_kernel_ir::{
    Aff, Arg, ArrayLayout, Axis, Constraint, Diagnostic, Expr, KernelData, LoopKernel, Name, Part, PartRef,
    parse_expression,
};
use loopwright_legality::Judgement;
use loopwright_poly::System;

use crate::{
    Transform,
    arguments::{Args, Argument},
    call::name_in,
    names,
    rewrite::{
        extent::{constraints_of, last_part},
        footprint::{accesses_in, affine_subscript},
        map_accesses, require_no_table, require_temporary, touches,
    },
    step::TextForm,
};

step! {
    /// `map_array(t, [x, y] -> [y, x + y])`: gives the cells of a temporary new subscripts, which
    /// are quasi-affine functions of the old ones.
    ///
    /// # Meaning
    ///
    /// Each access `t[e, f]` becomes an access to the cell given by the functions of `e` and `f`,
    /// minus the least value of each function. The new shape is the bounding box of the image of
    /// the old one, so that a skewed array has unused cells. Order and padding are reset to the
    /// defaults. With a layout that [`SetLayout`](crate::SetLayout) or
    /// [`SwizzleArray`](crate::SwizzleArray) has set, elements stay where they are in storage: the
    /// new layout is the composition of that with the inverse of the map. The step expresses
    /// transposed, skewed and reversed storage, splitting an axis (`[x] -> [x // 4, x % 4]`) and
    /// joining two (`[x, y] -> [8*x + y]`).
    ///
    /// # Legality
    ///
    /// A one-to-one map of cells preserves which accesses are to the same cell, and thus every
    /// conflict and its order; nothing else is required. It is proved that the functions f are
    /// one-to-one on the whole shape, or else on the accessed cells: { (c, d) : c and d are
    /// accessed, c != d, f(c) = f(d) } is empty. Otherwise the step is refused with two cells that
    /// would coincide. Only temporaries can be mapped, since the caller allocates arguments: map a
    /// copy that [`PackArray`](crate::PackArray) makes, or use
    /// [`TagArrayAxes`](crate::TagArrayAxes) for the layout of the argument itself.
    ///
    /// In text: `map_array(t, [x, y] -> [y, x + y])`; the names on the left stand for the old
    /// subscripts, parameters may be used.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel sweep(x: f32[8, 8], y: f32[8, 8])
    /// temp t: f32[8, 8] shared
    /// domain { [i, j] : 0 <= i < 8 and 0 <= j < 8 }
    /// domain { [p, q] : 0 <= p < 8 and 0 <= q < 8 }
    /// t[i, j] = x[i, j] {id=load}
    /// y[p, q] = t[q, p] {id=store}
    /// ")?;
    /// let steps = Pipeline::parse("map_array(t, [r, c] -> [r + c, c])")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel sweep(x: f32[8, 8], y: f32[8, 8])
    /// domain { [i, j] : 0 <= i <= 7 and 0 <= j <= 7 }
    /// domain { [p, q] : 0 <= p <= 7 and 0 <= q <= 7 }
    /// temp t: f32[15, 8] shared
    /// t[i + j, j] = x[i, j] {id=load, inames=i:j}
    /// y[p, q] = t[p + q, p] {id=store, inames=p:q}
    /// tree {
    ///     for i {
    ///         for j {
    ///             load
    ///         }
    ///     }
    ///     for p {
    ///         for q {
    ///             store
    ///         }
    ///     }
    /// }
    /// ");
    /// // The sum alone does not tell the cells apart.
    /// let refusal = Pipeline::parse("map_array(t, [r, c] -> [r + c])")?.apply(&before).unwrap_err();
    /// assert_eq!(refusal.witness.as_deref(), Some("t[0, 1] and t[1, 0] would both be t[1]"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct MapArray as "map_array", by hand {
        /// A temporary that bounds no loop, with lengths that are affine.
        pub array: Name,
        /// Names of the old subscripts, used in the functions.
        pub axes: Vec<Name>,
        /// The new subscripts, one for each new axis, as functions of the old ones.
        pub image: Vec<Aff>,
    }
    table: "map_array(t, [x, y] -> [y, x + y])" => "`split_array_dim`, for temporaries",
    methods: {
        /// See [`MapArray`](crate::MapArray); `[x, y] -> [y, x + y]`.
        fn map_array(&self, array: &str, map: &str) -> Result<Self, Diagnostic> {
            self.step(Step::parse(&format!("map_array({array}, {map})"))?)
        }
    }
}

impl MapArray {
    /// The cell with subscripts `axes` becomes the one with subscripts `image`.
    pub fn new<N: Into<Name>>(
        array: impl Into<Name>,
        axes: impl IntoIterator<Item = N>,
        image: impl IntoIterator<Item = Aff>,
    ) -> Self {
        MapArray {
            array: array.into(),
            axes: axes.into_iter().map(Into::into).collect(),
            image: image.into_iter().collect(),
        }
    }

    /// The new subscripts of a cell.
    fn at(&self, index: &[Aff]) -> Result<Vec<Aff>, Diagnostic> {
        let of = |n: &Name| self.axes.iter().position(|a| a == n).and_then(|k| index.get(k)).cloned();
        Ok(self.image.iter().map(|f| f.substitute(&of)).collect::<Result<_, _>>()?)
    }

    fn check_names(&self, data: &KernelData) -> Result<(), Diagnostic> {
        let refuse = |message: String| {
            Err(Diagnostic::new("map-array", message).help(
                "name each axis on the left and write functions of these names and parameters on \
                 the right, as in `[x, y] -> [y, x + y]`",
            ))
        };
        let axes = data.temporary(&self.array).map_or(0, |a| a.axes.len());
        if self.axes.len() != axes || axes == 0 {
            let plural = if axes == 1 { "axis" } else { "axes" };
            return refuse(format!(
                "`{}` has {axes} {plural}, and the map names {}",
                self.array,
                self.axes.len()
            ));
        }
        if self.image.is_empty() {
            return refuse(format!("`{}` would have no subscripts", self.array));
        }
        for (k, name) in self.axes.iter().enumerate() {
            if self.axes[..k].contains(name) {
                return refuse(format!("`{name}` is the name of two axes"));
            }
            if is_parameter(data, name) {
                return refuse(format!("`{name}` is a parameter and cannot be the name of an axis"));
            }
        }
        let known = |n: &Name| self.axes.contains(n) || is_parameter(data, n);
        match self.image.iter().flat_map(Aff::names).find(|n| !known(n)) {
            Some(n) => refuse(format!("`{n}` is neither an axis on the left nor a parameter")),
            None => Ok(()),
        }
    }

    /// The cells of the whole shape, over the names of the axes; `None` if a length is not affine.
    fn shape(&self, data: &KernelData) -> Result<Option<Vec<Constraint>>, Diagnostic> {
        let mut rows = data.assumptions.clone();
        let Some(array) = data.temporary(&self.array) else { return Ok(None) };
        for (name, axis) in self.axes.iter().zip(&array.axes) {
            let Some(length) = axis.length.to_aff() else { return Ok(None) };
            rows.push(Constraint::nonneg(Aff::var(name)));
            rows.push(Constraint::lt(&Aff::var(name), &length)?);
        }
        Ok(Some(rows))
    }

    /// The accesses of the temporary, with their instances and subscripts; `None` if a subscript is
    /// not affine.
    fn accessed(&self, data: &KernelData) -> Result<Option<Vec<Cells>>, Diagnostic> {
        let mut cells: Vec<Cells> = Vec::new();
        for instruction in data.instructions.iter().filter(|i| touches(i, &self.array)) {
            let mut found = Vec::new();
            accesses_in(&instruction.value, &self.array, &mut 0, &mut found);
            let index = instruction.targets.iter().flat_map(|t| &t.index);
            for e in index.chain(&instruction.predicate) {
                let mut outside = Vec::new();
                accesses_in(e, &self.array, &mut 0, &mut outside);
                found.extend(outside.into_iter().map(|(_, a)| (None, a)));
            }
            let targets = instruction.targets.iter().filter(|t| t.array == self.array);
            found.extend(targets.map(|t| (None, t.clone())));
            for (reduction, access) in found {
                let part = match reduction {
                    Some(n) => PartRef { instruction: instruction.id.clone(), part: Part::Update(n) },
                    None => last_part(data, &instruction.id),
                };
                let index: Option<Vec<Aff>> =
                    access.index.iter().map(|e| affine_subscript(data, e)).collect();
                let Some(index) = index else { return Ok(None) };
                let rows = data.assumptions.iter().cloned().chain(constraints_of(data, &part)?).collect();
                let new = Cells { rows, index };
                if !cells.contains(&new) {
                    cells.push(new);
                }
            }
        }
        Ok(Some(cells))
    }

    /// Two different cells, from two sets of cells, that would coincide.
    fn coincide(&self, data: &KernelData, a: &Cells, b: &Cells) -> Result<Option<String>, Diagnostic> {
        let prime = |n: &Name| (!is_parameter(data, n)).then(|| Aff::var(format!("{n}'")));
        let mut rows = a.rows.clone();
        for c in &b.rows {
            rows.push(c.substitute(&prime)?);
        }
        let other: Vec<Aff> = b.index.iter().map(|s| s.substitute(&prime)).collect::<Result<_, _>>()?;
        let image = self.at(&a.index)?;
        for (f, g) in image.iter().zip(self.at(&other)?) {
            rows.push(Constraint::equal(f, &g)?);
        }
        let base = System::new(&rows)?;
        for (s, t) in a.index.iter().zip(&other) {
            let case = base.with(&[Constraint::lt(s, t)?])?;
            if case.is_empty()? {
                continue;
            }
            let point = case.sample(&Default::default())?.unwrap_or_default();
            let cell = |index: &[Aff]| {
                let value =
                    |s: &Aff| s.eval(&|n| Some(point.get(n).copied().unwrap_or(0))).unwrap_or_default();
                format!("{}[{}]", self.array, names::numbers(index.iter().map(value)))
            };
            // In the image, subscripts are relative to the function's least value: this is the
            // function's value itself.
            let mut text = format!("{} and {} would both be {}", cell(&a.index), cell(&other), cell(&image));
            let parameters: Vec<String> = point
                .iter()
                .filter(|(n, _)| is_parameter(data, n))
                .map(|(n, v)| format!("{n}={v}"))
                .collect();
            if !parameters.is_empty() {
                text.push_str(&format!(" ({})", parameters.join(", ")));
            }
            return Ok(Some(text));
        }
        Ok(None)
    }

    /// Refuses a map under which two cells would coincide.
    fn check_one_to_one(&self, data: &KernelData, shape: &[Constraint]) -> Result<(), Diagnostic> {
        let whole = Cells { rows: shape.to_vec(), index: self.axes.iter().map(Aff::var).collect() };
        let Some(mut witness) = self.coincide(data, &whole, &whole)? else { return Ok(()) };
        if let Some(accessed) = self.accessed(data)? {
            let mut met = None;
            'pairs: for a in &accessed {
                for b in &accessed {
                    met = self.coincide(data, a, b)?;
                    if met.is_some() {
                        break 'pairs;
                    }
                }
            }
            match met {
                None => return Ok(()),
                Some(found) => witness = found,
            }
        }
        Err(Diagnostic::new(
            "not-one-to-one",
            format!("two cells of `{}` would coincide under the map", self.array),
        )
        .witness(witness)
        .help("add a function that distinguishes them, such as one of the old subscripts"))
    }

    /// The layout with which elements stay where they are, if one is set.
    fn layout(&self, data: &LoopKernel, new: &[(Aff, Aff)]) -> Result<ArrayLayout, Diagnostic> {
        let set = data.temporary(&self.array).filter(|array| !array.layout.is_default());
        let Some(array) = set else { return Ok(ArrayLayout::default()) };
        let refuse = |why: String| {
            let message = format!(
                "the new subscripts of `{}` have no layout in which elements stay where {} puts them: {why}",
                self.array, array.layout
            );
            Diagnostic::new("wrong-layout", message)
                .help("change the subscripts first, and set the layout of the new shape")
        };
        let lengths: Option<Vec<i64>> = new.iter().map(|(_, length)| length.as_constant()).collect();
        let Some(lengths) = lengths else { return Err(refuse("the new shape is not constant".into())) };
        let at = |cell: &[i64]| -> Option<Vec<i64>> {
            let of = |n: &Name| self.axes.iter().position(|a| a == n).and_then(|k| cell.get(k).copied());
            let own = self.image.iter().zip(new);
            own.map(|(f, (lower, _))| f.eval(&of)?.checked_sub(lower.as_constant()?)).collect()
        };
        let modes = array.modes_behind(&lengths, &at).map_err(refuse)?;
        Ok(ArrayLayout { modes: Some(modes), swizzle: array.layout.swizzle })
    }

    /// The least value and the length of each new axis.
    fn bounding_box(&self, data: &LoopKernel, shape: &[Constraint]) -> Result<Vec<(Aff, Aff)>, Diagnostic> {
        let context = System::new(&loopwright_legality::context(data))?;
        let mut found = Vec::new();
        for f in &self.image {
            let value = Name::new("value'");
            let system = System::new(shape)?.with(&[Constraint::equal(&Aff::var(&value), f)?])?;
            let refuse = || {
                Diagnostic::new(
                    "map-array-shape",
                    format!(
                        "the range of {f} has no single least or greatest value over the \
                         parameters"
                    ),
                )
                .help("use a function that the lengths of the array bound on both sides")
            };
            let (low, high) = system.constant_range(&Aff::var(&value))?;
            let bounds = system.bounds(&value, &|n| is_parameter(data, n))?;
            let lower = match (bounds.lower.as_slice(), low) {
                (_, Some(low)) => Aff::constant(low),
                ([b], None) => b.ceil()?,
                _ => return Err(refuse()),
            };
            let upper = match (bounds.upper.as_slice(), high) {
                (_, Some(high)) => Aff::constant(high),
                ([b], None) => b.floor()?,
                _ => return Err(refuse()),
            };
            // If the old shape may be empty, the bounding box still has no negative length.
            let mut length = upper.sub(&lower)?.add_constant(1)?;
            let mut added = 0;
            while !context.implies(&Constraint::nonneg(length.clone()))? {
                added += 1;
                if added > 8 {
                    return Err(refuse());
                }
                length = length.add_constant(1)?;
            }
            found.push((lower, length));
        }
        Ok(found)
    }
}

fn is_parameter(data: &KernelData, name: &Name) -> bool {
    data.args.iter().any(|a| matches!(a, Arg::Scalar(s) if s.name == *name))
}

/// Accessed cells: the subscripts over the names of the rows.
#[derive(Clone, Debug, PartialEq)]
struct Cells {
    rows: Vec<Constraint>,
    index: Vec<Aff>,
}

impl TextForm for MapArray {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let usage = "`map_array` takes a temporary and a map, such as `t, [x, y] -> [y, x + y]`";
        let texts = args.all_texts();
        let [(array, _), (map, span)] = texts.as_slice() else { return Err(args.error(usage)) };
        let list = |text: &str| {
            let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
            Some(inner.split(',').map(|t| t.trim().to_string()).collect::<Vec<_>>())
        };
        let sides = map.split_once("->").and_then(|(a, b)| Some((list(a)?, list(b)?)));
        let Some((axes, functions)) = sides else { return Err(args.error_in(span.clone(), usage)) };
        let axes: Option<Vec<Name>> = axes.iter().map(|t| name_in(t)).collect();
        let (Some(array), Some(axes)) = (name_in(array), axes) else {
            return Err(args.error_in(span.clone(), usage));
        };
        let mut image = Vec::new();
        for text in functions {
            let value = parse_expression(&text)
                .map_err(|d| args.error_in(span.clone(), format!("`{text}`: {}", d.message)))?;
            let Some(value) = value.to_aff() else {
                return Err(args.error_in(span.clone(), format!("`{text}` is not affine")));
            };
            image.push(value);
        }
        Ok(MapArray { array, axes, image })
    }

    fn arguments(&self) -> Vec<String> {
        let image: Vec<String> = self.image.iter().map(|f| Expr::from_aff(f).to_string()).collect();
        vec![self.array.text(), format!("{} -> [{}]", self.axes.text(), image.join(", "))]
    }
}

impl Transform for MapArray {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        require_no_table(kernel, &self.array)?;
        if kernel.temporary(&self.array).is_none() {
            return Err(Diagnostic::new(
                "not-a-temporary",
                format!("`{}` is an argument: its subscripts are part of the kernel's interface", self.array),
            )
            .help(format!(
                "map a copy of it: `pack_array({0})` before, and then `{0}_pack`; `tag_array_axes` chooses \
                 the layout of the argument itself",
                self.array
            )));
        }
        require_temporary(kernel, &self.array)?;
        self.check_names(kernel)?;
        let shape = self.shape(kernel)?.ok_or_else(|| {
            Diagnostic::new(
                "map-array-shape",
                format!("a length of `{}` is not an affine function", self.array),
            )
            .help("fix the parameters that it multiplies with `fix_parameters`")
        })?;
        self.check_one_to_one(kernel, &shape)?;
        let new = self.bounding_box(kernel, &shape)?;
        let layout = self.layout(kernel, &new)?;
        kernel.edit(|data| {
            for a in data.temporaries.iter_mut().filter(|a| a.name == self.array) {
                a.axes = new.iter().map(|(_, length)| Axis::new(Expr::from_aff(length))).collect();
                a.order.clear();
                a.layout = layout.clone();
            }
            let functions: Vec<Aff> =
                self.image.iter().zip(&new).map(|(f, (lower, _))| f.sub(lower)).collect::<Result<_, _>>()?;
            for instruction in &mut data.instructions {
                map_accesses(instruction, &self.array, &|index| {
                    let affine: Option<Vec<Aff>> = index.iter().map(Expr::to_aff).collect();
                    let position = |n: &Name| self.axes.iter().position(|a| a == n);
                    let of = |f: &Aff| {
                        let direct = affine.as_ref().and_then(|index| {
                            f.substitute(&|n| position(n).and_then(|k| index.get(k)).cloned()).ok()
                        });
                        match direct {
                            Some(aff) => Expr::from_aff(&aff),
                            None => Expr::from_aff(f)
                                .substitute(&|n| position(n).and_then(|k| index.get(k)).cloned()),
                        }
                    };
                    functions.iter().map(of).collect()
                });
            }
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("a one-to-one map of cells preserves which accesses are to the same cell")
    }
}
