//! Products on tensor cores in the forms in which they are asked for: the filetests of the folder
//! `cuda` whose names begin with `product`, `contraction` or `convolution`, run in each mode of
//! asynchronous copies, on whole tiles, partial ones and none, and as printed texts.
//!
//! That NVRTC accepts the texts is tested with those of all filetests.

use std::{collections::BTreeMap, path::PathBuf, sync::OnceLock};

use loopwright_emulator::{Asynchrony, Options, run};
use loopwright_kernel_ir::{Buffer, Name};
use loopwright_lowering::{
    program::Program,
    verify::{Finding, verify_kernel},
};
use loopwright_testing::{
    check,
    filetest::{self, Accepted, Outcome},
};
use loopwright_text_check::Checker;
use rayon::prelude::*;

use crate::cases;

/// A kernel and a pipeline.
struct Form {
    name: String,
    kernel: String,
    pipeline: String,
    /// Its outcome, once it is asked for: to prove a form takes longer than to run it.
    accepted: OnceLock<Box<Accepted>>,
}

impl Form {
    fn accepted(&self) -> &Accepted {
        self.accepted.get_or_init(|| accepted(self, ""))
    }
}

/// All forms, which the tests share.
fn forms() -> &'static [Form] {
    static FORMS: OnceLock<Vec<Form>> = OnceLock::new();
    FORMS.get_or_init(read_forms)
}

fn read_forms() -> Vec<Form> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/filetests/cuda");
    let found: Vec<Form> = filetest::read(&folder)
        .into_iter()
        .filter(|file| {
            ["product_", "contraction_", "convolution_"].iter().any(|of| file.name.starts_with(of))
        })
        .map(|file| Form {
            name: file.name.trim_end_matches(".test").into(),
            pipeline: file.input("pipeline").into(),
            kernel: file.text,
            accepted: OnceLock::new(),
        })
        .collect();
    assert!(found.len() >= 30, "only {} forms", found.len());
    found
}

fn accepted(form: &Form, more: &str) -> Box<Accepted> {
    match filetest::outcome(&form.kernel, &format!("{}{more}", form.pipeline)) {
        Outcome::Accepted(accepted) => accepted,
        Outcome::Refused(why) => panic!("{}: {why}", form.name),
    }
}

type Sizes = BTreeMap<Name, i64>;

/// Sizes of a form: partial tiles with several steps along `k`, a single element, none.
fn sizes(form: &Form) -> Vec<Sizes> {
    let of = |values: &[(&str, i64)]| -> Sizes {
        values.iter().map(|(name, value)| (Name::new(*name), *value)).collect()
    };
    let more: &[(&str, i64)] = match form.name.as_str() {
        "product_strided_scaled" => &[("lda", 168), ("ldb", 176), ("ldc", 57)],
        "product_batched_epilogue" => &[("q", 2)],
        "contraction_bf16" => &[("q", 2), ("t", 2)],
        "convolution_3x3" => &[("q", 1), ("h", 1)],
        _ => &[],
    };
    // So few that the plain interpreter is done in time.
    let sizes = [(40, 8, 136), (8, 8, 8), (32, 32, 32), (24, 8, 0)];
    let sizes = sizes.map(|(m, n, l)| match form.name.as_str() {
        // Rows of bytes.
        "product_s8" | "product_e4m3" | "product_own_atom" => (m, n, l / 16 * 16),
        "product_batched_epilogue" => (m, n, l / 2 / 8 * 8),
        "contraction_bf16" | "convolution_3x3" => (m, n / 2, (l / 4 + 4) / 8 * 8),
        // One whole tile, and whole steps: five for four stages.
        "product_fragments_ahead" | "product_partitioned" => (32, 32, (l + 31) / 32 * 32),
        // Whole rounds of a ring.
        "product_slots_in_a_loop" => (32, 32, (l + 95) / 96 * 96),
        // Whole tiles.
        name if name.starts_with("product_stored") => (32, 32, l),
        "product_copies_between_steps" => (32, 16, (2 * l + 63) / 64 * 64),
        _ => (m, n, l),
    });
    let rows = if form.name == "convolution_3x3" { "w" } else { "m" };
    sizes.map(|(m, n, l)| of(&[&[(rows, m), ("n", n), ("l", l)], more].concat())).into()
}

fn runs(form: &Form, accepted: &Accepted) {
    let mut asked = 0;
    for sizes in sizes(form) {
        let compared = check::is_compared(&accepted.declared, &sizes);
        assert_eq!(compared, Ok(true), "{}, {sizes:?}", form.name);
        let holds = |c: &loopwright_kernel_ir::Constraint| c.holds(&|name| sizes.get(name).copied());
        assert!(accepted.program.assumptions.iter().all(|c| holds(c) == Some(true)), "{}", form.name);
        for mode in Asynchrony::ALL {
            check::run_in(mode, &accepted.declared, &accepted.program, &sizes)
                .unwrap_or_else(|f| panic!("{}, {mode:?}: {}: {}", form.name, f.kind, f.text));
        }
        asked += 1;
    }
    assert!(asked >= 3);
}

#[test]
fn each_form_computes_what_is_declared() {
    forms().par_iter().for_each(|form| {
        let accepted = form.accepted();
        assert!(accepted.program.to_text().contains("mma "), "{} is by an atom", form.name);
        runs(form, accepted);
    });
}

#[test]
fn parts_of_a_split_sum_are_joined_by_atomic_updates() {
    let forms = forms();
    let form = forms.iter().find(|f| f.name == "product_split_k").expect("it is a form");
    let accepted = accepted(form, "reduce_atomically(product)\n");
    assert!(accepted.cuda.contains("atomicAdd("), "{}", accepted.cuda);
    runs(form, &accepted);
}

#[test]
fn printed_texts_compute_what_is_declared() {
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    // From the last one on, not to wait for what the test above is just proving.
    forms().par_iter().rev().for_each(|form| {
        let accepted = form.accepted();
        let sizes = &sizes(form)[0];
        check::run_text(&checker, &accepted.declared, &accepted.program, sizes)
            .unwrap_or_else(|f| panic!("{}: {}: {}", form.name, f.kind, f.text));
    });
}

/// The right factor's row and column exchanged: the transposed load is needed where it is printed.
#[test]
fn matrices_are_transposed_where_factors_lie_so() {
    let transposed: Vec<(String, [bool; 2])> = forms()
        .iter()
        .filter(|f| ["product_nn", "product_tn", "product_tt"].contains(&f.name.as_str()))
        .map(|form| {
            let cuda = &form.accepted().cuda;
            let of = |factor: &str| {
                let loads = cuda.lines().zip(cuda.lines().skip(1));
                let call = |(a, b): (&str, &str)| format!("{a}{b}").contains(&format!("&{factor}_tile"));
                let mut own = loads.filter(|(a, b)| a.contains("    load_matrices_") && call((a, b)));
                own.next().is_some_and(|(a, _)| a.contains("_transposed("))
            };
            (form.name.clone(), [of("a"), of("b")])
        })
        .collect();
    let expected =
        [("product_nn", [false, true]), ("product_tn", [true, true]), ("product_tt", [true, false])];
    assert_eq!(transposed, expected.map(|(name, of)| (name.to_string(), of)));
}

/// A form, its program's text before and after one change, and a part of the refusal. A run shows
/// each of them, too.
const SPOILT: [(&str, &str, &str, &str); 22] = [
    // Rows of matrices that are loaded: other ones, other columns of them, fewer, the other axis.
    ("product_nn", "i_mma.1 * 16 + lane rem 16, k_mma", "i_mma.1 * 16 + lane rem 8, k_mma", "as `a`"),
    ("product_nn", "k_mma * 16 + lane quo 16 * 8]", "k_mma * 16 + lane quo 8 rem 2 * 8]", "as `a`"),
    ("product_nn", "matrices 4 a_frag", "matrices 2 a_frag", "element 4 of the fragment `a` is not loaded"),
    ("product_nn", "matrices 4 transposed b_frag", "matrices 4 b_frag", "as `b`"),
    ("product_tn", "matrices 4 transposed a_frag", "matrices 4 a_frag", "as `a`"),
    // Another slot of the ring.
    (
        "product_tt",
        "matrices 4 b_frag[j_mma.1, 0] = b_tile[k_outer rem 2,",
        "matrices 4 b_frag[j_mma.1, 0] = b_tile[(k_outer + 1) rem 2,",
        "",
    ),
    (
        "product_slots_in_a_loop",
        "= a_tile[k_outer_inner rem 3,",
        "= a_tile[(k_outer_inner + 1) rem 3,",
        "as `a`",
    ),
    // Two fragments of the right factor are loaded at once: the second is another one, or the same
    // as the first; only one of each two is loaded; two are loaded for each.
    ("product_nn", "j_mma.1 * 8 + lane quo 16 * 8", "j_mma.1 * 8", "as `b`"),
    ("product_tt", "j_mma.1 * 8 + lane quo 16 * 8", "j_mma.1 * 8 + lane quo 8 rem 2 * 8", "as `b`"),
    ("product_nn", "matrices 4 transposed b_frag", "matrices 2 transposed b_frag", "is not loaded"),
    (
        "product_nn",
        "for j_mma.1: i32 = 0 to 2 step 2",
        "for j_mma.1: i32 = 0 to 2",
        "no element of a fragment",
    ),
    // What is loaded into a register of another element, and stored to the slot that is in use.
    ("product_staged", "store a_stage[a_f0_outer_load] =", "store a_stage[0] =", ""),
    ("product_staged", "store b_tile[(k_outer + 1) rem 2,", "store b_tile[k_outer rem 2,", ""),
    // Fragments that are loaded ahead: into the slot that is in use, of another slot of the ring;
    // the product takes the same ones in each step; other rows, and fewer.
    (
        "product_fragments_ahead",
        "matrices 4 a_frag[(k_mma + 1) rem 2, i_mma.2, 0]",
        "matrices 4 a_frag[k_mma rem 2, i_mma.2, 0]",
        "the fragment `a` is not what is loaded",
    ),
    (
        "product_fragments_ahead",
        "matrices 4 b_frag[0, j_mma.5, 0] = b_tile[(k_outer + 1) rem 4,",
        "matrices 4 b_frag[0, j_mma.5, 0] = b_tile[k_outer rem 4,",
        "",
    ),
    (
        "product_fragments_ahead",
        "+= a_frag[k_mma rem 2, i_mma.3, 0]",
        "+= a_frag[0, i_mma.3, 0]",
        "the fragment `a` is not the one that the contract reads",
    ),
    ("product_fragments_ahead", "i_mma.1 * 16 + lane rem 16,", "i_mma.1 * 16 + lane rem 8,", "as `a`"),
    (
        "product_fragments_ahead",
        "matrices 4 b_frag[0, j_mma.1, 0]",
        "matrices 2 b_frag[0, j_mma.1, 0]",
        "is not loaded",
    ),
    // An instruction with another placement, or with other types.
    (
        "product_own_atom",
        "b: u8 ((4,8),(4,2)):((32,1),(8,128))",
        "b: u8 ((4,8),(4,2)):((64,1),(8,32))",
        "is none of the kernel's",
    ),
    // One of the two copies of a factor: the lanes that hold the other have the right rows.
    (
        "product_quad_pairs",
        "copy 2 a_frag[0] = a_tile[k_outer rem 2, i_warp * 16 + lane quo 4 * 4",
        "copy 2 a_frag[0] = a_tile[k_outer rem 2, i_warp * 16 + (lane quo 8 + 1) rem 2 * 8 + lane quo 4 * 4",
        "as `a`",
    ),
    ("product_own_atom", "matrices 4 of 16 a_frag", "matrices 4 a_frag", "whose rows have not 16 bytes"),
    ("product_own_atom", "a: i8 ((4,8),", "a: u8 ((4,8),", "is none of the kernel's"),
];

#[test]
fn spoilt_forms_are_refused_and_run_wrong() {
    let forms = forms();
    let mut known: BTreeMap<&str, _> = BTreeMap::new();
    for (name, from, to, part) in SPOILT {
        let form = forms.iter().find(|f| f.name == name).expect("it is a form");
        let (accepted, kernel) = known.entry(name).or_insert_with(|| {
            let accepted = form.accepted();
            (accepted, &accepted.transformed)
        });
        let text = accepted.program.to_text();
        let spoilt = text.replacen(from, to, 1);
        assert_ne!(text, spoilt, "{name}: {from}");
        let spoilt = Program::parse(&spoilt).unwrap_or_else(|d| panic!("{name}: {d}"));
        let refused = match verify_kernel(kernel, &spoilt) {
            Finding::Proved { .. } => panic!("{name}: {from} -> {to} is proved"),
            Finding::Refuted(why) | Finding::Unknown(why) => why.to_string(),
        };
        assert!(refused.contains(part), "{name}: {from} -> {to}\n{refused}");
        let shows = |sizes: &Sizes| check::run(&accepted.declared, &spoilt, sizes).is_err();
        assert!(sizes(form).iter().any(shows), "{name}: {from} -> {to} computes the same");
    }
}

/// A kernel that rounds its factors to tf32 has no product by an instruction that does not, and the
/// other way round: the contract says which.
#[test]
fn rounding_is_part_of_what_an_atom_computes() {
    let forms = forms();
    let form = forms.iter().find(|f| f.name == "product_tf32").expect("it is a form");
    let accepted = form.accepted();
    // The contract without the rounding of one factor, or with another one: neither what the kernel
    // nor what the atom says.
    let text = accepted.program.to_text();
    for other in ["+ (a_tile[", "+ truncate_to_tf32(a_tile["] {
        let spoilt = text.replacen("+ to_tf32(a_tile[", other, 1);
        assert_ne!(text, spoilt);
        let spoilt = Program::parse(&spoilt).unwrap_or_else(|d| panic!("{d}"));
        let (Finding::Refuted(why) | Finding::Unknown(why)) = verify_kernel(&accepted.transformed, &spoilt)
        else {
            panic!("{other} is proved")
        };
        assert_eq!(why.code, "wrong-atom", "{why}");
        assert!(why.to_string().contains("rounds its factors by `to_tf32`"), "{why}");
    }
}

/// An example of the folder `examples`, a kernel and a pipeline, proved and lowered.
fn example(kernel: &str, pipeline: &str) -> Box<Accepted> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    match filetest::outcome(&read(kernel), &read(pipeline)) {
        Outcome::Accepted(accepted) => accepted,
        Outcome::Refused(why) => panic!("{pipeline}: {why}"),
    }
}

/// The pipelines of a plain product serve one with an epilogue, whose results are computed in the
/// registers that hold them.
#[test]
fn gelu_is_computed_behind_a_product() {
    let checker = Checker::new().unwrap();
    for pipeline in ["mma", "mma_async", "mma_swizzled"] {
        let form = example("products/gelu.lw", &format!("pipelines/matmul_bf16/{pipeline}.pipe"));
        for (m, n, l) in [(130, 24, 72), (16, 8, 16), (1, 3, 8), (17, 20, 0)] {
            let sizes: Sizes = [("m", m), ("n", n), ("l", l)].map(|(n, v)| (Name::new(n), v)).into();
            assert_eq!(check::is_compared(&form.declared, &sizes), Ok(true));
            for mode in Asynchrony::ALL {
                check::run_in(mode, &form.declared, &form.program, &sizes)
                    .unwrap_or_else(|f| panic!("{pipeline}, {sizes:?}, {mode:?}: {}", f.text));
            }
        }
        let sizes: Sizes = [("m", 20), ("n", 12), ("l", 40)].map(|(n, v)| (Name::new(n), v)).into();
        check::run_text(&checker, &form.declared, &form.program, &sizes)
            .unwrap_or_else(|f| panic!("{pipeline}: {}", f.text));
    }
}

/// The last rungs of `examples/matmul_bf16.md`, for which tiles have to be whole, on a group of
/// blocks: sums of small integers are exact in f32, and are rounded to bf16 once.
#[test]
fn the_fastest_forms_compute_the_product() {
    for (pipeline, [m, n, l]) in [("ring_stored", [1024, 128, 160]), ("ring_across", [2048, 128, 256])] {
        let form = example("kernels/matmul_bf16.lw", &format!("products/{pipeline}.pipe"));
        let sizes = [("m", m), ("n", n), ("l", l)];
        assert!(cases::allowed(&form.program, &sizes), "{pipeline}");
        let given = cases::arguments(&form.program, &sizes);
        let numbers = |name: &str| -> Vec<f32> {
            let buffer = given.buffer(name).unwrap();
            buffer.numbers().map(|number| number.as_f64() as f32).collect()
        };
        let (a, b) = (numbers("a"), numbers("b"));
        let (rows, columns) = (a.chunks(l as usize), b.chunks(l as usize).collect::<Vec<_>>());
        let sum = |row: &[f32], column: &[f32]| row.iter().zip(column).map(|(a, b)| a * b).sum::<f32>();
        let expected: Vec<half::bf16> = rows
            .flat_map(|row| columns.iter().map(move |column| half::bf16::from_f32(sum(row, column))))
            .collect();
        for asynchrony in Asynchrony::ALL {
            let mut arguments = given.clone();
            let options = Options { asynchrony, ..Options::default() };
            let found =
                run(&form.program, &mut arguments, &options).unwrap_or_else(|f| panic!("{pipeline}: {f}"));
            assert_eq!(found.total.bank_conflicts(), 0, "{pipeline}");
            assert!(
                *arguments.buffer("c").unwrap() == Buffer::from_slice(&expected),
                "{pipeline}, {asynchrony:?}"
            );
        }
    }
}
