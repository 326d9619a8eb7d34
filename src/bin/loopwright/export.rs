//! `export`

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use loopwright::prelude::*;

use crate::input::{self, Failure, Form};
use crate::report;

/// `loopwright export`
#[derive(ClapArgs)]
pub struct Export {
    #[command(flatten)]
    pub form: Form,
    /// A scalar argument, as `n=1000`.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// What an open type stands for, as `T=f32`.
    #[arg(long = "type", value_name = "NAME=TYPE")]
    types: Vec<String>,
    /// The architecture of the binary, as sm_90a.
    #[arg(long)]
    arch: String,
    /// The folder that gets `kernel.cubin`, `kernel.cu` and `launches.json`; it is made.
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
}

impl Export {
    /// Writes what another host needs to launch the kernel.
    pub fn export(&self) -> Result<(), Failure> {
        let kernel = self.form.transformed()?;
        let arch = input::arch(&self.arch)?;
        let mut args = Args::new();
        for (name, dtype) in input::types(&self.types)? {
            args = args.bind_type(name, dtype);
        }
        for set in &self.set {
            let (name, value) = input::scalar(set)?;
            args = args.scalar(name, value);
        }
        let export = loopwright::runtime::export(&kernel, arch, &args, &CompileOptions::default())?;
        let folder = &self.output;
        std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
        let mut list = serde_json::to_string_pretty(&export)
            .map_err(|e| Diagnostic::new("write-file", format!("the launches cannot be written: {e}")))?;
        list.push('\n');
        let files: [(&str, &[u8]); 3] = [
            ("kernel.cubin", &export.cubin),
            ("kernel.cu", export.source.as_bytes()),
            ("launches.json", list.as_bytes()),
        ];
        for (name, bytes) in files {
            let file = folder.join(name);
            std::fs::write(&file, bytes).map_err(|e| cannot_write(&file, &e))?;
            report::say(&format!("{}: {} bytes\n", file.display(), bytes.len()));
        }
        Ok(())
    }
}

fn cannot_write(path: &Path, e: &std::io::Error) -> Diagnostic {
    Diagnostic::new("write-file", format!("{} cannot be written: {e}", path.display()))
        .help("name a folder that can be written to")
}
