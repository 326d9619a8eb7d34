//! The time from declaring a kernel to its CUDA C: medians in milliseconds, without a cache, after
//! a warm-up.
//!
//! `cargo run --release --example codegen_time` prints a table. With `-- --json` it prints one JSON
//! object with a key per case, each an object of milliseconds by stage (`declare`, `transform`,
//! `lower`, `print`, and `total` for all of them), `total_without_proofs`, where no step is checked
//! for legality, and the printed `text`. Case names after the options select those cases only, for
//! use with a profiler.
//!
//! `questions` is the number of legality checks: one for each step that no theorem covers, and one
//! for the lowered program. A check is the whole verdict, however many queries on integer sets it
//! makes. `question_median_ms` and `question_worst_ms` are over the checks of the case, each
//! represented by its median over all rounds.
//!
//! On a busy machine, `-- --best` takes the best of all rounds instead of their median.

#[path = "common/speed_cases.rs"]
mod speed_cases;
#[path = "common/speed_report.rs"]
mod speed_report;

use std::error::Error;

use serde_json::{Map, Value, json};
use speed_report::{QUESTIONS, Report, STAGES, Turns, best, median};

fn main() -> Result<(), Box<dyn Error>> {
    let (options, wanted): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let given = |option: &str| options.iter().any(|a| a == option);
    let turns = Turns { warm_up: 3, counted: 11, middle: if given("--best") { best } else { median } };
    let mut report = Map::new();
    let mut table = comfy_table::Table::new();
    table
        .load_style(comfy_table::presets::ASCII_MARKDOWN)
        .set_header([&["case"][..], &STAGES, &QUESTIONS].concat());
    for case in speed_cases::all().into_iter().filter(|c| wanted.is_empty() || wanted.contains(&c.name)) {
        let measured = Report::of(&case, turns).map_err(|e| format!("{}: {e}", case.name))?;
        let [count, middle, worst] = measured.of_questions();
        let stages = measured.stages.iter().map(|ms| format!("{ms:.3}"));
        let questions = [format!("{count}"), format!("{middle:.3}"), format!("{worst:.3}")];
        table.add_row(std::iter::once(case.name.clone()).chain(stages).chain(questions));
        let numbers = measured.stages.iter().map(|ms| json!(ms));
        let questions = [json!(measured.questions.len()), json!(middle), json!(worst)];
        let mut entry: Map<String, Value> = [&STAGES[..], &QUESTIONS]
            .concat()
            .into_iter()
            .map(String::from)
            .zip(numbers.chain(questions))
            .collect();
        entry.insert("text".into(), json!(measured.text));
        report.insert(case.name, Value::Object(entry));
    }
    if given("--json") {
        println!("{}", Value::Object(report));
    } else {
        let what = if given("--best") { "the best" } else { "medians" };
        println!("{table}\nmilliseconds, {what} of {}", turns.counted);
    }
    Ok(())
}
