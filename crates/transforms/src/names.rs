//! Suggestions for misspelt names and for names from other tools.

pub use loopwright_kernel_ir::nearest;

/// Begins what is said of a foreign step for which there is none here.
pub(crate) const NO_STEP: &str = "nothing: ";

/// Tags in other tools, and their names here.
const FOREIGN_TAGS: &[(&str, &str)] = &[
    ("blockIdx.x", "`block.x`"),
    ("blockIdx.y", "`block.y`"),
    ("blockIdx.z", "`block.z`"),
    ("threadIdx.x", "`thread.x`"),
    ("threadIdx.y", "`thread.y`"),
    ("threadIdx.z", "`thread.z`"),
    ("grid.x", "`block.x`"),
    ("grid.y", "`block.y`"),
    ("grid.z", "`block.z`"),
    ("forceseq", "`seq`"),
    ("ord", "`seq`"),
    ("sequential", "`seq`"),
    ("unrolled", "`unroll`"),
    ("vectorize", "`vec`"),
    ("l.auto", "`thread.x`, `thread.y` or `thread.z`: axes are chosen by hand"),
    ("ilp.seq", "`ilp`"),
    ("like_unr", "`unroll`"),
];

/// What a tag of another tool is here, in words.
pub fn foreign_tag(text: &str) -> Option<&'static str> {
    FOREIGN_TAGS.iter().find(|(theirs, _)| *theirs == text).map(|(_, ours)| *ours)
}

/// Options of steps in loopy, with what they are here.
const FOREIGN_OPTIONS: &[(&str, &str)] = &[
    ("outer_iname", "it is `outer=...` here"),
    ("inner_iname", "it is `inner=...` here"),
    ("outer_tag", "tags are a step of their own: `tag_inames(i_outer: block.x)`"),
    ("inner_tag", "tags are a step of their own: `tag_inames(i_inner: thread.x)`"),
    ("default_tag", "tags are a step of their own: `tag_inames(NEW_INAME: thread.x)`"),
    ("slabs", "first and last iterations are a step of their own: `peel(i_outer, first=1, last=1)`"),
];

/// What an option of loopy's is here.
pub(crate) fn option(key: &str) -> Option<&'static str> {
    FOREIGN_OPTIONS.iter().find(|(theirs, _)| *theirs == key).map(|(_, ours)| *ours)
}

/// Names of steps in loopy and other tools, with their names here.
pub const FOREIGN_STEPS: &[(&str, &str)] = &[
    ("add_padding", "pad_array_axis"),
    ("affine_map_inames", "map_domain"),
    ("block", "split_iname"),
    ("bind", "tag_inames"),
    ("cache_read", "add_prefetch"),
    ("cache_write", "buffer_array"),
    ("compute_at", "precompute"),
    ("concatenate", "concatenate_arrays"),
    ("collect_common_factors_on_increment", "collect_common_factors"),
    ("common_subexpressions", "assign_common_subexpressions"),
    ("fold_constants", "simplify"),
    ("simplify_using_aff", "simplify"),
    ("pack", "pack_array"),
    ("duplicate_iname", "duplicate_inames"),
    ("fission", "distribute"),
    ("fix_parameter", "fix_parameters"),
    ("fuse", "fuse_loops for consecutive loops, join_inames for nested loops"),
    ("interchange", "reorder"),
    ("join_iname", "join_inames"),
    ("loop_fusion", "fuse_loops"),
    ("get_kennedy_unweighted_fusion_candidates", "fuse_maximal"),
    ("pad_array", "pad_array_axis"),
    ("transform_layout", "map_array"),
    ("split_array_dim", "map_array, as [x] -> [x // 4, x % 4]"),
    ("reshape", "map_array"),
    ("parallel", "tag_inames"),
    ("prefetch", "add_prefetch"),
    ("pipeline_loop", "double_buffer"),
    ("prioritize_loops", "reorder"),
    ("privatize_array", "privatize_temporary for axes, set_address_space(name, private) for the memory"),
    ("privatize_temporaries_with_inames", "privatize_temporary"),
    ("cumsum", "realize_scan, of a sum over `0 <= j <= i`"),
    ("force_scan", "realize_scan"),
    (
        "realize_reduction",
        "realize_scan for scans, otherwise nothing: lowering realises reductions by the tags of \
         their inames",
    ),
    ("rename_inames", "rename_iname"),
    ("set_array_axes", "tag_array_axes"),
    ("set_loop_priority", "reorder"),
    ("set_scope", "set_address_space"),
    ("set_temporary_address_space", "set_address_space"),
    ("set_temporary_scope", "set_address_space"),
    ("shift", "map_domain"),
    ("skew", "map_domain"),
    ("slabs", "peel, on the outer iname of a split"),
    ("split", "split_iname"),
    ("split_dimension", "split_iname"),
    ("split_inames", "split_iname"),
    ("split_reduction", "split_reduction_inward or split_reduction_outward"),
    ("tag_array_dims", "tag_array_axes"),
    ("tag_data_axes", "tag_array_axes"),
    ("tag_dimensions", "tag_inames"),
    ("tag_iname", "tag_inames"),
    ("save_and_reload_temporaries", "save_reload"),
    ("scan", "realize_scan"),
    ("scalar_expansion", "privatize_temporary"),
    ("unprivatize_temporaries_with_inames", "unprivatize_temporary"),
    ("unroll_iname", "unroll"),
    ("unroll_inames", "unroll"),
    ("untag_iname", "untag_inames"),
    ("add_barrier", "begin_launch for a global one; others are placed where dependences need them"),
    ("add_dependency", "move_statement, or the order of the text"),
    ("expand_subst", "nothing: rules are replaced when the text is read"),
    ("find_padding_multiple", "pad_array_axis, with multiple=32"),
    ("fuse_kernels", "nothing: a text can call several kernels, and `LoopKernel::fuse` joins two"),
    ("get_mem_access_map", "nothing: `loopwright count` counts accesses"),
    ("get_op_map", "nothing: `loopwright count` counts operations"),
    ("inline_callable_kernel", "nothing: the lines of a called kernel stand in place of the call"),
    ("make_copy_kernel", "nothing: `loopwright make copy` prints a kernel that copies"),
    ("reduction_arg_to_subst_rule", "extract_subst, with what the reduction combines"),
    ("register_callable", "nothing: a text declares `function`s, in CUDA C"),
    ("register_callable_kernel", "nothing: a text may have other kernels, and calls them by name"),
    ("remove_unused_inames", "nothing: an iname that no instruction uses has no loop"),
    ("rename_inames_in_batch", "fuse_loops, or fuse_maximal"),
    ("split_array_axis", "map_array, as [x] -> [x // 4, x % 4]"),
    ("to_batched", "nothing: `LoopKernel::batched` makes a kernel for many problems"),
    ("vectorize", "tag_inames(i: vec)"),
];

/// The name here of a step that other tools know under this name.
pub fn ours(foreign: &str) -> Option<&'static str> {
    FOREIGN_STEPS.iter().find(|(f, _)| *f == foreign).map(|(_, ours)| *ours)
}

/// Names in a sentence, each between backticks: `a`, `b` and `c`; `none` if there are none.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|n| format!("`{n}`")).collect();
    match names.split_last() {
        None => "none".to_string(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// Numbers between commas: `1, 2, 3`.
pub(crate) fn numbers(values: impl IntoIterator<Item = i64>) -> String {
    values.into_iter().map(|v| v.to_string()).collect::<Vec<_>>().join(", ")
}

/// Names between commas, without backticks: `a, b, c`.
pub(crate) fn comma(names: &[loopwright_kernel_ir::Name]) -> String {
    names.iter().map(loopwright_kernel_ir::Name::as_str).collect::<Vec<_>>().join(", ")
}
