//! Splits a loop into a number of chunks of nearly equal length.

use loopwright_kernel_ir::{Aff, Constraint, Definition, Diagnostic, Domain, LoopKernel, Name, Tree};

use crate::{
    Number, Transform,
    rewrite::{extent, replace_in_lists, require_iname, require_untagged, split_names},
};

step! {
    /// `chunk_iname(i, 4)`: splits an iname of constant length into 4 chunks whose lengths differ
    /// by one at most.
    ///
    /// # Meaning
    ///
    /// With L values from `lo` on and K chunks, chunk `c` begins at `lo + floor(L*c/K)`: `i = lo +
    /// floor(L*c/K) + j`, where `j` runs until the next chunk begins. `split_iname(i, ceil(L/K))`
    /// may leave the last piece short or empty; these chunks are balanced.
    ///
    /// # Legality
    ///
    /// The iname is untagged and its length is constant. With a symbolic length L, chunk `c` would
    /// begin at `floor(L*c/K)` or, with a parameter for the length of a chunk, at `c` times that: a
    /// product of two variables, which is not affine, so that no set with it can be decided. Pieces
    /// of a fixed number are affine if they are interleaved: `split_iname(i, K)` makes
    /// `i = K*i_outer + i_inner`, where `i_inner` is the number of the piece, and the pieces are
    /// balanced, too. The values keep their order, since { i -> (c, j) } is one-to-one and
    /// monotone.
    ///
    /// In text: `chunk_iname(i, 4)`, with `outer=` and `inner=` for the names, by default `i_outer`
    /// and `i_inner`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel fill(x: f32[10])
    /// domain { [i] : 0 <= i < 10 }
    /// x[i] = 1.0 {id=set}
    /// ")?;
    /// let steps = Pipeline::parse("chunk_iname(i, 4)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel fill(x: f32[10])
    /// domain { [i] : 0 <= i <= 9 }
    /// domain { [i_outer, i_inner] : 0 <= i_outer <= 3 and 0 <= i_inner and i_inner + floor((5*i_outer)/2) <= floor((5*i_outer + 1)/2) + 1 }
    /// let i = i_inner + floor((5*i_outer)/2)
    /// x[i] = 1.0 {id=set, inames=i_outer:i_inner}
    /// tree {
    ///     for i_outer {
    ///         for i_inner {
    ///             set
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct ChunkIname as "chunk_iname" {
        /// An iname of constant length, without a tag.
        pub iname: Name = next("the iname to split"),
        /// The number of chunks, at least 1.
        pub chunks: Number = next("the number of chunks"),
        /// Name of the loop over chunks; by default the iname with the suffix `_outer`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub outer: Option<Name> = option(),
        /// Name of the loop inside a chunk; by default the iname with the suffix `_inner`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub inner: Option<Name> = option(),
    }
    table: "chunk_iname(i, 4)" => "`chunk_iname(k, \"i\", 4)`",
    methods: {
        /// See [`ChunkIname`].
        fn chunk_iname(&self, iname: &str, chunks: impl Into<Number>) -> Result<Self, Diagnostic> {
            self.step(ChunkIname::new(iname, chunks))
        }
    }
}

impl ChunkIname {
    /// A split into chunks with default names.
    pub fn new(iname: impl Into<Name>, chunks: impl Into<Number>) -> Self {
        ChunkIname { iname: iname.into(), chunks: chunks.into(), outer: None, inner: None }
    }
}

impl Transform for ChunkIname {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let iname = &self.iname;
        require_iname(kernel, iname)?;
        require_untagged(kernel, iname, "split")?;
        let chunks = self.chunks.at_least(1, "the number of chunks")?;
        let range = extent::range(kernel, iname)?;
        let Some((lower, length)) = range.and_then(|r| Some((r.lower, r.length?))) else {
            return Err(Diagnostic::new(
                "not-constant-length",
                format!("`{iname}` cannot be cut into chunks: its length is not constant"),
            )
            .help(format!(
                "fix the parameters, split by length with `split_iname({iname}, 128)`, or into \
                 {chunks} interleaved pieces, numbered by `{iname}_inner`, with \
                 `split_iname({iname}, {chunks})`"
            )));
        };
        let (outer, inner) = split_names(kernel, iname, self.outer.as_ref(), self.inner.as_ref())?;
        kernel.edit(|data| {
            let (o, i) = (Aff::var(&outer), Aff::var(&inner));
            // In lowest terms, to keep the numbers in the divisions small.
            let (mut common, mut remainder) = (length, chunks);
            while remainder != 0 {
                (common, remainder) = (remainder, common % remainder);
            }
            let (times, by) = (length / common.max(1), chunks / common.max(1));
            let begin = |chunk: &Aff| chunk.scale(times)?.floor_div(by);
            let own = begin(&o)?;
            let next = begin(&o.add_constant(1)?)?;
            data.domains.push(Domain {
                inames: vec![outer.clone(), inner.clone()],
                constraints: vec![
                    Constraint::nonneg(o.clone()),
                    Constraint::lt(&o, &Aff::constant(chunks))?,
                    Constraint::nonneg(i.clone()),
                    Constraint::lt(&i, &next.sub(&own)?)?,
                ],
            });
            let value = own.add(&i)?.add(&lower)?;
            data.definitions.push(Definition { iname: iname.clone(), value });
            let by = [outer.clone(), inner.clone()];
            replace_in_lists(data, iname, &by);
            data.tree = Tree::replace_loop(&data.tree, iname, &by);
            Ok(())
        })
    }
}
