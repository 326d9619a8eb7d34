//! Offsets of swizzled arrays for subscripts of every form: those that are written as lowering does
//! are those of their subscripts, also where the bits that a swizzle takes are constant, and others
//! are refused.

use loopwright_program::{Program, verify::verify};

/// A program that writes an array `t` of 8 x 8 in this layout at these subscripts, each with its
/// offset behind `@` if it is not as lowering writes it. It is refused for another reason, a
/// variable without a value, so that nothing else is asked where all offsets are right.
fn program(layout: &str, subscripts: &[String]) -> String {
    let mut text = String::from(
        "program k(y) index i32\nglobal y: f32[8] written\nleaf turn \"y[k] = 1.0\"\n\
         host {\n    launch k\n}\nkernel k(y written) {\n    grid(1, 1, 1)\n    block(1, 1, 1)\n    \
         var r: i32\n    var c: i32\n    var none: f32\n",
    );
    text += &format!("    private t: f32[8, 8] {layout}\n\n");
    text += "    for r: i32 = 0 to 1 {\n        for c: i32 = 0 to 1 {\n";
    for subscripts in subscripts {
        text += &format!("            store t[{subscripts}] = 1.0f32\n");
    }
    text += "            store y[0] = none {turn}\n        }\n    }\n}\n";
    text
}

/// Whether all offsets of a program are those of their subscripts.
fn is_right(text: &str) -> bool {
    let program = Program::parse(text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    match verify(&program).refusal().map(|d| d.code) {
        Some("wrong-offset") => false,
        Some("no-value") => true,
        other => panic!("{other:?}\n{text}"),
    }
}

const LAYOUTS: [&str; 4] =
    ["", "layout((8,8):(1,8))", "layout((8,8):(12,1))", "layout(((2,4),8):((1,16),2))"];

/// Constants, sums with factors of which some bits are constant, and what is no sum.
fn forms() -> Vec<String> {
    let mut forms: Vec<String> = (0..8).map(|c| c.to_string()).collect();
    for k in [1, 2, 3, 4, 8] {
        forms.extend(["", " + 1", " + 3", " + 6", " - 1"].map(|c| format!("r * {k}{c}")));
        forms.extend([format!("7 - r * {k}"), format!("(r * {k} + 1) rem 2")]);
    }
    forms
}

#[test]
fn offsets_as_they_are_written_are_those_of_the_subscripts() {
    let columns = ["0", "5", "c", "c * 2 + 1", "c * 4 + 2", "c * 8"];
    let accesses: Vec<String> =
        forms().iter().flat_map(|row| columns.map(|column| format!("{row}, {column}"))).collect();
    for layout in LAYOUTS {
        for bits in 1..3 {
            for base in 0..3 {
                for shift in (-3i32..=3).filter(|s| s.abs() >= bits) {
                    let layout = format!("{layout} swizzle({bits}, {base}, {shift})");
                    if !is_right(&program(&layout, &accesses)) {
                        let wrong = |access: &&String| !is_right(&program(&layout, &[(*access).clone()]));
                        panic!("{layout}: {:?}", accesses.iter().find(wrong));
                    }
                }
            }
        }
    }
}

#[test]
fn a_negation_is_the_difference_from_zero() {
    for (access, right) in [
        ("-r + 1, c @ 8 - r * 8 + c", true),
        ("1 - r, c @ -r * 8 + 8 + c", true),
        ("-r + 1, c @ -(r * 8) + (8 + c)", true),
        ("-r + 1, c @ r * 8 + 8 + c", false),
        ("1 - r, c @ r * 8 + 8 + c", false),
        ("r + 1, c @ -r * 8 + 8 + c", false),
    ] {
        assert_eq!(is_right(&program("", &[access.to_string()])), right, "{access}");
    }
}

#[test]
fn bits_of_a_sum_are_what_an_offset_has_to_take() {
    for (swizzle, access, right) in [
        // The lowest four bits of the sum are those of 5, of which two are taken: 1.
        ("swizzle(2, 0, 2)", "r * 2, 5 @ r * 16 + 5 ^ 1", true),
        ("swizzle(2, 0, 2)", "r * 2, 5 @ r * 16 + 5 ^ (r * 16 + 5 >> 2 & 3)", true),
        ("swizzle(2, 0, 2)", "r * 2, 5 @ r * 16 + 5 ^ (r * 32 + 5 >> 2 & 3)", true),
        ("swizzle(2, 0, 2)", "r * 2, 5 @ r * 16 + 5 ^ (r * 16 - 11 >> 2 & 3)", true),
        ("swizzle(2, 0, 2)", "r * 2, 5 @ r * 16 + 5", false),
        ("swizzle(2, 0, 2)", "r * 2, 5 @ r * 16 + 4", false),
        ("swizzle(2, 0, 2)", "r * 2, 5 @ r * 16 + 5 ^ 2", false),
        ("swizzle(2, 0, 2)", "r * 2, 5 @ r * 16 + 5 ^ (r * 16 + 9 >> 2 & 3)", false),
        ("swizzle(2, 0, 2)", "r * 2, 5 @ r * 16 + 5 ^ (r * 8 + 5 >> 2 & 3)", false),
        ("swizzle(2, 0, 2)", "r * 2, 5 @ r * 16 + 5 ^ (r * 16 + 5 >> 2 & 7)", false),
        ("swizzle(2, 0, 2)", "r * 2, 5 @ r * 16 + 5 ^ (r * 16 + 5 >> 1 & 3)", false),
        ("swizzle(2, 0, 2)", "r * 2, 5 @ r * 16 + 5 ^ (r * 16 + 5 << 2 & 3)", false),
        // Of these, none.
        ("swizzle(2, 0, 2)", "r * 2, 1 @ r * 16 + 1", true),
        ("swizzle(2, 0, 2)", "r * 2, 1 @ r * 16 + 1 ^ 0", true),
        ("swizzle(2, 0, 2)", "r * 2, 1 @ 0 ^ r * 16 + 1", true),
        ("swizzle(2, 0, 2)", "r * 2, 1 @ r * 16 + 1 ^ 1", false),
        // A sum without variables.
        ("swizzle(2, 0, 2)", "6, 5 @ 52", true),
        ("swizzle(2, 0, 2)", "6, 5 @ 53 ^ 1", true),
        ("swizzle(2, 0, 2)", "6, 5 @ 53", false),
        // The lowest two bits, 1, go two places up.
        ("swizzle(2, 0, -2)", "r * 2, 5 @ r * 16 + 5 ^ 4", true),
        ("swizzle(2, 0, -2)", "r * 2, 5 @ r * 16 + 5 ^ (r * 16 + 5 << 2 & 12)", true),
        ("swizzle(2, 0, -2)", "r * 2, 5 @ r * 16 + 5 ^ (r * 4 + 1 << 2 & 12)", true),
        ("swizzle(2, 0, -2)", "r * 2, 5 @ r * 16 + 5 ^ (r * 2 + 5 << 2 & 12)", false),
        ("swizzle(2, 0, -2)", "r * 2, 5 @ r * 16 + 5 ^ (r * 16 + 5 << 2 & 28)", false),
        ("swizzle(2, 0, -2)", "r * 2, 4 @ r * 16 + 4", true),
        ("swizzle(2, 0, -2)", "r * 2, 5 @ r * 16 + 5", false),
        // Any bits.
        ("swizzle(2, 0, 2)", "r, c @ r * 8 + c ^ (r * 8 + c >> 2 & 3)", true),
        ("swizzle(2, 0, 2)", "r, c @ r * 8 + c ^ (c >> 2 & 3)", false),
        ("swizzle(2, 0, 2)", "r, c @ r * 8 + c", false),
        ("swizzle(2, 0, 2)", "r, c @ r * 8 + c ^ 0", false),
    ] {
        assert_eq!(is_right(&program(swizzle, &[access.to_string()])), right, "{swizzle}: {access}");
    }
}
