//! Realisations are proved, and what differs from them is not: each premise of each theorem is
//! broken by hand.

use crate::common;

use std::sync::Arc;

use common::{
    Change, each_is_noticed, end, instruction, one_more, position, realized, reduction, renamed, transformed,
};
use loopwright_kernel_ir::{
    Aff, BinaryOp, Constraint, DType, Definition, Diagnostic, Dim, Expr, Fact, KernelData, LoopKernel, Name,
    Role, Share, Tag,
};
use loopwright_realize::{Realized, Wanted, realize};
use loopwright_target::Target;

const SUM: &str = "\
kernel k(x: f32[m, n], w: f32[m], out: f32[m], n: i32, m: i32)
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
domain { [r] : 0 <= r < m }
out[s] = 2.0 * sum(i, x[s, i]) if s % 2 == 0 {id=total}
w[r] = 1.0 {id=other}
";

const BLOCKS: &str = "\
split_iname(i, 256)
tag_inames(s: block.x, i_outer: block.y, i_inner: thread.x, r: block.x)
";

#[test]
fn reductions_in_two_stages() {
    let (before, after) = realized("two_stages", SUM, BLOCKS);
    each_is_noticed(
        &before,
        &after,
        &[
            (
                "the last block is not joined",
                &|data| {
                    let joined = data.domains.iter().flat_map(|d| &d.inames).find(|i| i.ends_with("_join"));
                    let joined = joined.unwrap().clone();
                    end(data, &joined, |aff| aff.add_constant(-256).unwrap());
                },
                "does not read each cell",
            ),
            (
                "a block is joined twice",
                &|data| {
                    let one = data.definitions.iter_mut().find(|d| d.iname.ends_with("_join")).unwrap();
                    let inner = one.value.names().into_iter().find(|n| n.ends_with("_inner")).unwrap();
                    one.value = one.value.sub(&Aff::var(&inner)).unwrap();
                },
                "does not read each cell",
            ),
            (
                "results of other rows are joined",
                &|data| {
                    let own = instruction(data, "total");
                    own.value = own.value.substitute(&|_| None);
                    let Expr::Binary(op, a, sum) = own.value.clone() else { panic!() };
                    let Expr::Reduce(reduce) = &*sum else { panic!() };
                    let mut reduce = (**reduce).clone();
                    reduce.args = reduce.args.iter().map(|e| renamed(e, "s", &one_more("s"))).collect();
                    own.value = Expr::Binary(op, a, Expr::Reduce(Arc::new(reduce)).into());
                },
                "reads results of others",
            ),
            (
                "the last point is lost",
                &|data| end(data, "i", |aff| aff.add_constant(-1).unwrap()),
                "has other executions",
            ),
            (
                "a point beyond the row is read",
                &|data| {
                    reduction(data, "total_partial", |r| {
                        r.args = vec![renamed(&r.args[0], "i", &one_more("i"))]
                    })
                },
                "does not reduce what",
            ),
            (
                "the partial results begin elsewhere",
                &|data| {
                    let op = data.reductions.iter_mut().find(|o| *o.name == *"sum_partial").unwrap();
                    op.neutral = vec![Expr::Int(1)];
                },
                "does not reduce what",
            ),
            (
                "the join begins elsewhere",
                &|data| {
                    let op = data.reductions.iter_mut().find(|o| *o.name == *"sum_join").unwrap();
                    op.neutral = vec![Expr::Int(1)];
                },
                "does not join what",
            ),
            (
                "the join adds what it reads twice",
                &|data| {
                    let op = data.reductions.iter_mut().find(|o| *o.name == *"sum_join").unwrap();
                    op.lift = vec![Expr::binary(BinaryOp::Add, op.lift[0].clone(), op.lift[0].clone())];
                },
                "does not join what",
            ),
            (
                "partial results lose digits",
                &|data| {
                    let array = data.temporaries.iter_mut().find(|t| *t.name == *"out_partial").unwrap();
                    array.dtype = DType::F16.into();
                },
                "in other types",
            ),
            (
                "all blocks store in one cell",
                &|data| instruction(data, "total_partial").targets[0].index[1] = Expr::Int(0),
                "no number of a result",
            ),
            (
                "two rows store in one cell",
                &|data| {
                    let target = &mut instruction(data, "total_partial").targets[0];
                    target.index[0] = target.index[1].clone();
                },
                "several results",
            ),
            (
                "partial results of all rows",
                &|data| instruction(data, "total_partial").predicate = None,
                "does not reduce what",
            ),
            (
                "what is joined is used otherwise",
                &|data| {
                    let own = instruction(data, "total");
                    own.value = Expr::binary(BinaryOp::Add, own.value.clone(), Expr::Int(1));
                },
                "does not join what",
            ),
            (
                "it is joined before it is stored",
                &|data| {
                    let at = position(&data.tree, "total_partial.finish");
                    let stored = data.tree.remove(at);
                    data.tree.push(stored);
                },
                "the loop tree",
            ),
            (
                "another instruction",
                &|data| instruction(data, "other").value = Expr::Int(2),
                "not one instruction",
            ),
            (
                "another place",
                &|data| data.tags.retain(|iname, _| **iname != *"r"),
                "has a name that is taken",
            ),
            (
                "another axis",
                &|data| {
                    data.tags.insert(Name::new("r"), Tag::Block(Dim::Z));
                },
                "has a name that is taken",
            ),
            ("another shape", &|data| end(data, "r", |aff| aff.add_constant(-1).unwrap()), "`other`"),
            (
                "an assumption",
                &|data| data.assumptions.push(Constraint::nonneg(Aff::var("n").add_constant(-1).unwrap())),
                "an assumption",
            ),
            (
                "a share of nothing",
                &|data| instruction(data, "total_partial").role = Role::Does(Name::new("total")),
                "says of no instruction",
            ),
            (
                "a share of another instruction",
                &|data| {
                    let role = Role::Realizes { of: Name::new("other"), share: Share::Partial };
                    instruction(data, "total_partial").role = role;
                },
                "does a share of `other`",
            ),
        ],
    );
}

/// What is defined anew has no name of the kernel, not even that of an iname that nothing uses.
#[test]
fn an_iname_of_the_kernel_gets_no_definition() {
    let text = SUM.replacen("domain", "domain { [spare] : 0 <= spare < 4 }\ndomain", 1);
    let (before, after) = realized("two_stages", &text, BLOCKS);
    each_is_noticed(
        &before,
        &after,
        &[(
            "a definition of an iname",
            &|data| {
                data.definitions.push(Definition { iname: Name::new("spare"), value: Aff::var("s") });
            },
            "has a name that is taken",
        )],
    );
}

/// The threads that join partial results are on an axis that the kernel did not use: what other
/// instructions keep in private cells has copies there.
#[test]
fn other_instructions_get_copies_on_a_new_axis() {
    let text = "\
kernel k(x: f32[n], y: f32[1], z: f32[n], n: i32)
domain { [i] : 0 <= i < n }
domain { [r] : 0 <= r < n }
temp own: f32 private
own = x[r] {id=load}
z[r] = own {id=store}
y[0] = sum(i, x[i]) {id=total}
";
    let _ = realized("two_stages", text, "split_iname(i, 4)\ntag_inames(i_outer: block.x)");
}

const ATOMIC: &str = "\
kernel k(x: f32[m, n], y: f32[m], out: f32[m], n: i32, m: i32)
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
domain { [r] : 0 <= r < m }
y[r] = 1.0 {id=other}
out[s] = sum(i, x[s, i]) {id=total, join=atomic}
";

#[test]
fn reductions_by_updates() {
    let (before, after) = realized("updates", ATOMIC, BLOCKS);
    each_is_noticed(
        &before,
        &after,
        &[
            (
                "results begin with one",
                &|data| instruction(data, "total_start").value = Expr::Int(1),
                "neutral element",
            ),
            (
                "zero is added to what results hold",
                &|data| instruction(data, "total_start").atomic = true,
                "neutral element",
            ),
            (
                "the last result has no first value",
                &|data| end(data, "s_start", |aff| aff.add_constant(-1).unwrap()),
                "does not write each cell",
            ),
            (
                "a result more has a first value",
                &|data| end(data, "s_start", |aff| aff.add_constant(1).unwrap()),
                "does not write each cell",
            ),
            (
                "the first values go elsewhere",
                &|data| instruction(data, "total_start").targets[0].index[0] = one_more("s_start"),
                "writes other cells",
            ),
            (
                "only some results have a first value",
                &|data| {
                    let even = Expr::binary(BinaryOp::Mod, Expr::name("s_start"), Expr::Int(2));
                    let even = Expr::binary(BinaryOp::Eq, even, Expr::Int(0));
                    instruction(data, "total_start").predicate = Some(even);
                },
                "under another condition",
            ),
            (
                "first values come last",
                &|data| {
                    let at = position(&data.tree, "total_start");
                    let start = data.tree.remove(at);
                    data.tree.push(start);
                },
                "does not stand before",
            ),
            (
                "other cells are updated",
                &|data| instruction(data, "total").targets[0].index[0] = one_more("s"),
                "does not reduce what",
            ),
            (
                "the last point is lost",
                &|data| end(data, "i", |aff| aff.add_constant(-1).unwrap()),
                "has other points",
            ),
            (
                "another operator",
                &|data| reduction(data, "total", |r| r.op = Name::new("max")),
                "does not reduce what",
            ),
            (
                "blocks that do not update",
                &|data| {
                    let role = Role::Realizes { of: Name::new("total"), share: Share::Partial };
                    instruction(data, "total").role = role;
                },
                "is to update what",
            ),
        ],
    );
}

/// A sum of the library is updated as such, whatever other operators the kernel has.
#[test]
fn operators_of_the_kernel_leave_those_of_the_library_as_they_are() {
    let own = "\
reduction own(v) {
    state s: like v = 1.0
    lift s = v
    combine s = a.s * b.s
    result s
}
";
    let text = ATOMIC.replacen("domain", &format!("{own}domain"), 1);
    let _ = realized("updates", &text, BLOCKS);
}

/// What touches the result in between is put there by hand: validated kernels and steps leave it in
/// its place.
#[test]
fn nothing_comes_between_first_values_and_updates() {
    // One that writes the result, one that reads it, and one that decides which results there are.
    for (other, predicate) in [("out[r] = 1.0", ""), ("y[r] = out[r]", ""), ("y[r] = 1.0", " if y[s] > 0.0")]
    {
        let text = ATOMIC
            .replace("y[r] = 1.0 {id=other}\n", &format!("{other} {{id=other}}\n"))
            .replace("sum(i, x[s, i])", &format!("sum(i, x[s, i]){predicate}"));
        let (before, after) = realized("updates", &text, BLOCKS);
        each_is_noticed(
            &before,
            &after,
            &[(
                "the first value is written too early",
                &|data| {
                    let at = position(&data.tree, "total_start");
                    let start = data.tree.remove(at);
                    data.tree.insert(0, start);
                },
                "between the first value and the updates",
            )],
        );
    }
}

const ROWS: &str = "\
kernel k(x: f32[m, n], y: f32[m, n], out: f32[m], n: i32, m: i32)
assume 1 <= n
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
domain { [r] : 0 <= r < m }
out[s] = sum(i, x[s, i]) {id=total}
y[r, 0] = 1.0 {id=other}
";

const VECTORS: &str = "\
split_iname(i, 128, outer=i_tile, inner=i_rest)
split_iname(i_rest, 4, outer=i_thread, inner=i_vec)
tag_inames(s: block.x, i_thread: thread.x, i_vec: vec)
";

#[test]
fn reductions_along_misaligned_rows() {
    let (before, after) = realized("alignment", ROWS, VECTORS);
    let changes: [Change; 10] = [
        (
            "the row ends where it ended",
            &|data| end(data, "i", |_| Aff::var("n").sub(&Aff::var("i")).unwrap().add_constant(-1).unwrap()),
            "has other points",
        ),
        (
            "the row begins at the aligned address",
            &|data| {
                let domain = data.domains.iter_mut().find(|d| d.inames.iter().any(|i| **i == *"i")).unwrap();
                domain.constraints.retain(|c| c.aff.coefficient(&Name::new("i")) < 0);
                domain.constraints.push(Constraint::nonneg(Aff::var("i")));
            },
            "has other points",
        ),
        (
            "the row is read at the position",
            &|data| {
                reduction(data, "total", |r| r.args = vec![renamed(&r.args[0], "misalign_i", &Expr::Int(0))])
            },
            "more than one iname",
        ),
        (
            "more than a vector may be taken off",
            &|data| {
                let Expr::Binary(_, start, _) = &instruction(data, "find_misalign_i").value else { panic!() };
                let more = Expr::Binary(BinaryOp::BitAnd, start.clone(), Expr::Int(7).into());
                instruction(data, "find_misalign_i").value = more;
            },
            "has other points",
        ),
        (
            "the number is not small",
            &|data| instruction(data, "find_misalign_i").value = Expr::name("s"),
            "does not compute a small number",
        ),
        (
            "the row is read that is written",
            &|data| instruction(data, "other").targets[0].array = Name::new("x"),
            "not one instruction",
        ),
        (
            "it is found after the reduction has begun",
            &|data| {
                let at = position(&data.tree, "find_misalign_i");
                data.tree.swap(at, at + 1);
            },
            "the loop tree",
        ),
        (
            "another operator",
            &|data| reduction(data, "total", |r| r.op = Name::new("max")),
            "does not reduce what",
        ),
        (
            "tiles that overlap",
            &|data| {
                let tile = data.definitions.iter_mut().find(|d| *d.iname == *"i").unwrap();
                tile.value = tile.value.sub(&Aff::var("i_tile")).unwrap();
            },
            "a split has changed",
        ),
        (
            "threads that share what is found",
            &|data| instruction(data, "find_misalign_i").within.clear(),
            "one number for each result",
        ),
    ];
    each_is_noticed(&before, &after, &changes);
}

/// What is not proved is refused, with the rewrite and the premise.
#[test]
fn what_is_not_proved_is_refused() {
    let before = transformed(ATOMIC, BLOCKS);
    let realized = realize(&before, &Target::default(), Wanted::All).unwrap();
    assert!(realized.check().is_ok());
    let mut step = realized.steps()[0].clone();
    step.kernel = step
        .kernel
        .edit(|data| {
            instruction(data, "total_start").value = Expr::Int(1);
            Ok::<(), Diagnostic>(())
        })
        .unwrap();
    let refusal = Realized::of(before, vec![step]).check().unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "error[unproved-realization]: `updates` of `total` is not known to be right: \
         `total_start` does not begin with the neutral element\n  help: report it with the kernel \
         and its pipeline: what a pipeline asks for should be proved"
    );
}

/// Where the premises are not fulfilled nothing is rewritten: another instruction along the row, an
/// operator that does not commute, a row that the kernel writes.
#[test]
fn rows_that_have_to_stay() {
    let count = |text: &str| {
        let kernel = transformed(text, VECTORS);
        realize(&kernel, &Target::default(), Wanted::All).unwrap().steps().len()
    };
    assert_eq!(count(ROWS), 1);
    assert_eq!(count(&ROWS.replace("y[r, 0] = 1.0", "x[r, 0] = 1.0")), 0);
    assert_eq!(count(&ROWS.replace("f32[m, n], y", "f32[m, 4*n], y")), 0);
    let kernel = transformed(ROWS, VECTORS);
    assert_eq!(realize(&kernel, &Target::default(), Wanted::Needed).unwrap().steps().len(), 0);
    let scalar = kernel.edit(|data| {
        data.tags.insert(Name::new("i_vec"), Tag::Ilp);
        Ok::<(), Diagnostic>(())
    });
    assert_eq!(realize(&scalar.unwrap(), &Target::default(), Wanted::All).unwrap().steps().len(), 0);
}

/// Rows whose number goes over two axes of the grid have one axis of the partial results.
#[test]
fn rows_over_two_axes_of_the_grid() {
    let steps = format!(
        "split_iname(s, 65535, outer=s_far, inner=s_near)\n{}",
        BLOCKS.replace("s: block.x", "s_far: block.z, s_near: block.x")
    );
    let plain = SUM.replace("2.0 * sum(i, x[s, i])", "sum(i, x[s, i])");
    let (before, after) = realized("two_stages", &plain, &steps);
    let shape = |of: &LoopKernel| of.temporary("out_partial").expect("partial results").axes.clone();
    let lengths: Vec<String> = shape(&after).iter().map(|axis| axis.length.to_string()).collect();
    assert_eq!(lengths, ["m", "(n + 255) // 256"]);
    fn both(data: &mut KernelData, by: Expr) {
        reduction(data, "total", |r| {
            let Expr::Subscript(read) = &mut r.args[0] else { panic!("no read") };
            read.index[0] = by.clone();
        });
        instruction(data, "total_partial").targets[0].index[0] = by;
    }
    fn sum(factor: i64, inner: &str) -> Expr {
        let outer = Expr::binary(BinaryOp::Mul, Expr::name("s_far"), Expr::Int(factor));
        Expr::binary(BinaryOp::Add, outer, Expr::name(inner))
    }
    each_is_noticed(
        &before,
        &after,
        &[
            ("numbers that overlap", &|data| both(data, sum(65534, "s_near")), "no number of a result"),
            ("numbers that fall", &|data| both(data, sum(-65535, "s_near")), "no number of a result"),
            ("numbers of other things", &|data| both(data, sum(65535, "n")), "no number of a result"),
            ("half of a number", &|data| both(data, Expr::name("s_near")), "several results"),
            (
                "another row is written",
                &|data| instruction(data, "total_partial").targets[0].index[0] = one_more("s"),
                "no number of a result",
            ),
        ],
    );
}

#[test]
fn what_the_caller_sees_stays() {
    let (before, after) = realized("two_stages", SUM, BLOCKS);
    let reason = "an argument, an assumption or a fact has changed";
    let changes: [Change; 4] = [
        ("another name", &|data| data.name = Name::new("other"), reason),
        ("arguments in another order", &|data| data.args.swap(3, 4), reason),
        (
            "another assumption",
            &|data| data.assumptions.push(Constraint::nonneg(Aff::var("n").add_constant(-5).unwrap())),
            reason,
        ),
        ("another fact", &|data| data.facts.push(Fact::Monotone(Name::new("x"))), reason),
    ];
    each_is_noticed(&before, &after, &changes);
}
