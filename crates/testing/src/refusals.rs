//! How lowering may refuse a kernel whose steps are proved. Random pipelines of all kinds ask this
//! one list; none of them meets a refusal by the final check, which would be a defect.

/// The valid refusals of a kernel with legal steps by lowering: lengths that are not constant,
/// ranges that no loop has, memory that ends with a kernel, flattened nests that a later step
/// breaks, asynchronous copies of tiles that a later step moves elsewhere, scans that blocks cannot
/// pass on, misaligned vectors, synchronisation that has no place, boxes of an atom that later
/// steps cut or spread, factors of its product that are scalars since, results that a warp cannot
/// store as matrices, updates whose scope several blocks leave. Anything else, including
/// failures of the final check, is an error of the library, not the kernel.
pub const LATE: [&str; 29] = [
    "async-copy",
    "atom-guard",
    "atom-lanes",
    "atom-length",
    "atom-loop",
    "atom-operand",
    "atom-product",
    "atom-shape",
    "atomic-target",
    "blocks-depend",
    "ends-with-kernel",
    "foreign-value",
    "grid-reduction",
    "lane-length",
    "launch-in-reduction",
    "look-back",
    "matrix-store",
    "no-bound",
    "no-least-value",
    "not-constant-length",
    "not-constant-shape",
    "not-ragged",
    "race",
    "scan-iname",
    "scan-order",
    "too-many-threads",
    "unaligned",
    "update-scope",
    "warp-without-lanes",
];
