//! Complex numbers of texts: pairs of real numbers, of which nothing else is left when a text has
//! been read.
//!
//! `x: complex64[n]` declares `x: f32[n, 2]`, `a: complex64` two scalars `a_re` and `a_im`, and an
//! instruction with a complex value becomes one for each part. So steps, proofs and programs see an
//! ordinary kernel. While a text is read, a complex type is an open one with a name that no open
//! type has (`complex64`), and `2.0j` is the call `complex(0, 2.0)`. [`value`] has the arithmetic,
//! [`convert`] the expressions, [`lines`] the instructions; what belongs to texts is in
//! `text::complex`.

pub(crate) mod convert;
pub(crate) mod lines;
pub(crate) mod value;

use std::collections::{BTreeMap, BTreeSet};

use crate::{BinaryOp, DType, Diagnostic, Expr, Name, ReductionOp, StateType, StateVar, Type};

/// The names of the complex types, and the types of their parts.
pub(crate) const TYPES: [(&str, DType); 2] = [("complex64", DType::F32), ("complex128", DType::F64)];

/// The type of the parts of a complex type.
pub(crate) fn part_type(t: &Type) -> Option<DType> {
    match t {
        Type::Open(name) => TYPES.iter().find(|(n, _)| **name == **n).map(|(_, t)| *t),
        Type::Known(_) => None,
    }
}

/// The functions that make or take apart complex numbers.
pub(crate) const FUNCTIONS: [&str; 4] = ["complex", "re", "im", "conj"];

/// The name of the real or imaginary part of a scalar.
pub(crate) fn part_name(scalar: &Name, part: usize) -> Name {
    Name::new(format!("{scalar}_{}", ["re", "im"][part.min(1)]))
}

/// The last subscript of a target that is written `x[i].re` or `x[i].im`, until it is resolved.
pub(crate) fn part_mark(part: &str) -> Expr {
    Expr::Call { function: Name::new(part), precision: None, args: Vec::new() }
}

/// The part that a subscript stands for; see [`part_mark`].
pub(crate) fn marked_part(e: &Expr) -> Option<usize> {
    match e {
        Expr::Call { function, args, .. } if args.is_empty() => {
            ["re", "im"].iter().position(|part| **function == **part)
        }
        _ => None,
    }
}

/// Which names of a kernel are complex.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Arrays, with the number of axes that the text gives them.
    pub arrays: BTreeMap<Name, usize>,
    /// Scalar arguments and temporaries.
    pub scalars: BTreeSet<Name>,
    /// The kernel's own functions, which hide those of the library.
    pub functions: BTreeSet<Name>,
    /// Names, those of parts for scalars, of which two may mean the same elements.
    pub aliases: BTreeSet<Name>,
}

impl Table {
    /// Whether this function makes or takes apart complex numbers here.
    pub fn is_function(&self, function: &Name) -> bool {
        FUNCTIONS.contains(&function.as_str()) && !self.functions.contains(function)
    }

    /// Whether an expression mentions complex numbers at all.
    pub fn concerns(&self, e: &Expr) -> bool {
        let mut found = false;
        e.visit(&mut |e| {
            found |= match e {
                Expr::Name(n) => self.scalar_of(n).is_some() || self.arrays.contains_key(n),
                Expr::Subscript(a) => self.arrays.contains_key(&a.array) || self.scalars.contains(&a.array),
                Expr::Cast(t, _) => part_type(t).is_some(),
                Expr::Call { function, .. } => self.is_function(function),
                _ => false,
            }
        });
        found
    }

    /// The complex scalar of a name, `z` or `z.re`, and the part that is meant.
    pub fn scalar_of(&self, name: &Name) -> Option<(Name, Option<usize>)> {
        if let Some((scalar, part)) = name.split_once('.') {
            let part = ["re", "im"].iter().position(|p| *p == part)?;
            let scalar = Name::new(scalar);
            return self.scalars.contains(&scalar).then_some((scalar, Some(part)));
        }
        self.scalars.contains(name).then(|| (name.clone(), None))
    }

    /// Whether the value of an expression is complex.
    pub fn is_complex(&self, e: &Expr) -> bool {
        match e {
            Expr::Name(n) => self.scalars.contains(n),
            Expr::Subscript(a) => self.arrays.contains_key(&a.array),
            Expr::Unary(crate::UnaryOp::Neg, a) => self.is_complex(a),
            Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div, a, b) => {
                self.is_complex(a) || self.is_complex(b)
            }
            Expr::If(_, a, b) => self.is_complex(a) || self.is_complex(b),
            Expr::Cast(t, _) => part_type(t).is_some(),
            Expr::Call { function, args, .. } if !self.functions.contains(function) => match &**function {
                "complex" => true,
                "conj" | "exp" => args.iter().any(|a| self.is_complex(a)),
                _ => false,
            },
            Expr::Reduce(r) => {
                matches!(&*r.op, "sum" | "product") && r.args.iter().any(|a| self.is_complex(a))
            }
            _ => false,
        }
    }
}

/// The names of the operators that [`operator`] makes, for `sum` and for `product`.
pub(crate) const OPERATORS: [(&str, &str); 2] = [("sum", "complex_sum"), ("product", "complex_product")];

/// The operator that does a reduction of complex numbers: of pairs, in one pass.
pub(crate) fn operator(name: &str) -> ReductionOp {
    let v = |n: &str| Expr::name(n);
    let bin = |op, a: Expr, b: Expr| Expr::binary(op, a, b);
    let times = |a: &str, b: &str| bin(BinaryOp::Mul, v(a), v(b));
    let (neutral, combine) = if name == "complex_product" {
        (
            1,
            vec![
                bin(BinaryOp::Sub, times("a.re", "b.re"), times("a.im", "b.im")),
                bin(BinaryOp::Add, times("a.re", "b.im"), times("a.im", "b.re")),
            ],
        )
    } else {
        let sum = |part: &str| bin(BinaryOp::Add, v(&format!("a.{part}")), v(&format!("b.{part}")));
        (0, vec![sum("re"), sum("im")])
    };
    let both = || vec![v("re"), v("im")];
    ReductionOp {
        name: Name::new(name),
        inputs: vec![Name::new("re"), Name::new("im")],
        state: vec![
            StateVar { name: Name::new("re"), dtype: StateType::Input(0) },
            StateVar { name: Name::new("im"), dtype: StateType::Input(1) },
        ],
        neutral: vec![Expr::Int(neutral), Expr::Int(0)],
        lift: both(),
        combine,
        result: both(),
        commutes: true,
        idempotent: false,
        trusted: None,
    }
}

/// The refusal of a complex number where a real one is needed.
pub(crate) fn not_real(e: &Expr, place: &str) -> Diagnostic {
    Diagnostic::new("complex-value", format!("`{e}` is complex, and {place} is real"))
        .help("write the part that is meant, `re(z)` or `im(z)`, or its magnitude, `abs(z)`")
}
