//! Arrays whose elements are passed by words or rows: a wide access needs the whole word or row in
//! one place, which only an alignment of the array gives.

use loopwright_cuda_target::cuda_source;
use loopwright_program::Program;

/// The declarations of the arrays in a warp's kernel with these statements, without indentation.
fn declared(statements: &str) -> Vec<String> {
    let text = format!(
        "program k(x, n: i32) index i32\nglobal x: bf16[8] read written\nhost {{\n launch k\n}}\nkernel k(x \
         written, n: i32) {{\n grid(1, 1, 1)\n block(32, 1, 1)\n shared tile: bf16[8, 8]\n shared other: \
         bf16[8, 8]\n private acc: f32[4]\n private a: bf16[8]\n private b: bf16[4]\n private c: \
         bf16[4]\n\n{statements}\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    let source = cuda_source(&program).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    let arrays = |line: &&str| ["tile[", "other[", "acc[", "a[", "b[", "c["].iter().any(|a| line.contains(a));
    let lines = source.text.lines().map(str::trim).filter(arrays);
    lines.filter(|line| line.contains("bfloat16 ") || line.starts_with("float ")).map(String::from).collect()
}

fn has(lines: &[String], wanted: &str) {
    assert!(lines.iter().any(|line| line == wanted), "no `{wanted}` in {lines:#?}");
}

/// A lane reads a row of eight elements of two bytes, and gets a word of two.
#[test]
fn rows_of_matrices_and_the_words_of_their_fragments_are_aligned() {
    let found = declared(
        "store other[0, 0] = x[0]\nmatrices 4 a[0] = tile[thread.x rem 8, 0]\nstore x[0] = a[0]\n\
         store c[0] = x[1]\nstore x[1] = c[0]",
    );
    has(&found, "__shared__ __align__(16) __nv_bfloat16 tile[8][8];");
    has(&found, "__shared__ __nv_bfloat16 other[8][8];");
    has(&found, "__align__(4) __nv_bfloat16 a[8];");
    has(&found, "__nv_bfloat16 c[4];");
}

/// Both factors of a product are passed by words; what it adds to has an element to a word.
#[test]
fn fragments_of_a_product_are_aligned_to_words() {
    let found = declared(
        "mma mma_m16n8k16_bf16(acc[0], acc[1], acc[2], acc[3]) += a[0] * b[0]\nstore c[0] = x[1]\n\
         store x[1] = c[0]",
    );
    has(&found, "__align__(4) __nv_bfloat16 a[8];");
    has(&found, "__align__(4) __nv_bfloat16 b[4];");
    has(&found, "__nv_bfloat16 c[4];");
    has(&found, "float acc[4];");
}
