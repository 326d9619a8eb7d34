//! User-defined device functions.

use loopwright_poly::Name;
use serde::{Deserialize, Serialize};

use crate::DType;

/// A device function given in the language of the device
/// ([`Language::OF_KERNELS`](loopwright_target::Language::OF_KERNELS)). Its result depends on its
/// arguments alone. A device that is the emulator has it compiled by the system's C++ compiler, or
/// takes a Rust closure of the same name; since a kernel is plain data, the closure is passed to
/// the device instead.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeviceFunction {
    /// Its name, in its definition too.
    pub name: Name,
    /// The types of its arguments, in order.
    pub params: Vec<DType>,
    /// The type of its result, which calls have.
    pub result: DType,
    /// The whole definition, beginning with
    /// [`Language::device_function`](loopwright_target::Language::device_function).
    pub source: Name,
}
