//! The functions of isl's C interface that queries use. `loopwright-isl` builds and links the
//! library.
//!
//! The C interface is declared here instead of using the wrappers of `isl-rs`, because those are
//! `Send` although isl is not, free some objects twice and leak others, and report errors of
//! earlier calls as failures of later ones.

use std::ffi::{c_char, c_int, c_long, c_ulong};

/// An isl object that is only ever pointed to.
#[repr(C)]
pub(super) struct Opaque {
    _private: [u8; 0],
}

pub(super) type Ptr = *mut Opaque;

pub(super) const DIM_CONSTANT: c_int = 0;
pub(super) const DIM_PARAM: c_int = 1;
pub(super) const DIM_IN: c_int = 2;
pub(super) const DIM_OUT: c_int = 3;
pub(super) const DIM_DIV: c_int = 4;

pub(super) const ON_ERROR_CONTINUE: c_int = 1;
pub(super) const ERROR_NONE: c_int = 0;
pub(super) const ERROR_QUOTA: c_int = 6;

// Makes the linker take the library.
use loopwright_isl as _;

unsafe extern "C" {
    pub(super) fn isl_ctx_alloc() -> Ptr;
    pub(super) fn isl_ctx_free(ctx: Ptr);
    pub(super) fn isl_options_set_on_error(ctx: Ptr, value: c_int) -> c_int;
    pub(super) fn isl_ctx_set_max_operations(ctx: Ptr, operations: c_ulong);
    pub(super) fn isl_ctx_reset_operations(ctx: Ptr);
    pub(super) fn isl_ctx_last_error(ctx: Ptr) -> c_int;
    pub(super) fn isl_ctx_last_error_msg(ctx: Ptr) -> *const c_char;
    pub(super) fn isl_ctx_reset_error(ctx: Ptr);

    pub(super) fn isl_val_int_from_si(ctx: Ptr, value: c_long) -> Ptr;
    pub(super) fn isl_val_get_num_si(value: Ptr) -> c_long;
    pub(super) fn isl_val_is_int(value: Ptr) -> c_int;
    pub(super) fn isl_val_mul(left: Ptr, right: Ptr) -> Ptr;
    pub(super) fn isl_val_copy(value: Ptr) -> Ptr;
    pub(super) fn isl_val_free(value: Ptr) -> Ptr;

    pub(super) fn isl_mat_alloc(ctx: Ptr, rows: u32, columns: u32) -> Ptr;
    pub(super) fn isl_mat_rows(mat: Ptr) -> c_int;
    pub(super) fn isl_mat_cols(mat: Ptr) -> c_int;
    pub(super) fn isl_mat_get_element_val(mat: Ptr, row: c_int, column: c_int) -> Ptr;
    pub(super) fn isl_mat_set_element_si(mat: Ptr, row: c_int, column: c_int, value: c_int) -> Ptr;
    pub(super) fn isl_mat_set_element_val(mat: Ptr, row: c_int, column: c_int, value: Ptr) -> Ptr;
    pub(super) fn isl_mat_free(mat: Ptr) -> Ptr;

    pub(super) fn isl_space_alloc(ctx: Ptr, params: u32, ins: u32, outs: u32) -> Ptr;
    pub(super) fn isl_space_set_dim_name(space: Ptr, kind: c_int, at: u32, name: *const c_char) -> Ptr;

    pub(super) fn isl_basic_map_from_constraint_matrices(
        space: Ptr,
        equalities: Ptr,
        inequalities: Ptr,
        c1: c_int,
        c2: c_int,
        c3: c_int,
        c4: c_int,
        c5: c_int,
    ) -> Ptr;
    pub(super) fn isl_map_from_basic_map(map: Ptr) -> Ptr;
    pub(super) fn isl_map_empty(space: Ptr) -> Ptr;
    pub(super) fn isl_map_free(map: Ptr) -> Ptr;
    pub(super) fn isl_map_union(left: Ptr, right: Ptr) -> Ptr;
    pub(super) fn isl_map_intersect(left: Ptr, right: Ptr) -> Ptr;
    pub(super) fn isl_map_subtract(left: Ptr, right: Ptr) -> Ptr;
    pub(super) fn isl_map_apply_range(left: Ptr, right: Ptr) -> Ptr;
    pub(super) fn isl_map_compute_divs(map: Ptr) -> Ptr;
    pub(super) fn isl_map_coalesce(map: Ptr) -> Ptr;
    pub(super) fn isl_map_make_disjoint(map: Ptr) -> Ptr;
    pub(super) fn isl_map_lexmin(map: Ptr) -> Ptr;
    pub(super) fn isl_map_lexmax(map: Ptr) -> Ptr;
    pub(super) fn isl_map_is_empty(map: Ptr) -> c_int;
    pub(super) fn isl_map_is_subset(left: Ptr, right: Ptr) -> c_int;
    pub(super) fn isl_map_wrap(map: Ptr) -> Ptr;

    pub(super) fn isl_map_set_tuple_name(map: Ptr, kind: c_int, name: *const c_char) -> Ptr;
    pub(super) fn isl_space_set_tuple_name(space: Ptr, kind: c_int, name: *const c_char) -> Ptr;
    pub(super) fn isl_union_map_from_map(map: Ptr) -> Ptr;
    pub(super) fn isl_union_map_union(left: Ptr, right: Ptr) -> Ptr;
    pub(super) fn isl_union_map_extract_map(union: Ptr, space: Ptr) -> Ptr;
    pub(super) fn isl_union_map_free(union: Ptr) -> Ptr;
    pub(super) fn isl_union_access_info_from_sink(sink: Ptr) -> Ptr;
    pub(super) fn isl_union_access_info_set_must_source(info: Ptr, source: Ptr) -> Ptr;
    pub(super) fn isl_union_access_info_set_schedule_map(info: Ptr, schedule: Ptr) -> Ptr;
    pub(super) fn isl_union_access_info_compute_flow(info: Ptr) -> Ptr;
    pub(super) fn isl_map_range(map: Ptr) -> Ptr;
    pub(super) fn isl_map_subtract_domain(map: Ptr, set: Ptr) -> Ptr;
    pub(super) fn isl_union_flow_get_must_dependence(flow: Ptr) -> Ptr;
    pub(super) fn isl_union_flow_free(flow: Ptr) -> Ptr;

    pub(super) fn isl_set_get_basic_set_list(set: Ptr) -> Ptr;
    pub(super) fn isl_set_free(set: Ptr) -> Ptr;
    pub(super) fn isl_basic_set_list_n_basic_set(list: Ptr) -> c_int;
    pub(super) fn isl_basic_set_list_get_basic_set(list: Ptr, at: c_int) -> Ptr;
    pub(super) fn isl_basic_set_list_free(list: Ptr) -> Ptr;
    pub(super) fn isl_basic_set_free(set: Ptr) -> Ptr;
    pub(super) fn isl_basic_set_dim(set: Ptr, kind: c_int) -> c_int;
    pub(super) fn isl_basic_set_equalities_matrix(
        set: Ptr,
        c1: c_int,
        c2: c_int,
        c3: c_int,
        c4: c_int,
    ) -> Ptr;
    pub(super) fn isl_basic_set_inequalities_matrix(
        set: Ptr,
        c1: c_int,
        c2: c_int,
        c3: c_int,
        c4: c_int,
    ) -> Ptr;
    pub(super) fn isl_basic_set_get_local_space(set: Ptr) -> Ptr;
    pub(super) fn isl_local_space_get_div(space: Ptr, at: c_int) -> Ptr;
    pub(super) fn isl_local_space_free(space: Ptr) -> Ptr;
    pub(super) fn isl_aff_get_constant_val(aff: Ptr) -> Ptr;
    pub(super) fn isl_aff_get_coefficient_val(aff: Ptr, kind: c_int, at: c_int) -> Ptr;
    pub(super) fn isl_aff_get_denominator_val(aff: Ptr) -> Ptr;
    pub(super) fn isl_aff_dim(aff: Ptr, kind: c_int) -> c_int;
    pub(super) fn isl_aff_free(aff: Ptr) -> Ptr;
}
