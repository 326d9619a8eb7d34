//! Statements of programs as they are printed: places in memory, barriers, their comments.

use loopwright_cuda_target::cuda_source;
use loopwright_kernel_ir::Diagnostic;
use loopwright_program::Program;

/// The CUDA C of a kernel with this block, these local arrays and these statements, as lines
/// without indentation.
fn lines(block: &str, arrays: &str, statements: &str) -> Result<Vec<String>, Diagnostic> {
    let text = format!(
        "program k(x, n: i32) index i32\nglobal x: f64[8] read written\nhost {{\n launch k\n}}\nkernel k(x \
         written, n: i32) {{\n grid(1, 1, 1)\n block({block})\n{arrays}\n\n{statements}\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    Ok(cuda_source(&program)?.text.lines().map(|line| line.trim().to_string()).collect())
}

/// Whether these lines follow one another.
fn has(lines: &[String], wanted: &[&str]) -> bool {
    lines.windows(wanted.len()).any(|found| found == wanted)
}

#[test]
fn an_element_lies_where_the_layout_of_its_array_puts_it() {
    let expect = |layout: &str, lengths: &str, place: &str| {
        let array = format!(" shared tile: f32[4, 16] {layout}");
        let found = lines("16, 1, 1", &array, " store tile[n, thread.x] = 1.0f32").unwrap();
        assert!(has(&found, &[&format!("__shared__ float tile{lengths};")]), "{found:#?}");
        assert!(has(&found, &[&format!("tile{place} = 1.0f;")]), "{found:#?}");
    };
    expect("", "[4][16]", "[n][threadIdx.x]");
    // Rows of 17: the last of 4 rows ends with the element 3 * 17 + 15.
    expect("layout((4,16):(17,1))", "[67]", "[n * 17 + threadIdx.x]");
    // The two low bits of the row, from the bit 4 of the offset on, permute the elements of each
    // row.
    expect("swizzle(2, 0, 4)", "[4][16]", "[n][threadIdx.x ^ (n & 3)]");
}

/// A second line of a note would be code, as would the statement behind a backslash be comment.
#[test]
fn a_note_stays_a_comment_and_comments_nothing_else() {
    let barrier = |note: &str| lines("64, 1, 1", "", &format!(" barrier block {note}")).unwrap();
    let expect = |note: &str, wanted: &[&str]| {
        let found = barrier(note);
        assert!(has(&found, wanted), "{note}: {found:#?}");
    };
    expect(r#""one line""#, &["__syncthreads();  // one line", "}"]);
    expect(r#""two\nlines""#, &["// two", "// lines", "__syncthreads();", "}"]);
    expect(r#""a backslash \\""#, &["// a backslash", "__syncthreads();", "}"]);
    expect(r#""two \\\nlines \\""#, &["// two", "// lines", "__syncthreads();", "}"]);
}

#[test]
fn a_partial_warp_is_told_by_the_number_of_a_thread_in_its_block() {
    for (block, thread) in [
        ("48, 1, 1", "threadIdx.x"),
        ("12, 4, 1", "threadIdx.y * 12 + threadIdx.x"),
        ("6, 4, 2", "(threadIdx.z * 4 + threadIdx.y) * 6 + threadIdx.x"),
    ] {
        let text = lines(block, "", " barrier warp").unwrap().join(" ");
        let mask = format!("const unsigned int warp_mask = {thread} < 32 ? 0xffffffffu : 0x0000ffffu;");
        assert!(text.contains(&format!("{mask} __syncwarp(warp_mask);")), "{text}");
    }
}

#[test]
fn a_vector_has_two_elements_or_more() {
    let copy = |lanes: u8| lines("1, 1, 1", "", &format!(" copy {lanes} x[0] = x[4]"));
    let two = "*reinterpret_cast<double2 *>(&x[0]) = *reinterpret_cast<const double2 *>(&x[4]);";
    assert!(has(&copy(2).unwrap(), &[two]));
    for lanes in [0, 1] {
        let refused = copy(lanes).unwrap_err();
        assert_eq!(
            (refused.code, &*refused.message),
            ("malformed-program", &*format!("no access moves {lanes} elements of f64"),)
        );
    }
}

#[test]
fn a_step_of_one_is_an_increment_or_a_decrement() {
    let set = |value: &str| lines("1, 1, 1", " var v: u32", &format!(" set v = {value}")).unwrap();
    for (value, wanted) in [("v + 1u32", "++v;"), ("v - 1u32", "--v;"), ("v - 2u32", "v -= 2;")] {
        let found = set(value);
        assert!(has(&found, &[wanted]), "{value}: {found:#?}");
    }
}

/// Numbers that the host computes for a kernel are parameters, with names as all others.
#[test]
fn the_name_of_a_number_of_the_host_has_to_be_one_of_the_language() {
    let source = |name: &str| {
        let text = format!(
            "program k(x) index i32\nglobal x: f64[8] read written\nhost {{\n launch k\n}}\nkernel k(x \
             written, {name} host) {{\n grid(1, 1, 1)\n block(1, 1, 1)\n\n store x[{name}] = 1.0f64\n}}\n"
        );
        cuda_source(&Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render())))
    };
    assert!(source("first").unwrap().text.contains("x[first] = 1.0;"));
    assert_eq!(source("short").unwrap_err().code, "illegal-name");
}

/// The kernel's own name stays, and the constant gets another.
#[test]
fn constants_avoid_the_names_of_the_kernel() {
    let mask = |vars: &str, name: &str| {
        let text = lines("48, 1, 1", vars, " barrier warp").unwrap().join(" ");
        let declared = format!("const unsigned int {name} = threadIdx.x < 32 ?");
        assert!(text.contains(&declared) && text.contains(&format!("__syncwarp({name});")), "{text}");
    };
    mask(" shared other: u32[1]", "warp_mask");
    mask(" shared warp_mask: u32[1]", "warp_mask_");
    mask(" shared warp_mask: u32[1]\n shared warp_mask_: u32[1]", "warp_mask__");
}

#[test]
fn updates_are_of_global_and_shared_arrays_and_types_that_have_them() {
    let update = |array: &str, statement: &str| lines("1, 1, 1", array, statement);
    assert!(has(&update("", " update add x[0] = 1.0f64").unwrap(), &["atomicAdd(&x[0], 1.0);"]));
    assert!(has(&update("", " update max x[0] = 1.0f64").unwrap(), &["atomic_max(&x[0], 1.0);"]));
    let shared = update(" shared s: i64[4]", " update or s[1] = 2i64").unwrap();
    let line = "atomicOr(reinterpret_cast<unsigned long long *>(&s[1]), \
                static_cast<unsigned long long>(2));";
    assert!(has(&shared, &[line]), "{shared:?}");
    for (array, statement, what) in [
        (" private s: f64[4]", " update add s[0] = 1.0f64", "f64 here: Add"),
        ("", " update and x[0] = 1.0f64", "f64 here: And"),
    ] {
        let refused = update(array, statement).unwrap_err();
        let message = format!("there is no atomic update of this kind for {what}");
        assert_eq!((refused.code, &*refused.message), ("malformed-program", &*message), "{statement}");
    }
}

/// The counter is signed: against an unsigned bound it would be compared as unsigned.
#[test]
fn the_bound_of_a_loop_is_signed() {
    let head = |index: &str| {
        let text = format!(
            "program k(x) index {index}\nglobal x: f64[8] written\nhost {{\n launch k\n}}\nkernel k(x written) \
             {{\n grid(1, 1, 1)\n block(8, 1, 1)\n var i: {index}\n\n for i: {index} = -1 to thread.x {{\n \
             store x[0] = 1.0f64\n }}\n}}\n"
        );
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
        let source = cuda_source(&program).unwrap().text;
        source.lines().find(|l| l.contains("for (")).unwrap().trim().to_string()
    };
    assert_eq!(head("i32"), "for (int i = -1; i < (int)threadIdx.x; ++i) {");
    // To `long long` an unsigned int is a number as any other.
    assert_eq!(head("i64"), "for (long long i = -1; i < threadIdx.x; ++i) {");
}

#[test]
fn the_notes_of_a_chain_of_conditions_stand_above_and_inside() {
    let chain = " if n < 1 \"first\" {\n store x[0] = 1.0f64\n } else if n < 2 \"second\" {\n store x[1] = \
                 1.0f64\n } else {\n store x[2] = 1.0f64\n }";
    let found = lines("1, 1, 1", "", chain).unwrap();
    let wanted = [
        "// first",
        "if (n < 1) {",
        "x[0] = 1.0;",
        "} else if (n < 2) {",
        "// second",
        "x[1] = 1.0;",
        "} else {",
        "x[2] = 1.0;",
        "}",
    ];
    assert!(has(&found, &wanted), "{found:#?}");
}

/// A guard over what is read from memory is over data, which may leave their type.
#[test]
fn guards_over_elements_wrap() {
    let guard = |cond: &str| {
        let found =
            lines("1, 1, 1", " shared s: i32[4]", &format!(" if {cond} {{\n store x[0] = 1.0f64\n }}"));
        found.unwrap().into_iter().find(|l| l.starts_with("if (")).unwrap()
    };
    assert_eq!(guard("s[0] + s[1] < 3"), "if ((int)((unsigned int)s[0] + s[1]) < 3) {");
    assert_eq!(guard("n + n < 3"), "if (n + n < 3) {");
}

/// C multiplies numbers of 16 bits as ints, in which the product of two may overflow.
#[test]
fn an_operator_assigns_unless_the_operation_may_overflow() {
    let set = |dtype: &str, value: &str| {
        let found = lines("1, 1, 1", &format!(" var v: {dtype}"), &format!(" set v = {value}")).unwrap();
        found.into_iter().find(|l| l.starts_with("v ")).unwrap()
    };
    for (dtype, value, wanted) in [
        ("u16", "v + 3u16", "v += 3;"),
        ("u32", "v * 3u32", "v *= 3;"),
        ("u8", "v * 3u8", "v *= 3;"),
        ("f64", "v * 3.0f64", "v *= 3.0;"),
        ("i32", "v & 3", "v &= 3;"),
    ] {
        assert_eq!(set(dtype, value), wanted, "{dtype} {value}");
    }
    assert!(set("u16", "v * 3u16").starts_with("v = "));
    assert!(set("bool", "v and n < 3").starts_with("v = "));
}

/// Hints to the cache are for types that have such accesses.
#[test]
fn elements_of_a_byte_are_stored_without_hints() {
    let stored = |dtype: &str, hint: &str, value: &str| {
        let text = format!(
            "program k(x, n: i32) index i32\nglobal x: {dtype}[8] read written {hint}\nhost {{\n launch \
             k\n}}\nkernel k(x written, n: i32) {{\n grid(1, 1, 1)\n block(1, 1, 1)\n\n store x[1] = {value}\n}}\n"
        );
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
        let source = cuda_source(&program).unwrap().text;
        source.lines().rev().find(|l| l.contains("x[1]")).unwrap().trim().to_string()
    };
    assert_eq!(stored("f32", "streaming", "x[0]"), "__stcs(&x[1], __ldcs(&x[0]));");
    assert_eq!(stored("u8", "streaming", "x[0]"), "__stcs(&x[1], __ldcs(&x[0]));");
    assert_eq!(stored("f32", "", "x[0]"), "x[1] = x[0];");
    for dtype in ["bool", "e4m3", "e5m2"] {
        assert_eq!(stored(dtype, "streaming", "x[0]"), "x[1] = x[0];", "{dtype}");
    }
    assert_eq!(stored("u8", "waves(64, 4)", "7u8"), "x[1] = 7;");
    assert_eq!(stored("u16", "waves(64, 4)", "7u16"), "store_in_waves(&x[1], 7, 1, 8, 64, 4);");
}

/// A kernel whose copies are to a tile of shared memory.
fn copied(statements: &str) -> Vec<String> {
    let text = format!(
        "program k(x, n: i32) index i32\nglobal x: f32[n] read\nhost {{\n launch k\n}}\nkernel k(x, n: i32) {{\n \
         grid(1, 1, 1)\n block(32, 1, 1)\n shared s: f32[2, 64]\n var i: i32\n var v: i32\n var m: i32 mutable\n\n \
         {statements}\n commit\n wait 0\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    cuda_source(&program).unwrap().text.lines().map(|line| line.trim().to_string()).collect()
}

#[test]
fn the_condition_of_a_copy_is_its_predicate() {
    let found = copied("if 0 < n \"why\" {\n copy_async 1 s[0, thread.x] = x[thread.x]\n }");
    assert!(has(&found, &["// why", "copy_async_4_if(&s[0][threadIdx.x], &x[threadIdx.x], 0 < n);"]));
    assert!(has(&found, &["\"@holds cp.async.ca.shared.global [%0], [%1], 4;\\n\\t\""]), "{found:#?}");
    // Names of indices are in a scope of their own, of each iteration.
    let found = copied(
        "if 0 < n {\n for i: i32 = 0 to 2 unroll {\n let v: i32 = thread.x + 32*i\n copy_async 1 s[i, v] = \
         x[v]\n }\n let v: i32 = 8*thread.x rem 64\n copy_async 4 s[1, v] = x[v]\n }",
    );
    let wanted = [
        "{",
        "#pragma unroll",
        "for (int i = 0; i < 2; ++i) {",
        "const int v = threadIdx.x + 32 * i;",
        "copy_async_4_if(&s[i][v], &x[v], 0 < n);",
        "}",
        "const int v = (8 * threadIdx.x) % 64;",
        "copy_async_16_if(&s[1][v], &x[v], 0 < n);",
        "}",
    ];
    assert!(has(&found, &wanted), "{found:#?}");
}

/// Where an address is no element without the condition, or more than a copy depends on it, the
/// condition stays around.
#[test]
fn a_condition_that_addresses_need_stays_around_them() {
    for (statements, copy) in [
        // One more than the tile has.
        ("if n < 2 {\n copy_async 1 s[n, 0] = x[0]\n }", "copy_async_4(&s[n][0], &x[0]);"),
        (
            "if thread.x < 4 {\n copy_async 1 s[0, 16*thread.x] = x[0]\n }",
            "copy_async_4(&s[0][16 * threadIdx.x], &x[0]);",
        ),
        // Nothing may be divided by zero, and a variable need not have a value.
        ("if 0 < n {\n copy_async 1 s[0, 0] = x[8 quo n]\n }", "copy_async_4(&s[0][0], &x[8 / n]);"),
        ("declare m\n if 0 < n {\n copy_async 1 s[0, 0] = x[m]\n }", "copy_async_4(&s[0][0], &x[m]);"),
        // A name that is assigned again, or that means something else elsewhere.
        (
            "let m: i32 = 0\nset m = n\nlet v: i32 = m\nif 0 < n {\n copy_async 1 s[v, 0] = x[0]\n }",
            "copy_async_4(&s[v][0], &x[0]);",
        ),
        (
            "for i: i32 = 0 to n {\n let v: i32 = i\n if 0 < n {\n copy_async 1 s[v, 0] = x[0]\n }\n }\n\
             for i: i32 = 0 to n {\n let v: i32 = 1\n store s[v, 0] = 1.0f32\n }",
            "copy_async_4(&s[v][0], &x[0]);",
        ),
        // Not every copy, or not only copies.
        (
            "if 0 < n {\n copy_async 1 s[0, 0] = x[0]\n } else {\n commit\n }",
            "copy_async_4(&s[0][0], &x[0]);",
        ),
        ("if 0 < n {\n copy_async 1 s[0, 0] = x[0]\n commit\n }", "copy_async_4(&s[0][0], &x[0]);"),
        (
            "if 0 < n {\n for i: i32 = 0 to n {\n copy_async 1 s[0, 0] = x[i]\n }\n }",
            "copy_async_4(&s[0][0], &x[i]);",
        ),
    ] {
        let found = copied(statements);
        assert!(found.iter().any(|line| line == copy), "{statements}: {found:#?}");
        assert!(!found.iter().any(|line| line.contains("_if")), "{statements}: {found:#?}");
        assert!(found.iter().any(|line| line.starts_with("if (")), "{statements}: {found:#?}");
    }
}

/// The lines of the loops of a nest that ends with this statement.
fn nest(loops: &[(&str, u32)], statement: &str) -> Vec<String> {
    let vars: String = loops.iter().map(|(name, _)| format!(" var {name}: i32\n")).collect();
    let heads: String =
        loops.iter().map(|(name, end)| format!("for {name}: i32 = 0 to {end} unroll {{\n")).collect();
    let arrays = " private acc: f32[4, 8]\n private cells: i32[4, 8, 2]\n private a: f32[4]\n private b: f32[8]\n shared s: f32[8]\n";
    let closing = "}\n".repeat(loops.len());
    lines("1, 1, 1", &format!("{arrays}{vars}"), &format!("{heads}{statement}\n{closing}")).unwrap()
}

#[test]
fn products_of_registers_go_back_and_forth() {
    let found = nest(&[("j", 4), ("i", 8)], "store acc[j, i] = acc[j, i] + a[j]*b[i]");
    let wanted = [
        "for (int j = 0; j < 4; ++j) {",
        "#pragma unroll",
        "for (int i_turn = 0; i_turn < 8; ++i_turn) {",
        "const int i = j % 2 == 0 ? i_turn : 7 - i_turn;",
        "acc[j][i] += a[j] * b[i];",
    ];
    assert!(has(&found, &wanted), "{found:#?}");
}

/// Another loop with a counter of the same name goes one way.
#[test]
fn only_the_loops_of_the_nest_turn() {
    let arrays =
        " private acc: f32[4, 8]\n private a: f32[4]\n private b: f32[8]\n var i: i32\n var j: i32\n";
    let product =
        " for j: i32 = 0 to 4 unroll {\n for i: i32 = 0 to 8 unroll {\n store acc[j, i] = a[j]*b[i]\n }\n }";
    let other = "for i: i32 = 0 to 8 unroll {\n store b[i] = 0.0f32\n }";
    let found = lines("1, 1, 1", arrays, &format!("{product}\n {other}")).unwrap();
    assert!(has(&found, &["const int i = j % 2 == 0 ? i_turn : 7 - i_turn;"]), "{found:#?}");
    assert!(has(&found, &["for (int i = 0; i < 8; ++i) {", "b[i] = 0.0f;"]), "{found:#?}");
}

/// Nothing turns where no operand would stay, and where the order of iterations might matter.
#[test]
fn loops_of_which_nothing_stays_go_one_way() {
    let turns =
        |statement: &str| nest(&[("j", 4), ("i", 8)], statement).iter().any(|line| line.contains("_turn"));
    assert!(turns("store acc[j, i] = a[j] - b[i]"));
    for statement in [
        "store acc[j, i] = acc[j, i] + b[i]",
        "store acc[j, i] = acc[j, i] + a[j]",
        // One element for all i, another one of the array that is written, shared memory.
        "store acc[j, 0] = acc[j, 0] + a[j]*b[i]",
        "store acc[j, i] = acc[0, i] + a[j]*b[i]",
        "store acc[j, i] = acc[j, i] + a[j]*s[i]",
        "store s[i] = a[j]*b[i]",
        "store cells[j, i, cells[0, 0, 0]] = cast(i32, a[j]*b[i])",
    ] {
        assert!(!turns(statement), "{statement}");
    }
}
