//! The flat code that one device kernel becomes.
//!
//! Registers hold one value a lane and lie in two files: `w` of 32-bit words (integers of up to 32
//! bits extended to 32 by their signedness, f32, f16 and bf16 as their bits, bool as 0 or 1) and
//! `d` of 64-bit words. The type says which file a register is in. Temporaries may hold anything in
//! lanes that are not active; what writes a variable again, or joins the two sides of a choice,
//! moves active lanes only.

use loopwright_kernel_ir::{DType, Name, Number};
use loopwright_program::{Atomic, BinOp, LeafId, Memory, Scope, ShuffleMode, UnOp, Value, ValueKind};

/// A register's number in the file of its type.
pub(crate) type Reg = u32;
/// A place in the code.
pub(crate) type Pc = u32;

/// Whether values of this type lie in the file of 64-bit words.
pub(crate) fn is_wide(dtype: DType) -> bool {
    matches!(dtype, DType::I64 | DType::U64 | DType::F64)
}

/// For which counter an operation counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    Integer,
    IntegerDivision,
    FloatAdd,
    FloatMultiply,
    FloatDivision,
    FloatExtreme,
    Function,
    Comparison,
    Logic,
    Choice,
    Conversion,
    /// Addresses, loop counters, guards.
    Index,
    /// Not counted: done for the checks only, or counted by the `Chosen` that it is a part of.
    Check,
}

pub(crate) const CLASSES: usize = 13;

impl Class {
    /// All of them, in the order of their numbers.
    pub const ALL: [Class; CLASSES] = [
        Class::Integer,
        Class::IntegerDivision,
        Class::FloatAdd,
        Class::FloatMultiply,
        Class::FloatDivision,
        Class::FloatExtreme,
        Class::Function,
        Class::Comparison,
        Class::Logic,
        Class::Choice,
        Class::Conversion,
        Class::Index,
        Class::Check,
    ];
}

/// A math function; which types it takes is checked when the code is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MathFn {
    Abs,
    IsNan,
    Floor,
    Ceil,
    Round,
    Trunc,
    Sqrt,
    Rsqrt,
    Cbrt,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Atan2,
    Sinh,
    Cosh,
    Tanh,
    Erf,
    Erfc,
    Pow,
    Fmod,
    Hypot,
    Fma,
    Copysign,
}

/// A step that halves the counter.
pub(crate) const HALVE: i64 = 0;

/// A step that doubles the counter.
pub(crate) const DOUBLE: i64 = -1;

/// One step of a warp.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inst {
    /// `dst = src` in all lanes.
    Move {
        wide: bool,
        dst: Reg,
        src: Reg,
    },
    /// `dst = src` in active lanes.
    MoveActive {
        wide: bool,
        dst: Reg,
        src: Reg,
    },
    /// `dst = src` in all lanes, the end of a choice whose sides were computed under masks.
    /// `tallies[tally]` counts all of it, for the lanes that ask for the choice: compilers
    /// predicate short sides, so that what runs does not hang on the data.
    Chosen {
        wide: bool,
        dst: Reg,
        src: Reg,
        tally: u32,
    },
    /// `dst = c ? a : b` in all lanes.
    Blend {
        wide: bool,
        dst: Reg,
        c: Reg,
        a: Reg,
        b: Reg,
        class: Class,
    },
    /// `dst = a op b`; `dtype` is that of the operands. `site` is consulted for faults; `exact`
    /// makes overflow one.
    Binary {
        op: BinOp,
        dtype: DType,
        dst: Reg,
        a: Reg,
        b: Reg,
        class: Class,
        exact: bool,
        site: u32,
    },
    /// As `Binary` on i32 or bool, no division, with operands that are the same in all lanes, so
    /// that the result is too.
    Uniform {
        op: BinOp,
        dtype: DType,
        dst: Reg,
        a: Reg,
        b: Reg,
        class: Class,
        exact: bool,
        site: u32,
    },
    Unary {
        op: UnOp,
        dtype: DType,
        dst: Reg,
        a: Reg,
        class: Class,
        exact: bool,
        site: u32,
    },
    Cast {
        from: DType,
        to: DType,
        dst: Reg,
        src: Reg,
        class: Class,
    },
    Math {
        function: MathFn,
        dtype: DType,
        dst: Reg,
        args: [Reg; 3],
        class: Class,
    },
    /// Calls the closure of this number with the argument registers of `calls[call]`.
    User {
        call: u32,
        dst: Reg,
    },
    Shuffle {
        mode: ShuffleMode,
        width: u8,
        wide: bool,
        dst: Reg,
        value: Reg,
        operand: Reg,
        site: u32,
    },
    /// Whether some lane of the warp has it.
    Any {
        dst: Reg,
        value: Reg,
        site: u32,
    },
    /// How far below a lane the nearest one is that has it, or 32.
    Since {
        dst: Reg,
        value: Reg,
        lane: Reg,
        site: u32,
    },
    Load {
        access: u32,
        dst: Reg,
    },
    Store {
        access: u32,
        src: Reg,
    },
    /// Lane after lane; see [`Access::atomic`].
    Update {
        access: u32,
        src: Reg,
    },
    VectorCopy {
        to: u32,
        from: u32,
        lanes: u8,
    },
    /// Faults where an active lane of the variable has no value.
    Defined {
        slot: u32,
        site: u32,
    },
    /// Active lanes of the variable have a value from here on.
    Define {
        slot: u32,
    },
    /// No lane of the variable has one.
    Undefine {
        slot: u32,
    },
    /// Keeps the active lanes where `cond` holds; goes to `other` where none is left. `slot` and
    /// `slot + 1` remember.
    If {
        cond: Reg,
        slot: u32,
        other: Pc,
    },
    /// Goes on with the lanes that the `If` of this slot left out; goes to `end` where there are
    /// none.
    Else {
        slot: u32,
        end: Pc,
    },
    /// The lanes that were active at the `If` or `LoopEnter` are again.
    Restore {
        slot: u32,
    },
    /// Remembers the active lanes.
    LoopEnter {
        slot: u32,
    },
    /// Keeps the lanes with `var < upper` (or `var > upper`); goes to `end` where none is left.
    LoopTest {
        wide: bool,
        /// Both are narrow and the same in all lanes.
        uniform: bool,
        var: Reg,
        upper: Reg,
        down: bool,
        end: Pc,
    },
    /// `var += step`, or what [`HALVE`] and [`DOUBLE`] stand for; goes to `head`.
    LoopNext {
        wide: bool,
        /// The variable is narrow and the same in all lanes.
        uniform: bool,
        var: Reg,
        step: i64,
        head: Pc,
        site: u32,
    },
    Sync {
        scope: Scope,
        site: u32,
    },
    End,
}

/// A variable that a report gives the value of.
#[derive(Clone, Debug)]
pub(crate) struct InScope {
    pub name: Name,
    pub dtype: DType,
    pub reg: Reg,
}

/// A place in the kernel that a fault may speak of.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub leaf: Option<LeafId>,
    /// What the statement is where it has no leaf.
    pub what: &'static str,
    /// The name that the fault concerns, if any (a variable, a loop counter).
    pub about: Option<Name>,
    /// One more than the number of the innermost name in scope in [`Code::scopes`]; 0 where there
    /// is none.
    pub scope: usize,
}

/// One access to memory in the code.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// Its number in [`Code::accesses`].
    pub number: usize,
    pub memory: Memory,
    pub dtype: DType,
    /// Whether the index type is I64.
    pub wide_index: bool,
    pub offset: Reg,
    pub subscripts: Vec<Reg>,
    /// Length and stride of each axis of a shared or private array.
    pub axes: Vec<(i64, i64)>,
    /// The offset of a shared or private element, where it is constant and known to be right.
    pub constant: Option<usize>,
    /// Whether the offset and all subscripts are narrow and the same in all lanes, active or not.
    pub uniform: bool,
    pub write: bool,
    /// The number of the innermost loop around it, 0 if there is none.
    pub in_loop: usize,
    /// The kind of atomic update that it is, if it is one.
    pub atomic: Option<Atomic>,
    pub site: u32,
}

/// A call of a device function.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub function: usize,
    pub args: Vec<(DType, Reg)>,
    pub result: DType,
    pub site: u32,
}

/// What a register holds from the beginning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Preset {
    /// Bits, in all lanes.
    Constant(u64),
    /// A scalar argument or host variable, of the register's type.
    Param(Name),
    /// The block's number.
    BlockIdx(u8),
    /// The thread's number.
    ThreadIdx(u8),
}

impl Preset {
    /// What stands for this value, if it is of that kind.
    pub fn of(value: &Value) -> Option<Preset> {
        Some(match &value.kind {
            ValueKind::Int(v) => Preset::Constant(Number::I64(*v).cast(value.dtype).bits()),
            ValueKind::Float(v) => Preset::Constant(Number::F64(*v).cast(value.dtype).bits()),
            ValueKind::Bool(v) => Preset::Constant((*v).into()),
            ValueKind::Param(name) => Preset::Param(name.clone()),
            ValueKind::BlockIdx(axis) => Preset::BlockIdx(*axis),
            ValueKind::ThreadIdx(axis) => Preset::ThreadIdx(*axis),
            _ => return None,
        })
    }
}

/// The code of a device kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub insts: Vec<Inst>,
    pub accesses: Vec<Access>,
    pub calls: Vec<Call>,
    /// What a choice is made of, by class.
    pub tallies: Vec<Vec<(Class, u64)>>,
    pub sites: Vec<Site>,
    /// Names in scope, each with that of its enclosing one (plus one).
    pub scopes: Vec<(InScope, usize)>,
    pub presets: Vec<(Preset, DType, Reg)>,
    /// Registers of 32 bits.
    pub narrow: usize,
    /// Registers of 64 bits.
    pub wide: usize,
    /// Slots for lane masks.
    pub masks: usize,
    /// Variables that are watched for reads without a value.
    pub watched: usize,
    /// The globals that it reads, by number.
    pub reads: Vec<bool>,
    /// The globals that it writes, by number.
    pub writes: Vec<bool>,
}
