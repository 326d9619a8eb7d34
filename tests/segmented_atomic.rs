//! `SegmentedReduce::reduce_atomically` on the emulator: results against plain loops, cases that it
//! leaves unchanged, refusals.

use loopwright::lowering::{
    LowerOptions, lower,
    program::{Owner, Program, Stmt},
};
use loopwright::prelude::*;
use loopwright::segmented::{Chosen, Operator, SegmentedReduce, Segments, Shape};
use loopwright::tuner::Machine;

fn chosen(reduce: &SegmentedReduce, shape: &Shape) -> Chosen {
    let limits = Device::emulator().limits().clone();
    reduce
        .choose(shape, &Machine::described(&limits), &limits)
        .unwrap_or_else(|e| panic!("{reduce}, {shape}: {e}"))
}

fn program(chosen: &Chosen) -> Program {
    let kernel = chosen.pipeline.apply(&chosen.kernel).unwrap_or_else(|e| panic!("{}: {e}", chosen.form));
    lower(&kernel, LowerOptions::default()).unwrap_or_else(|e| panic!("{}: {e}", chosen.form))
}

fn updates(program: &Program) -> usize {
    let mut found = 0;
    for kernel in &program.kernels {
        Stmt::visit(&kernel.body, &mut |s| found += usize::from(matches!(s, Stmt::Update { .. })));
    }
    found
}

/// A few long rows that blocks share: as chunks of whole vectors, and as chunks of rows with any
/// alignment.
const SHARED: [(usize, usize); 2] = [(3, 100_000), (2, 100_003)];

/// Small integers, whose sums are exact in all types and any order.
#[test]
fn few_long_rows_are_what_a_plain_loop_gives() {
    let device = Device::emulator();
    for (rows, length) in SHARED {
        let x: Vec<i64> = (0..rows * length).map(|k| ((k * 7 + k / 5) % 23) as i64 - 9).collect();
        let plain = |operator| -> Vec<f64> {
            let of = |row: &[i64]| match operator {
                Operator::Sum => row.iter().sum::<i64>(),
                Operator::Min => row.iter().copied().min().expect("rows are not empty"),
                _ => row.iter().copied().max().expect("rows are not empty"),
            };
            x.chunks(length).map(|row| of(row) as f64).collect()
        };
        let sums = [DType::I32, DType::I64, DType::F32, DType::F64].map(|t| (Operator::Sum, t));
        let ends = [(Operator::Min, DType::I32), (Operator::Max, DType::I64), (Operator::Max, DType::F32)];
        let every = length == SHARED[0].1;
        // Every type in the first case, sums of f32 in the second.
        for (operator, dtype) in
            sums.into_iter().chain(ends).filter(|case| every || *case == (Operator::Sum, DType::F32))
        {
            let given = Tensor::from_slice(&[rows, length], &x).unwrap().cast(dtype);
            let shape = Shape::rows(rows, length);
            let ordered = SegmentedReduce::new(operator, dtype);
            let atomic = ordered.clone().reduce_atomically(true);
            let compiled = atomic.compile(&shape, &device).unwrap_or_else(|e| panic!("{atomic}: {e}"));
            let form = &compiled.chosen().form;
            assert!(form.contains("joined by atomic updates"), "{atomic}, {shape}: {form}");
            let outputs = compiled.compiled().run(&Args::new().tensor("x", &given));
            let outputs = outputs.unwrap_or_else(|e| panic!("{atomic}, {form}: {e}"));
            assert_eq!(outputs.get("out").unwrap().to_f64(), plain(operator), "{atomic}, {form}");

            // If requested, there is no array of partial results, but an update; otherwise the
            // reverse.
            for (reduce, wanted) in
                [(&atomic, 1), (&ordered, 0), (&atomic.clone().reduce_atomically(false), 0)]
            {
                let program = program(&chosen(reduce, &shape));
                let own = program.globals.iter().filter(|g| g.owner != Owner::Caller).count();
                assert_eq!((updates(&program), own), (wanted, 1 - wanted), "{reduce}, {shape}");
            }
        }
    }
}

/// Results have the accumulation type: f16 is accumulated in f32 where the sums are requested in
/// f32.
#[test]
fn sums_of_short_floats_in_the_type_of_the_sums() {
    let reduce = SegmentedReduce::new(Operator::Sum, DType::F16).output(DType::F32).reduce_atomically(true);
    // 2 MB: shorter rows of f16 are not split.
    let length = 1_000_000;
    let x = vec![half::f16::from_f32(0.5); length];
    let sums = reduce.run(&Device::emulator(), &x, Segments::Length(length)).unwrap();
    assert!(sums.form.contains("joined by atomic updates"), "{}", sums.form);
    assert_eq!(sums.values.to_vec::<f32>().unwrap(), [length as f32 / 2.0]);
}

#[test]
fn forms_without_shared_rows_stay_as_they_are() {
    let ordered = SegmentedReduce::new(Operator::Sum, DType::F32);
    let atomic = ordered.clone().reduce_atomically(true);
    for shape in [Shape::rows(1 << 20, 64), Shape::rows(1 << 16, 4096), Shape::ragged(1 << 18, 1 << 24)] {
        let [with, without] = [&atomic, &ordered].map(|reduce| chosen(reduce, &shape));
        assert_eq!((with.form, with.pipeline), (without.form, without.pipeline), "{shape}");
    }
}

#[test]
fn what_has_no_update_is_refused_with_the_remedy() {
    // Whatever the shape: the refusal does not depend on the choice of form.
    for shape in [Shape::rows(2, 1 << 20), Shape::rows(1000, 16), Shape::ragged(10, 1000)] {
        for (operator, dtype, why, help) in [
            (
                Operator::Product,
                DType::F32,
                "there is no atomic update for `product`",
                "leave `reduce_atomically` out",
            ),
            (
                Operator::Argmax,
                DType::I32,
                "there is no atomic update for `argmax`",
                "leave `reduce_atomically` out",
            ),
            (Operator::Mean, DType::F32, "there is no atomic update for `mean`", "request the sum"),
            (
                Operator::Max,
                DType::I16,
                "there is no atomic update for `max` of i16",
                "leave `reduce_atomically` out",
            ),
            (
                Operator::Min,
                DType::I8,
                "there is no atomic update for `min` of i8",
                "leave `reduce_atomically` out",
            ),
            (Operator::Sum, DType::F16, "it accumulates in f32, and its result is f16", "`output(f32)`"),
        ] {
            let reduce = SegmentedReduce::new(operator, dtype);
            assert!(reduce.kernel(&shape).is_ok(), "{reduce}");
            let refused = reduce.reduce_atomically(true).kernel(&shape).unwrap_err().to_string();
            assert!(refused.starts_with("error[segment-atomic]: "), "{refused}");
            assert!(refused.contains(why) && refused.contains(help), "{refused}");
        }
    }
}
