//! Updates: instructions that combine a value with what an element holds, in any order.
//!
//! `out[idx[i]] += x[i]` reads an element, combines it with a value and writes the result, and
//! nothing comes between the read and the write. Two updates of one element by the same operator
//! commute, so that no order holds between them: they may run in different threads and blocks at
//! the same time. Every other access of the element is in order with them, as with a write.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    BinaryOp, DType, Diagnostic, Expr, KernelData, Law, Name, ReductionOp, StateType, Type, TypeTable, Typed,
    instruction::UPDATES, types::assignable,
};

/// How an update combines what an element holds with a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateOp {
    /// The sum. Integers wrap; floating-point sums are rounded in the order in which the updates
    /// happen to run.
    Sum,
    /// The lesser of the two.
    Min,
    /// The greater of the two.
    Max,
    /// The bits that both have: bitwise and, of integers.
    And,
    /// The bits that at least one has: bitwise or, of integers.
    Or,
    /// The combination of the two by the reduction operator of this name, of the kernel's own or of
    /// the library: see [`Combination`].
    By(Name),
}

impl UpdateOp {
    /// Those with a sign of their own, each with its sign in texts, as in `out[k] min= v`.
    pub const SIGNS: [(UpdateOp, &'static str); 5] = [
        (UpdateOp::Sum, "+="),
        (UpdateOp::Min, "min="),
        (UpdateOp::Max, "max="),
        (UpdateOp::And, "&="),
        (UpdateOp::Or, "|="),
    ];

    /// Its sign in texts; that of an operator with a name is `NAME=`.
    pub fn sign(&self) -> Cow<'static, str> {
        if let UpdateOp::By(operator) = self {
            return format!("{operator}=").into();
        }
        UpdateOp::SIGNS.iter().find(|(op, _)| op == self).map_or("+=", |(_, sign)| sign).into()
    }

    /// Its name in messages: that of the reduction with the same operator, if there is one.
    pub fn name(&self) -> &str {
        match self {
            UpdateOp::Sum => "sum",
            UpdateOp::Min => "min",
            UpdateOp::Max => "max",
            UpdateOp::And => "and",
            UpdateOp::Or => "or",
            UpdateOp::By(operator) => operator,
        }
    }

    /// Whether elements of this type have the update: all of them have sums, minima and maxima of
    /// `i32`, `u32`, `i64`, `u64`, `f32` and `f64` and updates by operators with names, and
    /// operations on bits of those integers. `f16` and `bf16` have sums, minima and maxima: by
    /// other operators it would not be known how far their rounding may lead, in any order.
    pub fn takes(&self, dtype: DType) -> bool {
        match dtype {
            DType::I32 | DType::U32 | DType::I64 | DType::U64 => true,
            DType::F32 | DType::F64 => !matches!(self, UpdateOp::And | UpdateOp::Or),
            DType::F16 | DType::BF16 => {
                matches!(self, UpdateOp::Sum | UpdateOp::Min | UpdateOp::Max)
            }
            DType::Bool | DType::I8 | DType::I16 | DType::U8 | DType::U16 => false,
            DType::E4M3 | DType::E5M2 => false,
        }
    }

    /// Whether an update that is done twice has the effect of one. Of an operator with a name, that
    /// is not relied on.
    pub fn is_idempotent(&self) -> bool {
        !matches!(self, UpdateOp::Sum | UpdateOp::By(_))
    }

    /// The operation on what the element holds and the value, both of the element's type; `None`
    /// for a minimum and a maximum, which are functions, and for operators with names.
    pub fn binary(&self) -> Option<BinaryOp> {
        match self {
            UpdateOp::Sum => Some(BinaryOp::Add),
            UpdateOp::And => Some(BinaryOp::BitAnd),
            UpdateOp::Or => Some(BinaryOp::BitOr),
            UpdateOp::Min | UpdateOp::Max | UpdateOp::By(_) => None,
        }
    }

    /// The update by which the partial results of a reduction by this operator can be joined in an
    /// element of this type, which holds the neutral element at first.
    ///
    /// Errors: `atomic-type` for types that have no such update; `atomic-operator` for operators
    /// that cannot update an element, or that lift, which the partial results are already.
    pub fn joining(data: &KernelData, operator: &Name, dtype: DType) -> Result<UpdateOp, Diagnostic> {
        let signs = [UpdateOp::Sum, UpdateOp::Min, UpdateOp::Max];
        let own = data.reductions.iter().any(|op| op.name == *operator);
        let known = signs.into_iter().find(|op| !own && *op.name() == **operator);
        let update = known.unwrap_or_else(|| UpdateOp::By(operator.clone()));
        // Reductions of narrow types accumulate in wider ones.
        if !update.takes(dtype) || dtype.is_narrow_float() {
            let message = format!("there is no atomic update for `{operator}` of {dtype}");
            return Err(Diagnostic::new("atomic-type", message).help(UPDATES));
        }
        let (UpdateOp::By(_), Some(op)) = (&update, data.operator(operator)) else { return Ok(update) };
        let refuse = |why: String, help: Option<String>| {
            let message = format!("there is no atomic update for `{operator}`: {why}");
            let help = help.unwrap_or_else(|| {
                "without atomic updates, partial results are joined in a fixed order".into()
            });
            Err(Diagnostic::new("atomic-operator", message).help(help))
        };
        if let Err(d) = Combination::of(&op, data, dtype) {
            return refuse(d.message, None);
        }
        match (op.lift.as_slice(), op.inputs.as_slice()) {
            ([Expr::Name(lifted)], [input]) if lifted == input => Ok(update),
            _ => refuse(
                "an update lifts its value, and partial results are lifted".into(),
                Some("compute the lift in the value of the reduction, and let `lift` be the input".into()),
            ),
        }
    }

    /// The update as a function, if it is by an operator that has a name, or of elements in whose
    /// type nothing is computed: then it is the operation in `f32`, rounded.
    ///
    /// Errors: as of [`Combination::of`]; `unknown-reduction` if there is no such operator.
    pub fn combination(&self, data: &KernelData, dtype: DType) -> Result<Option<Combination>, Diagnostic> {
        let UpdateOp::By(name) = self else {
            return Ok(dtype.is_narrow_float().then(|| self.rounded(dtype)).flatten());
        };
        let operator = data.operator(name).ok_or_else(|| {
            let known = ReductionOp::LIBRARY.into_iter().chain(data.reductions.iter().map(|o| o.name.as_str()));
            let help = crate::suggest::did_you_mean(name, known).unwrap_or_else(|| {
                format!("declare it by `reduction {name}(x) {{ ... }}`; without one there are `+=`, `min=`, `max=`, `&=` and `|=`")
            });
            Diagnostic::new("unknown-reduction", format!("there is no operator `{name}` for `{name}=`")).help(help)
        })?;
        Combination::of(&operator, data, dtype).map(Some)
    }
}

impl UpdateOp {
    /// An update by a sign of its own, as a function.
    fn rounded(&self, dtype: DType) -> Option<Combination> {
        let [held, value] = ["a.held", "b.value"].map(Name::new);
        let [a, b] = [&held, &value].map(|name| Expr::Name(name.clone()));
        let call = |name: &str| Expr::Call {
            function: name.into(),
            precision: None,
            args: vec![a.clone(), b.clone()],
        };
        let combined = match self {
            UpdateOp::Sum => Expr::binary(BinaryOp::Add, a, b),
            UpdateOp::Min => call("min"),
            UpdateOp::Max => call("max"),
            UpdateOp::And | UpdateOp::Or | UpdateOp::By(_) => return None,
        };
        Some(Combination { dtype, held, value, combined })
    }
}

/// An operator as an update of an element: what the element holds is the operator's state, and the
/// value is lifted and combined with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// The type of the element and of the value.
    pub dtype: DType,
    /// The name in [`Self::combined`] of what the element holds. No name of a text is like it.
    pub held: Name,
    /// The name there of the value.
    pub value: Name,
    /// What the element holds afterwards.
    pub combined: Expr,
}

impl Combination {
    /// An operator as an update of elements of this type.
    ///
    /// Errors (`update-operator`): operators with several values or inputs, whose state has another
    /// type, whose result is not the state, or that do not commute.
    pub fn of(op: &ReductionOp, data: &KernelData, dtype: DType) -> Result<Combination, Diagnostic> {
        let name = &op.name;
        let refuse = |why: String, help: String| {
            let message = format!("`{name}` cannot update an element: {why}");
            Err(Diagnostic::new("update-operator", message).help(help))
        };
        let ([state], [input], [lift], [combine]) =
            (op.state.as_slice(), op.inputs.as_slice(), op.lift.as_slice(), op.combine.as_slice())
        else {
            let inputs = match op.inputs.len() {
                1 => String::new(),
                inputs => format!("it takes {inputs} inputs, "),
            };
            let values = match op.state.len() {
                1 => String::new(),
                values => format!("its state has {values} values, "),
            };
            return refuse(
                format!("{inputs}{values}and an element is one value"),
                format!(
                    "devices exchange one word of an element at a time: update an array for each value by an \
                     operator of its own, or write a reduction, `{name}(i, ...)`"
                ),
            );
        };
        let fixed = match state.dtype {
            StateType::Fixed(fixed) => fixed,
            StateType::Input(_) => dtype,
        };
        if fixed != dtype {
            return refuse(
                format!("its state is {fixed}, and the element {dtype}"),
                format!(
                    "let the array have the type {fixed}, or the state that of the input: `{}: like {input}`",
                    state.name
                ),
            );
        }
        if op.result != [Expr::Name(state.name.clone())] {
            return refuse(
                format!("its result is not `{}`, the state that the element would hold", state.name),
                format!("let `result` be `{}`, and compute the rest where the element is read", state.name),
            );
        }
        if !op.commutes {
            let help = data
                .forgotten_commutes(op)
                .unwrap_or_else(|| "write an assignment, which keeps its order: `x[i] = ...`".into());
            return refuse("updates come in any order, and it does not commute".into(), help);
        }
        let table = TypeTable::new(data);
        let (held, term) = (Name::new(format!("a.{}", state.name)), Name::new(format!("b.{}", state.name)));
        for (what, e, names) in
            [("lift", lift, vec![input.clone()]), ("combination", combine, vec![held.clone(), term.clone()])]
        {
            let own = table.with_scalars(names.into_iter().map(|n| (n, dtype.into()))).type_of(e)?;
            if !assignable(&own, &dtype.into()) {
                let message =
                    format!("the {what} of `{}` in `{name}` is {own}, and has to be {dtype}", state.name);
                return Err(
                    Diagnostic::new("wrong-type", message).help(format!("write `cast({dtype}, ...)`"))
                );
            }
        }
        let lifted = match lift {
            Expr::Name(x) if x == input => lift.clone(),
            lift => Expr::Cast(dtype.into(), lift.clone().into()),
        };
        let combined = combine.substitute(&|n| (*n == term).then(|| lifted.clone()));
        let found = Combination { dtype, held, value: input.clone(), combined };
        found.typed(&table)?;
        Ok(found)
    }

    /// Whether what an operator leaves in an element depends on the order of the updates. Elements
    /// hold any value at first, which the states are not that the operator's own laws are tested
    /// on: those are made of neutral elements and lifted values.
    ///
    /// Errors (`update-operator`): it does, with a witness.
    pub(crate) fn is_in_any_order(&self, op: &ReductionOp, data: &KernelData) -> Result<(), Diagnostic> {
        if op.trusted.is_some() || ReductionOp::library(&op.name).as_ref() == Some(op) {
            return Ok(());
        }
        let states = op
            .state
            .iter()
            .map(|s| crate::StateVar { name: s.name.clone(), dtype: StateType::Fixed(self.dtype) });
        let plain = ReductionOp {
            inputs: vec![self.value.clone()],
            state: states.collect(),
            lift: vec![Expr::Name(self.value.clone())],
            ..op.clone()
        };
        let laws = plain.laws(data, &[Type::Known(self.dtype)]);
        let Some(witness) =
            [Law::Associative, Law::Commutative].into_iter().find_map(|law| laws.witness(law))
        else {
            return Ok(());
        };
        let message = format!(
            "`{}` cannot update an element: what it leaves depends on the order, if the element holds what \
             no inputs lead to",
            op.name
        );
        Err(Diagnostic::new("update-operator", message).witness(witness).help(
            "let `combine` be associative on all values of the type; if elements never hold such values, \
             write `trusted \"why\"` in the operator",
        ))
    }

    /// Its expression, with types.
    ///
    /// Errors: operands that do not go together.
    pub fn typed(&self, table: &TypeTable<'_>) -> Result<Typed, Diagnostic> {
        let names = [&self.held, &self.value].map(|n| (n.clone(), Type::Known(self.dtype)));
        table.with_scalars(names).typed(&self.combined, self.dtype, None)
    }
}
