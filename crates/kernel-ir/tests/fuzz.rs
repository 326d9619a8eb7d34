//! Reading any bytes as a kernel gives a kernel that prints and reads back equal, or a diagnostic
//! that can be rendered. It never panics.

use std::{fs, path::Path, sync::OnceLock};

use loopwright_kernel_ir::{BinaryOp, DType, Expr, Float, LoopKernel, UnaryOp, parse_expression};
use proptest::prelude::*;

/// Reads a text and requires one of the two outcomes.
fn read(text: &[u8]) {
    match LoopKernel::parse_bytes("fuzz", text) {
        Ok(kernel) => {
            let printed = kernel.to_text();
            match LoopKernel::parse(&printed) {
                Ok(again) => assert_eq!(again, kernel, "reads back as a different kernel:\n{printed}"),
                Err(d) => panic!("does not read back:\n{}\n{printed}", d.render()),
            }
        }
        Err(d) => {
            assert!(!d.0.is_empty());
            assert!(!d.render().is_empty());
        }
    }
}

/// The kernels of the filetests, including the refused ones.
fn corpus() -> &'static [String] {
    static CORPUS: OnceLock<Vec<String>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel-ir/tests/filetests");
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        let texts = files.iter().map(|f| fs::read_to_string(f).unwrap());
        texts
            .map(|t| t.split("\n====").next().unwrap_or("").to_string())
            .filter(|t| t.starts_with("kernel"))
            .collect()
    })
}

#[test]
fn truncated_kernels() {
    for text in corpus() {
        for end in 0..text.len() {
            read(&text.as_bytes()[..end]);
        }
    }
}

#[test]
fn deep_nesting() {
    let head = "kernel k(x: f32[n], n: i32)\n";
    let domain = "domain { [i] : 0 <= i < n }\n";
    let deep = |s: &str| s.repeat(20_000);
    for text in [
        deep("("),
        deep("["),
        deep("{"),
        format!("{head}{domain}x[i] = {}", deep("(")),
        format!("{head}{domain}x[i] = {}1{}", deep("("), deep(")")),
        format!("{head}{domain}x[i] = {}1", deep("-")),
        format!("{head}{domain}x[i] = {}1", deep("+")),
        format!("{head}{domain}x[i] = {}true", deep("not ")),
        format!("{head}{domain}x[i] = 1{}", deep(" + 1")),
        format!("{head}{domain}x[i] = 0{}", deep(" < 1")),
        format!("{head}{domain}x[i] = {}", deep("x[")),
        format!("{head}{domain}x[i] = {}", deep("exp(")),
        format!("{head}{domain}x[i] = {}", deep("if(")),
        format!("{head}{domain}x[i] = {}", deep("sum(i, ")),
        format!("{head}{domain}x{} = 1", deep("[i")),
        format!("{head}domain {{ [i] : {}", deep("(")),
        format!("{head}domain {{ [i] : {}i < n }}", deep("-")),
        format!("{head}domain {{ [i] : {}", deep("floor(")),
        format!("{head}domain {{ [i] : {}", deep("2")),
        format!("{head}domain {{ [i] : 0 <= i{}", deep(", i")),
        format!("{head}tree {{ {}", deep("for i { ")),
        format!("{head}{}", deep("declared { kernel k()\n")),
        format!("kernel k({}", deep("x: f32[")),
    ] {
        read(text.as_bytes());
    }
}

/// Applies one mutation to a text.
fn mutate(text: &mut Vec<u8>, kind: u8, at: usize, length: usize, insert: &str) {
    let at = at % (text.len() + 1);
    let end = (at + length).min(text.len());
    match kind {
        0 => drop(text.drain(at..end)),
        1 => {
            let copy = text[at..end].to_vec();
            let to = length * 7 % (text.len() + 1);
            text.splice(to..to, copy);
        }
        _ => drop(text.splice(at..at, insert.bytes())),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(&bytes);
    }

    #[test]
    fn random_text_of_tokens(tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..60)) {
        read(format!("kernel k(x: f32[n], n: i32)\n{}", tokens.join(" ")).as_bytes());
    }

    #[test]
    fn mutated_kernels(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(
            (0u8..4, any::<usize>(), 1usize..30, prop::sample::select(TOKENS)), 1..4),
    ) {
        let mut text = which.get(corpus()).clone().into_bytes();
        for (kind, at, length, insert) in changes {
            mutate(&mut text, kind, at, length, insert);
        }
        read(&text);
    }

    #[test]
    fn expressions_read_back(e in expression()) {
        let text = e.to_string();
        let again = parse_expression(&text);
        prop_assert_eq!(again.as_ref().ok(), Some(&e), "{}", text);
    }
}

const TOKENS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    ";",
    "=",
    "<",
    ">",
    "<=",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "&",
    "|",
    "^",
    "~",
    ".",
    "->",
    "\n",
    "i",
    "j",
    "n",
    "x",
    "x[i]",
    "0",
    "1",
    "16",
    "9223372036854775807",
    "1.5",
    "1e300",
    "and",
    "or",
    "not",
    "if",
    "sum",
    "max",
    "argmax",
    "cast",
    "f32",
    "T",
    "domain",
    "assume",
    "fact",
    "temp",
    "let",
    "tag",
    "tree",
    "for",
    "declared",
    "kernel",
    "function",
    "reduction",
    "option",
    "true",
    "inf",
    "floor",
    "mod",
    "id",
    "{id=a}",
    "{ [i] : 0 <= i < n }",
    "x[i] = 1",
    "kernel f(v: T[m], out r: T, m: i32) {",
    "call f(x[i:], r)",
    "y = f(x)",
    "out",
    "call",
    "é",
    "\u{0}",
    "#",
];

/// Any expression that text can represent, without reductions, which need inames.
fn expression() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Expr::Int),
        (-3i64..3).prop_map(Expr::Int),
        any::<f64>().prop_filter("one NaN is printed", |v| !v.is_nan()).prop_map(|v| Expr::Float(Float(v))),
        any::<bool>().prop_map(Expr::Bool),
        prop::sample::select(vec!["a", "b", "n"]).prop_map(Expr::name),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let ops = prop::sample::select(vec![
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Div,
            BinaryOp::FloorDiv,
            BinaryOp::Mod,
            BinaryOp::Lt,
            BinaryOp::Ge,
            BinaryOp::Eq,
            BinaryOp::Ne,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::BitAnd,
            BinaryOp::BitOr,
            BinaryOp::BitXor,
            BinaryOp::Shl,
            BinaryOp::Shr,
        ]);
        let unary = prop::sample::select(vec![UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot]);
        prop_oneof![
            (ops, inner.clone(), inner.clone()).prop_map(|(op, a, b)| Expr::binary(op, a, b)),
            (unary, inner.clone()).prop_map(|(op, a)| Expr::Unary(op, a.into())),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(c, a, b)| Expr::If(
                c.into(),
                a.into(),
                b.into()
            )),
            inner.clone().prop_map(|a| Expr::Cast(DType::F64.into(), a.into())),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|args| Expr::Call {
                function: "hypot".into(),
                precision: None,
                args
            }),
            prop::collection::vec(inner, 0..3).prop_map(|index| loopwright_kernel_ir::array("x").at(index)),
        ]
    })
}
