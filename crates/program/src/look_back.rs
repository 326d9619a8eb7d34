//! Look-backs: how the blocks of one launch pass on what their tiles join.
//!
//! The blocks of a scan have a tile of points each. A block joins its tile, *publishes* the total,
//! and looks back over the tiles before its own, from the nearest one on: it joins their totals
//! until it comes to a tile whose *prefix* is published, which is what this tile and all before it
//! join. Then it publishes its own prefix (Merrill and Garland, "Single-pass Parallel Prefix Scan
//! with Decoupled Look-back", 2016). So each point is read once, in one launch.
//!
//! A tile has one word of 64 bits for each 32 bits of a state ([`LookBack::words`]), value after
//! value: the bits below, and above them 0 as long as nothing is published, 1 with a total, 2 with
//! a prefix. Each word is written once with 1 and once with 2. So a state is seen when all of its
//! words say the same, and a reader needs no other order of memory.
//!
//! Two things have to hold, which the final check asks for (`verify::look_back`):
//!
//! * A block waits only for blocks that have started: its number is taken from a counter when it
//!   starts ([`InOrder`]), and its coordinates are those of this number.
//! * Words and counter are 0 when the launch begins. The launch before it sets them
//!   ([`reset_of`]).
//!
//! Totals are joined in the order of the tiles, but how they are grouped depends on what has been
//! published when a block looks. Sums of floating-point numbers may differ in their last bits from
//! run to run.

use loopwright_kernel_ir::{DType, Dim, Name, PerDim};

use crate::{
    BinOp, DeviceKernel, MemRef, Memory, Note, Param, Program, Stmt, Value, ValueKind, Var, VarId,
    fold::{add, mul},
};

/// What blocks join when they look back: the operator of a scan, for states of some types.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredLookBack {
    /// The name of the device function that looks back. No other item of the program has it.
    pub name: Name,
    /// The types of the values of totals and prefixes: numbers of 32 or 64 bits.
    pub state: Vec<DType>,
    /// What no tile joins: constants.
    pub neutral: Vec<Value>,
    /// What two neighbouring runs of tiles join, over the variables [`Self::earlier`] and
    /// [`Self::later`], and no others.
    pub combined: Vec<Value>,
}

impl DeclaredLookBack {
    /// The most values that a state has.
    pub const MOST_VALUES: usize = 8;

    /// A value of what the run of tiles joins that comes first, in [`Self::combined`].
    pub fn earlier(&self, number: usize) -> VarId {
        VarId(number)
    }

    /// A value of what the other run joins, in [`Self::combined`].
    pub fn later(&self, number: usize) -> VarId {
        VarId(self.state.len() + number)
    }

    /// The names of the variables of a state with this number of values, in their order.
    pub fn names(values: usize) -> Vec<String> {
        let side = |side: &str| match values {
            1 => vec![side.to_string()],
            _ => (0..values).map(|k| format!("{side}_{k}")).collect(),
        };
        [side("earlier"), side("later")].concat()
    }

    /// Whether values of a type can be published: numbers of 32 or 64 bits.
    pub fn takes(dtype: DType) -> bool {
        matches!(dtype, DType::I32 | DType::U32 | DType::F32 | DType::I64 | DType::U64 | DType::F64)
    }

    /// The number of words of a tile.
    pub fn words(&self) -> i64 {
        LookBack::words(&self.state)
    }
}

/// A look-back of one block, which its first warp does: all lanes of it, and no other thread.
#[derive(Clone, Debug, PartialEq)]
pub struct LookBack {
    /// The number in [`Program::look_backs`] of what is joined.
    pub by: usize,
    /// The axis of the grid along which the tiles of one scan are numbered. Blocks that differ on
    /// other axes belong to other scans.
    pub axis: Dim,
    /// What the block's tile joins, each value of it; the same in all lanes.
    pub total: Vec<Value>,
    /// The variables that it declares: what the tiles before the block's own join, in all lanes;
    /// the neutral values for the first tile.
    pub before: Vec<VarId>,
    /// The first word of the block's tile, in global memory: [`Self::word_of`].
    pub word: MemRef,
}

impl LookBack {
    /// The number of words of a tile, for states of these types.
    pub fn words(state: &[DType]) -> i64 {
        state.iter().map(|dtype| dtype.bytes().div_ceil(4) as i64).sum()
    }

    /// The number of words of all tiles of a launch with this grid.
    pub fn words_of(grid: &PerDim<Value>, axis: Dim, words: i64, index: DType) -> Value {
        let tiles = axes(grid, axis).map(|dim| grid[dim].clone());
        mul(tiles.reduce(mul).unwrap_or_else(|| Value::int(index, 1)), Value::int(index, words))
    }

    /// The number of the first word of the block's tile: the tiles of one scan lie next to each
    /// other.
    pub fn word_of(grid: &PerDim<Value>, axis: Dim, words: i64, index: DType) -> Value {
        let own = |dim: Dim| Value { dtype: index, kind: ValueKind::BlockIdx(dim) };
        let number = axes(grid, axis).fold(None, |number: Option<Value>, dim| {
            Some(match number {
                None => own(dim),
                Some(number) => add(mul(number, grid[dim].clone()), own(dim)),
            })
        });
        mul(number.unwrap_or_else(|| Value::int(index, 0)), Value::int(index, words))
    }
}

/// The axes on which a grid has several blocks, that of the tiles last.
fn axes(grid: &PerDim<Value>, axis: Dim) -> impl Iterator<Item = Dim> {
    let several = |dim: &Dim| grid[*dim].as_int() != Some(1);
    let others = [Dim::Z, Dim::Y, Dim::X].into_iter().filter(move |dim| *dim != axis);
    let axes: Vec<Dim> = others.filter(several).chain([axis]).collect();
    axes.into_iter()
}

/// How the blocks of a kernel get coordinates in the order in which they start: block `n` to start
/// is at `n` in the grid, x counting before y before z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InOrder {
    /// The array in global memory, of one u32, that counts the blocks that have started.
    pub counter: usize,
    /// The array in shared memory, of one u32, that holds the number of the block.
    pub number: usize,
}

/// Threads of a block of the kernel that resets words, at most.
const THREADS: u32 = 256;

/// The kernel that sets the words and the counter of a kernel that looks back to 0: the launch
/// before it. `None` for a kernel that does not.
pub fn reset_of(program: &Program, kernel: &DeviceKernel, name: Name) -> Option<DeviceKernel> {
    let InOrder { counter, .. } = kernel.in_order?;
    let index = program.index;
    let mut arrays = vec![(counter, Value::int(index, 1))];
    let mut most: Option<(i64, Dim)> = None;
    Stmt::visit(&kernel.body, &mut |stmt| {
        if let Stmt::LookBack(LookBack { by, axis, word, .. }) = stmt
            && let (Memory::Global(array), Some(of)) = (word.memory, program.look_backs.get(*by))
        {
            let words = of.words();
            arrays.push((array, LookBack::words_of(&kernel.grid, *axis, words, index)));
            most = most.max(Some((words, *axis)));
        }
    });
    let (words, axis) = most?;
    // The variable hides no argument that the size is made of.
    let is_taken = |name: &str| {
        program.globals.iter().any(|g| *g.name == *name)
            || kernel.params.iter().any(|param| matches!(param, Param::HostVar(other) if **other == *name))
            || program.scalars().any(|s| *s.name == *name)
    };
    let counted = program.target.language.legal_like("i", is_taken);
    let of_block = THREADS.min(program.target.most_threads);
    let (threads, whole) = (Value::int(index, of_block.into()), Value::int(index, i64::from(of_block) - 1));
    let size = LookBack::words_of(&kernel.grid, axis, words, index);
    let blocks = Value::binary(BinOp::TruncDiv, add(size.clone(), whole), threads.clone());
    let i = Value::var(index, VarId(0));
    let on = |kind: ValueKind| Value { dtype: index, kind };
    let own = add(mul(on(ValueKind::BlockIdx(Dim::X)), threads), on(ValueKind::ThreadIdx(Dim::X)));
    let mut body = vec![Stmt::Let { var: VarId(0), value: own, leaf: None }];
    body.extend(arrays.iter().map(|(array, size)| Stmt::If {
        cond: Value::binary(BinOp::Lt, i.clone(), size.clone()),
        body: vec![Stmt::Store {
            to: MemRef {
                memory: Memory::Global(*array),
                subscripts: vec![i.clone()],
                offset: Box::new(i.clone()),
            },
            value: Value::int(program.globals.get(*array).map_or(index, |g| g.dtype), 0),
            leaf: None,
        }],
        otherwise: Vec::new(),
        note: Note::default(),
    }));
    let mut globals: Vec<usize> = arrays.iter().map(|(array, _)| *array).collect();
    globals.sort_unstable();
    let written = |global| Param::Global { global, written: true, exchanged: false };
    let mut params: Vec<Param> = globals.into_iter().map(written).collect();
    let mut named = Vec::new();
    size.visit(&mut |v| {
        if let ValueKind::Param(name) = &v.kind
            && !named.contains(name)
        {
            named.push(name.clone());
        }
    });
    let scalars = program.scalars().filter(|s| named.contains(&s.name));
    params.extend(scalars.map(|s| Param::Scalar { name: s.name.clone(), dtype: s.dtype }));
    named.retain(|name| program.scalars().all(|s| s.name != *name));
    params.extend(named.into_iter().map(Param::HostVar));
    Some(DeviceKernel {
        name,
        params,
        grid: PerDim { x: blocks, y: Value::int(index, 1), z: Value::int(index, 1) },
        block: PerDim { x: of_block, y: 1, z: 1 },
        min_blocks_per_multiprocessor: None,
        early: false,
        in_order: None,
        vars: vec![Var {
            name: Name::from(counted),
            dtype: index,
            mutable: false,
            meaning: None,
            within: None,
            index: false,
        }],
        shared: Vec::new(),
        private: Vec::new(),
        body,
        notes: vec![Note::new(format!(
            "sets to 0 what the blocks of {} count and publish, before each launch of it",
            kernel.name
        ))],
    })
}
