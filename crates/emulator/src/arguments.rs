//! What a program is run over.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Buffer, Name, Number};

/// An array argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayArgument {
    /// Its elements.
    pub buffer: Buffer,
    /// Whether they have values before the run; otherwise reading what the program has not written
    /// is a fault.
    pub initialised: bool,
}

/// The arguments by name. A run that succeeds replaces the elements of written arrays; a run with a
/// fault changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Arrays.
    pub arrays: BTreeMap<Name, ArrayArgument>,
    /// Scalars, of exactly the types that the program declares.
    pub scalars: BTreeMap<Name, Number>,
}

impl Arguments {
    /// No arguments.
    pub fn new() -> Arguments {
        Arguments::default()
    }

    /// With an array that has values.
    pub fn array(mut self, name: impl Into<Name>, buffer: Buffer) -> Arguments {
        self.arrays.insert(name.into(), ArrayArgument { buffer, initialised: true });
        self
    }

    /// With an array that has no values yet.
    pub fn output(mut self, name: impl Into<Name>, buffer: Buffer) -> Arguments {
        self.arrays.insert(name.into(), ArrayArgument { buffer, initialised: false });
        self
    }

    /// With a scalar.
    pub fn scalar(mut self, name: impl Into<Name>, value: impl Into<Number>) -> Arguments {
        self.scalars.insert(name.into(), value.into());
        self
    }

    /// The elements of an array.
    pub fn buffer(&self, name: &str) -> Option<&Buffer> {
        self.arrays.get(name).map(|a| &a.buffer)
    }
}
