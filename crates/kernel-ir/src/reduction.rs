//! Reduction operators as data.
//!
//! An operator has a state (one value or a tuple). An update *lifts* its inputs to a state and
//! *combines* it into the accumulated one; partial results are combined in the same way; the
//! *result* is computed from the state at the end. `combine` must be associative with `neutral` as
//! its neutral element, and commute if it says so: the library relies on it. A user-defined
//! operator is tested on drawn states whenever its kernel is validated ([`ReductionOp::laws`]),
//! unless the user vouches for it.

use std::sync::Arc;

use loopwright_poly::Name;
use serde::{Deserialize, Serialize};

use crate::{DType, Expr, Reduce};

/// The type of one value of an operator's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StateType {
    /// The type of the input with this index, from 0.
    Input(usize),
    /// This type, whatever the types of the inputs are.
    Fixed(DType),
}

/// One value of an operator's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StateVar {
    /// Its name; `combine` refers to it as `a.NAME` and `b.NAME`.
    pub name: Name,
    /// Its type, fixed or that of an input.
    pub dtype: StateType,
}

/// A reduction operator: how inputs become states, how states are combined, what the results are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReductionOp {
    /// Its name in expressions.
    pub name: Name,
    /// Names of the inputs of one update, as used by `lift`.
    pub inputs: Vec<Name>,
    /// The values of the state, at least one.
    pub state: Vec<StateVar>,
    /// For each state value, its neutral element. `lowest()` and `highest()` stand for the ends of
    /// its type's range (infinities for floating-point types).
    pub neutral: Vec<Expr>,
    /// For each state value, its value after one input.
    pub lift: Vec<Expr>,
    /// For each state value, the combination of the states `a.*` (earlier) and `b.*` (later).
    pub combine: Vec<Expr>,
    /// The results of the reduction, as expressions of the state's names.
    pub result: Vec<Expr>,
    /// Whether `combine` commutes. If not, updates keep their order.
    pub commutes: bool,
    /// Whether combining a value twice changes nothing, as for min.
    pub idempotent: bool,
    /// Why these laws hold, in the user's words; if given, they are not tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted: Option<Name>,
}

fn name(n: &str) -> Expr {
    Expr::name(n)
}

fn call(f: &str, args: Vec<Expr>) -> Expr {
    Expr::Call { function: Name::new(f), precision: None, args }
}

impl ReductionOp {
    fn simple(op: &str, neutral: Expr, combine: Expr, idempotent: bool) -> Self {
        let dtype = match op {
            "any" | "all" => StateType::Fixed(DType::Bool),
            _ => StateType::Input(0),
        };
        ReductionOp {
            name: Name::new(op),
            inputs: vec![Name::new("x")],
            state: vec![StateVar { name: Name::new("v"), dtype }],
            neutral: vec![neutral],
            lift: vec![name("x")],
            combine: vec![combine],
            result: vec![name("v")],
            commutes: true,
            idempotent,
            trusted: None,
        }
    }

    /// The operator of the library with this name: `sum`, `product`, `min`, `max`, `any`, `all`,
    /// `argmin`, `argmax`.
    ///
    /// `min` and `max` ignore NaN (like IEEE 754's minNum and maxNum), `argmin` and `argmax` never
    /// choose one. Ties of `argmin` and `argmax` go to the smallest index; over an empty range they
    /// give the neutral value and the greatest index.
    pub fn library(op: &str) -> Option<Self> {
        use crate::BinaryOp::*;
        let (a, b) = (name("a.v"), name("b.v"));
        let bin = |o, x: &Expr, y: &Expr| Expr::binary(o, x.clone(), y.clone());
        Some(match op {
            "sum" => Self::simple(op, Expr::Int(0), bin(Add, &a, &b), false),
            "product" => Self::simple(op, Expr::Int(1), bin(Mul, &a, &b), false),
            "min" => Self::simple(op, call("highest", vec![]), call("min", vec![a, b]), true),
            "max" => Self::simple(op, call("lowest", vec![]), call("max", vec![a, b]), true),
            "any" => Self::simple(op, Expr::Bool(false), bin(Or, &a, &b), true),
            "all" => Self::simple(op, Expr::Bool(true), bin(And, &a, &b), true),
            "argmin" | "argmax" => {
                let (ak, bk) = (name("a.k"), name("b.k"));
                let (better, neutral) = if op == "argmin" { (Lt, "highest") } else { (Gt, "lowest") };
                let wins = bin(Or, &bin(better, &b, &a), &bin(And, &bin(Eq, &b, &a), &bin(Lt, &bk, &ak)));
                let choose = |x: Expr, y: Expr| Expr::If(wins.clone().into(), x.into(), y.into());
                ReductionOp {
                    name: Name::new(op),
                    inputs: vec![Name::new("x"), Name::new("i")],
                    state: vec![
                        StateVar { name: Name::new("v"), dtype: StateType::Input(0) },
                        StateVar { name: Name::new("k"), dtype: StateType::Input(1) },
                    ],
                    neutral: vec![call(neutral, vec![]), call("highest", vec![])],
                    lift: vec![name("x"), name("i")],
                    combine: vec![choose(b, a), choose(bk, ak)],
                    result: vec![name("v"), name("k")],
                    commutes: true,
                    idempotent: true,
                    trusted: None,
                }
            }
            _ => return None,
        })
    }

    /// Whether the library has an operator of this name.
    pub fn is_library(op: &str) -> bool {
        Self::LIBRARY.contains(&op)
    }

    /// The names of the library's operators.
    pub const LIBRARY: [&'static str; 8] = ["sum", "product", "min", "max", "any", "all", "argmin", "argmax"];
}

/// The reduction of this number and those around it, outermost first.
pub(crate) fn enclosing_reductions(value: &Expr, number: usize) -> Vec<Arc<Reduce>> {
    fn walk(e: &Expr, next: &mut usize, number: usize) -> Option<Vec<Arc<Reduce>>> {
        for child in e.children() {
            if let Some(mut found) = walk(child, next, number) {
                if let Expr::Reduce(r) = e {
                    found.insert(0, r.clone());
                }
                return Some(found);
            }
        }
        if let Expr::Reduce(r) = e {
            if *next == number {
                return Some(vec![r.clone()]);
            }
            *next += 1;
        }
        None
    }
    walk(value, &mut 0, number).unwrap_or_default()
}
