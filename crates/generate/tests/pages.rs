//! The texts of kernels, in `pages.txt`, and the refusals, in `refusals.txt`.

#[macro_use]
mod common;

use loopwright_generate::{Generator, REDUCTIONS, SCANS, copy, einsum, map, reduce, scan, top_k};
use loopwright_kernel_ir::{
    DType::{BF16, Bool, E4M3, F16, F32, F64, I8, I32, I64, U8, U32},
    Diagnostic, LoopKernel,
};

use common::{Made, check};

fn with() -> Generator {
    Generator::new()
}

#[test]
fn kernels_read_as_if_they_were_written() {
    let calls: Vec<(&str, Made)> = calls![
        einsum("ik,kj->ij", [F32, F32]),
        einsum(" b i k , b k j ", [F64, F64]),
        einsum("ab,bc->ac", [F32, F32]),
        einsum("ii", [F32]),
        einsum("iji->j", [I8]),
        einsum("", [F32]),
        einsum(",i->i", [F32, F64]),
        einsum("i,ij,j->", [BF16, F16, E4M3]),
        einsum("xA,xB", [Bool, Bool]),
        with().acc(I32).einsum("i,i->", [Bool, Bool]),
        with().name("dot").acc(I64).out(I64).einsum("i,i", [I8, U8]),
        with().out(F64).einsum("i,i", [F32, F32]),
        with().acc(I64).einsum("i,i", [I32, U32]),
        copy("m, n, 4", &[2, 0, -2], F16),
        with().out(F16).copy("n", &[], F64),
        map("2*x + y", "m, n", F32),
        map("if(i < j, x, 1.0/n)", "n, n", F32),
        with().typed("y", I32).scalar("a").map("a*x + y", "8", F64),
        with().out(Bool).map("x < y", "n", F32),
        map("x + i", "i", F32),
        reduce("sum", "m, n", &[], F32),
        reduce("prod", "m, n, 4", &[1], F16),
        reduce("mean", "m, n, 4", &[0, -1], F16),
        reduce("mean", "m, 3, 4", &[1, 2], I32),
        reduce("min", "m, n", &[0], U8),
        reduce("any", "m, n", &[1], F32),
        with().out(I32).reduce("all", "n", &[], Bool),
        reduce("sum", "n", &[], Bool),
        with().acc(F32).reduce("mean", "n", &[], Bool),
        reduce("argmax", "m, n", &[-1], F32),
        scan("cumsum", "m, n", 1, F16),
        with().exclusive().scan("cummax", "m, n", 0, I32),
        top_k(3, "m, n", -1, F16),
        top_k(1, "8", 0, I32),
    ]
    .into();
    check("pages.txt", &calls);
    for (call, made) in calls {
        let kernel = made.unwrap_or_else(|d| panic!("{call}: {d}"));
        let read = LoopKernel::parse(&kernel.to_string()).unwrap_or_else(|d| panic!("{call}: {d}"));
        assert_eq!(read, kernel, "{call}");
    }
}

#[test]
fn refusals_say_what_to_do() {
    let calls: Vec<(&str, Made)> = calls![
        einsum("...ij->...ji", [F32]),
        einsum("ij->i->j", [F32]),
        einsum("i1", [F32]),
        einsum("i->i,i", [F32]),
        einsum("ij - > i", [F32]),
        einsum("ij,jk->iq", [F32, F32]),
        einsum("ij->ii", [F32]),
        einsum("i,j", [F32]),
        einsum("i", [F32, F32]),
        einsum("i,i", [I32, U32]),
        einsum("i,i", [Bool, F32]),
        copy("m, n", &[0], F32),
        copy("m, n", &[0, 0], F32),
        copy("m, n", &[0, 2], F32),
        reduce("sum", "n", &[-2], F32),
        copy("m,, n", &[], F32),
        copy("", &[], F32),
        copy("m, 0", &[], F32),
        copy("m, sin", &[], F32),
        copy("m, x", &[], F32),
        map("sum(i, x)", "n", F32),
        map("x[i]", "n", F32),
        map("x +", "n", F32),
        map("out", "n", F32),
        with().typed("z", I32).map("x + y", "n", F32),
        with().scalar("n").map("x + n", "n", F32),
        map("x < y", "n", F32),
        reduce("sums", "n", &[], F32),
        reduce("median", "n", &[], F32),
        reduce("argmin", "m, n", &[], F32),
        reduce("max", "n", &[], Bool),
        with().acc(F64).reduce("max", "n", &[], F32),
        with().acc(I32).reduce("mean", "n", &[], I32),
        with().acc(F16).einsum("i,i", [F16, F16]),
        with().acc(Bool).reduce("sum", "n", &[], Bool),
        scan("cumsu", "n", 0, F32),
        scan("cumsum", "n", 0, Bool),
        top_k(0, "n", 0, F32),
        top_k(3, "m, 2", 1, F32),
        top_k(1, "at", 0, F32),
        with().exclusive().reduce("sum", "n", &[], F32),
        with().scalar("x").copy("n", &[], F32),
        with().typed("a", F64).einsum("i,i", [F32, F32]),
        with().typed("x", F64).top_k(1, "n", 0, F32),
        with().name("a kernel").copy("n", &[], F32),
        einsum(&["i"; 33].join(","), [F32; 33]),
        einsum(&"i".repeat(33), [F32]),
        copy(&["n"; 33].join(","), &[], F32),
    ]
    .into();
    check("refusals.txt", &calls);
    for (call, made) in calls {
        let refusals = made.err().unwrap_or_else(|| panic!("{call} is refused"));
        // An expression's own errors are those of the language.
        let remedied = |d: &Diagnostic| d.help.is_some() || d.code == "syntax";
        assert!(refusals.0.iter().all(remedied), "{call}: {refusals}");
    }
}

/// Words that are listed are words that are taken.
#[test]
fn every_operator_has_a_kernel() {
    for op in REDUCTIONS {
        let _ = reduce(op, "m, n", &[0], F32).unwrap_or_else(|d| panic!("{op}: {d}"));
    }
    for op in SCANS {
        let _ = scan(op, "m, n", 0, F32).unwrap_or_else(|d| panic!("{op}: {d}"));
    }
}

/// What is not refused at the limits is a kernel, and what is beyond them never exhausts the stack.
#[test]
fn many_operands_and_axes_are_refused_or_made() {
    for n in [32, 33, 1000, 100_000] {
        assert_eq!(einsum(&vec!["i"; n].join(","), vec![F32; n]).is_ok(), n == 32);
        assert_eq!(einsum(&"i".repeat(n), [F32]).is_ok(), n == 32);
        assert_eq!(reduce("sum", &vec!["n"; n].join(","), &[], F32).is_ok(), n == 32);
        let sum: Vec<String> = (0..n).map(|k| format!("x{k}")).collect();
        assert_eq!(map(&sum.join(" + "), "n", F32).is_ok(), n == 32);
    }
    for text in ["(".repeat(100_000), "-".repeat(100_000), "x+".repeat(100_000), "\u{e9}->\0".into()] {
        assert!(map(&text, "n", F32).is_err());
        assert!(einsum(&text, [F32]).is_err());
        assert!(reduce(&text, &text, &[i64::MIN], F32).is_err());
        assert!(scan("cumsum", "n", i64::MIN, F32).is_err());
    }
}

/// More operands than there are letters.
#[test]
fn operands_are_called_by_letters_and_rounds() {
    let kernel = einsum(&["i"; 30].join(","), [F32; 30]).unwrap_or_else(|d| panic!("{d}"));
    let names: Vec<&str> = kernel.args.iter().map(|arg| &**arg.name()).collect();
    assert_eq!((names[0], names[25], names[26], names[29]), ("a", "z", "a1", "d1"));
    assert_eq!(names[30..], ["out", "n_i"]);
}
