//! Operations at the limits of their types, compared bit for bit with the plain interpreter: where
//! C leaves the result undefined (conversions out of range, shifts by all bits, the least value
//! divided by -1), a device also follows the page on values.

use half::f16;
use loopwright_runtime::{Args, Device, Tensor};

use super::{Outcome, elementwise, ok};

/// Runs statements over `0 <= i < n` and compares everything that they write. Sums of products are
/// excluded, since a GPU may contract them.
fn check(device: &Device, arguments: &str, statements: &[String], args: Args) -> Outcome {
    let text = format!(
        "kernel edges({arguments}, n: i32)\nassume 0 <= n\ndomain {{ [i] : 0 <= i < n }}\n{}\n",
        statements.join("\n")
    );
    let compiled = ok(device.compile(&elementwise(&text)))?;
    let found = ok(compiled.run(&args))?;
    for (name, wanted) in ok(compiled.reference(&args))? {
        let found = ok(found.get(&name))?;
        let (found, wanted) = (found.buffer(), wanted.buffer());
        for (k, (a, b)) in found.numbers().zip(wanted.numbers()).enumerate() {
            let nan = a.dtype().is_float() && a.as_f64().is_nan() && b.as_f64().is_nan();
            if a != b && !nan {
                return Err(format!("{name}[{k}] is {a} and not {b}:\n{text}").into());
            }
        }
    }
    Ok(())
}

const INTEGERS: [&str; 8] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];

pub(super) fn floats_become_integers_of_their_range(device: &Device) -> Outcome {
    let x: Vec<f64> = [
        0.0,
        -0.0,
        0.9,
        -0.9,
        1.5,
        -1.5,
        127.9,
        128.0,
        -128.9,
        -129.0,
        255.9,
        256.0,
        32767.9,
        32768.0,
        -32769.0,
        65535.9,
        65536.0,
        2147483520.0,
        2147483648.0,
        -2147483648.0,
        -2147483904.0,
        4294967040.0,
        4294967296.0,
        9.2e18,
        9.3e18,
        -9.3e18,
        1.8e19,
        1.9e19,
        1e38,
        -1e38,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ]
    .into();
    let n = x.len();
    let narrow: Vec<f32> = x.iter().map(|v| *v as f32).collect();
    let half: Vec<f16> = x.iter().map(|v| f16::from_f64(*v)).collect();
    let inputs = [
        ("f64", ok(Tensor::from_slice(&[n], &x))?),
        ("f32", ok(Tensor::from_slice(&[n], &narrow))?),
        ("f16", ok(Tensor::from_slice(&[n], &half))?),
    ];
    for (from, tensor) in &inputs {
        let outputs: Vec<String> = INTEGERS.iter().map(|t| format!("out_{t}: {t}[n]")).collect();
        let statements: Vec<String> =
            INTEGERS.iter().map(|t| format!("out_{t}[i] = cast({t}, x[i])")).collect();
        let arguments = format!("x: {from}[n], {}", outputs.join(", "));
        check(device, &arguments, &statements, Args::new().tensor("x", tensor))?;
        let to: Vec<&str> = ["f16", "bf16", "f32", "f64"].into_iter().filter(|t| t != from).collect();
        let outputs: Vec<String> = to.iter().map(|t| format!("out_{t}: {t}[n]")).collect();
        let statements: Vec<String> = to.iter().map(|t| format!("out_{t}[i] = cast({t}, x[i])")).collect();
        let arguments = format!("x: {from}[n], {}", outputs.join(", "));
        check(device, &arguments, &statements, Args::new().tensor("x", tensor))?;
    }
    Ok(())
}

pub(super) fn integers_wrap_at_the_ends_of_their_range(device: &Device) -> Outcome {
    let operations = [
        "a[i] + b[i]",
        "a[i] - b[i]",
        "a[i]*b[i]",
        "a[i] // b[i]",
        "a[i] % b[i]",
        "a[i] << b[i]",
        "a[i] >> b[i]",
        "a[i]*a[i] + b[i]",
        "(a[i] + b[i]) // 3",
        "~a[i] ^ b[i]",
        "if(a[i] + b[i] > 100, a[i] & b[i], a[i] | b[i])",
        "min(a[i], b[i]) - max(a[i], 7)",
        "abs(a[i])",
    ];
    macro_rules! of {
        ($name:literal, $t:ty) => {{
            let ends = [
                <$t>::MIN,
                <$t>::MAX,
                0,
                1,
                2,
                7,
                31,
                32,
                33,
                63,
                64,
                (0 as $t).wrapping_sub(1),
                <$t>::MAX / 2,
            ];
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for x in ends {
                for y in ends.into_iter().filter(|y| *y != 0) {
                    a.push(x);
                    b.push(y);
                }
            }
            let result = if <$t>::BITS < 32 { "i32" } else { $name };
            let outputs: Vec<String> =
                (0..operations.len()).map(|k| format!("out{k}: {result}[n]")).collect();
            let statements: Vec<String> =
                operations.iter().enumerate().map(|(k, e)| format!("out{k}[i] = {e}")).collect();
            let arguments = format!("a: {0}[n], b: {0}[n], {1}", $name, outputs.join(", "));
            let args = Args::new()
                .tensor("a", &ok(Tensor::from_slice(&[a.len()], &a))?)
                .tensor("b", &ok(Tensor::from_slice(&[b.len()], &b))?);
            check(device, &arguments, &statements, args)?;
        }};
    }
    of!("i8", i8);
    of!("i16", i16);
    of!("i32", i32);
    of!("i64", i64);
    of!("u8", u8);
    of!("u16", u16);
    of!("u32", u32);
    of!("u64", u64);
    Ok(())
}

pub(super) fn values_of_inames_wrap_whatever_the_indices_are(device: &Device) -> Outcome {
    let statements = [
        "y[i] = (i*1103515245 + 12345) % 1000",
        "z[i] = (i*16777216) // 65536",
        "w[i] = i*16777216*65536",
        "u[i] = 0.5 + i if i*16777216 >= 0",
        "v[i] = 0.1*i",
    ]
    .map(String::from);
    let zeros = ok(Tensor::from_slice(&[300], &[0f32; 300]))?;
    let args = Args::new().tensor("u", &zeros).scalar("n", 300i32);
    let arguments = "y: i32[n], z: i32[n], w: i64[n], u: f32[n], v: f64[n]";
    check(device, arguments, &statements, args)
}
