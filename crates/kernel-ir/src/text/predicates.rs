//! Reductions in predicates.
//!
//! `y[i] = 1.0 if sum(j, x[i, j]) > 0.0` is read as two instructions: one that assigns the
//! condition to a private truth value, in the loops of the other and directly before it, and one
//! under that value. A conjunction is taken apart, so that its other conditions stay what they are.
//! A condition that consecutive instructions of the same loops share, such as those of an `if`
//! block, is evaluated once; none of them may change what it reads, otherwise it is evaluated
//! again.

use crate::{
    Access, AddressSpace, Array, BinaryOp, DType, Expr, Instruction, KernelData, Name, Role, Type, UnaryOp,
    infer, nest,
    text::{block::Blocks, source_map::SourceMap},
    validate,
};

/// A condition that has been assigned, for the instructions that follow.
struct Assigned {
    condition: Expr,
    name: Name,
}

/// Assigns the conditions with reductions to truth values.
pub(super) fn assign_conditions(data: &mut KernelData, map: &mut SourceMap, blocks: &mut Blocks) {
    let has = |i: &Instruction| i.predicate.as_ref().is_some_and(|p| !p.reductions().is_empty());
    if !data.instructions.iter().any(has) || !validate::structure(data).is_empty() {
        return;
    }
    let mut placed = data.clone();
    infer::infer_temporaries(&mut placed);
    nest::fill_within(&mut placed, &blocks.around);
    let mut taken = data.all_names();
    let around = std::mem::take(&mut blocks.around);
    let negated = std::mem::take(&mut blocks.negated);
    let mut made = Vec::with_capacity(data.instructions.len());
    let mut known: Vec<Assigned> = Vec::new();
    for (k, mut instruction) in std::mem::take(&mut data.instructions).into_iter().enumerate() {
        let within = &placed.instructions[k].within;
        let continues =
            k > 0 && placed.instructions[k - 1].within == *within && around.get(&(k - 1)) == around.get(&k);
        if !continues {
            known.clear();
        }
        if has(&instruction) {
            let mut predicate: Option<Expr> = None;
            for conjunct in instruction.predicate.iter().flat_map(Expr::conjuncts).cloned() {
                let (condition, is_negated) = match &conjunct {
                    Expr::Unary(UnaryOp::Not, inside) => ((**inside).clone(), true),
                    _ => (conjunct.clone(), false),
                };
                let mut kept = conjunct;
                if !condition.reductions().is_empty() {
                    let name = match known.iter().find(|a| a.condition == condition) {
                        Some(assigned) => assigned.name.clone(),
                        None => {
                            let base = format!("{}_if", instruction.id);
                            let mut name = Name::new(&base);
                            let mut number = 1;
                            while !taken.insert(name.clone()) {
                                number += 1;
                                name = Name::new(format!("{base}_{number}"));
                            }
                            let dtype = Type::Known(DType::Bool);
                            data.temporaries.push(Array::new(
                                &name,
                                dtype,
                                Vec::new(),
                                AddressSpace::Private,
                            ));
                            map.insert_instruction(made.len());
                            if let Some(loops) = around.get(&k) {
                                blocks.around.insert(made.len(), loops.clone());
                            }
                            made.push(Instruction {
                                within: within.clone(),
                                ..Instruction::new(
                                    &name,
                                    vec![Access::new(&name, Vec::new())],
                                    condition.clone(),
                                    Role::Does(name.clone()),
                                )
                            });
                            known.push(Assigned { condition, name: name.clone() });
                            name
                        }
                    };
                    kept = match is_negated {
                        true => Expr::Unary(UnaryOp::Not, Expr::Name(name).into()),
                        false => Expr::Name(name),
                    };
                }
                predicate = Some(match predicate {
                    Some(before) => Expr::binary(BinaryOp::And, before, kept),
                    None => kept,
                });
            }
            instruction.predicate = predicate;
            // Those that only the condition mentions stay.
            instruction.within.clone_from(within);
        }
        let written: Vec<&Name> = instruction.targets.iter().map(|t| &t.array).collect();
        known.retain(|a| {
            let read = a.condition.reads();
            !written.iter().any(|n| read.contains(*n))
        });
        if let Some(loops) = around.get(&k) {
            blocks.around.insert(made.len(), loops.clone());
        }
        if negated.contains(&k) {
            blocks.negated.push(made.len());
        }
        made.push(instruction);
    }
    data.instructions = made;
}
