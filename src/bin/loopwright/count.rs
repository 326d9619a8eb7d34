//! `count`

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::Args as ClapArgs;
use loopwright::counts::{Counts, Formula, Total, count};
use loopwright::ir::{Arg, AxisSet, HardwareAxis, LoopKernel, Name};
use loopwright::launches::{LaunchCount, count_launches};
use loopwright::prelude::Diagnostic;
use loopwright::runtime::program_to_show;
use serde_json::{Value, json};

use crate::input::{self, Failure, Form};
use crate::report;

/// The options of `loopwright count`.
#[derive(ClapArgs)]
pub struct Count {
    #[command(flatten)]
    pub form: Form,
    /// The value of a parameter, such as `n=1000`: numbers beside the formulas.
    #[arg(long = "set", value_name = "NAME=INTEGER")]
    set: Vec<String>,
    /// The type bound to an open type, such as `T=f32`.
    #[arg(long = "type", value_name = "NAME=TYPE")]
    types: Vec<String>,
    /// Print the counts as JSON.
    #[arg(long)]
    json: bool,
}

/// A line of the table: what is counted, its total.
struct Row<'c> {
    cells: Vec<String>,
    /// The axes of which each coordinate does this for itself.
    copies: AxisSet,
    total: &'c Total,
    /// Bytes of an element; `None` where no elements are counted.
    bytes: Option<usize>,
}

impl Count {
    /// Runs the command `loopwright count`.
    pub fn count(&self) -> Result<(), Failure> {
        let kernel =
            loopwright::runtime::bind_open_types(&self.form.transformed()?, &input::types(&self.types)?)?;
        let sizes = self.sizes(&kernel)?;
        let counts = count(&kernel)?;
        let launches = Launches::of(&kernel);
        if self.json {
            let json = as_json(&kernel, &counts, &launches, &sizes);
            let text = serde_json::to_string_pretty(&json).unwrap_or_default();
            return report::say(&format!("{text}\n"));
        }
        report::say_sections(&as_text(&kernel, &counts, &launches, &sizes))
    }

    /// The given parameters, which the kernel has, within its assumptions.
    fn sizes(&self, kernel: &LoopKernel) -> Result<BTreeMap<Name, i64>, Failure> {
        let sizes = input::sizes(&self.set)?;
        let scalars = kernel.args.iter().filter(|a| matches!(a, Arg::Scalar(_))).map(Arg::name);
        let scalars: Vec<&Name> = scalars.collect();
        if let Some(name) = sizes.keys().find(|name| !scalars.contains(name)) {
            let names: Vec<String> = scalars.iter().map(|s| format!("`{s}`")).collect();
            let known = if names.is_empty() { "it has none".to_owned() } else { names.join(", ") };
            let message = format!("the kernel has no parameter `{name}`");
            return Err(Diagnostic::new("unknown-parameter", message)
                .help(format!("the scalar arguments of `{}`: {known}", kernel.name))
                .into());
        }
        input::allowed(kernel, &sizes)?;
        Ok(sizes)
    }
}

/// The launches of the lowered program, or the refusal of lowering.
struct Launches {
    rows: Vec<(String, &'static str, Total)>,
    refused: Option<String>,
}

impl Launches {
    fn of(kernel: &LoopKernel) -> Launches {
        let program = match program_to_show(kernel, None) {
            Ok((program, _)) => program,
            Err(d) => {
                let refused = format!("launches and barriers are not known: {}", d.message);
                return Launches { rows: Vec::new(), refused: Some(refused) };
            }
        };
        let total = |formula: Result<Formula, Diagnostic>| Total { formula, at_most: false };
        let rows = count_launches(kernel, &program).into_iter().flat_map(
            |LaunchCount { kernel, launches, blocks, barriers }| {
                let name = kernel.to_string();
                [
                    (name.clone(), "launches", total(launches)),
                    (name.clone(), "blocks", total(blocks)),
                    (name, "barriers, of all blocks", total(barriers)),
                ]
            },
        );
        Launches { rows: rows.collect(), refused: None }
    }
}

fn sections<'c>(counts: &'c Counts, launches: &'c Launches) -> Vec<(&'static str, Vec<Row<'c>>)> {
    let copied = |cells: Vec<String>, copies, total| Row { cells, copies, total, bytes: None };
    let row = |cells: Vec<String>, total, bytes| Row { cells, copies: AxisSet::default(), total, bytes };
    let parts = counts.parts.iter().map(|p| copied(vec![p.part.to_string()], p.copies, &p.total));
    let operations = counts
        .operations
        .iter()
        .map(|o| copied(vec![o.operation.to_string(), o.dtype.to_string()], o.copies, &o.total));
    let accesses = counts.accesses.iter().map(|a| {
        let stride = format!("{} along {}", a.stride, a.along);
        let cells =
            [a.direction.to_string(), a.array.to_string(), a.dtype.to_string(), a.space.to_string(), stride];
        copied(cells.to_vec(), a.copies, &a.total)
    });
    let footprints = counts.footprints.iter().map(|f| {
        let cells = vec![f.direction.to_string(), f.array.to_string(), f.dtype.to_string()];
        row(cells, &f.total, Some(f.dtype.bytes()))
    });
    let launches = launches
        .rows
        .iter()
        .map(|(kernel, what, total)| row(vec![kernel.clone(), (*what).to_owned()], total, None));
    vec![
        ("executions", parts.collect()),
        ("operations", operations.collect()),
        ("accesses, with the stride in elements", accesses.collect()),
        ("distinct elements in global memory", footprints.collect()),
        ("launches of the lowered program", launches.collect()),
    ]
}

/// The characters to which cells are filled up at most: what follows a longer formula is not
/// aligned.
const WIDEST: usize = 200;

fn as_text(kernel: &LoopKernel, counts: &Counts, launches: &Launches, sizes: &BTreeMap<Name, i64>) -> String {
    // Writing to a string cannot fail.
    let mut text = format!("{}: counts of the kernel, without what lowering adds\n", kernel.name);
    let mut refusals: Vec<String> = Vec::new();
    for (title, rows) in sections(counts, launches).iter().filter(|(_, rows)| !rows.is_empty()) {
        let _ = writeln!(text, "\n{title}");
        let lines: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                let mut cells = row.cells.clone();
                cells.push(formula(row.total, &mut refusals));
                cells.push(each_of(row.copies));
                cells.push(number(row.total, sizes, row.bytes));
                cells
            })
            .collect();
        let width = |k: usize| lines.iter().map(|l| l[k].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..lines.first().map_or(0, Vec::len)).map(width).collect();
        for line in &lines {
            let mut out = String::from(" ");
            for (cell, width) in line.iter().zip(&widths).filter(|(_, width)| **width > 0) {
                let width = (*width).min(WIDEST);
                let _ = write!(out, " {cell:width$} ");
            }
            let _ = writeln!(text, "{}", out.trim_end());
        }
    }
    if let Some(refused) = &launches.refused {
        let _ = writeln!(text, "\n{refused}");
    }
    for (k, refusal) in refusals.iter().enumerate() {
        let _ = writeln!(text, "{}({}) {refusal}", if k == 0 { "\n" } else { "" }, k + 1);
    }
    text
}

/// `for each block.x`: the axes of which each coordinate does this for itself.
fn each_of(copies: AxisSet) -> String {
    let axes: Vec<&str> = copies.iter().map(HardwareAxis::coordinate).collect();
    if axes.is_empty() { String::new() } else { format!("for each {}", axes.join(", ")) }
}

/// The formula; or a number that stands for a refusal, which is printed below the tables.
fn formula(total: &Total, refusals: &mut Vec<String>) -> String {
    match &total.formula {
        Ok(formula) if total.at_most => format!("at most {formula}"),
        Ok(formula) => formula.to_string(),
        Err(diagnostic) => {
            let text = diagnostic.message.clone();
            let known = refusals.iter().position(|r| *r == text);
            let number = known.unwrap_or_else(|| {
                refusals.push(text);
                refusals.len() - 1
            });
            format!("? ({})", number + 1)
        }
    }
}

/// `= 12000`, with bytes where elements are counted; empty without sizes.
fn number(total: &Total, sizes: &BTreeMap<Name, i64>, bytes: Option<usize>) -> String {
    if sizes.is_empty() {
        return String::new();
    }
    let Ok(formula) = &total.formula else { return String::new() };
    match (formula.eval(&|n| sizes.get(n).copied()), bytes) {
        (Some(value), Some(bytes)) => format!("= {value}, {} bytes", value.saturating_mul(bytes as i128)),
        (Some(value), None) => format!("= {value}"),
        (None, _) => {
            let missing: Vec<String> =
                formula.names().iter().filter(|n| !sizes.contains_key(*n)).map(Name::to_string).collect();
            if missing.is_empty() { "= too large".into() } else { format!("needs {}", missing.join(", ")) }
        }
    }
}

fn as_json(kernel: &LoopKernel, counts: &Counts, launches: &Launches, sizes: &BTreeMap<Name, i64>) -> Value {
    let total = |mut row: Value, total: &Total| {
        let values = |n: &Name| sizes.get(n).copied();
        if let Some(row) = row.as_object_mut() {
            match &total.formula {
                Ok(formula) => {
                    row.insert("formula".into(), json!(formula.to_string()));
                    row.insert("at_most".into(), json!(total.at_most));
                    // JSON's integers have 64 bits here.
                    if let Some(value) = formula.eval(&values).and_then(|v| i64::try_from(v).ok()) {
                        row.insert("value".into(), json!(value));
                    }
                }
                Err(d) => {
                    row.insert("refused".into(), json!({ "code": d.code, "message": d.message }));
                }
            }
        }
        row
    };
    let all = |rows: Vec<Value>| Value::Array(rows);
    let axes = |set: AxisSet| set.iter().map(HardwareAxis::coordinate).collect::<Vec<_>>();
    json!({
        "kernel": kernel.name.to_string(),
        "sizes": sizes.iter().map(|(n, v)| (n.to_string(), json!(v))).collect::<serde_json::Map<_, _>>(),
        "executions": all(counts.parts.iter().map(|p| {
            total(json!({ "part": p.part.to_string(), "copies": axes(p.copies) }), &p.total)
        }).collect()),
        "operations": all(counts.operations.iter().map(|o| {
            let row = json!({
                "operation": o.operation.to_string(), "type": o.dtype.to_string(), "copies": axes(o.copies),
            });
            total(row, &o.total)
        }).collect()),
        "accesses": all(counts.accesses.iter().map(|a| {
            let row = json!({
                "direction": a.direction.to_string(), "array": a.array.to_string(),
                "type": a.dtype.to_string(), "space": a.space.to_string(),
                "stride": a.stride.to_string(), "along": a.along.to_string(),
                "copies": axes(a.copies),
            });
            total(row, &a.total)
        }).collect()),
        "elements": all(counts.footprints.iter().map(|f| {
            let row = json!({
                "direction": f.direction.to_string(), "array": f.array.to_string(),
                "type": f.dtype.to_string(), "bytes": f.dtype.bytes(),
            });
            total(row, &f.total)
        }).collect()),
        "launches": all(launches.rows.iter().map(|(kernel, what, t)| {
            total(json!({ "kernel": kernel, "what": what }), t)
        }).collect()),
    })
}
