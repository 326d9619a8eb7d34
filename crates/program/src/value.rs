//! Typed values.

use loopwright_kernel_ir::{DType, Name, Precision};

use super::VarId;

/// An operation on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnOp {
    /// `-a`
    Neg,
    /// `!a` of bool
    Not,
    /// `~a` of integers
    BitNot,
}

/// An operation on two values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinOp {
    /// Sum; integers wrap as in two's complement (signed index arithmetic is proved or checked not
    /// to).
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient of floating-point values.
    Div,
    /// Quotient of integers rounded towards minus infinity.
    FloorDiv,
    /// Remainder of integers with the sign of the divisor.
    FloorMod,
    /// C's `/` on integers; stands only where it equals [`BinOp::FloorDiv`] (both known not to be
    /// negative).
    TruncDiv,
    /// C's `%` on integers; stands only where it equals [`BinOp::FloorMod`].
    TruncRem,
    /// The smaller; of floating-point values the one that is no NaN.
    Min,
    /// The greater; of floating-point values the one that is no NaN.
    Max,
    /// Comparisons give bool.
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `&&`, the right side evaluated only where the left is true.
    And,
    /// `||`, the right side evaluated only where the left is false.
    Or,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `<<`
    Shl,
    /// `>>`, arithmetic for signed types.
    Shr,
}

impl BinOp {
    /// Whether it gives bool whatever its operands are.
    pub fn is_comparison(self) -> bool {
        matches!(self, BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne)
    }
}

/// From which lane a shuffle takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShuffleMode {
    /// The lane whose number differs in the bits of the operand.
    Xor,
    /// The lane that is further up by the operand; the own value where that lies outside the group.
    Down,
    /// The lane that is further down by the operand; the own value where that lies outside the
    /// group.
    Up,
    /// The lane of the group with this number.
    Index,
}

/// Which memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Number in [`crate::Program::globals`].
    Global(usize),
    /// Number in [`crate::DeviceKernel::shared`].
    Shared(usize),
    /// Number in [`crate::DeviceKernel::private`].
    Private(usize),
}

/// One element of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct MemRef {
    /// Which array.
    pub memory: Memory,
    /// One subscript an axis, of the index type: for bounds checks and for printing shared and
    /// private arrays.
    pub subscripts: Vec<Value>,
    /// Offset in elements from the beginning of the array, of the index type: equals the subscripts
    /// times the strides.
    pub offset: Box<Value>,
}

/// What a [`Value`] is.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueKind {
    /// An integer constant of the value's integer type.
    Int(i64),
    /// A floating-point constant of the value's type; may be infinite or NaN.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A variable of the thread.
    Var(VarId),
    /// A scalar argument or a host variable, by name.
    Param(Name),
    /// The block's number on an axis of the grid, of the index type.
    BlockIdx(u8),
    /// The thread's number on an axis of its block, of the index type.
    ThreadIdx(u8),
    /// The element's value.
    Load(MemRef),
    /// One operand, of the same type.
    Unary(UnOp, Box<Value>),
    /// Two operands of one type; the result is of that type, or bool for comparisons.
    Binary(BinOp, Box<Value>, Box<Value>),
    /// Condition, value if true, value if false; only the chosen one is evaluated.
    Select(Box<Value>, Box<Value>, Box<Value>),
    /// Conversion to the value's type. From floating-point to integer: towards zero.
    Cast(Box<Value>),
    /// A math function of [`loopwright_kernel_ir::MATH_FUNCTIONS`] (never `lowest`, `highest`,
    /// `min`, `max`), or a device function of the user's.
    Call {
        /// Its name.
        function: Name,
        /// Fast or precise.
        precision: Precision,
        /// Operands.
        args: Vec<Value>,
    },
    /// The operand's value in another lane of the same group of `width` consecutive lanes. All
    /// lanes of the warp take part.
    Shuffle {
        /// From where.
        mode: ShuffleMode,
        /// What is taken.
        value: Box<Value>,
        /// The mode's operand, of type I32.
        operand: Box<Value>,
        /// Lanes of a group: a power of two, from 2 to the warp's.
        width: u32,
    },
    /// Whether some lane of the warp has the operand, of type bool. Stands where all lanes of the
    /// warp run.
    Any(Box<Value>),
    /// How far below a lane of the warp the nearest one is that has a condition, itself included: 0
    /// to that of the warp's last lane, or as many as a warp has lanes where none has it. Of type I32. Stands where all lanes of the warp run.
    Since {
        /// The condition, of type bool.
        has: Box<Value>,
        /// The lane, of type I32, from 0 to 31.
        lane: Box<Value>,
    },
}

impl ValueKind {
    /// Whether all lanes of a warp take part in it.
    pub fn joins_lanes(&self) -> bool {
        matches!(self, ValueKind::Shuffle { .. } | ValueKind::Any(_) | ValueKind::Since { .. })
    }
}

/// A typed value.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Its type.
    pub dtype: DType,
    /// What it is.
    pub kind: ValueKind,
}

impl Value {
    /// An integer constant.
    pub fn int(dtype: DType, value: i64) -> Value {
        Value { dtype, kind: ValueKind::Int(value) }
    }

    /// A variable.
    pub fn var(dtype: DType, var: VarId) -> Value {
        Value { dtype, kind: ValueKind::Var(var) }
    }

    /// `a op b`; the type is that of `a`, or bool for a comparison.
    pub fn binary(op: BinOp, a: Value, b: Value) -> Value {
        let dtype = if op.is_comparison() { DType::Bool } else { a.dtype };
        Value { dtype, kind: ValueKind::Binary(op, Box::new(a), Box::new(b)) }
    }

    /// The value converted, or itself where it is of that type.
    pub fn cast(self, dtype: DType) -> Value {
        if self.dtype == dtype { self } else { Value { dtype, kind: ValueKind::Cast(Box::new(self)) } }
    }

    /// The integer that it is, if constant.
    pub fn as_int(&self) -> Option<i64> {
        match self.kind {
            ValueKind::Int(v) => Some(v),
            _ => None,
        }
    }

    /// Operands, subscripts and offsets included.
    pub fn children(&self) -> Vec<&Value> {
        let mut children = Vec::new();
        self.each_child(&mut |child| children.push(child));
        children
    }

    /// Calls `f` on each operand: [`Value::children`] without a list of them.
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
            ValueKind::Unary(_, a) | ValueKind::Cast(a) | ValueKind::Any(a) => f(a),
            ValueKind::Binary(_, a, b) => [a, b].into_iter().for_each(|v| f(v)),
            ValueKind::Select(c, a, b) => [c, a, b].into_iter().for_each(|v| f(v)),
            ValueKind::Call { args, .. } => args.iter().for_each(f),
            ValueKind::Shuffle { value: a, operand: b, .. } | ValueKind::Since { has: a, lane: b } => {
                [a, b].into_iter().for_each(|v| f(v));
            }
        }
    }

    /// Calls `f` on the value and everything inside it.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Value)) {
        f(self);
        self.each_child(&mut |child| child.visit(f));
    }
}
