//! Kernels declared in Rust, with expressions that are Rust operators.
//!
//! ```
//! use loopwright_kernel_ir::{DType::{F32, I32}, LoopKernel, array, sum, var};
//!
//! let (x, out) = (array("x"), array("out"));
//! let (nseg, len, s, i) = (var("nseg"), var("len"), var("s"), var("i"));
//! let built = LoopKernel::build("segmented_sum")
//!     .array("x", F32, [&nseg, &len])
//!     .array("out", F32, [&nseg])
//!     .scalar("nseg", I32)
//!     .scalar("len", I32)
//!     .assume("nseg >= 1 and len >= 0")
//!     .domain("{ [s] : 0 <= s < nseg }")
//!     .domain("{ [i] : 0 <= i < len }")
//!     .assign(out.at([&s]), sum(["i"], x.at([&s, &i]))).id("total")
//!     .finish()?;
//!
//! let read = LoopKernel::parse("
//!     kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
//!     assume nseg >= 1 and len >= 0
//!     domain { [s] : 0 <= s < nseg }
//!     domain { [i] : 0 <= i < len }
//!     out[s] = sum(i, x[s, i]) {id=total}
//! ")?;
//! assert_eq!(built, read);
//! # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
//! ```
//!
//! The builder keeps the first error; [`KernelBuilder::finish`] returns it, or validates the whole
//! kernel like one read from text.

use std::{num::NonZeroU32, ops, sync::Arc};

use crate::{
    Access, AddressSpace, Arg, Array, Axis, BinaryOp, Constant, DType, DeviceFunction, Diagnostic,
    Diagnostics, Expr, Fact, Float, Instruction, KernelData, LoopKernel, Name, Precision, Reduce,
    ReductionOp, Role, Rule, Scalar, Type, UnaryOp, UpdateOp, parse_constraints, parse_domain, text,
    types::UNTYPED,
};

/// The value of an iname, a scalar argument or a scalar temporary.
pub fn var(name: impl Into<Name>) -> Expr {
    Expr::Name(name.into())
}

/// An array whose elements are accessed: `array("x").at([i])`.
pub fn array(name: impl Into<Name>) -> ArrayRef {
    ArrayRef(name.into())
}

/// The name of an array in the builder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayRef(Name);

impl ArrayRef {
    /// The element at these subscripts, one for each axis.
    pub fn at<E: Into<Expr>>(&self, index: impl IntoIterator<Item = E>) -> Expr {
        Expr::Subscript(Access { array: self.0.clone(), index: index.into_iter().map(Into::into).collect() })
    }
}

/// A reduction by any operator of the library or the kernel.
pub fn reduce<N: Into<Name>, E: Into<Expr>>(
    op: impl Into<Name>,
    inames: impl IntoIterator<Item = N>,
    args: impl IntoIterator<Item = E>,
) -> Expr {
    Expr::Reduce(Arc::new(Reduce {
        op: op.into(),
        inames: inames.into_iter().map(Into::into).collect(),
        args: args.into_iter().map(Into::into).collect(),
    }))
}

/// The sum of `e` over all values of the inames, at least one iname.
pub fn sum<N: Into<Name>>(inames: impl IntoIterator<Item = N>, e: impl Into<Expr>) -> Expr {
    reduce("sum", inames, [e.into()])
}

/// A call of a math function or a device function.
pub fn call<E: Into<Expr>>(function: impl Into<Name>, args: impl IntoIterator<Item = E>) -> Expr {
    Expr::Call {
        function: function.into(),
        precision: None,
        args: args.into_iter().map(Into::into).collect(),
    }
}

/// `if(c, a, b)`: `a` where the condition `c` holds, else `b`; only the chosen one is evaluated.
pub fn select(c: impl Into<Expr>, a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
    Expr::If(Arc::new(c.into()), Arc::new(a.into()), Arc::new(b.into()))
}

/// `cast(f64, a)`: the value of `a` converted to a type.
pub fn cast(dtype: impl Into<Type>, a: impl Into<Expr>) -> Expr {
    Expr::Cast(dtype.into(), Arc::new(a.into()))
}

macro_rules! from_literal {
    ($($t:ty => $make:expr),*) => {$(
        impl From<$t> for Expr {
            fn from(value: $t) -> Expr {
                ($make)(value)
            }
        }
    )*};
}
from_literal!(
    i32 => |v: i32| Expr::Int(v.into()),
    i64 => Expr::Int,
    f32 => |v: f32| Expr::Float(Float(v.into())),
    f64 => |v| Expr::Float(Float(v)),
    bool => Expr::Bool,
    &str => |v: &str| Expr::Name(v.into()),
    Name => Expr::Name,
    &Expr => |v: &Expr| v.clone()
);

macro_rules! operator {
    ($($trait:ident $method:ident $op:ident),*) => {$(
        impl<E: Into<Expr>> ops::$trait<E> for Expr {
            type Output = Expr;
            fn $method(self, other: E) -> Expr {
                Expr::binary(BinaryOp::$op, self, other.into())
            }
        }
        impl<E: Into<Expr>> ops::$trait<E> for &Expr {
            type Output = Expr;
            fn $method(self, other: E) -> Expr {
                Expr::binary(BinaryOp::$op, self.clone(), other.into())
            }
        }
        operator!(@left $trait $method $op i32);
        operator!(@left $trait $method $op i64);
        operator!(@left $trait $method $op f32);
        operator!(@left $trait $method $op f64);
    )*};
    (@left $trait:ident $method:ident $op:ident $t:ty) => {
        impl ops::$trait<Expr> for $t {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                Expr::binary(BinaryOp::$op, self.into(), other)
            }
        }
        impl ops::$trait<&Expr> for $t {
            type Output = Expr;
            fn $method(self, other: &Expr) -> Expr {
                Expr::binary(BinaryOp::$op, self.into(), other.clone())
            }
        }
    };
}
operator!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Mod);

impl ops::Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        Expr::Unary(UnaryOp::Neg, Arc::new(self))
    }
}

impl ops::Not for Expr {
    type Output = Expr;
    fn not(self) -> Expr {
        Expr::Unary(UnaryOp::Not, Arc::new(self))
    }
}

macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident $op:ident),* $(,)?) => {
        /// Operations for which Rust has no operator.
        impl Expr {
            $($(#[$doc])*
            pub fn $name(self, other: impl Into<Expr>) -> Expr {
                Expr::binary(BinaryOp::$op, self, other.into())
            })*
        }
    };
}
methods!(
    /// `a < b`
    lt Lt,
    /// `a <= b`
    le Le,
    /// `a > b`
    gt Gt,
    /// `a >= b`
    ge Ge,
    /// `a == b`
    equals Eq,
    /// `a != b`
    differs Ne,
    /// `a and b`
    and And,
    /// `a or b`
    or Or,
    /// `a // b`, rounded down.
    floor_div FloorDiv,
);

impl Expr {
    /// This call with the hardware's approximation: `fast.exp(a)`. Other expressions stay as they
    /// are.
    pub fn fast(self) -> Expr {
        self.with_precision(Precision::Fast)
    }

    /// This call with the library's function: `precise.exp(a)`. Other expressions stay as they are.
    pub fn precise(self) -> Expr {
        self.with_precision(Precision::Precise)
    }

    fn with_precision(self, precision: Precision) -> Expr {
        match self {
            Expr::Call { function, args, .. } => Expr::Call { function, precision: Some(precision), args },
            e => e,
        }
    }
}

/// What an instruction writes: one element, or several for a reduction of several results.
pub struct Targets(Vec<Expr>);

impl<E: Into<Expr>> From<E> for Targets {
    fn from(e: E) -> Self {
        Targets(vec![e.into()])
    }
}

impl<E: Into<Expr>, const N: usize> From<[E; N]> for Targets {
    fn from(list: [E; N]) -> Self {
        Targets(list.into_iter().map(Into::into).collect())
    }
}

/// A kernel under construction; see [`LoopKernel::build`].
#[must_use]
pub struct KernelBuilder {
    data: KernelData,
    error: Option<Diagnostic>,
}

impl LoopKernel {
    /// Begins to declare a kernel; see the builder's documentation for an example.
    pub fn build(name: impl Into<Name>) -> KernelBuilder {
        KernelBuilder { data: KernelData::new(name.into()), error: None }
    }
}

impl KernelBuilder {
    /// An argument that is an array, with its shape.
    pub fn array<E: Into<Expr>>(
        self,
        name: impl Into<Name>,
        dtype: impl Into<Type>,
        shape: impl IntoIterator<Item = E>,
    ) -> Self {
        let array = row_major(name.into(), dtype.into(), shape, AddressSpace::Global);
        self.arg(Arg::Array(array))
    }

    /// An argument that is a scalar.
    pub fn scalar(self, name: impl Into<Name>, dtype: impl Into<Type>) -> Self {
        self.arg(Arg::Scalar(Scalar { name: name.into(), dtype: dtype.into() }))
    }

    /// Any argument: arrays with strides, padding, another order of axes.
    pub fn arg(mut self, arg: Arg) -> Self {
        self.data.args.push(arg);
        self
    }

    /// A temporary; a scalar if it has no shape.
    pub fn temporary<E: Into<Expr>>(
        mut self,
        name: impl Into<Name>,
        dtype: impl Into<Type>,
        shape: impl IntoIterator<Item = E>,
        space: AddressSpace,
    ) -> Self {
        self.data.temporaries.push(row_major(name.into(), dtype.into(), shape, space));
        self
    }

    /// A table of numbers that the kernel contains: [`Constant::new`] takes its name, type, shape
    /// and values.
    pub fn constant(mut self, constant: Constant) -> Self {
        self.data.constants.push(constant);
        self
    }

    /// A private scalar whose type is inferred from what is assigned to it.
    pub fn temp(mut self, name: impl Into<Name>) -> Self {
        let dtype = Type::Open(UNTYPED.into());
        self.data.temporaries.push(row_major(name.into(), dtype, [] as [Expr; 0], AddressSpace::Private));
        self
    }

    /// What holds for the arguments, in isl's syntax: `n >= 1 and n % 16 = 0`.
    pub fn assume(mut self, constraints: &str) -> Self {
        match parse_constraints(constraints) {
            Ok(constraints) => self.data.assumptions.extend(constraints),
            Err(d) => self.fail(d),
        }
        self
    }

    /// What holds for data that the kernel reads.
    pub fn fact(mut self, fact: Fact) -> Self {
        self.data.facts.push(fact);
        self
    }

    /// A domain in isl's syntax: `{ [i] : 0 <= i < n }`.
    pub fn domain(mut self, domain: &str) -> Self {
        match parse_domain(domain) {
            Ok(domain) => self.data.domains.push(domain),
            Err(d) => self.fail(d),
        }
        self
    }

    /// An operator of the kernel's own.
    pub fn reduction(mut self, op: ReductionOp) -> Self {
        self.data.reductions.push(op);
        self
    }

    /// A device function in the target's language, for [`call`]; space around its source is
    /// removed.
    pub fn function(mut self, function: DeviceFunction) -> Self {
        let source = function.source.trim().into();
        self.data.functions.push(DeviceFunction { source, ..function });
        self
    }

    /// A name for a form of expressions. [`Rule::applied`] gives an expression of this form.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.data.rules.push(rule);
        self
    }

    /// Math functions are approximations unless a call says otherwise.
    pub fn fast_math(mut self) -> Self {
        self.data.options.precision = Precision::Fast;
        self
    }

    /// Sets the least number of blocks that a multiprocessor has to have registers for.
    pub fn min_blocks_per_multiprocessor(mut self, blocks: NonZeroU32) -> Self {
        self.data.options.min_blocks_per_multiprocessor = Some(blocks);
        self
    }

    /// An instruction `target = value`. [`KernelBuilder::id`], [`KernelBuilder::when`] and
    /// [`KernelBuilder::after`] add to it.
    pub fn assign(mut self, targets: impl Into<Targets>, value: impl Into<Expr>) -> Self {
        let mut accesses = Vec::new();
        for target in targets.into().0 {
            match target {
                Expr::Subscript(access) => accesses.push(access),
                Expr::Name(array) => accesses.push(Access { array, index: Vec::new() }),
                e => self.fail(
                    Diagnostic::new("not-writable", format!("`{e}` cannot be assigned"))
                        .help("a target is an element of an array or a scalar temporary"),
                ),
            }
        }
        let role = Role::Does(Name::new(""));
        self.data.instructions.push(Instruction::new("", accesses, value.into(), role));
        self
    }

    /// An update, as `target += value`: the value is combined with what the element holds, and the
    /// updates of an element by one operator run in any order. See [`UpdateOp`].
    pub fn update(self, target: impl Into<Targets>, by: UpdateOp, value: impl Into<Expr>) -> Self {
        self.assign(target, value).last(|i| i.update = Some(by))
    }

    /// The id of the last instruction; the default is `set_` plus the target.
    pub fn id(self, id: impl Into<Name>) -> Self {
        let id = id.into();
        self.last(|i| i.id = id)
    }

    /// The predicate of the last instruction.
    pub fn when(self, condition: impl Into<Expr>) -> Self {
        let condition = condition.into();
        self.last(|i| {
            i.predicate = Some(match i.predicate.take() {
                None => condition,
                Some(first) => first.and(condition),
            });
        })
    }

    /// Instructions that come before the last one; the order of declaration has to agree.
    pub fn after<N: Into<Name>>(self, ids: impl IntoIterator<Item = N>) -> Self {
        self.last(|i| i.after = ids.into_iter().map(Into::into).collect())
    }

    /// The inames around the last instruction, if there are more than those that it mentions.
    pub fn inames<N: Into<Name>>(self, inames: impl IntoIterator<Item = N>) -> Self {
        self.last(|i| i.within = inames.into_iter().map(Into::into).collect())
    }

    fn last(mut self, change: impl FnOnce(&mut Instruction)) -> Self {
        match self.data.instructions.last_mut() {
            Some(i) => change(i),
            None => self.fail(
                Diagnostic::new("no-instructions", "there is no instruction yet that this could apply to")
                    .help("call `assign` first"),
            ),
        }
        self
    }

    fn fail(&mut self, d: Diagnostic) {
        self.error.get_or_insert(d);
    }

    /// The kernel, or the errors in it.
    pub fn finish(mut self) -> Result<LoopKernel, Diagnostics> {
        match self.error.take() {
            Some(d) => Err(d.into()),
            None => text::complete_built(self.data),
        }
    }
}

fn row_major<E: Into<Expr>>(
    name: Name,
    dtype: Type,
    shape: impl IntoIterator<Item = E>,
    space: AddressSpace,
) -> Array {
    let axes = shape.into_iter().map(|e| Axis::new(e.into())).collect();
    Array::new(name, dtype, axes, space)
}

impl From<&str> for Type {
    /// A known type, or else an open one.
    fn from(name: &str) -> Type {
        DType::from_name(name).map_or(Type::Open(name.into()), Type::Known)
    }
}
