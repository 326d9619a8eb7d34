//! The machine code of a binary, by a disassembler if this machine has one.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use crate::tools;

/// A program that prints machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembler {
    /// The path of `nvdisasm` or `cuobjdump`.
    pub program: PathBuf,
    arguments: &'static [&'static str],
}

/// A binary that could not be disassembled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisasmError {
    /// There is no disassembler.
    NotFound,
    /// The disassembler could not be run, or failed.
    Failed {
        /// The path of the disassembler.
        program: PathBuf,
        /// Its standard error or exit status, or the error of the system.
        reason: String,
    },
}

impl fmt::Display for DisasmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DisasmError::NotFound => f.write_str(
                "there is no disassembler: run `make setup`, or install a CUDA toolkit, for \
                 nvdisasm or cuobjdump",
            ),
            DisasmError::Failed { program, reason } => write!(f, "{} failed: {reason}", program.display()),
        }
    }
}

impl std::error::Error for DisasmError {}

impl Disassembler {
    /// The disassembler of this machine: on the search path, in a toolkit, or among the Python
    /// packages.
    pub fn find() -> Option<Disassembler> {
        // nvdisasm first: cuobjdump needs it as well, and finds it only in its own folder or on the
        // search path.
        tools::find_tool("nvdisasm")
            .map(|program| Disassembler { program, arguments: &["--print-code"] })
            .or_else(|| {
                tools::find_tool("cuobjdump")
                    .map(|program| Disassembler { program, arguments: &["--dump-sass"] })
            })
    }

    /// The machine code of a binary, as text.
    pub fn disassemble(&self, cubin: &[u8]) -> Result<String, DisasmError> {
        let failed = |reason: String| DisasmError::Failed { program: self.program.clone(), reason };
        let mut file = tempfile::Builder::new()
            .suffix(".cubin")
            .tempfile()
            .map_err(|error| failed(error.to_string()))?;
        file.write_all(cubin).map_err(|error| failed(error.to_string()))?;
        let output = Command::new(&self.program)
            .args(self.arguments)
            .arg(file.path())
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(failed(if said.is_empty() { output.status.to_string() } else { said }));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The machine code of a binary as text, by the disassembler that [`Disassembler::find`] finds.
pub fn disassemble(cubin: &[u8]) -> Result<String, DisasmError> {
    Disassembler::find().ok_or(DisasmError::NotFound)?.disassemble(cubin)
}
