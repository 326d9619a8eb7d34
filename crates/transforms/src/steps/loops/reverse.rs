//! Reverses a loop.

use loopwright_kernel_ir::{Aff, Diagnostic, LoopKernel, Name};

use crate::{
    MapDomain, Transform,
    rewrite::{check_commutes, extent, require_fresh, require_iname, require_untagged},
};

step! {
    /// `reverse(i)`: runs a loop from its greatest value to its least one.
    ///
    /// # Meaning
    ///
    /// A new iname counts upwards, and `i` is defined as `i = lo + hi - i_rev`, or as `i = -i_rev`
    /// if `lo` or `hi` is not a single function of parameters.
    ///
    /// # Legality
    ///
    /// The iname is untagged, and no reduction over it has an operator that does not commute. The
    /// step is legal if no dependence is carried by the loop:
    /// `{ S[i] -> T[i'] : i < i' and one needs the other }` is empty for equal values of the loops
    /// around.
    ///
    /// In text: `reverse(i)`, with `new=i_rev` as the default of its option.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel shift(x: f32[n], n: i32)
    /// assume 2 <= n
    /// domain { [i] : 0 <= i < n }
    /// x[i] = 2.0 * x[i] {id=double}
    /// ")?;
    /// let steps = Pipeline::parse("reverse(i)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel shift(x: f32[n], n: i32)
    /// assume 2 <= n
    /// domain { [i] : 0 <= i < n }
    /// domain { [i_rev] }
    /// let i = n - i_rev - 1
    /// x[i] = 2.0 * x[i] {id=double, inames=i_rev}
    /// tree {
    ///     for i_rev {
    ///         double
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Reverse as "reverse" {
        /// The iname of the loop, without a tag.
        pub iname: Name = next("the iname"),
        /// Name of the iname that counts upwards; by default the iname with the suffix `_rev`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub new: Option<Name> = option(),
    }
    table: "reverse(i)" => "`affine_map_inames`",
    methods: {
        /// See [`Reverse`].
        fn reverse(&self, iname: &str) -> Result<Self, Diagnostic> {
            self.step(Reverse::new(iname))
        }
    }
}

impl Reverse {
    /// Reverses the loop over this iname.
    pub fn new(iname: impl Into<Name>) -> Self {
        Reverse { iname: iname.into(), new: None }
    }

    /// Names the iname that counts upwards.
    pub fn named(mut self, new: impl Into<Name>) -> Self {
        self.new = Some(new.into());
        self
    }
}

impl Transform for Reverse {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let iname = &self.iname;
        require_iname(kernel, iname)?;
        require_untagged(kernel, iname, "reversed")?;
        let new = self.new.clone().unwrap_or_else(|| Name::new(format!("{iname}_rev")));
        require_fresh(kernel, &new, "new")?;
        check_commutes(kernel, std::slice::from_ref(iname))?;
        let ends = extent::range(kernel, iname)?.and_then(|r| Some((r.lower, r.upper?)));
        let sum = match ends {
            Some((lower, upper)) => lower.add(&upper)?,
            None => Aff::default(),
        };
        // `map_domain` needs an affine offset, which rounded bounds are not; a bare negation always
        // works.
        let sum = if sum.is_affine() { sum } else { Aff::default() };
        MapDomain::new([iname.clone()], [new.clone()], [(new, sum.sub(&Aff::var(iname))?)]).apply(kernel)
    }
}
