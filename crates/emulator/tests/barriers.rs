//! What the final check says of random programs with barriers in choices and loops, against runs of
//! them: what is proved has no race for any sizes, and what is refuted has one for the sizes of its
//! witness. `LOOPWRIGHT_CASES` is the number of programs.

use std::fmt::Write;

use loopwright_emulator::{Arguments, FaultKind, Options, run};
use loopwright_kernel_ir::{Buffer, DType, Number};
use loopwright_program::{
    Program,
    verify::{Finding, verify},
};

/// The programs of a short run.
const PROGRAMS: u64 = 600;

/// The greatest size.
const MOST: i32 = 3;

/// A generator of numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// The threads of a block, and the elements of the array that they share.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// Four threads, each of which accesses one of four elements.
    Small,
    /// Two warps, whose threads access elements of both.
    Warps,
    /// Two warps, each of which has a row of its own.
    Rows,
}

impl Form {
    fn threads(self) -> usize {
        if self == Form::Small { 4 } else { 64 }
    }

    fn shape(self) -> &'static str {
        match self {
            Form::Small => "4",
            Form::Warps => "64",
            Form::Rows => "2, 32",
        }
    }

    fn element(self, random: &mut Random) -> String {
        match (self, random.below(4)) {
            (Form::Small, shift) => format!("(thread.x + {shift}) rem 4"),
            (Form::Warps, 0) => "thread.x + 1 - thread.x rem 2 * 2".into(),
            (Form::Warps, 1) => "(thread.x + 32) rem 64".into(),
            (Form::Warps, _) => "thread.x".into(),
            (Form::Rows, shift) => format!("thread.x quo 32, (thread.x + {shift}) rem 32"),
        }
    }

    fn barrier(self, random: &mut Random) -> &'static str {
        if self != Form::Small && random.below(2) == 0 { "warp" } else { "block" }
    }
}

/// Writes a body inside of so many loops, and notes the loops that it has.
fn body(
    form: Form,
    random: &mut Random,
    depth: usize,
    text: &mut String,
    loops: &mut Vec<String>,
    around: &[String],
) {
    let indent = " ".repeat(4 * (depth + 1));
    for _ in 0..1 + random.below(3) {
        let size = |random: &mut Random| match (around.last(), random.below(3)) {
            (Some(counter), 0) => counter.clone(),
            (_, other) => ["m", "n", "m"][other].to_string(),
        };
        match random.below(if depth < 3 { 8 } else { 5 }) {
            0 | 1 => {
                let element = form.element(random);
                let _ = writeln!(text, "{indent}store tile[{element}] = x[thread.x]");
            }
            2 => {
                let element = form.element(random);
                let _ = writeln!(text, "{indent}store y[thread.x] = tile[{element}]");
            }
            3 | 4 => {
                let _ = writeln!(text, "{indent}barrier {}", form.barrier(random));
            }
            5 | 6 => {
                let (a, b) = (size(random), random.below(3));
                let _ = writeln!(text, "{indent}if {a} {} {b} {{", random.of(&["<", "<=", ">", ">=", "=="]));
                body(form, random, depth + 1, text, loops, around);
                if random.below(3) == 0 {
                    let _ = writeln!(text, "{indent}}} else {{");
                    body(form, random, depth + 1, text, loops, around);
                }
                let _ = writeln!(text, "{indent}}}");
            }
            _ => {
                let counter = format!("k{}", loops.len());
                loops.push(counter.clone());
                let lower = random.below(2).to_string();
                let lower = if random.below(3) == 0 { size(random) } else { lower };
                let upper = random.of(&["m", "n", "m + 1", "2", "min(m, n)", "m + n"]);
                let step = random.of(&["", "", " step 2"]);
                let _ = writeln!(text, "{indent}for {counter}: i32 = {lower} to {upper}{step} {{");
                let inside = [around, &[counter]].concat();
                body(form, random, depth + 1, text, loops, &inside);
                let _ = writeln!(text, "{indent}}}");
            }
        }
    }
}

fn text(form: Form, seed: u64) -> String {
    let mut random = Random(seed);
    let (threads, shape) = (form.threads(), form.shape());
    let own = if form == Form::Rows { "thread.x quo 32, thread.x rem 32" } else { "thread.x" };
    let (mut inside, mut loops) = (String::new(), Vec::new());
    body(form, &mut random, 0, &mut inside, &mut loops, &[]);
    let least = random.below(2);
    let vars: String = loops.iter().map(|k| format!("    var {k}: i32\n")).collect();
    format!(
        "program random(x, y, m: i32, n: i32) index i32\n\
         assume {least} <= m and 0 <= n\n\
         global x: f32[{threads}] read\n\
         global y: f32[{threads}] written\n\
         host {{\n    launch random\n}}\n\
         kernel random(x, y written, m: i32, n: i32) {{\n    \
             grid(1, 1, 1)\n    block({threads}, 1, 1)\n{vars}    shared tile: f32[{shape}]\n\n    \
             store tile[{own}] = x[thread.x]\n    barrier block\n{inside}}}\n"
    )
}

/// Whether a run with these sizes finds a race.
fn races(program: &Program, threads: usize, m: i32, n: i32) -> bool {
    let mut arguments = Arguments::new()
        .array("x", Buffer::zeros(DType::F32, threads))
        .array("y", Buffer::zeros(DType::F32, threads))
        .scalar("m", Number::I64(m.into()).cast(DType::I32))
        .scalar("n", Number::I64(n.into()).cast(DType::I32));
    match run(program, &mut arguments, &Options::default()) {
        Ok(_) => false,
        Err(fault) if fault.kind == FaultKind::Race => true,
        Err(fault) => panic!("{fault}"),
    }
}

/// The value that a witness gives a size; any that is allowed where it gives none.
fn of_witness(witness: &str, size: &str) -> i32 {
    let found = witness.split(&format!("{size}=")).nth(1);
    found.map_or(1, |rest| rest.split([',', ' ']).next().unwrap().parse().unwrap())
}

#[test]
fn what_is_said_of_barriers_is_what_runs_show() {
    let (mut proved, mut refuted, mut unknown, mut never) = (0, 0, 0, 0);
    let programs = std::env::var("LOOPWRIGHT_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(PROGRAMS);
    for seed in 0..programs {
        let form = [Form::Small, Form::Warps, Form::Rows][seed as usize % 3];
        let (text, threads) = (text(form, seed), form.threads());
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{text}\n{}", d.render()));
        let least = if text.contains("assume 1 <= m") { 1 } else { 0 };
        let racing = || {
            let sizes = (least..=MOST).flat_map(|m| (0..=MOST).map(move |n| (m, n)));
            sizes.filter(|(m, n)| races(&program, threads, *m, *n)).collect::<Vec<_>>()
        };
        match verify(&program) {
            Finding::Proved { .. } => {
                proved += 1;
                let racing = racing();
                assert!(racing.is_empty(), "seed {seed}: proved, races for {racing:?}\n{text}");
            }
            Finding::Refuted(found) => {
                refuted += 1;
                let witness = found.witness.as_deref().unwrap_or_default();
                assert_eq!(found.code, "unordered", "seed {seed}\n{text}");
                let (m, n) = (of_witness(witness, "m"), of_witness(witness, "n"));
                assert!(races(&program, threads, m, n), "seed {seed}: no race where {witness}\n{text}");
            }
            Finding::Unknown(_) => {
                unknown += 1;
                never += usize::from(racing().is_empty());
            }
        }
    }
    println!("{proved} proved, {refuted} refuted, {unknown} not known, of which {never} without a race");
    assert!(proved * 5 > programs && refuted * 5 > programs, "{proved} proved, {refuted} refuted");
    assert!(unknown * 10 < programs, "{unknown} not known");
}
