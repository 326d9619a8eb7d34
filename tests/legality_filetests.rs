//! Refusals of legality, each with its witness, and similar legal cases that it accepts: one file
//! each.

use std::path::PathBuf;

use loopwright_filetest::Filetest;
use loopwright_testing::filetest;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/filetests/legality").join(name)
}

/// Cases that must be refused.
const REFUSED: [&str; 25] = [
    "recurrence_on_threads",
    "recurrence_on_blocks",
    "interchange_across_one_minus_one",
    "fusion_with_a_backward_dependence",
    "distribution_across_a_carried_dependence",
    "prefetch_across_a_write_of_its_source",
    "missing_halo",
    "one_slot_where_two_are_needed",
    "buffer_that_loses_an_update",
    "buffer_that_stores_back_a_stale_cell",
    "privatised_temporary_that_carries_a_value",
    "private_value_read_by_another_thread",
    "missing_kernel_boundary",
    "time_stepped_stencil_over_blocks",
    "parallel_write_of_one_cell",
    "transpose_in_place",
    "reversal_in_place",
    "reversal_of_overlapping_digits",
    "barrier_where_trip_counts_differ",
    "vector_load_that_is_not_aligned",
    "vector_store_in_rows_of_any_length",
    "other_constants_in_either_order",
    "aliases_of_two_constants",
    "another_value_in_each_round",
    "one_constant_by_several_threads",
];

/// Cases that must be accepted.
const ACCEPTED: [&str; 19] = [
    "skewed_wavefront_on_threads",
    "buffer_of_cells_a_step_apart",
    "redundant_precompute",
    "two_slot_pipeline",
    "value_passed_within_a_thread",
    "host_loop_of_a_stencil",
    "fusion_of_loops_in_step",
    "interchange_across_one_one",
    "barrier_where_trip_counts_are_affine",
    "vector_lanes_that_are_aligned",
    "vector_of_two_accesses",
    "vector_store_in_rows_of_whole_vectors",
    "vector_store_of_single_loads",
    "equal_constants_in_either_order",
    "aliases_of_one_constant",
    "one_value_written_again_and_again",
    "fusion_of_loops_that_were_distributed",
    "fusion_of_reversed_loops_that_were_distributed",
    "reversal_of_digits",
];

fn is_there(files: &[Filetest], name: &str) -> bool {
    files.iter().any(|f| f.name == format!("{name}.test"))
}

#[test]
fn refused_with_a_witness() {
    let files = filetest::check(&folder("refused"));
    for name in REFUSED {
        assert!(is_there(&files, name), "{name}.test is missing");
    }
    for file in files {
        assert!(file.expected.starts_with("==== refused\n"), "{} is not refused", file.name);
        let first = file.expected.split("==== lowering").next().unwrap_or_default();
        assert!(first.contains("\n  witness: "), "{} has no witness", file.name);
        assert!(first.contains("\n  help: "), "{} says nothing that would repair it", file.name);
    }
}

#[test]
fn legal_neighbours_are_accepted() {
    let files = filetest::check(&folder("accepted"));
    for name in ACCEPTED {
        assert!(is_there(&files, name), "{name}.test is missing");
    }
    for file in files {
        assert!(file.expected.starts_with("==== cuda\n"), "{} is not accepted", file.name);
    }
}
