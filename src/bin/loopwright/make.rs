//! `make`

use clap::{Args as ClapArgs, Subcommand};
use loopwright::generate::{Generator, complex_part, with_complex};
use loopwright::ir::Arg;
use loopwright::prelude::*;

use crate::input::{self, Failure};
use crate::report;

/// What `loopwright make` prints.
#[derive(Subcommand)]
pub enum Make {
    /// Sums of products of operands' elements, whose axes are named by letters.
    ///
    /// Axes with the same letter run together; those that the result does not have are summed over.
    /// Without `->`, the result has the letters that occur once, in alphabetical order. Operands
    /// are called a, b, ..., and the length along `i` is n_i.
    #[command(after_help = "Example: loopwright make einsum 'ik,kj->ij' --types f16 --acc f32")]
    Einsum {
        /// The letters of each operand, and those of the result, such as 'ik,kj->ij'.
        specification: String,
        /// The type of each operand between commas, or one type of all.
        #[arg(long, value_name = "TYPE,...", default_value = "f32")]
        types: String,
        #[command(flatten)]
        sums: Accumulator,
        #[command(flatten)]
        common: Common,
    },
    /// An expression of the elements at each place.
    ///
    /// A name is an operand's element, a size, or the index along an axis: i, j, k, l, i4, ...
    #[command(after_help = "Example: loopwright make map 'a*x + y' --shape n --scalar a")]
    Map {
        /// The expression, in the language of kernels, such as '2*x + y'.
        #[arg(allow_hyphen_values = true)]
        expression: String,
        #[command(flatten)]
        shape: Shape,
        /// An operand that is one number, or also its type: 'a' or 'a=f64'.
        #[arg(long = "scalar", value_name = "NAME[=TYPE]")]
        scalars: Vec<String>,
        /// An operand with a type of its own, such as 'y=i32'.
        #[arg(long = "operand", value_name = "NAME=TYPE")]
        operands: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// The elements with their axes in another order.
    #[command(after_help = "Example: loopwright make copy --shape m,n --axes 1,0")]
    Copy {
        #[command(flatten)]
        shape: Shape,
        /// The operand's axes in the order of the result; as they are, if none are given.
        #[arg(
            long,
            value_name = "AXIS,...",
            default_value = "",
            allow_hyphen_values = true,
            hide_default_value = true
        )]
        axes: String,
        #[command(flatten)]
        common: Common,
    },
    /// Sums, products, means, extrema, places of extrema, any or all, along axes.
    #[command(after_help = "Example: loopwright make reduce sum --shape m,n --axes 1")]
    Reduce {
        /// sum, product, mean, min, max, any, all, argmin or argmax.
        operator: String,
        #[command(flatten)]
        shape: Shape,
        /// The axes that are reduced, from 0, or from -1 at the end; all, if none are given.
        #[arg(
            long,
            value_name = "AXIS,...",
            default_value = "",
            allow_hyphen_values = true,
            hide_default_value = true
        )]
        axes: String,
        #[command(flatten)]
        sums: Accumulator,
        #[command(flatten)]
        common: Common,
    },
    /// The sum, product, minimum or maximum of all elements along an axis up to each.
    #[command(after_help = "Example: loopwright make scan cumsum --shape m,n --axis 1")]
    Scan {
        /// cumsum, cumprod, cummin or cummax.
        operator: String,
        #[command(flatten)]
        shape: Shape,
        /// The axis, from 0, or from -1 at the end.
        #[arg(long, default_value_t = -1, allow_negative_numbers = true)]
        axis: i64,
        /// Leave the element itself out: the first result is that of no elements.
        #[arg(long)]
        exclusive: bool,
        #[command(flatten)]
        sums: Accumulator,
        #[command(flatten)]
        common: Common,
    },
    /// The k largest elements along an axis with their places, without sorting.
    #[command(after_help = "Example: loopwright make top-k 4 --shape m,n --axis 1")]
    TopK {
        /// Elements kept of each row along the axis, at least 1.
        #[arg(allow_negative_numbers = true)]
        k: i64,
        #[command(flatten)]
        shape: Shape,
        /// The axis, from 0, or from -1 at the end.
        #[arg(long, default_value_t = -1, allow_negative_numbers = true)]
        axis: i64,
        #[command(flatten)]
        common: Common,
    },
}

/// The operand of all but einsums.
#[derive(ClapArgs)]
pub struct Shape {
    /// Lengths between commas: names of sizes, and constants.
    #[arg(long, value_name = "LENGTH,...")]
    shape: String,
    /// The type of the operands.
    #[arg(long = "type", value_name = "TYPE", default_value = "f32")]
    dtype: String,
}

/// What sums are computed in.
#[derive(ClapArgs)]
pub struct Accumulator {
    /// The type in which sums are accumulated; by default f32 for the narrow floating-point types,
    /// otherwise that of the operands.
    #[arg(long, value_name = "TYPE")]
    acc: Option<String>,
}

/// The options of all kernels.
#[derive(ClapArgs)]
pub struct Common {
    /// The type of the result.
    #[arg(long, value_name = "TYPE")]
    out: Option<String>,
    /// The kernel's name, instead of one that says what it computes.
    #[arg(long)]
    name: Option<String>,
}

impl Make {
    /// Runs the command `loopwright make`.
    pub fn make(&self) -> Result<(), Failure> {
        let mut complex = Complex::default();
        let kernel = self.kernel(&mut complex)?;
        report::say(&complex.text(&kernel)?)
    }

    fn kernel(&self, complex: &mut Complex) -> Result<LoopKernel, Failure> {
        Ok(match self {
            Make::Einsum { specification, types, sums, common } => {
                let mut types: Vec<&str> = types.split(',').map(str::trim).collect();
                if let [all] = types.as_slice() {
                    types = vec![*all; specification.matches(',').count() + 1];
                }
                let all = types.iter().enumerate().map(|(k, t)| complex.of(Some(&operand(k)), t));
                let types = all.collect::<Result<Vec<_>, _>>()?;
                sums.of(common.of_complex(complex)?)?.einsum(specification, types)?
            }
            Make::Map { expression, shape, scalars, operands, common } => {
                let mut types: Vec<(&str, DType)> = Vec::new();
                for scalar in scalars {
                    let (name, dtype) =
                        scalar.split_once('=').map_or((scalar.as_str(), &*shape.dtype), |(n, t)| (n, t));
                    types.push((name.trim(), complex.of(Some(name.trim()), dtype.trim())?));
                }
                for operand in operands {
                    let (name, dtype) = input::pair(operand)?;
                    types.push((name, complex.of(Some(name), dtype)?));
                }
                let dtype = complex.of(None, &shape.dtype)?;
                let mut generator = common.of_complex(complex)?;
                for scalar in scalars {
                    generator = generator.scalar(scalar.split('=').next().unwrap_or(scalar).trim());
                }
                for (name, dtype) in types {
                    generator = generator.typed(name, dtype);
                }
                generator.map(expression, &shape.shape, dtype)?
            }
            Make::Copy { shape, axes, common } => {
                let dtype = complex.of(None, &shape.dtype)?;
                common.of_complex(complex)?.copy(&shape.shape, &numbers(axes)?, dtype)?
            }
            Make::Reduce { operator, shape, axes, sums, common } => {
                let generator = sums.of(common.generator()?)?;
                generator.reduce(operator, &shape.shape, &numbers(axes)?, shape.dtype()?)?
            }
            Make::Scan { operator, shape, axis, exclusive, sums, common } => {
                let mut generator = sums.of(common.generator()?)?;
                if *exclusive {
                    generator = generator.exclusive();
                }
                generator.scan(operator, &shape.shape, *axis, shape.dtype()?)?
            }
            Make::TopK { k, shape, axis, common } => {
                common.generator()?.top_k(*k, &shape.shape, *axis, shape.dtype()?)?
            }
        })
    }
}

/// Which arguments are complex numbers; to the generators they are their parts.
#[derive(Default)]
struct Complex {
    /// The arguments whose type is given, and whether it is complex.
    given: Vec<(String, bool)>,
    /// Whether all others are.
    others: bool,
}

impl Complex {
    /// The type of an argument, or of all that have none of their own, in the parts of which it is
    /// computed.
    fn of(&mut self, argument: Option<&str>, name: &str) -> Result<DType, Failure> {
        let part = complex_part(name);
        match argument {
            Some(argument) => self.given.push((argument.to_owned(), part.is_some())),
            None => self.others = part.is_some(),
        }
        part.map_or_else(|| input::dtype(name), Ok)
    }

    /// Whether an argument is complex; the result is, if an operand is, or by its type.
    fn is(&self, argument: &str) -> bool {
        let given = self.given.iter().find(|(name, _)| name == argument);
        given.map_or(self.others, |(_, is_complex)| *is_complex)
    }

    fn text(&self, kernel: &LoopKernel) -> Result<String, Failure> {
        // Sizes are integers.
        let is_number = |arg: &&Arg| match arg {
            Arg::Array(_) => true,
            Arg::Scalar(s) => s.dtype != DType::I32.into(),
        };
        let operands = kernel.args.iter().filter(is_number).map(|a| &**a.name());
        let mut complex: Vec<&str> = operands.filter(|name| *name != "out" && self.is(name)).collect();
        let by_operands = !complex.is_empty();
        let out = self.given.iter().find(|(name, _)| name == "out");
        if out.map_or(by_operands, |(_, is_complex)| *is_complex) {
            complex.push("out");
        }
        Ok(match complex.is_empty() {
            true => kernel.to_string(),
            false => with_complex(kernel, &complex)?,
        })
    }
}

/// The name of an operand of an einsum: a to z, a1 to z1, ...
fn operand(number: usize) -> String {
    let letter = char::from(b'a' + (number % 26) as u8);
    match number / 26 {
        0 => letter.into(),
        round => format!("{letter}{round}"),
    }
}

impl Shape {
    fn dtype(&self) -> Result<DType, Failure> {
        input::dtype(&self.dtype)
    }
}

impl Accumulator {
    fn of(&self, generator: Generator) -> Result<Generator, Failure> {
        Ok(match &self.acc {
            Some(acc) => generator.acc(input::dtype(acc)?),
            None => generator,
        })
    }
}

impl Common {
    fn generator(&self) -> Result<Generator, Failure> {
        let mut complex = Complex::default();
        let generator = self.of_complex(&mut complex)?;
        match (&self.out, complex.is("out")) {
            (Some(out), true) => Err(input::dtype(out).err().unwrap_or_else(|| {
                Diagnostic::new("unknown-type", format!("`{out}` is no type of this result")).into()
            })),
            _ => Ok(generator),
        }
    }

    /// The generator of a kernel whose arguments may be complex.
    fn of_complex(&self, complex: &mut Complex) -> Result<Generator, Failure> {
        let mut generator = Generator::new();
        if let Some(out) = &self.out {
            generator = generator.out(complex.of(Some("out"), out)?);
        }
        if let Some(name) = &self.name {
            generator = generator.name(name.as_str());
        }
        Ok(generator)
    }
}

/// The numbers of axes in a text, between commas.
fn numbers(text: &str) -> Result<Vec<i64>, Failure> {
    let parts = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
    let number = |part: &str| {
        part.parse::<i64>().map_err(|_| {
            Diagnostic::new("generate-axis", format!("`{part}` is not the number of an axis"))
                .help("write numbers between commas: `--axes 1,0`; -1 is the last axis")
                .into()
        })
    };
    parts.map(number).collect()
}
