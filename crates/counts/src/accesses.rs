//! Accesses of arrays, and the stride between neighbouring executions.

use std::fmt;

use loopwright_kernel_ir::{
    Access, Aff, Array, BinaryOp, Dim, Expr, HardwareAxis, Lookup, Name, PartRef, Tag, Tree, UnaryOp,
};

use crate::{QuasiPolynomial, Refusal, floors::substitute};

/// Whether elements are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Elements are read.
    Load,
    /// Elements are written.
    Store,
    /// Elements are updated: by instructions, or by blocks that share a reduction.
    Update,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Load => "load",
            Direction::Store => "store",
            Direction::Update => "update",
        })
    }
}

/// Which executions are neighbours: those that differ by one in this iname.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Along {
    /// Neighbouring threads, along the first axis of the block.
    Threads(Name),
    /// Neighbouring iterations of the innermost loop, or lanes: no iname is on that axis.
    Loop(Name),
    /// No executions are neighbours, since the part runs once.
    Nothing,
}

/// The distance in memory, in elements, of what neighbouring executions access.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stride {
    /// The same element: the distance is zero.
    Uniform,
    /// This many elements, never zero; negative where addresses fall.
    Elements(i64),
    /// This many elements, in terms of parameters.
    Symbolic(QuasiPolynomial),
    /// Different distances, by a quotient or remainder in a subscript.
    Varying,
    /// Unknown: the subscript is read from data, or is not affine.
    Data,
    /// Unknown: the layout of the array is set by modes or a swizzle.
    Layout,
}

impl fmt::Display for Stride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stride::Uniform => write!(f, "uniform"),
            Stride::Elements(n) => write!(f, "{n}"),
            Stride::Symbolic(p) => write!(f, "{p}"),
            Stride::Varying => write!(f, "varying"),
            Stride::Data => write!(f, "by data"),
            Stride::Layout => write!(f, "by layout"),
        }
    }
}

impl fmt::Display for Along {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Along::Threads(iname) => write!(f, "thread.x ({iname})"),
            Along::Loop(iname) => write!(f, "{iname}"),
            Along::Nothing => write!(f, "-"),
        }
    }
}

/// Which executions of a part with these base inames are neighbours.
pub(crate) fn along(lookup: &Lookup<'_>, inames: &[Name], part: &PartRef) -> Along {
    let kernel = lookup.kernel();
    let on_x = |n: &&Name| kernel.tag(n).axis() == Some(HardwareAxis::Block(Dim::X));
    if let Some(iname) = inames.iter().find(on_x) {
        return Along::Threads(iname.clone());
    }
    if let Some(iname) = inames.iter().rev().find(|n| kernel.tag(n) == Tag::Vec) {
        return Along::Loop(iname.clone());
    }
    let mut innermost = None;
    Tree::visit_leaves(&kernel.tree, &mut |path, leaf| {
        if leaf == part {
            innermost = path.last().map(|n| (*n).clone());
        }
    });
    match innermost {
        Some(iname) => Along::Loop(iname),
        None => inames.last().map_or(Along::Nothing, |n| Along::Loop(n.clone())),
    }
}

/// The subscripts as functions of base inames and parameters; `None` if one of them is not affine.
pub(crate) fn subscripts(lookup: &Lookup<'_>, access: &Access) -> Option<Vec<Aff>> {
    let of = |e: &Expr| {
        let aff = lookup.expand(&e.to_aff()?).ok()?;
        (!aff.mentions_any(&|n| lookup.temporary(n).is_some())).then_some(aff)
    };
    access.index.iter().map(of).collect()
}

/// The stride of an access.
pub(crate) fn stride(lookup: &Lookup<'_>, access: &Access, along: &Along) -> Stride {
    let (Along::Threads(iname) | Along::Loop(iname)) = along else { return Stride::Uniform };
    let Some(array) = lookup.array(&access.array) else { return Stride::Data };
    let Some(subscripts) = subscripts(lookup, access) else { return Stride::Data };
    let next = |aff: &Aff| -> Result<Aff, Refusal> {
        let plus = Aff::var(iname).add_constant(1)?;
        let (here, there) =
            (substitute(aff, &|_| None)?, substitute(aff, &|n| (n == iname).then(|| plus.clone()))?);
        Ok(there.sub(&here)?)
    };
    let steps: Result<Vec<Aff>, Refusal> = subscripts.iter().map(next).collect();
    let Ok(steps) = steps else { return Stride::Varying };
    let Some(steps) = steps.iter().map(Aff::as_constant).collect::<Option<Vec<i64>>>() else {
        return Stride::Varying;
    };
    if steps.iter().all(|s| *s == 0) {
        return Stride::Uniform;
    }
    if !array.layout.is_default() {
        return Stride::Layout;
    }
    let total = || -> Option<QuasiPolynomial> {
        let mut sum = QuasiPolynomial::default();
        for (step, stride) in steps.iter().zip(strides(array)?) {
            sum = sum.plus(&stride.times(&QuasiPolynomial::constant(*step)).ok()?).ok()?;
        }
        Some(sum)
    };
    match total() {
        Some(sum) => match sum.as_constant() {
            Some(0) => Stride::Uniform,
            Some(n) => Stride::Elements(n),
            None => Stride::Symbolic(sum),
        },
        None => Stride::Varying,
    }
}

/// The strides of an array's axes, in elements; `None` if one is not a polynomial of parameters.
fn strides(array: &Array) -> Option<Vec<QuasiPolynomial>> {
    let mut strides = vec![QuasiPolynomial::constant(1); array.axes.len()];
    let mut dense = QuasiPolynomial::constant(1);
    for axis in array.storage_order().into_iter().rev() {
        let declared = &array.axes[axis];
        strides[axis] = match &declared.stride {
            Some(stride) => polynomial(stride)?,
            None => {
                let padding = QuasiPolynomial::constant(declared.padding.into());
                let padded = polynomial(&declared.length)?.plus(&padding).ok()?;
                let own = dense.clone();
                dense = dense.times(&padded).ok()?;
                own
            }
        };
    }
    Some(strides)
}

/// An integer expression of parameters.
fn polynomial(e: &Expr) -> Option<QuasiPolynomial> {
    if let Some(aff) = e.to_aff() {
        return QuasiPolynomial::affine(&substitute(&aff, &|_| None).ok()?).ok();
    }
    match e {
        Expr::Unary(UnaryOp::Neg, a) => QuasiPolynomial::default().minus(&polynomial(a)?).ok(),
        Expr::Binary(op, a, b) => {
            let (a, b) = (polynomial(a)?, polynomial(b)?);
            match op {
                BinaryOp::Add => a.plus(&b).ok(),
                BinaryOp::Sub => a.minus(&b).ok(),
                BinaryOp::Mul => a.times(&b).ok(),
                _ => None,
            }
        }
        _ => None,
    }
}
