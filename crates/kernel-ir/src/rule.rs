//! Substitution rules: named expressions with parameters.
//!
//! `rule f(i, j) = x[i, j]*w[j]` is a name for a form of expressions. Reading a text replaces each
//! use, `f(i + 1, k)`, by the rule's value with the arguments in place of the parameters, so that
//! everything but the text sees expressions without uses. The kernel keeps the rule: steps find the
//! uses again by comparing the value with expressions ([`Rule::arguments_of`]), which also finds
//! what was written without the rule.
//!
//! A rule's own value is stored without uses of other rules; it may use those above it.

use std::collections::BTreeMap;

use loopwright_poly::{Aff, Name, Term};
use serde::{Deserialize, Serialize};

use crate::{Diagnostic, Expr};

/// The most nodes and levels of an expression that rules have made.
const SIZE_LIMIT: usize = 10_000;
const DEPTH_LIMIT: usize = 600;

/// A named expression with parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rule {
    /// Its name, under which the text uses it: `f(i, j)`.
    pub name: Name,
    /// Its parameters, which hide other names in its value.
    pub parameters: Vec<Name>,
    /// What it stands for. Names that are not parameters mean what they mean at the use.
    pub value: Expr,
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = self.parameters.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
        write!(f, "{}({list}) = {}", self.name, self.value)
    }
}

impl Rule {
    /// The value with these arguments in place of the parameters.
    ///
    /// Errors: another number of arguments; an argument that mentions an iname over which the value
    /// reduces, where it would mean another thing.
    pub fn applied(&self, arguments: &[Expr]) -> Result<Expr, Diagnostic> {
        let name = &self.name;
        if arguments.len() != self.parameters.len() {
            let count = self.parameters.len();
            let plural = if count == 1 { "" } else { "s" };
            let message = format!(
                "the rule `{name}` takes {count} argument{plural}, and {} are given",
                arguments.len()
            );
            return Err(Diagnostic::new("wrong-arity", message).help(format!("it is `rule {self}`")));
        }
        let reduced = || self.value.reductions().into_iter().flat_map(|r| r.inames.clone());
        for iname in reduced() {
            if let Some(argument) = arguments.iter().find(|e| e.names().contains(&iname)) {
                let message = format!(
                    "the argument `{argument}` of `{name}` mentions `{iname}`, over which the rule reduces"
                );
                return Err(Diagnostic::new("rule-capture", message)
                    .help(format!("reduce over another iname in `rule {self}`, or in what uses it")));
            }
        }
        let argument = |n: &Name| {
            let place = self.parameters.iter().position(|p| p == n)?;
            arguments.get(place).cloned()
        };
        Ok(self.value.substitute(&argument))
    }

    /// The arguments with which the rule gives this expression. Subscripts are compared as
    /// functions: `x[i + 1]` gives `x[j]` for `i = j - 1`. `None` if no arguments do, or if the
    /// expression leaves a parameter open.
    pub fn arguments_of(&self, e: &Expr) -> Option<Vec<Expr>> {
        let mut unifier = Unifier { parameters: &self.parameters, bound: BTreeMap::new(), open: Vec::new() };
        unifier.value(&self.value, e)?;
        unifier.solve()?;
        self.parameters.iter().map(|p| unifier.bound.get(p).cloned()).collect()
    }
}

/// One-sided unification: only the names of the rule's parameters are bound.
struct Unifier<'r> {
    parameters: &'r [Name],
    bound: BTreeMap<Name, Expr>,
    /// Subscripts that have to be equal.
    open: Vec<(Aff, Aff)>,
}

impl Unifier<'_> {
    fn bind(&mut self, parameter: &Name, e: &Expr) -> Option<()> {
        match self.bound.get(parameter) {
            None => {
                self.bound.insert(parameter.clone(), e.clone());
                Some(())
            }
            Some(known) if known == e => Some(()),
            Some(known) => match (known.to_aff(), e.to_aff()) {
                (Some(a), Some(b)) if a == b => Some(()),
                _ => None,
            },
        }
    }

    /// A subscript, which is an integer wherever it stands.
    fn subscript(&mut self, pattern: &Expr, e: &Expr) -> Option<()> {
        match (pattern.to_aff(), e.to_aff()) {
            (Some(a), Some(b)) => {
                self.open.push((a, b));
                Some(())
            }
            _ => self.value(pattern, e),
        }
    }

    fn value(&mut self, pattern: &Expr, e: &Expr) -> Option<()> {
        let all = |unifier: &mut Self, a: &[Expr], b: &[Expr]| {
            (a.len() == b.len()).then_some(())?;
            a.iter().zip(b).try_for_each(|(a, b)| unifier.value(a, b).ok_or(())).ok()
        };
        match (pattern, e) {
            (Expr::Name(n), _) if self.parameters.contains(n) => self.bind(n, e),
            (Expr::Unary(p, a), Expr::Unary(q, b)) if p == q => self.value(a, b),
            (Expr::Cast(p, a), Expr::Cast(q, b)) if p == q => self.value(a, b),
            (Expr::Binary(p, a, c), Expr::Binary(q, b, d)) if p == q => {
                self.value(a, b)?;
                self.value(c, d)
            }
            (Expr::If(a, c, x), Expr::If(b, d, y)) => {
                self.value(a, b)?;
                self.value(c, d)?;
                self.value(x, y)
            }
            (
                Expr::Call { function: f, precision: p, args: a },
                Expr::Call { function: g, precision: q, args: b },
            ) if f == g && p == q => all(self, a, b),
            (Expr::Subscript(a), Expr::Subscript(b))
                if a.array == b.array && a.index.len() == b.index.len() =>
            {
                let both = a.index.iter().zip(&b.index);
                both.map(|(a, b)| self.subscript(a, b)).collect::<Option<Vec<()>>>().map(|_| ())
            }
            (Expr::Reduce(a), Expr::Reduce(b)) if a.op == b.op && a.inames == b.inames => {
                all(self, &a.args, &b.args)
            }
            _ => (pattern == e).then_some(()),
        }
    }

    /// Solves the equations between subscripts, one parameter at a time.
    fn solve(&mut self) -> Option<()> {
        loop {
            let mut rest = Vec::new();
            let mut progress = false;
            for (pattern, aff) in std::mem::take(&mut self.open) {
                let known = |n: &Name| match self.parameters.contains(n) {
                    true => self.bound.get(n).and_then(Expr::to_aff),
                    false => Some(Aff::var(n)),
                };
                let unknown: Vec<Name> = pattern.names().into_iter().filter(|n| known(n).is_none()).collect();
                let put = |n: &Name| known(n).filter(|a| a.as_var() != Some(n));
                match unknown.as_slice() {
                    [] => {
                        if pattern.substitute(&put).ok()? != aff {
                            return None;
                        }
                        progress = true;
                    }
                    [one] => {
                        let factor = pattern.terms().iter().find_map(|(term, k)| match term {
                            Term::Var(n) if n == one => Some(*k),
                            _ => None,
                        })?;
                        let others = pattern.sub(&Aff::var(one).scale(factor).ok()?).ok()?;
                        if factor.abs() != 1 || others.mentions(one) {
                            return None;
                        }
                        let value = aff.sub(&others.substitute(&put).ok()?).ok()?.scale(factor).ok()?;
                        self.bound.insert(one.clone(), Expr::from_aff(&value));
                        progress = true;
                    }
                    _ => rest.push((pattern, aff)),
                }
            }
            self.open = rest;
            if self.open.is_empty() {
                return Some(());
            }
            if !progress {
                return None;
            }
        }
    }
}

/// The number of nodes and of levels.
fn measure(e: &Expr) -> (usize, usize) {
    let (mut nodes, mut depth) = (1, 0);
    e.each_child(&mut |child| {
        let (n, d) = measure(child);
        nodes += n;
        depth = depth.max(d);
    });
    (nodes, depth + 1)
}

/// The expression with all uses of these rules replaced; whether there were any.
pub(crate) fn expanded(e: &Expr, rules: &[Rule]) -> Result<(Expr, bool), Diagnostic> {
    let mut failed = None;
    let mut used = false;
    let made = e.map_children(&mut |child| match expanded(child, rules) {
        Ok((child, some)) => {
            used |= some;
            child
        }
        Err(d) => {
            failed.get_or_insert(d);
            child.clone()
        }
    });
    if let Some(d) = failed {
        return Err(d);
    }
    let Expr::Call { function, precision: None, args } = &made else { return Ok((made, used)) };
    let Some(rule) = rules.iter().find(|r| r.name == *function) else { return Ok((made, used)) };
    let value = rule.applied(args)?;
    let (nodes, depth) = measure(&value);
    if nodes > SIZE_LIMIT || depth > DEPTH_LIMIT {
        let message = format!(
            "`{function}` makes an expression of more than {SIZE_LIMIT} operations or {DEPTH_LIMIT} levels"
        );
        return Err(Diagnostic::new("too-deep", message).help("compute parts of it in separate instructions"));
    }
    Ok((value, true))
}
