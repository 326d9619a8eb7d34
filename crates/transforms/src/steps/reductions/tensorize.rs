//! Gives the updates of a reduction to a hardware instruction.

use loopwright_atom::{Atom, Digit, Operand, atoms_of, matching};
use loopwright_kernel_ir::{
    AtomUse, Diagnostic, Dim, KernelData, Kind, Lookup, LoopKernel, Name, Part, Tag, Term,
};

use crate::{
    JoinInames, Reorder, SplitIname, TagInames, Transform,
    arguments::Args,
    names,
    rewrite::{fresh, fresh_beside, require_iname, require_untagged, unknown_instruction},
    step::TextForm,
};

step! {
    /// `tensorize(product, mma_m16n8k16_bf16, m=i_in, n=j_in, k=k_in)`: the updates of a sum of
    /// products are done by a hardware instruction (an *atom*), a box of `m`, `n` and `k` at a
    /// time.
    ///
    /// # Meaning
    ///
    /// `m` and `n` are loops of the lengths of the atom's box around the instruction, and `k` is a
    /// loop of its reduction with the length of the box. The results are distributed over the lanes
    /// of a warp and the registers of a lane as the atom's placement of `d` says: `m` and `n` are
    /// split into digits, those of the lane's number are joined to an iname tagged `lane`, the
    /// others are tagged `ilp`. The accumulator of a result lies in the lane that owns it, so that
    /// it is initialised and used by ordinary statements of that lane. The instruction's option
    /// `atom=NAME(m, n, k)` says that the loop over `k` and the lanes around it are run by the
    /// atom.
    ///
    /// Each lane loads its parts of the two factors from shared or global memory, by words of four
    /// bytes where neighbouring elements of a fragment are neighbours in memory, and the warp
    /// multiplies them together. The block's x axis is the 32 lanes of a warp; other axes number
    /// the warps (`warp` or `thread.y`).
    ///
    /// With `lanes=apart` the digits of the lane's number stay inames of their own, on the block's
    /// axes x, y and z, the least significant one on x, and the warps are on what axis is left. A
    /// sum or a maximum over the columns of the results can then join the lanes that hold parts of
    /// the same row, which are along x: let its loop have the same digits, with the same tags. The
    /// results are in a private array that it reads (the last example).
    ///
    /// Built-in atoms: `mma_m16n8k16_f16`, `mma_m16n8k16_bf16`, `mma_m16n8k8_f16`,
    /// `mma_m16n8k8_bf16` (products of `f16` or `bf16`, added in `f32`), `mma_m16n8k16_f16_f16`
    /// (added in `f16`, by an operator whose state is `f16`), `mma_m16n8k8_tf32`,
    /// `mma_m16n8k4_tf32` (of `to_tf32` of `f32`), these with `_truncated` (of `truncate_to_tf32`,
    /// which costs no instruction), `mma_m16n8k32_s8`, `mma_m16n8k32_u8` (of bytes, in `i32`),
    /// `mma_m8n8k4_f64`, from sm_80 on; `mma_m16n8k32_e4m3`, `mma_m16n8k32_e5m2`,
    /// `mma_m16n8k32_e5m2_e4m3`, `mma_m16n8k32_e4m3_e5m2` (added in `f32`, of which devices may
    /// keep fewer bits), from sm_89 on; `mma_m16n8k4_f64`, `mma_m16n8k8_f64` and
    /// `mma_m16n8k16_f64`, from sm_90 on; `mma_m16n16k4_f16` (Volta's box of 8 x 8 x 4 for each
    /// quad pair), from sm_70 on. A kernel's text may declare others (`atom NAME { ... }`).
    ///
    /// # Legality
    ///
    /// The instances stay what they are; their distribution over lanes and registers is judged as
    /// that by `split_iname`, `join_inames` and `tag_inames` is. The order in which an atom adds
    /// products is its own, as in any reassociation of a reduction. The step refuses an instruction
    /// that is not the atom's product, with the equation that does not hold. In a partial tile
    /// zeros take the place of factors that do not exist: `add_prefetch` fills them in, or the
    /// lanes that load them from global memory, one by one. Lowering refuses updates under other
    /// guards that may differ between the instances of a box. The final check shows, lane by lane
    /// and element by element, that what is loaded and multiplied is what the instruction says.
    ///
    /// In text: `tensorize(product, mma_m16n8k16_bf16, m=i_in, n=j_in, k=k_in)`, and with
    /// `lanes=apart`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel tile(a: f64[8, 4], b: f64[4, 8], c: f64[8, 8])
    /// domain { [i, j] : 0 <= i < 8 and 0 <= j < 8 }
    /// domain { [k] : 0 <= k < 4 }
    /// c[i, j] = sum(k, a[i, k] * b[k, j]) {id=product}
    /// ")?;
    /// let steps = Pipeline::parse("tensorize(product, mma_m8n8k4_f64, m=i, n=j, k=k)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel tile(a: f64[8, 4], b: f64[4, 8], c: f64[8, 8])
    /// domain { [i, j] : 0 <= i <= 7 and 0 <= j <= 7 }
    /// domain { [k] : 0 <= k <= 3 }
    /// domain { [j_lane, j_reg] : 0 <= j_reg <= 1 }
    /// domain { [lane] : 0 <= lane <= 31 }
    /// let j = 2*j_lane + j_reg
    /// let i = floor(lane/4)
    /// let j_lane = lane mod 4
    /// tag j_reg: ilp
    /// tag lane: lane
    /// c[i, j] = sum(k, a[i, k] * b[k, j]) {id=product, inames=lane:j_reg, atom=mma_m8n8k4_f64(i, j, k)}
    /// tree {
    ///     product.init
    ///     for k {
    ///         product.update
    ///     }
    ///     product.finish
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The greatest of each row of a tile, whose rows each lie in four lanes:
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel tops(a: f64[8, 4], b: f64[4, 8], top: f64[8])
    /// domain { [i, j] : 0 <= i < 8 and 0 <= j < 8 }
    /// domain { [k] : 0 <= k < 4 }
    /// domain { [t] : 0 <= t < 8 }
    /// temp s: f64[8] private
    /// s[j] = sum(k, a[i, k] * b[k, j]) {id=product}
    /// top[i] = max(t, s[t]) {id=tops, inames=i}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// split_iname(t, 2, outer=t_lane, inner=t_reg)
    /// tag_inames(t_lane: thread.x)
    /// tensorize(product, mma_m8n8k4_f64, m=i, n=j, k=k, lanes=apart)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel tops(a: f64[8, 4], b: f64[4, 8], top: f64[8])
    /// domain { [i, j] : 0 <= i <= 7 and 0 <= j <= 7 }
    /// domain { [k] : 0 <= k <= 3 }
    /// domain { [t] : 0 <= t <= 7 }
    /// domain { [t_lane, t_reg] : 0 <= t_reg <= 1 }
    /// domain { [j_lane, j_reg] : 0 <= j_reg <= 1 }
    /// temp s: f64[8] private
    /// let t = 2*t_lane + t_reg
    /// let j = 2*j_lane + j_reg
    /// tag i: thread.y
    /// tag j_lane: thread.x
    /// tag j_reg: ilp
    /// tag t_lane: thread.x
    /// s[j] = sum(k, a[i, k] * b[k, j]) {id=product, inames=i:j_lane:j_reg, atom=mma_m8n8k4_f64(i, j, k)}
    /// top[i] = max([t_lane, t_reg], s[t]) {id=tops, inames=i}
    /// tree {
    ///     product.init
    ///     for k {
    ///         product.update
    ///     }
    ///     product.finish
    ///     tops.init
    ///     for t_reg {
    ///         tops.update
    ///     }
    ///     tops.finish
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Tensorize as "tensorize", by hand {
        /// The id of an instruction whose value is a sum of products.
        pub instruction: Name,
        /// The atom's name.
        pub atom: Name,
        /// The loop over rows of the box.
        pub m: Name,
        /// The loop over columns of the box.
        pub n: Name,
        /// The loop of the reduction.
        pub k: Name,
        /// Whether the digits of the lane's number are on axes of their own.
        pub lanes_apart: bool,
    }
    table: "tensorize(id, ATOM, m=i, n=j, k=k)" => "–",
    methods: {
        /// See [`Tensorize`].
        fn tensorize(
            &self,
            instruction: &str,
            atom: &str,
            [m, n, k]: [&str; 3],
        ) -> Result<Self, Diagnostic> {
            self.step(Tensorize::new(instruction, atom, [m, n, k]))
        }
    }
}

impl Tensorize {
    /// The updates of this instruction by this atom, whose `m`, `n` and `k` are these inames.
    pub fn new<N: Into<Name>>(instruction: impl Into<Name>, atom: impl Into<Name>, axes: [N; 3]) -> Self {
        let [m, n, k] = axes.map(Into::into);
        Tensorize { instruction: instruction.into(), atom: atom.into(), m, n, k, lanes_apart: false }
    }

    /// With an axis of the block for each digit of the lane's number.
    pub fn with_lanes_apart(self) -> Self {
        Tensorize { lanes_apart: true, ..self }
    }
}

impl TextForm for Tensorize {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let (instruction, atom) = (args.next("the instruction")?, args.next("the atom")?);
        let mut axis = |key: &'static str| -> Result<Name, Diagnostic> {
            let given = args.option(key)?;
            given.ok_or_else(|| {
                args.error(format!("`tensorize` needs the iname of the atom's `{key}`, as `{key}=i_inner`"))
            })
        };
        let (m, n, k) = (axis("m")?, axis("n")?, axis("k")?);
        let lanes_apart = match args.option::<Name>("lanes")? {
            None => false,
            Some(how) if *how == *"apart" => true,
            Some(how) => {
                return Err(args.error(format!("`lanes={how}` is not `lanes=apart`, the only choice")));
            }
        };
        Ok(Tensorize { instruction, atom, m, n, k, lanes_apart })
    }

    fn arguments(&self) -> Vec<String> {
        let Tensorize { instruction, atom, m, n, k, lanes_apart } = self;
        let axes = [format!("m={m}"), format!("n={n}"), format!("k={k}")];
        let apart = lanes_apart.then(|| "lanes=apart".to_string());
        [instruction.to_string(), atom.to_string()].into_iter().chain(axes).chain(apart).collect()
    }
}

/// Refuses an iname that does not run from 0 to this length.
pub(super) fn require_length(
    data: &KernelData,
    atom: &Atom,
    axis: &str,
    iname: &Name,
    length: i64,
) -> Result<(), Diagnostic> {
    let (mut low, mut high) = (None, None);
    for c in data.domains.iter().flat_map(|d| &d.constraints) {
        let [(Term::Var(name), factor)] = c.aff.terms() else { continue };
        if name != iname || c.kind != Kind::Ge {
            continue;
        }
        match factor {
            1 => low = low.max(Some(c.aff.constant_term().saturating_neg())),
            -1 => high = Some(high.map_or(c.aff.constant_term(), |h: i64| h.min(c.aff.constant_term()))),
            _ => {}
        }
    }
    if low == Some(0) && high == Some(length - 1) {
        return Ok(());
    }
    let range = match (low, high) {
        (Some(low), Some(high)) => format!("goes from {low} to {high}"),
        _ => "has other bounds".into(),
    };
    let last = length - 1;
    let message =
        format!("`{axis}` of `{}` goes from 0 to {last}, and the kernel's `{iname}` {range}", atom.name());
    Err(Diagnostic::new("atom-length", message)
        .help(format!("split it first, as split_iname({iname}, {length}), and give the inner iname")))
}

/// The kernel with an axis of the box split into its digits, least significant first, each with its
/// iname.
fn split_digits(
    kernel: &LoopKernel,
    iname: &Name,
    digits: &[(Digit, bool)],
) -> Result<(LoopKernel, Vec<Name>), Diagnostic> {
    let stem = |is_lane: bool| if is_lane { "lane" } else { "reg" };
    let mut kernel = kernel.clone();
    let mut names = Vec::new();
    let mut rest = iname.clone();
    for (number, (digit, is_lane)) in digits.iter().enumerate() {
        let last = number + 1 == digits.len();
        if last {
            names.push(rest.clone());
            break;
        }
        let above = if number + 2 == digits.len() { stem(digits[number + 1].1) } else { "rest" };
        let inner = fresh(&kernel, &format!("{iname}_{}", stem(*is_lane)));
        let outer = fresh_beside(&kernel, &format!("{iname}_{above}"), std::slice::from_ref(&inner));
        kernel = SplitIname::new(&rest, digit.extent).named(outer.clone(), inner.clone()).apply(&kernel)?;
        names.push(inner);
        rest = outer;
    }
    Ok((kernel, names))
}

impl Transform for Tensorize {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let id = &self.instruction;
        let Some(instruction) = kernel.instruction(id) else {
            return Err(unknown_instruction(kernel, id));
        };
        let Some(atom) = loopwright_atom::named(&kernel.atoms, &self.atom).cloned() else {
            let all: Vec<&str> = atoms_of(kernel).map(|atom| atom.name().as_str()).collect();
            let mut error = Diagnostic::new("unknown-atom", format!("there is no atom `{}`", self.atom));
            error.help = names::nearest(&self.atom, all.iter().copied())
                .map(|near| format!("did you mean `{near}`?"))
                .or_else(|| Some(format!("the atoms are {}", all.join(", "))));
            return Err(error);
        };
        let atom = &*atom;
        let axes = [&self.m, &self.n, &self.k];
        for ((axis, iname), length) in ["m", "n", "k"].into_iter().zip(axes).zip(atom.shape()) {
            require_iname(kernel, iname)?;
            require_length(kernel, atom, axis, iname, length)?;
        }
        for iname in [&self.m, &self.n] {
            require_untagged(kernel, iname, "distributed over lanes")?;
        }
        let lookup = Lookup::new(kernel);
        let of_update = lookup.inames_of(instruction, Part::Update(0));
        for iname in axes {
            if !of_update.contains(iname) {
                let message = format!("`{id}` does not run over `{iname}`, or it is split already");
                return Err(Diagnostic::new("atom-iname", message)
                    .help("give inames around the instruction, and one of its reduction"));
            }
        }
        if instruction.within.contains(&self.k) || !matches!(kernel.tag(&self.k), Tag::Seq | Tag::Unroll) {
            let message = format!("`{}` is not a sequential loop of the reduction of `{id}`", self.k);
            return Err(Diagnostic::new("atom-iname", message)
                .help("`k` is the innermost loop of the reduction, without a parallel tag"));
        }
        let used = AtomUse { name: self.atom.clone(), axes: axes.map(Clone::clone) };
        matching(&lookup, instruction, atom, &used)?;
        // The digits of both axes, each least significant first.
        let placement = atom.operand(Operand::D);
        let mut kernel = kernel.clone();
        let mut of_digit: Vec<(Digit, bool, Name)> = Vec::new();
        for (axis, iname) in [(0, &self.m), (1, &self.n)] {
            let lanes = placement.lane.iter().map(|d| (*d, true));
            let mut digits: Vec<(Digit, bool)> = lanes
                .chain(placement.element.iter().map(|d| (*d, false)))
                .filter(|(digit, _)| digit.axis == axis)
                .collect();
            digits.sort_by_key(|(digit, _)| digit.weight);
            let (split, names) = split_digits(&kernel, iname, &digits)?;
            kernel = split;
            of_digit.extend(digits.into_iter().zip(names).map(|((d, is_lane), name)| (d, is_lane, name)));
        }
        let name_of = |digit: &Digit, lane: bool| {
            of_digit.iter().find(|(d, l, _)| d == digit && *l == lane).map(|(_, _, name)| name.clone())
        };
        let registers: Vec<Name> = placement.element.iter().filter_map(|d| name_of(d, false)).collect();
        for register in &registers {
            kernel = TagInames { tags: vec![(register.clone(), Tag::Ilp)] }.apply(&kernel)?;
        }
        // The slowest digit first.
        let lanes: Vec<Name> = placement.lane.iter().rev().filter_map(|d| name_of(d, true)).collect();
        if self.lanes_apart {
            if lanes.len() > Dim::ALL.len() {
                let message = format!(
                    "the lanes of `{}` have {} digits, and a block has {} axes",
                    self.atom,
                    lanes.len(),
                    Dim::ALL.len()
                );
                return Err(Diagnostic::new("atom-lanes", message).help("leave out `lanes=apart`"));
            }
            let tags = lanes.into_iter().rev().zip(Dim::ALL).map(|(name, dim)| (name, Tag::Thread(*dim)));
            kernel = TagInames { tags: tags.collect() }.apply(&kernel)?;
        } else {
            // Digits of lanes and of registers, and those of both axes, may alternate.
            if lanes.len() > 2 {
                kernel = Reorder::new(lanes.iter().chain(&registers).cloned()).apply(&kernel)?;
            }
            let lane = match lanes.as_slice() {
                [only] => only.clone(),
                _ => {
                    let lane = fresh(&kernel, "lane");
                    kernel = JoinInames::new(lanes).named(lane.clone()).apply(&kernel)?;
                    lane
                }
            };
            kernel = TagInames { tags: vec![(lane, Tag::Lane)] }.apply(&kernel)?;
        }
        kernel.edit(|data| {
            for instruction in data.instructions.iter_mut().filter(|i| i.id == *id) {
                instruction.atom = Some(used.clone());
            }
            Ok(())
        })
    }
}
