//! What is reduced, and the choice of how.

use std::collections::HashMap;
use std::fmt;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use super::forms::{self, Form};
use super::{CompiledReduce, Shape, declare};
use crate::ir::{DType, Diagnostic, Expr, LoopKernel, parse_expression};
use crate::runtime::Device;
use crate::runtime::cuda::DeviceInfo;
use crate::transforms::Pipeline;
use crate::tuner::{Choice, Cost, Machine, choose};

/// What is computed of each segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// The sum; 0 of an empty segment. Integers are added in 64 bits, f16 and bf16 in f32.
    Sum,
    /// The product; 1 of an empty segment. In the types of [`Operator::Sum`].
    Product,
    /// The least; NaN is passed over, and an empty segment gives the greatest value of its type.
    Min,
    /// The greatest; NaN is passed over, and an empty segment gives the least value of its type.
    Max,
    /// The sum over the length, in f64 of integers; NaN of an empty segment.
    Mean,
    /// The least and where in its segment it stands, the first of equal ones. An empty segment
    /// gives the greatest index there is.
    Argmin,
    /// The greatest and where in its segment it stands, the first of equal ones. An empty segment
    /// gives the greatest index there is.
    Argmax,
}

impl Operator {
    /// All of them.
    pub const ALL: [Operator; 7] = [
        Operator::Sum,
        Operator::Product,
        Operator::Min,
        Operator::Max,
        Operator::Mean,
        Operator::Argmin,
        Operator::Argmax,
    ];

    /// What it is called: `sum`, `argmax`.
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

    /// The operator of a name.
    pub fn from_name(name: &str) -> Option<Operator> {
        Operator::ALL.into_iter().find(|op| op.name() == name)
    }

    /// Whether it delivers an index beside the value.
    pub fn has_index(self) -> bool {
        matches!(self, Operator::Argmin | Operator::Argmax)
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A reduction of segments: the operator, the type of the elements, what is done to each before.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentedReduce {
    pub(super) operator: Operator,
    pub(super) dtype: DType,
    pub(super) map: Expr,
    pub(super) output: Option<DType>,
    pub(super) atomic: bool,
}

/// What [`SegmentedReduce::choose`] took: a declared kernel and its pipeline, of which nothing is
/// open.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// What is computed.
    pub kernel: LoopKernel,
    /// How.
    pub pipeline: Pipeline,
    /// What the form is called, and its parameters:
    /// `a few lanes a row (width=64 rows=16 block_rows=64)`.
    pub form: String,
    /// What it costs by the counts.
    pub cost: Cost,
}

/// Choices of this process, by all that they hang on: making one takes longer than compiling it.
fn chosen_before() -> MutexGuard<'static, HashMap<String, Chosen>> {
    static CHOSEN: LazyLock<Mutex<HashMap<String, Chosen>>> = LazyLock::new(Mutex::default);
    CHOSEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SegmentedReduce {
    /// The reduction of elements of a type.
    pub fn new(operator: Operator, dtype: DType) -> SegmentedReduce {
        SegmentedReduce { operator, dtype, map: Expr::name("x"), output: None, atomic: false }
    }

    /// With an expression of each element `x`, computed where it is read: `x * x`, `abs(x)`,
    /// `cast(f64, x)`, `if(x > 0, 1, 0)`.
    ///
    /// Errors: a text that is no expression, or one that speaks of more than `x`.
    pub fn map(mut self, expression: &str) -> Result<SegmentedReduce, Diagnostic> {
        self.map = declare::checked_map(parse_expression(expression)?, self.dtype)?;
        Ok(self)
    }

    /// With another type of the values than the usual one: the type of the elements, or of what
    /// they are mapped to, 64 bits for sums and products of integers, f64 for means of them. Sums,
    /// products and means are accumulated in it where it is wider.
    pub fn output(mut self, dtype: DType) -> SegmentedReduce {
        self.output = Some(dtype);
        self
    }

    /// Whether blocks that share a row add their partial results to its result by atomic updates,
    /// where otherwise a second kernel joins them in a fixed order (no, unless it is asked for).
    /// There is no array of partial results then, and a launch ahead gives the results their first
    /// values. In exchange, sums of floating-point numbers are not equal from run to run: their
    /// last bits hang on which block comes first. Integers are. Forms in which no blocks share a
    /// row stay as they are, so that short rows, rows of which there are many, and segments between
    /// offsets are the same in every run.
    ///
    /// There are updates for sums of I32, U32, I64, U64, F32 and F64, and for the least and
    /// greatest of those integers, in the type of the result; [`SegmentedReduce::kernel`] refuses
    /// others.
    pub fn join_atomically(mut self, atomic: bool) -> SegmentedReduce {
        self.atomic = atomic;
        self
    }

    /// The operator.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The declared kernel: `x` and, for segments between offsets, `offsets` go in; `out` comes
    /// out, or `value` and `index`.
    ///
    /// Errors: types that the operator does not take, or that have no atomic updates where they are
    /// asked for.
    pub fn kernel(&self, shape: &Shape) -> Result<LoopKernel, Diagnostic> {
        declare::kernel(self, shape)
    }

    /// The form with the lowest static cost for a machine and the limits of its device, of which
    /// neither has to be here. Counting takes a part of a second for each new shape; the process
    /// remembers what it chose.
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
        let state = declare::state_bytes(self)?;
        let mut forms = forms::of(self.dtype, state, shape, machine, limits)?;
        for form in forms.iter_mut().filter(|f| self.atomic && f.shared) {
            form.join_atomically()?;
        }
        let results = declare::results(&kernel);
        // Values and places of argmax take 6 to 7 % longer in waves, measured at 16 and 64 f32: its
        // instructions are what it waits for.
        if let [(result, bytes)] = results.as_slice()
            && let Some(window) = forms::waves(shape, state, *bytes, machine)
        {
            for form in &mut forms {
                form.in_waves(result, window)?;
            }
        }
        let sample = forms::sample(self.dtype, shape)?;
        let sizes = forms::sizes(shape);
        let best_of = |wide: bool| -> Result<(String, Choice), Diagnostic> {
            let fit: Vec<&Form> = forms.iter().filter(|f| f.wide.is_some() == wide).collect();
            let candidates: Vec<_> = fit.iter().map(|f| (f.pipeline.clone(), f.space.clone())).collect();
            let choice = choose(&kernel, &candidates, &sizes, &sample, machine, limits)?;
            Ok((format!("{} ({})", fit[choice.form].name, choice.point), choice))
        };
        let mut best = best_of(false)?;
        // Where estimates are near, fewer loads are taken: half as many, or nearly, where a vector
        // has no more than two elements.
        let fewer = (14.0 / self.dtype.bytes() as f64).min(2.0);
        if let Some(near) = forms.iter().find_map(|f| f.wide)
            && let Ok(wide) = best_of(true)
            && wide.1.cost.estimate_ms < near * best.1.cost.estimate_ms
            && fewer * wide.1.cost.global_requests < best.1.cost.global_requests
        {
            best = wide;
        }
        let (form, choice) = best;
        let chosen = Chosen { kernel, pipeline: choice.pipeline, form, cost: choice.cost };
        chosen_before().insert(key, chosen.clone());
        Ok(chosen)
    }

    /// The form that [`SegmentedReduce::choose`] takes for a device's own limits, compiled for it.
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
