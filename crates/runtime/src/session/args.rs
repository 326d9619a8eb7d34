//! The arguments passed by a caller.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use loopwright_kernel_ir::{DType, Diagnostic, Name};

use super::{Device, DeviceTensor, ScalarValue, Tensor};

/// The arguments of a launch, by name. Nothing is checked before
/// [`Compiled::bind`](super::Compiled::bind).
///
/// May be omitted: integer scalars that follow from the shape of an array, and arrays that the
/// kernel only writes, whose shape and type follow from the rest.
#[derive(Clone, Debug, Default)]
#[must_use = "its methods return a changed one"]
pub struct Args {
    pub(super) arrays: IndexMap<Name, ArrayArg>,
    pub(super) scalars: IndexMap<Name, ScalarValue>,
    pub(super) types: BTreeMap<Name, DType>,
    pub(super) facts: CheckedFacts,
    /// The first name that was given twice.
    pub(super) twice: Option<Name>,
}

/// The arrays whose declared facts are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CheckedFacts {
    None,
    #[default]
    OnHost,
    All,
}

#[derive(Clone, Debug)]
pub(super) enum ArrayArg {
    Host(Tensor),
    Device(DeviceTensor),
}

impl ArrayArg {
    pub fn dtype(&self) -> DType {
        match self {
            ArrayArg::Host(t) => t.dtype(),
            ArrayArg::Device(t) => t.dtype(),
        }
    }

    pub fn shape(&self) -> &[usize] {
        match self {
            ArrayArg::Host(t) => t.shape(),
            ArrayArg::Device(t) => t.shape(),
        }
    }
}

impl Args {
    /// No arguments yet; the methods add them.
    pub fn new() -> Args {
        Args::default()
    }

    /// Adds a host array, which is copied to the device when bound. Written elements are read back
    /// from the launch ([`Bound::read`](super::Bound::read), [`Outputs`](super::Outputs)); the
    /// tensor itself never changes. An array of structs is passed as bytes, `u8[n, 24]`, or as an
    /// array for each field, `p_x`.
    pub fn tensor(mut self, name: impl Into<Name>, tensor: &Tensor) -> Args {
        self.note_name(name.into(), |args, name| {
            args.arrays.insert(name, ArrayArg::Host(tensor.clone()));
        });
        self
    }

    /// Adds an array on the device. The kernel writes its results there.
    pub fn device_tensor(mut self, name: impl Into<Name>, tensor: &DeviceTensor) -> Args {
        self.note_name(name.into(), |args, name| {
            args.arrays.insert(name, ArrayArg::Device(tensor.clone()));
        });
        self
    }

    /// Adds a scalar. It must be representable in the type of the kernel's argument.
    pub fn scalar(mut self, name: impl Into<Name>, value: impl Into<ScalarValue>) -> Args {
        let value = value.into();
        self.note_name(name.into(), |args, name| {
            args.scalars.insert(name, value);
        });
        self
    }

    /// Binds an open type of the kernel. Needed only if no argument determines it.
    pub fn bind_type(mut self, name: impl Into<Name>, dtype: DType) -> Args {
        self.types.insert(name.into(), dtype);
        self
    }

    /// Checks declared facts about data (ranges, monotone and injective arrays) also for arrays on
    /// the device, which are copied to the host for this each time they are bound. Host arrays are
    /// checked in any case, once per array.
    pub fn check_facts(mut self) -> Args {
        self.facts = CheckedFacts::All;
        self
    }

    /// Checks no declared facts about data. If one does not hold, the kernel may read and write
    /// anywhere.
    pub fn trust_facts(mut self) -> Args {
        self.facts = CheckedFacts::None;
        self
    }

    /// The same arguments with the host arrays copied to a device, so that binding them again
    /// copies nothing.
    pub fn on_device(&self, device: &Device) -> Result<Args, Diagnostic> {
        let mut args = self.clone();
        for array in args.arrays.values_mut() {
            if let ArrayArg::Host(tensor) = array {
                *array = ArrayArg::Device(device.upload(tensor)?);
            }
        }
        Ok(args)
    }

    /// The same arguments with the arrays of devices copied to the host, as they are now.
    pub fn on_host(&self) -> Result<Args, Diagnostic> {
        let mut args = self.clone();
        for array in args.arrays.values_mut() {
            if let ArrayArg::Device(on_device) = array {
                *array = ArrayArg::Host(on_device.download()?);
            }
        }
        Ok(args)
    }

    /// Name, type and shape of each array, in the order in which they were added.
    pub fn arrays(&self) -> impl Iterator<Item = (&Name, DType, &[usize])> {
        self.arrays.iter().map(|(name, array)| (name, array.dtype(), array.shape()))
    }

    /// The host array with this name.
    pub fn host_tensor(&self, name: &str) -> Option<&Tensor> {
        match self.arrays.get(name)? {
            ArrayArg::Host(tensor) => Some(tensor),
            ArrayArg::Device(_) => None,
        }
    }

    /// The values of an array, downloaded if it is on a device; none if there is no array of this
    /// name.
    pub fn values(&self, name: &str) -> Result<Option<Tensor>, Diagnostic> {
        Ok(match self.arrays.get(name) {
            Some(ArrayArg::Host(tensor)) => Some(tensor.clone()),
            Some(ArrayArg::Device(array)) => Some(array.download()?),
            None => None,
        })
    }

    fn note_name(&mut self, name: Name, insert: impl FnOnce(&mut Args, Name)) {
        if self.arrays.contains_key(&name) || self.scalars.contains_key(&name) {
            self.twice.get_or_insert_with(|| name.clone());
        }
        insert(self, name);
    }
}
