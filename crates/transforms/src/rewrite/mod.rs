//! The toolkit that steps are written with.
//!
//! A step first checks its requirements (`require`, `extent`, `footprint`, `chosen`), chooses names
//! (`fresh`), and then edits the kernel: its expressions (`expressions`), lists of inames
//! (`inames`, `own_inames`, `own_loop`), arrays (`arrays`), loop tree (`tree`), or all of these for
//! uses of a rule (`rules`, `rule_uses`, `read_values`), or for a buffer and the copy that fills it
//! (`copy`, `spread`, `ahead`, `onto`). The toolkit knows no step by name and does not judge
//! legality, which is decided by comparing the kernels before and after the step.

pub(crate) mod ahead;
mod arrays;
pub(crate) mod chosen;
mod copy;
pub(crate) mod decided;
mod expressions;
pub(crate) mod extent;
pub(crate) mod footprint;
mod fresh;
mod inames;
pub(crate) mod onto;
mod own_inames;
pub(crate) mod own_loop;
pub(crate) mod read_values;
mod require;
pub(crate) mod rule_uses;
pub(crate) mod rules;
pub(crate) mod spread;
pub(crate) mod tree;

pub(crate) use arrays::{axis_of, change_array, edit_global, rename_array};
pub(crate) use copy::{Site, add_instruction, add_parts, buffered, fetch_names, site};
pub(crate) use expressions::{
    element, map_accesses, map_expressions, map_reductions, move_accesses, replace_accesses, touches,
};
pub(crate) use extent::{LoopBound, loop_bounds, loop_bounds_over};
pub(crate) use fresh::{fresh, fresh_beside, fresh_in_both, require_fresh, split_names};
pub(crate) use inames::{is_declared, parts_with_inames, replace_in_lists};
pub(crate) use own_inames::give_own_inames;
pub(crate) use require::{
    check_commutes, check_consistent, require_array, require_iname, require_instructions,
    require_layout_of_its_own, require_no_table, require_parameter, require_temporary, require_untagged,
    unknown_instruction,
};
pub(crate) use tree::{body_of, path_to};
