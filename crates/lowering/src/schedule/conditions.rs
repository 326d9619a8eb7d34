//! Places what the kernel states under a predicate into branches, neighbours into one.
//!
//! Each statement runs under its own predicate. Where the next one has the same, or its negation,
//! it belongs into the same branch, or into the other way of it:
//!
//! ```text
//! load x[i] once             load x[i] once
//! if x[i] > 0.5              if x[i] > 0.5
//!     a = 2.0*x[i]               a = 2.0*x[i]
//! if x[i] > 0.5                  y[i] = a
//!     y[i] = a               else
//! if not x[i] > 0.5              y[i] = 0.0
//!     y[i] = 0.0
//! ```
//!
//! Predicates are compared as typed expressions, with integers among them as functions of canonical
//! names: `x[i]` and `x[j]` are one element where `i` and `j` are on the same axis. Two that are
//! equal have one value in both places if no statement of the first branch writes what they read.
//! Loads of the second statement move ahead of the branch, which writes nothing that they read
//! either; of two loads of one element one is kept.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Access, Aff, DType, Diagnostic, Expr, Name, Part, Typed, TypedKind, UnaryOp};

use super::{Branch, Node, Statement};
use crate::analyse::analysis::Analysis;

/// Puts the statements of all nodes into branches.
pub(super) fn branch(analysis: &Analysis<'_>, nodes: &mut Vec<Node>) -> Result<(), Diagnostic> {
    nodes_of(analysis, nodes, true)
}

/// As [`branch`]; neighbours stay apart unless `joins`.
fn nodes_of(analysis: &Analysis<'_>, nodes: &mut Vec<Node>, joins: bool) -> Result<(), Diagnostic> {
    let mut done: Vec<Node> = Vec::with_capacity(nodes.len());
    for mut node in std::mem::take(nodes) {
        // What an instruction of the hardware stands for is its contract, statement by statement.
        let inside = joins && !matches!(node, Node::Atom(_) | Node::StoreMatrices(_));
        for body in node.bodies_mut() {
            nodes_of(analysis, body, inside)?;
        }
        let node = match node {
            Node::Statement(statement) => under_predicate(analysis, statement),
            node => node,
        };
        match (node, done.last_mut()) {
            (Node::Branch(next), Some(Node::Branch(last))) if joins => {
                if let Some(next) = joined(analysis, last, next)? {
                    done.push(Node::Branch(next));
                }
            }
            (node, _) => done.push(node),
        }
    }
    *nodes = done;
    Ok(())
}

/// A statement, in a branch if it has a predicate. First values of reductions are given without.
fn under_predicate(analysis: &Analysis<'_>, mut statement: Statement) -> Node {
    let info = statement.of.info(analysis);
    let is_first_value = matches!(info.execution.part.part, Part::Init(_));
    let predicate = analysis.instruction(info).predicate.clone().filter(|_| !is_first_value);
    let Some(predicate) = predicate else { return Node::Statement(statement) };
    let of = statement.of.clone();
    let repeated = std::mem::take(&mut statement.repeated);
    let loads = repeated.into_iter().map(|access| (of.clone(), vec![access])).collect();
    Node::Branch(Branch { predicate, loads, then: vec![Node::Statement(statement)], otherwise: Vec::new() })
}

/// Joins a branch with the one before it, or returns it as it is.
fn joined(analysis: &Analysis<'_>, last: &mut Branch, next: Branch) -> Result<Option<Branch>, Diagnostic> {
    let typed = |predicate| analysis.types(DType::I32).values.typed(predicate, DType::Bool, None);
    let (first, second) = (typed(&last.predicate)?, typed(&next.predicate)?);
    let negates = |a: &Typed, b: &Typed| match &a.kind {
        TypedKind::Unary(UnaryOp::Not, a) => is_same(analysis, a, b),
        _ => false,
    };
    let is_other = match is_same(analysis, &first, &second) {
        true => false,
        false if negates(&first, &second) || negates(&second, &first) => true,
        false => return Ok(Some(next)),
    };
    let mut read = next.predicate.reads();
    for Access { array, index } in next.loads.iter().flat_map(|(_, names)| names) {
        read.insert(array.clone());
        read.extend(index.iter().flat_map(Expr::reads));
    }
    read.extend(last.predicate.reads());
    if last.writes(analysis).iter().any(|name| read.contains(name)) {
        return Ok(Some(next));
    }
    for (of, names) in next.loads {
        let is_one = |known: &Access| names.iter().any(|access| is_same_element(analysis, known, access));
        match last.loads.iter_mut().find(|(_, known)| known.iter().any(is_one)) {
            Some((_, known)) => known.extend(names),
            None => last.loads.push((of, names)),
        }
    }
    let [then, otherwise] = match is_other {
        true => [&mut last.otherwise, &mut last.then],
        false => [&mut last.then, &mut last.otherwise],
    };
    then.extend(next.then);
    otherwise.extend(next.otherwise);
    Ok(None)
}

/// Whether two typed expressions of one place have the same value there. Results of reductions,
/// which differ from instruction to instruction, do not count as the same.
fn is_same(analysis: &Analysis<'_>, a: &Typed, b: &Typed) -> bool {
    let all = |a: &[Typed], b: &[Typed]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(analysis, a, b))
    };
    let one = |a: &Typed, b: &Typed| is_same(analysis, a, b);
    a.dtype == b.dtype
        && match (&a.kind, &b.kind) {
            (TypedKind::Constant(_), TypedKind::Constant(_)) => a.kind == b.kind,
            (TypedKind::Name(a), TypedKind::Name(b)) => {
                a == b || is_same_index(analysis, &Expr::name(a.clone()), &Expr::name(b.clone()))
            }
            (TypedKind::Element { access: a, .. }, TypedKind::Element { access: b, .. }) => {
                is_same_element(analysis, a, b)
            }
            (TypedKind::Unary(p, a), TypedKind::Unary(q, b)) => p == q && one(a, b),
            (TypedKind::Convert(a), TypedKind::Convert(b)) | (TypedKind::Cast(a), TypedKind::Cast(b)) => {
                one(a, b)
            }
            (TypedKind::Binary(p, a, c), TypedKind::Binary(q, b, d)) => p == q && one(a, b) && one(c, d),
            (TypedKind::If(a, c, e), TypedKind::If(b, d, f)) => one(a, b) && one(c, d) && one(e, f),
            (
                TypedKind::Call { function: f, precision: p, args: a },
                TypedKind::Call { function: g, precision: q, args: b },
            ) => f == g && p == q && all(a, b),
            _ => false,
        }
}

fn is_same_element(analysis: &Analysis<'_>, a: &Access, b: &Access) -> bool {
    let is_same = |(a, b): (&Expr, &Expr)| a == b || is_same_index(analysis, a, b);
    a.array == b.array && a.index.len() == b.index.len() && a.index.iter().zip(&b.index).all(is_same)
}

/// Whether two integers are one function of canonical names.
fn is_same_index(analysis: &Analysis<'_>, a: &Expr, b: &Expr) -> bool {
    let canonical = |e: &Expr| -> Option<Aff> { analysis.canonical(&e.to_aff()?).ok() };
    canonical(a).is_some_and(|a| canonical(b) == Some(a))
}

impl Branch {
    /// The names of what its statements write.
    fn writes(&self, analysis: &Analysis<'_>) -> BTreeSet<Name> {
        let mut found = BTreeSet::new();
        for nodes in [&self.then, &self.otherwise] {
            Node::visit(nodes, &mut |node| {
                if let Node::Statement(statement) = node {
                    let targets = &analysis.instruction(statement.of.info(analysis)).targets;
                    found.extend(targets.iter().map(|target| target.array.clone()));
                }
            });
        }
        found
    }
}
