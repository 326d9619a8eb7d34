//! The arguments of a kernel: numbers, types, index widths, facts, layouts. A missing or wrong
//! argument is refused with a message that names it.

use loopwright_kernel_ir::{DType, Number};
use loopwright_runtime::{Args, CompileOptions, Device, Tensor};

use super::{BLOCKS, FAR, OPEN, Outcome, SUM, elementwise, floats, kernel, ok, parse, refused, x};

pub(super) fn a_sum_is_right(device: &Device) -> Outcome {
    let compiled = ok(device.compile(&kernel(SUM, BLOCKS)))?;
    let outputs = ok(compiled.run(&Args::new().tensor("x", &x())))?;
    assert_eq!(ok(ok(outputs.get("out"))?.to_vec::<f32>())?, [10.0, 26.0, 42.0]);
    assert_eq!(outputs.index, DType::I32);
    assert_eq!(outputs.report.is_some(), !device.is_gpu());
    // With every argument given explicitly, including an array of the caller's for the result.
    let args = Args::new()
        .tensor("x", &x())
        .tensor("out", &ok(Tensor::uninit(&[3], DType::F32))?)
        .scalar("nseg", 3)
        .scalar("len", 4usize);
    assert_eq!(ok(ok(compiled.run(&args))?.get("out"))?, ok(outputs.get("out"))?);
    refused(outputs.get("ot"), "error[unknown-argument]: there is no array `ot`\n  help: do you mean `out`?")
}

pub(super) fn wrong_arguments_are_refused(device: &Device) -> Outcome {
    let compiled = ok(device.compile(&kernel(SUM, BLOCKS)))?;
    let bind = |args: Args| compiled.bind(&args);
    let good = || Args::new().tensor("x", &x());
    refused(
        bind(Args::new()),
        "error[missing-argument]: argument `x` of `segmented_sum` is missing\n  help: pass an \
         array of f32[nseg, len]",
    )?;
    refused(
        bind(good().scalar("leng", 4)),
        "error[unknown-argument]: `segmented_sum` has no argument `leng`\n  help: do you mean \
         `len`?",
    )?;
    refused(
        bind(good().scalar("velocity", 4)),
        "error[unknown-argument]: `segmented_sum` has no argument `velocity`\n  help: its \
         arguments are x, out, nseg, len",
    )?;
    refused(
        bind(good().tensor("x", &x())),
        "error[argument-twice]: argument `x` was given twice\n  help: give it once",
    )?;
    refused(
        bind(good().scalar("out", 1)),
        "error[argument-kind]: `out` is an array, but a number was given\n  help: pass an array \
         of f32[nseg]",
    )?;
    refused(
        bind(good().tensor("len", &x())),
        "error[argument-kind]: `len` is a number, but an array was given\n  help: pass one value \
         of i32",
    )?;
    refused(
        bind(Args::new().tensor("x", &x().cast(DType::F64))),
        "error[argument-type]: the elements of `x` are f32, but f64 was given\n  help: convert \
         them, or declare `x` with an open type",
    )?;
    refused(
        bind(Args::new().tensor("x", &ok(x().reshape(&[12]))?)),
        "error[argument-rank]: `x` has 2 axes, but an array of 1 axis was given\n  help: its declared shape \
         is f32[nseg, len]",
    )?;
    refused(
        bind(good().scalar("len", 5)),
        "error[argument-shape]: the length `len` of axis 1 of `x` is 5, but 4 was given\n  \
         witness: len = 5\n  help: the declared shape is f32[nseg, len]",
    )?;
    refused(
        bind(good().tensor("out", &ok(Tensor::uninit(&[4], DType::F32))?)),
        "error[argument-shape]: the length `nseg` of axis 0 of `out` is 3, but 4 was given\n  \
         witness: nseg = 3 from axis 0 of `x`\n  help: the declared shape is f32[nseg]",
    )?;
    refused(
        bind(good().scalar("len", 4.5)),
        "error[scalar-type]: `len` is i32, but 4.5 was given\n  help: pass a value of i32",
    )?;
    refused(
        bind(good().scalar("len", 1i64 << 40)),
        "error[scalar-range]: `len` is i32, which cannot represent 1099511627776\n  help: declare \
         `len` with a wider type",
    )?;
    refused(
        bind(Args::new().tensor("x", &floats(&[0, 4], &[]))),
        "error[assumption]: the assumption `1 <= nseg` of `segmented_sum` does not hold\n  \
         witness: nseg = 0 from axis 0 of `x`\n  help: the kernel is declared for these \
         values only: pass others",
    )?;
    refused(
        bind(good().bind_type("T", DType::F32)),
        "error[unknown-type]: `segmented_sum` has no open type `T`\n  help: it has no open types",
    )
}

pub(super) fn an_array_that_is_updated_is_not_made_for_the_caller(device: &Device) -> Outcome {
    let text = "kernel count(x: i32[64], y: i32[8])\n\
                fact 0 <= x < 8\n\
                domain { [i] : 0 <= i < 64 }\n\
                y[x[i]] += 1\n";
    let compiled = ok(device.compile(&elementwise(text)))?;
    let args = Args::new().tensor("x", &ok(Tensor::zeros(&[64], DType::I32))?);
    refused(
        compiled.bind(&args),
        "error[missing-argument]: argument `y` of `count` is missing\n  help: pass an array of i32[8]: the \
         kernel writes it, and reads it too",
    )
}

pub(super) fn numbers_that_no_shape_tells_have_to_be_given(device: &Device) -> Outcome {
    let text = "
kernel scale(x: f32[n + 1], y: f32[n + 1], a: f32, n: i32)
domain { [i] : 0 <= i <= n }
y[i] = a * x[i]
";
    let compiled = ok(device.compile(&elementwise(text)))?;
    let args = || Args::new().tensor("x", &floats(&[4], &[1.0, 2.0, 3.0, 4.0]));
    refused(
        compiled.run(&args()).map(|_| ()),
        "error[missing-argument]: argument `a` of `scale` is missing\n  help: pass a value of f32",
    )?;
    // n = 3 follows from n + 1 = 4; an integer is accepted as f32.
    let bound = ok(compiled.bind(&args().scalar("a", 2)))?;
    assert_eq!(bound.scalar("n"), Some(Number::I32(3)));
    let outputs = ok(bound.run())?;
    assert_eq!(ok(ok(outputs.get("y"))?.to_vec::<f32>())?, [2.0, 4.0, 6.0, 8.0]);
    refused(
        compiled.bind(&args().scalar("a", true)),
        "error[scalar-type]: `a` is f32, but true was given\n  help: pass a value of f32",
    )
}

/// Lengths that no array determines follow from what a pipeline has fixed.
pub(super) fn numbers_that_the_kernel_fixes_can_be_left_out(device: &Device) -> Outcome {
    let text = "kernel ramp(y: i32[m, n], m: i32, n: i32)\nassume 0 <= m and 1 <= n\n\
        domain { [i, j] : 0 <= i < m and 0 <= j < n }\ny[i, j] = 10 * i + j\n";
    let compiled =
        ok(device.compile(&kernel(text, "fix_parameters(n=4)\ntag_inames(i: block.x, j: thread.x)")))?;
    let outputs = ok(compiled.run(&Args::new().scalar("m", 2)))?;
    assert_eq!(ok(ok(outputs.get("y"))?.to_vec::<i32>())?, [0, 1, 2, 3, 10, 11, 12, 13]);
    let other = compiled.run(&Args::new().scalar("m", 2).scalar("n", 5));
    let refusal = other.err().ok_or("another value is taken")?;
    assert_eq!(refusal.code, "assumption", "{refusal}");
    Ok(())
}

pub(super) fn open_types_are_bound_by_arguments(device: &Device) -> Outcome {
    let compiled = ok(device.compile(&elementwise(OPEN)))?;
    assert_eq!(compiled.forms(), 0, "nothing is known yet");
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::U8, DType::I64] {
        let x = ok(Tensor::from_vec(&[40], (0..40i32).collect()))?.cast(dtype);
        for _ in 0..2 {
            let outputs = ok(compiled.run(&Args::new().tensor("x", &x)))?;
            let y = ok(outputs.get("y"))?;
            assert_eq!(y.dtype(), dtype);
            assert_eq!(y.to_f64(), (0..40).map(|v| f64::from(2 * v)).collect::<Vec<_>>(), "{dtype}");
        }
    }
    assert_eq!(compiled.forms(), 7, "one binary a binding");
    let x = floats(&[2], &[1.0, 2.0]);
    refused(
        compiled.bind(&Args::new().tensor("x", &x).tensor("y", &x.cast(DType::F64))),
        "error[type-conflict]: type `T` is, by `x`, f32, and the elements of `y` are f64\n  help: \
         convert one of them",
    )?;
    refused(
        compiled.stages().map(|_| ()),
        "error[open-type]: the type `T` is open until arguments bind it\n  help: ask with \
         `stages_for(&args)`",
    )?;
    assert!(ok(compiled.stages_for(&Args::new().tensor("x", &x)))?.cuda.text.contains("float"));
    Ok(())
}

pub(super) fn indices_are_as_wide_as_the_arguments_ask(device: &Device) -> Outcome {
    let kernel = parse(FAR);
    let compiled = ok(device.compile(&kernel))?;
    let x = ok(Tensor::from_vec(&[5], vec![1i32, 2, 3, 4, 5]))?;
    for (start, index) in [(0i64, DType::I32), (1 << 20, DType::I32), (3_000_000_000, DType::I64)] {
        let bound = ok(compiled.bind(&Args::new().tensor("x", &x).scalar("start", start)))?;
        assert_eq!(bound.index(), index, "start = {start}");
        let outputs = ok(bound.run())?;
        assert_eq!(ok(ok(outputs.get("y"))?.to_vec::<i32>())?, [2, 3, 4, 5, 6], "start = {start}");
    }
    assert_eq!(compiled.forms(), 2);
    // Nor do 64 bits hold every sum.
    let beyond = compiled.bind(&Args::new().tensor("x", &x).scalar("start", i64::MAX - 2)).unwrap_err();
    assert_eq!(beyond.code, "index-overflow");
    let narrow = CompileOptions { index: Some(DType::I32), ..CompileOptions::default() };
    let compiled = ok(device.compile_with(&kernel, &narrow))?;
    let error = compiled.bind(&Args::new().tensor("x", &x).scalar("start", 3_000_000_000i64)).unwrap_err();
    assert_eq!(error.code, "index-overflow");
    Ok(())
}

/// A condition whose value exceeds 32 bits, although every subscript fits and no instance goes that
/// far.
pub(super) fn conditions_ask_for_wide_indices_too(device: &Device) -> Outcome {
    let text = "
kernel below(y: i32[n, 4], n: i32, m: i32)
assume 1 <= n and 0 <= m
domain { [i, j] : 0 <= i < n and 0 <= j < 4 and 1000000*i + 500000*j < m }
y[i, j] = 1
";
    let compiled = ok(device.compile(&kernel(text, "tag_inames(i: block.x, j: thread.x)")))?;
    // The last thread of the last block tests whether 2,146,500,000 is less than m; with one more
    // block, 2,147,500,000.
    let m = 2_146_483_648i64;
    for (n, index) in [(2146, DType::I32), (2147, DType::I64)] {
        let args = Args::new().tensor("y", &ok(Tensor::zeros(&[n, 4], DType::I32))?).scalar("m", m);
        let bound = ok(compiled.bind(&args))?;
        assert_eq!(bound.index(), index, "n = {n}");
        let y = ok(ok(ok(bound.run())?.get("y"))?.to_vec::<i32>())?;
        let runs = |k: usize| 1_000_000 * (k / 4) + 500_000 * (k % 4) < m as usize;
        assert!(y.iter().enumerate().all(|(k, v)| *v == i32::from(runs(k))), "n = {n}");
        assert_eq!(y[4 * 2145..4 * 2146], [1, 1, 1, 0]);
    }
    Ok(())
}

pub(super) fn facts_are_checked_unless_they_are_trusted(device: &Device) -> Outcome {
    let text = "
kernel gather(x: f32[n], idx: i32[m], out: f32[m], n: i32, m: i32)
fact 0 <= idx < n
fact injective(idx)
fact monotone(idx)
domain { [i] : 0 <= i < m }
out[i] = x[idx[i]]
";
    let compiled = ok(device.compile(&elementwise(text)))?;
    let x = floats(&[5], &[0.0, 1.0, 2.0, 3.0, 4.0]);
    let args = |idx: &[i32]| {
        let idx = Tensor::from_slice(&[idx.len()], idx).unwrap();
        Args::new().tensor("x", &x).tensor("idx", &idx)
    };
    let outputs = ok(compiled.run(&args(&[0, 2, 4])))?;
    assert_eq!(ok(outputs.get("out"))?.to_f64(), [0.0, 2.0, 4.0]);
    let help = "\n  help: correct the data or the fact: the kernel relies on it";
    refused(
        compiled.bind(&args(&[0, 2, 5])),
        &format!(
            "error[fact]: the elements of `idx` are not all in their declared range\n  witness: \
             idx[2] is 5, and the declared range is 0 to 4{help}"
        ),
    )?;
    refused(
        compiled.bind(&args(&[1, 2, 1])),
        &format!(
            "error[fact]: two elements of `idx` are equal, but are declared distinct\n  witness: \
             idx[0] and idx[2] are both 1{help}"
        ),
    )?;
    refused(
        compiled.bind(&args(&[1, 3, 2])),
        &format!(
            "error[fact]: the elements of `idx` decrease, but are declared monotone\n  witness: \
             idx[1] is 3, idx[2] is 2{help}"
        ),
    )?;
    // The same elements are refused again.
    let idx = Tensor::from_slice(&[3], &[1, 2, 1]).unwrap();
    let again = || Args::new().tensor("x", &x).tensor("idx", &idx);
    for _ in 0..2 {
        assert_eq!(compiled.bind(&again()).map(drop).unwrap_err().code, "fact");
    }
    ok(compiled.bind(&again().trust_facts()))?;
    // Data on the device are copied to the host for the check only on request.
    let there = ok(device.upload(&idx))?;
    let there = || Args::new().tensor("x", &x).device_tensor("idx", &there);
    ok(compiled.bind(&there()))?;
    assert_eq!(compiled.bind(&there().check_facts()).map(drop).unwrap_err().code, "fact");
    // A bound without a value does not restrict anything.
    let text = text.replace("idx < n", "idx < n * n * n * n").replace("n: i32", "n: i64");
    let compiled = ok(device.compile(&elementwise(&text)))?;
    let far = Args::new().tensor("idx", &Tensor::from_slice(&[1], &[0]).unwrap());
    let x = ok(Tensor::zeros(&[65_536], DType::F32))?;
    refused(
        compiled.bind(&far.tensor("x", &x)),
        "error[fact]: the bound `n * n * n * n` of the elements of `idx` has no value in 64 \
         bits\n  help: work on smaller pieces",
    )
}

pub(super) fn what_bounds_and_assumptions_speak_of_is_held_by_i64(device: &Device) -> Outcome {
    let bound = "kernel k(x: f32[64], y: f32[64], a: u64)\n\
                 domain { [i] : 0 <= i < 64 and i < a }\n\
                 y[i] = x[i]\n";
    let (x, zeros) = (ok(Tensor::zeros(&[64], DType::F32))?, ok(Tensor::zeros(&[64], DType::I32))?);
    let args = |a: u64| Args::new().tensor("x", &x).scalar("a", a);
    let help = "bounds, subscripts and assumptions are signed 64-bit numbers: pass `a` below 2^63";
    refused(
        ok(device.compile(&elementwise(bound)))?.bind(&args(u64::MAX)),
        &format!(
            "error[scalar-range]: `a` is 18446744073709551615, which does not fit into i64, and \
             the bound `i < a` uses it\n  help: {help}"
        ),
    )?;
    let others = [
        bound.replace("and i < a", "").replace("domain", "assume a >= 10\ndomain"),
        bound.replace("and i < a", "").replace("= x[i]", "= x[cast(i32, a % 8)]"),
        bound.replace("and i < a", "").replace("y: f32[64]", "y: f32[64] strides(a)"),
    ];
    for text in others {
        let compiled = ok(device.compile(&elementwise(&text)))?;
        for a in [1 << 63, u64::MAX] {
            assert_eq!(compiled.bind(&args(a)).map(drop).unwrap_err().code, "scalar-range", "{text}");
        }
    }
    // One of two numbers, in the declared range of data.
    let range = "kernel k(x: i32[64], y: f32[64], a: u64, b: u64)\n\
                 fact 0 <= x < a\n\
                 domain { [i] : 0 <= i < 64 }\n\
                 y[i] = cast(f32, x[i])\n";
    let compiled = ok(device.compile(&elementwise(range)))?;
    let args = |a: u64| Args::new().tensor("x", &zeros).scalar("a", a).scalar("b", 1);
    assert_eq!(compiled.bind(&args(1 << 63)).map(drop).unwrap_err().code, "scalar-range");
    ok(compiled.bind(&args(64)))?;
    // A value is not a bound.
    let value = "kernel k(x: u64[64], y: u64[64], a: u64)\ndomain { [i] : 0 <= i < 64 }\ny[i] = x[i] + a\n";
    let x = ok(Tensor::zeros(&[64], DType::U64))?;
    let args = Args::new().tensor("x", &x).scalar("a", u64::MAX);
    let outputs = ok(ok(device.compile(&elementwise(value)))?.run(&args))?;
    assert_eq!(ok(ok(outputs.get("y"))?.to_vec::<u64>())?, [u64::MAX; 64]);
    // An assumption whose value exceeds 64 bits does not count as satisfied.
    let text = "kernel k(y: f32[64], a: i64)\n\
                assume 4611686018427387904 * a >= 0\n\
                domain { [i] : 0 <= i < 64 }\n\
                y[i] = 1.0\n";
    let compiled = ok(device.compile(&elementwise(text)))?;
    ok(compiled.bind(&Args::new().scalar("a", 1)))?;
    let error = compiled.bind(&Args::new().scalar("a", 4)).map(drop).unwrap_err();
    assert_eq!(error.code, "assumption");
    assert!(error.message.contains("is not known"), "{error}");
    Ok(())
}

pub(super) fn layouts_are_those_that_the_kernel_declares(device: &Device) -> Outcome {
    let text = "
kernel add_one(x: f32[n, m], y: f32[n, m], n: i32, m: i32)
domain { [i, j] : 0 <= i < n and 0 <= j < m }
y[i, j] = x[i, j] + 1.0
";
    let columns = kernel(text, "tag_array_axes(x, \"N0,N1\")\ntag_array_axes(y, \"N0,N1\")");
    let compiled = ok(device.compile(&columns))?;
    let bound = ok(compiled.bind(&Args::new().tensor("x", &x())))?;
    assert_eq!(ok(bound.array("y"))?.strides(), [1, 3], "columns are dense");
    let outputs = ok(bound.run())?;
    let expected: Vec<f64> = (2..=13).map(f64::from).collect();
    assert_eq!(ok(outputs.get("y"))?.to_f64(), expected);
    let rows = ok(device.upload(&x()))?;
    refused(
        compiled.bind(&Args::new().device_tensor("x", &rows)),
        "error[argument-strides]: `x` has strides [4, 1] and the kernel expects [1, 3]\n  help: \
         pass a host tensor, which is laid out as the kernel expects",
    )
}

pub(super) fn subscripts_that_were_only_tried_are_checked(device: &Device) -> Outcome {
    let text = "kernel k(x: f32[1600], y: f32[m], m: i32)\nassume 0 <= m\n\
                domain { [j] : 0 <= j < m }\ny[j] = x[j*j]";
    let compiled = ok(device.compile(&parse(text)))?;
    let x = floats(&[1600], &(0..1600).map(|k| k as f32).collect::<Vec<_>>());
    let run = |m: usize| compiled.run(&Args::new().tensor("x", &x).scalar("m", m));
    let y = ok(ok(ok(run(40))?.get("y"))?.to_vec::<f32>())?;
    assert_eq!(y, (0..40).map(|j| (j * j) as f32).collect::<Vec<_>>());
    for _ in 0..2 {
        refused(
            run(41),
            "error[out-of-bounds]: `x[j * j]` exceeds the bounds of `x`\n  witness: for j = 40, m = 41: the \
             subscript 1600, of an axis of length 1600\n  help: correct the subscript, the domain or the \
             shape; the sizes of the launch show it",
        )?;
    }
    Ok(())
}
