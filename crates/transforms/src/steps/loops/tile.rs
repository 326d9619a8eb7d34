//! Splits several loops and nests the tiles outside.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};

use crate::{
    Number, Reorder, SplitIname, Transform,
    arguments::{Args, Argument},
    patterns::Subject,
    step::{List, TextForm},
};

step! {
    /// `tile([i, j], [16, 32])`: splits each iname and nests all loops over tiles outside of all
    /// loops within a tile.
    ///
    /// # Meaning
    ///
    /// It is `split_iname(i, 16)`, `split_iname(j, 32)` and
    /// `reorder(i_outer, j_outer, i_inner, j_inner)`.
    ///
    /// # Legality
    ///
    /// The splits keep the order. The new nesting is legal if it reverses no dependence, which
    /// holds for all tile sizes if the loops are *permutable*: no dependence distance is negative
    /// in any of them. Skew a wavefront first with [`MapDomain`](crate::MapDomain).
    ///
    /// In text: `tile([i, j], [16, 32])`.
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
    /// let steps = Pipeline::parse("tile([i, j], [16, 32])")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel transpose(x: f32[n, m], y: f32[m, n], n: i32, m: i32)
    /// assume 1 <= n and 1 <= m
    /// domain { [i, j] : 0 <= i < n and 0 <= j < m }
    /// domain { [i_outer, i_inner] : 0 <= i_inner <= 15 }
    /// domain { [j_outer, j_inner] : 0 <= j_inner <= 31 }
    /// let i = 16*i_outer + i_inner
    /// let j = 32*j_outer + j_inner
    /// y[j, i] = x[i, j] {id=move, inames=i_outer:j_outer:i_inner:j_inner}
    /// tree {
    ///     for i_outer {
    ///         for j_outer {
    ///             for i_inner {
    ///                 for j_inner {
    ///                     move
    ///                 }
    ///             }
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Tile as "tile", by hand {
        /// The inames, outermost first.
        pub inames: Vec<Name>,
        /// The length of a tile along each of them.
        pub lengths: Vec<Number>,
    }
    table: "tile([i, j], [16, 32])" => "`split_iname` twice, then `prioritize_loops`",
    methods: {
        /// See [`Tile`].
        fn tile<'a, N: Into<Number>>(
            &self,
            tiles: impl IntoIterator<Item = (&'a str, N)>,
        ) -> Result<Self, Diagnostic> {
            self.step(Tile::new(tiles))
        }
    }
}

impl Tile {
    /// Tiles of these lengths.
    pub fn new<I: Into<Name>, N: Into<Number>>(tiles: impl IntoIterator<Item = (I, N)>) -> Self {
        let (inames, lengths) = tiles.into_iter().map(|(i, n)| (i.into(), n.into())).unzip();
        Tile { inames, lengths }
    }
}

impl TextForm for Tile {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let inames = args.next("the inames, as `[i, j]`")?;
        let texts = args.all_texts();
        let [(text, span)] = texts.as_slice() else {
            return Err(args.error("`tile` needs the lengths of a tile, as `[16, 32]`"));
        };
        let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        let lengths: Option<Vec<Number>> = inner.split(',').map(|t| Number::parse(t.trim())).collect();
        let Some(lengths) = lengths else {
            return Err(args.error_in(span.clone(), format!("expected integers or `$name`, not `{text}`")));
        };
        Ok(Tile { inames, lengths })
    }

    fn arguments(&self) -> Vec<String> {
        let lengths: Vec<String> = self.lengths.iter().map(ToString::to_string).collect();
        vec![self.inames.text(), format!("[{}]", lengths.join(", "))]
    }

    fn numbers(&mut self) -> Vec<&mut Number> {
        self.lengths.iter_mut().collect()
    }

    fn lists(&mut self) -> Vec<List<'_>> {
        List::of(&mut self.inames, Some(Subject::Inames)).into_iter().collect()
    }
}

impl Transform for Tile {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        if self.inames.len() != self.lengths.len() {
            return Err(Diagnostic::new(
                "step-arguments",
                format!(
                    "{} inames are tiled, and {} lengths are given",
                    self.inames.len(),
                    self.lengths.len()
                ),
            ));
        }
        let mut kernel = kernel.clone();
        let (mut outer, mut inner) = (Vec::new(), Vec::new());
        for (iname, length) in self.inames.iter().zip(&self.lengths) {
            kernel = SplitIname::new(iname.clone(), length.clone()).apply(&kernel)?;
            outer.push(Name::new(format!("{iname}_outer")));
            inner.push(Name::new(format!("{iname}_inner")));
        }
        if outer.len() < 2 {
            return Ok(kernel);
        }
        outer.extend(inner);
        Reorder::new(outer).apply(&kernel)
    }
}
