//! Programs with one barrier missing.

use loopwright_lowering::program::{Program, Stmt};

/// Removes the barrier with this number from a list of statements; `None` once it is found.
fn remove(body: &mut Vec<Stmt>, number: usize) -> Option<usize> {
    let mut left = number;
    for k in 0..body.len() {
        left = match &mut body[k] {
            Stmt::Sync { .. } if left == 0 => {
                body.remove(k);
                return None;
            }
            Stmt::Sync { .. } => left - 1,
            Stmt::For { body, .. } | Stmt::Collective { body, .. } => remove(body, left)?,
            Stmt::If { body, otherwise, .. } => {
                let left = remove(body, left)?;
                remove(otherwise, left)?
            }
            _ => left,
        };
    }
    Some(left)
}

/// The variants of the program that lack one of its barriers.
pub fn without_each(program: &Program) -> Vec<Program> {
    let mut variants = Vec::new();
    for kernel in 0..program.kernels.len() {
        loop {
            let mut variant = program.clone();
            let number = variants.len();
            let before: usize = program.kernels[..kernel].iter().map(|k| count(&k.body)).sum();
            if remove(&mut variant.kernels[kernel].body, number - before).is_some() {
                break;
            }
            variants.push(variant);
        }
    }
    assert_eq!(variants.len(), program.kernels.iter().map(|k| count(&k.body)).sum::<usize>());
    variants
}

fn count(body: &[Stmt]) -> usize {
    let mut count = 0;
    Stmt::visit(body, &mut |s| count += usize::from(matches!(s, Stmt::Sync { .. })));
    count
}
