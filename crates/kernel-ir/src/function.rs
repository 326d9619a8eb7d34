//! User-defined device functions.

use loopwright_poly::Name;
use loopwright_target::Language;
use serde::{Deserialize, Serialize};

use crate::DType;

/// The language of the definitions of device functions.
pub const DEVICE_LANGUAGE: Language = Language::CUDA_C;

/// A device function given in the language of the device ([`DEVICE_LANGUAGE`]). The emulator needs
/// a Rust closure of the same name; since a kernel is plain data, the closure is passed to the
/// device instead.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeviceFunction {
    /// Its name, in its definition too.
    pub name: Name,
    /// The types of its arguments.
    pub params: Vec<DType>,
    /// The type of its result.
    pub result: DType,
    /// The whole definition, beginning with [`Language::device_function`].
    pub source: Name,
}
