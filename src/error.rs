//! The one error of the library, for functions that read kernels, apply steps and launch.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, Diagnostics};

/// What the library refuses: one diagnostic or several. Everything that can fail here turns into it
/// by `?`, and its `Debug` form is the text with places, witnesses and remedies, so that a `main`
/// that returns it ends with a readable message.
///
/// ```
/// use loopwright::prelude::*;
///
/// fn transposed(rows: i64) -> Result<String, Error> {
///     let kernel = LoopKernel::parse("
///     kernel transpose(a: f32[m, n], b: f32[n, m], m: i32, n: i32)
///     domain { [j, i] : 0 <= j < n and 0 <= i < m }
///     b[j, i] = a[i, j]
///     ")?;
///     let kernel = kernel.split_iname("i", rows)?.tag_inames("j: block.x, i_inner: thread.x")?;
///     Ok(cuda_source(&lower(&kernel, LowerOptions::default())?)?.text)
/// }
///
/// assert!(transposed(64)?.contains("blockIdx.x"));
/// let refused = transposed(0).unwrap_err();
/// assert_eq!(refused.diagnostics()[0].code, "number-range");
/// assert!(format!("{refused:?}").starts_with("error[number-range]: "));
/// # Ok::<(), Error>(())
/// ```
///
/// The errors of layouts, sets, counts, architectures, the driver, the compiler and the emulator
/// are types of their own, for those who match on them; they turn into it, too.
///
/// ```
/// use loopwright::{layout, poly, prelude::*, runtime::Arch};
///
/// fn binary(arch: &str, shape: &str, set: &str) -> Result<String, Error> {
///     let arch: Arch = arch.parse()?;
///     let layout: layout::Layout = shape.parse()?;
///     let set: poly::Set = set.parse()?;
///     Ok(format!("{arch} {layout} {}", set.is_empty()?))
/// }
///
/// assert_eq!(binary("sm_90a", "(4,8):(1,4)", "{ [i] : 0 <= i < 8 }")?, "sm_90a (4,8):(1,4) false");
/// for (wrong, code) in [
///     (binary("sm-90", "8:1", "{ [i] }"), "arch"),
///     (binary("sm_90", "8:", "{ [i] }"), "layout-syntax"),
///     (binary("sm_90", "8:1", "{ [i"), "syntax"),
/// ] {
///     assert_eq!(wrong.unwrap_err().diagnostics()[0].code, code);
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Diagnostics);

impl Error {
    /// The diagnostics; there is at least one.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.0
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Error {
        Error(diagnostic.into())
    }
}

impl From<Diagnostics> for Error {
    fn from(diagnostics: Diagnostics) -> Error {
        Error(diagnostics)
    }
}

/// What has a diagnostic turns into it by way of that.
macro_rules! by_diagnostic {
    ($($error:ty),+ $(,)?) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Error {
                Diagnostic::from(error).into()
            }
        }
    )+};
}

by_diagnostic!(loopwright_counts::Refusal, loopwright_layout::Error, loopwright_poly::Error);

#[cfg(feature = "run")]
by_diagnostic!(
    loopwright_emulator::Fault,
    loopwright_runtime::arch::ParseArchError,
    loopwright_runtime::cuda::CudaError,
    loopwright_runtime::disasm::DisasmError,
    loopwright_runtime::nvrtc::CompileError,
);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The rendered text, for a `main` that returns the error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.diagnostics().iter().map(Diagnostic::render).collect();
        f.write_str(&texts.join("\n"))
    }
}

impl std::error::Error for Error {}
