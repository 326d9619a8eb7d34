//! `Expectation`: when a result counts as that of the declared kernel.

use indexmap::IndexMap;
use loopwright_kernel_ir::{DType, Element, LoopKernel, Name};
use loopwright_runtime::{Args, Device, Tensor};

fn kernel(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"))
}

/// The difference between `found` and the `y` that the kernel computes from `x`.
fn difference<T: Element, U: Element>(
    text: &str,
    x: &[T],
    found: &[U],
    tolerance: Option<f64>,
) -> Option<String> {
    let compiled = Device::emulator().compile(&kernel(text)).unwrap();
    let args = Args::new().tensor("x", &Tensor::from_slice(&[x.len()], x).unwrap());
    let mut results: IndexMap<Name, Tensor> = IndexMap::new();
    results.insert(Name::new("y"), Tensor::from_slice(&[found.len()], found).unwrap());
    compiled.expectation(&args).unwrap().difference(&results, tolerance).unwrap()
}

fn copy(dtype: &str) -> String {
    format!("kernel k(x: {dtype}[n], y: {dtype}[n], n: i32)\ndomain {{ [i] : 0 <= i < n }}\ny[i] = x[i]\n")
}

#[test]
fn integers_are_equal_or_not() {
    let odd = (1i64 << 53) + 1;
    assert_eq!(difference(&copy("i64"), &[odd], &[odd], None), None);
    let told = difference(&copy("i64"), &[odd], &[odd - 1], None);
    assert_eq!(
        told.as_deref(),
        Some("element 0 of `y` is 9007199254740992, and the declared kernel gives 9007199254740993")
    );
    // Tolerances do not apply to integers, whatever the magnitude of other elements.
    assert!(difference(&copy("i32"), &[1_000_000, 3], &[1_000_000, 4], Some(1e-2)).is_some());
    assert!(difference(&copy("u64"), &[u64::MAX], &[u64::MAX - 1], Some(1e-2)).is_some());
    assert!(difference(&copy("bool"), &[true, false], &[true, true], Some(1e-2)).is_some());
}

#[test]
fn an_element_is_held_to_its_own_size() {
    let x = [1e6f32, 1e-3];
    assert_eq!(difference(&copy("f32"), &x, &[1e6f32, 1.000_01e-3], None), None);
    // Negligible next to the largest element, but a tenth of the element itself.
    assert!(difference(&copy("f32"), &x, &[1e6f32, 1.1e-3], None).is_some());
    assert!(difference(&copy("f32"), &x, &[1e6f32, 0.0], None).is_some());
    let wild = [f32::NAN, f32::INFINITY, 0.0];
    assert_eq!(difference(&copy("f32"), &wild, &wild, None), None);
    assert!(difference(&copy("f32"), &wild, &[0.0f32, f32::INFINITY, 0.0], None).is_some());
    assert!(difference(&copy("f32"), &wild, &[f32::NAN, 3e38, 0.0], None).is_some());
    assert!(difference(&copy("f32"), &wild, &[f32::NAN, f32::INFINITY, 1e-9], None).is_some());
    // f64 has to have the accuracy of f64.
    assert!(difference(&copy("f64"), &[1.0f64], &[1.000_001], None).is_some());
    assert!(difference(&copy("f64"), &[1.0f64], &[1.000_001], Some(1e-5)).is_none());
}

const SUM: &str = "kernel k(x: f32[n], y: f32[1], n: i32)
domain { [i] : 0 <= i < n }
domain { [one] : 0 <= one < 1 }
y[one] = sum(i, x[i])
";

#[test]
fn where_terms_cancel_their_size_counts() {
    // 2000 terms of magnitude up to 1 that nearly cancel.
    let mut x: Vec<f32> =
        (0..1000).flat_map(|k| [(k as f32 * 0.37).sin(), -(k as f32 * 0.37).sin()]).collect();
    x.push(1e-4);
    assert_eq!(difference(SUM, &x, &[1e-4f32], None), None);
    // An error that another order of summation can produce.
    assert_eq!(difference(SUM, &x, &[1.2e-4f32], None), None);
    // One that no order can produce: a term was omitted.
    assert!(difference(SUM, &x, &[1e-4f32 + 0.5], None).is_some());
    // The same difference is wrong if nothing cancels, or if the tolerance allows no rounding.
    assert!(difference(SUM, &[1e-4f32], &[1.2e-4f32], None).is_some());
    assert!(difference(SUM, &x, &[1.2e-4f32], Some(0.0)).is_some());
}

#[test]
fn where_nothing_cancels_the_tolerance_is_what_it_says() {
    // Barely within the tolerance, and barely outside.
    let told = |dtype: &str, x: f64, found: f64| match dtype {
        "f32" => difference(&copy("f32"), &[x as f32], &[found as f32], None),
        _ => difference(&copy("f64"), &[x], &[found], None),
    };
    for x in [1.0, -3.0, 1e-20, 7e20] {
        assert_eq!(told("f32", x, x * (1.0 + 1.9e-5)), None, "{x}");
        assert!(told("f32", x, x * (1.0 + 2.2e-5)).is_some(), "{x}");
        assert_eq!(told("f64", x, x * (1.0 + 0.9e-12)), None, "{x}");
        assert!(told("f64", x, x * (1.0 + 1.1e-12)).is_some(), "{x}");
    }
    let half =
        |v: f32| difference(&copy("f16"), &[half::f16::from_f32(1.0)], &[half::f16::from_f32(v)], None);
    assert_eq!(half(1.003), None);
    assert!(half(1.015).is_some());
    // Terms of one sign, and a product.
    let positive: Vec<f32> = (0..500).map(|k| 1.0 + k as f32 * 0.01).collect();
    let sum = positive.iter().map(|v| f64::from(*v)).sum::<f64>();
    assert!(difference(SUM, &positive, &[(sum * (1.0 + 4e-5)) as f32], None).is_some());
    let square = copy("f32").replace("= x[i]", "= x[i]*x[i]");
    assert!(difference(&square, &[3f32], &[9.0 * (1.0 + 4e-5)], None).is_some());
}

/// In f8 and f16 all devices keep the numbers below the least normal one, so that a result is off
/// by the distance of two of them at most; in others such numbers may be flushed to zero.
#[test]
fn subnormal_numbers_are_off_by_one_or_flushed() {
    let told = |dtype: DType, x: f64, found: f64, tolerance: Option<f64>| {
        let of = |v: f64| Tensor::from_slice(&[1], &[v]).unwrap().cast(dtype);
        let compiled = Device::emulator().compile(&kernel(&copy(dtype.name()))).unwrap();
        let results = IndexMap::from([(Name::new("y"), of(found))]);
        let expectation = compiled.expectation(&Args::new().tensor("x", &of(x))).unwrap();
        expectation.difference(&results, tolerance).unwrap()
    };
    for (dtype, least) in [(DType::E4M3, -9), (DType::E5M2, -16), (DType::F16, -24)] {
        let least = 2f64.powi(least);
        for (x, found) in [(0.0, 1.0), (1.0, 0.0), (1.0, 2.0), (1.0, -0.0)] {
            assert_eq!(told(dtype, x * least, found * least, None), None, "{dtype}: {x} {found}");
            let exactly = told(dtype, x * least, found * least, Some(0.0));
            assert!(exactly.is_some(), "{dtype}: {x} {found}");
        }
        for (x, found) in [(0.0, 2.0), (1.0, 3.0), (1.0, -1.0)] {
            assert!(told(dtype, x * least, found * least, None).is_some(), "{dtype}: {x} {found}");
        }
    }
    for (dtype, normal) in [(DType::F32, f64::from(f32::MIN_POSITIVE)), (DType::F64, f64::MIN_POSITIVE)] {
        assert_eq!(told(dtype, 0.5 * normal, 0.0, None), None, "{dtype}");
        assert!(told(dtype, 0.5 * normal, 0.0, Some(0.0)).is_some(), "{dtype}");
        assert!(told(dtype, 2.0 * normal, 0.0, None).is_some(), "{dtype}");
    }
}

#[test]
fn a_result_is_held_to_the_coarsest_type_on_the_way() {
    let of = |value: &str| {
        let text = format!(
            "kernel k(x: f32[n], y: f64[n], n: i32)\ndomain {{ [i] : 0 <= i < n }}\ny[i] = {value}\n"
        );
        // The square of 3, off by a tenth of what is allowed in f32 and by far more than in f64.
        difference(&text, &[3f32], &[9.0 * (1.0 + 2e-6)], None)
    };
    assert_eq!(of("cast(f64, x[i]*x[i])"), None);
    assert!(of("cast(f64, x[i])*cast(f64, x[i])").is_some());
}

/// Terms of magnitude 1 that are off by 2e-5 each: by how much the sum is off does not depend on
/// how great it is, as long as that is less than the terms.
#[test]
fn where_terms_nearly_cancel_their_size_counts_too() {
    let terms = (0..1000).flat_map(|k| [(k as f32 * 0.37).sin(), -(k as f32 * 0.37).sin()]);
    for total in [1e-4f32, 1e-2, 5e-2] {
        let x: Vec<f32> = terms.clone().chain([total]).collect();
        assert_eq!(difference(SUM, &x, &[total + 2e-5], None), None, "{total}");
        assert!(difference(SUM, &x, &[total + 0.5], None).is_some(), "{total}");
    }
}

/// A kernel whose `y`, or what it is computed of, are sums of updates in f16.
fn sums(y: &str, last: &str) -> String {
    let h = if last.is_empty() { "y" } else { "h" };
    let temporary = if last.is_empty() { "" } else { "temp h: f16[1] global\n" };
    format!(
        "kernel k(x: f16[n], y: {y}[1], n: i32)\ndomain {{ [j] : 0 <= j < 1 }}\n\
         domain {{ [i] : 0 <= i < n }}\ndomain {{ [l] : 0 <= l < 1 }}\n{temporary}{h}[j] = 0.0\n\
         {h}[0] += x[i]\n{last}\n"
    )
}

/// The code of the refusal to compare, if it is one, and the difference otherwise.
fn compared<U: Element>(text: &str, x: &[f32], found: U) -> Result<Option<String>, String> {
    let compiled = Device::emulator().compile(&kernel(text)).unwrap();
    let x: Vec<half::f16> = x.iter().map(|v| half::f16::from_f32(*v)).collect();
    // What `y` holds at first is overwritten.
    let y = Tensor::from_slice(&[1], &[found]).unwrap();
    let args = Args::new().tensor("x", &Tensor::from_slice(&[x.len()], &x).unwrap()).tensor("y", &y);
    let results = [(Name::new("y"), Tensor::from_slice(&[1], &[found]).unwrap())].into_iter().collect();
    compiled.expectation(&args).unwrap().difference(&results, None).map_err(|d| d.to_string())
}

/// Of 2048, three ones and -2048, in some order, f16 makes 0, 3 or 4.
#[test]
fn each_order_of_updates_is_right_and_no_other_result() {
    let terms = [2048.0, 1.0, 1.0, 1.0, -2048.0];
    for found in [0.0, 3.0, 4.0, 2.0] {
        assert_eq!(compared(&sums("f16", ""), &terms, half::f16::from_f32(found)), Ok(None), "{found}");
        let twice = compared(&sums("f32", "y[l] = 2.0*h[l]"), &terms, 2.0 * found);
        assert_eq!(twice, Ok(None), "{found}");
    }
    for found in [300.0, -300.0, f32::NAN] {
        let told = compared(&sums("f16", ""), &terms, half::f16::from_f32(found));
        assert!(matches!(told, Ok(Some(_))), "{found}: {told:?}");
        let twice = compared(&sums("f32", "y[l] = 2.0*h[l]"), &terms, 2.0 * found);
        assert!(matches!(twice, Ok(Some(_))), "{found}: {twice:?}");
    }
    // An integer that depends on the order is neither right nor wrong.
    let whole = sums("i32", "y[l] = cast(i32, h[l])");
    assert_eq!(compared(&whole, &terms, 3), Ok(None));
    assert_eq!(compared(&whole, &terms, 0), Ok(None), "the order of the text");
    assert!(compared(&whole, &terms, 4).unwrap_err().contains("update-rounding"));
}

/// Where rounding may lead anywhere, nothing but what is near the exact sum, or what the order of
/// the text gives, is accepted, and nothing that may be right is called wrong.
#[test]
fn sums_that_any_result_may_follow_from_are_not_compared() {
    let ones = [1.0; 4096];
    for found in [4096.0, 4100.0, 2048.0] {
        assert_eq!(compared(&sums("f16", ""), &ones, half::f16::from_f32(found)), Ok(None), "{found}");
    }
    assert_eq!(
        compared(&sums("f16", ""), &ones, half::f16::from_f32(3000.0)).unwrap_err() + "\n",
        "\
error[update-rounding]: element 0 of `y` is 3000, and 4096 without rounding: its 4096 updates are rounded in an order that is open, which may leave that and much else
  help: update an array of f32, and convert it in another instruction; or compare a problem with fewer updates of each element
"
    );
    let told = compared(&sums("f16", ""), &ones, half::f16::from_f32(60000.0));
    assert!(matches!(told, Ok(Some(_))), "{told:?}");
    // What leaves the range of the type on the way may be anything.
    let far = [60000.0, 60000.0, -60000.0, -60000.0];
    assert!(compared(&sums("f16", ""), &far, half::f16::INFINITY).is_ok(), "the order of the text");
    assert!(
        compared(&sums("f16", ""), &far, half::f16::NEG_INFINITY).unwrap_err().contains("update-rounding")
    );
    // Counts that no order rounds are held to what they are.
    let told = compared(&sums("f16", ""), &[1.0; 2048], half::f16::from_f32(1900.0));
    assert!(matches!(told, Ok(Some(_))), "{told:?}");
    // Minima are the same in any order.
    let least = sums("f16", "").replace("+= x[i]", "min= x[i]");
    let told = compared(&least, &[-5.0, 1.0, -2048.0], half::f16::from_f32(-2000.0));
    assert!(matches!(told, Ok(Some(_))), "{told:?}");
    assert_eq!(compared(&least, &[-5.0, 1.0, -2048.0], half::f16::from_f32(-2048.0)), Ok(None));
}

/// What is computed of sums that may be rounded may be off by as much as other right sums make it,
/// and by no more than a few times that: here the sums may be off by 227 of 2200.
#[test]
fn what_is_computed_of_rounded_sums_is_off_by_what_these_may_be() {
    let twice = |found: f32| compared(&sums("f32", "y[l] = 2.0*h[l]"), &[11.0; 200], found);
    for found in [4400.0, 4500.0, 4300.0] {
        assert_eq!(twice(found), Ok(None), "{found}");
    }
    for found in [10000.0, -1000.0] {
        let told = twice(found);
        assert!(matches!(told, Ok(Some(_))), "{found}: {told:?}");
    }
}

/// Neither is what is computed of a sum from which any result may follow compared, however far off
/// it is, nor a sum whose first value no instruction writes.
#[test]
fn what_is_computed_of_any_result_is_not_compared() {
    let ones = [1.0; 4096];
    for found in [6000.0f32, 1e6] {
        let told = compared(&sums("f32", "y[l] = 2.0*h[l]"), &ones, found);
        assert!(told.as_ref().is_err_and(|d| d.contains("update-rounding")), "{found}: {told:?}");
    }
    // `y` begins with what is called its result: 100 and 4096 ones.
    let alone = sums("f16", "").replace("y[j] = 0.0\n", "");
    let told = compared(&alone, &ones, half::f16::from_f32(100.0));
    assert!(told.as_ref().is_err_and(|d| d.contains("update-rounding")), "{told:?}");
}
