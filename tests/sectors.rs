//! The memory traffic of the example pipelines, counted on the emulator: 32-byte sectors loaded and
//! stored in global memory, and passes over the banks of shared memory beyond the first. Every
//! number is derived from the shapes; where a pipeline takes more than its bytes require, the
//! derivation says why.
//!
//! A request of a warp counts each sector that it touches once; another request counts it again.
//! All arrays start at a multiple of 32 bytes, and eight elements make up a sector.

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

/// One line of the table: a pipeline at given sizes, and its traffic.
struct Case {
    /// Path below `examples`, without its extension.
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

/// Checks that the traffic of each case matches the table, and reports all mismatches together.
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

/// Rows of 1000 elements are 4000 bytes, 125 sectors, and start at sector boundaries; 1000 is not a
/// multiple of any tile. Each row's result is stored separately: one sector. Rows of 1001 start at
/// element `s mod 8` of a sector. The first, read by warps of 32 consecutive elements, takes 31
/// requests of 4 sectors, and 9 elements in 2. In the other four, 32 elements that start inside a
/// sector touch 5: 31 * 5, and 9 elements still touch 2.
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
    // 264 blocks for 300 rows, so 36 of them take a second row. A row of 80 bytes is read in one
    // request of 5 lanes; it starts at a sector boundary or in the middle of a sector, and touches
    // three either way.
    case("pipelines/segmented_sum/persistent", MANY, [300 * 3, 300, 0]),
    // More than one tile of 8192, the second one partial: 40 000 bytes per row.
    case("pipelines/segmented_sum/persistent", &[("nseg", 3), ("len", 10_000)], [3 * 1250, 3, 0]),
    // Two chunks per row, the second one short. Each block stores its partial result; the two of a
    // row are adjacent, and the join loads them in one request.
    case("pipelines/segmented_sum/grid_per_segment", CHUNKS, [2 * 2500 + 2, 2 * 2 + 2, 0]),
    // The two initial values share a sector; each of four blocks updates a result, which counts as
    // a store.
    case("pipelines/segmented_sum/grid_atomic", CHUNKS, [2 * 2500, 1 + 4, 0]),
    // Lanes are a row apart: each element is in a different sector, which is requested eight times.
    // 32 and 8 results are stored by one request each.
    case("pipelines/segmented_sum/thread_per_segment", &[("nseg", 40), ("len", 24)], [40 * 24, 4 + 1, 0]),
    // Rows of 80 bytes; every second one starts in the middle of a sector. A request covers eight
    // elements of each of four rows: 1 sector of the first and third row, 2 of the others; the
    // third request covers the remainder, 4 elements each. Four results are stored by one request.
    case("pipelines/segmented_sum/subwarp_8", &[("nseg", 40), ("len", 20)], [10 * (6 + 6 + 4), 10, 0]),
    // The same rows, eight per request: 64 bytes touch 2 or 3 sectors, the remaining 16 bytes 1
    // each. Eight warps have eight rows each, another one has 6. Eight results are one sector.
    case("pipelines/segmented_sum/rows_vec4", SHORT, [8 * (4 * (2 + 3) + 8) + (3 * (2 + 3) + 6), 8 + 1, 0]),
    // Rows of 256 bytes: nothing is requested twice.
    case("pipelines/segmented_sum/rows_vec4", &[("nseg", 256), ("len", 64)], [256 * 8, 256 / 8, 0]),
    // Which lines the cache keeps does not change the number of sectors.
    case(
        "pipelines/segmented_sum/rows_vec4_waves",
        SHORT,
        [8 * (4 * (2 + 3) + 8) + (3 * (2 + 3) + 6), 8 + 1, 0],
    ),
    case("pipelines/segmented_sum/rows_vec4_waves", &[("nseg", 256), ("len", 64)], [256 * 8, 256 / 8, 0]),
    // More lanes than a row needs, so four rows are one request of 320 bytes; the last two are 160.
    // Four results are stored by one request.
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
    // Cache hints do not change the requests.
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
    // 10001 = 312 * 32 + 17. The first row starts at a sector boundary: 17 elements are 3 sectors.
    // The others start 1 and 2 elements after one, where 17 elements are still 3. Two chunks per
    // row.
    tuned(
        "tuning/segmented_sum_odd_chunks",
        &[("chunk", 8192), ("threads", 128), ("tile", 1024)],
        &[("nseg", 3), ("len", 10_001)],
        [312 * 4 + 3 + 2 * (312 * 5 + 3) + 3, 3 * 2 + 3, 0],
    ),
    // A tile is as wide as the rows, so it is contiguous in memory: 64 rows of 17 are 34 requests
    // of 32 elements, the last 6 rows 102 elements. It is copied to shared memory word by word and
    // read at a stride of 17 words, which is odd: no conflict.
    tuned(
        "tuning/segmented_sum_odd_short",
        &[("rows", 64), ("width", 17)],
        &[("nseg", 70), ("len", 17)],
        [34 * 4 + 3 * 4 + 1, 8 + 1, 0],
    ),
    // Contiguous rows, as they are in memory: the same requests.
    tuned(
        "tuning/segmented_sum_staged_rows",
        &[("len", 17), ("rows", 64), ("pad", 0)],
        &[("nseg", 70), ("len", 17)],
        [34 * 4 + 3 * 4 + 1, 8 + 1, 0],
    ),
    // Eight lanes per row. Row 0: 4 requests of 32 elements from a sector boundary, 1 element in
    // the epilogue. Row 1, from element 129: 3 elements in the prologue; from the middle of a
    // sector, 3 requests of 32 elements and one of 28; 2 elements in the epilogue.
    tuned(
        "tuning/segmented_sum_misaligned_short",
        &[("rows", 2), ("width", 32)],
        &[("nseg", 2), ("len", 129)],
        [(4 * 4 + 1) + (3 + 3 * 5 + 4 + 2), 1, 0],
    ),
    // Whole vectors from the last multiple of four elements before row `s`, `s mod 4` elements
    // ahead of it; requests of 128 elements, 7 full ones and one for the remainder. Elements of
    // vectors that are not whole are requested one by one.
    //   Row 0: 1000 elements from a sector boundary are 125 sectors; 1 element in the epilogue.
    //   Row 1: from element 4, in the middle of the first sector, to 1000: 125 sectors; 3
    //   elements in the prologue, 2 in the epilogue. Row 2: the same; 2 in the prologue, 3 in the
    //   epilogue. Row 3: to 1004, so the last sector is another one: 126; 1 in the prologue, none
    //   in the epilogue. Row 4: 1000 elements from the middle of a sector: 7 * 17, and 104
    //   elements touch 14; 1 in the epilogue.
    tuned(
        "tuning/segmented_sum_misaligned_long",
        &[("step", 256), ("tile", 512)],
        ODD,
        [(125 + 1) + (125 + 3 + 2) + (125 + 2 + 3) + (126 + 1) + (7 * 17 + 14 + 1), 5, 0],
    ),
    // The same with 78 full requests and 16 elements. Row 0: 1 element in the epilogue. Row 1: 3 in
    // the prologue and 2 in the epilogue. Two chunks per row.
    tuned(
        "tuning/segmented_sum_misaligned_chunks",
        &[("chunk", 8192), ("step", 512), ("tile", 1024)],
        &[("nseg", 2), ("len", 10_001)],
        [(78 * 16 + 2 + 1) + (78 * 16 + 2 + 3 + 2) + 2, 2 * 2 + 2, 0],
    ),
];

#[test]
fn segmented_sum() {
    check(SEGMENTED_SUM);
}

/// As for sums, with two results: a value and an index each, also for partial results.
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

/// Segments of 0, 8, 16, 8, 0 and 40 points, all of which start at sector boundaries: 9 sectors.
const EVEN: &[i32] = &[0, 0, 8, 24, 32, 32, 72];
const SIX: Values = &[("nseg", 6), ("n", 72)];
/// Points 3 to 99.
const BESIDE: &[i32] = &[3, 100];
const BESIDE_SIZES: Values = &[("nseg", 1), ("n", 104)];
/// One run of 8192 steps, with its end, which counts as two.
const WHOLE_RUN: &[i32] = &[0, 8190];
const RUN_SIZES: Values = &[("nseg", 1), ("n", 8190)];

/// Six segments in one chunk of one warp, the first of 4 in the only block.
///
/// Starts: each of 8 warps reads the first offset, the last one, and for the last digit all 7 (one
/// sector); two of them have a run's border, for which they load an offset and store two numbers.
/// Tiles: each of 4 warps loads the borders of its run, 4 numbers; the warp with points also loads
/// the ends of its segments, which are one sector, and the points. Its only tile is partial: 72
/// points, every fourth in each request, are 18 lanes in 9 sectors, four times. Five results are
/// stored; the first segment's is left to the block, which stores 3 numbers. Join: one lane loads
/// these and stores the first segment's result.
///
/// Points of a partial tile go to shared memory one by one, every fourth word of 36, so 32 lanes
/// hit 8 banks: 4 passes. There are 16 points per lane, and the three warps without points do the
/// same with neutral values.
const SMALL: [u64; 3] = [8 * 3 + 2 + 4 * 4 + 1 + 4 * 9 + 3, 2 * 2 + 1 + 3 + 1, 4 * 16 * 3];

/// One segment in one chunk of 16 tiles of 512 points, 64 sectors each. The last tile lacks two
/// points; every fourth of its points is in each request, which touches all sectors four times.
/// Nothing is stored but the block's partial result and the segment's result. Whole tiles cause no
/// bank conflicts.
const ONE_RUN: [u64; 3] = [8 * 3 + 2 + 4 * 4 + 1 + 15 * 64 + 4 * 64 + 3, 2 * 2 + 3 + 1, 4 * 16 * 3];

/// One segment in eight chunks of 2048 steps and one of 512; its end is the last two steps.
const LAST_RUN: &[i32] = &[0, 16_894];
const LAST_RUN_SIZES: Values = &[("nseg", 1), ("n", 16_894)];

/// Starts: two blocks of 8 warps, as above; there are ten borders. Tiles: three blocks of 4 warps
/// load their borders. One of them has the segment's end. 32 whole tiles and a partial last one, in
/// which three warps without points process a tile as well. Each block leaves 3 numbers, which one
/// lane loads at the end to store the result.
const NINE_RUNS: [u64; 3] =
    [16 * 3 + 10 + 12 * 4 + 1 + 32 * 64 + 4 * 64 + 3 * 3, 10 * 2 + 3 * 3 + 1, 4 * 16 * 3];

const TILES: Values =
    &[("threads", 128), ("items", 16), ("tiles", 16), ("full_chunks", 0), ("tail_tiles", 0)];

const RAGGED_SUM: &[Case] = &[
    // Six lanes load the bounds of their segments; as in `thread_per_segment`, each point is a
    // sector.
    ragged("pipelines/ragged_sum/thread_per_segment", SIX, EVEN, [2 + 72, 1, 0]),
    // Each warp loads a begin and an end, one sector each.
    ragged("pipelines/ragged_sum/warp_per_segment", SIX, EVEN, [6 * 2 + 9, 6, 0]),
    // Requests are of 32 consecutive points from the segment's begin, of which three touch 5
    // sectors; the 97th point is one more.
    ragged("pipelines/ragged_sum/warp_per_segment", BESIDE_SIZES, BESIDE, [2 + 3 * 5 + 1, 1, 0]),
    // Each of 8 warps loads a begin and an end.
    ragged("pipelines/ragged_sum/block_per_segment", SIX, EVEN, [6 * 8 * 2 + 9, 6, 0]),
    // Lanes keep their positions in a tile of 256, counted from point 0: nothing is requested
    // twice.
    ragged("pipelines/ragged_sum/block_per_segment", BESIDE_SIZES, BESIDE, [8 * 2 + 13, 1, 0]),
    ragged("pipelines/ragged_sum/flattened", SIX, EVEN, SMALL),
    ragged("pipelines/ragged_sum/flattened", RUN_SIZES, WHOLE_RUN, ONE_RUN),
    ragged("pipelines/ragged_sum/flattened_guided", SIX, EVEN, SMALL),
    ragged("pipelines/ragged_sum/flattened_guided", LAST_RUN_SIZES, LAST_RUN, NINE_RUNS),
    Case { point: TILES, ..ragged("tuning/ragged_sum", SIX, EVEN, SMALL) },
    Case { point: TILES, ..ragged("tuning/ragged_sum_streaming", RUN_SIZES, WHOLE_RUN, ONE_RUN) },
];

#[test]
fn ragged_sum() {
    check(RAGGED_SUM);
}

/// Rows of 1000 are 125 sectors, with three passes over each.
const ANY_LENGTH: Values = &[("m", 3), ("n", 1000)];
const ROW_1024: Values = &[("m", 2), ("n", 1024)];
const ROW_4096: Values = &[("m", 2), ("n", 4096)];
const ROW_16384: Values = &[("m", 1), ("n", 16_384)];

/// Rows of a fixed length are loaded once. A thread's vectors of 16 bytes are contiguous in shared
/// memory: no conflict. `layer_norm` also loads a gain and a bias for each row.
const ROW_BY_ROW: &[Case] = &[
    case("pipelines/softmax/any_length", ANY_LENGTH, [3 * 3 * 125, 3 * 125, 0]),
    case("pipelines/softmax/row_1024", ROW_1024, [2 * 128, 2 * 128, 0]),
    case("pipelines/softmax/row_4096", ROW_4096, [2 * 512, 2 * 512, 0]),
    case("pipelines/softmax/row_16384", ROW_16384, [2048, 2048, 0]),
    case("pipelines/layer_norm/any_length", ANY_LENGTH, [3 * (3 + 2) * 125, 3 * 125, 0]),
    case("pipelines/layer_norm/row_1024", ROW_1024, [2 * (1 + 2) * 128, 2 * 128, 0]),
    case("pipelines/layer_norm/row_4096", ROW_4096, [2 * (1 + 2) * 512, 2 * 512, 0]),
    case("pipelines/layer_norm/row_16384", ROW_16384, [(1 + 2) * 2048, 2048, 0]),
    // One pass over a row, and one result each.
    case("pipelines/log_sum_exp/block_vec4", ANY_LENGTH, [3 * 125, 3, 0]),
];

#[test]
fn row_by_row() {
    check(ROW_BY_ROW);
}

const TRANSPOSE: &[Case] = &[
    // A warp has two rows of 16. Rows of 24 are 3 sectors. Down the columns, the two rows' elements
    // are adjacent, and each of 16 or 8 columns is a sector: 10 pairs of rows, 24 columns.
    case("pipelines/transpose/naive", &[("m", 20), ("n", 24)], [20 * 3, 10 * 24, 0]),
    // Rows of 72 are 9 sectors, and columns of 40 are 5. Each column of the tile is in one bank: 32
    // rows take 31 extra passes, the 8 rows of the other tile 7, for each of 72 columns.
    case("pipelines/transpose/tiled", &[("m", 40), ("n", 72)], [40 * 9, 72 * 5, 72 * (31 + 7)]),
    case("pipelines/transpose/tiled_padded", &[("m", 40), ("n", 72)], [40 * 9, 72 * 5, 0]),
    // Rows of 136 are 17 sectors, columns of 72 are 9. The tile is written element by element, with
    // the 16 lanes of a row 4 * 68 words apart, which is 16 modulo 32: they hit two banks, so 8
    // lanes share one, 7 extra passes. This holds for each of 4 elements, 36 pairs of rows and 2
    // tiles of full width; the third has 2 lanes, one in each bank. It is read by contiguous whole
    // vectors.
    case("pipelines/transpose/tiled_vec4", &[("m", 72), ("n", 136)], [72 * 17, 136 * 9, 4 * 36 * 2 * 7]),
];

#[test]
fn transpose() {
    check(TRANSPOSE);
}

const COLUMN_SUM: &[Case] = &[
    // Rows of 136 are 17 sectors, of 20 and 1100 rows.
    case("pipelines/column_sum/thread_per_column", &[("m", 20), ("n", 136)], [20 * 17, 17, 0]),
    // Two chunks of rows each store a row of partial results, which the join loads. Adjacent
    // threads store theirs contiguously in shared memory.
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
    // The same with rows of 5 and of 17 sectors. n is not known to be a multiple of 4, so c is
    // stored by single elements: a request covers every fourth element of a row, and each sector is
    // requested four times. Both tiles are filled entirely, by requests of two rows of 16: 16 of
    // each per warp, for 8 warps, 4 blocks and 2 steps. Those of a's tile are 132 words apart, 4
    // modulo 32, so two lanes share a bank; b's rows are 128 words apart, and two lanes share a
    // bank.
    case(
        "pipelines/matmul/register_tile",
        &[("m", 130), ("n", 136), ("l", 40)],
        [130 * 5 * 2 + 40 * 17 * 2, 4 * 130 * 17, 2 * 16 * 8 * 4 * 2],
    ),
    // The same sectors. Tiles of 16 steps of k are half as long: 8 requests of each warp for each
    // of both tiles, in 3 steps, with the same conflicts; copies of zeros are part of the request.
    case(
        "pipelines/matmul/register_tile_async",
        &[("m", 130), ("n", 136), ("l", 40)],
        [130 * 5 * 2 + 40 * 17 * 2, 4 * 130 * 17, 2 * 8 * 8 * 4 * 3],
    ),
    // Tiles of 64 by 64 and steps of 8: rows of 3 sectors for two tiles, rows of 9. In a's tile,
    // the 8 lanes of two rows are 4 banks apart. Those in b's tile are 64 words apart: a conflict
    // for each of 4 requests of 4 warps, 2 blocks, 3 steps.
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

/// Every pipeline of these kernels must be in the table, including new ones.
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
