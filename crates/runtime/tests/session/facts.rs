//! Declared facts about data: each check accepts values up to the limits of the fact, and no
//! further.

use loopwright_runtime::{Args, Compiled, Device, Tensor};

use super::{Outcome, elementwise, floats, ok, refused};

const HELP: &str = "\n  help: correct the data or the fact: the kernel relies on it";

/// A gather of five elements with one fact.
fn gather(device: &Device, fact: &str) -> Result<Compiled, libtest_mimic::Failed> {
    let text = format!(
        "
kernel gather(x: f32[n], idx: i32[m], out: f32[m], n: i32, m: i32)
fact {fact}
domain {{ [i] : 0 <= i < m }}
out[i] = 2.0 * i
"
    );
    ok(device.compile(&elementwise(&text)))
}

fn args(idx: &[i32]) -> Result<Args, libtest_mimic::Failed> {
    let idx = ok(Tensor::from_slice(&[idx.len()], idx))?;
    Ok(Args::new().tensor("x", &floats(&[5], &[0.0; 5])).tensor("idx", &idx).check_facts())
}

pub(super) fn ranges_hold_up_to_their_ends(device: &Device) -> Outcome {
    let compiled = gather(device, "2 <= idx < n")?;
    for good in [&[2, 3, 4][..], &[4, 2], &[2], &[4]] {
        ok(compiled.bind(&args(good)?))?;
    }
    for (bad, place, value) in
        [(&[1, 2, 3][..], 0, 1), (&[2, 4, 5], 2, 5), (&[2, -7, 9], 1, -7), (&[5], 0, 5)]
    {
        refused(
            compiled.bind(&args(bad)?),
            &format!(
                "error[fact]: the elements of `idx` are not all in their declared range\n  \
                 witness: idx[{place}] is {value}, and the declared range is 2 to 4{HELP}"
            ),
        )?;
    }
    // A range with one end is open at the other.
    ok(gather(device, "idx < n")?.bind(&args(&[-100, 4])?))?;
    refused(
        gather(device, "idx < n")?.bind(&args(&[-100, 5])?),
        &format!(
            "error[fact]: the elements of `idx` are not all in their declared range\n  witness: \
             idx[1] is 5, and the declared range is no least to 4{HELP}"
        ),
    )?;
    refused(
        gather(device, "2 <= idx")?.bind(&args(&[100, 1])?),
        &format!(
            "error[fact]: the elements of `idx` are not all in their declared range\n  witness: \
             idx[1] is 1, and the declared range is 2 to no greatest{HELP}"
        ),
    )
}

pub(super) fn monotone_elements_may_be_equal_and_never_fall(device: &Device) -> Outcome {
    let compiled = gather(device, "monotone(idx)")?;
    for good in [&[1, 1, 1][..], &[-3, -3, 0, 0, 9], &[0, 1, 2], &[7]] {
        ok(compiled.bind(&args(good)?))?;
    }
    // Violated by one, between the first two and between the last two elements.
    for (bad, place) in [(&[2, 1, 1, 3][..], 0), (&[1, 1, 3, 2], 2), (&[0, 5, 4, 9], 1), (&[0, -1], 0)] {
        let (before, after) = (bad[place], bad[place + 1]);
        refused(
            compiled.bind(&args(bad)?),
            &format!(
                "error[fact]: the elements of `idx` decrease, but are declared monotone\n  \
                 witness: idx[{place}] is {before}, idx[{}] is {after}{HELP}",
                place + 1
            ),
        )?;
    }
    Ok(())
}

pub(super) fn equal_elements_are_found_wherever_they_are(device: &Device) -> Outcome {
    let compiled = gather(device, "injective(idx)")?;
    // Of few numbers or many, near zero or far from it, on either side of it or on both.
    for good in
        [&[3, 1, 2][..], &[0, -1], &[7], &[40, 41], &[-100, 100], &[-101, -100], &[i32::MIN, i32::MAX]]
    {
        ok(compiled.bind(&args(good)?))?;
    }
    for (bad, first, second) in [
        (&[4, 4][..], 0, 1),
        (&[1, 2, 3, 1], 0, 3),
        (&[0, 1, 2, 2], 2, 3),
        (&[-5, -4, 3, 3], 2, 3),
        (&[40, 41, 41], 1, 2),
        (&[-100, 100, -100], 0, 2),
        (&[i32::MIN, i32::MAX, i32::MIN], 0, 2),
    ] {
        refused(
            compiled.bind(&args(bad)?),
            &format!(
                "error[fact]: two elements of `idx` are equal, but are declared distinct\n  \
                 witness: idx[{first}] and idx[{second}] are both {}{HELP}",
                bad[first]
            ),
        )?;
    }
    // Numbers so far apart that there is no table of those between them.
    let text = "
kernel far(idx: i64[m], out: f32[m], m: i32)
fact injective(idx)
domain { [i] : 0 <= i < m }
out[i] = 2.0 * i
";
    let compiled = ok(device.compile(&elementwise(text)))?;
    let far = |idx: &[i64]| -> Result<Args, libtest_mimic::Failed> {
        Ok(Args::new().tensor("idx", &ok(Tensor::from_slice(&[idx.len()], idx))?).check_facts())
    };
    for good in [[0, 1 << 62], [-1, (1 << 62) - 1], [i64::MIN, i64::MAX]] {
        ok(compiled.bind(&far(&good)?))?;
    }
    refused(
        compiled.bind(&far(&[1 << 62, 0, 1 << 62])?),
        &format!(
            "error[fact]: two elements of `idx` are equal, but are declared distinct\n  witness: \
             idx[0] and idx[2] are both {}{HELP}",
            1i64 << 62
        ),
    )?;
    Ok(())
}

/// Facts are checked automatically for host arrays, and on request for arrays on the device; an
/// element of a multi-axis array is named by all its subscripts.
pub(super) fn facts_are_asked_of_all_arrays_that_have_them(device: &Device) -> Outcome {
    let text = "
kernel table(idx: i32[2, m], out: i32[2, m], m: i32)
fact 0 <= idx < 10
domain { [j, i] : 0 <= j < 2 and 0 <= i < m }
out[j, i] = idx[j, i]
";
    let compiled = ok(device.compile(&elementwise(text)))?;
    let wrong = ok(Tensor::from_slice(&[2, 3], &[0, 1, 2, 3, 4, 10]))?;
    let there = ok(device.upload(&wrong))?;
    let (host, on_device) = (Args::new().tensor("idx", &wrong), Args::new().device_tensor("idx", &there));
    for args in [host.clone(), host.clone().check_facts(), on_device.clone().check_facts()] {
        refused(
            compiled.bind(&args),
            &format!(
                "error[fact]: the elements of `idx` are not all in their declared range\n  \
                 witness: idx[1, 2] is 10, and the declared range is 0 to 9{HELP}"
            ),
        )?;
    }
    for args in [host.trust_facts(), on_device.clone(), on_device.trust_facts()] {
        ok(compiled.bind(&args))?;
    }
    let right = ok(Tensor::from_slice(&[2, 3], &[0, 1, 2, 3, 9, 5]))?;
    ok(compiled.bind(&Args::new().tensor("idx", &right).check_facts()))?;
    ok(compiled.bind(&Args::new().device_tensor("idx", &ok(device.upload(&right))?).check_facts()))?;
    Ok(())
}
