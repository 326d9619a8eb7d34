//! User-defined device functions.

use loopwright_poly::Name;
use serde::{Deserialize, Serialize};

use crate::DType;

/// A device function given as CUDA C. The emulator needs a Rust closure of the same name; since a
/// kernel is plain data, the closure is passed to the device instead.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeviceFunction {
    /// Its name, in CUDA C too.
    pub name: Name,
    /// The types of its arguments.
    pub params: Vec<DType>,
    /// The type of its result.
    pub result: DType,
    /// The whole definition in CUDA C, beginning with `__device__`.
    pub source: Name,
}
