//! The claims of a program about its parts are checked against the kernel that it was made from:
//! each claim of the example pipelines holds, and is refused if changed.

use crate::common;

use loopwright_kernel_ir::{Aff, Constraint, Dim, HardwareAxis, LoopKernel, Name, Part};
use loopwright_lowering::{LowerOptions, Target, lower, realized};
use loopwright_program::{
    Instances, Presence, Program,
    verify::{Finding, verify_kernel},
};
use loopwright_transforms::Pipeline;

/// The code with which the final check refuses a program; `None` if it proves it.
fn refused(kernel: &LoopKernel, program: &Program) -> Option<&'static str> {
    verify_kernel(kernel, program).refusal().map(|why| why.code)
}

/// The programs with the claim of one leaf changed, one at a time.
fn changed(program: &Program, change: &dyn Fn(&mut Instances) -> bool) -> Vec<Program> {
    let mut found = Vec::new();
    for k in 0..program.leaves.len() {
        let mut variant = program.clone();
        if variant.leaves[k].instances.as_mut().is_some_and(change) {
            found.push(variant);
        }
    }
    found
}

fn other(presence: &mut Presence) {
    *presence = match presence {
        Presence::Elected => Presence::Replicated,
        Presence::Replicated | Presence::At(()) | Presence::Collective => Presence::Elected,
    };
}

#[test]
fn claims_that_differ_from_the_kernel_are_refused() {
    type Change = (&'static str, &'static dyn Fn(&mut Instances) -> bool);
    let changes: [Change; 7] = [
        ("no instances", &|i| {
            i.constraints.push(Constraint::nonneg(Aff::constant(-1)));
            i.allowed = i.constraints.clone();
            true
        }),
        ("any instances", &|i| {
            i.allowed.clear();
            !std::mem::take(&mut i.constraints).is_empty()
        }),
        ("other threads", &|i| {
            other(&mut i.executor[HardwareAxis::Block(Dim::X)]);
            true
        }),
        ("other blocks", &|i| {
            other(&mut i.executor[HardwareAxis::Grid(Dim::X)]);
            true
        }),
        ("all threads together", &|i| {
            i.executor[HardwareAxis::Block(Dim::X)] = Presence::Collective;
            true
        }),
        ("a predicate", &|i| {
            i.conditional = !i.conditional;
            true
        }),
        ("other lanes", &|i| {
            i.lanes.push(Name::new("nowhere"));
            true
        }),
    ];
    let mut asked = 0;
    for example in common::examples() {
        let kernel = realized(&example.transformed(), &Target::default()).unwrap().kernel().clone();
        let program = example.program();
        let found = verify_kernel(&kernel, &program);
        assert!(matches!(found, Finding::Proved { .. }), "{}: {found}", example.name());
        for (what, change) in changes {
            for variant in changed(&program, change) {
                asked += 1;
                assert_eq!(refused(&kernel, &variant), Some("wrong-claim"), "{}: {what}", example.name());
            }
        }
    }
    assert!(asked > 1000, "only {asked} claims were changed");
}

/// Errors that do not show in the claims of single leaves.
#[test]
fn a_program_of_another_kernel_is_refused() {
    let text = "\
kernel shift(x: f32[n + 1], y: f32[n], z: f32[n], n: i32)
assume 1 <= n
domain { [i] : 0 <= i < n }
temp t: f32[n] global
t[i] = x[i + 1] {id=load}
y[i] = t[i] {id=store}
z[i] = x[i] {id=copy}
";
    let kernel = LoopKernel::parse(text).unwrap();
    let program = lower(&kernel, LowerOptions::default()).unwrap();
    assert_eq!(refused(&kernel, &program), None);
    let renamed = LoopKernel::parse(&text.replace("z[i] = x[i] {id=copy}", "z[i] = x[i] {id=move}")).unwrap();
    assert_eq!(
        verify_kernel(&renamed, &program).refusal().map(|why| why.to_string()).as_deref(),
        Some("error[wrong-claim]: copy is not a part of the kernel")
    );
    let of = |from: &str, to: &str| LoopKernel::parse(&text.replace(from, to)).unwrap();
    for (from, to) in [
        // More instances, and fewer.
        ("0 <= i < n }", "0 <= i < n - 1 }"),
        // An instruction that nothing in the program executes.
        ("z[i] = x[i] {id=copy}\n", "z[i] = x[i] {id=copy}\ny[i] = x[i] {id=more}\n"),
        // An instruction that the program executes and the kernel lacks.
        ("z[i] = x[i] {id=copy}\n", ""),
        ("assume 1 <= n", "assume 0 <= n"),
    ] {
        assert_eq!(refused(&of(from, to), &program), Some("wrong-claim"), "{from} -> {to}");
    }
    let forgetful = |id: &str| {
        let mut program = program.clone();
        let leaves = program.leaves.iter_mut().filter(|leaf| &*leaf.part.instruction == id);
        leaves.filter_map(|leaf| leaf.instances.as_mut()).for_each(|i| i.values.clear());
        refused(&kernel, &program)
    };
    // Other launches and the caller read what is in global memory.
    for id in ["load", "store", "copy"] {
        assert_eq!(forgetful(id), Some("wrong-claim"), "{id}");
    }
    let mut flattened = program.clone();
    flattened.leaves[0].decided_by_data = true;
    assert_eq!(refused(&kernel, &flattened), Some("wrong-claim"));
}

/// A moved coordinate is detected by the instances, a stretched one by its form.
#[test]
fn inames_are_the_coordinates_of_their_axes() {
    let mut asked = 0;
    for example in common::examples() {
        let kernel = realized(&example.transformed(), &Target::default()).unwrap().kernel().clone();
        let program = example.program();
        for k in 0..program.coordinates.len() {
            for change in [|a: &Aff| a.add_constant(1), |a: &Aff| a.scale(2)] {
                let mut variant = program.clone();
                variant.coordinates[k].1 = change(&program.coordinates[k].1).unwrap();
                // Coordinates of flattened nests do not occur in the program.
                let moved = program.coordinates[k].1 != variant.coordinates[k].1;
                let on_axis = kernel.tag(&program.coordinates[k].0).is_hardware();
                if moved && on_axis {
                    asked += 1;
                    assert_eq!(refused(&kernel, &variant), Some("wrong-claim"), "{}", example.name());
                }
            }
        }
    }
    assert!(asked > 100, "only {asked} coordinates were changed");
}

/// The second of two states is another thread's partial result where these are joined: what a
/// result takes from it has to be given. Otherwise it is a point, and its values are the operator's
/// own.
#[test]
fn values_that_only_a_join_reads_have_to_be_given() {
    let kernel = LoopKernel::parse(
        "\
kernel k(x: f32[n, 64], y: f32[n], n: i32)
domain { [r] : 0 <= r < n }
domain { [i] : 0 <= i < 64 }
reduction total(v) {
    state s: like v = 0.0, some: bool = false
    lift s = v, some = true
    combine s = if(b.some, a.s + b.s, a.s), some = a.some or b.some
    result s
    commutes
    trusted \"s is 0 without a point\"
}
y[r] = total(i, x[r, i]) {id=row}
",
    )
    .unwrap();
    // For each leaf of the reduction, the last value that it gives, and what is said without it: of
    // the first values and of the updates, for each of two values and for what supports them.
    let forgetful = |pipeline: &str| -> Vec<(usize, Option<&str>)> {
        let kernel = Pipeline::parse(pipeline).unwrap().apply(&kernel).unwrap();
        let program = lower(&kernel, LowerOptions::default()).unwrap();
        assert_eq!(refused(&kernel, &program), None);
        let of_reduction =
            |k: &usize| matches!(program.leaves[*k].part.part, Part::Init(_) | Part::Update(_));
        let leaves = (0..program.leaves.len()).filter(of_reduction);
        leaves
            .filter_map(|k| {
                let mut variant = program.clone();
                let claim = variant.leaves[k].instances.as_mut()?;
                let last = claim.values.pop()?;
                Some((usize::from(last), refused(&kernel, &variant)))
            })
            .collect()
    };
    let wrong = Some("wrong-claim");
    assert_eq!(forgetful(""), [(0, wrong); 6]);
    assert_eq!(forgetful("tag_inames(i: thread.x)"), [(1, wrong); 6]);
}
