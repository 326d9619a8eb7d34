//! `combine`

use clap::Subcommand;
use loopwright::prelude::*;

use crate::files::standard_input_once;
use crate::input::{self, Failure};
use crate::report;

/// What `loopwright combine` prints.
#[derive(Subcommand)]
pub enum Combine {
    /// One kernel of two, the second after the first.
    ///
    /// Arguments of one name are one argument, so that the second may read what the first writes;
    /// other names of the second are changed where the first has them.
    #[command(after_help = "Example: loopwright combine fuse forward.lw backward.lw --name both")]
    Fuse {
        /// The file of the kernel that comes first.
        first: String,
        /// The file of the other one; either may be `-`.
        second: String,
        /// The name of the kernel; by default both names.
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        called: input::Called,
    },
    /// The kernel for many problems at once, which differ in some arguments.
    #[command(after_help = "Example: loopwright combine batch solve.lw --of a,x --count systems")]
    Batch {
        /// The kernel's file; `-` reads standard input.
        kernel: String,
        /// The arguments, and temporaries in global memory, that each problem has of its own.
        #[arg(long, value_name = "NAME,...", value_delimiter = ',', required = true)]
        of: Vec<String>,
        /// The iname over the problems.
        #[arg(long, default_value = "batch")]
        iname: String,
        /// The argument that is their number.
        #[arg(long, default_value = "count")]
        count: String,
        #[command(flatten)]
        called: input::Called,
    },
    /// The kernel with an argument for each value on an axis of an array.
    #[command(after_help = "Example: loopwright combine separate k.lw x --axis 1 --names re,im")]
    Separate {
        /// The kernel's file; `-` reads standard input.
        kernel: String,
        /// The array.
        array: String,
        /// Its axis, from 0.
        #[arg(long, default_value_t = 0)]
        axis: usize,
        /// The names of the new arguments, in the order of the values.
        #[arg(long, value_name = "NAME,...", value_delimiter = ',', required = true)]
        names: Vec<String>,
        #[command(flatten)]
        called: input::Called,
    },
    /// The kernel with one argument for several arrays, one behind the other.
    #[command(after_help = "Example: loopwright combine concatenate k.lw a b --name both")]
    Concatenate {
        /// The kernel's file; `-` reads standard input.
        kernel: String,
        /// The arrays, in their order.
        #[arg(required = true, num_args = 2..)]
        arrays: Vec<String>,
        /// The axis along which they are put together, from 0.
        #[arg(long, default_value_t = 0)]
        axis: usize,
        /// The name of the argument.
        #[arg(long)]
        name: String,
        #[command(flatten)]
        called: input::Called,
    },
}

impl Combine {
    /// Runs the command `loopwright combine`.
    pub fn combine(&self) -> Result<(), Failure> {
        report::say(&self.kernel()?.to_string())
    }

    fn kernel(&self) -> Result<LoopKernel, Failure> {
        Ok(match self {
            Combine::Fuse { first, second, name, called } => {
                standard_input_once([first.as_str(), second.as_str()])?;
                let (first, second) = (input::kernel(first, called)?, input::kernel(second, called)?);
                let both = || format!("{}_{}", first.name, second.name);
                first.fuse(&second, name.clone().unwrap_or_else(both))?
            }
            Combine::Batch { kernel, of, iname, count, called } => {
                let of = of.iter().map(|name| name.trim());
                input::kernel(kernel, called)?.batched(iname.as_str(), count.as_str(), of)?
            }
            Combine::Separate { kernel, array, axis, names, called } => {
                let names = names.iter().map(|name| name.trim());
                input::kernel(kernel, called)?.separated(array, *axis, names)?
            }
            Combine::Concatenate { kernel, arrays, axis, name, called } => {
                let arrays = arrays.iter().map(String::as_str);
                input::kernel(kernel, called)?.concatenated(arrays, *axis, name.as_str())?
            }
        })
    }
}
