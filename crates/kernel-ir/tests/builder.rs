//! Kernels built in Rust equal those read from text.

use loopwright_kernel_ir::{
    AddressSpace, DType::*, Expr, Fact, LoopKernel, UpdateOp, array, call, cast, reduce, select, sum, var,
};

fn parse(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|d| panic!("{}", d.render()))
}

#[test]
fn axpy() {
    let (x, y) = (array("x"), array("y"));
    let (a, n, i) = (var("a"), var("n"), var("i"));
    let built = LoopKernel::build("axpy")
        .array("x", F32, [&n])
        .array("y", F32, [&n])
        .scalar("a", F32)
        .scalar("n", I32)
        .domain("{ [i] : 0 <= i < n }")
        .assign(y.at([&i]), &a * x.at([&i]) + y.at([&i]))
        .id("update")
        .finish()
        .unwrap();
    let text = "\
kernel axpy(x: f32[n], y: f32[n], a: f32, n: i32)
domain { [i] : 0 <= i < n }
y[i] = a * x[i] + y[i] {id=update}
";
    assert_eq!(built, parse(text));
    assert_eq!(built.to_string(), text);
}

#[test]
fn everything_else() {
    let (x, out, best, t) = (array("x"), array("out"), array("best"), array("t"));
    let (n, i, j) = (var("n"), var("i"), var("j"));
    let row: Vec<Expr> = vec![i.clone(), j.clone()];
    let built = LoopKernel::build("k")
        .array("x", "T", [&n, &n])
        .array("out", "T", [&n])
        .array("best", I32, [&n])
        .scalar("n", I32)
        .assume("n >= 1 and n % 4 = 0")
        .fact(Fact::Range { array: "best".into(), lower: Some(Expr::Int(0)), upper: Some(n.clone()) })
        .domain("[n] -> { [i, j] : 0 <= i < n and 0 <= j < n }")
        .temporary("t", F32, [32], AddressSpace::Shared)
        .temp("v")
        .temp("k")
        .fast_math()
        .assign([var("v"), var("k")], reduce("argmax", ["j"], [x.at(row), j.clone()]))
        .id("pick")
        .assign(best.at([&i]), cast(I32, var("k")) % 7 - 1)
        .when(i.clone().lt(&n - 1).and(!var("k").equals(3)))
        .after(["pick"])
        .assign(t.at([i.clone() % 32]), call("exp", [-1.5 * cast(F32, var("v"))]).precise())
        .assign(out.at([&i]), select(i.clone().ge(2), var("v"), 0))
        .finish()
        .unwrap();
    let text = "\
kernel k(x: T[n, n], out: T[n], best: i32[n], n: i32)
option fast_math
assume 1 <= n and n mod 4 = 0
fact 0 <= best < n
domain { [i, j] : 0 <= i < n and 0 <= j < n }
temp t: f32[32] shared
<> v, k = argmax(j, x[i, j], j) {id=pick}
best[i] = cast(i32, k) % 7 - 1 if i < n - 1 and not k == 3 {dep=pick}
t[i % 32] = precise.exp(-1.5 * cast(f32, v))
out[i] = if(i >= 2, v, 0)
";
    assert_eq!(built, parse(text));
    assert_eq!(parse(&built.to_text()), built);
    assert_eq!(built.fingerprint(), parse(text).fingerprint());
}

#[test]
fn updates_are_those_of_the_text() {
    let (out, low, to, x) = (array("out"), array("low"), array("to"), array("x"));
    let i = var("i");
    let built = LoopKernel::build("scatter")
        .array("x", F32, ["n"])
        .array("to", I32, ["n"])
        .array("out", F32, ["m"])
        .array("low", I32, ["m"])
        .scalar("n", I32)
        .scalar("m", I32)
        .fact(Fact::Range { array: "to".into(), lower: Some(Expr::Int(0)), upper: Some(var("m")) })
        .domain("{ [i] : 0 <= i < n }")
        .update(out.at([to.at([&i])]), UpdateOp::Sum, 2 * x.at([&i]))
        .when(x.at([&i]).gt(0))
        .update(low.at([to.at([&i])]), UpdateOp::Min, i.clone())
        .id("least")
        .finish()
        .unwrap();
    let text = "\
kernel scatter(x: f32[n], to: i32[n], out: f32[m], low: i32[m], n: i32, m: i32)
fact 0 <= to < m
domain { [i] : 0 <= i < n }
out[to[i]] += 2 * x[i] if x[i] > 0
low[to[i]] min= i {id=least}
";
    assert_eq!(built, parse(text));
    assert_eq!(parse(&built.to_text()), built);
    assert_ne!(built, parse(&text.replace("min=", "max=")));
}

#[test]
fn updates_by_operators_have_names_without_a_sign() {
    let of = |operator: &str| {
        LoopKernel::build("k")
            .array("x", F32, ["n"])
            .scalar("n", I32)
            .domain("{ [i] : 0 <= i < n }")
            .update(array("x").at(["i"]), UpdateOp::By(operator.into()), 2)
            .finish()
    };
    let built = of("product").unwrap();
    assert_eq!(built, parse("kernel k(x: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\nx[i] product= 2\n"));
    assert_eq!(parse(&built.to_text()), built);
    // Its text would be that of `UpdateOp::Min`.
    let refused = of("min").unwrap_err().to_string();
    assert!(refused.starts_with("error[update-operator]: the update by `min` is `min=`"), "{refused}");
}

#[test]
fn what_is_wrong_is_said_at_the_end_with_places_in_the_print() {
    let error = LoopKernel::build("k")
        .array("x", F32, ["n"])
        .scalar("n", I32)
        .domain("{ [i] : 0 <= i < n }")
        .assign(array("x").at(["i"]), sum(["q"], var("nn")))
        .finish()
        .unwrap_err();
    assert_eq!(
        error.render(),
        "\
error[unknown-iname]: no domain has the iname `q`
 --> <kernel>:3:12
  |
3 | x[i] = sum(q, nn) {id=set_x}
  |            ^
  |
  = help: declare it: `domain { [q] : 0 <= q < n }`

error[unknown-name]: `nn` is not declared
 --> <kernel>:3:15
  |
3 | x[i] = sum(q, nn) {id=set_x}
  |               ^^
  |
  = help: do you mean `n`?"
    );
    let error = LoopKernel::build("k").domain("{ [i] : 0 <= i <").assign("x", 1).finish().unwrap_err();
    assert_eq!(error.0.len(), 1);
    assert_eq!(error.0[0].code, "syntax");
    let error = LoopKernel::build("k").scalar("a b", F32).assign(1, 1).id("x").finish().unwrap_err();
    assert_eq!(error.0[0].code, "not-writable");
    let error = LoopKernel::build("k").scalar("a b", F32).temp("t").assign("t", 1).finish().unwrap_err();
    assert_eq!(error.0.len(), 1, "{error}");
    assert_eq!(
        error.0[0].to_string(),
        "error[bad-name]: `a b` is not a name for an argument\n  help: a name is a letter, then \
         letters, digits and underscores, and not a keyword"
    );
}

#[test]
fn diagnostics_serialise() {
    let error =
        LoopKernel::parse_named("a.lw", "kernel k(n: i32)\ndomain { [i] : 0 <= i < m }\n").unwrap_err();
    let json: serde_json::Value = serde_json::to_value(&error).unwrap();
    assert_eq!(json[1]["code"], "unknown-name");
    assert_eq!((json[1]["line"].as_u64(), json[1]["column"].as_u64()), (Some(2), Some(25)));
    assert_eq!(json[1]["origin"], "a.lw");
    assert_eq!(json[1]["help"], "declare it as an argument: `m: i32`");
    assert!(json[1]["witness"].is_null());
}
