//! Witnesses about what an argument holds at the end: the instances that they name, and what the
//! diagnostic says.

use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Verdict, Witness, judge};

/// The witness against these instances of `b[i] = a[i]`, declared for `0 <= i < 4`, with a second
/// statement behind it.
fn witness(range: &str, order: [&str; 2]) -> Box<Witness> {
    let head = "kernel k(a: f32[4], b: f32[4])\n";
    let body = |inames: [&str; 2]| {
        format!("b[i] = a[i] {{id=first{}}}\nb[j] = 2.0 {{id=second{}}}\n", inames[0], inames[1])
    };
    let declared =
        format!("{head}domain {{ [i] : 0 <= i < 4 }}\ndomain {{ [j] : 2 <= j < 4 }}\n{}", body(["", ""]));
    let nest = |id: &str| format!("for {} {{\n{id}\n}}\n", if id == "first" { "i" } else { "j" });
    let [one, other] = order.map(nest);
    let text = format!(
        "{head}domain {{ [i] : {range} }}\ndomain {{ [j] : 2 <= j < 4 }}\n{}tree {{\n{one}{other}}}\n\
         declared {{\n{declared}}}\n",
        body([", inames=i", ", inames=j"])
    );
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    match judge(kernel.declared(), &kernel) {
        Verdict::Refuted(witness) => witness,
        verdict => panic!("{verdict}\n{text}"),
    }
}

fn instances(witness: &Witness) -> Vec<String> {
    witness.instances.iter().map(ToString::to_string).collect()
}

/// `b[0]` is written by `first` alone, which leaves it out.
#[test]
fn an_instance_that_does_not_run_is_the_one_that_is_named() {
    let witness = witness("1 <= i < 4", ["first", "second"]);
    assert_eq!(instances(&witness), ["first[i=0]"]);
    let found = witness.diagnostic();
    assert_eq!((witness.code, found.message.as_str()), ("instances-lost", "an instance would not run"));
}

/// `b[2]` has to be what `second` writes last, and `first` comes behind it.
#[test]
fn two_writers_in_another_order_are_both_named() {
    let witness = witness("0 <= i < 4", ["second", "first"]);
    assert_eq!(instances(&witness), ["second[j=2]", "first[i=2]"]);
    let found = witness.diagnostic();
    let wanted = ("dependence-violated", "a dependence would be reversed");
    assert_eq!((witness.code, found.message.as_str()), wanted);
}
