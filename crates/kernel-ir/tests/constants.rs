//! Constant tables: what texts and the builder declare, what is printed, what is refused.

use loopwright_kernel_ir::{
    Constant,
    DType::{F64, I32},
    Fact, LoopKernel, array, sum, var,
};

fn parse(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"))
}

/// The refusal of a kernel with these lines before its only instruction.
fn refused(lines: &str, instruction: &str) -> String {
    let text = format!(
        "kernel k(x: f32[n], y: f32[n], n: i32)\nassume 1 <= n\n{lines}\ndomain {{ [i] : 0 <= i < n }}\n{instruction}\n"
    );
    match LoopKernel::parse(&text) {
        Ok(kernel) => panic!("accepted: {kernel}"),
        Err(all) => {
            assert!(all.0.iter().all(|d| d.place.is_some()), "{all}");
            all.0.iter().map(|d| format!("{}: {}", d.code, d.message)).collect::<Vec<_>>().join("\n")
        }
    }
}

const STENCIL: &str = "\
kernel stencil(x: f64[n + 2], y: f64[n], n: i32)
assume n >= 1
domain { [i] : 0 <= i < n }
domain { [k] : 0 <= k <= 2 }
constant w: f64[3] = [0.25, 0.5, 0.25]
y[i] = sum(k, w[k]*x[i + k]) {id=apply}
";

#[test]
fn the_text_and_the_builder_declare_the_same_table() {
    let (w, x, y) = (array("w"), array("x"), array("y"));
    let (i, k, n) = (var("i"), var("k"), var("n"));
    let built = LoopKernel::build("stencil")
        .array("x", F64, [&n + 2])
        .array("y", F64, [&n])
        .scalar("n", I32)
        .assume("n >= 1")
        .domain("{ [i] : 0 <= i < n }")
        .domain("{ [k] : 0 <= k <= 2 }")
        .constant(Constant::new("w", F64, [3], [0.25, 0.5, 0.25]))
        .assign(y.at([&i]), sum(["k"], w.at([&k]) * x.at([&i + &k])))
        .id("apply")
        .finish()
        .unwrap();
    assert_eq!(built, parse(STENCIL));
    assert_eq!(built.args.len(), 3, "no caller passes it");
}

#[test]
fn tables_are_printed_with_their_values_and_read_back() {
    let long: Vec<String> = (0..40).map(|k| format!("{k}.5")).collect();
    let text = format!(
        "kernel k(x: f32[n], y: f32[n], n: i32)\nassume 1 <= n\ndomain {{ [i] : 0 <= i < n }}\n\
         domain {{ [a, b] : 0 <= a < 2 and 0 <= b < 3 }}\n\
         constant d: f32[2, 3] = [[1, -2, 3], [inf, 0.1, -inf]]\n\
         constant c: f32[2, 2, 1] = [\n    [[1], [2]],\n    [[3], [4],],\n]\n\
         constant l: f32[40] = [{}]\nconstant b8: bool[2] = [true, false]\n\
         y[i] = x[i]*l[3] + sum([a, b], d[a, b]) + c[1, 0, 0] if b8[0]\n",
        long.join(", ")
    );
    let kernel = parse(&text);
    let printed = kernel.to_string();
    assert!(printed.contains("constant d: f32[2, 3] = [[1, -2, 3], [inf, 0.1, -inf]]\n"), "{printed}");
    assert!(printed.contains("constant c: f32[2, 2, 1] = [[[1], [2]], [[3], [4]]]\n"), "{printed}");
    assert!(printed.lines().all(|l| l.len() <= 100), "{printed}");
    assert_eq!(parse(&printed), kernel);
    let json = serde_json::to_string(&kernel).unwrap();
    assert_eq!(serde_json::from_str::<LoopKernel>(&json).unwrap(), kernel);
}

#[test]
fn integer_tables_bring_the_facts_that_their_values_show() {
    let kernel = parse(
        "kernel gather(x: f32[5], y: f32[3])\nconstant t: i32[3] = [4, 0, 2]\n\
         domain { [i] : 0 <= i < 3 }\ny[i] = x[t[i]]\n",
    );
    let name = || "t".into();
    let range = Fact::Range { array: name(), lower: Some(0.into()), upper: Some(5.into()) };
    assert_eq!(kernel.facts, [range, Fact::Injective(name())]);
    assert_eq!(parse(&kernel.to_string()), kernel);
}

#[test]
fn wrong_tables_are_refused_with_their_place() {
    for (lines, instruction, expected) in [
        (
            "constant w: f32[2] = [1, 2, 3]",
            "y[i] = w[0]",
            "constant-shape: 3 values are given along axis 0 of `w`, whose length there is 2",
        ),
        (
            "constant w: f32[2, 2] = [[1, 2], [3]]",
            "y[i] = w[0, 0]",
            "constant-shape: 1 value is given along axis 1 of `w`, whose length there is 2",
        ),
        (
            "constant w: f32[n] = [1, 2]",
            "y[i] = w[0]",
            "constant-shape: `n` is no length of the constant table `w`",
        ),
        (
            "constant w: f32[0] = []",
            "y[i] = x[i]",
            "constant-shape: `0` is no length of the constant table `w`",
        ),
        (
            "constant w: i8[2] = [1, 200]",
            "y[i] = w[0]",
            "constant-value: `200` in the constant table `w` is no literal of type i8",
        ),
        (
            "constant w: i32[2] = [1, 2.5]",
            "y[i] = w[0]",
            "constant-value: `2.5` in the constant table `w` is no literal of type i32",
        ),
        (
            "constant w: f16[1] = [1e9]",
            "y[i] = w[0]",
            "constant-value: `1000000000.0` in the constant table `w` is no literal of type f16",
        ),
        (
            "constant w: f32[1] = [n]",
            "y[i] = w[0]",
            "constant-value: `n` in the constant table `w` is no literal of type f32",
        ),
        (
            "constant w: T[1] = [1]",
            "y[i] = x[i]",
            "open-type: the type `T` of the constant table `w` is open",
        ),
        (
            "constant w: f32[2] order(f) = [1, 2]\nconstant w2: f32[2 pad 1] = [1, 2]",
            "y[i] = w2[0]",
            "wrong-layout: the constant table `w2` has a layout, or hints",
        ),
        (
            "constant w: f32[2] = [1, 2]",
            "w[0] = x[i]",
            "not-writable: `w` is a constant table and cannot be assigned",
        ),
        (
            "constant w: f32[2] = [1, 2]",
            "w[0] += x[i]",
            "not-writable: `w` is a constant table and cannot be assigned",
        ),
        (
            "constant x: f32[2] = [1, 2]",
            "y[i] = x[0]",
            "duplicate-name: `x` is declared twice, as an argument and as a constant table",
        ),
        ("constant w: f32[2] = [1, 2]", "y[i] = w[i]", "out-of-bounds: `y[i]`"),
        (
            "constant t: i32[2] = [1, 2]\nfact 0 <= t < 2",
            "y[i] = t[0]",
            "constant-fact: `fact 0 <= t < 2` does not follow from the values of the table",
        ),
        (
            "constant t: i32[2] = [1, 2]\nfact 2 <= t < 3",
            "y[i] = t[0]",
            "constant-fact: `fact 2 <= t < 3` does not follow from the values of the table",
        ),
        (
            "constant t: i32[2] = [2, 1]\nfact monotone(t)",
            "y[i] = t[0]",
            "constant-fact: `fact monotone(t)` does not follow from the values of the table",
        ),
    ] {
        let found = refused(lines, instruction);
        if expected.starts_with("out-of-bounds") {
            assert!(found.starts_with("out-of-bounds"), "{found}");
        } else {
            assert_eq!(found, expected, "{lines}");
        }
    }
    for lines in [
        "constant w = [1]",
        "constant w: f32 = 1",
        "constant w: f32[2] = 1",
        "constant w: f32[2] = [[1, 2]]",
        "constant w: f32[1, 1] = [1]",
    ] {
        assert!(refused(lines, "y[i] = x[i]").starts_with("syntax: "), "{lines}");
    }
}

#[test]
fn a_called_kernel_and_a_fused_one_bring_their_tables_under_names_of_their_own() {
    let kernel = parse(
        "kernel outer(x: f32[n], y: f32[n], n: i32)\nassume 1 <= n\nconstant w: f32[1] = [2]\n\
         kernel scaled(a: f32[m], b: f32[m], m: i32) {\nconstant w: f32[1] = [3]\n\
         constant t: i32[2] = [1, 0]\n\
         domain { [j] : 0 <= j < m }\nb[j] = a[j]*w[0] + t[1]\n}\n\
         domain { [i] : 0 <= i < n }\ncall scaled(x, y)\ny[i] = y[i] + w[0]\n",
    );
    let tables: Vec<&str> = kernel.constants.iter().map(|c| c.array.name.as_str()).collect();
    assert_eq!(tables, ["w", "scaled_w", "scaled_t"]);
    assert!(kernel.facts.contains(&Fact::Injective("scaled_t".into())), "{kernel}");
    assert_eq!(parse(&kernel.to_string()), kernel);

    let stencil = parse(STENCIL);
    let second = parse(
        &STENCIL
            .replace("kernel stencil(x: f64[n + 2], y:", "kernel second(x: f64[n + 2], z:")
            .replace("y[i]", "z[i]")
            .replace("0.25, 0.5, 0.25", "1, 0, -1"),
    );
    let both = stencil.fuse(&second, "both").unwrap();
    assert_eq!(both.constants[1].array.name.as_str(), "w_2");
    assert_eq!(both.constants[1].values, second.constants[0].values);
    assert!(both.to_string().contains("w_2[k_2]"), "{both}");

    let batched = stencil.batched("b", "nb", ["x", "y"]).unwrap();
    assert_eq!(batched.constants, stencil.constants);
    assert!(stencil.batched("b", "nb", ["w", "y"]).is_err_and(|d| d.0[0].code == "unknown-name"));
}

#[test]
fn a_table_of_another_float_type_leaves_open_literals_undecided() {
    let text = |dtype: &str| {
        format!(
            "kernel k(x: f32[n], y: f32[n], n: i32)\nassume 1 <= n\ndomain {{ [i] : 0 <= i < n }}\n\
             constant w: {dtype}[1] = [1]\ny[i] = x[i] + cast(f32, w[0]) if sqrt(i) < 2\n"
        )
    };
    assert!(LoopKernel::parse(&text("f32")).is_ok());
    assert!(LoopKernel::parse(&text("f64")).is_err());
}

#[test]
fn real_tables_stand_beside_complex_numbers() {
    let kernel = parse(
        "kernel k(z: complex64[n], y: complex64[n], n: i32)\nassume 1 <= n\ndomain { [i] : 0 <= i < n }\n\
         constant w: f32[1] = [2]\ny[i] = z[i]*w[0]\n",
    );
    assert_eq!(kernel.constants.len(), 1);
    let refused = LoopKernel::parse(
        "kernel k(z: complex64[n], y: complex64[n], n: i32)\nassume 1 <= n\ndomain { [i] : 0 <= i < n }\n\
         constant w: complex64[1] = [2]\ny[i] = z[i]*w[0]\n",
    );
    assert!(refused.is_err());
}
