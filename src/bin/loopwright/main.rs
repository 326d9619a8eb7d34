//! The command line: a kernel file and an optional pipeline file, printed, checked, shown as CUDA
//! C, or run.
//!
//! Exit status: 0 success; 1 a result is wrong; 2 bad input, with one rendered diagnostic per error
//! on standard error.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod arguments;
mod auto;
mod bisect;
mod check;
mod combine;
mod count;
mod cuda;
mod explain;
mod export;
mod files;
mod input;
mod interrupt;
mod layout;
mod limits;
mod lint;
mod make;
mod manual;
mod pages;
mod picture;
mod places;
mod program;
mod records;
mod replay;
mod report;
mod run;
mod steps;
mod tune;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use input::{Failure, Form};

/// Declares GPU kernels, transforms them by checked steps, prints them as CUDA C and runs them.
#[derive(Parser)]
#[command(name = "loopwright", version, term_width = 100)]
struct Cli {
    /// When output has colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    color: report::Color,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print a kernel, or the kernel that a pipeline transforms it to.
    Print {
        #[command(flatten)]
        form: Form,
        /// Print the kernel after each step.
        #[arg(long)]
        steps: bool,
    },
    /// Show each step of a pipeline with its verdict, the grounds for it, and what it changed in
    /// the kernel.
    Explain(explain::Explain),
    /// Apply two pipelines to one kernel and show the first step that makes a difference.
    Compare(explain::Compare),
    /// Find the first step of a pipeline that made a property of the lowered kernel false.
    Bisect(Box<bisect::Bisect>),
    /// Parse, transform and lower a kernel, and report the result: device kernels, grids, blocks,
    /// barriers.
    Check {
        #[command(flatten)]
        form: Form,
        #[command(flatten)]
        binding: input::Binding,
        /// Also print the schedule: the decisions of lowering, one per line. Launches with their
        /// blocks and grids, storage of temporaries, loops with their bounds and inames, guards,
        /// barriers with the dependence that each enforces, shared loads, vectors, joins.
        #[arg(long)]
        schedule: bool,
        /// Exit with status 1 if there is a warning.
        #[arg(long)]
        deny_warnings: bool,
    },
    /// Print a kernel from a line: an einsum, a map, a copy with permuted axes, a reduction, a
    /// scan, the k largest. `run`, `auto` and the other commands take what it prints.
    #[command(subcommand)]
    Make(make::Make),
    /// Print a kernel made of others: of two, one after the other; for many problems at once; with
    /// the arrays of a caller separated or put together.
    #[command(subcommand)]
    Combine(combine::Combine),
    /// Find steps for a kernel, or for what a pipeline leaves open, by rules, and print them as a
    /// pipeline. Comments say which rule made them, and why.
    Auto(auto::Auto),
    /// Count what a kernel does, as formulas of its parameters: executions, operations, accesses
    /// by array and stride, distinct elements. Nothing is run.
    Count(count::Count),
    /// Print a kernel as CUDA C.
    Cuda {
        #[command(flatten)]
        form: Form,
        #[command(flatten)]
        binding: input::Binding,
        /// Also compile it for this architecture (sm_80, sm_90a), and report its resources on
        /// standard error.
        #[arg(long, value_name = "ARCH")]
        compile: Option<String>,
    },
    /// Print the lowered program as text, or check a file with such a text (.lwp).
    ///
    /// A text can be changed by hand. It gets the final check of every lowered program: all
    /// instances run, once each; barriers are reached by all threads; conflicts are ordered. A
    /// refusal ends with status 2 and a witness. With --kernel and --pipeline it is also held to
    /// what the kernel computes, as a program that is lowered from it.
    Program {
        #[command(flatten)]
        form: Form,
        #[command(flatten)]
        binding: input::Binding,
        #[command(flatten)]
        against: program::Against,
    },
    /// Write what hosts in other languages need to launch a kernel: its binary, and host code in C
    /// and Python, whose functions take sizes and arrays.
    ///
    /// The host code checks what the kernel assumes of sizes and arrays, and computes grids and the
    /// sizes of scratch memory. It needs the driver's library alone. Of indices that 32 bits do not
    /// hold, it refuses launches unless `--index i64` is given. With `--set`, the launches of given
    /// sizes are written as data instead.
    Export(export::Export),
    /// Run a kernel on arrays from .npy files.
    Run(Box<run::Run>),
    /// Search the open parameters of a pipeline for the fastest form of a kernel.
    Tune(Box<tune::Tune>),
    /// Show the fraction of the memory bandwidth limit that the best points of several searches
    /// reach, over a size, from the logs of `tune --log`.
    Report(limits::Limits),
    /// Find what is slow from the emulator's counts, each finding with a number and a repair that
    /// was tried.
    Lint(Box<lint::Lint>),
    /// List the steps of pipelines, one per line; or print the page of one: its arguments, when it
    /// is legal, a kernel before and after.
    Steps {
        /// The name of a step, such as `split_iname`; an older one of it, or loopy's, leads to it.
        name: Option<String>,
    },
    /// List the codes of errors and lints, one per line; or say what one means, why it is refused,
    /// and what to do.
    ExplainCode {
        /// The code, such as `race`, or as it is printed: `error[race]`.
        code: Option<String>,
    },
    /// List the tags of inames, one per line; or say what one means.
    Tags {
        /// The tag, such as `thread.x`, or loopy's name of it, such as `l.0`.
        name: Option<String>,
    },
    /// Evaluate layouts in CuTe's notation, draw them, or run a file of cases.
    Layout(layout::Layout),
    /// Draw who runs which instances of a statement, as SVG: its iteration domain, shaded by blocks
    /// and labelled with threads.
    Picture(picture::Picture),
    /// Draw pipelines of one kernel below the roof of an H200, as SVG: operations for each byte
    /// that the emulator counts, and operations a second by the cost model.
    Roofline(picture::Roofline),
    /// Report what this machine has, and what is missing for which purpose.
    Doctor,
    /// Print the completions of a shell, as for `source <(loopwright completions bash)`.
    Completions {
        /// The shell that is to complete commands.
        shell: clap_complete::Shell,
    },
    /// Write manual pages into a folder, one for each command.
    Man {
        /// The folder; it is created.
        folder: std::path::PathBuf,
    },
}

fn main() -> ExitCode {
    let result = match arguments() {
        Ok(cli) => {
            report::set_color(cli.color);
            obey(cli)
        }
        Err(e) if e.use_stderr() => {
            report::note(report::styled(&e).trim_end());
            return ExitCode::from(2);
        }
        // Help and version output was requested and is not an error.
        Err(e) => report::say(&report::styled(&e)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(diagnostics)) => {
            let diagnostics: Vec<_> = diagnostics.into_iter().map(places::with_options).collect();
            report::refuse(&diagnostics);
            ExitCode::from(2)
        }
        Err(Failure::Wrong(text)) => {
            report::note(&text);
            ExitCode::from(1)
        }
        Err(Failure::Told) => ExitCode::from(1),
    }
}

/// The command line. What begins with a minus and a digit is a number, whose option says what is
/// wrong with it, and no option of its own.
fn arguments() -> Result<Cli, clap::Error> {
    let command = Cli::command().mut_subcommands(|command| {
        command.mut_args(|arg| {
            let has_value = arg.get_action().takes_values() && !arg.is_positional();
            if has_value { arg.allow_negative_numbers(true) } else { arg }
        })
    });
    Cli::from_arg_matches(&command.try_get_matches()?)
}

fn obey(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Print { form, steps } => check::print(&form, steps).map_err(|f| form.locate(f)),
        Command::Explain(explain) => explain.explain().map_err(|f| explain.form.locate(f)),
        Command::Compare(compare) => compare.compare().map_err(|f| compare.form.locate(f)),
        Command::Make(make) => make.make(),
        Command::Combine(combine) => combine.combine(),
        Command::Auto(auto) => auto.auto().map_err(|f| auto.form.locate(f)),
        Command::Bisect(bisect) => bisect.bisect().map_err(|f| bisect.form.locate(f)),
        Command::Check { form, binding, schedule, deny_warnings } => {
            check::check(&form, &binding, schedule, deny_warnings).map_err(|f| form.locate(f))
        }
        Command::Count(count) => count.count().map_err(|f| count.form.locate(f)),
        Command::Cuda { form, binding, compile } => {
            cuda::print(&form, &binding, compile.as_deref()).map_err(|f| form.locate(f))
        }
        Command::Program { form, binding, against } => program::program(&form, &binding, &against),
        Command::Export(export) => export.export().map_err(|f| export.form.locate(f)),
        Command::Run(run) => run.run().map_err(|f| run.form.locate(f)),
        Command::Tune(tune) => tune.run(),
        Command::Report(limits) => limits.report(),
        Command::Lint(lint) => lint.lint().map_err(|f| lint.form.locate(f)),
        Command::Steps { name } => steps::steps(name.as_deref()),
        Command::ExplainCode { code } => pages::explain_code(code.as_deref()),
        Command::Tags { name } => pages::tags(name.as_deref()),
        Command::Layout(layout) => layout.layout(),
        Command::Picture(picture) => picture.picture().map_err(|f| picture.form.locate(f)),
        Command::Roofline(roofline) => roofline.roofline(),
        Command::Completions { shell } => manual::completions(Cli::command(), shell),
        Command::Man { folder } => manual::pages(Cli::command(), &folder),
        Command::Doctor => {
            let found = loopwright::runtime::doctor::examine().render();
            report::say_machine(&format!("{}\n", found.trim_end()))
        }
    }
}
