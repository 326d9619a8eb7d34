//! `export`

use std::path::PathBuf;

use clap::Args as ClapArgs;
use loopwright::prelude::*;

use crate::input::{self, Failure, Form};
use crate::report;

/// `loopwright export`
#[derive(ClapArgs)]
pub struct Export {
    #[command(flatten)]
    pub form: Form,
    /// A scalar argument, such as `n=1000`.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// The type bound to an open type, such as `T=f32`.
    #[arg(long = "type", value_name = "NAME=TYPE")]
    types: Vec<String>,
    /// The architecture of the binary, such as sm_90a.
    #[arg(long)]
    arch: String,
    /// The folder for `kernel.cubin`, `kernel.cu` and `launches.json`; it is created.
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
        for (file, length) in export.write_to(&self.output)? {
            report::say(&format!("{}: {length} bytes\n", file.display()))?;
        }
        Ok(())
    }
}
