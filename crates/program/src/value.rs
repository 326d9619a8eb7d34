//! Typed values.

use loopwright_kernel_ir::{AddressSpace, BinaryOp, DType, Dim, HardwareAxis, Name, Number, Precision};
use loopwright_target::Target;

use super::VarId;

/// An operation on one value; the result has the type of the operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnOp {
    /// Negation, `-a`. Integers wrap.
    Neg,
    /// Logical negation of a bool, `!a`.
    Not,
    /// Bitwise complement of an integer, `~a`.
    BitNot,
}

/// A binary operation on values of the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinOp {
    /// Sum. Integers wrap in two's complement (signed index arithmetic is proved or checked not
    /// to).
    Add,
    /// Difference. Integers wrap as those of a sum do.
    Sub,
    /// Product. Integers wrap as those of a sum do.
    Mul,
    /// Floating-point quotient.
    Div,
    /// Integer quotient, rounded towards minus infinity.
    FloorDiv,
    /// Integer remainder with the sign of the divisor.
    FloorMod,
    /// C's `/` on integers; used only where it equals [`BinOp::FloorDiv`] (both operands known not
    /// to be negative).
    TruncDiv,
    /// C's `%` on integers; used only where it equals [`BinOp::FloorMod`].
    TruncRem,
    /// The smaller value; for floating point, the operand that is not NaN.
    Min,
    /// The greater value; for floating point, the operand that is not NaN.
    Max,
    /// `<`, with a bool result, as for all comparisons.
    Lt,
    /// `<=`, with a bool result.
    Le,
    /// `>`, with a bool result.
    Gt,
    /// `>=`, with a bool result.
    Ge,
    /// `==`, with a bool result.
    Eq,
    /// `!=`, with a bool result.
    Ne,
    /// `&&`; the right operand is evaluated only if the left is true.
    And,
    /// `||`; the right operand is evaluated only if the left is false.
    Or,
    /// `&` of integers.
    BitAnd,
    /// `|` of integers.
    BitOr,
    /// `^` of integers.
    BitXor,
    /// `<<`; amounts outside of the type's bits shift every bit out.
    Shl,
    /// `>>`, arithmetic for signed types; amounts outside of the type's bits shift every bit out.
    Shr,
}

/// The kernel's operations; `//` and `%` keep their rounding towards minus infinity.
impl From<BinaryOp> for BinOp {
    fn from(op: BinaryOp) -> Self {
        match op {
            BinaryOp::Add => Self::Add,
            BinaryOp::Sub => Self::Sub,
            BinaryOp::Mul => Self::Mul,
            BinaryOp::Div => Self::Div,
            BinaryOp::FloorDiv => Self::FloorDiv,
            BinaryOp::Mod => Self::FloorMod,
            BinaryOp::Lt => Self::Lt,
            BinaryOp::Le => Self::Le,
            BinaryOp::Gt => Self::Gt,
            BinaryOp::Ge => Self::Ge,
            BinaryOp::Eq => Self::Eq,
            BinaryOp::Ne => Self::Ne,
            BinaryOp::And => Self::And,
            BinaryOp::Or => Self::Or,
            BinaryOp::BitAnd => Self::BitAnd,
            BinaryOp::BitOr => Self::BitOr,
            BinaryOp::BitXor => Self::BitXor,
            BinaryOp::Shl => Self::Shl,
            BinaryOp::Shr => Self::Shr,
        }
    }
}

impl BinOp {
    /// What a comparison says of two numbers; `None` for other operations.
    pub fn compared<T: PartialOrd>(self, a: T, b: T) -> Option<bool> {
        self.declared()?.compared(a, b)
    }

    /// The operation of kernels that it is; `None` for those of programs alone.
    pub fn declared(self) -> Option<BinaryOp> {
        Some(match self {
            Self::Add => BinaryOp::Add,
            Self::Sub => BinaryOp::Sub,
            Self::Mul => BinaryOp::Mul,
            Self::Div => BinaryOp::Div,
            Self::FloorDiv => BinaryOp::FloorDiv,
            Self::FloorMod => BinaryOp::Mod,
            Self::Lt => BinaryOp::Lt,
            Self::Le => BinaryOp::Le,
            Self::Gt => BinaryOp::Gt,
            Self::Ge => BinaryOp::Ge,
            Self::Eq => BinaryOp::Eq,
            Self::Ne => BinaryOp::Ne,
            Self::And => BinaryOp::And,
            Self::Or => BinaryOp::Or,
            Self::BitAnd => BinaryOp::BitAnd,
            Self::BitOr => BinaryOp::BitOr,
            Self::BitXor => BinaryOp::BitXor,
            Self::Shl => BinaryOp::Shl,
            Self::Shr => BinaryOp::Shr,
            Self::TruncDiv | Self::TruncRem | Self::Min | Self::Max => return None,
        })
    }

    /// Whether the result is bool whatever the operand type.
    pub fn is_comparison(self) -> bool {
        matches!(self, BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne)
    }
}

/// How a shuffle selects the source lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShuffleMode {
    /// The lane whose number is the own number XOR the operand.
    Xor,
    /// The own number plus the operand; the lane's own value if that is outside the group.
    Down,
    /// The own number minus the operand; the lane's own value if that is outside the group.
    Up,
    /// The lane with this number in the group.
    Index,
}

/// An array, by memory space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Memory {
    /// Index in [`crate::Program::globals`].
    Global(usize),
    /// Index in [`crate::DeviceKernel::shared`].
    Shared(usize),
    /// Index in [`crate::DeviceKernel::private`].
    Private(usize),
}

impl Memory {
    /// The address space of the array.
    pub fn space(self) -> AddressSpace {
        match self {
            Memory::Global(_) => AddressSpace::Global,
            Memory::Shared(_) => AddressSpace::Shared,
            Memory::Private(_) => AddressSpace::Private,
        }
    }
}

/// One element of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct MemRef {
    /// The array that contains it.
    pub memory: Memory,
    /// One subscript per axis, of the index type: for bounds checks, and for printing shared and
    /// private arrays.
    pub subscripts: Vec<Value>,
    /// Offset in elements from the start of the array, of the index type: the sum of the subscripts
    /// times the strides.
    pub offset: Box<Value>,
}

impl MemRef {
    /// Calls `f` on its subscripts and its offset.
    pub fn each_value_mut(&mut self, f: &mut dyn FnMut(&mut Value)) {
        self.subscripts.iter_mut().for_each(&mut *f);
        f(&mut self.offset);
    }
}

/// The kind of a [`Value`].
#[derive(Clone, Debug, PartialEq)]
pub enum ValueKind {
    /// An integer constant of the value's integer type.
    Int(i64),
    /// A floating-point constant of the value's type; may be infinite or NaN.
    Float(f64),
    /// A constant of type bool.
    Bool(bool),
    /// A variable of the thread.
    Var(VarId),
    /// A scalar argument or a host variable, by name.
    Param(Name),
    /// The block index on this axis of the grid, of the index type.
    BlockIdx(Dim),
    /// The thread index on this axis of the block, of the index type.
    ThreadIdx(Dim),
    /// The value of an element.
    Load(MemRef),
    /// An operation on one operand of the same type.
    Unary(UnOp, Box<Value>),
    /// An operation on two operands of the same type. The result has that type, or is bool for
    /// comparisons.
    Binary(BinOp, Box<Value>, Box<Value>),
    /// Condition, value if true, value if false; only the selected one is evaluated.
    Select(Box<Value>, Box<Value>, Box<Value>),
    /// Conversion to the value's type. Floating point to integer truncates.
    Cast(Box<Value>),
    /// A call of a math function of [`loopwright_kernel_ir::MATH_FUNCTIONS`] (never `lowest`,
    /// `highest`, `min`, `max`), or of a user device function.
    Call {
        /// The name in [`loopwright_kernel_ir::MATH_FUNCTIONS`], or that of the user's function.
        function: Name,
        /// Whether the approximate version of a library function may be called.
        precision: Precision,
        /// One argument for each parameter, in order.
        args: Vec<Value>,
    },
    /// The operand's value in another lane of the same group of `width` consecutive lanes. All
    /// lanes of the warp take part.
    Shuffle {
        /// How the source lane is selected.
        mode: ShuffleMode,
        /// The value that is exchanged.
        value: Box<Value>,
        /// The mode's operand, of type I32.
        operand: Box<Value>,
        /// Lanes per group: a power of two, from 2 to the warp's lanes.
        width: u32,
    },
    /// Whether the operand, of type bool, is true in any lane of the warp. Used only where all
    /// lanes of the warp run.
    Any(Box<Value>),
    /// In which lanes of the warp the operand, of type bool, is true: bit `k` is that of the lane
    /// `k`. Of the type [`Value::ballot_type`] of the target. Used only where all lanes of the warp
    /// run.
    Ballot(Box<Value>),
    /// The number of zero bits above the highest one of the operand, of type U32 or U64; all of its
    /// bits if it is 0. Of type I32.
    LeadingZeros(Box<Value>),
}

impl ValueKind {
    /// The coordinate on an axis.
    pub fn of_axis(axis: HardwareAxis) -> ValueKind {
        match axis {
            HardwareAxis::Block(dim) => ValueKind::ThreadIdx(dim),
            HardwareAxis::Grid(dim) => ValueKind::BlockIdx(dim),
        }
    }

    /// Whether it is an exchange in which all lanes of a warp take part.
    pub fn joins_lanes(&self) -> bool {
        matches!(self, ValueKind::Shuffle { .. } | ValueKind::Any(_) | ValueKind::Ballot(_))
    }
}

/// A value with its type, as a tree of operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The type of the value; a conversion is an operation of its own, [`ValueKind::Cast`].
    pub dtype: DType,
    /// The operation or leaf that yields it.
    pub kind: ValueKind,
}

impl From<Number> for Value {
    /// A constant of the number's type. One of `u64` that `i64` does not hold is given by its bits.
    fn from(number: Number) -> Value {
        let kind = match (number, number.as_i128()) {
            (Number::Bool(v), _) => ValueKind::Bool(v),
            (_, Some(v)) => ValueKind::Int(v as i64),
            (_, None) => ValueKind::Float(number.as_f64()),
        };
        Value { dtype: number.dtype(), kind }
    }
}

impl Value {
    /// An integer constant of an integer type, which has to represent it.
    pub fn int(dtype: DType, value: i64) -> Value {
        Value { dtype, kind: ValueKind::Int(value) }
    }

    /// The value of a variable of the thread, in the variable's type.
    pub fn var(dtype: DType, var: VarId) -> Value {
        Value { dtype, kind: ValueKind::Var(var) }
    }

    /// `a op b`, with the type of `a`, or bool for a comparison.
    pub fn binary(op: BinOp, a: Value, b: Value) -> Value {
        let dtype = if op.is_comparison() { DType::Bool } else { a.dtype };
        Value { dtype, kind: ValueKind::Binary(op, Box::new(a), Box::new(b)) }
    }

    /// The value converted to a type; unchanged if it already has that type.
    pub fn cast(self, dtype: DType) -> Value {
        if self.dtype == dtype { self } else { Value { dtype, kind: ValueKind::Cast(Box::new(self)) } }
    }

    /// In which lanes of a warp a condition holds: [`ValueKind::Ballot`].
    pub fn ballot(has: Value, target: &Target) -> Value {
        Value { dtype: Self::ballot_type(target), kind: ValueKind::Ballot(Box::new(has)) }
    }

    /// The type of ballots: the narrowest of U32 and U64 that has a bit for each lane of a warp.
    pub fn ballot_type(target: &Target) -> DType {
        if target.warp_size <= 32 { DType::U32 } else { DType::U64 }
    }

    /// The number of its leading zero bits: [`ValueKind::LeadingZeros`].
    pub fn leading_zeros(self) -> Value {
        Value { dtype: DType::I32, kind: ValueKind::LeadingZeros(Box::new(self)) }
    }

    /// Its value, if it is an integer constant.
    pub fn as_int(&self) -> Option<i64> {
        match self.kind {
            ValueKind::Int(v) => Some(v),
            _ => None,
        }
    }

    /// Whether it is the literal 0 or 0.0, converted or not.
    pub fn is_zero(&self) -> bool {
        match &self.kind {
            ValueKind::Int(v) => *v == 0,
            ValueKind::Float(v) => *v == 0.0 && v.is_sign_positive(),
            ValueKind::Cast(inner) => inner.is_zero(),
            _ => false,
        }
    }

    /// Whether both are one value wherever they are evaluated: as `==`, which takes the literals
    /// `0.0` and `-0.0` for one, but with the bits of literals.
    pub fn is_identical(&self, other: &Value) -> bool {
        let literals = |value: &Value| {
            let mut bits = Vec::new();
            value.visit(&mut |value| {
                if let ValueKind::Float(v) = value.kind {
                    bits.push(v.to_bits());
                }
            });
            bits
        };
        self == other && literals(self) == literals(other)
    }

    /// Its operands, including subscripts and offsets.
    pub fn children(&self) -> Vec<&Value> {
        let mut children = Vec::new();
        self.each_child(&mut |child| children.push(child));
        children
    }

    /// Calls `f` on each operand; [`Value::children`] without the allocation.
    pub fn each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Value)) {
        match &self.kind {
            ValueKind::Int(_)
            | ValueKind::Float(_)
            | ValueKind::Bool(_)
            | ValueKind::Var(_)
            | ValueKind::Param(_)
            | ValueKind::BlockIdx(_)
            | ValueKind::ThreadIdx(_) => {}
            ValueKind::Load(m) => m.subscripts.iter().chain([&*m.offset]).for_each(f),
            ValueKind::Unary(_, a)
            | ValueKind::Cast(a)
            | ValueKind::Any(a)
            | ValueKind::Ballot(a)
            | ValueKind::LeadingZeros(a) => f(a),
            ValueKind::Binary(_, a, b) => [a, b].into_iter().for_each(|v| f(v)),
            ValueKind::Select(c, a, b) => [c, a, b].into_iter().for_each(|v| f(v)),
            ValueKind::Call { args, .. } => args.iter().for_each(f),
            ValueKind::Shuffle { value, operand, .. } => [value, operand].into_iter().for_each(|v| f(v)),
        }
    }

    /// As [`Value::each_child`], mutably.
    pub fn each_child_mut(&mut self, f: &mut dyn FnMut(&mut Value)) {
        match &mut self.kind {
            ValueKind::Int(_)
            | ValueKind::Float(_)
            | ValueKind::Bool(_)
            | ValueKind::Var(_)
            | ValueKind::Param(_)
            | ValueKind::BlockIdx(_)
            | ValueKind::ThreadIdx(_) => {}
            ValueKind::Load(m) => m.each_value_mut(f),
            ValueKind::Unary(_, a)
            | ValueKind::Cast(a)
            | ValueKind::Any(a)
            | ValueKind::Ballot(a)
            | ValueKind::LeadingZeros(a) => f(a),
            ValueKind::Binary(_, a, b) => [a, b].into_iter().for_each(|v| f(v)),
            ValueKind::Select(c, a, b) => [c, a, b].into_iter().for_each(|v| f(v)),
            ValueKind::Call { args, .. } => args.iter_mut().for_each(f),
            ValueKind::Shuffle { value, operand, .. } => [value, operand].into_iter().for_each(|v| f(v)),
        }
    }

    /// Calls `f` on the value and all its subexpressions.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Value)) {
        f(self);
        self.each_child(&mut |child| child.visit(f));
    }
}
