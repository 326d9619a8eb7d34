//! Places the declarations of variables, and drops those that are not needed.
//!
//! Until nothing changes any more, these are done in turn:
//!
//! * a named index that one sum of another index reads, and a coordinate at which one loop begins,
//!   are put there;
//! * a variable that is a copy of another gives way to it;
//! * variables that nothing reads, and empty loops and guards, are dropped.
//!
//! A variable is declared in the innermost body that holds all its uses: by its first assignment if
//! that is directly in that body, otherwise just before its first use; not inside a loop if its
//! value may come from an earlier iteration.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::Name;
use loopwright_target::Language;

use crate::{
    program::{BinOp, Destination, Step, Stmt, Value, ValueKind, Var, VarId},
    write::fold::{add, sub},
};

/// One step into a body: the child's position, and which of its bodies.
type Path = Vec<(usize, u8)>;

#[derive(Clone, Default)]
struct Uses {
    /// Body that holds all uses so far; `None` before the first use.
    common: Option<Path>,
    /// The first use: its body, and its position there.
    first: Path,
    first_child: usize,
    first_is_set: bool,
    declared: bool,
    sets: usize,
    reads: usize,
}

/// Drops what has no effect, and declares variables.
pub(crate) fn finish(body: &mut Vec<Stmt>, vars: &mut [Var]) {
    loop {
        let uses = collect(body, vars.len());
        if !prune(body, &uses)
            && !inline_sums(body, &uses, vars)
            && !merge_copies(body, &uses)
            && !inline_coordinates(body, &uses)
        {
            break;
        }
    }
    let uses = collect(body, vars.len());
    let mut declares: Vec<(Path, usize, VarId)> = Vec::new();
    for (number, u) in uses.iter().enumerate() {
        let Some(common) = &u.common else { continue };
        if u.declared {
            continue;
        }
        let var = VarId(number);
        if u.first_is_set && u.first == *common {
            if let Some(stmt) = child(body, common, u.first_child)
                && let Stmt::Set { var, value, leaf } = stmt.clone()
            {
                *stmt = Stmt::Let { var, value, leaf };
                vars[number].mutable = u.sets > 1;
            }
        } else {
            let in_loop = inside_loop(body, common);
            let (path, at) = if in_loop || u.first.len() < common.len() {
                (Path::new(), u.first.first().map_or(u.first_child, |(k, _)| *k))
            } else {
                let at = u.first.get(common.len()).map_or(u.first_child, |(k, _)| *k);
                (common.clone(), at)
            };
            declares.push((path, at, var));
        }
    }
    // Later positions first, so that earlier ones stay valid.
    declares.sort_by(|a, b| (&a.0, a.1, a.2).cmp(&(&b.0, b.1, b.2)));
    for (path, at, var) in declares.into_iter().rev() {
        if let Some(target) = body_at(body, &path) {
            let at = at.min(target.len());
            target.insert(at, Stmt::Declare(var));
        }
    }
}

fn body_at<'a>(body: &'a mut Vec<Stmt>, path: &[(usize, u8)]) -> Option<&'a mut Vec<Stmt>> {
    let Some(((k, branch), rest)) = path.split_first() else { return Some(body) };
    body_at(body.get_mut(*k)?.bodies_mut().nth(usize::from(*branch))?, rest)
}

fn child<'a>(body: &'a mut Vec<Stmt>, path: &[(usize, u8)], k: usize) -> Option<&'a mut Stmt> {
    body_at(body, path)?.get_mut(k)
}

fn inside_loop(body: &[Stmt], path: &[(usize, u8)]) -> bool {
    let Some(((k, branch), rest)) = path.split_first() else { return false };
    match body.get(*k) {
        Some(Stmt::For { .. }) => true,
        Some(stmt) => stmt.bodies().nth(usize::from(*branch)).is_some_and(|body| inside_loop(body, rest)),
        None => false,
    }
}

fn collect(body: &[Stmt], count: usize) -> Vec<Uses> {
    let mut uses = vec![Uses::default(); count];
    walk(body, &mut Vec::new(), &mut uses);
    uses
}

fn walk(body: &[Stmt], path: &mut Path, uses: &mut [Uses]) {
    for (k, stmt) in body.iter().enumerate() {
        let mut mention = |var: VarId, set: bool, reads: bool| {
            let u = &mut uses[var.0];
            match &mut u.common {
                None => {
                    u.common = Some(path.clone());
                    u.first = path.clone();
                    u.first_child = k;
                    u.first_is_set = set && !reads;
                }
                Some(common) => {
                    let shared = common.iter().zip(path.iter()).take_while(|(a, b)| a == b).count();
                    common.truncate(shared);
                }
            }
        };
        let mut read = Vec::new();
        stmt.visit_values(&mut |v| {
            if let ValueKind::Var(var) = v.kind {
                read.push(var);
            }
        });
        for var in &read {
            mention(*var, false, true);
        }
        let assigned: Vec<VarId> = stmt.assigned().collect();
        let declared: Vec<VarId> = stmt.declared().collect();
        for var in declared.iter().filter(|var| !assigned.contains(var)).chain(&assigned) {
            mention(*var, assigned.contains(var), read.contains(var));
        }
        for var in read {
            uses[var.0].reads += 1;
        }
        for var in assigned {
            uses[var.0].sets += 1;
        }
        for var in declared {
            uses[var.0].declared = true;
        }
        for (branch, inner) in (0..).zip(stmt.bodies()) {
            path.push((k, branch));
            walk(inner, path, uses);
            path.pop();
        }
    }
}

/// Drops unread variables and empty bodies; whether anything was dropped.
fn prune(body: &mut Vec<Stmt>, uses: &[Uses]) -> bool {
    let mut changed = false;
    body.retain_mut(|stmt| {
        let (mut has_bodies, mut is_empty) = (false, true);
        for inner in stmt.bodies_mut() {
            changed |= prune(inner, uses);
            has_bodies = true;
            is_empty &= inner.is_empty();
        }
        let keep = match stmt.destination() {
            _ if has_bodies => !is_empty,
            Some(Destination::Var(var)) => uses[var.0].reads > 0,
            Some(Destination::Elements(_)) | None => true,
        };
        changed |= !keep;
        keep
    });
    changed
}

/// Inlines a named index into the sum that is its only reader, if that is a named index of the same
/// body: `i_inner = ir*16 + it` and `i = i_outer*64 + i_inner` become `i = i_outer*64 + ir*16 +
/// it`. Whether anything changed.
fn inline_sums(body: &mut Vec<Stmt>, uses: &[Uses], vars: &[Var]) -> bool {
    let mut changed = false;
    let mut k = 0;
    while k < body.len() {
        let single = match &body[k] {
            Stmt::Let { var, value, leaf: None }
                if uses[var.0].reads == 1 && uses[var.0].sets == 1 && is_index(value, vars) =>
            {
                Some((*var, value.clone()))
            }
            _ => None,
        };
        let reader = single.and_then(|(var, value)| {
            body[k + 1..].iter_mut().find_map(|stmt| match stmt {
                Stmt::Let { value: sum, leaf: None, .. } => {
                    Some(std::mem::replace(sum, with_term(sum, var, &value)?))
                }
                _ => None,
            })
        });
        if reader.is_some() {
            body.remove(k);
            changed = true;
            continue;
        }
        for inner in body[k].bodies_mut() {
            changed |= inline_sums(inner, uses, vars);
        }
        k += 1;
    }
    changed
}

/// A coordinate that is read only once, by the start of a loop or by a named index, is inlined
/// there: `for (int i = threadIdx.x; ...)`, `row = r*16 + threadIdx.y`. Whether anything changed.
fn inline_coordinates(body: &mut Vec<Stmt>, uses: &[Uses]) -> bool {
    for k in 0..body.len() {
        let (before, after) = body.split_at_mut(k + 1);
        if let Some(Stmt::Let { var, value, leaf: None }) = before.last()
            && matches!(value.kind, ValueKind::ThreadIdx(_) | ValueKind::BlockIdx(_))
            && uses[var.0].reads == 1
            && read_from(after, *var, value)
        {
            body.remove(k);
            return true;
        }
    }
    false
}

/// Replaces the variable by its value where a loop starts from it, or a named index is a sum with
/// it.
fn read_from(body: &mut [Stmt], var: VarId, value: &Value) -> bool {
    body.iter_mut().any(|stmt| match stmt {
        Stmt::Let { value: sum, leaf: None, .. } => match with_term(sum, var, value) {
            Some(new) => {
                *sum = new;
                true
            }
            None => false,
        },
        Stmt::For { lower, step: Step::Add(_), body, .. } => match with_term(lower, var, value) {
            Some(start) => {
                *lower = start;
                true
            }
            None => read_from(body, var, value),
        },
        Stmt::If { body, otherwise, .. } => read_from(body, var, value) || read_from(otherwise, var, value),
        _ => false,
    })
}

/// `next = value; acc = next;` becomes `acc = value;` where nothing else reads `next`. Whether
/// anything changed.
fn merge_copies(body: &mut Vec<Stmt>, uses: &[Uses]) -> bool {
    let mut changed = false;
    for k in (1..body.len()).rev() {
        let (before, from) = body.split_at_mut(k);
        let Some(Stmt::Let { var, value, .. }) = before.last() else { continue };
        if let Stmt::Set { value: copy, .. }
        | Stmt::Store { value: copy, .. }
        | Stmt::Update { value: copy, .. } = &mut from[0]
            && copy.kind == ValueKind::Var(*var)
            && uses[var.0].reads == 1
            && uses[var.0].sets == 1
        {
            *copy = value.clone();
            body.remove(k - 1);
            changed = true;
        }
    }
    for stmt in body {
        for inner in stmt.bodies_mut() {
            changed |= merge_copies(inner, uses);
        }
    }
    changed
}

/// Whether a value consists of integers that do not change.
fn is_index(value: &Value, vars: &[Var]) -> bool {
    let own = match &value.kind {
        ValueKind::Var(var) => !vars[var.0].mutable,
        ValueKind::Int(_) | ValueKind::Param(_) | ValueKind::BlockIdx(_) | ValueKind::ThreadIdx(_) => true,
        ValueKind::Binary(..) => true,
        _ => false,
    };
    own && value.dtype.is_integer() && value.children().iter().all(|v| is_index(v, vars))
}

/// A sum with the variable that is one of its terms replaced by a value.
fn with_term(sum: &Value, var: VarId, value: &Value) -> Option<Value> {
    match &sum.kind {
        ValueKind::Var(v) if *v == var => Some(value.clone()),
        ValueKind::Binary(BinOp::Add, a, b) => match with_term(a, var, value) {
            Some(a) => Some(add(a, (**b).clone())),
            None => Some(add((**a).clone(), with_term(b, var, value)?)),
        },
        ValueKind::Binary(BinOp::Sub, a, b) => Some(sub(with_term(a, var, value)?, (**b).clone())),
        _ => None,
    }
}

/// Gives variables names that are unique among the variables in scope and differ from `taken`.
/// Disjoint scopes may reuse a name, as loops do for their counters.
pub(crate) fn rename(body: &[Stmt], vars: &mut [Var], taken: &BTreeSet<String>, language: Language) {
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    rename_body(body, vars, taken, language, &mut used);
}

fn rename_body(
    body: &[Stmt],
    vars: &mut [Var],
    taken: &BTreeSet<String>,
    language: Language,
    used: &mut BTreeMap<String, usize>,
) {
    let mut declared = Vec::new();
    let name = |vars: &mut [Var], var: VarId, used: &mut BTreeMap<String, usize>| {
        let is_taken = |name: &str| taken.contains(name) || used.contains_key(name);
        let name = language.legal_like(&vars[var.0].name, is_taken);
        used.insert(name.clone(), var.0);
        vars[var.0].name = Name::new(&name);
        name
    };
    // The names of a scope are chosen before those of nested scopes, so that a nested name does not
    // shadow one that is declared later. A collective is printed without braces: its statements
    // belong to the scope around it.
    let body = flat(body);
    for stmt in &body {
        // The counter of a loop belongs to its body.
        for var in stmt.declared().filter(|_| stmt.bodies().next().is_none()) {
            declared.push(name(vars, var, used));
        }
    }
    for stmt in body {
        match stmt {
            Stmt::For { var, body, .. } => {
                let counter = name(vars, *var, used);
                rename_body(body, vars, taken, language, used);
                used.remove(&counter);
            }
            Stmt::If { body, otherwise, .. } => {
                rename_body(body, vars, taken, language, used);
                rename_body(otherwise, vars, taken, language, used);
            }
            // Its body is in the scope around, as that of a collective.
            Stmt::Atom { contract, .. } => rename_body(contract, vars, taken, language, used),
            _ => {}
        }
    }
    for name in declared {
        used.remove(&name);
    }
}

/// The statements of a scope, including those of collectives.
fn flat(body: &[Stmt]) -> Vec<&Stmt> {
    let mut found = Vec::new();
    for stmt in body {
        match stmt {
            Stmt::Collective { body, .. } => found.extend(flat(body)),
            Stmt::Atom { body, .. } => {
                found.push(stmt);
                found.extend(flat(body));
            }
            other => found.push(other),
        }
    }
    found
}
