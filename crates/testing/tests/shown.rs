//! What is held to the instances that lowering's refusals show: see
//! [`loopwright_testing::shown`].

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_lowering::{LowerOptions, lower};
use loopwright_testing::{
    brute::{Instance, Sizes},
    shown::{check, read},
};
use loopwright_transforms::Pipeline;

#[test]
fn a_witness_is_read() {
    let (instances, sizes) = read(
        "total.update[s=0, i=-1] reads x[0, 1] before put[s=1] writes it (as declared, m=1, n=20); \
         nothing orders blocks",
    );
    let point = |pairs: &[(&str, i64)]| pairs.iter().map(|(n, v)| (Name::new(*n), *v)).collect::<Vec<_>>();
    assert_eq!(
        instances,
        [
            Instance { instruction: "total".into(), point: point(&[("i", -1), ("s", 0)]) },
            Instance { instruction: "put".into(), point: point(&[("s", 1)]) },
        ]
    );
    assert_eq!(sizes, Sizes::from([("m".into(), 1), ("n".into(), 20)]));
}

/// What a witness says is held to what runs.
#[test]
fn instances_that_do_not_run_are_found() {
    let kernel = LoopKernel::parse(
        "kernel k(x: f32[n], n: i32)\nassume 1 <= n\ndomain { [i] : 0 <= i < n }\nx[i] = 1.0 {id=put}\n",
    )
    .unwrap();
    let said = |witness: &str| Diagnostic::new("blocks-depend", "they do").witness(witness);
    assert!(check(&kernel, &said("put[i=0] writes x[0] before put[i=1] does (n=2)")).unwrap());
    let outside = check(&kernel, &said("put[i=0] writes x[0] before put[i=2] does (n=2)")).unwrap_err();
    assert_eq!(outside.kind, "outside");
    let sizes = check(&kernel, &said("put[i=0] writes x[0] (n=0)")).unwrap_err();
    assert_eq!(sizes.kind, "sizes");
    assert!(!check(&kernel, &Diagnostic::new("blocks-depend", "they do")).unwrap());
}

/// Executions of a transformed kernel are held to its domains.
#[test]
fn executions_that_do_not_run_are_found() {
    let kernel = LoopKernel::parse(
        "kernel k(x: f32[n], n: i32)\nassume 1 <= n\ndomain { [i] : 0 <= i < n }\nx[i] = 1.0 {id=put}\n",
    )
    .unwrap();
    let split = Pipeline::parse("split_iname(i, 4)").unwrap().apply(&kernel).unwrap();
    let said = |second: &str| {
        let text = format!("(i_outer = 0, i_inner = 0) writes `x[0]` and ({second}) writes it with n = 6");
        check(&split, &Diagnostic::new("race", "they do").witness(text))
    };
    assert!(said("i_outer = 1, i_inner = 1").unwrap());
    assert_eq!(said("i_outer = 1, i_inner = 2").unwrap_err().kind, "outside");
    assert_eq!(said("i_outer = 0, i_inner = 4").unwrap_err().kind, "outside");
}

/// The end of the second segment is at most `n`.
#[test]
fn instances_that_run_for_no_data_are_found() {
    let kernel = LoopKernel::parse(
        "kernel k(off: i32[s + 1], x: f32[n], a: f32[1], s: i32, n: i32)\nassume 1 <= s and 0 <= n\n\
         fact monotone(off)\nfact 0 <= off < n + 1\ndomain { [r] : 0 <= r < s }\nb = off[r]\n\
         e = off[r + 1]\ntemp b: i32\ntemp e: i32\ndomain { [i] : b <= i < e }\n\
         a[0] = a[0]*0.5 + x[i] {id=s1, inames=r:i}\n",
    )
    .unwrap();
    let said = |n: i64| {
        let text = format!("s1[r=0, i=0] reads a[0] before s1[r=1, i=1] writes it (as declared, n={n}, s=2)");
        check(&kernel, &Diagnostic::new("blocks-depend", "they do").witness(text))
    };
    assert_eq!(said(1).unwrap_err().kind, "outside");
    assert!(said(2).unwrap());
    // And lowering says what can be.
    let tagged = Pipeline::parse("tag_inames(r: block.x)").unwrap().apply(&kernel).unwrap();
    let refusal = lower(&tagged, LowerOptions::default()).unwrap_err();
    assert!(check(&tagged, &refusal).unwrap(), "{refusal}");
}
