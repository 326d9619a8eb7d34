//! The arguments of a program run.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Buffer, Name, Number};

/// The elements of an array argument, with or without values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayArgument {
    /// Its elements, in storage order.
    pub buffer: Buffer,
    /// Whether the elements have values before the run. If not, reading an element that the program
    /// has not written is a fault.
    pub initialised: bool,
}

/// Arguments by name. A successful run replaces the elements of written arrays; a run that faults
/// changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "its methods return a changed one"]
pub struct Arguments {
    /// Array arguments, by name.
    pub arrays: BTreeMap<Name, ArrayArgument>,
    /// Scalar arguments, by name, each of exactly the type that the program declares.
    pub scalars: BTreeMap<Name, Number>,
}

impl Arguments {
    /// No arguments yet; the methods add them.
    pub fn new() -> Arguments {
        Arguments::default()
    }

    /// Adds an array whose elements have values.
    pub fn array(mut self, name: impl Into<Name>, buffer: Buffer) -> Arguments {
        self.arrays.insert(name.into(), ArrayArgument { buffer, initialised: true });
        self
    }

    /// Adds an array whose elements have no values yet.
    pub fn output(mut self, name: impl Into<Name>, buffer: Buffer) -> Arguments {
        self.arrays.insert(name.into(), ArrayArgument { buffer, initialised: false });
        self
    }

    /// Adds a scalar, of exactly the type that the program declares.
    pub fn scalar(mut self, name: impl Into<Name>, value: impl Into<Number>) -> Arguments {
        self.scalars.insert(name.into(), value.into());
        self
    }

    /// The elements of an array.
    pub fn buffer(&self, name: &str) -> Option<&Buffer> {
        self.arrays.get(name).map(|a| &a.buffer)
    }
}
