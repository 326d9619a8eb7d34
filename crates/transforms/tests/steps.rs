//! Steps and pipelines on a kernel that is built by hand: a segmented sum.

use std::collections::BTreeMap;

use loopwright_kernel_ir::*;
use loopwright_transforms::*;

fn segmented_sum() -> LoopKernel {
    let (s, i, n, m) = (Aff::var("s"), Aff::var("i"), Aff::var("n"), Aff::var("m"));
    let range = |v: &Aff, len: &Aff| vec![Constraint::nonneg(v.clone()), Constraint::lt(v, len).unwrap()];
    let array = |name: &str, axes: &[&str]| {
        Arg::Array(Array {
            name: name.into(),
            dtype: DType::F32.into(),
            axes: axes.iter().map(|a| Axis::new(Expr::name(*a))).collect(),
            order: vec![],
            space: AddressSpace::Global,
        })
    };
    let access = |array: &str, index: &[&str]| Access {
        array: array.into(),
        index: index.iter().map(|i| Expr::name(*i)).collect(),
    };
    LoopKernel::declare(KernelData {
        name: "segmented_sum".into(),
        args: vec![
            array("x", &["m", "n"]),
            array("out", &["m"]),
            Arg::Scalar(Scalar { name: "m".into(), dtype: DType::I32.into() }),
            Arg::Scalar(Scalar { name: "n".into(), dtype: DType::I32.into() }),
        ],
        temporaries: vec![],
        domains: vec![Domain {
            inames: vec!["s".into(), "i".into()],
            constraints: [range(&s, &m), range(&i, &n)].concat(),
        }],
        definitions: vec![],
        instructions: vec![Instruction {
            id: "total".into(),
            targets: vec![access("out", &["s"])],
            value: Expr::Reduce(
                Reduce {
                    op: "sum".into(),
                    inames: vec!["i".into()],
                    args: vec![Expr::Subscript(access("x", &["s", "i"]))],
                }
                .into(),
            ),
            predicate: None,
            within: vec![],
            role: Role::Does("total".into()),
            map: BTreeMap::new(),
            after: vec![],
            made_by: None,
        }],
        tree: vec![],
        tags: BTreeMap::new(),
        assumptions: vec![],
        facts: vec![],
        reductions: vec![],
        functions: vec![],
        options: Options::default(),
        declared: None,
    })
    .unwrap()
}

fn outline(kernel: &LoopKernel) -> String {
    fn walk(trees: &[Tree], text: &mut String) {
        for (k, tree) in trees.iter().enumerate() {
            if k > 0 {
                text.push_str("; ");
            }
            match tree {
                Tree::Leaf(part) => text.push_str(&part.to_string()),
                Tree::Loop { iname, body } => {
                    text.push_str(&format!("{iname} {{ "));
                    walk(body, text);
                    text.push_str(" }");
                }
            }
        }
    }
    let mut text = String::new();
    walk(&kernel.tree, &mut text);
    text
}

#[test]
fn a_split_replaces_the_iname_everywhere() {
    let kernel = segmented_sum();
    let split = kernel.split_iname("i", 128).unwrap().split_iname_as("s", 4, "so", "si").unwrap();
    assert_eq!(
        outline(&split),
        "so { si { total.init; i_outer { i_inner { total.update } }; total.finish } }"
    );
    assert_eq!(split.definition("i").unwrap().to_string(), "128*i_outer + i_inner");
    assert_eq!(split.instructions[0].within, ["so", "si"]);
    assert_eq!(split.instructions[0].reductions()[0].inames, ["i_outer", "i_inner"]);
    assert_eq!(split.declared(), &kernel);
    let tagged = split.tag_inames("so:g.0, i_inner: thread.x").unwrap();
    assert_eq!(outline(&tagged), "si { total.init; i_outer { total.update }; total.finish }");
    assert_eq!(tagged.untag_inames("so, i_inner").unwrap(), split);
}

#[test]
fn pipelines_round_trip_through_text_and_json() {
    let text = "split_iname(i, $n, outer=io, inner=ii)\ntag_inames(s: block.x, ii: thread.x)\n\
                together {\n    split_iname(io, 4)\n    unroll(io_inner)\n}\nreorder(io_inner, io_outer)\n";
    let pipeline = Pipeline::parse(text).unwrap();
    assert_eq!(pipeline.to_string(), text);
    assert_eq!(pipeline.parameters(), ["n"]);
    let json = serde_json::to_string(&pipeline).unwrap();
    assert_eq!(serde_json::from_str::<Pipeline>(&json).unwrap(), pipeline);
    assert_eq!(pipeline.apply(&segmented_sum()).unwrap_err().code, "open-parameter");
    let bound = pipeline.bind([("n", 32)]).unwrap();
    let done = bound.apply(&segmented_sum()).unwrap();
    assert_eq!(outline(&done), "total.init; io_inner { io_outer { total.update } }; total.finish");
    assert_eq!(bound.apply_traced(&segmented_sum()).unwrap().last().unwrap().kernel, done);
}
