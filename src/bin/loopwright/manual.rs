//! `completions` and `man`: what shells and `man` read about the program.

use std::path::Path;

use loopwright::prelude::*;

use crate::{input::Failure, report};

/// Prints the completions of a shell.
pub fn completions(command: &mut clap::Command, shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, command, "loopwright", &mut text);
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
