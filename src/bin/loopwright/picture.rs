//! `picture` and `roofline`

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args as ClapArgs;
use loopwright::ir::Name;
use loopwright::picture::{self, Choice, Dot};
use loopwright::prelude::*;
use loopwright::runtime::bind_open_types;
use loopwright::tuner::{Machine, estimate};

use crate::arguments::Arguments;
use crate::input::{self, Failure, Form};
use crate::report;

/// The options of `loopwright picture`.
#[derive(ClapArgs)]
pub struct Picture {
    #[command(flatten)]
    pub form: Form,
    /// The value of a parameter, such as `n=16`.
    #[arg(long = "set", value_name = "NAME=INTEGER")]
    set: Vec<String>,
    /// The id of a statement of the kernel, or of a copy that a step makes; the first one unless
    /// given.
    #[arg(long, value_name = "ID")]
    statement: Option<String>,
    /// The inames of rows and columns, such as `i,k`, or of columns alone: those of the kernel as
    /// it was declared, or of the transformed one. The two outermost declared ones unless given.
    #[arg(long, value_name = "INAMES", value_delimiter = ',')]
    axes: Vec<String>,
    /// Draw the kernel as it was declared, and after each step that changes the picture.
    #[arg(long)]
    steps: bool,
}

impl Picture {
    /// Runs the command `loopwright picture`.
    pub fn picture(&self) -> Result<(), Failure> {
        let mut sizes = BTreeMap::new();
        for given in &self.set {
            let (name, value) = input::pair(given)?;
            let value = value.parse::<i64>().map_err(|_| {
                Diagnostic::new("option", format!("`{value}` is not an integer, and `{name}` needs one"))
                    .help(format!("write `--set {name}=16`"))
            })?;
            sizes.insert(Name::new(name), value);
        }
        let axes = self.axes.iter().map(|name| Name::new(name.trim())).collect();
        let choice = Choice { statement: self.statement.clone(), axes };
        let declared = self.form.declared()?;
        let pipeline = self.form.pipeline()?;
        if !self.steps {
            let picture = picture::Picture::of(&pipeline.apply(&declared)?, &choice, &sizes)?;
            return report::say(&picture.svg());
        }
        let traced = pipeline.apply_traced(&declared)?;
        let steps = traced.iter().map(|t| (t.step.as_str(), &t.kernel));
        let kernels = [("declared", &declared)].into_iter().chain(steps);
        report::say(&picture::Picture::of_all(kernels, &choice, &sizes)?.svg())
    }
}

/// The options of `loopwright roofline`.
#[derive(ClapArgs)]
pub struct Roofline {
    /// The kernel's file; `-` reads standard input.
    kernel: String,
    /// The pipelines' files, a dot each.
    #[arg(required = true)]
    pipelines: Vec<String>,
    #[command(flatten)]
    arguments: Arguments,
}

impl Roofline {
    /// Runs the command `loopwright roofline`.
    pub fn roofline(&self) -> Result<(), Failure> {
        let declared = input::kernel(&self.kernel)?;
        let phase = report::Phase::begin("making arguments");
        let args = self.arguments.args(&declared, true)?;
        phase.next("proving and counting");
        let types = input::types(&self.arguments.types)?;
        let machine = Machine::h200();
        let mut dots = Vec::new();
        for path in &self.pipelines {
            let kernel = bind_open_types(&input::read_pipeline(path)?.apply(&declared)?, &types)?;
            let name = Path::new(path).file_stem().map_or(path.clone(), |stem| stem.to_string_lossy().into());
            dots.push(Dot { name, cost: estimate(&kernel, &args, &machine)? });
        }
        drop(phase);
        let sizes = match self.arguments.set.is_empty() {
            true => String::new(),
            false => format!(" for {}", self.arguments.set.join(" ")),
        };
        let roofline = picture::Roofline { title: format!("{}{sizes}", declared.name), machine, dots };
        report::say(&roofline.svg()?)
    }
}
