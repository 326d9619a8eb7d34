//! The flat code that one device kernel is compiled to.
//!
//! Registers hold one value per lane and are in two files: `w` of 32-bit words (integers of up to
//! 32 bits, sign- or zero-extended to 32 by their type; f32, f16 and bf16 as their bits; bool as 0
//! or 1) and `d` of 64-bit words. The type determines the file. Temporaries may hold anything in
//! inactive lanes; an instruction that reassigns a variable, or merges the two sides of a choice,
//! moves active lanes only.

use std::sync::Arc;

use loopwright_atom::Atom;
use loopwright_kernel_ir::{DType, Dim, Name, Number};
use loopwright_program::{
    Atomic, BinOp, LeafId, Memory, Positions, Scope, ShuffleMode, UnOp, Value, ValueKind,
};

/// The index of a register in the file of its type.
pub(crate) type Reg = u32;
/// An index into the code.
pub(crate) type Pc = u32;

/// Whether values of this type are in the file of 64-bit words.
pub(crate) fn is_wide(dtype: DType) -> bool {
    matches!(dtype, DType::I64 | DType::U64 | DType::F64)
}

/// The counter to which an operation contributes.
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
    /// Not counted: done only for checks, or counted by the enclosing `Chosen`.
    Check,
}

pub(crate) const CLASSES: usize = 13;

impl MathFn {
    /// Whether it gives a truth value or an `i32`.
    pub fn gives_narrow(self) -> bool {
        matches!(self, MathFn::IsNan | MathFn::IsInf | MathFn::IsFinite | MathFn::SignBit | MathFn::Ilogb)
    }
}

impl Class {
    /// All classes, in the order of their numbers.
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

/// A math function. The compiler checks its operand types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MathFn {
    Abs,
    IsNan,
    IsInf,
    IsFinite,
    SignBit,
    Ilogb,
    BesselI0,
    BesselI1,
    BesselJn,
    BesselYn,
    Ldexp,
    Logb,
    Remainder,
    Rhypot,
    Norm3d,
    Rnorm3d,
    Norm4d,
    Rnorm4d,
    Floor,
    Ceil,
    Round,
    Trunc,
    Sqrt,
    Rsqrt,
    Cbrt,
    Rcbrt,
    Exp,
    Exp2,
    Exp10,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Sinpi,
    Cospi,
    Asin,
    Acos,
    Atan,
    Atan2,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Erfc,
    Lgamma,
    Tgamma,
    Rint,
    Erfcx,
    Erfinv,
    Erfcinv,
    Normcdf,
    Normcdfinv,
    BesselJ0,
    BesselJ1,
    BesselY0,
    BesselY1,
    Fdim,
    Nextafter,
    Pow,
    Fmod,
    Hypot,
    Fma,
    Copysign,
    ToTf32,
    TruncateToTf32,
}

/// The step value that halves the counter.
pub(crate) const HALVE: i64 = 0;

/// The step value that doubles the counter.
pub(crate) const DOUBLE: i64 = -1;

/// One instruction of a warp.
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
    /// `dst = src` in all lanes, at the end of a choice whose sides were computed under masks.
    /// `tallies[tally]` counts the whole choice, for the lanes that evaluate it: compilers
    /// predicate short sides, so the executed instructions do not depend on the data.
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
    /// `dst = a op b`; `dtype` is that of the operands. `site` locates faults; with `exact`,
    /// overflow is a fault.
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
    /// As `Binary` on i32 or bool, without division, for operands that are equal in all lanes, so
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
        args: [Reg; 4],
        class: Class,
    },
    /// A math function of the value `a` and of the integer `k` of 32 bits.
    MathOfInt {
        function: MathFn,
        dtype: DType,
        dst: Reg,
        a: Reg,
        k: Reg,
        class: Class,
    },
    /// Calls the closure with this number on the argument registers of `calls[call]`.
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
    /// Whether the condition holds in any lane of the warp.
    Any {
        dst: Reg,
        value: Reg,
        site: u32,
    },
    /// The lanes of the warp in which the condition holds, as bits.
    Ballot {
        dst: Reg,
        value: Reg,
        site: u32,
    },
    /// The zeros above the highest bit of a register of either file.
    LeadingZeros {
        wide: bool,
        dst: Reg,
        src: Reg,
        class: Class,
    },
    Load {
        access: u32,
        dst: Reg,
    },
    Store {
        access: u32,
        src: Reg,
    },
    /// Executed lane by lane; see [`Access::atomic`]. Of an update that the program declares, only
    /// the checks: what follows does it, from `Lanes` on.
    Update {
        access: u32,
        src: Reg,
    },
    /// Saves the active lanes, of which `EachLane` takes one after another.
    Lanes {
        slot: u32,
    },
    /// Activates the next of the lanes that `Lanes` saved, jumps to `end` if there is none.
    EachLane {
        slot: u32,
        end: Pc,
    },
    /// Reads the element of an update without checks, in active lanes.
    Held {
        access: u32,
        dst: Reg,
    },
    /// Writes it likewise, and jumps to the next `EachLane`.
    Exchange {
        access: u32,
        src: Reg,
        head: Pc,
    },
    VectorCopy {
        to: u32,
        from: u32,
        lanes: u8,
    },
    /// Loads matrices of eight rows of this number of elements; see [`loopwright_program::Stmt`].
    Matrices {
        to: u32,
        from: u32,
        count: u8,
        row: u8,
        transposed: bool,
        site: u32,
    },
    /// Stores matrices of eight rows of eight elements; see [`loopwright_program::Stmt`].
    StoreMatrices {
        to: u32,
        from: u32,
        count: u8,
        transposed: bool,
        site: u32,
    },
    /// The product of fragments of this number.
    Product {
        number: u32,
    },
    /// Issues asynchronous copies of this number of elements, of zeros in lanes in which `when`
    /// does not hold.
    AsyncCopy {
        to: u32,
        from: u32,
        lanes: u8,
        when: Option<Reg>,
    },
    /// Ends a group of asynchronous copies.
    Commit,
    /// Waits until this number of groups are under way.
    Wait {
        pending: u32,
    },
    /// Faults if the variable has no value in an active lane.
    Defined {
        slot: u32,
        site: u32,
    },
    /// Marks the variable as having a value in active lanes.
    Define {
        slot: u32,
    },
    /// Marks the variable as having no value in any lane.
    Undefine {
        slot: u32,
    },
    /// Keeps the active lanes in which `cond` holds; jumps to `other` if there are none. Saves
    /// masks in `slot` and `slot + 1`.
    If {
        cond: Reg,
        slot: u32,
        other: Pc,
    },
    /// Continues with the lanes that the `If` of this slot excluded; jumps to `end` if there are
    /// none.
    Else {
        slot: u32,
        end: Pc,
    },
    /// Reactivates the lanes that were active at the `If` or `LoopEnter`.
    Restore {
        slot: u32,
    },
    /// Saves the active lanes.
    LoopEnter {
        slot: u32,
    },
    /// Keeps the lanes with `var < upper` (or `var > upper`); jumps to `end` if there are none.
    LoopTest {
        wide: bool,
        /// Both are narrow and equal in all lanes.
        uniform: bool,
        var: Reg,
        upper: Reg,
        down: bool,
        end: Pc,
    },
    /// `var += step`, or halves or doubles it (see [`HALVE`] and [`DOUBLE`]); jumps to `head`.
    LoopNext {
        wide: bool,
        /// The variable is narrow and equal in all lanes.
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
    /// Publishes what the tile of the block joins, `looks[look]`.
    Publish {
        look: u32,
    },
    /// What the next of the tiles before has published, in all lanes; jumps to `end` if there is
    /// none left. Waits for it where there is nothing yet.
    Look {
        look: u32,
        end: Pc,
    },
    Jump {
        to: Pc,
    },
    /// Publishes what the tile of the block and all before it join.
    Prefix {
        look: u32,
    },
    End,
}

/// A variable whose value fault reports include.
#[derive(Clone, Debug)]
pub(crate) struct InScope {
    pub name: Name,
    pub dtype: DType,
    pub reg: Reg,
}

/// A place in the kernel that a fault may refer to.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub leaf: Option<LeafId>,
    /// A description of the statement if it has no leaf.
    pub what: &'static str,
    /// The name of the variable or loop counter that the fault concerns, if any.
    pub about: Option<Name>,
    /// One more than the index in [`Code::scopes`] of the innermost name in scope; 0 if there is
    /// none.
    pub scope: usize,
}

/// One memory access in the code.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// Its index in [`Code::accesses`].
    pub number: usize,
    pub memory: Memory,
    pub dtype: DType,
    /// Whether the index type is I64.
    pub wide_index: bool,
    pub offset: Reg,
    pub subscripts: Vec<Reg>,
    /// Length and stride of each axis of a shared or private array.
    pub axes: Vec<(i64, i64)>,
    /// Where the elements of a shared or private array lie whose layout is set.
    pub positions: Option<Arc<Positions>>,
    /// The offset of a shared or private element, if it is constant and known to be correct.
    pub constant: Option<usize>,
    /// Whether the offset and all subscripts are narrow and equal in all lanes, active or not.
    pub uniform: bool,
    pub write: bool,
    /// The number of the innermost loop around it, or 0 outside loops.
    pub in_loop: usize,
    /// The kind of atomic update, if it is one.
    pub atomic: Option<Atomic>,
    /// Whether that is one step among the threads of a block alone.
    pub in_block: bool,
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

/// A product of fragments: accesses of the elements of `d`, and of the first ones of `a` and `b`.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub atom: Arc<Atom>,
    pub d: Vec<u32>,
    pub a: u32,
    pub b: u32,
    pub site: u32,
}

/// A look-back: the accesses of the block's first word, its words, and the values of its state.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub axis: Dim,
    /// Accesses that read and that write the first word.
    pub read: u32,
    pub write: u32,
    /// The register into which it is read, and one that is not 0.
    pub found: Reg,
    pub mark: Reg,
    pub words: i64,
    pub site: u32,
    /// The registers of what the block's tile joins, of what the next tile before has published,
    /// and of what all join, each with its type.
    pub total: Vec<(Reg, DType)>,
    pub next: Vec<(Reg, DType)>,
    pub prefix: Vec<(Reg, DType)>,
}

/// The initial contents of a register.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Preset {
    /// These bits, in all lanes.
    Constant(u64),
    /// A scalar argument or host variable, of the register's type.
    Param(Name),
    /// The block index on this axis.
    BlockIdx(Dim),
    /// The thread index on this axis.
    ThreadIdx(Dim),
}

impl Preset {
    /// The preset that yields this value, if there is one.
    pub fn of(value: &Value) -> Option<Preset> {
        Some(match &value.kind {
            ValueKind::Int(v) => Preset::Constant(Number::I64(*v).cast(value.dtype).bits()),
            ValueKind::Float(v) => Preset::Constant(Number::F64(*v).cast(value.dtype).bits()),
            ValueKind::Bool(v) => Preset::Constant((*v).into()),
            ValueKind::Param(name) => Preset::Param(name.clone()),
            ValueKind::BlockIdx(dim) => Preset::BlockIdx(*dim),
            ValueKind::ThreadIdx(dim) => Preset::ThreadIdx(*dim),
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
    pub products: Vec<Product>,
    pub looks: Vec<Look>,
    /// The operations of each choice, by class.
    pub tallies: Vec<Vec<(Class, u64)>>,
    pub sites: Vec<Site>,
    /// Names in scope, each with the index of the enclosing one plus one.
    pub scopes: Vec<(InScope, usize)>,
    pub presets: Vec<(Preset, DType, Reg)>,
    /// Number of 32-bit registers.
    pub narrow: usize,
    /// Number of 64-bit registers.
    pub wide: usize,
    /// Number of slots for lane masks.
    pub masks: usize,
    /// Number of variables watched for reads without a value.
    pub watched: usize,
    /// Whether the kernel reads each global, by number.
    pub reads: Vec<bool>,
    /// Whether the kernel writes each global, by number.
    pub writes: Vec<bool>,
}
