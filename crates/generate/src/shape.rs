//! Shapes as texts, `m, n, 4`, and what kernels declare for them: sizes, inames, domains.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{DType, Diagnostic, Expr, KernelBuilder, Name, check_name};

/// The length of one axis of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Length {
    /// A size, which is an integer argument of the kernel.
    Size(Name),
    /// A constant, the same in every launch.
    Fixed(i64),
}

impl Length {
    pub fn expr(&self) -> Expr {
        match self {
            Length::Size(name) => Expr::Name(name.clone()),
            Length::Fixed(n) => Expr::Int(*n),
        }
    }
}

/// An axis: the iname that runs along it, and its length.
#[derive(Clone, Debug)]
pub struct Axis {
    pub iname: Name,
    pub length: Length,
}

impl Axis {
    pub fn index(&self) -> Expr {
        Expr::Name(self.iname.clone())
    }
}

const HELP: &str = "write lengths between commas, sizes by name and constants: `m, n, 4`";

/// The most axes of an array, and the most operands of an einsum or of a map: later stages walk
/// expressions by recursion, and look at each pair of axes.
const MOST: usize = 32;

/// Refuses more axes or operands than are supported.
pub fn limit(count: usize, what: &str) -> Result<(), Diagnostic> {
    if count <= MOST {
        return Ok(());
    }
    Err(Diagnostic::new("generate-limit", format!("{count} {what} are more than {MOST}"))
        .help("compute parts in kernels of their own, and combine their results"))
}

/// The lengths of a shape, at least one.
pub fn parse(text: &str) -> Result<Vec<Length>, Diagnostic> {
    if text.trim().is_empty() {
        return Err(Diagnostic::new("generate-shape", "a shape has an axis at least").help(HELP));
    }
    limit(text.split(',').count(), "axes")?;
    text.split(',').map(|part| length(text, part.trim())).collect()
}

fn length(text: &str, part: &str) -> Result<Length, Diagnostic> {
    if part.is_empty() {
        return Err(Diagnostic::new(
            "generate-shape",
            format!("the shape `{text}` has an axis without a length"),
        )
        .help(HELP));
    }
    if part.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        let fixed = part.parse::<i64>().ok().filter(|n| (1..=i32::MAX.into()).contains(n));
        return fixed.map(Length::Fixed).ok_or_else(|| {
            Diagnostic::new("generate-shape", format!("`{part}` is not the length of an axis"))
                .help("a constant length is at least 1 and below 2^31; a size that may be zero has a name")
        });
    }
    let name = Name::new(part);
    check_name(&name, "a size")?;
    Ok(Length::Size(name))
}

/// The place of an axis, which may be counted from the end.
pub fn axis(axis: i64, rank: usize) -> Result<usize, Diagnostic> {
    let from_start = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    usize::try_from(from_start).ok().filter(|k| *k < rank).ok_or_else(|| {
        let known = if rank == 1 { "1 axis".into() } else { format!("{rank} axes") };
        Diagnostic::new("generate-axis", format!("there is no axis {axis}: the shape has {known}"))
            .help(format!("axes are 0 to {}, or -{rank} to -1 from the end", rank.saturating_sub(1)))
    })
}

/// The places of several axes, each at most once.
pub fn axes(given: &[i64], rank: usize) -> Result<Vec<usize>, Diagnostic> {
    let mut found = Vec::new();
    for number in given {
        let place = axis(*number, rank)?;
        if found.contains(&place) {
            return Err(Diagnostic::new("generate-axis", format!("axis {place} is given twice"))
                .help("give each axis once"));
        }
        found.push(place);
    }
    Ok(found)
}

/// The names of a kernel; each is given once.
#[derive(Default)]
pub struct Names(BTreeSet<Name>);

impl Names {
    /// The names of a shape's sizes, and those of arguments and temporaries.
    pub fn of(shape: &[Length], arguments: &[&str]) -> Result<Names, Diagnostic> {
        let mut names = Names::default();
        for argument in arguments {
            names.0.insert(Name::new(argument));
        }
        for size in sizes(shape) {
            if !names.0.insert(size.clone()) {
                return Err(Diagnostic::new(
                    "generate-name",
                    format!("`{size}` names a size and something else"),
                )
                .help(format!("call the size otherwise, such as `n_{size}`")));
            }
        }
        Ok(names)
    }

    /// The next iname: the first of i, j, k, l, i4, i5, ... that is not taken.
    pub fn iname(&mut self) -> Name {
        let letters = ["i", "j", "k", "l"].map(Name::new).into_iter();
        let more = (letters.len()..).map(|number| Name::new(format!("i{number}")));
        let mut free = letters.chain(more).filter(|name| !self.0.contains(name));
        let name = free.next().unwrap_or_else(|| Name::new("i"));
        self.0.insert(name.clone());
        name
    }

    /// Axes with these lengths, each with an iname of its own.
    pub fn axes(&mut self, shape: &[Length]) -> Vec<Axis> {
        shape.iter().map(|length| Axis { iname: self.iname(), length: length.clone() }).collect()
    }
}

/// The names of sizes, each once.
pub fn sizes(shape: &[Length]) -> Vec<Name> {
    let mut sizes: Vec<Name> = Vec::new();
    for length in shape {
        if let Length::Size(name) = length
            && !sizes.contains(name)
        {
            sizes.push(name.clone());
        }
    }
    sizes
}

/// Declares the sizes of a shape: arguments of these values at least.
pub fn declare(mut kernel: KernelBuilder, shape: &[Length], least: impl Fn(&Name) -> i64) -> KernelBuilder {
    let sizes = sizes(shape);
    for size in &sizes {
        kernel = kernel.scalar(size.clone(), DType::I32);
    }
    let least: Vec<String> = sizes.iter().map(|size| format!("{} <= {size}", least(size))).collect();
    if least.is_empty() { kernel } else { kernel.assume(&least.join(" and ")) }
}

/// The domain of all points of these axes, if there are any axes.
pub fn domain<'a>(kernel: KernelBuilder, axes: impl IntoIterator<Item = &'a Axis>) -> KernelBuilder {
    let axes: Vec<&Axis> = axes.into_iter().collect();
    if axes.is_empty() {
        return kernel;
    }
    let inames: Vec<&str> = axes.iter().map(|axis| &*axis.iname).collect();
    let bounds: Vec<String> =
        axes.iter().map(|axis| format!("0 <= {} < {}", axis.iname, axis.length.expr())).collect();
    kernel.domain(&format!("{{ [{}] : {} }}", inames.join(", "), bounds.join(" and ")))
}

/// The lengths of an array with these axes: a single element if there are none.
pub fn lengths<'a>(axes: impl IntoIterator<Item = &'a Axis>) -> Vec<Expr> {
    or_one(axes.into_iter().map(|axis| axis.length.expr()).collect(), 1)
}

/// The element of an array with these axes.
pub fn index<'a>(axes: impl IntoIterator<Item = &'a Axis>) -> Vec<Expr> {
    or_one(axes.into_iter().map(Axis::index).collect(), 0)
}

fn or_one(list: Vec<Expr>, single: i64) -> Vec<Expr> {
    if list.is_empty() { vec![Expr::Int(single)] } else { list }
}
