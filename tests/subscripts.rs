//! Subscripts are integers of unlimited size, whatever the types of what they are made of: results
//! are those of the integers, or the launch is refused (`values.md`, "Subscripts, bounds and
//! predicates").

use loopwright::prelude::*;

/// The elements that a kernel reads from 0, 1, 2, ..., for each of two widths of indices that the
/// launch may take, or the code of what refuses it.
fn read(
    subscript: &str,
    more: &str,
    args: &[(&str, Tensor)],
    scalars: &[(&str, Number)],
) -> Result<f64, String> {
    let text = format!(
        "kernel k(x: f32[64], y: f32[8], {more})\n{{ [i] : 0 <= i < 8 }}\ny[i] = x[({subscript}) % 61]\n"
    );
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    let x = Tensor::from_vec(&[64], (0..64).map(|k| k as f32).collect()).unwrap();
    let mut all = Args::new().tensor("x", &x);
    for (name, tensor) in args {
        all = all.tensor(*name, tensor);
    }
    for (name, value) in scalars {
        all = all.scalar(*name, *value);
    }
    let code = |d: Diagnostic| d.code.to_owned();
    let compiled = Device::emulator().compile(&kernel).map_err(code)?;
    let bound = compiled.bind(&all).map_err(code)?;
    let found = bound.run().map_err(code)?.arrays["y"].to_f64();
    assert!(found.iter().all(|v| *v == found[0]), "{found:?}");
    // The plain interpreter says the same.
    let plain = compiled.reference(&all).unwrap_or_else(|d| panic!("{subscript}: {d}"));
    assert_eq!(plain["y"].to_f64(), found, "{subscript}");
    Ok(found[0])
}

#[test]
fn functions_and_bits_of_scalars_do_not_wrap() {
    let of = |subscript: &str, a: i32, b: i64| {
        let scalars = [("a", Number::I32(a)), ("b", Number::I64(b))];
        read(subscript, "a: i32, b: i64", &[], &scalars)
    };
    let rest = |v: i128| v.rem_euclid(61) as f64;
    assert_eq!(of("abs(a*3) // 1000000", 1 << 30, 0), Ok(rest((3 << 30) / 1_000_000)));
    assert_eq!(of("abs(a) // 1000000", i32::MIN, 0), Ok(rest((1 << 31) / 1_000_000)));
    assert_eq!(of("max(a + 5, 0) // 7", i32::MAX, 0), Ok(rest(((1 << 31) + 4) / 7)));
    assert_eq!(of("(~(a*3)) // 1000", 1 << 30, 0), Ok(rest((!(3i128 << 30)).div_euclid(1000))));
    // 64 bits do not hold it.
    assert_eq!(of("(~(b*3)) // 1000", 0, 1 << 62), Err("index-overflow".into()));
    assert_eq!(of("abs(b) // 1000", 0, i64::MIN), Err("index-overflow".into()));
    assert_eq!(of("cast(u8, a)", 44, 0), Ok(44.0));
    assert_eq!(of("cast(u8, a)", 300, 0), Err("index-overflow".into()));
    assert_eq!(of("(b % 10) // 2", 0, 7), Ok(3.0));
}

/// Inames, scalars and elements of all integer types meet in subscripts.
#[test]
fn integers_of_all_types_meet() {
    let j = Tensor::from_vec(&[8], vec![5u32; 8]).unwrap();
    let l = Tensor::from_vec(&[8], vec![-2i32; 8]).unwrap();
    let scalars = [("a", Number::U32(7)), ("b", Number::U64(9)), ("c", Number::I8(-3))];
    let args = [("j", j), ("l", l)];
    let more = "j: u32[8], l: i32[8], a: u32, b: u64, c: i8";
    let of = |subscript: &str| read(subscript, more, &args, &scalars);
    assert_eq!(of("i*0 + a + b + c"), Ok(13.0));
    assert_eq!(of("j[i] + i*0 + c"), Ok(2.0));
    assert_eq!(of("j[i]*l[i] + a"), Ok(58.0));
    assert_eq!(of("-a + j[i]"), Ok(59.0));
    assert_eq!(of("a - b"), Ok(59.0));
}

#[test]
fn arithmetic_on_data_does_not_wrap() {
    let of = |subscript: &str, tensor: Tensor, dtype: &str| {
        read(subscript, &format!("j: {dtype}[8]"), &[("j", tensor)], &[])
    };
    let rest = |v: i128| v.rem_euclid(61) as f64;
    let most = u32::MAX - 6;
    let unsigned = || Tensor::from_vec(&[8], vec![most; 8]).unwrap();
    assert_eq!(of("j[i]*2", unsigned(), "u32"), Ok(rest(2 * i128::from(most))));
    // 64 signed bits do not hold the greatest square.
    assert_eq!(of("j[i]*j[i] // 5", unsigned(), "u32"), Err("index-overflow".into()));
    let signed = || Tensor::from_vec(&[8], vec![i32::MAX; 8]).unwrap();
    assert_eq!(of("max(j[i]*2, 5)", signed(), "i32"), Ok(rest(2 * i128::from(i32::MAX))));
    let wide = || Tensor::from_vec(&[8], vec![1i64 << 62; 8]).unwrap();
    assert_eq!(of("j[i] // 1000", wide(), "i64"), Ok(rest((1 << 62) / 1000)));
    for beyond in ["(j[i]*3) // 1000", "j[i]*j[i]*j[i] // 7", "(j[i] + 1) // 2", "~(j[i]*3) // 2"] {
        assert_eq!(of(beyond, wide(), "i64"), Err("index-overflow".into()), "{beyond}");
    }
}

/// A step is proved for numbers that 64 signed bits hold.
#[test]
fn a_condition_on_a_number_beyond_64_signed_bits_is_refused() {
    let text = "kernel k(y: i32[1], a: u64)\n{ [i] : 0 <= i < 1 }\ny[i] = 1 if a + 1 <= 5 {id=p}\n\
                y[i] = 2 if a >= 5 {id=q}\n";
    let kernel = LoopKernel::parse(text).unwrap();
    let moved = Pipeline::parse("move_statement(q, before=p)").unwrap().apply(&kernel).unwrap();
    let y = Tensor::from_vec(&[1], vec![0i32]).unwrap();
    let bind = |a: u64| {
        let args = Args::new().tensor("y", &y).scalar("a", Number::U64(a));
        Device::emulator().compile(&moved).unwrap().bind(&args).map(|_| ()).map_err(|d| d.code)
    };
    assert_eq!(bind(u64::MAX), Err("index-overflow"));
    assert_eq!(bind(4), Ok(()));
}

/// A bound that is read from data is an integer too.
#[test]
fn bounds_read_from_unsigned_data_are_not_taken_for_negative() {
    let text = |fact: &str| {
        format!(
            "kernel k(x: f32[64], l: u64[4], y: f32[4])\n{fact}{{ [s] : 0 <= s < 4 }}\n<> e = l[s]\n\
             domain {{ [i] : 0 <= i < 16 and i < e }}\ny[s] = sum(i, x[16*s + i])\n"
        )
    };
    let x = Tensor::from_vec(&[64], vec![1.0f32; 64]).unwrap();
    let run = |fact: &str, l: [u64; 4]| {
        let kernel = LoopKernel::parse(&text(fact)).unwrap();
        let l = Tensor::from_vec(&[4], l.to_vec()).unwrap();
        let args = Args::new().tensor("x", &x).tensor("l", &l);
        let bound = Device::emulator().compile(&kernel).unwrap().bind(&args).map_err(|d| d.code)?;
        Ok(bound.run().map_err(|d| d.code)?.arrays["y"].to_f64())
    };
    assert_eq!(run("", [3, (1 << 63) + 5, 0, 7]), Err("index-overflow"));
    assert_eq!(run("fact 0 <= l < 100\n", [3, 99, 0, 7]), Ok(vec![3.0, 16.0, 0.0, 7.0]));
}

/// A fact is about what the caller gives: it proves nothing of what the kernel writes.
#[test]
fn facts_about_written_arrays_prove_no_bounds() {
    let text = "kernel k(x: f32[8], j: i32[8], y: f32[8])\nfact 0 <= j < 8\n{ [i] : 0 <= i < 8 }\n\
                <> c = j[i] {id=before}\nj[i] = 100 {id=set, dep=before}\n<> e = j[i] {id=load, dep=set}\n\
                y[i] = x[e] {dep=load}\n";
    let kernel = LoopKernel::parse(text).unwrap();
    let x = Tensor::from_vec(&[8], vec![1.0f32; 8]).unwrap();
    let j = Tensor::from_vec(&[8], vec![0i32; 8]).unwrap();
    let args = Args::new().tensor("x", &x).tensor("j", &j);
    let bound = Device::emulator().compile(&kernel).unwrap().bind(&args).unwrap();
    assert_eq!(bound.run().map(|_| ()).map_err(|d| d.code), Err("out-of-bounds"));
    // Nothing is left out because of it, either.
    let text = "kernel k(j: i32[8], y: i32[8])\nfact 0 <= j < 8\n{ [i] : 0 <= i < 8 }\n\
                j[i] = 100 {id=set}\ny[i] = if(j[i] < 8, 1, 2) {dep=set}\n";
    let kernel = LoopKernel::parse(text).unwrap();
    let bound = Device::emulator().compile(&kernel).unwrap().bind(&Args::new().tensor("j", &j)).unwrap();
    assert_eq!(bound.run().unwrap().arrays["y"].to_f64(), vec![2.0; 8]);
}

/// What a conversion of data gives is an integer like any other: what stands around it does not
/// wrap in its type.
#[test]
fn conversions_of_data_are_integers() {
    let of = |subscript: &str, j: i32| {
        let j = Tensor::from_vec(&[8], vec![j; 8]).unwrap();
        read(subscript, "j: i32[8], a: i32", &[("j", j)], &[("a", Number::I32(-9))])
    };
    // 100 - (-64)*(-2)
    assert_eq!(of("abs(cast(u32, j[i]) % -64)", 100), Ok(28.0));
    assert_eq!(of("cast(u32, j[i]) + a + 10", 5), Ok(6.0));
    assert_eq!(of("60 + min(a, cast(u32, j[i]))", 5), Ok(51.0));
    assert_eq!(of("-cast(u8, j[i]) + 50", 256 + 7), Ok(43.0));
    // It wraps by itself: -1 is 2^32 - 1.
    assert_eq!(of("cast(u32, j[i])", -1), Ok(f64::from(u32::MAX % 61)));
    assert_eq!(of("cast(u64, cast(u32, j[i])) // 2", -1), Ok(f64::from((u32::MAX / 2) % 61)));
}

/// Conditions of numbers alone do not wrap either.
#[test]
fn numbers_that_are_compared_do_not_wrap() {
    for index in [DType::I32, DType::I64] {
        let text = "kernel k(x: f32[64], y: f32[8])\n{ [i] : 0 <= i < 8 }\n\
                    y[i] = x[if(5 % 65536 <= 2147483647*2, i, i + 40)] + x[if(-(2147483647 << 5) >= 0, i + 50, i)]\n";
        let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"));
        let x = Tensor::from_vec(&[64], (0..64).map(|k| k as f32).collect()).unwrap();
        let options = CompileOptions { index: Some(index), ..CompileOptions::default() };
        let compiled = Device::emulator().compile_with(&kernel, &options);
        let args = Args::new().tensor("x", &x);
        let expected: Vec<f64> = (0..8).map(|i| f64::from(2 * i)).collect();
        let compiled = compiled.unwrap_or_else(|d| panic!("{d}"));
        assert_eq!(compiled.reference(&args).unwrap()["y"].to_f64(), expected);
        match compiled.run(&args) {
            Ok(outputs) => assert_eq!(outputs.get("y").unwrap().to_f64(), expected),
            // 32 bits do not hold the numbers.
            Err(d) => assert_eq!((index, d.code), (DType::I32, "index-overflow"), "{d}"),
        }
    }
}

/// Of a remainder the range is known, whatever it is of: a reduction under a condition may read it.
#[test]
fn remainders_of_anything_are_in_bounds() {
    let text = "kernel k(x: f32[64], y: f32[8], j: i32[8], a: i32)\n{ [i] : 0 <= i < 8 }\n\
                { [k] : 0 <= k < 8 }\ny[i] = if(j[i] < 4, sum(k, x[(a | j[i]) % 64]), 0)\n";
    let _ = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"));
    let found = LoopKernel::parse(&text.replace("% 64", "% 65")).unwrap_err();
    assert!(found.to_string().contains("error[unguarded-read]"), "{found}");
}

/// Where 32 bits do not hold a number of a bound or a subscript, a launch takes 64 at once.
#[test]
fn numbers_beyond_32_bits_take_64() {
    let text = "kernel k(x: f32[64], y: f32[8])\n{ [i] : 5000000000 <= i < 5000000008 }\n\
                y[i - 5000000000] = x[(i - 5000000000)*1103515245 % 64]\n";
    let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"));
    let x = Tensor::from_vec(&[64], (0..64).map(|k| k as f32).collect()).unwrap();
    let outputs = Device::emulator().compile(&kernel).unwrap().run(&Args::new().tensor("x", &x)).unwrap();
    let expected: Vec<f64> = (0..8i64).map(|i| (i * 1_103_515_245 % 64) as f64).collect();
    assert_eq!(outputs.get("y").unwrap().to_f64(), expected);
}

/// Factors of quotients and of remainders too, of which products with the loop's range do not fit
/// in the numbers of a proof.
#[test]
fn factors_of_quotients_beyond_32_bits_take_64() {
    let of = |subscript: &str, steps: &str| {
        let text =
            format!("kernel k(x: f32[64], y: f32[40])\n{{ [i] : 0 <= i < 40 }}\ny[i] = x[{subscript}]\n");
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        let kernel = Pipeline::parse(steps).unwrap().apply(&kernel).unwrap_or_else(|d| panic!("{d}\n{text}"));
        let x = Tensor::from_vec(&[64], (0..64).map(|k| k as f32).collect()).unwrap();
        let compiled = Device::emulator().compile(&kernel).unwrap_or_else(|d| panic!("{d}\n{text}"));
        compiled.run(&Args::new().tensor("x", &x)).unwrap().get("y").unwrap().to_f64()
    };
    let wanted = |f: &dyn Fn(i64) -> i64| (0..40).map(|i| f(i).rem_euclid(64) as f64).collect::<Vec<_>>();
    assert_eq!(of("i // 7 * 1103515245 * 65537 % 64", ""), wanted(&|i| i / 7 * 1_103_515_245 * 65537));
    assert_eq!(of("i % 61 * 1103515245 // 2 % 64", ""), wanted(&|i| i % 61 * 1_103_515_245 / 2));
    assert_eq!(of("64 // 10*1103515245 % 3", ""), wanted(&|_| 6 * 1_103_515_245 % 3));
    // Not even the factors that a split gives fit in 64 bits.
    let steps = "split_iname(i, 7)\ntag_inames(i_outer: block.x, i_inner: thread.x)";
    let found = of("4294967295*i % 10 * 1103515245 % 64", steps);
    assert_eq!(found, wanted(&|i| 4_294_967_295 * i % 10 * 1_103_515_245));
}
