//! The constant tables of a program are held to those of the kernel.

use loopwright_kernel_ir::{LoopKernel, Number};
use loopwright_lowering::{
    LowerOptions, lower,
    program::{Owner, Program, Table, Value},
    verify::verify_kernel,
};
use loopwright_transforms::Pipeline;

const KERNEL: &str = "\
kernel k(x: f32[n + 2], y: f32[n], n: i32)
assume 1 <= n
constant w: f32[2, 2] = [[1, 2], [3, 4]]
domain { [i] : 0 <= i < n }
domain { [a, b] : 0 <= a < 2 and 0 <= b < 2 }
y[i] = sum([a, b], w[a, b] * x[i + a + b]) {id=put}
";

fn lowered() -> (LoopKernel, Program) {
    let steps = "split_iname(i, 64)\ntag_inames(i_outer: block.x, i_inner: thread.x)";
    let kernel = LoopKernel::parse(KERNEL).unwrap();
    let kernel = Pipeline::parse(steps).unwrap().apply(&kernel).unwrap();
    let program = lower(&kernel, LowerOptions::default()).unwrap();
    (kernel, program)
}

#[test]
fn a_table_of_other_values_or_in_another_place_is_refused() {
    let (kernel, right) = lowered();
    assert_eq!(verify_kernel(&kernel, &right).refusal(), None);
    let number = right.globals.iter().position(|g| *g.name == *"w").expect("the table is there");
    let Some(Table(numbers)) = right.globals[number].table() else { panic!("it is a table") };
    let index = right.index;
    let spoilt = |spoil: &dyn Fn(&mut Program)| {
        let mut program = right.clone();
        spoil(&mut program);
        let found = verify_kernel(&kernel, &program);
        let refusal = found.refusal().expect("it is another table");
        assert_eq!(refusal.code, "wrong-claim", "{refusal}");
        refusal.message.clone()
    };
    let mut others = numbers.to_vec();
    others[3] = Number::F32(5.0);
    assert!(
        spoilt(&|p| p.globals[number].owner = Owner::Program(Table(others.clone().into())))
            .contains("the values of the constant table `w` are not those of the kernel")
    );
    let swapped: Vec<Value> = right.globals[number].strides.iter().rev().cloned().collect();
    assert!(spoilt(&|p| p.globals[number].strides.clone_from(&swapped)).contains("does not lie row by row"));
    assert!(spoilt(&|p| p.globals[number].size = Value::int(index, 8)).contains("does not lie row by row"));
    assert!(spoilt(&|p| p.globals[number].owner = Owner::Caller).contains("and none of the program"));
    assert!(spoilt(&|p| p.globals[number].written = true).contains("is written"));
    assert!(
        spoilt(&|p| p.globals[number].name = "v".into()).contains("the kernel has no constant table `v`")
    );
}
