//! Values whose printed text is right only if C's rules for mixed signs and for overflow are minded.

use loopwright_cuda_target::cuda_source;
use loopwright_program::Program;

/// The CUDA C of a statement of the kernel, in a program with this index type.
fn printed(index: &str, statement: &str) -> String {
    let text = format!(
        "program k(y, z, f, h, n: i32) index {index}\nglobal y: i32[8] written\nglobal z: i32[n] read \
         written\nglobal f: f32[8] written\nglobal h: f64[8] read\nleaf set \"y[0] = ...\"\nleaf set same \
         gives 0\nhost {{\n launch k\n}}\nkernel k(y written, z written, f written, h, n: i32) {{\n \
         grid(1, 1, 1)\n block(64, 1, 1)\n var v: i32 mutable\n\n let v: i32 = y[0]\n {statement} \
         {{set[1]}}\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    let source = cuda_source(&program).unwrap_or_else(|d| panic!("{d}\n{text}"));
    let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
    let first = lines.iter().position(|l| l.contains("v = y[0]")).unwrap() + 1;
    lines[first..lines.len() - 1].join(" ")
}

#[test]
fn sums_of_lengths_wrap_unless_the_launch_checks_them() {
    // In the type of indices a launch sees that they fit; in another nothing does.
    assert_eq!(printed("i32", "store y[0] = n + n"), "y[0] = n + n;");
    assert_eq!(printed("i64", "store y[0] = n + n"), "y[0] = (unsigned int)n + n;");
}

#[test]
fn great_multiples_of_an_index_wrap() {
    assert_eq!(printed("i32", "store y[0] = n * 2"), "y[0] = n * 2;");
    assert_eq!(printed("i32", "store y[0] = n * 65536"), "y[0] = n * 65536;");
    assert_eq!(printed("i32", "store y[0] = n * 65537"), "y[0] = (unsigned int)n * 65537;");
    assert_eq!(printed("i32", "store y[0] = n * 131072"), "y[0] = (unsigned int)n * 131072;");
    assert_eq!(printed("i32", "store y[0] = -n"), "y[0] = -n;");
}

#[test]
fn a_quotient_by_a_difference_of_threads_is_signed() {
    // `threadIdx.x` is unsigned: the difference is a great number below 0 unless it is converted.
    let quotient = printed("i32", "set v = v quo (threadIdx.x - 5)");
    assert_eq!(quotient, "v /= (int)(threadIdx.x - 5);");
}

#[test]
fn a_literal_has_the_bits_of_its_type() {
    assert_eq!(printed("i64", "store y[0] = 4294967295i32"), "y[0] = -1;");
}

/// C converts an int that meets an unsigned int: -1 would be a great number.
#[test]
fn a_coordinate_that_meets_a_negative_number_is_signed() {
    let choice = |index: &str, other: &str| {
        printed(index, &format!("store y[0] = cast(i32, if(v < 3, threadIdx.x, {other}))"))
    };
    assert_eq!(choice("i64", "-1"), "y[0] = (int)(v < 3 ? (long long)threadIdx.x : -1);");
    assert_eq!(choice("i64", "1"), "y[0] = (int)(v < 3 ? threadIdx.x : 1);");
    let less = |index: &str, a: &str, b: &str| printed(index, &format!("store y[0] = cast(i32, {a} < {b})"));
    assert_eq!(less("i64", "threadIdx.x", "-1"), "y[0] = (int)((long long)threadIdx.x < -1LL);");
    assert_eq!(less("i64", "-1", "threadIdx.x"), "y[0] = (int)(-1LL < (long long)threadIdx.x);");
    assert_eq!(less("i32", "threadIdx.x", "-1"), "y[0] = (int)((int)threadIdx.x < -1);");
    assert_eq!(less("i64", "threadIdx.x", "5"), "y[0] = (int)(threadIdx.x < 5);");
    // Neither is the value of a choice that may be negative one of its own type.
    assert_eq!(
        less("i32", "if(v < 3, threadIdx.x, -1)", "0"),
        "y[0] = (int)((int)(v < 3 ? threadIdx.x : -1) < 0);"
    );
}

/// The least value has no opposite, and sums of data may leave their type: both wrap.
#[test]
fn data_wrap_where_they_are_negated_and_compared() {
    assert_eq!(printed("i32", "store y[0] = -v"), "y[0] = -(unsigned int)v;");
    assert_eq!(printed("i32", "set v = v + 1"), "v = (unsigned int)v + 1;");
    let guarded = |note: &str| {
        let text = printed("i32", &format!("if v + v < 3{note} {{\n}}\n store y[0] = 1"));
        text.split_once(" {").unwrap().0.to_string()
    };
    assert_eq!(guarded(" predicate"), "if ((int)((unsigned int)v + v) < 3)");
    // A guard is over indices, which a launch checks to fit.
    assert_eq!(guarded(""), "if (v + v < 3)");
}

/// A literal wraps in its type, as does a conversion to it.
#[test]
fn literals_of_narrow_types_wrap() {
    for (literal, value) in
        [("255i8", "-1"), ("65535i16", "-1"), ("257u8", "1"), ("65537u16", "1"), ("-128i8", "-128")]
    {
        let text = printed("i32", &format!("store y[0] = cast(i32, {literal})"));
        assert_eq!(text, format!("y[0] = (int){value};"), "{literal}");
    }
}
