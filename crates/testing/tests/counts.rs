//! Counts of random kernels, as declared and transformed, against executions one by one.
//!
//! The expected numbers are found by code that shares nothing with the formulas: points by interval
//! search, conditions by evaluating them, operations by the nodes of untyped expressions, elements
//! as sets.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_counts::{Counts, Direction, Operation, Total, count};
use loopwright_kernel_ir::{
    BinaryOp, Constraint, Expr, Instruction, Lookup, LoopKernel, Name, Part, UnaryOp, UpdateOp,
};
use loopwright_testing::{
    affine,
    brute::points::points,
    case::{self, Case, Refusals},
    kernels,
};

type Values = BTreeMap<Name, i64>;

/// What a run does. Conditions that depend on data count on both sides.
#[derive(Default)]
struct Expected {
    parts: BTreeMap<String, i128>,
    operations: BTreeMap<Operation, i128>,
    accesses: BTreeMap<(Name, Direction), i128>,
    /// `None` where a subscript depends on data.
    cells: BTreeMap<(Name, Direction), Option<BTreeSet<Vec<i64>>>>,
}

fn integer(e: &Expr, at: &Values) -> Option<i64> {
    Some(match e {
        Expr::Int(v) => *v,
        Expr::Name(n) => *at.get(n)?,
        Expr::Unary(UnaryOp::Neg, a) => -integer(a, at)?,
        Expr::Cast(to, a) => {
            let (to, value) = (to.known()?, integer(a, at)?);
            (to.is_integer() && (value >= 0 || !to.is_unsigned())).then_some(value)?
        }
        Expr::Binary(op, a, b) => {
            let (a, b) = (integer(a, at)?, integer(b, at)?);
            match op {
                BinaryOp::Add => a + b,
                BinaryOp::Sub => a - b,
                BinaryOp::Mul => a * b,
                BinaryOp::FloorDiv if b > 0 => a.div_euclid(b),
                BinaryOp::Mod if b > 0 => a.rem_euclid(b),
                _ => return None,
            }
        }
        _ => return None,
    })
}

fn truth(e: &Expr, at: &Values) -> Option<bool> {
    use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
    Some(match e {
        Expr::Bool(b) => *b,
        Expr::Unary(UnaryOp::Not, a) => !truth(a, at)?,
        Expr::Binary(And, a, b) => match (truth(a, at), truth(b, at)) {
            (Some(false), _) | (_, Some(false)) => false,
            (a, b) => a? && b?,
        },
        Expr::Binary(Or, a, b) => truth(a, at)? || truth(b, at)?,
        Expr::Binary(op @ (Lt | Le | Gt | Ge | Eq | Ne), a, b) => {
            let order = integer(a, at)?.cmp(&integer(b, at)?);
            match op {
                Lt => order.is_lt(),
                Le => order.is_le(),
                Gt => order.is_gt(),
                Ge => order.is_ge(),
                Eq => order.is_eq(),
                _ => order.is_ne(),
            }
        }
        _ => return None,
    })
}

impl Expected {
    /// Evaluates an expression at a point; `values` inside of subscripts is false.
    fn evaluate(&mut self, e: &Expr, at: &Values, value: bool) {
        let mut operation = None;
        match e {
            Expr::Reduce(_) => return,
            Expr::If(c, a, b) => {
                self.evaluate(c, at, value);
                let chosen = truth(c, at);
                if chosen != Some(false) {
                    self.evaluate(a, at, value);
                }
                if chosen != Some(true) {
                    self.evaluate(b, at, value);
                }
                operation = Some(Operation::Select);
            }
            Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                self.evaluate(a, at, value);
                if truth(a, at) != Some(*op == BinaryOp::Or) {
                    self.evaluate(b, at, value);
                }
                operation = Some(Operation::Logic);
            }
            Expr::Subscript(access) => {
                for s in &access.index {
                    self.evaluate(s, at, false);
                }
                self.access(&access.array, &access.index, Direction::Load, at);
            }
            _ => {
                e.each_child(&mut |child| self.evaluate(child, at, value));
                operation = kind(e);
            }
        }
        if value && let Some(operation) = operation {
            *self.operations.entry(operation).or_default() += 1;
        }
    }

    fn access(&mut self, array: &Name, index: &[Expr], direction: Direction, at: &Values) {
        if index.is_empty() {
            return;
        }
        *self.accesses.entry((array.clone(), direction)).or_default() += 1;
        // Elements that are updated are among those that are written.
        let side = if direction == Direction::Update { Direction::Store } else { direction };
        let key = (array.clone(), side);
        let cell: Option<Vec<i64>> = index.iter().map(|e| integer(e, at)).collect();
        let cells = self.cells.entry(key).or_insert_with(|| Some(BTreeSet::new()));
        match cell {
            Some(cell) => {
                if let Some(cells) = cells {
                    cells.insert(cell);
                }
            }
            None => *cells = None,
        }
    }
}

fn kind(e: &Expr) -> Option<Operation> {
    use BinaryOp::*;
    Some(match e {
        Expr::Unary(UnaryOp::Neg, a) if matches!(**a, Expr::Int(_)) => return None,
        Expr::Unary(UnaryOp::Neg, _) => Operation::Neg,
        Expr::Unary(UnaryOp::Not, _) => Operation::Logic,
        Expr::Unary(UnaryOp::BitNot, _) => Operation::Bits,
        Expr::Binary(op, ..) => match op {
            Add | Sub => Operation::Add,
            Mul => Operation::Mul,
            Div | FloorDiv => Operation::Div,
            Mod => Operation::Mod,
            Lt | Le | Gt | Ge | Eq | Ne => Operation::Compare,
            BitAnd | BitOr | BitXor | Shl | Shr => Operation::Bits,
            And | Or => return None,
        },
        Expr::Call { function, .. } if !["lowest", "highest"].contains(&function.as_str()) => {
            Operation::Call(function.clone())
        }
        _ => return None,
    })
}

/// What combines an element with the value of an update.
fn combination(update: &UpdateOp) -> Operation {
    match update {
        UpdateOp::Sum => Operation::Add,
        UpdateOp::Min | UpdateOp::Max => Operation::Call(Name::new(update.name())),
        UpdateOp::And | UpdateOp::Or => Operation::Bits,
        UpdateOp::By(_) => unreachable!("counted by its expressions"),
    }
}

/// Every execution of a kernel; `None` if bounds depend on data or there are too many.
fn run(kernel: &LoopKernel, sizes: &Values) -> Option<Expected> {
    let lookup = Lookup::new(kernel);
    let mut expected = Expected::default();
    for instruction in &kernel.instructions {
        for part in kernel.parts(instruction) {
            let inames = lookup.part_inames(&part);
            let rows: Vec<Constraint> =
                lookup.instances(&inames).iter().map(|c| lookup.expand_constraint(c).unwrap()).collect();
            let mut runs = 0;
            for point in points(&rows, &inames, sizes).ok()? {
                let mut at = sizes.clone();
                at.extend(inames.iter().cloned().zip(point));
                // Definitions refer to inames that were defined later.
                for d in kernel.definitions.iter().rev() {
                    if let Some(value) = d.value.eval_in(&at) {
                        at.insert(d.iname.clone(), value);
                    }
                }
                runs += i128::from(execute(kernel, &mut expected, instruction, part.part, &at));
            }
            *expected.parts.entry(part.to_string()).or_default() += runs;
        }
    }
    Some(expected)
}

fn execute(kernel: &LoopKernel, expected: &mut Expected, i: &Instruction, part: Part, at: &Values) -> bool {
    if let Some(predicate) = &i.predicate {
        match truth(predicate, at) {
            Some(false) => return false,
            Some(true) => {}
            None if matches!(part, Part::Whole | Part::Finish) => expected.evaluate(predicate, at, true),
            None => {}
        }
    }
    match part {
        Part::Init(_) => {}
        Part::Update(n) => {
            let reduce = &i.reductions()[n];
            reduce.args.iter().for_each(|e| expected.evaluate(e, at, true));
            let op = kernel.operator(&reduce.op).unwrap();
            let none = Values::new();
            op.lift.iter().chain(&op.combine).for_each(|e| expected.evaluate(e, &none, true));
        }
        Part::Whole | Part::Finish => {
            expected.evaluate(&i.value, at, true);
            let direction = match &i.update {
                Some(UpdateOp::By(operator)) => {
                    let op = kernel.operator(operator).unwrap();
                    op.lift
                        .iter()
                        .chain(&op.combine)
                        .for_each(|e| expected.evaluate(e, &Values::new(), true));
                    Direction::Update
                }
                Some(update) => {
                    *expected.operations.entry(combination(update)).or_default() += 1;
                    Direction::Update
                }
                None => Direction::Store,
            };
            for target in &i.targets {
                target.index.iter().for_each(|e| expected.evaluate(e, at, false));
                expected.access(&target.array, &target.index, direction, at);
            }
        }
    }
    true
}

/// How many formulas there were, and the refusals by code.
#[derive(Default)]
struct Tally {
    formulas: usize,
    at_most: usize,
    refused: BTreeMap<&'static str, (usize, String)>,
}

impl Tally {
    fn see(&mut self, total: &Total) -> bool {
        match &total.formula {
            Ok(_) => {
                self.formulas += 1;
                self.at_most += usize::from(total.at_most);
                true
            }
            Err(d) => {
                self.refused.entry(d.code).or_insert((0, d.message.clone())).0 += 1;
                false
            }
        }
    }
}

fn holds(total: &Total, found: i128, expected: i128) -> bool {
    found == expected || (total.at_most && found > expected)
}

fn compare(kernel: &LoopKernel, counts: &Counts, sizes: &Values) {
    let Some(expected) = run(kernel, sizes) else { return };
    let of = |name: &Name| sizes.get(name).copied();
    let fail = |what: &str, found: i128, expected: i128, total: &Total| {
        let formula = total.formula.as_ref().unwrap();
        panic!("{what} at {sizes:?}: {found}, not {expected}, by {formula}\n{kernel}")
    };
    for p in &counts.parts {
        if let Some(found) = p.total.eval(&of) {
            let expected = expected.parts.get(&p.part.to_string()).copied().unwrap_or(0);
            if !holds(&p.total, found, expected) {
                fail(&p.part.to_string(), found, expected, &p.total);
            }
        }
    }
    // Sums over types and strides, which the expected numbers do not tell apart.
    let mut operations: BTreeMap<&Operation, Vec<&Total>> = BTreeMap::new();
    for o in &counts.operations {
        if !matches!(o.operation, Operation::Convert | Operation::FusedMulAdd) {
            operations.entry(&o.operation).or_default().push(&o.total);
        }
    }
    let sum = |totals: &[&Total]| totals.iter().map(|t| t.eval(&of)).sum::<Option<i128>>();
    for (operation, totals) in &operations {
        let Some(found) = sum(totals) else { continue };
        let all = Total { formula: totals[0].formula.clone(), at_most: totals.iter().any(|t| t.at_most) };
        let expected = expected.operations.get(operation).copied().unwrap_or(0);
        if !holds(&all, found, expected) {
            fail(&operation.to_string(), found, expected, &all);
        }
    }
    for operation in expected.operations.keys() {
        assert!(operations.contains_key(operation), "{operation} was not found\n{kernel}");
    }
    let mut accesses: BTreeMap<(&Name, Direction), Vec<&Total>> = BTreeMap::new();
    for a in &counts.accesses {
        accesses.entry((&a.array, a.direction)).or_default().push(&a.total);
    }
    for ((array, direction), totals) in &accesses {
        let Some(found) = sum(totals) else { continue };
        let all = Total { formula: totals[0].formula.clone(), at_most: totals.iter().any(|t| t.at_most) };
        let expected = expected.accesses.get(&((*array).clone(), *direction)).copied().unwrap_or(0);
        if !holds(&all, found, expected) {
            fail(&format!("{direction} {array}"), found, expected, &all);
        }
    }
    for (array, direction) in expected.accesses.keys() {
        assert!(accesses.contains_key(&(array, *direction)), "{direction} {array} was not found\n{kernel}");
    }
    for f in &counts.footprints {
        let Some(found) = f.total.eval(&of) else { continue };
        let cells = expected.cells.get(&(f.array.clone(), f.direction));
        let expected = match cells {
            None => 0,
            Some(Some(cells)) => cells.len() as i128,
            Some(None) => panic!("the elements of `{}` depend on data\n{kernel}", f.array),
        };
        if !holds(&f.total, found, expected) {
            fail(&format!("elements of {} by {}", f.array, f.direction), found, expected, &f.total);
        }
    }
}

fn check(kernel: &LoopKernel, tally: &mut Tally) {
    let counts = count(kernel).unwrap_or_else(|d| panic!("{d}\n{kernel}"));
    for total in counts
        .parts
        .iter()
        .map(|p| &p.total)
        .chain(counts.operations.iter().map(|o| &o.total))
        .chain(counts.accesses.iter().map(|a| &a.total))
        .chain(counts.footprints.iter().map(|f| &f.total))
    {
        tally.see(total);
    }
    for sizes in case::sizes() {
        let assumed = kernel.assumptions.iter().all(|c| c.holds(&|n| sizes.get(n).copied()) == Some(true));
        if assumed {
            compare(kernel, &counts, &sizes);
        }
    }
}

fn report(what: &str, tally: &Tally) {
    println!("{what}: {} formulas, {} of them at most", tally.formulas, tally.at_most);
    for (code, (n, example)) in &tally.refused {
        println!("  {n} {code}: {example}");
    }
}

#[test]
fn random_kernels_are_counted_exactly() {
    let (mut general, mut dense) = (Tally::default(), Tally::default());
    for seed in 0..80 {
        check(&LoopKernel::parse(&kernels::kernel(seed).text).unwrap(), &mut general);
        check(&LoopKernel::parse(&affine::kernel(seed).text).unwrap(), &mut dense);
    }
    report("kernels", &general);
    report("dependences", &dense);
    for tally in [&general, &dense] {
        let refused: usize = tally.refused.values().map(|(n, _)| n).sum();
        assert!(tally.formulas > 500 && refused * 5 < tally.formulas);
    }
}

#[test]
fn transformed_kernels_are_counted_exactly() {
    let mut tally = Tally::default();
    for seed in 0..24 {
        let case = Case::random(seed, &mut Refusals::default());
        check(&case.build().unwrap().transformed, &mut tally);
    }
    report("transformed", &tally);
    let refused: usize = tally.refused.values().map(|(n, _)| n).sum();
    assert!(tally.formulas > 500 && refused * 5 < tally.formulas);
}

/// The boxes of tensor-core instructions, whose coordinates are cut by quotients and remainders of
/// lanes, are counted as the product before, without delay.
#[test]
fn fragments_are_counted_as_the_product() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join("examples").join(path)).unwrap();
    let kernel = LoopKernel::parse(&read("kernels/matmul_bf16.lw")).unwrap();
    let pipeline = loopwright_transforms::Pipeline::parse(&read("pipelines/matmul_bf16/mma.pipe")).unwrap();
    let counts = count(&pipeline.apply(&kernel).unwrap()).unwrap();
    let update = counts.parts.iter().find(|p| p.part.part == Part::Update(0)).unwrap();
    assert_eq!(update.total.formula.as_ref().unwrap().to_string(), "l*m*n");
}
