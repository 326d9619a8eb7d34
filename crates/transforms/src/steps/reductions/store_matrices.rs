//! Lets the lanes of a warp store results together, as matrices.

use loopwright_kernel_ir::{AddressSpace, Diagnostic, Instruction, LoopKernel, Name, Via};
use loopwright_legality::Judgement;

use crate::{Transform, rewrite::unknown_instruction};

step! {
    /// `store_matrices(product)`: the lanes of a warp store the results of an instruction to shared
    /// memory together, as matrices of eight rows of 16 bytes (`stmatrix`, from sm_90 on).
    ///
    /// # Meaning
    ///
    /// Results of a product by an atom lie in the lanes of a warp, two neighbours of a row in each.
    /// Stored by itself, each lane writes four bytes. With this step a lane gives what it has of
    /// one, two or four matrices of 8 x 8 elements and the address of a row of one of them, and the
    /// warp stores these together: a row is written at once, and each store has as many as there
    /// are neighbours along a lane of the thread. Where the columns of the results are the rows of
    /// the array, matrices are transposed on the way. What the instruction computes of the sum
    /// before it is stored, a scale or a conversion, remains code of each lane.
    ///
    /// The target is an array in shared memory, which [`BufferArray`](crate::BufferArray) makes, of
    /// elements of two bytes (`bf16`, `f16`, `i16`). Rows are aligned to 16 bytes; padding by eight
    /// elements, or a swizzle from bit 3 on, keeps them in different banks.
    ///
    /// # Legality
    ///
    /// Which thread has computed what is stored does not change, nor does where it is stored. The
    /// instruction has one target, in shared memory, and no predicate. Lowering refuses results
    /// that are not distributed as those of an atom are ([`Tensorize`](crate::Tensorize)), rows
    /// that are not aligned, and guards that may cut a matrix (`matrix-store`). Partial tiles have
    /// such guards unless boxes may be stored as a whole: the array has room for them, and nothing
    /// reads the elements behind the end afterwards. Where what is computed of a sum reads memory,
    /// a lane stores zeros in place of results that do not exist. The final check shows this, and
    /// lane by lane and element by element that what is stored is what the instruction says.
    ///
    /// In text: `store_matrices(product)`. The instruction's option `via=stmatrix` says so.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel tile(a: bf16[16, 16], b: bf16[8, 16], c: bf16[16, 8])
    /// domain { [i, j] : 0 <= i < 16 and 0 <= j < 8 }
    /// domain { [k] : 0 <= k < 16 }
    /// domain { [p, q] : 0 <= p < 16 and 0 <= q < 8 }
    /// temp t: bf16[16, 8] shared
    /// t[i, j] = cast(bf16, sum(k, cast(f32, a[i, k]) * cast(f32, b[j, k]))) {id=product}
    /// c[p, q] = t[p, q] {id=copy}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// tensorize(product, mma_m16n8k16_bf16, m=i, n=j, k=k)
    /// store_matrices(product)
    /// ")?;
    /// let after = steps.apply(&before)?.to_string();
    /// assert!(after.contains("atom=mma_m16n8k16_bf16(i, j, k), via=stmatrix"), "{after}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct StoreMatrices as "store_matrices" {
        /// The id of an instruction that writes an array in shared memory.
        pub instruction: Name = next("the instruction"),
    }
    table: "store_matrices(id)" => "–",
    methods: {
        /// See [`StoreMatrices`].
        fn store_matrices(&self, instruction: &str) -> Result<Self, Diagnostic> {
            self.step(StoreMatrices::new(instruction))
        }
    }
}

impl StoreMatrices {
    /// Stores the results of this instruction as matrices.
    pub fn new(instruction: impl Into<Name>) -> Self {
        StoreMatrices { instruction: instruction.into() }
    }
}

/// Why an instruction cannot store matrices, with a remedy.
fn wrong(kernel: &LoopKernel, instruction: &Instruction) -> Option<(String, String)> {
    let [target] = instruction.targets.as_slice() else {
        return Some((
            "it has several targets".into(),
            "store each result by an instruction of its own".into(),
        ));
    };
    let array = &target.array;
    if instruction.predicate.is_some() || instruction.update.is_some() || instruction.atomic {
        let why = "it has a predicate, or updates its target".into();
        return Some((
            why,
            "write the array without a condition, and test it where the array is read".into(),
        ));
    }
    if instruction.via.is_asynchronous() {
        return Some(("it copies asynchronously".into(), "leave out `via=cp_async`".into()));
    }
    let found = kernel.array(array)?;
    if found.space != AddressSpace::Shared {
        let why = format!("`{array}` is in {} memory", found.space);
        return Some((why, format!("collect the results in shared memory: `buffer_array({array}, [...])`")));
    }
    let bytes = found.dtype.known().map_or(2, |dtype| dtype.bytes());
    (bytes != 2).then(|| {
        let why = format!("the elements of `{array}` have {bytes} bytes, not two");
        (why, "convert them to a type of two bytes, or let each lane store its own".into())
    })
}

impl Transform for StoreMatrices {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let id = &self.instruction;
        let Some(instruction) = kernel.instruction(id) else {
            return Err(unknown_instruction(kernel, id));
        };
        if let Some((why, help)) = wrong(kernel, instruction) {
            let message = format!("`{id}` cannot store matrices: {why}");
            return Err(Diagnostic::new("matrix-store", message).help(help));
        }
        kernel.edit(|data| {
            for instruction in data.instructions.iter_mut().filter(|i| i.id == *id) {
                instruction.via = Via::Matrices;
            }
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("how values get to memory does not change them")
    }
}
