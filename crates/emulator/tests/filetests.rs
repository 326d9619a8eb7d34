//! Filetests of the emulator: the text of a program, below `==== inputs` its arguments, one per
//! line, and below `==== values` the contents of its arrays afterwards, or below `==== fault` the
//! fault. See `loopwright_filetest`.
//!
//! An argument is `n = i32 5` or `x = f32[4] 1 2 3 4`; `y = f32[4]` has no values yet.

use std::path::Path;

use loopwright_emulator::{Arguments, Asynchrony, Options, run};
use loopwright_filetest::{Filetest, check};
use loopwright_kernel_ir::{Buffer, DType, Number};
use loopwright_program::{Program, ProgramArg};

fn number(text: &str, dtype: DType) -> Number {
    let number = match text.parse::<i64>() {
        Ok(integer) => Number::I64(integer),
        Err(_) => Number::F64(text.parse().unwrap_or_else(|_| panic!("{text} is no number"))),
    };
    number.cast(dtype)
}

fn arguments(text: &str) -> Arguments {
    let mut arguments = Arguments::new();
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let (name, rest) = line.split_once(" = ").unwrap_or_else(|| panic!("{line} is no argument"));
        let mut words = rest.split_whitespace();
        let dtype = words.next().unwrap_or_default();
        let known = |name: &str| DType::from_name(name).unwrap_or_else(|| panic!("{line} has no type"));
        let Some((dtype, length)) = dtype.split_once('[') else {
            let dtype = known(dtype);
            arguments = arguments.scalar(name, number(words.next().unwrap_or_default(), dtype));
            continue;
        };
        let dtype = known(dtype);
        let length = length.trim_end_matches(']').parse().unwrap_or_else(|_| panic!("{line} has no length"));
        let mut buffer = Buffer::zeros(dtype, length);
        let values: Vec<&str> = words.collect();
        arguments = match values.len() {
            0 => arguments.output(name, buffer),
            n => {
                assert_eq!(n, length, "{line}");
                values.iter().enumerate().for_each(|(k, v)| assert!(buffer.set(k, number(v, dtype))));
                arguments.array(name, buffer)
            }
        };
    }
    arguments
}

fn shown(number: Number) -> String {
    number.as_i128().map_or_else(|| number.as_f64().to_string(), |i| i.to_string())
}

/// The outcome in each mode of asynchronous copies; told apart where they differ. It is the same in
/// all orders of blocks that look back.
fn outcome(test: &Filetest) -> String {
    let modes = Asynchrony::ALL.map(|mode| (mode, outcome_in(test, mode, 1)));
    if modes[1].1.starts_with("==== values") && test.text.contains("in_order") {
        for turns in 2..20 {
            assert_eq!(outcome_in(test, Asynchrony::Late, turns), modes[1].1, "{}: {turns}", test.name);
        }
    }
    let [(_, first), ..] = &modes;
    if modes.iter().all(|(_, outcome)| outcome == first) {
        return first.clone();
    }
    modes.iter().map(|(mode, outcome)| format!("==== {mode:?}\n{outcome}")).collect()
}

fn outcome_in(test: &Filetest, asynchrony: Asynchrony, turns: u64) -> String {
    let program = Program::parse_named(&test.name, &test.text).unwrap_or_else(|d| panic!("{}", d.render()));
    let mut arguments = arguments(test.input("inputs"));
    if let Err(fault) = run(&program, &mut arguments, &Options { asynchrony, turns, ..Options::default() }) {
        return format!("==== fault\n{}\n", fault.diagnostic().render());
    }
    let mut text = String::from("==== values\n");
    for arg in &program.args {
        let ProgramArg::Array(number) = arg else { continue };
        let global = &program.globals[*number];
        if let Some(buffer) = arguments.buffer(&global.name).filter(|_| global.written) {
            let values: Vec<String> = buffer.numbers().map(shown).collect();
            text += &format!("{} = {}[{}] {}\n", global.name, buffer.dtype(), buffer.len(), values.join(" "));
        }
    }
    text
}

#[test]
fn filetests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../emulator/tests/filetests");
    check(&folder, "lwp", &["inputs"], outcome);
    check(&folder.join("async"), "lwp", &["inputs"], outcome);
}
