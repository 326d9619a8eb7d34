//! Options of a compilation.

use std::path::PathBuf;

use crate::arch::Arch;

/// Options of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    /// The architecture of the binary.
    pub arch: Arch,
    /// `--use_fast_math`: approximate division, roots and transcendental functions, and denormals
    /// flushed to zero, everywhere.
    pub fast_math: bool,
    /// `--generate-line-info`: ties machine code to lines of the source, for the profiler and the
    /// sanitizer. Changes no code.
    pub line_info: bool,
    /// `--minimal`, with compilers that support it (12.4 and newer): the source uses no textures,
    /// surfaces or CUDA runtime functions, whose declarations are then omitted. Changes no code; a
    /// small kernel is compiled in about five sixths of the time.
    pub minimal: bool,
    /// The name of the source in messages and line information; a relative name refers to the
    /// working folder. A tool that shows the source next to the machine code needs the full path of
    /// a file with the source.
    pub name: String,
    /// Headers given as text, which the source may include by name.
    pub headers: Vec<Header>,
    /// Further folders to search for headers. A compilation with such folders is never cached,
    /// since their contents may change unnoticed.
    pub include: Vec<PathBuf>,
    /// Further options, in NVRTC's form.
    pub extra: Vec<String>,
}

impl CompileOptions {
    /// The defaults for an architecture: precise mathematics, no line information.
    pub fn new(arch: Arch) -> CompileOptions {
        CompileOptions {
            arch,
            fast_math: false,
            line_info: false,
            minimal: false,
            name: "kernel.cu".to_owned(),
            headers: Vec::new(),
            include: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// The options as the newest NVRTC takes them, without the folder of CUDA's own headers.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--gpu-architecture={}", self.arch),
            "--std=c++17".to_owned(),
            "--ptxas-options=-v".to_owned(),
            // Messages include their number, so that a warning can be looked up.
            "--display-error-number".to_owned(),
            NO_CACHE.to_owned(),
        ];
        if self.fast_math {
            arguments.push("--use_fast_math".to_owned());
        }
        if self.line_info {
            arguments.push("--generate-line-info".to_owned());
        }
        if self.minimal {
            arguments.push(MINIMAL.to_owned());
        }
        arguments.extend(self.include.iter().map(|folder| format!("--include-path={}", folder.display())));
        arguments.extend(self.extra.iter().cloned());
        arguments
    }
}

/// A header given as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The name by which the source includes it.
    pub name: String,
    /// The text of the header.
    pub text: String,
}

/// The option that omits declarations.
const MINIMAL: &str = "--minimal";

/// The option that has NVRTC compile what it has compiled before: what it takes from its own cache,
/// where there is a driver, has no log, from which the resources are read.
const NO_CACHE: &str = "--no-cache";

/// Whether NVRTC of this version (major, minor) supports an option; it refuses unknown ones.
pub(super) fn knows(version: (u32, u32), argument: &str) -> bool {
    let least = match argument {
        MINIMAL => (12, 4),
        NO_CACHE => (13, 0),
        _ => return true,
    };
    version >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_compiler_is_not_given_what_it_would_refuse() {
        let options = CompileOptions { minimal: true, ..CompileOptions::new(Arch::SM_80) };
        let given = |version| options.arguments().iter().filter(|a| knows(version, a)).count();
        assert_eq!(given((12, 3)) + 1, given((12, 4)));
        assert_eq!(given((12, 4)) + 1, given((13, 0)));
    }
}
