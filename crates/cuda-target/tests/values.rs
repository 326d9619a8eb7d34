//! Values whose printed text is right only if C's rules for mixed signs and for overflow are
//! minded.

use loopwright_cuda_target::cuda_source;
use loopwright_program::Program;

/// The CUDA C of a program with this index type and a statement, as lines without indentation.
fn source(index: &str, statement: &str) -> Vec<String> {
    let text = format!(
        "program k(y, z, f, h, n: i32) index {index}\nglobal y: i32[8] written\nglobal z: i32[n] read \
         written\nglobal f: f32[8] written\nglobal h: f64[8] read\nleaf set \"y[0] = ...\"\nleaf set same \
         gives 0\nhost {{\n launch k\n}}\nkernel k(y written, z written, f written, h, n: i32) {{\n \
         grid(1, 1, 1)\n block(64, 1, 1)\n var v: i32 mutable\n\n let v: i32 = y[0]\n {statement} \
         {{set[1]}}\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    let source = cuda_source(&program).unwrap_or_else(|d| panic!("{d}\n{text}"));
    source.text.lines().map(|line| line.trim().to_string()).collect()
}

/// The CUDA C of the statement alone.
fn printed(index: &str, statement: &str) -> String {
    let lines = source(index, statement);
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
    // So do their opposites, from the same multiple on.
    assert_eq!(printed("i32", "store y[0] = -(n * 65536)"), "y[0] = -(n * 65536);");
    assert_eq!(printed("i32", "store y[0] = -(n * 65537)"), "y[0] = -((unsigned int)n * 65537);");
}

/// Below 0, a remainder by a number from data can be almost as great as that number.
#[test]
fn sums_of_quotients_by_data_wrap() {
    for (op, call) in [("%", "floor_mod"), ("//", "floor_div")] {
        let sum = |divisor: &str| printed("i32", &format!("store y[0] = n {op} {divisor} + n"));
        assert_eq!(sum("v"), format!("y[0] = (unsigned int){call}(n, v) + n;"));
        assert_eq!(sum("7"), format!("y[0] = {call}(n, 7) + n;"));
    }
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
    for (literal, value) in [
        ("255i8", "-1"),
        ("65535i16", "-1"),
        ("257u8", "1"),
        ("65537u16", "1"),
        ("-128i8", "-128"),
        // As -1 it would be less than 300.
        ("-1u32", "4294967295u"),
    ] {
        let text = printed("i32", &format!("store y[0] = cast(i32, {literal})"));
        assert_eq!(text, format!("y[0] = (int){value};"), "{literal}");
    }
}

/// C defines no shift by all bits of a type; the value has every bit moved out.
#[test]
fn a_shift_is_an_operator_only_if_it_is_by_less_than_all_bits() {
    for (value, text) in [
        ("v << 31", "(unsigned int)v << 31"),
        ("v << 32", "shift_left(v, 32)"),
        ("v >> 31", "v >> 31"),
        ("v >> 32", "shift_right(v, 32)"),
        // A remainder is below the divisor.
        ("v >> (v % 32)", "v >> floor_mod(v, 32)"),
        ("v >> (v % 33)", "shift_right(v, floor_mod(v, 33))"),
        // That by 0 has no value, and is below nothing.
        ("v >> (v % 0)", "shift_right(v, floor_mod(v, 0))"),
    ] {
        assert_eq!(printed("i32", &format!("store y[0] = {value}")), format!("y[0] = {text};"));
    }
    // Of 40 a truth value keeps that it is not 0: the amount is 39.
    let truth = printed("i32", "store y[0] = v >> (40 - cast(i32, cast(bool, 40)))");
    assert!(truth.starts_with("y[0] = shift_right(v, "), "{truth}");
    let of_64_bits = |by: u8| printed("i32", &format!("store y[0] = cast(i32, cast(i64, v) >> {by}i64)"));
    assert_eq!(of_64_bits(63), "y[0] = (int)((long long)v >> 63);");
    assert_eq!(of_64_bits(64), "y[0] = (int)shift_right((long long)v, 64LL);");
}

/// Each type has ends of its own, where the conversion stops.
#[test]
fn a_float_becomes_an_integer_by_the_function_of_that_type() {
    for (dtype, c_type, function) in [
        ("i8", "signed char", "to_signed_char"),
        ("i16", "short", "to_short"),
        ("i64", "long long", "to_long"),
        ("u8", "unsigned char", "to_unsigned_char"),
        ("u16", "unsigned short", "to_unsigned_short"),
        ("u64", "unsigned long long", "to_unsigned_long"),
    ] {
        for (array, float) in [("f", "float"), ("h", "double")] {
            let statement = format!("store y[0] = cast(i32, cast({dtype}, {array}[0]))");
            assert_eq!(printed("i32", &statement), format!("y[0] = (int){function}({array}[0]);"));
            let head = format!("__device__ __forceinline__ {c_type} {function}(const {float} a) {{");
            assert!(source("i32", &statement).contains(&head), "{head}");
        }
    }
    assert_eq!(printed("i32", "store y[0] = cast(i32, f[0])"), "y[0] = __float2int_rz(f[0]);");
    assert_eq!(printed("i32", "store y[0] = cast(i32, h[0])"), "y[0] = to_int(h[0]);");
    let unsigned = |array: &str| printed("i32", &format!("store y[0] = cast(i32, cast(u32, {array}[0]))"));
    assert_eq!(unsigned("f"), "y[0] = (int)__float2uint_rz(f[0]);");
    assert_eq!(unsigned("h"), "y[0] = (int)to_unsigned(h[0]);");
}

#[test]
fn a_number_is_true_unless_it_is_the_zero_of_its_type() {
    for (value, zero) in [("v", "0"), ("f[0]", "0.0f"), ("h[0]", "0.0")] {
        let text = printed("i32", &format!("store y[0] = cast(i32, cast(bool, {value}))"));
        assert_eq!(text, format!("y[0] = (int)({value} != {zero});"));
    }
}

/// A float in place of a double would choose another overload.
#[test]
fn constants_without_a_literal_are_declared_in_their_type() {
    for (array, value, name, declaration) in [
        ("f", "f32.nan", "not_a_number", "const float not_a_number = __int_as_float(0x7fc00000);"),
        (
            "h",
            "f64.nan",
            "not_a_number_f64",
            "const double not_a_number_f64 = __longlong_as_double(0x7ff8000000000000LL);",
        ),
        ("f", "f32.inf", "infinity", "const float infinity = __int_as_float(0x7f800000);"),
        (
            "h",
            "f64.inf",
            "infinity_f64",
            "const double infinity_f64 = __longlong_as_double(0x7ff0000000000000LL);",
        ),
    ] {
        let statement = format!("store {array}[0] = {value}");
        assert_eq!(printed("i32", &statement), format!("{array}[0] = {name};"));
        assert!(source("i32", &statement).contains(&declaration.to_string()), "{declaration}");
    }
}

#[test]
fn the_value_of_a_function_of_floats_has_their_type() {
    assert_eq!(printed("i32", "store f[0] = -sqrt(f[0])"), "f[0] = -sqrtf(f[0]);");
    assert_eq!(printed("i32", "store h[0] = floor(sqrt(h[0]))"), "h[0] = floor(sqrt(h[0]));");
}

/// An assignment converts to the type of its target, which keeps the low bits.
#[test]
fn the_operand_of_an_assignment_is_cast_only_where_its_high_bits_count() {
    assert_eq!(printed("i32", "set v = v & (v + 1)"), "v &= (unsigned int)v + 1;");
    assert_eq!(printed("i32", "set v = v quo (v + 1)"), "v /= (int)((unsigned int)v + 1);");
}

#[test]
fn a_choice_between_ints_is_an_int_in_wider_types_too() {
    let choice = |a: &str, b: &str| printed("i32", &format!("store y[0] = cast(i32, if(v < 3, {a}, {b}))"));
    assert_eq!(choice("-1i64", "2i64"), "y[0] = (int)(v < 3 ? -1 : 2);");
    // One that is no int makes the choice one of its type.
    assert_eq!(choice("-1i64", "4294967296i64"), "y[0] = (int)(v < 3 ? -1 : 4294967296LL);");
}

/// A product of two indices is no small multiple of one, and the greater of two multiples counts.
#[test]
fn products_of_indices_and_choices_between_multiples_wrap() {
    for (value, text) in [
        ("n * n", "(unsigned int)n * n"),
        ("2 * n", "2 * n"),
        ("max(n * 65536, 1) + n", "(unsigned int)max(n * 65536, 1) + n"),
        ("max(1, n * 65536) + n", "(unsigned int)max(1, n * 65536) + n"),
        ("max(n, 1) + n", "max(n, 1) + n"),
        ("n * 65535 + n", "n * 65535 + n"),
        ("n * 65535 - n * 2", "(unsigned int)(n * 65535) - n * 2"),
    ] {
        assert_eq!(printed("i32", &format!("store y[0] = {value}")), format!("y[0] = {text};"));
    }
}

/// A thread's number, a remainder, what is left of a number, and conversions of small numbers.
#[test]
fn amounts_of_shifts_are_bounded_by_what_they_are_made_of() {
    let shift = |by: &str| {
        let text = printed("i64", &format!("store y[0] = cast(i32, cast(i64, v) >> ({by}))"));
        assert!(text.contains(">>") != text.contains("shift_right"), "{text}");
        text.contains(">>")
    };
    for (by, evident) in [
        // The block has 64 threads.
        ("thread.x", true),
        ("63 - thread.x", true),
        ("62 - thread.x", false),
        ("64 - thread.x", false),
        ("70 - (7 + thread.x)", false),
        ("cast(i64, cast(i32, thread.x))", true),
        ("cast(i64, v % 64i32)", true),
        ("cast(i64, v % 65i32)", false),
        // 127 is the greatest number that each integer type has.
        ("cast(i64, 127 - thread.x) - 64", true),
        ("cast(i64, 128 - thread.x) - 65", false),
        ("n", false),
    ] {
        assert_eq!(shift(by), evident, "{by}");
    }
    // 300 is 44 in eight bits, and 310 - 44 more than all bits.
    assert!(!shift("310 - cast(i64, cast(u8, 300))"));
}

#[test]
fn a_choice_that_may_be_negative_is_no_unsigned_number() {
    let less = |a: &str| printed("i32", &format!("store y[0] = cast(i32, {a} < 0)"));
    assert_eq!(
        less("if(v < 3, threadIdx.x, v)"),
        "y[0] = (int)((int)(v < 3 ? threadIdx.x : v) < 0);",
        "`v` becomes unsigned there"
    );
    let wide =
        |other: &str| printed("i64", &format!("store y[0] = cast(i32, if(v < 3, {other}, threadIdx.x))"));
    assert_eq!(wide("0"), "y[0] = (int)(v < 3 ? 0 : threadIdx.x);", "0 is not negative");
    assert_eq!(wide("-1"), "y[0] = (int)(v < 3 ? -1LL : threadIdx.x);");
}

/// A choice binds least of all, and groups to the right.
#[test]
fn a_choice_within_a_choice_is_in_brackets() {
    let choice = |c: &str, a: &str, b: &str| printed("i32", &format!("store y[0] = if({c}, {a}, {b})"));
    assert_eq!(choice("v < 3", "if(v < 2, 1, 2)", "7"), "y[0] = v < 3 ? (v < 2 ? 1 : 2) : 7;");
    assert_eq!(choice("if(v < 3, v < 2, v < 1)", "4", "5"), "y[0] = (v < 3 ? v < 2 : v < 1) ? 4 : 5;");
}

#[test]
fn signs_stand_apart_and_keep_what_they_are_of() {
    for (value, text) in [
        ("~v", "~v"),
        ("-threadIdx.x", "-threadIdx.x"),
        ("~(~v)", "~(~v)"),
        ("-(-n)", "-(-n)"),
        ("cast(i32, -cast(i8, v))", "(int)(signed char)-(signed char)v"),
        ("cast(i32, -cast(u32, v))", "(int)-(unsigned int)v"),
    ] {
        assert_eq!(printed("i32", &format!("store y[0] = {value}")), format!("y[0] = {text};"));
    }
}

#[test]
fn magnitudes_by_types() {
    let magnitude = |of: &str| printed("i32", &format!("store y[0] = cast(i32, abs({of}))"));
    assert_eq!(magnitude("v"), "y[0] = absolute(v);");
    assert_eq!(magnitude("cast(u32, v)"), "y[0] = (int)(unsigned int)v;");
    assert_eq!(magnitude("cast(u8, v)"), "y[0] = (int)(unsigned char)v;");
    // Of eight bits the least value has no opposite, which C computes in int.
    assert_eq!(magnitude("cast(i8, v)"), "y[0] = (int)(signed char)abs((signed char)v);");
}

/// What `abs` is printed as is defined as the magnitude, by the type's own bits.
#[test]
fn the_magnitude_of_an_integer_is_defined_beside_the_kernel() {
    for (index, dtype, c, unsigned) in
        [("i32", "i32", "int", "unsigned int"), ("i32", "i64", "long long", "unsigned long long")]
    {
        let lines = source(index, &format!("store y[0] = cast(i32, abs(cast({dtype}, v)))"));
        let wanted = [
            format!("__device__ __forceinline__ {c} absolute(const {c} a) {{"),
            format!("return a < 0 ? ({c})(0 - ({unsigned})a) : a;"),
        ];
        assert!(lines.windows(2).any(|two| two == wanted), "{lines:#?}");
    }
}

/// Of a number of 64 bits the leading ones are counted too.
#[test]
fn leading_zeros_are_counted_in_all_bits_of_the_type() {
    let zeros =
        |dtype: &str| printed("i32", &format!("store y[0] = cast(i32, leading_zeros(cast({dtype}, v)))"));
    assert_eq!(zeros("u32"), "y[0] = __clz((unsigned int)v);");
    assert_eq!(zeros("u64"), "y[0] = __clzll((unsigned long long)v);");
}

#[test]
fn floats_are_rounded_to_their_type_and_keep_their_sign() {
    for (to, value, text) in [
        ("f", "0.1f32", "0.1f"),
        ("f", "-0.5f32", "-0.5f"),
        ("f", "-0.0f32", "-0.0f"),
        ("f", "f32.nan", "not_a_number"),
        ("f", "-f32.inf", "-infinity"),
        ("h", "0.1f64", "0.1"),
        ("h", "-1e300f64", "-1e300"),
    ] {
        assert_eq!(printed("i32", &format!("store {to}[0] = {value}")), format!("{to}[0] = {text};"));
    }
}
