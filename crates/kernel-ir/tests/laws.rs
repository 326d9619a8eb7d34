//! What is found of the laws of operators: of the library's, and of others that keep or break them.

use loopwright_kernel_ir::{DType, Law, LoopKernel, ReductionOp, Type};

fn laws_of(body: &str, input: DType) -> Vec<Law> {
    let text = format!(
        "kernel k(x: {input}[8], y: {input}[8])\n\
         reduction op(v) {{\n\
         {body}\n    trusted \"asked here\"\n\
         }}\n\
         domain {{ [i] : 0 <= i < 8 }}\n\
         y[i] = x[i]\n"
    );
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}"));
    let laws = kernel.reductions[0].laws(&kernel, &[Type::Known(input)]);
    assert!(laws.tested);
    laws.broken.iter().map(|(law, _)| *law).collect()
}

#[test]
fn the_librarys_operators_keep_what_they_claim() {
    let kernel = LoopKernel::parse("kernel k(y: f32[8])\ndomain { [i] : 0 <= i < 8 }\ny[i] = 1.0\n").unwrap();
    for name in ReductionOp::LIBRARY {
        let op = ReductionOp::library(name).unwrap();
        let types = if matches!(name, "any" | "all") { vec![DType::Bool] } else { DType::ALL[1..].to_vec() };
        for t in types {
            let laws = op.laws(&kernel, &[Type::Known(t), Type::Known(DType::I32)]);
            assert!(laws.tested);
            let broken: Vec<_> = laws
                .broken
                .iter()
                .filter(|(law, _)| match law {
                    Law::Idempotent => op.idempotent,
                    Law::Commutative => op.commutes,
                    _ => true,
                })
                .collect();
            assert!(broken.is_empty(), "{name} of {t}: {broken:?}");
        }
    }
}

#[test]
fn operators_that_are_right_pass() {
    use Law::{Commutative, Idempotent};
    let right = [
        // Moments as Chan, Golub and LeVeque join them.
        ("state n: f32 = 0, m: f32 = 0, q: f32 = 0
          lift n = 1, m = v, q = 0
          combine n = a.n + b.n, m = if(a.n + b.n > 0, (a.n*a.m + b.n*b.m) / (a.n + b.n), 0.0), q = a.q + b.q + if(a.n + b.n > 0, (b.m - a.m)*(b.m - a.m)*(a.n*b.n/(a.n + b.n)), 0.0)
          result m, q", vec![Idempotent]),
        // The logarithm of a sum of exponentials.
        ("state t: f32 = -inf, s: f32 = 0
          lift t = v, s = 1
          combine t = max((a.t), b.t), s = if(a.t > -inf, a.s*exp(a.t - max((a.t), b.t)), 0.0) + if(b.t > -inf, b.s*exp(b.t - max((a.t), b.t)), 0.0)
          result t + log(s)", vec![Idempotent]),
        // The last value.
        ("state s: f32 = 0, is: bool = false
          lift s = v, is = true
          combine s = if(b.is, b.s, a.s), is = a.is or b.is
          result s", vec![Commutative]),
        // Composition of affine functions.
        ("state f: f32 = 1, c: f32 = 0
          lift f = v, c = v*v - 1
          combine f = a.f*b.f, c = a.c*b.f + b.c
          result c", vec![Commutative, Idempotent]),
        // The greatest value, where what is below the neutral element cannot be: 8 bits hold
        // nothing less.
        ("state s: i32 = -128
          lift s = v
          combine s = max(a.s, b.s)
          result s", vec![]),
    ];
    for (k, (body, broken)) in right.into_iter().enumerate() {
        assert_eq!(laws_of(body, if k == 4 { DType::I8 } else { DType::F32 }), broken, "{body}");
    }
}

#[test]
fn operators_that_are_wrong_are_told_by_the_law_that_they_break() {
    use Law::{Associative, Commutative, Idempotent, Neutral};
    let simple = |neutral: &str, combine: &str| {
        format!("    state s: like v = {neutral}\n    lift s = v\n    combine s = {combine}\n    result s")
    };
    let wrong = [
        ("1.0", "a.s + b.s", DType::F32, vec![Neutral, Idempotent]),
        ("0.0000001", "a.s + b.s", DType::F32, vec![Neutral, Idempotent]),
        ("0", "a.s * b.s", DType::I32, vec![Neutral, Idempotent]),
        ("0.0", "max(a.s, b.s)", DType::F32, vec![Neutral]),
        ("-1.0e30", "max(a.s, b.s)", DType::F32, vec![Neutral]),
        ("-1.0e38", "max(a.s, b.s)", DType::F64, vec![Neutral]),
        ("-2147483647", "max(a.s, b.s)", DType::I32, vec![Neutral]),
        ("0.0", "a.s - b.s", DType::F32, vec![Neutral, Associative, Commutative, Idempotent]),
        ("0.0", "(a.s + b.s) * 0.5", DType::F32, vec![Neutral, Associative]),
        // Saturates on one side only.
        ("0", "min(a.s + b.s, 100)", DType::I32, vec![Neutral, Associative, Idempotent]),
        (
            "0.0",
            "a.s + b.s + 0.001 * a.s * b.s * b.s",
            DType::F32,
            vec![Associative, Commutative, Idempotent],
        ),
        ("0.0", "if(b.s != 0.0, b.s, a.s)", DType::F32, vec![Commutative]),
    ];
    for (neutral, combine, input, broken) in wrong {
        assert_eq!(laws_of(&simple(neutral, combine), input), broken, "{neutral}, {combine}");
    }
    // Equal values: the index of the earlier one, which is another one in the opposite order.
    let text = "kernel k(x: f32[8], y: i32[1])
reduction place(v, i) {
    state s: like v = -inf, k: i32 = 2147483647
    lift s = v, k = i
    combine s = max((a.s), b.s), k = if(b.s > a.s, b.k, a.k)
    result k
    trusted \"asked here\"
}
domain { [i] : 0 <= i < 8 }
y[0] = place(i, x[i], i)
";
    let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"));
    let op = &kernel.reductions[0];
    let laws = op.laws(&kernel, &[Type::Known(DType::F32), Type::Known(DType::I32)]);
    assert!(laws.witness(Law::Associative).is_none(), "{laws:?}");
    assert!(laws.witness(Law::Commutative).is_some(), "{laws:?}");
}

/// What an operator does at a value that only its own text names.
#[test]
fn the_constants_of_an_operator_are_tried() {
    use Law::{Associative, Commutative, Idempotent, Neutral};
    let simple = |lift: &str, combine: &str| {
        format!("    state s: like v = 0\n    lift s = {lift}\n    combine s = {combine}\n    result s")
    };
    let sum = vec![Idempotent];
    assert_eq!(laws_of(&simple("v", "a.s + b.s"), DType::F32), sum);
    let asymmetric = vec![Neutral, Associative, Commutative, Idempotent];
    for (lift, combine) in [
        ("v", "if(a.s == 1000, 0, a.s + b.s)"),
        ("v", "if(a.s > 999 and a.s < 1001, 0, a.s + b.s)"),
        // -c, the sum of two, and a value whose lifted one is the literal.
        ("v", "if(-a.s == 1000, 0, a.s + b.s)"),
        ("v", "if(a.s - 1000 == 77, 0, a.s + b.s)"),
        ("3*v + 1", "if(a.s == 1000, 0, a.s + b.s)"),
    ] {
        for t in [DType::F32, DType::F64, DType::I32, DType::I64] {
            assert_eq!(laws_of(&simple(lift, combine), t), asymmetric, "{lift}, {combine} of {t}");
        }
    }
    // Between two literals, close to one, and their quotients and products.
    for (combine, t) in [
        ("if(a.s > 1234.5 and a.s < 1234.6, b.s, a.s + b.s)", DType::F32),
        ("if(a.s > 1.0e20 and a.s < 1.5e20, b.s, a.s + b.s)", DType::F64),
        ("if(a.s < 3000.0 and a.s > 2999.0, b.s, a.s + b.s)", DType::F64),
        ("if(a.s > 5.0e7 and a.s < 50000008.0, b.s, a.s + b.s)", DType::F32),
        ("if(a.s*3 == 30003, b.s, a.s + b.s)", DType::I32),
        ("if(a.s*3.0 == 30003.0, b.s, a.s + b.s)", DType::F64),
        ("if(a.s // 7 == 1234, b.s, a.s + b.s)", DType::I32),
        ("if((a.s + 5) // 7 == 1234, b.s, a.s + b.s)", DType::I64),
        ("if((a.s ^ 123456789012) == 5, b.s, a.s + b.s)", DType::I64),
        ("if(a.s % 100003 == 5123, b.s, a.s + b.s)", DType::I32),
        ("if(a.s >= 4000 and a.s <= 5000, b.s, a.s + b.s)", DType::I32),
    ] {
        assert_eq!(laws_of(&simple("v", combine), t)[..2], [Neutral, Associative], "{combine} of {t}");
    }
    // In the second component.
    let second = "state s: like v = 0, t: like v = 0
          lift s = v, t = 2*v
          combine s = a.s + b.s, t = if(a.t == 4444, b.t, a.t + b.t)
          result s + t";
    assert_eq!(laws_of(second, DType::F32), asymmetric);
    // Constants that change nothing: a neutral element at the end of the range, a bound that is
    // never passed by all that combine.
    let least = "state s: like v = -2147483648
          lift s = v
          combine s = max(a.s, b.s)
          result s";
    assert_eq!(laws_of(least, DType::I32), []);
    let counted = "state s: like v = 0, n: i32 = 0
          lift s = if(v > 1000, 1000, v), n = 1
          combine s = a.s + b.s, n = a.n + b.n
          result if(n > 12, s, 2*s)";
    assert_eq!(laws_of(counted, DType::F32), sum);
}

/// Steps at values that no drawn state has to meet: whether there are any is read off the text.
#[test]
fn tests_say_nothing_of_steps_at_values_that_few_states_have() {
    let missed = |state: &str, combine: &str, t: DType| {
        let text = format!(
            "kernel k(x: {t}[8], y: {t}[8])\nreduction op(v) {{\n    state {state}\n    lift s = v\n    \
             combine s = {combine}\n    result s\n    trusted \"asked here\"\n}}\n\
             domain {{ [i] : 0 <= i < 8 }}\ny[i] = x[i]\n"
        );
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}"));
        let laws = kernel.reductions[0].laws(&kernel, &[Type::Known(t)]);
        assert!(laws.tested);
        laws.missed.as_ref().map(ToString::to_string)
    };
    let (sum, least) = ("s: like v = 0", "s: like v = lowest()");
    for (state, combine, part) in [
        (sum, "if(b.s > 1234.5 and b.s < 1234.6, b.s, a.s + b.s)", "b.s > 1234.5"),
        (sum, "if(abs(b.s - 3.14159) < 0.001, b.s, a.s + b.s)", "abs(b.s - 3.14159) < 0.001"),
        (sum, "if(a.s*b.s > 1000.0, a.s, a.s + b.s)", "a.s * b.s > 1000.0"),
        (sum, "if(a.s + a.s + a.s > b.s, a.s, a.s + b.s)", "a.s + a.s + a.s > b.s"),
        (least, "if(a.s - b.s > 300.0, a.s, max(a.s, b.s))", "a.s - b.s > 300.0"),
        (least, "max(a.s, min(b.s, 1.0e30))", "min(b.s, 1e30)"),
        (sum, "a.s + b.s + floor(a.s)", "floor(a.s)"),
        (sum, "a.s + cast(f16, b.s)", "cast(f16, b.s)"),
        (sum, "a.s + cast(i32, b.s)", "cast(i32, b.s)"),
        (sum, "fdim(a.s, 77) + b.s", "fdim(a.s, 77)"),
        (sum, "a.s + b.s + abs(a.s - 1)", "abs(a.s - 1)"),
        // Products of drawn values are seldom equal to others.
        (sum, "if(a.s*b.s == a.s, b.s, a.s + b.s)", "a.s * b.s == a.s"),
        ("s: like v = 1", "if(a.s == 2, b.s, a.s*b.s)", "a.s == 2"),
    ] {
        assert_eq!(missed(state, combine, DType::F32).as_deref(), Some(part), "{combine}");
    }
    for (combine, part) in [
        ("if(a.s*3 == 30003, b.s, a.s + b.s)", "a.s * 3 == 30003"),
        ("if(a.s // 7 == 1234, b.s, a.s + b.s)", "a.s // 7 == 1234"),
        ("(a.s + b.s) // 1", "(a.s + b.s) // 1"),
        ("(a.s + b.s) % 1000003", "(a.s + b.s) % 1000003"),
        ("(a.s + b.s) & 65535", "a.s + b.s & 65535"),
        ("(a.s << 5) + b.s", "a.s << 5"),
        ("a.s + (b.s >> 30)", "b.s >> 30"),
        ("a.s + cast(i16, b.s)", "cast(i16, b.s)"),
        ("a.s + cast(i32, cast(u32, b.s))", "cast(i32, cast(u32, b.s))"),
        ("if(cast(bool, a.s - 7), a.s + b.s, b.s)", "cast(bool, a.s - 7)"),
    ] {
        assert_eq!(missed(sum, combine, DType::I32).as_deref(), Some(part), "{combine}");
    }
    // Between values of the state, 0 and the neutral values; nothing but a formula.
    for (state, combine) in [
        (sum, "a.s + b.s"),
        (sum, "if(b.s == 0, a.s, b.s)"),
        ("s: like v = -77", "if(b.s == -77, a.s, b.s)"),
        (least, "max(a.s, b.s)"),
        (least, "if(a.s < b.s, b.s, a.s)"),
        (least, "if(a.s == lowest(), b.s, max(a.s, b.s))"),
        (sum, "if(abs(a.s) < abs(b.s) or abs(a.s) == abs(b.s) and a.s <= b.s, a.s, b.s)"),
        (sum, "if(a.s - b.s > 0, a.s, b.s)"),
        (sum, "a.s*b.s - 3*b.s"),
        (least, "max(a.s*b.s, b.s)"),
    ] {
        for t in [DType::F32, DType::F64, DType::I32, DType::I64] {
            assert_eq!(missed(state, combine, t), None, "{combine} of {t}");
        }
    }
    for combine in ["max(a.s, b.s) + log1p(exp(-abs(a.s - b.s)))", "sqrt(a.s*a.s + b.s*b.s)", "a.s/b.s"] {
        assert_eq!(missed(sum, combine, DType::F32), None, "{combine}");
    }
    assert_eq!(missed("s: f64 = 0", "a.s + cast(f64, b.s)", DType::F32), None);
    assert_eq!(missed("s: i64 = 0", "max(a.s, cast(i64, b.s))", DType::I32), None);
}

/// A state that no drawn input leads to obeys the laws if all states do.
#[test]
fn states_of_inputs_that_are_not_drawn_count() {
    let of = |lift: &str, combine: &str, t: DType| {
        let text = format!(
            "kernel k(x: {t}[8], y: {t}[8])\nreduction op(v) {{\n    state s: like v = 0, w: i32 = 0\n    \
             lift s = v, w = {lift}\n    combine s = {combine}, w = max(a.w, b.w)\n    result s\n    \
             trusted \"asked here\"\n}}\ndomain {{ [i] : 0 <= i < 8 }}\ny[i] = x[i]\n"
        );
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}"));
        let laws = kernel.reductions[0].laws(&kernel, &[Type::Known(t)]);
        assert_eq!((laws.tested, &laws.missed), (true, &None));
        laws.unreached.as_ref().map(|(part, broken)| (part.to_string(), broken.clone()))
    };
    let rare = "if((v*v + 12345) // 77 == 4999947, 1, 0)";
    let part = "(v * v + 12345) // 77 == 4999947".to_string();
    let skips = of(rare, "if(b.w != 0, b.s, a.s + b.s)", DType::I32).unwrap();
    assert_eq!(skips.0, part);
    assert!(skips.1.contains(&Law::Associative), "{skips:?}");
    // A sum is one of all states.
    assert_eq!(of(rare, "a.s + b.s", DType::I32).unwrap(), (part, vec![Law::Idempotent]));
    assert_eq!(of("if(v == 0, 1, 0)", "if(b.w != 0, b.s, a.s + b.s)", DType::I32), None);
}

/// Results that drawn states do not tell apart may differ for others.
#[test]
fn a_result_with_steps_hides_no_difference() {
    let hidden = |result: &str| {
        format!(
            "state s: like v = 0, t: like v = 0
             lift s = v, t = v
             combine s = a.s + b.s, t = if(b.s == 0, a.t, b.t - a.t)
             result {result}"
        )
    };
    assert!(!laws_of(&hidden("s"), DType::F32).contains(&Law::Associative));
    assert!(laws_of(&hidden("if(s == 1234.5, t, s)"), DType::F32).contains(&Law::Associative));
    assert!(laws_of(&hidden("if(s > 1234.5 and s < 1234.6, t, s)"), DType::F32).contains(&Law::Associative));
}

#[test]
fn a_forgotten_commutes_is_noticed() {
    let text = |combine: &str, word: &str| {
        format!(
            "kernel k(x: f32[8], y: f32[1])\n\
             reduction op(v) {{\n    state s: f32 = 0\n    lift s = v\n    combine s = \
             {combine}\n    result s\n    {word}\n\
             }}\n\
             domain {{ [i] : 0 <= i < 8 }}\n\
             y[0] = op(i, x[i])\n"
        )
    };
    for (combine, word, forgets) in [
        ("a.s + b.s", "", true),
        ("a.s + b.s", "commutes", false),
        ("if(b.s != 0.0, b.s, a.s)", "", false),
        ("if(b.s == 1000, 0, a.s + b.s)", "trusted \"asked here\"", false),
    ] {
        let kernel = LoopKernel::parse(&text(combine, word)).unwrap_or_else(|d| panic!("{d}"));
        let help = kernel.forgotten_commutes(&kernel.reductions[0]);
        assert_eq!(help.is_some(), forgets, "{combine} {word}");
    }
}

/// An operator that nothing uses is tested with the numbers that it takes.
#[test]
fn unused_operators_may_be_of_integers() {
    let text = |combine: &str| {
        format!(
            "kernel k(y: f32[1])\n\
             reduction op(v) {{\n    state s: i32 = 0\n    lift s = v >> 1\n    combine s = \
             {combine}\n    result s\n\
             }}\n\
             domain {{ [i] : 0 <= i < 1 }}\n\
             y[i] = 0.0\n"
        )
    };
    let _ = LoopKernel::parse(&text("a.s + b.s")).unwrap_or_else(|d| panic!("{d}"));
    let refused = LoopKernel::parse(&text("a.s - b.s")).unwrap_err();
    assert!(refused.0.iter().all(|d| d.code == "not-associative" || d.code == "not-neutral"), "{refused}");
}
