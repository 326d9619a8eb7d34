//! `export`

use std::path::PathBuf;

use clap::Args as ClapArgs;
use loopwright::host_code::host_code;
use loopwright::ir::Arg;
use loopwright::prelude::*;
use loopwright::runtime::{check_limits_of, cuda::DeviceInfo};

use crate::input::{self, Binding, Failure, Form};
use crate::report;

/// `loopwright export`
#[derive(ClapArgs)]
pub struct Export {
    #[command(flatten)]
    pub form: Form,
    /// A scalar argument, such as `n=1000`. With all of them, `launches.json` lists the launches of
    /// these sizes; without any, sizes are arguments of the host code.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    binding: Binding,
    /// The architecture of the binary, such as sm_90a.
    #[arg(long)]
    arch: String,
    /// The folder for the files; it is created.
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
}

impl Export {
    /// Writes what another host needs to launch the kernel.
    pub fn export(&self) -> Result<(), Failure> {
        let kernel = self.form.transformed()?;
        let arch = input::arch(&self.arch)?;
        let is_open = kernel.args.iter().any(|arg| matches!(arg, Arg::Scalar(_)));
        let files = match self.set.is_empty() && is_open {
            true => {
                let index = self.binding.index()?.unwrap_or_else(|| kernel.least_index());
                let code = host_code(&kernel, &self.binding.types()?, index)?;
                if let Some(limits) = DeviceInfo::of_arch(arch) {
                    check_limits_of(&kernel, &code.program, &limits)?;
                }
                code.write_to(&self.output, &code.compile(arch)?)?
            }
            false => self.launches(&kernel, arch)?,
        };
        for (file, length) in files {
            report::say(&format!("{}: {length} bytes\n", file.display()))?;
        }
        Ok(())
    }

    /// The launches for given sizes.
    fn launches(&self, kernel: &LoopKernel, arch: Arch) -> Result<Vec<(PathBuf, usize)>, Failure> {
        let mut args = Args::new();
        for (name, dtype) in self.binding.types()? {
            args = args.bind_type(name, dtype);
        }
        for set in &self.set {
            let (name, value) = input::scalar(set)?;
            args = args.scalar(name, value);
        }
        let options = CompileOptions { index: self.binding.index()?, ..CompileOptions::default() };
        let export = loopwright::runtime::export(kernel, arch, &args, &options)?;
        Ok(export.write_to(&self.output)?)
    }
}
