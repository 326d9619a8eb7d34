//! Kernel arguments from the command line.

use std::collections::BTreeSet;
use std::str::FromStr;

use clap::Args as ClapArgs;
use loopwright::automatic::random_array;
use loopwright::ir::{Arg, Expr, Record};
use loopwright::prelude::*;

use crate::input::{self, Failure};

/// The options that give arguments.
#[derive(Clone, ClapArgs)]
pub struct Arguments {
    /// A scalar argument, such as `n=1000`; those that follow from shapes can be omitted.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// An array argument from a .npy file, such as `x=x.npy`.
    #[arg(long = "input", value_name = "NAME=FILE")]
    pub inputs: Vec<String>,
    /// Fills an array argument with pseudo-random numbers, within its declared facts.
    #[arg(long = "random", value_name = "NAME")]
    pub random: Vec<String>,
    /// Fills an array argument with zeros.
    #[arg(long = "zeros", value_name = "NAME")]
    pub zeros: Vec<String>,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 0, value_parser = whole::<u64>)]
    pub seed: u64,
    /// The type bound to an open type, such as `T=f32`; types of arrays from files are inferred.
    #[arg(long = "type", value_name = "NAME=TYPE")]
    pub types: Vec<String>,
}

/// A whole number that is not negative.
pub fn whole<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "it has to be a whole number, not negative and not too large".to_owned())
}

/// A whole number from 1.
pub fn count(text: &str) -> Result<usize, String> {
    whole(text).ok().filter(|n| *n > 0).ok_or_else(|| "it has to be a whole number, at least 1".to_owned())
}

impl Arguments {
    /// The arguments. With `fill`, arrays that the kernel reads and that were not given are random.
    pub fn args(&self, kernel: &LoopKernel, fill: bool) -> Result<Args, Failure> {
        let mut args = Args::new();
        for (name, dtype) in input::types(&self.types)? {
            args = args.bind_type(name, dtype);
        }
        for set in &self.set {
            let (name, value) = input::scalar(set)?;
            args = args.scalar(name, value);
        }
        for given in &self.inputs {
            let (name, path) = input::pair(given)?;
            args = args.tensor(name, &Tensor::from_npy(path)?);
        }
        let mut random = self.random.clone();
        if fill {
            let given = |name: &str| {
                self.inputs.iter().any(|i| i.split('=').next().is_some_and(|n| n.trim() == name))
                    || self.zeros.iter().chain(&self.random).any(|n| n == name)
            };
            random.extend(arrays_read(kernel).iter().filter(|n| !given(n)).map(ToString::to_string));
        }
        for (names, random) in [(&random, true), (&self.zeros, false)] {
            for name in names.iter().flat_map(|name| fields_of(kernel, name)) {
                let name = &name;
                let expected = loopwright::runtime::expected_arrays(kernel, &args)?;
                let (dtype, shape) =
                    expected.get(name.as_str()).ok_or_else(|| no_array(kernel, name, expected.keys()))?;
                let tensor = if random {
                    random_array(kernel, &args, name, *dtype, shape, self.seed)?
                } else {
                    Tensor::zeros(shape, *dtype)?
                };
                args = args.tensor(name.as_str(), &tensor);
            }
        }
        Ok(args)
    }
}

/// The arrays of the fields of an array of structs; of another name, that name alone.
fn fields_of(kernel: &LoopKernel, name: &str) -> Vec<String> {
    let fields = |record: &Record| {
        let of = kernel.structure(record.of())?;
        Some(of.fields.iter().map(|f| record.field_name(&f.name).to_string()).collect())
    };
    let record = kernel.records.iter().find(|r| *r.array.name == *name);
    record.and_then(fields).unwrap_or_else(|| vec![name.to_string()])
}

/// The refusal of a name that is not an array of the kernel.
pub fn no_array<'a>(kernel: &LoopKernel, name: &str, known: impl Iterator<Item = &'a Name>) -> Diagnostic {
    let known: Vec<&str> = known.map(Name::as_str).collect();
    Diagnostic::new("unknown-argument", format!("`{}` has no array `{name}`", kernel.name))
        .help(format!("its arrays are {}", known.join(", ")))
}

/// The array arguments that the kernel reads.
fn arrays_read(kernel: &LoopKernel) -> Vec<Name> {
    let mut read: BTreeSet<Name> = BTreeSet::new();
    let mut note = |e: &Expr| read.extend(e.accesses().into_iter().map(|a| a.array));
    for instruction in &kernel.instructions {
        note(&instruction.value);
        instruction.predicate.iter().for_each(&mut note);
        instruction.targets.iter().flat_map(|t| &t.index).for_each(&mut note);
    }
    let updates = kernel.instructions.iter().filter(|i| i.update.is_some());
    read.extend(updates.flat_map(|i| &i.targets).map(|t| t.array.clone()));
    let arrays = kernel.args.iter().filter(|a| matches!(a, Arg::Array(_)));
    arrays.map(|a| a.name().clone()).filter(|n| read.contains(n)).collect()
}
