//! Expressions of the values that instructions compute.
//!
//! Integer expressions over inames and parameters double as subscripts; [`Expr::to_aff`] gives
//! their quasi-affine form if they have one. `//` and `%` have floor semantics. Equality and hash
//! are structural; floats compare by bits.

use std::{collections::BTreeSet, sync::Arc};

use loopwright_poly::{Aff, FloorDiv, Name, Term};
use serde::{Deserialize, Serialize};

use crate::{Access, Type, remainder::remainders};

/// A floating-point literal, compared by its bits.
///
/// Serialised as a number, or as `inf` or `nan`, for which JSON has no number.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "StoredFloat", into = "StoredFloat")]
pub struct Float(pub f64);

/// How a literal is serialised.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredFloat {
    Number(f64),
    Word(String),
}

impl From<Float> for StoredFloat {
    fn from(Float(v): Float) -> Self {
        if v.is_finite() { StoredFloat::Number(v) } else { StoredFloat::Word(v.to_string().to_lowercase()) }
    }
}

impl TryFrom<StoredFloat> for Float {
    type Error = String;

    fn try_from(stored: StoredFloat) -> Result<Self, String> {
        match stored {
            StoredFloat::Number(v) => Ok(Float(v)),
            StoredFloat::Word(word) => match word.as_str() {
                "inf" => Ok(Float(f64::INFINITY)),
                "-inf" => Ok(Float(f64::NEG_INFINITY)),
                "nan" => Ok(Float(f64::NAN)),
                _ => Err(format!("`{word}` is not a floating-point literal")),
            },
        }
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}
impl Eq for Float {}
impl std::hash::Hash for Float {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// An operation on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum UnaryOp {
    /// `-a`
    Neg,
    /// `not a`
    Not,
    /// `~a`
    BitNot,
}

/// An operation on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BinaryOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`, of floating-point values only.
    Div,
    /// `a // b`, rounded towards minus infinity.
    FloorDiv,
    /// `a % b`, with the sign of `b`.
    Mod,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// `a and b`; `b` is not evaluated where `a` is false.
    And,
    /// `a or b`; `b` is not evaluated where `a` is true.
    Or,
    /// `a & b`
    BitAnd,
    /// `a | b`
    BitOr,
    /// `a ^ b`
    BitXor,
    /// `a << b`; amounts outside of the type's bits shift every bit out.
    Shl,
    /// `a >> b`, arithmetic for signed types; amounts outside of the type's bits shift every bit
    /// out.
    Shr,
}

/// How accurate a math function has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Precision {
    /// The library's function.
    Precise,
    /// The hardware's approximation.
    Fast,
}

/// A reduction inside an expression: `sum(i, x[s, i])`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reduce {
    /// The name of the operator, of the library or the kernel's own.
    pub op: Name,
    /// The inames reduced over, at least one.
    pub inames: Vec<Name>,
    /// The arguments of one update, one for each input of the operator.
    pub args: Vec<Expr>,
}

/// An expression of the kernel language, without types: [`Typed`](crate::Typed) has them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Expr {
    /// An integer literal; it adapts to the type of its context.
    Int(i64),
    /// A floating-point literal; it adapts to the floating-point type of its context.
    Float(Float),
    /// The literal `true` or `false`.
    Bool(bool),
    /// An iname, a parameter, a scalar argument or a scalar temporary.
    Name(Name),
    /// An operation on one value.
    Unary(UnaryOp, Arc<Expr>),
    /// An operation on two values.
    Binary(BinaryOp, Arc<Expr>, Arc<Expr>),
    /// `if(c, a, b)`; only the chosen one is evaluated.
    If(Arc<Expr>, Arc<Expr>, Arc<Expr>),
    /// `cast(f64, a)`: the value of `a` converted to a type.
    Cast(Type, Arc<Expr>),
    /// A math function or a user-defined device function: `exp(a)`, `fast.exp(a)`.
    Call {
        /// Its name: of the library, or of a function that the kernel declares.
        function: Name,
        /// Fast or precise for this call; `None` follows the kernel's option.
        precision: Option<Precision>,
        /// Its arguments, one for each parameter.
        args: Vec<Expr>,
    },
    /// An element of an array.
    Subscript(Access),
    /// A reduction; it has the first result of its operator as its value.
    Reduce(Arc<Reduce>),
}

impl Expr {
    /// The expression that is this name: see [`Expr::Name`].
    pub fn name(name: impl Into<Name>) -> Self {
        Expr::Name(name.into())
    }

    /// `a op b`, without simplification.
    pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Self {
        Expr::Binary(op, Arc::new(a), Arc::new(b))
    }

    /// The direct subexpressions, in text order.
    pub fn children(&self) -> Vec<&Expr> {
        let mut children = Vec::new();
        self.each_child(&mut |child| children.push(child));
        children
    }

    /// Calls `f` on each child: [`Expr::children`] without a list of them.
    pub fn each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) | Expr::Name(_) => {}
            Expr::Unary(_, a) | Expr::Cast(_, a) => f(a),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|e| f(e)),
            Expr::If(c, a, b) => [c, a, b].into_iter().for_each(|e| f(e)),
            Expr::Call { args, .. } => args.iter().for_each(f),
            Expr::Subscript(access) => access.index.iter().for_each(f),
            Expr::Reduce(r) => r.args.iter().for_each(f),
        }
    }

    /// The same expression with each child replaced by what `f` makes of it.
    pub fn map_children(&self, f: &mut dyn FnMut(&Expr) -> Expr) -> Expr {
        match self {
            Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) | Expr::Name(_) => self.clone(),
            Expr::Unary(op, a) => Expr::Unary(*op, Arc::new(f(a))),
            Expr::Cast(t, a) => Expr::Cast(t.clone(), Arc::new(f(a))),
            Expr::Binary(op, a, b) => Expr::Binary(*op, Arc::new(f(a)), Arc::new(f(b))),
            Expr::If(c, a, b) => Expr::If(Arc::new(f(c)), Arc::new(f(a)), Arc::new(f(b))),
            Expr::Call { function, precision, args } => Expr::Call {
                function: function.clone(),
                precision: *precision,
                args: args.iter().map(f).collect(),
            },
            Expr::Subscript(access) => Expr::Subscript(Access {
                array: access.array.clone(),
                index: access.index.iter().map(f).collect(),
            }),
            Expr::Reduce(r) => Expr::Reduce(Arc::new(Reduce {
                op: r.op.clone(),
                inames: r.inames.clone(),
                args: r.args.iter().map(f).collect(),
            })),
        }
    }

    /// Calls `f` on the expression and everything inside it, outer before inner.
    pub fn visit(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        self.each_child(&mut |child| child.visit(f));
    }

    /// The number of expressions inside, and itself.
    pub fn size(&self) -> usize {
        let mut count = 0;
        self.visit(&mut |_| count += 1);
        count
    }

    /// The expression with names replaced, all at once. Inames of reductions are not replaced.
    pub fn substitute(&self, replace: &dyn Fn(&Name) -> Option<Expr>) -> Expr {
        match self {
            Expr::Name(name) => replace(name).unwrap_or_else(|| self.clone()),
            _ => self.map_children(&mut |child| child.substitute(replace)),
        }
    }

    /// The names of all values that occur, including inames of reductions, but not names of arrays.
    pub fn names(&self) -> BTreeSet<Name> {
        let mut names = BTreeSet::new();
        self.visit(&mut |e| {
            if let Expr::Name(name) = e {
                names.insert(name.clone());
            }
        });
        names
    }

    /// The names that it reads: those of [`names`](Self::names), and those of arrays.
    pub fn reads(&self) -> BTreeSet<Name> {
        let arrays = self.accesses().into_iter().map(|access| access.array);
        self.names().into_iter().chain(arrays).collect()
    }

    /// The conditions whose conjunction the expression is, left before right; any other expression
    /// is the only one.
    pub fn conjuncts(&self) -> Vec<&Expr> {
        match self {
            Expr::Binary(BinaryOp::And, a, b) => [a.conjuncts(), b.conjuncts()].concat(),
            _ => vec![self],
        }
    }

    /// The reductions inside, each after those inside it, left before right: the order of their
    /// numbers in [`crate::Part`].
    pub fn reductions(&self) -> Vec<Arc<Reduce>> {
        fn collect(e: &Expr, found: &mut Vec<Arc<Reduce>>) {
            e.each_child(&mut |child| collect(child, found));
            if let Expr::Reduce(r) = e {
                found.push(r.clone());
            }
        }
        let mut found = Vec::new();
        collect(self, &mut found);
        found
    }

    /// The element accesses inside, in text order.
    pub fn accesses(&self) -> Vec<Access> {
        let mut found = Vec::new();
        self.visit(&mut |e| {
            if let Expr::Subscript(access) = e {
                found.push(access.clone());
            }
        });
        found
    }

    /// The quasi-affine form, or `None` if there is none. Every name counts as an integer.
    pub fn to_aff(&self) -> Option<Aff> {
        match self {
            Expr::Int(value) => Some(Aff::constant(*value)),
            Expr::Name(name) => Some(Aff::var(name)),
            Expr::Unary(UnaryOp::Neg, a) => a.to_aff()?.neg().ok(),
            Expr::Binary(op, a, b) => {
                let (a, b) = (a.to_aff()?, b.to_aff()?);
                match op {
                    BinaryOp::Add => a.add(&b).ok(),
                    BinaryOp::Sub => a.sub(&b).ok(),
                    BinaryOp::Mul => match (a.as_constant(), b.as_constant()) {
                        (Some(c), _) => b.scale(c).ok(),
                        (_, Some(c)) => a.scale(c).ok(),
                        _ => None,
                    },
                    BinaryOp::FloorDiv => a.floor_div(b.as_constant().filter(|d| *d > 0)?).ok(),
                    BinaryOp::Mod => a.modulo(b.as_constant().filter(|d| *d > 0)?).ok(),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The expression of a quasi-affine function: positive terms first, greater coefficients first.
    pub fn from_aff(aff: &Aff) -> Expr {
        let mut sum: Option<Expr> = None;
        let mut remainders = remainders(aff);
        remainders.retain(|r| r.factor > 0);
        // The other terms of a remainder stand in it.
        let is_taken = |term: &Term| remainders.iter().any(|r| r.first != term && r.terms.contains(&term));
        let factor =
            |term: &Term, c: i64| remainders.iter().find(|r| r.first == term).map_or(c, |r| r.factor);
        let (mut positive, mut negative): (Vec<_>, Vec<_>) = aff
            .terms()
            .iter()
            .filter(|(term, _)| !is_taken(term))
            .map(|(term, c)| (term, factor(term, *c)))
            .partition(|(_, c)| *c > 0);
        positive.sort_by_key(|(_, c)| std::cmp::Reverse(*c));
        negative.sort_by_key(|(_, c)| *c);
        // `255 - i` rather than `-i + 255`.
        let mut constant = remainders.iter().fold(aff.constant_term(), |rest, r| rest - r.constant);
        if positive.is_empty() && !negative.is_empty() && constant > 0 {
            sum = Some(Expr::Int(constant));
            constant = 0;
        }
        for (term, c) in positive.into_iter().chain(negative) {
            let of_term = |term: &Term| match term {
                Term::Var(name) => Expr::Name(name.clone()),
                Term::Div(div) => {
                    let FloorDiv { numerator, denominator } = &**div;
                    Expr::binary(BinaryOp::FloorDiv, Expr::from_aff(numerator), Expr::Int(*denominator))
                }
            };
            let value = match remainders.iter().find(|r| r.first == term) {
                Some(r) => {
                    let value = r.numerator.map_or_else(|| of_term(term), Expr::from_aff);
                    Expr::binary(BinaryOp::Mod, value, Expr::Int(r.divisor))
                }
                None => of_term(term),
            };
            let scaled = |k: i64, value: Expr| match k {
                1 => value,
                k => Expr::binary(BinaryOp::Mul, Expr::Int(k), value),
            };
            sum = Some(match sum {
                None => scaled(c, value),
                Some(s) if c < 0 && c != i64::MIN => Expr::binary(BinaryOp::Sub, s, scaled(-c, value)),
                Some(s) => Expr::binary(BinaryOp::Add, s, scaled(c, value)),
            });
        }
        match (sum, constant) {
            (None, c) => Expr::Int(c),
            (Some(s), 0) => s,
            (Some(s), c) if c < 0 && c != i64::MIN => Expr::binary(BinaryOp::Sub, s, Expr::Int(-c)),
            (Some(s), c) => Expr::binary(BinaryOp::Add, s, Expr::Int(c)),
        }
    }
}
