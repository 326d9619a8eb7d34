//! What the statements of finished programs compute is held to the kernel: programs of which one
//! value, one element or one condition is another one are refused.

use loopwright_cuda_target::cuda_source;
use loopwright_kernel_ir::{DType, LoopKernel, Name, Role};
use loopwright_lowering::{
    LowerOptions, lower,
    program::{BinOp, Memory, Program, Purpose, Stmt, UnOp, Value, ValueKind},
    verify::verify_kernel,
};
use loopwright_transforms::Pipeline;

use crate::common;

/// Of each operation and type something: elements of two arrays alike, conversions, predicates,
/// choices, calls, an operator with two values, subscripts from data.
const KERNELS: [(&str, &str); 6] = [
    (
        "\
kernel k(x: f32[n], w: f32[n], y: f64[n], n: i32)
assume 0 <= n
domain { [i] : 0 <= i < n }
y[i] = cast(f64, x[i] - 2.0 * w[i]) - 1.5 if x[i] < w[i] {id=put}
",
        "split_iname(i, 128)\ntag_inames(i_outer: block.x, i_inner: thread.x)",
    ),
    (
        "\
kernel k(x: f32[n], w: f32[n], y: f32[n], n: i32)
assume 0 <= n and n mod 4 = 0
domain { [i] : 0 <= i < n }
y[i] = if(x[i] < w[i], exp(x[i] - w[i]), y[i] / w[i]) {id=put}
",
        "split_iname(i, 512)\nsplit_iname(i_inner, 4, outer=i_thread, inner=i_vec)\n\
         tag_inames(i_outer: block.x, i_thread: thread.x, i_vec: vec)",
    ),
    (
        "\
kernel k(x: f32[n, m], y: f32[n], z: i32[n], n: i32, m: i32)
assume 0 <= n and 0 <= m
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < m }
y[i], z[i] = argmin(j, x[i, j] - 0.5, j - 1) {id=best}
",
        "split_iname(j, 4)\ntag_inames(i: block.x, j_inner: ilp)",
    ),
    (
        "\
kernel k(x: f32[m], at: i32[n], y: i32[n], n: i32, m: i32)
assume 0 <= n and 0 <= m
fact 0 <= at < m
domain { [i] : 0 <= i < n }
y[i] = (i - 3) // 4 - at[i] % 5 + cast(i32, x[at[i]]) {id=put}
",
        "tag_inames(i: block.x)",
    ),
    (
        "\
kernel k(x: f16[n, m], y: f32[n], n: i32, m: i32)
assume 0 <= n and 0 <= m
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < m }
temp t: f32[n] private
y[i] = max(j, x[i, j] - 1.0) - sum(j, x[i, j]) {id=both}
",
        "split_iname(i, 64)\ntag_inames(i_outer: block.x, i_inner: thread.x)",
    ),
    (
        "\
kernel k(x: f32[n, m], y: f32[n, m], n: i32, m: i32)
assume 0 <= n and 0 <= m
domain { [i] : 0 <= i < n }
domain { [k] : 0 <= k < m }
domain { [j] : 0 <= j <= k }
y[i, k] = sum(j, x[i, j]) - 1.0 {id=sums}
",
        "realize_scan(k, j)\nsplit_iname(k, 64)\nsplit_iname(k_inner, 2, outer=k_thread, inner=k_part)\n\
         tag_inames(i: block.x, k_thread: thread.x, k_part: ilp)",
    ),
];

/// The programs, each with the kernel that it is held to.
fn programs() -> Vec<(String, LoopKernel, Program)> {
    let examples = common::examples().iter().chain(common::polybench());
    let mut kernels: Vec<(String, LoopKernel)> = examples.map(|e| (e.name(), e.transformed())).collect();
    for (number, (kernel, pipeline)) in KERNELS.iter().enumerate() {
        let kernel = LoopKernel::parse(kernel).unwrap_or_else(|d| panic!("{number}: {d}"));
        let kernel = Pipeline::parse(pipeline).and_then(|p| p.apply(&kernel));
        kernels.push((format!("kernel {number}"), kernel.unwrap_or_else(|d| panic!("{number}: {d}"))));
    }
    let mut found = Vec::new();
    for (name, kernel) in kernels {
        // What flattened nests compute is not held to the kernel.
        if let Some((kernel, program)) = common::held_to_kernel(&name, &kernel) {
            found.push((name, kernel, program));
        }
    }
    found
}

/// One change of a value.
type Spoil = fn(&Program, &mut Value) -> bool;

/// Changes of values, each of which gives another one.
const SPOILS: [(&str, Spoil); 8] = [
    ("another constant", |_, v| match &mut v.kind {
        ValueKind::Float(c) if c.is_infinite() => {
            *c = 0.0;
            true
        }
        ValueKind::Float(c) => {
            *c = 2.0 * *c + 1.0;
            true
        }
        _ => false,
    }),
    ("operands exchanged", |_, v| match &mut v.kind {
        ValueKind::Binary(BinOp::Sub | BinOp::Div | BinOp::Lt | BinOp::Gt, a, b) if a != b => {
            std::mem::swap(a, b);
            true
        }
        _ => false,
    }),
    ("another operation", |_, v| match &mut v.kind {
        ValueKind::Binary(op, a, _) if a.dtype.is_float() => {
            *op = match op {
                BinOp::Add => BinOp::Sub,
                BinOp::Sub => BinOp::Add,
                BinOp::Mul => BinOp::Div,
                BinOp::Div => BinOp::Mul,
                BinOp::Min => BinOp::Max,
                BinOp::Max => BinOp::Min,
                BinOp::Lt => BinOp::Le,
                _ => return false,
            };
            true
        }
        _ => false,
    }),
    ("no conversion", |_, v| match &mut v.kind {
        ValueKind::Cast(a) if v.dtype.is_float() || a.dtype.is_float() => {
            v.kind = a.kind.clone();
            true
        }
        _ => false,
    }),
    ("another array", |program, v| match &mut v.kind {
        ValueKind::Load(from) => {
            let Memory::Global(own) = from.memory else { return false };
            let shape = &program.globals[own].shape;
            let other = (0..program.globals.len())
                .find(|g| *g != own && program.globals[*g].shape.len() == shape.len());
            let Some(other) = other.filter(|g| program.globals[*g].strides == program.globals[own].strides)
            else {
                return false;
            };
            from.memory = Memory::Global(other);
            true
        }
        _ => false,
    }),
    ("a neighbour", |_, v| match &mut v.kind {
        ValueKind::Load(from) if from.subscripts.last().is_some_and(|s| s.as_int().is_none()) => {
            let last = from.subscripts.len() - 1;
            let one = Value::int(from.offset.dtype, 1);
            // The offset is left: a check of its own sees that it is wrong, so move both.
            from.subscripts[last] = Value::binary(BinOp::Add, from.subscripts[last].clone(), one.clone());
            *from.offset = Value::binary(BinOp::Add, (*from.offset).clone(), one);
            true
        }
        _ => false,
    }),
    ("negated", |_, v| match &mut v.kind {
        ValueKind::Load(_) if v.dtype.is_float() => {
            *v = Value { dtype: v.dtype, kind: ValueKind::Unary(UnOp::Neg, Box::new(v.clone())) };
            true
        }
        _ => false,
    }),
    ("another function", |_, v| match &mut v.kind {
        ValueKind::Call { function, .. } if **function != *"sin" => {
            *function = Name::new("sin");
            true
        }
        _ => false,
    }),
];

/// Applies a change to the value with this number; counts down to `usize::MAX`.
fn in_value(program: &Program, v: &mut Value, spoil: Spoil, left: &mut usize) {
    if *left == usize::MAX {
        return;
    }
    let mut changed = v.clone();
    if spoil(program, &mut changed) {
        if *left == 0 {
            *v = changed;
            *left = usize::MAX;
            return;
        }
        *left -= 1;
    }
    match &mut v.kind {
        ValueKind::Unary(_, a) | ValueKind::Cast(a) => in_value(program, a, spoil, left),
        ValueKind::Binary(_, a, b) => [a, b].into_iter().for_each(|v| in_value(program, v, spoil, left)),
        ValueKind::Select(c, a, b) => [c, a, b].into_iter().for_each(|v| in_value(program, v, spoil, left)),
        ValueKind::Call { args, .. } => args.iter_mut().for_each(|v| in_value(program, v, spoil, left)),
        _ => {}
    }
}

fn in_body(program: &Program, body: &mut [Stmt], spoil: Spoil, left: &mut usize) {
    for stmt in body {
        match stmt {
            // Of two buffers that are filled, one may be with anything, if their product is zero.
            Stmt::Store { value, leaf: Some(leaf), .. }
                if matches!(program.leaves[leaf.0].role, Role::Copies { .. }) =>
            {
                if let ValueKind::Select(_, copied, _) = &mut value.kind {
                    in_value(program, copied, spoil, left);
                } else {
                    in_value(program, value, spoil, left);
                }
            }
            Stmt::Let { value, leaf: Some(_), .. }
            | Stmt::Set { value, leaf: Some(_), .. }
            | Stmt::Store { value, leaf: Some(_), .. }
            | Stmt::Update { value, leaf: Some(_), .. } => in_value(program, value, spoil, left),
            Stmt::If { cond, note, .. } if note.is_predicate() => in_value(program, cond, spoil, left),
            // How joins combine is checked elsewhere.
            Stmt::Collective { .. } => continue,
            _ => {}
        }
        stmt.bodies_mut().for_each(|body| in_body(program, body, spoil, left));
    }
}

/// Changes after which the results are the same. What fills the elements beyond the end of one
/// factor may be another number: the zeros of the other factor still make their products zero.
const HARMLESS: [&str; 2] = ["matmul_bf16/mma: another constant 1", "matmul_bf16/mma: another constant 2"];

#[test]
fn zeros_that_fill_one_factor_at_least_are_needed() {
    let (_, kernel, program) =
        programs().into_iter().find(|(name, ..)| name == "matmul_bf16/mma").expect("it is an example");
    let text = program.to_text();
    for (value, refused) in [("1.0bf16", true), ("0.0bf16", false)] {
        let variant = Program::parse(&text.replace("= 0.0bf16 {", &format!("= {value} {{")));
        let variant = variant.unwrap_or_else(|d| panic!("{d}"));
        assert_eq!(verify_kernel(&kernel, &variant).refusal().is_some(), refused, "{value}");
    }
}

#[test]
fn a_statement_that_computes_something_else_is_refused() {
    let mut passed = Vec::new();
    let mut counts = [0; SPOILS.len()];
    for (name, kernel, program) in programs() {
        assert_eq!(verify_kernel(&kernel, &program).refusal(), None, "{name}");
        for (k, (what, spoil)) in SPOILS.iter().enumerate() {
            for number in 0.. {
                let mut variant = program.clone();
                let mut left = number;
                for kernel in &mut variant.kernels {
                    in_body(&program, &mut kernel.body, *spoil, &mut left);
                }
                if left != usize::MAX {
                    break;
                }
                counts[k] += 1;
                if verify_kernel(&kernel, &variant).refusal().is_none() {
                    passed.push(format!("{name}: {what} {number}"));
                }
            }
        }
    }
    assert_eq!(passed, HARMLESS);
    assert!(counts.iter().all(|n| *n >= 3), "{counts:?}");
}

/// The statements that give values, by their place in the text.
fn given<'p>(program: &Program, body: &'p mut [Stmt], found: &mut Vec<&'p mut Stmt>) {
    for stmt in body {
        let gives = |leaf: &usize| matches!(program.leaves[*leaf].purpose, Purpose::Value(_));
        match stmt {
            Stmt::Store { leaf: Some(leaf), .. } if gives(&leaf.0) => found.push(stmt),
            Stmt::For { body, .. } => given(program, body, found),
            Stmt::If { body, otherwise, .. } => {
                given(program, body, found);
                given(program, otherwise, found);
            }
            _ => {}
        }
    }
}

#[test]
fn an_element_beside_the_target_is_refused() {
    let (mut passed, mut asked) = (Vec::new(), 0);
    for (name, kernel, program) in programs() {
        for number in 0.. {
            let mut variant = program.clone();
            let mut found = Vec::new();
            for kernel in &mut variant.kernels {
                given(&program, &mut kernel.body, &mut found);
            }
            if number >= found.len() {
                break;
            }
            let Stmt::Store { to, .. } = &mut *found[number] else { continue };
            let one = Value::int(to.offset.dtype, 1);
            let Some(last) = to.subscripts.last_mut() else { continue };
            *last = Value::binary(BinOp::Add, last.clone(), one.clone());
            *to.offset = Value::binary(BinOp::Add, (*to.offset).clone(), one);
            asked += 1;
            if verify_kernel(&kernel, &variant).refusal().is_none() {
                passed.push(format!("{name}: {number}"));
            }
        }
    }
    assert!(passed.is_empty(), "{}", passed.join("\n"));
    assert!(asked >= 50, "only {asked} elements were moved");
}

fn refusal(change: &dyn Fn(&mut Program)) -> String {
    let (kernel, pipeline) = KERNELS[0];
    let kernel = LoopKernel::parse(kernel).unwrap();
    let kernel = Pipeline::parse(pipeline).unwrap().apply(&kernel).unwrap();
    let mut program = lower(&kernel, LowerOptions::default()).unwrap();
    change(&mut program);
    verify_kernel(&kernel, &program).refusal().map(|d| d.to_string()).unwrap_or_default()
}

/// Spoils the first value for which a change does something.
fn spoilt(spoil: Spoil) -> String {
    refusal(&|program| {
        let original = program.clone();
        in_body(&original, &mut program.kernels[0].body, spoil, &mut 0);
    })
}

#[test]
fn a_refusal_says_what_is_computed_and_what_should_be() {
    assert_eq!(
        spoilt(SPOILS[0].1),
        "\
error[wrong-value]: put does not compute its value in `k`
  witness: it has to be sub(cast(f64, sub(x[thread.x + 128*block.x], mul(2f32, \
         w[thread.x + 128*block.x]))), 1.5f64), and is sub(cast(f64, sub(x[thread.x + \
         128*block.x], mul(5f32, w[thread.x + 128*block.x]))), 1.5f64)"
    );
    assert_eq!(
        spoilt(SPOILS[4].1),
        "\
error[wrong-value]: put stands under another predicate
  witness: it has to be lt(x[thread.x + 128*block.x], w[thread.x + 128*block.x]), \
         and is lt(w[thread.x + 128*block.x], w[thread.x + 128*block.x])"
    );
    // A predicate that is not there.
    let without = refusal(&|program| {
        fn splice(body: &mut Vec<Stmt>) {
            for k in 0..body.len() {
                if let Stmt::If { note, body: inside, .. } = &mut body[k] {
                    match note.is_predicate() {
                        true => {
                            let inside = std::mem::take(inside);
                            body.splice(k..=k, inside);
                            return;
                        }
                        false => splice(inside),
                    }
                }
            }
        }
        splice(&mut program.kernels[0].body);
    });
    assert_eq!(without, "error[wrong-value]: put does not stand under its predicate");
}

/// The copies that fill their buffers, each with its choice between value and filling.
fn fillings(program: &mut Program, change: &dyn Fn(&mut Value)) -> usize {
    fn of_body(body: &mut [Stmt], change: &dyn Fn(&mut Value), found: &mut usize) {
        for stmt in body {
            if let Stmt::Store { value, .. } = stmt
                && matches!(value.kind, ValueKind::Select(..))
            {
                *found += 1;
                change(value);
            }
            stmt.bodies_mut().for_each(|body| of_body(body, change, found));
        }
    }
    let mut found = 0;
    program.kernels.iter_mut().for_each(|kernel| of_body(&mut kernel.body, change, &mut found));
    found
}

/// Terms of partial tiles have to be neutral, and copies have to fill all that no instance writes,
/// and nothing else.
#[test]
fn filling_that_adds_something_is_refused() {
    type Change = (&'static str, &'static dyn Fn(&mut Value));
    let changes: [Change; 4] = [
        ("filled with one", &|v| {
            if let ValueKind::Select(_, _, filling) = &mut v.kind {
                filling.kind = ValueKind::Float(1.0);
            }
        }),
        ("filled where a value is", &|v| {
            if let ValueKind::Select(cond, ..) = &mut v.kind {
                narrow(cond, -1);
            }
        }),
        ("not filled at the end", &|v| {
            if let ValueKind::Select(cond, ..) = &mut v.kind {
                narrow(cond, 1);
            }
        }),
        ("never filled", &|v| {
            if let ValueKind::Select(_, copied, _) = &v.kind {
                *v = (**copied).clone();
            }
        }),
    ];
    let mut asked = 0;
    // Where the loop ends with the last point, as in those of PolyBench, no term reads filling.
    for (name, kernel, program) in programs().into_iter().filter(|(name, ..)| name.starts_with("matmul/")) {
        for (what, change) in changes {
            let mut variant = program.clone();
            let found = fillings(&mut variant, &|v| {
                if v.dtype.is_float() && matches!(&v.kind, ValueKind::Select(_, _, e) if is_constant(e)) {
                    change(v);
                }
            });
            if found == 0 || variant == program {
                continue;
            }
            asked += 1;
            let why = verify_kernel(&kernel, &variant).refusal();
            assert!(why.is_some(), "{name}: {what}");
        }
    }
    assert!(asked >= 8, "only {asked} programs were changed");
}

fn is_constant(value: &Value) -> bool {
    matches!(value.kind, ValueKind::Float(_))
}

/// Moves the bound of the last comparison.
fn narrow(cond: &mut Value, by: i64) {
    match &mut cond.kind {
        ValueKind::Binary(BinOp::And, _, b) => narrow(b, by),
        ValueKind::Binary(BinOp::Lt | BinOp::Le, _, b) => {
            let one = Value::int(b.dtype, by);
            **b = Value::binary(BinOp::Add, (**b).clone(), one);
        }
        _ => {}
    }
}

/// The points of a scan have numbers by thread and lane, in this order. Held to a kernel whose scan
/// goes along the threads within a lane, the program is refused, although it runs the same
/// instances.
#[test]
fn a_scan_in_another_order_is_refused() {
    let text = "\
kernel k(x: f32[n, 128], y: f32[n, 128], n: i32)
assume 0 <= n
domain { [i, k] : 0 <= i < n and 0 <= k < 128 }
domain { [j] : 0 <= j <= k }
y[i, k] = sum(j, x[i, j]) {id=sums}
";
    let of = |outer: &str, inner: &str, length: i64| {
        let pipeline = format!(
            "realize_scan(k, j)\nsplit_iname(k, 64)\nsplit_iname(k_inner, {length}, outer={outer}, \
             inner={inner})\ntag_inames(i: block.x, k_thread: thread.x, k_part: ilp)"
        );
        let kernel = LoopKernel::parse(text).unwrap();
        Pipeline::parse(&pipeline).unwrap().apply(&kernel).unwrap_or_else(|d| panic!("{d}"))
    };
    let kernel = of("k_thread", "k_part", 2);
    let program = lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(verify_kernel(&kernel, &program).refusal(), None);
    let other = of("k_part", "k_thread", 32);
    assert_eq!(
        verify_kernel(&other, &program).refusal().map(|d| d.to_string()).as_deref(),
        Some("error[wrong-join]: `k`: the scan of `sums` has `k_thread` in another order than the kernel")
    );
}

/// Rounds of a scan are in the kernel's order by the loops between its first value and its join.
#[test]
fn rounds_of_a_scan_in_another_order_are_refused() {
    let text = "\
kernel k(x: f32[n, 24], y: f32[n, 24], n: i32)
assume 0 <= n
domain { [i, k] : 0 <= i < n and 0 <= k < 24 }
domain { [j] : 0 <= j <= k }
y[i, k] = sum(j, x[i, j]) {id=sums}
";
    let pipeline = "realize_scan(k, j)\nsplit_iname(k, 4)\nsplit_iname(k_outer, 3)\n\
                    tag_inames(k_inner: thread.x)";
    let kernel = Pipeline::parse(pipeline).unwrap().apply(&LoopKernel::parse(text).unwrap()).unwrap();
    let right = lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}")).to_text();
    let said = |text: &str| {
        let program = Program::parse(text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
        verify_kernel(&kernel, &program).refusal().map(|d| d.to_string()).unwrap_or_default()
    };
    assert_eq!(said(&right), "");
    let (over_i, begins) =
        ("    for i: i32 = 0 to n {\n", "        let carry: f32 = 0.0f32 {sums.init[1]}\n");
    let outer = "        for k_outer_outer: i32 = 0 to 2 {\n";
    let inner = "            for k_outer_inner: i32 = 0 to 3 {\n";
    for (from, to, why) in [
        (
            format!("{outer}{inner}"),
            format!("{inner}{outer}"),
            "has `k_outer_inner` in another order than the kernel",
        ),
        (
            format!("{over_i}{begins}"),
            format!("{begins}{over_i}"),
            "carries a total over a loop that it is not along",
        ),
        (format!("{begins}{outer}"), format!("{outer}{begins}"), "is not in the loop over `k_outer_outer`"),
    ] {
        assert!(right.contains(&from), "no `{from}` in\n{right}");
        let refused = said(&right.replace(&from, &to));
        assert_eq!(refused, format!("error[wrong-join]: `k`: the scan of `sums` {why}"));
    }
}

/// What the check says of a program in whose text something is replaced.
pub(super) fn replaced(kernel: &str, pipeline: &str, changes: &[(&str, &str)]) -> String {
    let kernel = Pipeline::parse(pipeline).unwrap().apply(&LoopKernel::parse(kernel).unwrap()).unwrap();
    let mut text = lower(&kernel, LowerOptions::default()).unwrap().to_text();
    let right = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    assert_eq!(verify_kernel(&kernel, &right).refusal(), None);
    for (from, to) in changes {
        assert!(text.contains(from), "no `{from}` in\n{text}");
        text = text.replace(from, to);
    }
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    verify_kernel(&kernel, &program).refusal().map(|d| d.code.to_string()).unwrap_or_default()
}

/// Accumulators of lanes begin anew in each round of a scan: all of them.
#[test]
fn a_round_of_a_scan_begins_anew_in_each_lane() {
    let kernel = "\
kernel k(x: f32[10, 6], y: f32[10, 6])
domain { [i, k] : 1 <= i <= 4 and 0 <= k < 6 }
domain { [j] : 0 <= j <= k }
y[i, k] = sum(j, x[i, j]) {id=sums}
";
    let pipeline = "realize_scan(k, j)\nsplit_iname(k, 2)\ntag_inames(k_inner: thread.x, i: ilp)";
    assert_eq!(replaced(kernel, pipeline, &[]), "");
    let begins = "for i.1: i32 = 1 to 5 unroll {\n            store acc[i.1 - 1] = 0.0f32";
    for to in [
        "for i.1: i32 = 1 to 4 unroll {\n            store acc[i.1 - 1] = 0.0f32",
        "for i.1: i32 = 2 to 5 unroll {\n            store acc[i.1 - 1] = 0.0f32",
        "for i.1: i32 = 1 to 5 unroll {\n            store acc[0] = 0.0f32",
        "for i.1: i32 = 0 to 5 unroll {\n            store acc[i.1 - 1] = 0.0f32",
        "for i.1: i32 = 0 to 4 unroll {\n            store acc[i.1 - 1] = 0.0f32",
    ] {
        assert_eq!(replaced(kernel, pipeline, &[(begins, to)]), "missing-join", "{to}");
    }
    let from_zero = "for i.1: i32 = 0 to 4 unroll {\n            store acc[i.1] = 0.0f32";
    assert_eq!(replaced(kernel, pipeline, &[(begins, from_zero)]), "");
}

#[test]
fn a_sum_that_is_converted_is_not_the_sum_of_what_is_converted() {
    let kernel = "\
kernel k(x: i32[n], w: i32[n], y: i64[n], n: i32)
assume 0 <= n
domain { [i] : 0 <= i < n }
y[i] = cast(i64, x[i] + w[i]) {id=put}
";
    let apart = ("cast(i64, x[i] + w[i])", "cast(i64, x[i]) + cast(i64, w[i])");
    assert_eq!(replaced(kernel, "", &[apart]), "wrong-value");
}

#[test]
fn a_scalar_that_other_blocks_read_is_not_set_by_the_first_alone() {
    let kernel = "\
kernel k(x: f32[1], y: f32[n], n: i32)
assume 1 <= n
domain { [i] : 0 <= i < n }
temp t: f32 private
t = 2.0 * x[0] {id=set}
y[i] = t {id=put, inames=i}
";
    let elected = ("blocks replicated, elected, elected", "blocks elected, elected, elected");
    assert_ne!(replaced(kernel, "tag_inames(i: block.x)", &[elected]), "");
}

/// In a program with 64-bit indices an iname as a value is converted to 32 bits and back, which
/// changes nothing where its numbers are small and not negative.
#[test]
fn quotients_of_inames_are_proved_with_wide_indices() {
    for (value, in_c) in [("i // 7", "/ 7"), ("(i - 3) // 7", "floor_div(")] {
        let text = format!("kernel k(y: i64[40])\ndomain {{ [i] : 0 <= i < 40 }}\ny[i] = {value}\n");
        let kernel = LoopKernel::parse(&text).unwrap();
        let program =
            lower(&kernel, LowerOptions::new(DType::I64)).unwrap_or_else(|e| panic!("{value}: {e}"));
        let printed = cuda_source(&program).unwrap().text;
        assert!(printed.contains(in_c), "{value}: {printed}");
    }
}
