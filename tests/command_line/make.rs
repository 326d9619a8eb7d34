//! `make`: kernels that other commands take, and refusals that name what is wrong.

use crate::common::{Folder, call, call_with, out, refusal};

const KINDS: [&str; 6] = ["einsum", "map", "copy", "reduce", "scan", "top-k"];

/// The words of a call as a shell takes them.
fn words(line: &str) -> Vec<String> {
    line.split('\'')
        .enumerate()
        .flat_map(|(k, part)| match k % 2 {
            1 => vec![part.to_string()],
            _ => part.split_whitespace().map(str::to_string).collect(),
        })
        .collect()
}

/// The example in each help text is a call whose kernel runs and computes what it declares.
#[test]
fn examples_of_the_help_run() {
    let folder = Folder::new("make");
    for kind in KINDS {
        let help = out(&call(&["make", kind, "--help"]));
        let (_, example) =
            help.split_once("Example: loopwright ").unwrap_or_else(|| panic!("{kind}: {help}"));
        let arguments = words(example.lines().next().unwrap());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert_eq!(arguments[..2], ["make", kind]);
        let text = out(&call(&arguments));
        let file = folder.file("k.lw", &text);
        assert_eq!(out(&call(&["print", &file])), text, "{kind}: printed as it was read");
        let mut run: Vec<String> =
            ["run", &file, "--verify", "--device", "emulator"].map(String::from).into();
        let header = text.split(')').next().unwrap();
        for argument in header.split_once('(').unwrap().1.split(", ").filter_map(|a| a.split_once(": ")) {
            match argument {
                (name, "i32") => run.extend(["--set".into(), format!("{name}=9")]),
                (name, "f32") => run.extend(["--set".into(), format!("{name}=2.5")]),
                (name, _) if ["a", "b", "x", "y"].contains(&name) => {
                    run.extend(["--random".into(), name.to_string()]);
                }
                _ => {}
            }
        }
        let run: Vec<&str> = run.iter().map(String::as_str).collect();
        assert!(out(&call(&run)).contains("verified"), "{kind}: {text}");
    }
}

/// Through a pipe, a kernel is read once, although a command looks at it several times.
#[test]
fn a_kernel_from_a_pipe_runs() {
    let text = out(&call(&["make", "map", "2*x", "--shape", "n"]));
    let run = ["run", "-", "--set", "n=70", "--random", "x", "--verify", "--device", "emulator"];
    let output = call_with(&run, text.as_bytes());
    assert!(out(&output).contains("verified"));
    let output = call_with(&["run", "-", "--set", "n=70", "--device", "emulator"], text.as_bytes());
    let text = refusal(&output);
    assert!(text.contains("--random x"), "{text}");
}

#[test]
fn options_change_types_and_names() {
    let cases = [
        (
            "einsum ij,j --types f16 --acc f64 --out f32 --name mv",
            "kernel mv(a: f16[n_i, n_j], b: f16[n_j], out: f32[n_i], n_i: i32, n_j: i32)\n\
             assume 0 <= n_i and 0 <= n_j\n\
             domain { [i] : 0 <= i < n_i }\n\
             domain { [j] : 0 <= j < n_j }\n\
             out[i] = cast(f32, sum(j, cast(f64, a[i, j]) * cast(f64, b[j]))) {id=product}\n",
        ),
        (
            "einsum i,i->i --types f32,i64",
            "kernel einsum(a: f32[n_i], b: i64[n_i], out: f32[n_i], n_i: i32)\n\
             assume 0 <= n_i\n\
             domain { [i] : 0 <= i < n_i }\n\
             out[i] = a[i] * cast(f32, b[i]) {id=product}\n",
        ),
        (
            "map -a*x+y --shape n --scalar a=f64 --operand y=i32 --type f64",
            "kernel map(a: f64, x: f64[n], y: i32[n], out: f64[n], n: i32)\n\
             assume 0 <= n\n\
             domain { [i] : 0 <= i < n }\n\
             out[i] = -a * x[i] + y[i] {id=map}\n",
        ),
        (
            "copy --shape m,n --axes -1,0 --type i8",
            "kernel copy(x: i8[m, n], out: i8[n, m], m: i32, n: i32)\n\
             assume 0 <= m and 0 <= n\n\
             domain { [j, i] : 0 <= j < n and 0 <= i < m }\n\
             out[j, i] = x[i, j] {id=copy}\n",
        ),
        (
            "einsum ik,kj->ij --types complex64",
            "kernel einsum(\n    a: complex64[n_i, n_k],\n    b: complex64[n_k, n_j],\n    \
             out: complex64[n_i, n_j],\n    n_i: i32,\n    n_k: i32,\n    n_j: i32,\n)\n\
             assume 0 <= n_i and 0 <= n_k and 0 <= n_j\n\
             domain { [i, j] : 0 <= i < n_i and 0 <= j < n_j }\n\
             domain { [k] : 0 <= k < n_k }\n\
             out[i, j] = sum(k, a[i, k] * b[k, j]) {id=product}\n",
        ),
        (
            "einsum i,i->i --types complex128,f64",
            "kernel einsum(a: complex128[n_i], b: f64[n_i], out: complex128[n_i], n_i: i32)\n\
             assume 0 <= n_i\n\
             domain { [i] : 0 <= i < n_i }\n\
             out[i] = a[i] * b[i] {id=product}\n",
        ),
        (
            "map a*x+y --shape n --scalar a=f32 --type complex64",
            "kernel map(a: f32, x: complex64[n], y: complex64[n], out: complex64[n], n: i32)\n\
             assume 0 <= n\n\
             domain { [i] : 0 <= i < n }\n\
             out[i] = a * x[i] + y[i] {id=map}\n",
        ),
        (
            "copy --shape m,n --axes 1,0 --type complex128",
            "kernel copy(x: complex128[m, n], out: complex128[n, m], m: i32, n: i32)\n\
             assume 0 <= m and 0 <= n\n\
             domain { [j, i] : 0 <= j < n and 0 <= i < m }\n\
             out[j, i] = x[i, j] {id=copy}\n",
        ),
        (
            "reduce sum --shape n,4",
            "kernel reduce_sum(x: f32[n, 4], out: f32[1], n: i32)\n\
             assume 0 <= n\n\
             domain { [i, j] : 0 <= i < n and 0 <= j <= 3 }\n\
             out[0] = sum([i, j], x[i, j]) {id=reduce}\n",
        ),
        (
            "scan cummax --shape m,n --axis 0 --exclusive --type i32",
            "kernel cummax(x: i32[m, n], out: i32[m, n], m: i32, n: i32)\n\
             assume 0 <= m and 0 <= n\n\
             domain { [i, j] : 0 <= i < m and 0 <= j < n }\n\
             domain { [k] : 0 <= k < i }\n\
             out[i, j] = max(k, x[k, j]) {id=scan}\n",
        ),
    ];
    for (line, expected) in cases {
        let arguments: Vec<&str> = ["make"].into_iter().chain(line.split(' ')).collect();
        assert_eq!(out(&call(&arguments)), expected, "{line}");
    }
}

#[test]
fn refusals_name_the_letter_and_the_remedy() {
    let cases: [(&[&str], &str, &str); 8] = [
        (
            &["einsum", "ij,jk->iq"],
            "error[einsum-output]: the result has an axis `q`",
            "give `q` to an operand",
        ),
        (&["einsum", "...i->i"], "error[einsum-syntax]: `...` stands for axes", "write a letter for each"),
        (&["einsum", "i,j,k", "--types", "f32,f32"], "has 3 operands, but 2 types", "types of a, b, c"),
        (&["einsum", "i", "--types", "f31"], "error[unknown-type]: `f31` is no type", "f16, bf16, f32"),
        (&["copy", "--shape", "m,n", "--axes", "one"], "`one` is not the number of an axis", "--axes 1,0"),
        (&["reduce", "summ", "--shape", "n"], "there is no reduction `summ`", "do you mean `sum`?"),
        (&["top-k", "-1", "--shape", "n"], "error[generate-count]", "select 1 to 1024"),
        (
            &["map", "x[i + 1]", "--shape", "n"],
            "error[generate-expression]: the subscript",
            "stands for its element",
        ),
    ];
    for (arguments, message, remedy) in cases {
        let arguments: Vec<&str> = ["make"].into_iter().chain(arguments.iter().copied()).collect();
        let text = refusal(&call(&arguments));
        assert!(text.contains(message) && text.contains(remedy), "{arguments:?}: {text}");
    }
}
