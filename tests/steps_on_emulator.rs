//! The kernels of the transforms' filetests, after their steps, on the emulator with all checks:
//! they compute what was declared.

use std::{collections::BTreeMap, fs, path::Path};

use loopwright_emulator::{Arguments, Asynchrony, Options, run};
use loopwright_kernel_ir::{Buffer, DType, LoopKernel, Name, Number};
use loopwright_lowering::{
    LowerOptions, lower,
    program::{Owner, Program, eval_host},
};
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_transforms::Pipeline;

/// The steps whose filetests are run, by file name prefix, with the minimum number of files.
const STEPS: &[(&str, usize)] = &[
    ("add_prefetch_accesses", 1),
    ("advance", 1),
    ("alias", 1),
    ("assignment_to_subst", 2),
    ("buffer_array", 3),
    ("chunk", 2),
    ("common_factors_of_terms", 1),
    ("common_subexpressions", 2),
    ("concatenate_arrays", 2),
    ("distribute", 2),
    ("double_buffer", 2),
    ("fuse_loops", 3),
    ("fuse_maximal", 2),
    ("index_set_split", 4),
    ("map_array", 5),
    ("map_domain", 2),
    ("pack_array", 5),
    ("pad_multiple_of_a_temporary", 1),
    ("peel", 3),
    ("pipeline", 3),
    ("prefetch_fragments", 1),
    ("privatize", 2),
    ("privatize_updates", 6),
    ("reverse", 2),
    ("separate_axis", 2),
    ("simplify_floats", 1),
    ("subst_to_assignment", 2),
    ("tile", 2),
    ("unprivatize", 1),
];

fn arguments(program: &Program, size: i64) -> Arguments {
    let value = |_: &Name| Some(size);
    let mut arguments = Arguments::new();
    for scalar in program.scalars() {
        arguments = arguments.scalar(scalar.name.clone(), Number::I64(size).cast(scalar.dtype));
    }
    for global in program.globals.iter().filter(|g| g.owner == Owner::Caller) {
        let len = eval_host(&global.size, &value).expect("the size follows from the scalars").max(0) as usize;
        // Powers of two: quotients and products are exact, and so are sums of a few.
        let numbers = (0..len).map(|k| [1.0, 2.0, 4.0, 0.5, 8.0][(k * 7 + k / 5) % 5]);
        let buffer = match global.dtype {
            DType::F64 => Buffer::from_slice(&numbers.collect::<Vec<f64>>()),
            DType::F32 => Buffer::from_slice(&numbers.map(|v| v as f32).collect::<Vec<f32>>()),
            DType::I32 => Buffer::from_slice(&numbers.map(|v| v as i32).collect::<Vec<i32>>()),
            DType::U8 => Buffer::from_slice(&numbers.map(|v| v as u8).collect::<Vec<u8>>()),
            other => panic!("no numbers of type {other:?}"),
        };
        arguments = arguments.array(global.name.clone(), buffer);
    }
    arguments
}

fn expected(kernel: &LoopKernel, arguments: &Arguments) -> BTreeMap<Name, Buffer> {
    let mut inputs = Inputs::new();
    for (name, array) in &arguments.arrays {
        inputs = inputs.array(name.clone(), array.buffer.clone());
    }
    for (name, number) in &arguments.scalars {
        inputs = inputs.scalar(name.clone(), *number);
    }
    interpret(kernel, &inputs, Mode::Exact).unwrap_or_else(|d| panic!("{}: {d}", kernel.name))
}

#[test]
fn kernels_of_the_filetests_after_their_steps() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/transforms/tests/filetests");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for (step, least) in STEPS {
        let mut count = 0;
        for file in
            files.iter().filter(|f| f.file_stem().is_some_and(|s| s.to_string_lossy().starts_with(step)))
        {
            let text = fs::read_to_string(file).unwrap();
            let Some((input, _)) = text.split_once("==== kernel\n") else { continue };
            let (kernel, steps) = input.split_once("==== pipeline\n").unwrap();
            let declared = LoopKernel::parse(kernel).unwrap();
            let kernel = Pipeline::parse(steps).unwrap().apply(&declared).unwrap();
            let program =
                lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{}: {d}", file.display()));
            for size in [1, 2, 5, 13, 40] {
                let fits = |c: &loopwright_kernel_ir::Constraint| c.holds(&|_| Some(size)) == Some(true);
                if !program.assumptions.iter().all(fits) {
                    continue;
                }
                let given = arguments(&program, size);
                let expected = expected(&declared, &given);
                for asynchrony in Asynchrony::ALL {
                    let mut arguments = given.clone();
                    run(&program, &mut arguments, &Options { asynchrony, ..Options::default() })
                        .unwrap_or_else(|fault| panic!("{} {size}: {}", file.display(), fault.diagnostic()));
                    for (name, buffer) in &expected {
                        assert_eq!(arguments.buffer(name), Some(buffer), "{} {size}: {name}", file.display());
                    }
                }
            }
            count += 1;
        }
        assert!(count >= *least, "{step}: only {count} files");
    }
}
