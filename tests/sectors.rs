//! What the example pipelines take of the memory, counted on the emulator: sectors of 32 bytes that
//! are loaded and stored in global memory, and passes over the banks of shared memory beyond the
//! first. Every number is derived from the shapes; where a pipeline takes more than its bytes, the
//! derivation says why.
//!
//! A request of a warp counts each sector that it touches once, and another request counts it
//! again. All arrays begin at a multiple of 32 bytes, and eight elements are a sector.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use loopwright_emulator::{Arguments, Options, run};
use loopwright_kernel_ir::{Buffer, DType, LoopKernel, Number};
use loopwright_lowering::{
    LowerOptions, lower,
    program::{Owner, eval_host},
};
use loopwright_transforms::Pipeline;

/// One line of the table: a pipeline at sizes, and what it takes.
struct Case {
    /// Below `examples`, without its extension.
    pipeline: &'static str,
    /// Values of its open parameters.
    point: &'static [(&'static str, i64)],
    sizes: &'static [(&'static str, i64)],
    offsets: &'static [i32],
    /// Sectors loaded, sectors stored, bank conflicts.
    takes: [u64; 3],
}

type Values = &'static [(&'static str, i64)];

const fn case(pipeline: &'static str, sizes: Values, takes: [u64; 3]) -> Case {
    Case { pipeline, point: &[], sizes, offsets: &[], takes }
}

const fn tuned(pipeline: &'static str, point: Values, sizes: Values, takes: [u64; 3]) -> Case {
    Case { pipeline, point, sizes, offsets: &[], takes }
}

const fn ragged(pipeline: &'static str, sizes: Values, offsets: &'static [i32], takes: [u64; 3]) -> Case {
    Case { pipeline, point: &[], sizes, offsets, takes }
}

impl Case {
    fn counted(&self) -> [u64; 3] {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
        let read =
            |file: String| fs::read_to_string(examples.join(&file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        let (folder, name) = self.pipeline.split_once('/').expect("a folder and a name");
        let kernel = match (folder, name) {
            ("tuning", name) if name.starts_with("argmax") => "tuning/argmax.lw".to_owned(),
            ("tuning", name) => {
                let kernels = ["segmented_sum", "ragged_sum", "matmul", "column_sum"];
                let kernel = kernels.into_iter().find(|k| name.starts_with(k)).expect("a kernel's name");
                format!("kernels/{kernel}.lw")
            }
            _ => format!("kernels/{}.lw", name.split_once('/').expect("a kernel's folder").0),
        };
        let declared = LoopKernel::parse(&read(kernel)).unwrap_or_else(|e| panic!("{e}"));
        let program = Pipeline::parse(&read(format!("{}.pipe", self.pipeline)))
            .and_then(|p| p.bind(self.point.iter().copied())?.apply(&declared))
            .and_then(|k| lower(&k, LowerOptions::default()))
            .unwrap_or_else(|e| panic!("{}: {e}", self.pipeline));
        let value = |name: &loopwright_kernel_ir::Name| {
            self.sizes.iter().find(|(size, _)| *name == **size).map(|(_, v)| *v)
        };
        let mut arguments = Arguments::new();
        for scalar in program.scalars() {
            let number = value(&scalar.name).map_or(Number::F64(2.5), Number::I64);
            arguments = arguments.scalar(scalar.name.clone(), number.cast(scalar.dtype));
        }
        for global in program.globals.iter().filter(|g| g.owner == Owner::Caller) {
            let len = eval_host(&global.size, &value).expect("the sizes are given") as usize;
            let buffer = match (global.dtype, self.offsets) {
                (DType::I32, offsets @ [_, ..]) => Buffer::from_slice(offsets),
                (dtype, _) => Buffer::zeros(dtype, len),
            };
            assert_eq!(buffer.len(), len, "{}: {}", self.pipeline, global.name);
            arguments = arguments.array(global.name.clone(), buffer);
        }
        let report = run(&program, &mut arguments, &Options::default())
            .unwrap_or_else(|e| panic!("{} {:?}: {}", self.pipeline, self.sizes, e.diagnostic()));
        let total = report.total;
        [total.global_loads.sectors, total.global_stores.sectors, total.bank_conflicts()]
    }
}

/// The cases that take something else than the table says, all of them together.
fn check(cases: &[Case]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let (counted, Case { pipeline, sizes, takes, .. }) = (case.counted(), case);
            (counted != *takes).then(|| format!("{pipeline} {sizes:?}: {counted:?}, derived {takes:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "[loaded, stored, conflicts] {wrong:#?}");
}

/// Rows of 1000 elements are 4000 bytes, 125 sectors, and begin at sectors; 1000 is a multiple of
/// no tile. Each row's result is stored by itself: a sector. Rows of 1001 begin at element
/// `s mod 8` of a sector. The first, by warps of 32 neighbours: 31 requests of 4 sectors, and 9
/// elements in 2. Of the other four, 32 elements that begin inside a sector touch 5: 31 * 5, and 9
/// elements still touch 2.
const BY_ROWS: [u64; 3] = [5 * 125, 5, 0];
const ODD_ROWS: [u64; 3] = [31 * 4 + 2 + 4 * (31 * 5 + 2), 5, 0];

const ROWS: Values = &[("nseg", 5), ("len", 1000)];
const ODD: Values = &[("nseg", 5), ("len", 1001)];
const SHORT: Values = &[("nseg", 70), ("len", 20)];
const LONG: Values = &[("nseg", 3), ("len", 2600)];
const CHUNKS: Values = &[("nseg", 2), ("len", 20_000)];
const MANY: Values = &[("nseg", 300), ("len", 20)];

const SEGMENTED_SUM: &[Case] = &[
    case("pipelines/segmented_sum/block_per_segment", ROWS, BY_ROWS),
    case("pipelines/segmented_sum/block_per_segment", ODD, ODD_ROWS),
    case("pipelines/segmented_sum/block_ilp4", ROWS, BY_ROWS),
    case("pipelines/segmented_sum/block_ilp4", ODD, ODD_ROWS),
    case("pipelines/segmented_sum/block_vec4", ROWS, BY_ROWS),
    case("pipelines/segmented_sum/block_vec4", LONG, [3 * 325, 3, 0]),
    case("pipelines/segmented_sum/warp_per_segment", ROWS, BY_ROWS),
    case("pipelines/segmented_sum/warp_per_segment", ODD, ODD_ROWS),
    case("pipelines/segmented_sum/warp_vec4", ROWS, BY_ROWS),
    // 264 blocks for 300 rows, so that 36 of them go round. A row of 80 bytes is read in one
    // request of 5 lanes; it begins at a sector or in the middle of one, and touches three either
    // way.
    case("pipelines/segmented_sum/persistent", MANY, [300 * 3, 300, 0]),
    // Of more than one tile of 8192, the second one partial: 40 000 bytes a row.
    case("pipelines/segmented_sum/persistent", &[("nseg", 3), ("len", 10_000)], [3 * 1250, 3, 0]),
    // Two chunks a row, the second one short. Each block stores its partial result; the two of a
    // row are neighbours, which the join loads in one request.
    case("pipelines/segmented_sum/grid_per_segment", CHUNKS, [2 * 2500 + 2, 2 * 2 + 2, 0]),
    // Two first values are one sector; each of four blocks updates a result, which is counted as a
    // store.
    case("pipelines/segmented_sum/grid_atomic", CHUNKS, [2 * 2500, 1 + 4, 0]),
    // Lanes are a row apart: each element is a sector of its own, asked for eight times. 32 and 8
    // results are stored by a request each.
    case("pipelines/segmented_sum/thread_per_segment", &[("nseg", 40), ("len", 24)], [40 * 24, 4 + 1, 0]),
    // Rows of 80 bytes, of which every second begins in the middle of a sector. A request has eight
    // elements of each of four rows: 1 sector of the first and third row, 2 of the others; the
    // third request has what is left, 4 elements each. Four results are stored by a request.
    case("pipelines/segmented_sum/subwarp_8", &[("nseg", 40), ("len", 20)], [10 * (6 + 6 + 4), 10, 0]),
    // The same rows, eight a request: 64 bytes touch 2 or 3 sectors, the 16 bytes left 1 each.
    // Eight warps have eight rows, another one 6. Eight results are a sector.
    case("pipelines/segmented_sum/rows_vec4", SHORT, [8 * (4 * (2 + 3) + 8) + (3 * (2 + 3) + 6), 8 + 1, 0]),
    // Rows of 256 bytes: nothing is asked for twice.
    case("pipelines/segmented_sum/rows_vec4", &[("nseg", 256), ("len", 64)], [256 * 8, 256 / 8, 0]),
    // Which lines the cache keeps changes no sector.
    case(
        "pipelines/segmented_sum/rows_vec4_waves",
        SHORT,
        [8 * (4 * (2 + 3) + 8) + (3 * (2 + 3) + 6), 8 + 1, 0],
    ),
    case("pipelines/segmented_sum/rows_vec4_waves", &[("nseg", 256), ("len", 64)], [256 * 8, 256 / 8, 0]),
    // Lanes for a row and more, so that four rows are one request of 320 bytes; the last two are
    // 160. Four results are stored by a request.
    tuned(
        "tuning/segmented_sum_short",
        &[("width", 32), ("rows", 32), ("block_rows", 64)],
        SHORT,
        [17 * 10 + 5, 17 + 1, 0],
    ),
    tuned(
        "tuning/segmented_sum_short_waves",
        &[("width", 32), ("rows", 32), ("block_rows", 64)],
        SHORT,
        [17 * 10 + 5, 17 + 1, 0],
    ),
    // Hints for the caches ask for the same.
    tuned(
        "tuning/segmented_sum_short_streaming",
        &[("width", 32), ("rows", 32), ("block_rows", 64)],
        SHORT,
        [17 * 10 + 5, 17 + 1, 0],
    ),
    tuned("tuning/segmented_sum_long", &[("step", 512), ("tile", 1024)], LONG, [3 * 325, 3, 0]),
    tuned(
        "tuning/segmented_sum_chunks",
        &[("chunk", 32_768), ("step", 512), ("tile", 1024)],
        &[("nseg", 2), ("len", 40_000)],
        [2 * 5000 + 2, 2 * 2 + 2, 0],
    ),
    tuned("tuning/segmented_sum_odd_long", &[("threads", 128), ("tile", 512)], ODD, ODD_ROWS),
    // 10001 = 312 * 32 + 17. The first row begins at a sector: 17 elements are 3. The others begin
    // 1 and 2 elements behind one, and 17 elements are 3 still. Two chunks a row.
    tuned(
        "tuning/segmented_sum_odd_chunks",
        &[("chunk", 8192), ("threads", 128), ("tile", 1024)],
        &[("nseg", 3), ("len", 10_001)],
        [312 * 4 + 3 + 2 * (312 * 5 + 3) + 3, 3 * 2 + 3, 0],
    ),
    // A tile is as wide as the rows, so that it is one piece of memory: 64 rows of 17 are 34
    // requests of 32 elements, the last 6 rows 102 elements. In shared memory it is copied word by
    // word, and read at a stride of 17 words, which is odd: no conflict.
    tuned(
        "tuning/segmented_sum_odd_short",
        &[("rows", 64), ("width", 17)],
        &[("nseg", 70), ("len", 17)],
        [34 * 4 + 3 * 4 + 1, 8 + 1, 0],
    ),
    // Rows one behind the other, as they lie in memory: the same requests.
    tuned(
        "tuning/segmented_sum_whole_rows",
        &[("len", 17), ("rows", 64), ("pad", 0)],
        &[("nseg", 70), ("len", 17)],
        [34 * 4 + 3 * 4 + 1, 8 + 1, 0],
    ),
    // Eight lanes a row. Row 0: 4 requests of 32 elements from a sector on, 1 element behind. Row
    // 1, from element 129 on: 3 elements before; from the middle of a sector on 3 requests of 32
    // elements and one of 28; 2 elements behind.
    tuned(
        "tuning/segmented_sum_peeled_short",
        &[("rows", 2), ("width", 32)],
        &[("nseg", 2), ("len", 129)],
        [(4 * 4 + 1) + (3 + 3 * 5 + 4 + 2), 1, 0],
    ),
    // Whole vectors from the last multiple of four elements before row `s`, `s mod 4` elements
    // ahead of it; requests of 128 elements, 7 full ones and one of what is left. Elements of
    // vectors that are not whole are asked for one by one.
    //   row 0: 1000 elements from a sector on are 125 sectors; 1 element behind them. row 1: from
    //   element 4 on, in the middle of the first sector, up to 1000: 125. 3 elements before, 2
    //   behind. row 2: the same; 2 before, 3 behind. row 3: up to 1004, so that the last sector is
    //   another one: 126. 1 before, none behind. row 4: 1000 elements from the middle of a sector
    //   on: 7 * 17, and 104 elements touch 14. 1 behind.
    tuned(
        "tuning/segmented_sum_peeled_long",
        &[("step", 256), ("tile", 512)],
        ODD,
        [(125 + 1) + (125 + 3 + 2) + (125 + 2 + 3) + (126 + 1) + (7 * 17 + 14 + 1), 5, 0],
    ),
    // The same with 78 full requests and 16 elements. Row 0: 1 element behind. Row 1: 3 before and
    // 2 behind. Two chunks a row.
    tuned(
        "tuning/segmented_sum_peeled_chunks",
        &[("chunk", 8192), ("step", 512), ("tile", 1024)],
        &[("nseg", 2), ("len", 10_001)],
        [(78 * 16 + 2 + 1) + (78 * 16 + 2 + 3 + 2) + 2, 2 * 2 + 2, 0],
    ),
];

#[test]
fn segmented_sum() {
    check(SEGMENTED_SUM);
}

/// As sums, with two results: a value and an index each, of partial results too.
const ARGMAX: &[Case] = &[
    tuned(
        "tuning/argmax_short",
        &[("width", 32), ("rows", 16), ("block_rows", 32)],
        SHORT,
        [17 * 10 + 5, 2 * (17 + 1), 0],
    ),
    tuned("tuning/argmax_long", &[("step", 512), ("tile", 1024)], LONG, [3 * 325, 2 * 3, 0]),
    tuned(
        "tuning/argmax_chunks",
        &[("chunk", 8192), ("step", 512), ("tile", 1024)],
        &[("nseg", 2), ("len", 10_000)],
        [2 * 1250 + 2 * 2, 2 * (2 * 2 + 2), 0],
    ),
];

#[test]
fn argmax() {
    check(ARGMAX);
}

/// Segments of 0, 8, 16, 8, 0 and 40 points, all of which begin at sectors: 9 sectors.
const EVEN: &[i32] = &[0, 0, 8, 24, 32, 32, 72];
const SIX: Values = &[("nseg", 6), ("n", 72)];
/// Points 3 to 99.
const BESIDE: &[i32] = &[3, 100];
const BESIDE_SIZES: Values = &[("nseg", 1), ("n", 104)];
/// With its end, which counts for two, one run of 8192.
const WHOLE_RUN: &[i32] = &[0, 8190];
const RUN_SIZES: Values = &[("nseg", 1), ("n", 8190)];

/// Six segments in one run of one warp, which is the first of 4 in the one block.
///
/// Starts: each of 8 warps looks at the first offset, the last one, and in the last digit at all 7
/// (one sector); two of them have a run's border, for which they load an offset and store two
/// numbers. Tiles: each of 4 warps loads the borders of its run, 4 numbers; the one with points the
/// ends of its segments, which are a sector, and the points. Its only tile is not whole: 72 points,
/// one of every four a request, are 18 lanes in 9 sectors, four times. Five results are stored, the
/// first segment's is left to the block, which stores 3 numbers. Join: one lane loads these and
/// stores the first segment's result.
///
/// Points of a tile that is not whole go to shared memory one by one, every fourth word of 36, so
/// that 32 lanes find 8 banks: 4 passes. 16 points a lane, and the three warps without points do
/// the same with what changes nothing.
const SMALL: [u64; 3] = [8 * 3 + 2 + 4 * 4 + 1 + 4 * 9 + 3, 2 * 2 + 1 + 3 + 1, 4 * 16 * 3];

/// One segment in one run of 16 tiles of 512 points, 64 sectors each. The last tile lacks two
/// points, and its points are asked for one of every four a request, which touches all sectors four
/// times. Nothing is stored but what the block leaves, and the segment's result. Of shared memory,
/// the whole tiles take nothing.
const ONE_RUN: [u64; 3] = [8 * 3 + 2 + 4 * 4 + 1 + 15 * 64 + 4 * 64 + 3, 2 * 2 + 3 + 1, 4 * 16 * 3];

/// One segment in eight runs of 2048 steps and one of 512, the last two of which are its end.
const LAST_RUN: &[i32] = &[0, 16_894];
const LAST_RUN_SIZES: Values = &[("nseg", 1), ("n", 16_894)];

/// Starts: two blocks of 8 warps, as above; there are ten borders. Tiles: three blocks of 4 warps
/// load their borders. One of them has the segment's end. 32 whole tiles, and a last one that is
/// not whole, where three warps without points go through one as well. Each block leaves 3 numbers,
/// which one lane loads at the end and stores the result.
const NINE_RUNS: [u64; 3] =
    [16 * 3 + 10 + 12 * 4 + 1 + 32 * 64 + 4 * 64 + 3 * 3, 10 * 2 + 3 * 3 + 1, 4 * 16 * 3];

const TILES: Values = &[("threads", 128), ("items", 16), ("tiles", 16), ("runs", 0), ("rest", 0)];

const RAGGED_SUM: &[Case] = &[
    // Six lanes load where their segments begin and end; as in `thread_per_segment`, each point is
    // a sector.
    ragged("pipelines/ragged_sum/thread_per_segment", SIX, EVEN, [2 + 72, 1, 0]),
    // Each warp loads a beginning and an end, which is a sector each.
    ragged("pipelines/ragged_sum/warp_per_segment", SIX, EVEN, [6 * 2 + 9, 6, 0]),
    // Requests are of 32 neighbours from the segment's beginning on, three of which touch 5
    // sectors; the 97th point is one more.
    ragged("pipelines/ragged_sum/warp_per_segment", BESIDE_SIZES, BESIDE, [2 + 3 * 5 + 1, 1, 0]),
    // Each of 8 warps loads a beginning and an end.
    ragged("pipelines/ragged_sum/block_per_segment", SIX, EVEN, [6 * 8 * 2 + 9, 6, 0]),
    // Lanes keep to their places in a tile of 256, counted from point 0: nothing is asked for
    // twice.
    ragged("pipelines/ragged_sum/block_per_segment", BESIDE_SIZES, BESIDE, [8 * 2 + 13, 1, 0]),
    ragged("pipelines/ragged_sum/flattened", SIX, EVEN, SMALL),
    ragged("pipelines/ragged_sum/flattened", RUN_SIZES, WHOLE_RUN, ONE_RUN),
    ragged("pipelines/ragged_sum/flattened_short_runs_last", SIX, EVEN, SMALL),
    ragged("pipelines/ragged_sum/flattened_short_runs_last", LAST_RUN_SIZES, LAST_RUN, NINE_RUNS),
    Case { point: TILES, ..ragged("tuning/ragged_sum", SIX, EVEN, SMALL) },
    Case { point: TILES, ..ragged("tuning/ragged_sum_streaming", RUN_SIZES, WHOLE_RUN, ONE_RUN) },
];

#[test]
fn ragged_sum() {
    check(RAGGED_SUM);
}

/// Rows of 1000 are 125 sectors; three passes over each.
const ANY_LENGTH: Values = &[("m", 3), ("n", 1000)];
const ROW_1024: Values = &[("m", 2), ("n", 1024)];
const ROW_4096: Values = &[("m", 2), ("n", 4096)];
const ROW_16384: Values = &[("m", 1), ("n", 16_384)];

/// Rows of a fixed length are loaded once. A thread's vectors of 16 bytes lie side by side in
/// shared memory: no conflict. `layer_norm` loads a gain and a bias beside each row.
const ROW_BY_ROW: &[Case] = &[
    case("pipelines/softmax/any_length", ANY_LENGTH, [3 * 3 * 125, 3 * 125, 0]),
    case("pipelines/softmax/row_1024", ROW_1024, [2 * 128, 2 * 128, 0]),
    case("pipelines/softmax/row_4096", ROW_4096, [2 * 512, 2 * 512, 0]),
    case("pipelines/softmax/row_16384", ROW_16384, [2048, 2048, 0]),
    case("pipelines/layer_norm/any_length", ANY_LENGTH, [3 * (3 + 2) * 125, 3 * 125, 0]),
    case("pipelines/layer_norm/row_1024", ROW_1024, [2 * (1 + 2) * 128, 2 * 128, 0]),
    case("pipelines/layer_norm/row_4096", ROW_4096, [2 * (1 + 2) * 512, 2 * 512, 0]),
    case("pipelines/layer_norm/row_16384", ROW_16384, [(1 + 2) * 2048, 2048, 0]),
    // One pass over a row, and a result of each.
    case("pipelines/log_sum_exp/block_vec4", ANY_LENGTH, [3 * 125, 3, 0]),
];

#[test]
fn row_by_row() {
    check(ROW_BY_ROW);
}

const TRANSPOSE: &[Case] = &[
    // A warp has two rows of 16. Rows of 24 are 3 sectors. Down the columns, the two rows' elements
    // are neighbours, and each of 16 or 8 columns is a sector: 10 pairs of rows, 24 columns.
    case("pipelines/transpose/naive", &[("m", 20), ("n", 24)], [20 * 3, 10 * 24, 0]),
    // Rows of 72 are 9 sectors, and columns of 40 are 5. The tile's columns lie in one bank: 32
    // rows take 31 passes more, the 8 rows of the other tile 7, for each of 72 columns.
    case("pipelines/transpose/tiled", &[("m", 40), ("n", 72)], [40 * 9, 72 * 5, 72 * (31 + 7)]),
    case("pipelines/transpose/tiled_padded", &[("m", 40), ("n", 72)], [40 * 9, 72 * 5, 0]),
    // Rows of 136 are 17 sectors, columns of 72 are 9. The tile is written element by element, 16
    // lanes of a row 4 * 68 words apart, which is 16 modulo 32: they find two banks, so that 8
    // share one, 7 passes more. So it is for each of 4 elements, 36 pairs of rows and 2 tiles of
    // full width; the third has 2 lanes, in both banks. It is read by whole vectors side by side.
    case("pipelines/transpose/tiled_vec4", &[("m", 72), ("n", 136)], [72 * 17, 136 * 9, 4 * 36 * 2 * 7]),
];

#[test]
fn transpose() {
    check(TRANSPOSE);
}

const COLUMN_SUM: &[Case] = &[
    // Rows of 136 are 17 sectors, of 20 and 1100 rows.
    case("pipelines/column_sum/thread_per_column", &[("m", 20), ("n", 136)], [20 * 17, 17, 0]),
    // Two chunks of rows store a row of partial results each, which the join loads. Neighbouring
    // threads leave theirs side by side in shared memory.
    case("pipelines/column_sum/chunks", &[("m", 1100), ("n", 136)], [1100 * 17 + 2 * 17, 2 * 17 + 17, 0]),
    // The same with five chunks of 256 rows.
    tuned(
        "tuning/column_sum",
        &[("columns", 256), ("rows", 4), ("parts", 4), ("chunk", 256)],
        &[("m", 1100), ("n", 136)],
        [1100 * 17 + 5 * 17, 5 * 17 + 17, 0],
    ),
];

#[test]
fn column_sum() {
    check(COLUMN_SUM);
}

const AXPY: &[Case] = &[
    case("pipelines/axpy/block_128", &[("n", 1000)], [2 * 125, 125, 0]),
    case("pipelines/axpy/ilp_4", &[("n", 1001)], [2 * 126, 126, 0]),
    case("pipelines/axpy/vec_4", &[("n", 1000)], [2 * 125, 125, 0]),
];

const MATMUL: &[Case] = &[
    // Rows of a are 5 sectors, for two tiles of columns; rows of b and c are 3, b for two tiles of
    // rows. A warp reads two rows of a's tile, 16 words apart.
    case(
        "pipelines/matmul/tiled_16",
        &[("m", 20), ("n", 24), ("l", 40)],
        [20 * 5 * 2 + 40 * 3 * 2, 20 * 3, 0],
    ),
    // The same with rows of 5 and of 17 sectors. n is not known to be a multiple of 4, so that c is
    // stored by single elements: a request has every fourth element of a row, and each sector is
    // asked for four times. Both tiles are filled whole, by requests of two rows of 16: 16 of each
    // a warp, for 8 warps, 4 blocks and 2 steps. Those of a's tile are 132 words apart, 4 modulo
    // 32, so that two lanes share a bank; b's rows are 128 words apart, and two lanes share a bank.
    case(
        "pipelines/matmul/register_tile",
        &[("m", 130), ("n", 136), ("l", 40)],
        [130 * 5 * 2 + 40 * 17 * 2, 4 * 130 * 17, 2 * 16 * 8 * 4 * 2],
    ),
    // Tiles of 64 by 64 and steps of 8: rows of 3 sectors for two tiles, rows of 9. Of a's tile, 8
    // lanes of two rows are 4 banks apart. Those of b's tile are 64 words apart: a conflict for
    // each of 4 requests of 4 warps, 2 blocks, 3 steps.
    tuned(
        "tuning/matmul",
        &[("bm", 64), ("bn", 64), ("bk", 8), ("hm", 64), ("hn", 64)],
        &[("m", 64), ("n", 72), ("l", 24)],
        [64 * 3 * 2 + 24 * 9, 4 * 64 * 9, 4 * 4 * 2 * 3],
    ),
];

#[test]
fn axpy_and_matmul() {
    check(AXPY);
    check(MATMUL);
}

/// No pipeline of these kernels is left out, so that a new one has to say what it takes.
#[test]
fn every_pipeline_is_in_the_table() {
    let tables = [SEGMENTED_SUM, ARGMAX, RAGGED_SUM, ROW_BY_ROW, TRANSPOSE, COLUMN_SUM, AXPY, MATMUL];
    let listed: BTreeSet<&str> = tables.into_iter().flatten().map(|case| case.pipeline).collect();
    let folders = [
        "segmented_sum",
        "ragged_sum",
        "softmax",
        "layer_norm",
        "log_sum_exp",
        "transpose",
        "column_sum",
        "axpy",
        "matmul",
    ];
    let folders = folders.iter().map(|kernel| format!("pipelines/{kernel}")).chain(["tuning".to_owned()]);
    let mut found = 0;
    for folder in folders {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(&folder);
        for entry in fs::read_dir(path).expect("the folder is there") {
            let file = entry.expect("an entry").path();
            if file.extension().is_some_and(|e| e == "pipe") {
                let name = format!("{folder}/{}", file.file_stem().expect("a name").to_string_lossy());
                assert!(listed.contains(name.as_str()), "{name} is not in the table");
                found += 1;
            }
        }
    }
    assert_eq!(found, listed.len(), "the table has what is no pipeline");
}
