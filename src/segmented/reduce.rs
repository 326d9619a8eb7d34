//! The reduction to perform, and the choice of its form.

use std::collections::HashMap;
use std::fmt;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use super::{CompiledReduce, Shape, declare, sample};
use crate::auto::{Launch, auto_for};
use crate::automatic::launch_on;
use crate::ir::{DType, Diagnostic, Expr, LoopKernel, parse_expression};
use crate::lowering::Target;
use crate::runtime::Device;
use crate::runtime::cuda::DeviceInfo;
use crate::transforms::Pipeline;
use crate::tuner::{Cost, Machine, Space, choose};

/// The reduction operator applied to each segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// The sum; 0 for an empty segment. Integers are added in 64 bits, f16 and bf16 in f32.
    Sum,
    /// The product; 1 for an empty segment. Accumulated in the types of [`Operator::Sum`].
    Product,
    /// The minimum; NaN is ignored, and an empty segment gives the greatest value of its type.
    Min,
    /// The maximum; NaN is ignored, and an empty segment gives the least value of its type.
    Max,
    /// The sum divided by the length, in f64 for integers; NaN for an empty segment.
    Mean,
    /// The minimum and its index within the segment, the first of equal ones. An empty segment
    /// gives the greatest index of the index type.
    Argmin,
    /// The maximum and its index within the segment, the first of equal ones. An empty segment
    /// gives the greatest index of the index type.
    Argmax,
}

impl Operator {
    /// All operators, in the order of their declaration.
    pub const ALL: [Operator; 7] = [
        Operator::Sum,
        Operator::Product,
        Operator::Min,
        Operator::Max,
        Operator::Mean,
        Operator::Argmin,
        Operator::Argmax,
    ];

    /// Its name, such as `sum` or `argmax`.
    pub fn name(self) -> &'static str {
        match self {
            Operator::Sum => "sum",
            Operator::Product => "product",
            Operator::Min => "min",
            Operator::Max => "max",
            Operator::Mean => "mean",
            Operator::Argmin => "argmin",
            Operator::Argmax => "argmax",
        }
    }

    /// The operator with this name.
    pub fn from_name(name: &str) -> Option<Operator> {
        Operator::ALL.into_iter().find(|op| op.name() == name)
    }

    /// Whether it also delivers an index.
    pub fn has_index(self) -> bool {
        matches!(self, Operator::Argmin | Operator::Argmax)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A reduction of segments: the operator, the type of the elements, and the expression applied to
/// each of them first.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "its methods return a changed one"]
pub struct SegmentedReduce {
    pub(super) operator: Operator,
    pub(super) dtype: DType,
    pub(super) map: Expr,
    pub(super) output: Option<DType>,
    pub(super) atomic: bool,
}

/// The choice of [`SegmentedReduce::choose`]: a declared kernel and its pipeline, without open
/// parameters.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The declared kernel, before the pipeline.
    pub kernel: LoopKernel,
    /// The pipeline, with all parameters bound.
    pub pipeline: Pipeline,
    /// The form with its sizes, and the reason for it: `rows of 64 are short: 8 lanes for each, in
    /// whole vectors of 4, 32 rows a block; results are stored in waves`.
    pub form: String,
    /// Its cost by static counts, for the sizes given.
    pub cost: Cost,
}

/// The choices made by this process, keyed by everything they depend on: choosing takes longer than
/// compiling.
fn chosen_before() -> MutexGuard<'static, HashMap<String, Chosen>> {
    static CHOSEN: LazyLock<Mutex<HashMap<String, Chosen>>> = LazyLock::new(Mutex::default);
    CHOSEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether several blocks share a row, and their partial results are joined.
fn is_shared(kernel: &LoopKernel) -> bool {
    let reductions = kernel.instructions.iter().flat_map(|i| i.reductions());
    reductions.into_iter().flat_map(|r| r.inames.clone()).any(|n| kernel.tag(&n).is_over_blocks())
}

impl SegmentedReduce {
    /// The reduction of elements of this type.
    pub fn new(operator: Operator, dtype: DType) -> SegmentedReduce {
        SegmentedReduce { operator, dtype, map: Expr::name("x"), output: None, atomic: false }
    }

    /// Applies an expression to each element `x` as it is read: `x * x`, `abs(x)`, `cast(f64, x)`,
    /// `if(x > 0, 1, 0)`.
    ///
    /// Errors: a text that is not an expression, or uses names other than `x`.
    pub fn map(mut self, expression: &str) -> Result<SegmentedReduce, Diagnostic> {
        self.map = declare::checked_map(parse_expression(expression)?, self.dtype)?;
        Ok(self)
    }

    /// Sets the type of the values. By default it is the type of the elements, or of what they are
    /// mapped to, 64 bits for sums and products of integers, and f64 for their means. Sums,
    /// products and means are accumulated in this type if it is wider.
    pub fn output(mut self, dtype: DType) -> SegmentedReduce {
        self.output = Some(dtype);
        self
    }

    /// Whether blocks that share a row add their partial results to its result by atomic updates,
    /// instead of leaving them to a second kernel that joins them in a fixed order (the default).
    /// There is then no array of partial results, and a preceding launch initialises the results.
    /// In exchange, floating-point sums are not reproducible: their last bits depend on the order
    /// of the blocks. Integer results are reproducible. Forms in which no blocks share a row are
    /// not affected, so the results for short rows, many rows, and segments between offsets are the
    /// same in every run.
    ///
    /// Atomic updates exist for the sum, the minimum and the maximum of I32, U32, I64, U64, F32 and
    /// F64, in the type of the result; [`SegmentedReduce::kernel`] refuses others.
    pub fn reduce_atomically(mut self, atomic: bool) -> SegmentedReduce {
        self.atomic = atomic;
        self
    }

    /// The older name of [`Self::reduce_atomically`].
    #[doc(hidden)]
    pub fn join_atomically(self, atomic: bool) -> SegmentedReduce {
        self.reduce_atomically(atomic)
    }

    /// The operator by which segments are reduced.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The declared kernel: its inputs are `x` and, for segments between offsets, `offsets`; its
    /// outputs are `out`, or `value` and `index`.
    ///
    /// Errors: types that the operator does not accept, or that lack atomic updates if these are
    /// requested.
    pub fn kernel(&self, shape: &Shape) -> Result<LoopKernel, Diagnostic> {
        declare::kernel(self, shape)
    }

    /// The form that the rules of [`auto_for`] find for these sizes on a machine with the limits of
    /// its device, neither of which has to be present, and its static cost. Counting takes a
    /// fraction of a second for each new shape; the process caches its choices.
    ///
    /// Errors: those of [`SegmentedReduce::kernel`]; a form that the limits of the device refuse.
    pub fn choose(
        &self,
        shape: &Shape,
        machine: &Machine,
        limits: &DeviceInfo,
    ) -> Result<Chosen, Diagnostic> {
        let kernel = self.kernel(shape)?;
        let key = format!("{kernel}{}{shape:?}{machine:?}{limits:?}", self.atomic);
        if let Some(known) = chosen_before().get(&key) {
            return Ok(known.clone());
        }
        let on = launch_on(machine, limits);
        let launch = Launch { integers: sample::integers(shape), longest: sample::longest(shape), ..on };
        let found = auto_for(&kernel, &Target::cuda(), &launch);
        let own = found.decisions.iter().filter(|d| !d.nest.is_empty());
        let mut form = own.map(|d| d.reason.as_str()).collect::<Vec<_>>().join("; ");
        let mut pipeline = found.pipeline;
        if self.atomic && is_shared(&found.kernel) {
            pipeline = pipeline.then(&Pipeline::parse("reduce_atomically(reduce)")?);
            form += " by atomic updates";
        }
        let (sizes, sample) = (sample::sizes(shape), sample::sample(self.dtype, shape)?);
        let choice = choose(&kernel, &[(pipeline, Space::new())], &sizes, &sample, machine, limits)?;
        let chosen = Chosen { kernel, pipeline: choice.pipeline, form, cost: choice.cost };
        chosen_before().insert(key, chosen.clone());
        Ok(chosen)
    }

    /// Compiles the form that [`SegmentedReduce::choose`] selects for the limits of this device.
    pub fn compile(&self, shape: &Shape, device: &Device) -> Result<CompiledReduce, Diagnostic> {
        let chosen = self.choose(shape, &Machine::described(device.limits()), device.limits())?;
        CompiledReduce::new(self, shape, chosen, device)
    }
}

impl fmt::Display for SegmentedReduce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SegmentedReduce { operator, dtype, map, .. } = self;
        if *map == Expr::name("x") {
            write!(f, "{operator} of {dtype}")
        } else {
            write!(f, "{operator} of {map} of {dtype}")
        }
    }
}
