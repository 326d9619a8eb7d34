//! The semantics of expressions (`crates/kernel-ir/values.md`), by hand: the plain interpreter, the
//! emulator, and the printed text, built by the system's C++ compiler with its undefined-behaviour
//! checks, all give the values written here.

use std::collections::BTreeMap;

use loopwright::emulator::{Arguments, Options};
use loopwright::ir::{Buffer, DType, Element, LoopKernel, Name, Number};
use loopwright::lowering::{LowerOptions, lower, program::Program};
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_text_check::{Checker, Order, Scalar};

/// Arrays and scalars, by name.
#[derive(Clone, Default)]
struct Given {
    arrays: BTreeMap<Name, Buffer>,
    scalars: BTreeMap<Name, Number>,
}

impl Given {
    fn array<T: Element>(mut self, name: &str, values: &[T]) -> Given {
        self.arrays.insert(name.into(), Buffer::from_slice(values));
        self
    }

    fn scalar(mut self, name: &str, value: impl Into<Number>) -> Given {
        self.scalars.insert(name.into(), value.into());
        self
    }
}

fn parse(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|d| panic!("{}", d.render()))
}

fn emulated(program: &Program, given: &Given, name: &str) -> Buffer {
    let mut arguments = Arguments::new();
    for (name, buffer) in &given.arrays {
        arguments = arguments.array(name, buffer.clone());
    }
    for (name, number) in &given.scalars {
        arguments = arguments.scalar(name, *number);
    }
    loopwright::emulator::run(program, &mut arguments, &Options::default()).unwrap_or_else(|f| panic!("{f}"));
    arguments.buffer(name).unwrap().clone()
}

fn printed(program: &Program, given: &Given, name: &str) -> Buffer {
    let compiled = Checker::new().unwrap().compile(program).unwrap_or_else(|e| panic!("{e}"));
    let mut arguments = loopwright_text_check::Arguments::default();
    for (name, buffer) in &given.arrays {
        arguments.arrays.insert(name.clone(), buffer.bytes().to_vec());
    }
    for (name, number) in &given.scalars {
        let scalar = number.as_i64().map_or(Scalar::Float(number.as_f64()), Scalar::Int);
        arguments.scalars.insert(name.clone(), scalar);
    }
    compiled.run(&mut arguments, Order::Forwards).unwrap_or_else(|e| panic!("{e}"));
    Buffer::from_bytes(given.arrays[name].dtype(), arguments.arrays[name].clone()).unwrap()
}

/// All of them compute this array, with 32-bit and 64-bit indices.
fn computes<T: Element + PartialEq + std::fmt::Debug>(text: &str, given: Given, name: &str, values: &[T]) {
    let kernel = parse(text);
    let expected = Buffer::from_slice(values).to_vec::<T>().unwrap();
    let inputs = Inputs { arrays: given.arrays.clone(), scalars: given.scalars.clone(), ..Inputs::default() };
    let found = interpret(&kernel, &inputs, Mode::Exact).unwrap_or_else(|d| panic!("{text}: {d}"));
    assert_eq!(found[&Name::new(name)].to_vec::<T>().unwrap(), expected, "the interpreter: {text}");
    for index in [DType::I32, DType::I64] {
        let program = lower(&kernel, LowerOptions::new(index)).unwrap_or_else(|d| panic!("{text}: {d}"));
        // A launch uses 32 bits only if they hold all indices, and arithmetic on indices in values.
        let lookup = |name: &Name| given.scalars.get(name).and_then(|v| v.as_i64());
        if loopwright::lowering::index_range::check(&program, &lookup).is_ok() {
            let found = emulated(&program, &given, name).to_vec::<T>().unwrap();
            assert_eq!(found, expected, "the emulator, indices of {index}: {text}");
            let found = printed(&program, &given, name).to_vec::<T>().unwrap();
            assert_eq!(found, expected, "the printed text, indices of {index}: {text}");
        } else {
            assert_eq!(index, DType::I32, "{text}");
        }
    }
}

/// One statement over `0 <= i < n`.
fn over(arguments: &str, statement: &str) -> String {
    format!("kernel k({arguments}, n: i32)\nassume 0 <= n\ndomain {{ [i] : 0 <= i < n }}\n{statement}\n")
}

/// The C library's cube root of 27 is not 3.
#[test]
fn cube_roots_of_cubes_are_exact() {
    let roots: Vec<f64> =
        (1..=100).chain([2999, 20001]).flat_map(|k| [f64::from(k), -f64::from(k)]).collect();
    let cubes: Vec<f64> = roots.iter().map(|k| k * k * k).collect();
    let given = Given::default().array("x", &cubes).array("y", &cubes).scalar("n", cubes.len() as i32);
    computes(&over("x: f64[n], y: f64[n]", "y[i] = cbrt(x[i])"), given.clone(), "y", &roots);
    let inverse: Vec<f64> = roots.iter().map(|k| 1.0 / k).collect();
    computes(&over("x: f64[n], y: f64[n]", "y[i] = rcbrt(x[i])"), given, "y", &inverse);
    let roots: Vec<f32> = roots.iter().map(|k| *k as f32).filter(|k| k.abs() <= 256.0).collect();
    let cubes: Vec<f32> = roots.iter().map(|k| k * k * k).collect();
    let given = Given::default().array("x", &cubes).array("y", &cubes).scalar("n", cubes.len() as i32);
    computes(&over("x: f32[n], y: f32[n]", "y[i] = cbrt(x[i])"), given, "y", &roots);
}

#[test]
fn sums_and_products_of_inames_wrap_in_their_type() {
    let n = 300;
    let given = || Given::default().array("y", &vec![0i32; n]).scalar("n", n as i32);
    let of = |f: fn(i32) -> i32| (0..n as i32).map(f).collect::<Vec<_>>();
    computes(
        &over("y: i32[n]", "y[i] = (i*1103515245 + 12345) % 1000"),
        given(),
        "y",
        &of(|i| i.wrapping_mul(1103515245).wrapping_add(12345).rem_euclid(1000)),
    );
    computes(
        &over("y: i32[n]", "y[i] = (i + 2147483600) // 1000"),
        given(),
        "y",
        &of(|i| i.wrapping_add(2147483600).div_euclid(1000)),
    );
    computes(
        &over("y: i32[n]", "y[i] = (i*16777216) // 65536"),
        given(),
        "y",
        &of(|i| i.wrapping_mul(16777216).div_euclid(65536)),
    );
    // An i64 target widens the arithmetic; a cast does not.
    let wide = |f: fn(i64) -> i64| (0..n as i64).map(f).collect::<Vec<_>>();
    let given = || Given::default().array("y", &vec![0i64; n]).scalar("n", n as i32);
    computes(&over("y: i64[n]", "y[i] = i*16777216"), given(), "y", &wide(|i| i * 16777216));
    computes(
        &over("y: i64[n]", "y[i] = cast(i64, i*16777216)"),
        given(),
        "y",
        &wide(|i| (i as i32).wrapping_mul(16777216).into()),
    );
}

#[test]
fn scalars_wrap_in_their_type() {
    let given = |a: i32| Given::default().array("y", &[0i32; 3]).scalar("n", 3i32).scalar("a", a);
    let text = over("y: i32[n], a: i32", "y[i] = (a + i) // 7");
    computes(&text, given(i32::MAX), "y", &[i32::MAX, i32::MIN, i32::MIN + 1].map(|v| v.div_euclid(7)));
    // The quotient of the least value and -1 wraps, and so does its magnitude.
    let text = over("y: i32[n], a: i32", "y[i] = a // -1 + abs(a) + a % -1");
    computes(&text, given(i32::MIN), "y", &[0; 3]);
}

#[test]
fn inames_are_of_their_domains_type() {
    // `l` has 64 bits, and so does what it bounds, whatever the index width.
    let text = "kernel k(y: i64[l], l: i64)\n\
                assume 0 <= l\n\
                domain { [i] : 0 <= i < l }\n\
                y[i] = cast(i64, i*1073741824)\n";
    let given = Given::default().array("y", &[0i64; 5]).scalar("l", 5i64);
    computes(text, given, "y", &[0i64, 1, 2, 3, 4].map(|i| i << 30));
}

#[test]
fn predicates_wrap_in_their_type() {
    let n = 300;
    let x: Vec<f32> = (0..n).map(|i| i as f32 + 1.0).collect();
    let wanted: Vec<f32> =
        (0..n).map(|i| if i32::wrapping_mul(i, 16777216) >= 0 { i as f32 + 1.0 } else { 0.0 }).collect();
    let given = Given::default().array("x", &x).array("y", &vec![0f32; n as usize]).scalar("n", n);
    assert!(wanted.contains(&0.0));
    computes(&over("x: f32[n], y: f32[n]", "y[i] = x[i] if i*16777216 >= 0"), given, "y", &wanted);
}

#[test]
fn narrow_integers_are_computed_in_32_bits() {
    let given = Given::default()
        .array("a", &[100u8, 200, 255])
        .array("b", &[200u8, 100, 255])
        .array("y", &[0u8; 3])
        .scalar("n", 3i32);
    let text = over("a: u8[n], b: u8[n], y: u8[n]", "y[i] = (a[i] + b[i]) // 2");
    computes(&text, given, "y", &[150u8, 150, 255]);
    for condition in ["a[i] + a[i] > 100", "a[i]*2 > 100", "abs(a[i])*2 > 255"] {
        let given = Given::default().array("a", &[60i8, 20, -128]).array("y", &[7i32; 3]).scalar("n", 3i32);
        let text = over("a: i8[n], y: i32[n]", &format!("y[i] = if({condition}, 1, 0)"));
        let wanted = match condition {
            "abs(a[i])*2 > 255" => [0, 0, 1],
            _ => [1, 0, 0],
        };
        computes(&text, given, "y", &wanted);
    }
    // A literal that the narrow type cannot represent.
    let given = Given::default().array("a", &[60i8, 20, -128]).array("y", &[7i32; 3]).scalar("n", 3i32);
    computes(&over("a: i8[n], y: i32[n]", "y[i] = if(a[i] < 200, 1, 0)"), given, "y", &[1, 1, 1]);
}

#[test]
fn floats_become_the_nearest_integer_of_a_range() {
    let x = [300.7f32, -3.9, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 254.9, 3e9, -3e9];
    let x64 = x.map(f64::from);
    let given = |y: Buffer| Given {
        arrays: BTreeMap::from([("y".into(), y)]),
        ..Given::default().scalar("n", x.len() as i32)
    };
    macro_rules! to {
        ($($name:literal, $t:ty;)*) => {$(
            let text = over(concat!("x: f32[n], y: ", $name, "[n]"), concat!("y[i] = cast(", $name, ", x[i])"));
            let zeros = || Buffer::from_slice(&[0 as $t; 8]);
            computes(&text, given(zeros()).array("x", &x), "y", &x.map(|v| v as $t));
            let text = over(concat!("x: f64[n], y: ", $name, "[n]"), concat!("y[i] = cast(", $name, ", x[i])"));
            computes(&text, given(zeros()).array("x", &x64), "y", &x64.map(|v| v as $t));
        )*};
    }
    to! { "i8", i8; "i16", i16; "i32", i32; "i64", i64; "u8", u8; "u16", u16; "u32", u32; "u64", u64; }
}

#[test]
fn shifts_by_any_amount() {
    let amounts = [0, 1, 31, 32, 33, -1, i32::MIN];
    let given = |a: [i32; 7]| {
        Given::default().array("a", &a).array("b", &amounts).array("y", &[0i32; 7]).scalar("n", 7i32)
    };
    let arguments = "a: i32[n], b: i32[n], y: i32[n]";
    let inside = |b: i32| (0..32).contains(&b);
    let left = amounts.map(|b| if inside(b) { -5i32 << b } else { 0 });
    computes(&over(arguments, "y[i] = a[i] << b[i]"), given([-5; 7]), "y", &left);
    let right = amounts.map(|b| if inside(b) { -5i32 >> b } else { -1 });
    computes(&over(arguments, "y[i] = a[i] >> b[i]"), given([-5; 7]), "y", &right);
}

#[test]
fn literals_and_integers_take_the_floating_point_type_that_they_meet() {
    let n = 7usize;
    let x: Vec<f64> = (0..n).map(|i| 1.0 / (i as f64 + 3.0)).collect();
    let given =
        || Given::default().array("x", &x).array("y", &vec![0f64; n]).scalar("n", n as i32).scalar("m", 9i32);
    let arguments = "x: f64[n], y: f64[n], m: i32";
    let of = |f: &dyn Fn(usize, f64) -> f64| (0..n).map(|i| f(i, x[i])).collect::<Vec<f64>>();
    let check = |statement: &str, f: &dyn Fn(usize, f64) -> f64| {
        computes(&over(arguments, statement), given(), "y", &of(f));
    };
    check("y[i] = x[i] + 0.1*i", &|i, x| x + 0.1 * i as f64);
    check("y[i] = 1.0/m", &|_, _| 1.0 / 9.0);
    check("y[i] = x[i]*sqrt(m)", &|_, x| x * 9f64.sqrt());
    check("y[i] = x[i]*sqrt(i)", &|i, x| x * (i as f64).sqrt());
    check("y[i] = if(x[i] < 0.1*m, 1.0/3, 0)", &|_, x| if x < 0.1 * 9.0 { 1.0 / 3.0 } else { 0.0 });
    check("<> t = 0.1*i\ny[i] = x[i] + t", &|i, x| x + 0.1 * i as f64);
    check("y[i] = cast(i32, 0.1*m*1000000000.5) + x[i]", &|_, x| {
        f64::from((0.1 * 9.0 * 1000000000.5) as i32) + x
    });
    let text = over(&format!("{arguments}, z: f64[n]"), "domain { [k] : 0 <= k < 10 }\ny[i] = sum(k, 0.1)");
    let given = given().array("z", &vec![0f64; n]);
    computes(&text, given, "y", &vec![(0..10).fold(0.0, |s, _| s + 0.1); n]);
}

#[test]
fn where_a_kernel_has_both_types_each_value_meets_its_own() {
    let x = [0.3f32, 0.7];
    let given = || Given::default().array("x", &x).array("y", &[0f64; 2]).scalar("n", 2i32);
    let arguments = "x: f32[n], y: f64[n]";
    computes(&over(arguments, "y[i] = x[i]*0.1"), given(), "y", &x.map(|x| f64::from(x * 0.1)));
    computes(&over(arguments, "y[i] = 0.1*i"), given(), "y", &[0.0, 0.1]);
    computes(&over(arguments, "<> t = 0.1*i\ny[i] = t"), given(), "y", &[0.0, 0.1]);
    computes(&over(arguments, "<> t = 0.1*i\ny[i] = x[i]*t"), given(), "y", &[0.0, f64::from(x[1] * 0.1f32)]);
    // Reported, since it may be unintended.
    let found = parse(&over(arguments, "y[i] = x[i]*x[i] {id=square}")).single_in_double();
    assert_eq!(
        found[0].render_warning(),
        "warning[single-in-double]: `square` computes a value in f32 and converts it to f64\n --> \
         <kernel>:4:1\n  |\n\
         4 | y[i] = x[i] * x[i] {id=square}\n  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n  |\n  = help: if more \
         digits are intended, cast an operand: `cast(f64, a)*b` for `a*b`"
    );
    let said = |statement: &str| parse(&over(arguments, statement)).single_in_double().len();
    assert_eq!(said("y[i] = x[i]*x[i]"), 1);
    assert_eq!(said("y[i] = x[i]"), 0);
    assert_eq!(said("y[i] = cast(f64, x[i])*x[i]"), 0);
}

/// What is computed in f32 stays so in temporaries and as the input of an operator.
#[test]
fn values_of_f32_are_told_where_they_reach_f64_later() {
    let told = |statements: &str| -> Vec<String> {
        let text = format!(
            "kernel k(a: f32[n], b: f64[n], y: f64[n], n: i32)\nassume 1 <= n\n\
             reduction squares(v) {{\n    state s: f64 = 0\n    lift s = v*v\n    combine s = a.s + \
             b.s\n    result s\n}}\n\
             reduction exact(v) {{\n    state s: f64 = 0\n    lift s = v\n    combine s = a.s + \
             b.s\n    result s\n}}\n\
             domain {{ [i] : 0 <= i < n }}\ndomain {{ [j] : 0 <= j < n }}\n{statements}\n"
        );
        parse(&text).single_in_double().into_iter().map(|d| d.message).collect()
    };
    let put = ["`put` converts `t` to f64, which is computed in f32"];
    assert_eq!(told("<> t = a[i]*a[i]\ny[i] = t {id=put}"), put);
    assert_eq!(told("<> t = sum(j, a[j])\ny[i] = t + b[i] {id=put}"), put);
    assert_eq!(
        told("<> t = 0.1*i\n<> u = t*a[i]\ny[i] = u*b[i] {id=put}"),
        ["`put` converts `u` to f64, which is computed in f32"]
    );
    // A copy of it, too.
    assert_eq!(told("<> u = a[i]*a[i]\n<> t = u {inames=i}\ny[i] = t {id=put}"), put);
    let computed = ["`put` computes a value in f32 and converts it to f64"];
    assert_eq!(told("y[i] = squares(j, a[j]) {id=put}"), computed);
    assert_eq!(told("y[i] = exact(j, a[j]*a[j]) {id=put}"), computed);
    assert_eq!(told("<> t = a[i]*a[i]\ny[i] = exact(j, t*b[j]) {id=put}"), put);
    // Nothing has been rounded in f32, or it is intended.
    for exact in [
        "<> t = a[i]\ny[i] = t {id=put}",
        "<> t = cast(f64, a[i])*a[i]\ny[i] = t {id=put}",
        "<> t = a[i]*b[i]\ny[i] = t {id=put}",
        "y[i] = exact(j, a[j]) {id=put}",
        "y[i] = squares(j, b[j]) {id=put}",
        "<> t = a[i]*a[i]\ny[i] = cast(f64, t) {id=put}",
        "<> t = a[i]*a[i]\ny[i] = b[i] if t > 1.0 {id=put}",
    ] {
        assert_eq!(told(exact), [""; 0], "{exact}");
    }
}

#[test]
fn what_nothing_decides_has_to_be_said() {
    let refused = |text: &str| LoopKernel::parse(text).unwrap_err().0.remove(0).code;
    assert_eq!(refused(&over("y: i32[n]", "y[i] = cast(i32, 0.5*i)")), "undecided-type");
    assert_eq!(
        refused(&over("a: f32[n], b: f64[n], y: i32[n]", "y[i] = cast(i32, 0.5*i)")),
        "undecided-type"
    );
    let _ = parse(&over("a: f32[n], y: i32[n]", "y[i] = cast(i32, 0.5*i)"));
    let _ = parse(&over("a: f32[n], b: f64[n], y: i32[n]", "y[i] = cast(i32, cast(f64, 0.5*i))"));
}

#[test]
fn fixed_parameters_keep_their_type() {
    use loopwright::transforms::Pipeline;
    let text = over("y: i64[n], m: i32", "y[i] = cast(i64, m*m) + i");
    let kernel = Pipeline::parse("fix_parameters(m=65536)").unwrap().apply(&parse(&text)).unwrap();
    let program = lower(&kernel, LowerOptions::default()).unwrap();
    let given = Given::default().array("y", &[7i64; 3]).scalar("n", 3i32).scalar("m", 65536i32);
    assert_eq!(emulated(&program, &given, "y").to_vec::<i64>().unwrap(), [0, 1, 2], "the product wraps");
}

#[test]
fn operations_of_integers_stay_such_where_floats_are_wanted() {
    let given = || Given::default().array("y", &[0f32; 2]).scalar("n", 2i32);
    computes(&over("y: f32[n]", "y[i] = (5 & 3) + (7 % 4) + (1 << 4) + ~0"), given(), "y", &[19f32; 2]);
    computes(&over("y: f32[n]", "y[i] = min(nan, 1)"), given(), "y", &[1f32; 2]);
    // A literal beyond 32 bits gives the bound, and so the iname, 64 bits.
    let text = "kernel k(y: i64[3])\n\
                domain { [i] : 5000000000 <= i < 5000000003 }\n\
                y[i - 5000000000] = cast(i64, i)*2\n";
    let given = Given::default().array("y", &[0i64; 3]);
    computes(text, given, "y", &[10_000_000_000i64, 10_000_000_002, 10_000_000_004]);
    // The least value of i64 as a dividend, which queries cannot handle.
    let given = Given::default().array("x", &[7i64, -1]).array("y", &[0i64; 2]).scalar("n", 2i32);
    computes(
        &over("x: i64[n], y: i64[n]", "y[i] = lowest() // x[i]"),
        given,
        "y",
        &[i64::MIN.div_euclid(7), i64::MIN],
    );
    assert!(LoopKernel::parse(&over("x: bool[n], y: bool[n]", "y[i] = if(x[i], highest(), x[i])")).is_err());
}

#[test]
fn short_floats_are_rounded_once() {
    use half::bf16;
    // Just below the midpoint between two bf16: rounded to f32 first, it would be the midpoint and
    // round to even.
    let middle = 2f64.powi(40) - 2f64.powi(31);
    let x = [middle - 2f64.powi(10), middle];
    let given = Given::default().array("x", &x).array("y", &[bf16::ZERO; 2]).scalar("n", 2i32);
    let below = bf16::from_f64(2f64.powi(40) - 2f64.powi(32));
    let wanted = [below, bf16::from_f64(2f64.powi(40))];
    computes(&over("x: f64[n], y: bf16[n]", "y[i] = x[i] + x[i]*0"), given, "y", &wanted);
}
