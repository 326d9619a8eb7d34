//! Constant tables: their shapes, their values, and facts about them, which the values decide.

use crate::{
    AddressSpace, Arg, Constant, Diagnostic, Expr, Fact, constant::literal, text::source_map::Item,
    validate::Check,
};

pub(crate) fn check(check: &mut Check<'_>) {
    let data = check.data;
    for (k, constant) in data.constants.iter().enumerate() {
        let item = Item::Constant(k);
        if !check.has(&item)
            && let Err((part, d)) = one(constant)
        {
            check.add(item, &part, d);
        }
    }
    let args = data.args.iter().enumerate().filter_map(|(k, arg)| match arg {
        Arg::Array(array) => Some((Item::Arg(k), array)),
        Arg::Scalar(_) => None,
    });
    let temporaries = data.temporaries.iter().enumerate().map(|(k, t)| (Item::Temporary(k), t));
    for (item, array) in args.chain(temporaries) {
        if array.space == AddressSpace::Constant {
            let message = format!("`{}` is in constant memory, where only constant tables are", array.name);
            let d = Diagnostic::new("wrong-layout", message)
                .help("declare it as a constant table with its values, or choose another address space");
            check.add(item, "", d);
        }
    }
    for (k, fact) in data.facts.iter().enumerate() {
        if let Some(constant) = data.constant(fact.array())
            && !check.has(&Item::Fact(k))
            && let Some(d) = refuted(fact, constant)
        {
            check.add(Item::Fact(k), "", d);
        }
    }
}

/// What is wrong with a table, and the tokens that it is about.
fn one(constant: &Constant) -> Result<(), (String, Diagnostic)> {
    let array = &constant.array;
    let name = &array.name;
    let refuse = |code, part: String, message: String, help: String| {
        Err((part, Diagnostic::new(code, message).help(help)))
    };
    let Some(dtype) = array.dtype.known() else {
        let message = format!("the type `{}` of the constant table `{name}` is open", array.dtype);
        let help = "give the table a type of its own, such as `f64`: its elements are converted where \
                    they are used";
        return refuse("open-type", array.dtype.to_string(), message, help.into());
    };
    if array.axes.is_empty() {
        let message = format!("the constant table `{name}` has no axes");
        return refuse(
            "constant-shape",
            String::new(),
            message,
            format!("give it a shape, `{dtype}[1]`, or write the number where it is used"),
        );
    }
    let plain = array.axes.iter().all(|axis| axis.stride.is_none() && axis.padding == 0)
        && array.order.is_empty()
        && array.layout.is_default()
        && array.hints.is_empty()
        && array.space == AddressSpace::Constant;
    if !plain {
        let message = format!("the constant table `{name}` has a layout, or hints");
        let help = "leave them out: a table is row-major in constant memory";
        return refuse("wrong-layout", String::new(), message, help.into());
    }
    let mut elements = 1i64;
    for axis in &array.axes {
        let length = match axis.length {
            Expr::Int(length) if length > 0 => length,
            _ => {
                let message = format!("`{}` is no length of the constant table `{name}`", axis.length);
                let help = "write a positive integer: a table has as many values as are written";
                return refuse("constant-shape", axis.length.to_string(), message, help.into());
            }
        };
        elements = elements.saturating_mul(length);
    }
    if i64::try_from(constant.values.len()) != Ok(elements) {
        let given = constant.values.len();
        let message = format!("the constant table `{name}` has {elements} elements, and {given} values");
        let help = "give one value for each element, the last axis fastest";
        return refuse("constant-shape", String::new(), message, help.into());
    }
    match constant.values.iter().find(|value| literal(value, dtype).is_none()) {
        None => Ok(()),
        Some(value) => {
            let message = format!("`{value}` in the constant table `{name}` is no literal of type {dtype}");
            let help = match (value, dtype) {
                (Expr::Int(_) | Expr::Float(_) | Expr::Bool(_), _) => {
                    "write a value that the type has, or give the table another type"
                }
                _ => "write numbers, `true` or `false`: what is computed belongs in an expression",
            };
            refuse("constant-value", value.to_string(), message, help.into())
        }
    }
}

/// The refusal of a fact that does not follow from the values of a table.
fn refuted(fact: &Fact, constant: &Constant) -> Option<Diagnostic> {
    let shown = constant.facts();
    let follows = match fact {
        Fact::Monotone(_) | Fact::Injective(_) => shown.contains(fact),
        Fact::Range { lower, upper, .. } => shown.iter().any(|known| {
            let Fact::Range { lower: least, upper: end, .. } = known else { return false };
            let at_most = |low: &Expr, high: &Expr| {
                let constant = |e: &Expr| e.to_aff().and_then(|aff| aff.as_constant());
                matches!((constant(low), constant(high)), (Some(low), Some(high)) if low <= high)
            };
            let above = lower.as_ref().is_none_or(|l| least.as_ref().is_some_and(|v| at_most(l, v)));
            let below = upper.as_ref().is_none_or(|u| end.as_ref().is_some_and(|v| at_most(v, u)));
            above && below
        }),
    };
    if follows {
        return None;
    }
    let name = &constant.array.name;
    let message =
        format!("`{}` does not follow from the values of the table", crate::text::text_of_fact(fact));
    Some(
        Diagnostic::new("constant-fact", message).help(format!(
            "leave it out: what holds of `{name}` is known from its values, without parameters"
        )),
    )
}
