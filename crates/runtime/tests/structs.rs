//! Arrays of structs as arguments: facts about their fields, and structs that nothing uses.

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_runtime::{Args, Compiled, Device, Tensor};

fn compiled(text: &str) -> Compiled {
    let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"));
    Device::emulator().compile(&kernel).unwrap()
}

fn bound(compiled: &Compiled, args: &Args) -> Result<(), Diagnostic> {
    compiled.bind(args).map(drop)
}

/// Data of the host are checked unless they are trusted, those of a device on request.
#[test]
fn facts_about_fields_are_checked_as_those_about_arrays_are() {
    let compiled = compiled(
        "kernel k(p: pair[n], y: i32[n], n: i32)
struct pair { key: i32, value: i32 }
fact 0 <= p_key < 10
domain { [i] : 0 <= i < n }
y[i] = p[i].key + p[i].value
",
    );
    let of = |last: i32| {
        let words = [[3, 70], [9, -1], [last, 5]];
        let bytes = words.concat().into_iter().flat_map(i32::to_le_bytes).collect();
        Tensor::from_vec(&[3, 8], bytes).unwrap()
    };
    let (right, wrong) = (of(0), of(10));
    let [there, wrong_there] = [&right, &wrong].map(|bytes| compiled.device().upload(bytes).unwrap());
    let host = |bytes: &Tensor| Args::new().tensor("p", bytes);
    for args in
        [host(&right), host(&right).check_facts(), Args::new().device_tensor("p", &there).check_facts()]
    {
        bound(&compiled, &args).unwrap();
    }
    let on_device = || Args::new().device_tensor("p", &wrong_there);
    for args in [host(&wrong), host(&wrong).check_facts(), on_device().check_facts()] {
        let refused = bound(&compiled, &args).unwrap_err();
        assert_eq!(refused.code, "fact");
        assert!(refused.render().contains("p_key[2] is 10"), "{}", refused.render());
    }
    for args in [host(&wrong).trust_facts(), on_device(), on_device().trust_facts()] {
        bound(&compiled, &args).unwrap();
    }
}

/// Its fields follow from one another, but not from nothing.
#[test]
fn a_struct_that_no_instruction_uses_is_asked_for() {
    let compiled = compiled(
        "kernel k(p: pair[n], x: i32[n], y: i32[n], n: i32)
struct pair { key: i32, value: i32 }
domain { [i] : 0 <= i < n }
y[i] = x[i]
",
    );
    let x = Tensor::from_slice(&[3], &[1, 2, 3]).unwrap();
    let args = Args::new().tensor("x", &x);
    let refused = bound(&compiled, &args).unwrap_err();
    assert_eq!((refused.code, &*refused.message), ("missing-argument", "argument `p` of `k` is missing"));
    let bytes = Tensor::from_vec(&[3, 8], vec![0u8; 24]).unwrap();
    bound(&compiled, &args.clone().tensor("p", &bytes)).unwrap();
    // One field is enough.
    bound(&compiled, &args.tensor("p_key", &x)).unwrap();
}
