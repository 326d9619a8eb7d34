//! Kernels that call kernels: the lines of a called kernel in place of the call.
//!
//! A call has no meaning of its own. It stands for the lines of the called kernel, in their order,
//! in the loops of the call, where
//!
//! * an array of the called kernel is the caller's array: its accesses are accesses of the slice
//!   that the call names, with the slice's subscripts inserted (by reference);
//! * a result (`out s: f32`) is the element or the scalar that the call names (by reference);
//! * an integer that bounds, sizes or subscripts use is the function of the caller's integers that
//!   the call gives, and a cast of it to its type elsewhere;
//! * any other number is computed before the lines, into a private scalar (by value), unless it is
//!   an argument of the caller, or a literal;
//! * inames, temporaries, rules and ids get names of their own ([`Names`]).
//!
//! So everything but the text sees an ordinary kernel, which is validated and proved as such. What
//! the result no longer shows is checked before (`checks`); that types agree, where they are bound.

mod actual;
mod checks;
mod names;
mod substitute;

use std::collections::BTreeMap;

use loopwright_poly::{Aff, Constraint};

use crate::{
    Access, AddressSpace, Arg, Array, Axis, BinaryOp, Constant, DType, Diagnostic, Domain, Expr, Fact,
    Instruction, KernelData, Lookup, Name, Number, Role, Rule, Type, TypeTable, ValueType, types::is_untyped,
    validate::is_integer,
};

pub(crate) use actual::{Actual, Sub};
pub(crate) use names::Names;
use substitute::Replacement;

/// A refused call; the argument that it is about, if there is one.
pub(crate) struct Fault {
    pub diagnostic: Diagnostic,
    pub formal: Option<Name>,
}

impl Fault {
    fn about(formal: &Name, diagnostic: Diagnostic) -> Self {
        Fault { diagnostic, formal: Some(formal.clone()) }
    }
}

impl From<loopwright_poly::Error> for Fault {
    fn from(e: loopwright_poly::Error) -> Self {
        Fault { diagnostic: e.into(), formal: None }
    }
}

impl From<Diagnostic> for Fault {
    fn from(diagnostic: Diagnostic) -> Self {
        Fault { diagnostic, formal: None }
    }
}

/// A call of one kernel by another, with what stands for each of its arguments.
pub(crate) struct Call<'c> {
    /// What is called: a complete declared kernel.
    pub callee: &'c KernelData,
    /// Its scalar temporaries that stand for results.
    pub results: &'c [Name],
    /// What stands for its arguments and results. Sizes that are lengths of its arrays may be left
    /// out.
    pub actuals: BTreeMap<Name, Actual>,
    /// The inames around the call, outermost first.
    pub within: Vec<Name>,
    /// The condition under which it is called.
    pub predicate: Option<Expr>,
    /// The names that the items of the called kernel get in the caller.
    pub names: Names,
}

/// The items of the caller that replace a call.
#[derive(Default)]
pub(crate) struct Inlined {
    pub temporaries: Vec<Array>,
    pub constants: Vec<Constant>,
    pub domains: Vec<Domain>,
    pub rules: Vec<Rule>,
    /// Those that compute arguments, then one for each of the called kernel.
    pub instructions: Vec<Instruction>,
    /// The number of the leading instructions that compute arguments.
    pub computed: usize,
    /// The types of the caller's temporaries without a type that hold results.
    pub types: BTreeMap<Name, Type>,
}

/// The lines of a called kernel as lines of the caller.
pub(crate) fn inline(caller: &KernelData, call: &Call<'_>) -> Result<Inlined, Fault> {
    let lookup = Lookup::new(caller);
    let mut inliner = Inliner { lookup: &lookup, call, types: BTreeMap::new(), made: Inlined::default() };
    for (formal, actual) in &call.actuals {
        actual.check(&lookup, formal)?;
    }
    let given = inliner.given()?;
    inliner.bind(&given)?;
    let sizes = inliner.sizes(&given)?;
    inliner.lengths(&given, &sizes)?;
    let by = inliner.replacement(&given, &sizes)?;
    inliner.unchanged(&given, &by)?;
    inliner.conditions(&by)?;
    inliner.follows(&by)?;
    inliner.facts(&given, &by)?;
    inliner.lines(&by)?;
    inliner.widths()?;
    Ok(inliner.made)
}

struct Inliner<'c, 'k> {
    lookup: &'c Lookup<'k>,
    call: &'c Call<'c>,
    /// What the open types of the called kernel are.
    types: BTreeMap<Name, Type>,
    made: Inlined,
}

/// The arguments by their names, with those that were left out.
type Given = BTreeMap<Name, Actual>;

/// Whether a bound, a length, an assumption or a fact of the kernel has this name.
pub(crate) fn in_sizes(kernel: &KernelData, name: &Name) -> bool {
    let in_constraints = |list: &[Constraint]| list.iter().any(|c| c.aff.mentions(name));
    let in_axes = |a: &Array| a.axes.iter().any(|x| x.length.names().contains(name));
    let arrays = kernel.args.iter().filter_map(|a| match a {
        Arg::Array(a) => Some(a),
        Arg::Scalar(_) => None,
    });
    let in_fact = |fact: &Fact| match fact {
        Fact::Range { lower, upper, .. } => lower.iter().chain(upper).any(|e| e.names().contains(name)),
        Fact::Monotone(_) | Fact::Injective(_) => false,
    };
    in_constraints(&kernel.assumptions)
        || kernel.domains.iter().any(|d| in_constraints(&d.constraints))
        || kernel.temporaries.iter().chain(arrays).any(in_axes)
        || kernel.facts.iter().any(in_fact)
}

/// Whether the kernel needs an integer argument to be a function of integers.
fn is_size(callee: &KernelData, name: &Name) -> bool {
    let in_subscripts = |e: &Expr| {
        let accesses = e.accesses();
        accesses.iter().any(|a| a.index.iter().any(|e| e.names().contains(name)))
    };
    in_sizes(callee, name)
        || callee.instructions.iter().any(|i| {
            i.targets.iter().flat_map(|t| &t.index).any(|e| e.names().contains(name))
                || [&i.value].into_iter().chain(&i.predicate).any(in_subscripts)
        })
        || callee.rules.iter().any(|r| in_subscripts(&r.value))
}

/// Whether a quotient or a remainder is part of an expression.
fn divides(e: &Expr) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= matches!(e, Expr::Binary(BinaryOp::FloorDiv | BinaryOp::Mod, ..)));
    found
}

impl Inliner<'_, '_> {
    fn callee(&self) -> &KernelData {
        self.call.callee
    }

    fn formal_array(&self, name: &Name) -> Option<&Array> {
        self.callee().args.iter().find_map(|a| match a {
            Arg::Array(a) if a.name == *name => Some(a),
            _ => None,
        })
    }

    /// The arguments, with the sizes that are left out, as the lengths of slices.
    fn given(&self) -> Result<Given, Fault> {
        let mut given = self.call.actuals.clone();
        for arg in &self.callee().args {
            let name = arg.name();
            if given.contains_key(name) {
                continue;
            }
            let found = self.call.actuals.iter().find_map(|(formal, actual)| {
                let axes = &self.formal_array(formal)?.axes;
                let axis = axes.iter().position(|x| x.length == Expr::Name(name.clone()))?;
                actual.lengths(self.lookup)?.into_iter().nth(axis)
            });
            match found {
                Some(length) => drop(given.insert(name.clone(), Actual::Value(length))),
                None => {
                    let message = format!("the call of `{}` has no `{name}`", self.callee().name);
                    let help = "give it, by its place or as `name=value`; only what is the length of an \
                                array that is given may be left out";
                    return Err(Diagnostic::new("wrong-arity", message).help(help).into());
                }
            }
        }
        Ok(given)
    }

    /// The type with the open types of the called kernel replaced.
    fn typed(&self, t: &Type) -> Type {
        match t {
            Type::Open(name) => self.types.get(name).unwrap_or(t).clone(),
            t => t.clone(),
        }
    }

    /// Binds the open types of the called kernel; requires that types agree.
    fn bind(&mut self, given: &Given) -> Result<(), Fault> {
        let table = TypeTable::new(self.lookup.kernel());
        let callee = self.call.callee;
        let mut untyped = Vec::new();
        let results = self.call.results.iter().filter_map(|n| callee.temporary(n));
        let formals: Vec<(&Name, &Type)> = callee
            .args
            .iter()
            .map(|arg| match arg {
                Arg::Array(a) => (&a.name, &a.dtype),
                Arg::Scalar(s) => (&s.name, &s.dtype),
            })
            .chain(results.map(|t| (&t.name, &t.dtype)))
            .collect();
        // What has a type first, so that it decides what literals are.
        let mut open = Vec::new();
        for (formal, dtype) in formals {
            let Some(actual) = given.get(formal) else { continue };
            let found = match actual {
                Actual::Slice { array, .. } | Actual::Element(Access { array, .. }) => {
                    match self.lookup.array(array) {
                        Some(a) if is_untyped(&a.dtype) => {
                            untyped.push((array.clone(), dtype.clone()));
                            continue;
                        }
                        Some(a) => a.dtype.clone(),
                        // Validation finds it.
                        None => continue,
                    }
                }
                Actual::Value(e) => match table.infer(e) {
                    Ok(ValueType::Of(t)) => t,
                    Ok(_) => {
                        open.push((formal, dtype));
                        continue;
                    }
                    Err(e) => return Err(Fault::about(formal, e.diagnostic)),
                },
            };
            let is_value = matches!(actual, Actual::Value(_));
            let wanted = match dtype {
                Type::Open(name) => self.types.entry(name.clone()).or_insert_with(|| found.clone()).clone(),
                known => known.clone(),
            };
            let is_index = is_integer(&wanted) && is_size(callee, formal);
            let is_open = matches!(dtype, Type::Open(_));
            if wanted != found && (!is_value || is_index || is_open) {
                let why = match dtype {
                    Type::Open(name) => format!("`{name}`, which is {wanted} in this call"),
                    _ => wanted.to_string(),
                };
                let message = format!("`{formal}` of `{}` is {why}, and {found} is given", callee.name);
                let help = match is_value {
                    true if is_open => "an open type is the same in all arguments of a call: cast the value",
                    true => {
                        "an integer that bounds or subscripts use has the type of what is given: \
                             change one of the two declarations"
                    }
                    false => {
                        "what is passed by reference has one type: declare both alike, or leave it \
                              open in the called kernel, as `T`"
                    }
                };
                return Err(Fault::about(formal, Diagnostic::new("call-type", message).help(help)));
            }
        }
        for (formal, dtype) in open {
            if let Type::Open(name) = dtype
                && !self.types.contains_key(name)
            {
                let message = format!("nothing in this call says what `{name}` of `{}` is", callee.name);
                let help = format!("cast the value: `{formal}=cast(f32, ...)`");
                return Err(Fault::about(formal, Diagnostic::new("call-type", message).help(help)));
            }
        }
        for (temporary, dtype) in untyped {
            let dtype = self.typed(&dtype);
            self.made.types.insert(temporary, dtype);
        }
        Ok(())
    }

    /// The functions of the caller's integers that sizes are; those that are not such functions are
    /// left out.
    fn sizes(&self, given: &Given) -> Result<BTreeMap<Name, Aff>, Fault> {
        let mut sizes = BTreeMap::new();
        for arg in &self.callee().args {
            let Arg::Scalar(s) = arg else { continue };
            let Some(Actual::Value(e)) = given.get(&s.name) else { continue };
            if !is_integer(&self.typed(&s.dtype)) || !is_size(self.callee(), &s.name) {
                continue;
            }
            if let Some(aff) = actual::integer(self.lookup, e) {
                sizes.insert(s.name.clone(), aff);
            }
        }
        Ok(sizes)
    }

    /// What each name of the called kernel becomes. Adds the scalars that hold arguments.
    fn replacement(&mut self, given: &Given, sizes: &BTreeMap<Name, Aff>) -> Result<Replacement, Fault> {
        let callee = self.call.callee;
        let mut by = Replacement::default();
        for arg in &callee.args {
            match (arg, given.get(arg.name())) {
                (Arg::Array(a), Some(actual @ Actual::Slice { array, .. })) => {
                    by.arrays.insert(a.name.clone(), (array.clone(), actual.subs(self.lookup)));
                }
                (Arg::Scalar(s), Some(Actual::Value(e))) => self.number(&mut by, s, e, sizes)?,
                (arg, _) => {
                    let message = format!("`{}` of `{}` is given as another kind", arg.name(), callee.name);
                    let help = "an array stands for an array, and a number for a number";
                    return Err(Fault::about(arg.name(), Diagnostic::new("call-type", message).help(help)));
                }
            }
        }
        for name in self.call.results {
            let Some(Actual::Element(access)) = given.get(name) else {
                let message = format!("the call of `{}` has no place for its result `{name}`", callee.name);
                let help = "name an element or a scalar temporary for each result";
                return Err(Diagnostic::new("wrong-arity", message).help(help).into());
            };
            by.results.insert(name.clone(), access.clone());
            if access.index.is_empty() {
                by.affs.insert(name.clone(), Aff::var(&access.array));
            }
        }
        for t in callee.temporaries.iter().filter(|t| !self.call.results.contains(&t.name)) {
            let new = self.call.names.of(&t.name);
            by.affs.insert(t.name.clone(), Aff::var(&new));
            by.renamed.insert(t.name.clone(), new);
        }
        for c in &callee.constants {
            by.renamed.insert(c.array.name.clone(), self.call.names.of(&c.array.name));
        }
        for iname in callee.domains.iter().flat_map(|d| &d.inames) {
            let new = self.call.names.of(iname);
            by.affs.insert(iname.clone(), Aff::var(&new));
            by.renamed.insert(iname.clone(), new);
        }
        by.types = self.types.clone();
        Ok(by)
    }

    /// A number that is an argument.
    fn number(
        &mut self,
        by: &mut Replacement,
        scalar: &crate::Scalar,
        e: &Expr,
        sizes: &BTreeMap<Name, Aff>,
    ) -> Result<(), Fault> {
        let name = &scalar.name;
        let dtype = self.typed(&scalar.dtype);
        let caller = self.lookup.kernel();
        let kept = match e {
            Expr::Name(n) => {
                let own = caller
                    .args
                    .iter()
                    .any(|a| matches!(a, Arg::Scalar(s) if s.name == *n && s.dtype == dtype));
                let typed = || TypeTable::new(caller).scalar(n) == Some(&dtype);
                own || (self.lookup.is_iname(n) || sizes.contains_key(name)) && typed()
            }
            _ => false,
        };
        let literal = e.to_aff().and_then(|aff| aff.as_constant());
        if let (Some(value), Some(known)) = (literal, dtype.known())
            && known.is_integer()
            && Number::I64(value).cast(known).as_i128() != Some(value.into())
        {
            let message = format!("`{name}` of `{}` is {known}, which has no {value}", self.callee().name);
            let help = "give a value of that type, or declare a larger one";
            return Err(Fault::about(name, Diagnostic::new("call-type", message).help(help)));
        }
        if let Some(aff) = sizes.get(name) {
            by.affs.insert(name.clone(), aff.clone());
            by.subscripts.insert(name.clone(), Expr::from_aff(aff));
            // Sums and products that wrap are still right in the last bits, quotients are not.
            let value = match kept {
                true => e.clone(),
                false if divides(e) => {
                    let wide = |n: &Name| Some(Expr::Cast(DType::I64.into(), Expr::Name(n.clone()).into()));
                    Expr::Cast(dtype, e.substitute(&wide).into())
                }
                false => Expr::Cast(dtype, e.clone().into()),
            };
            by.values.insert(name.clone(), value);
            return Ok(());
        }
        if kept {
            by.values.insert(name.clone(), e.clone());
            return Ok(());
        }
        // A cast converts more than an assignment does. A floating-point type that nothing else
        // declares here would be forgotten, though it may be what decides what literals of the
        // lines are.
        let declared = || TypeTable::new(caller).floats().contains(&dtype);
        let converts = match e {
            Expr::Int(_) => dtype.known().is_some_and(|t| t.is_integer() || (t.is_float() && declared())),
            Expr::Float(_) => dtype.known().is_some_and(|t| t.is_float() && declared()),
            _ => false,
        };
        if converts {
            by.values.insert(name.clone(), Expr::Cast(dtype, e.clone().into()));
            return Ok(());
        }
        let new = self.call.names.of(name);
        let id = self.call.names.of_argument(name);
        self.made.temporaries.push(Array::new(&new, dtype, Vec::new(), AddressSpace::Private));
        let target = Access::new(&new, Vec::new());
        self.made.instructions.push(Instruction {
            within: self.call.within.clone(),
            ..Instruction::new(&id, vec![target], e.clone(), Role::Does(id.clone()))
        });
        self.made.computed += 1;
        by.affs.insert(name.clone(), Aff::var(&new));
        by.renamed.insert(name.clone(), new);
        Ok(())
    }

    /// The domains, temporaries, rules and instructions.
    fn lines(&mut self, by: &Replacement) -> Result<(), Fault> {
        let callee = self.call.callee;
        for t in callee.temporaries.iter().filter(|t| !self.call.results.contains(&t.name)) {
            let mut made = t.clone();
            made.name = self.call.names.of(&t.name);
            made.dtype = self.typed(&t.dtype);
            for axis in &mut made.axes {
                *axis = self.axis(axis, t, by)?;
            }
            self.made.temporaries.push(made);
        }
        for c in &callee.constants {
            let mut made = c.clone();
            made.array.name = self.call.names.of(&c.array.name);
            self.made.constants.push(made);
        }
        for domain in &callee.domains {
            let mut constraints = Vec::with_capacity(domain.constraints.len());
            for c in &domain.constraints {
                if let Some(name) = c.names().into_iter().find(|n| by.is_element(n)) {
                    let message = format!(
                        "the result `{name}` of `{}` bounds a loop there, and is an element of an array here",
                        callee.name
                    );
                    return Err(Fault::about(
                        &name,
                        Diagnostic::new("not-affine", message).help("give a scalar temporary for it"),
                    ));
                }
                constraints.push(c.substitute(&|n| by.affs.get(n).cloned())?);
            }
            let inames = domain.inames.iter().map(|n| self.call.names.of(n)).collect();
            self.made.domains.push(Domain { inames, constraints });
        }
        for rule in &callee.rules {
            // Subscripts that the slices insert must not be taken for parameters.
            let parameters: Vec<Name> = rule.parameters.iter().map(|p| self.call.names.of(p)).collect();
            let mut inside = by.clone();
            for (old, new) in rule.parameters.iter().zip(&parameters) {
                inside.forget(old);
                inside.renamed.insert(old.clone(), new.clone());
            }
            let value = inside.value(&rule.value);
            self.made.rules.push(Rule { name: self.call.names.of(&rule.name), parameters, value });
        }
        for i in &callee.instructions {
            let id = self.call.names.of_instruction(&i.id);
            let within = self.call.within.iter().cloned();
            let inside = i.within.iter().map(|n| self.call.names.of(n));
            let rename = |n: &Name| by.renamed.get(n).unwrap_or(n).clone();
            self.made.instructions.push(Instruction {
                id: id.clone(),
                targets: i.targets.iter().map(|t| by.target(t)).collect(),
                value: by.value(&i.value),
                predicate: i.predicate.as_ref().map(|p| by.value(p)),
                within: within.chain(inside).collect(),
                role: Role::Does(id),
                scan: i.scan.as_ref().map(rename),
                atom: i
                    .atom
                    .as_ref()
                    .map(|a| crate::AtomUse { name: a.name.clone(), axes: a.axes.each_ref().map(rename) }),
                after: i.after.iter().map(|n| self.call.names.of_instruction(n)).collect(),
                ..i.clone()
            });
        }
        Ok(())
    }

    /// An axis of a temporary: its sizes are the caller's arguments.
    fn axis(&self, axis: &Axis, t: &Array, by: &Replacement) -> Result<Axis, Fault> {
        let size = |e: &Expr| -> Result<Expr, Fault> {
            let made = by.subscript(e);
            if let Some(name) = made.names().into_iter().find(|n| self.lookup.scalar(n).is_none()) {
                let message = format!(
                    "the length `{e}` of `{}` in `{}` is `{made}` in this call, and `{name}` varies",
                    t.name,
                    self.callee().name
                );
                let help = "lengths of temporaries depend on arguments of the kernel alone: give a size \
                            that does, or let the caller pass an array instead of the temporary";
                let formal = e.names().into_iter().next().unwrap_or_else(|| t.name.clone());
                return Err(Fault::about(&formal, Diagnostic::new("call-length", message).help(help)));
            }
            Ok(made)
        };
        Ok(Axis {
            length: size(&axis.length)?,
            stride: axis.stride.as_ref().map(size).transpose()?,
            padding: axis.padding,
        })
    }
}
