//! `completions` and `man`: what shells and `man` read about the program.

use std::path::Path;

use clap::builder::PossibleValuesParser;
use loopwright::prelude::*;

use crate::{input::Failure, pages, report, steps};

/// Prints the completions of a shell: commands, options, and the names of steps, codes and tags.
pub fn completions(command: clap::Command, shell: clap_complete::Shell) -> Result<(), Failure> {
    // The commands themselves take any name: they say which one is meant.
    let mut command = [
        ("steps", "name", steps::names()),
        ("explain-code", "code", pages::codes()),
        ("tags", "name", pages::tag_names()),
    ]
    .into_iter()
    .fold(command, |command, (of, argument, names)| {
        let names = PossibleValuesParser::new(names);
        command.mut_subcommand(of, |c| c.mut_arg(argument, |a| a.value_parser(names)))
    });
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "loopwright", &mut text);
    report::say(&String::from_utf8_lossy(&text))
}

/// Writes a page for the program and one for each of its commands: `loopwright-run.1`.
pub fn pages(command: clap::Command, folder: &Path) -> Result<(), Failure> {
    // The command `help` says the same as `--help`. The foot of each page has the version.
    let command = command.disable_help_subcommand(true).propagate_version(true);
    std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder)).map_err(|e| {
        Diagnostic::new("write-file", format!("{} cannot be written: {e}", folder.display()))
            .help("use a writable folder")
            .into()
    })
}
