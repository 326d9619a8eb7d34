//! `picture` and `roofline`

use std::path::Path;

use clap::Args as ClapArgs;
use loopwright::ir::Name;
use loopwright::picture::{self, Choice, Dot};
use loopwright::runtime::bind_open_types;
use loopwright::tuner::{Machine, estimate};

use crate::arguments::Arguments;
use crate::files;
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
        let sizes = input::sizes(&self.set)?;
        let axes = self.axes.iter().map(|name| Name::new(name.trim())).collect();
        let choice = Choice { statement: self.statement.clone(), axes };
        let declared = self.form.declared()?;
        input::allowed(&declared, &sizes)?;
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
    /// A value for an open parameter of the pipelines, such as `block=256`.
    #[arg(short = 'p', long = "parameter", value_name = "NAME=INTEGER")]
    parameters: Vec<String>,
    #[command(flatten)]
    called: input::Called,
    #[command(flatten)]
    arguments: Arguments,
}

impl Roofline {
    /// Runs the command `loopwright roofline`.
    pub fn roofline(&self) -> Result<(), Failure> {
        files::standard_input_once(self.pipelines.iter().chain([&self.kernel]).map(String::as_str))?;
        let declared = input::kernel(&self.kernel, &self.called)?;
        let pipelines = self.pipelines.iter().map(|path| input::read_pipeline(path));
        let pipelines = input::bound_each(&pipelines.collect::<Result<Vec<_>, _>>()?, &self.parameters)?;
        let phase = report::Phase::begin("making arguments");
        let args = self.arguments.args(&declared, true)?;
        phase.next("proving and counting");
        let types = input::types(&self.arguments.types)?;
        let machine = Machine::h200();
        let mut dots = Vec::new();
        for (path, pipeline) in self.pipelines.iter().zip(&pipelines) {
            let kernel = bind_open_types(&pipeline.apply(&declared)?, &types)?;
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
