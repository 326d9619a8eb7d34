//! Steps and pipelines on a kernel built in Rust: a segmented sum.

use std::collections::BTreeMap;

use loopwright_kernel_ir::*;
use loopwright_transforms::*;

fn segmented_sum() -> LoopKernel {
    let (s, i, n, m) = (Aff::var("s"), Aff::var("i"), Aff::var("n"), Aff::var("m"));
    let range = |v: &Aff, len: &Aff| vec![Constraint::nonneg(v.clone()), Constraint::lt(v, len).unwrap()];
    let array = |name: &str, axes: &[&str]| {
        let axes = axes.iter().map(|a| Axis::new(Expr::name(*a))).collect();
        Arg::Array(Array::new(name, DType::F32, axes, AddressSpace::Global))
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
        constants: Vec::new(),
        structs: Vec::new(),
        records: Vec::new(),
        temporaries: vec![],
        domains: vec![Domain {
            inames: vec!["s".into(), "i".into()],
            constraints: [range(&s, &m), range(&i, &n)].concat(),
        }],
        definitions: vec![],
        instructions: vec![Instruction::new(
            "total",
            vec![access("out", &["s"])],
            Expr::Reduce(
                Reduce {
                    op: "sum".into(),
                    inames: vec!["i".into()],
                    args: vec![Expr::Subscript(access("x", &["s", "i"]))],
                }
                .into(),
            ),
            Role::Does("total".into()),
        )],
        tree: vec![],
        tags: BTreeMap::new(),
        flat: BTreeMap::new(),
        assumptions: vec![],
        facts: vec![],
        reductions: vec![],
        functions: vec![],
        rules: vec![],
        atoms: vec![],
        options: Options::default(),
        vouched: Vec::new(),
        declared: None,
        origin: None,
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
    let text = "split_iname(i, $n, outer=io, inner=ii)\n\
                tag_inames(s: block.x, ii: thread.x)\n\
                together {\n    split_iname(io, 4)\n    unroll(io_inner)\n\
                }\n\
                reorder(io_inner, io_outer)\n";
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

/// A user-defined transform with an argument.
#[derive(Debug)]
struct BlockOf(i64);

impl std::fmt::Display for BlockOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "block_of({})", self.0)
    }
}

impl Transform for BlockOf {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        kernel.split_iname("i", self.0)?.tag_inames("i_inner: thread.x")
    }
}

fn registry() -> Registry {
    Registry::new()
        .function("segments_to_blocks", |kernel| kernel.tag_inames("s: block.x"))
        .transform("block_of", |args| {
            let length = args.first().and_then(|a| a.parse().ok());
            length.map(BlockOf).ok_or_else(|| Diagnostic::new("step-arguments", "`block_of` needs a length"))
        })
        .pipeline("lanes", Pipeline::parse("split_iname(i, $width)\ntag_inames(i_inner: lane)").unwrap())
}

#[test]
fn steps_of_a_user_compose_print_and_load_like_ours() {
    let text = "segments_to_blocks()\nblock_of(64)\n";
    let pipeline = Pipeline::parse_with(text, &registry()).unwrap();
    assert_eq!(pipeline.to_string(), text);
    let done = pipeline.apply(&segmented_sum()).unwrap();
    let by_hand = Pipeline::new()
        .step(UserStep::function("segments_to_blocks", |kernel| kernel.tag_inames("s: block.x")))
        .step(Step::user(BlockOf(64)));
    assert_eq!(by_hand, pipeline, "a user's steps are equal if their texts are");
    assert_eq!(by_hand.apply(&segmented_sum()).unwrap(), done);
    assert_eq!(done.tag("i_inner"), Tag::Thread(Dim::X));

    let loaded: Pipeline = serde_json::from_str(&serde_json::to_string(&pipeline).unwrap()).unwrap();
    let refusal = loaded.apply(&segmented_sum()).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "error[unresolved-step]: step 1, `segments_to_blocks()`: the step `segments_to_blocks()` \
         was loaded without its code\n  help: register the function and call \
         `pipeline.resolve(&registry)`"
    );
    assert_eq!(loaded.resolve(&registry()).unwrap().apply(&segmented_sum()).unwrap(), done);
    assert_eq!(Pipeline::parse(text).unwrap_err().code, "unknown-step");
}

#[test]
fn a_named_list_of_steps_is_stored_expanded() {
    let pipeline = Pipeline::parse_with("lanes(width=$w)", &registry()).unwrap();
    assert_eq!(pipeline.parameters(), ["w"]);
    let bound = pipeline.bind([("w", 32)]).unwrap();
    assert_eq!(bound.to_string(), "lanes {\n    split_iname(i, 32)\n    tag_inames(i_inner: lane)\n}\n");
    // Once expanded, it needs no registry.
    assert_eq!(Pipeline::parse(&bound.to_string()).unwrap(), bound);
    assert_eq!(bound.apply(&segmented_sum()).unwrap().tag("i_inner"), Tag::Lane);
    assert_eq!(
        pipeline.bind([("ww", 32)]).unwrap_err().to_string(),
        "error[unknown-parameter]: the pipeline has no parameter `$ww`\n  help: did you mean `$w`?"
    );
    assert_eq!(
        bound.bind([("w", 32)]).unwrap_err().help.as_deref(),
        Some("no number of it is open: write `$w` in place of one")
    );
}

#[test]
fn bad_text_is_refused_with_its_place() {
    let refusal = Pipeline::parse("split_iname(i, 4)\nsplit_iname(i, 4, innr=x)").unwrap_err();
    let place = refusal.place.expect("a place");
    assert_eq!(&place.text[place.span], "innr=x");
    for text in
        ["(", "}", "{", "a(", "a{", "a(\"", "$", "split_iname(,)", "tag_inames(i:)", "assume(n >)", "a()b()"]
    {
        assert!(Pipeline::parse(text).is_err(), "{text}");
    }
    let deep = "a{".repeat(20_000);
    assert_eq!(Pipeline::parse(&deep).unwrap_err().code, "pipeline-syntax");
    let brackets = format!("assume({}n{} >= 1)", "(".repeat(20_000), ")".repeat(20_000));
    assert!(Pipeline::parse(&brackets).is_err());
}

#[test]
fn every_step_has_a_name_and_foreign_names_lead_to_ours() {
    for (foreign, ours) in FOREIGN_STEPS {
        assert!(!Step::NAMES.contains(foreign), "{foreign} is ours");
        let known = Step::NAMES.iter().any(|n| ours.contains(n));
        assert!(known || ours.starts_with("nothing"), "{foreign} leads to {ours}");
    }
    let help = |text: &str| Pipeline::parse(text).unwrap_err().help.unwrap_or_default();
    assert_eq!(help("split_array_axis(t, 0, 4)"), "it is called map_array, as [x] -> [x // 4, x % 4] here");
    assert_eq!(help("get_op_map()"), "no step is needed: `loopwright count` counts operations");
}

/// Names reserved in CUDA C cannot be given by a step: the kernel's text could not be read back.
#[test]
fn no_step_gives_a_name_that_texts_refuse() {
    let kernel = LoopKernel::parse(
        "\
kernel names(x: f32[n], g: f32[n], y: f32[n], z: f32[n], w: f32[4, 4], n: i32)
assume 8 <= n
domain { [h] : 0 <= h < n }
domain { [i] : 0 <= i < n }
domain { [q] : 0 <= q < n }
domain { [j, l] : 0 <= j < 4 and 0 <= l < 4 }
temp t: f32[n] global
temp u: f32[n] global
temp p: f32 private
t[h] = x[h] {id=make}
y[i] = t[i] {id=first}
z[i] = 2.0 * g[i] {id=second}
p = x[q] {id=load, inames=q}
u[q] = 2.0 * x[q] {id=twice}
y[q] = p + u[n - 1 - q] {id=both}
w[j, l] = 1.0 {id=third}
",
    )
    .unwrap();
    let steps = [
        ("split_iname(i, 4)\nadd_prefetch(g, [i_inner], name=NAME)", "the temporary"),
        ("split_iname(i, 4)\nadd_prefetch(g, [i_inner], inames=[NAME])", "the iname"),
        ("buffer_array(w, [l], name=NAME)", "the temporary"),
        ("chunk_iname(j, 2, outer=NAME)", "the iname"),
        ("chunk_iname(j, 2, inner=NAME)", "the iname"),
        ("distribute(i, before=[second], new=[NAME])", "the iname"),
        ("duplicate_inames([i], [second], new=[NAME])", "the iname"),
        ("fuse_loops([h, i], new=NAME)", "the iname"),
        ("join_inames([j, l], new=NAME)", "the iname"),
        ("map_domain([h] -> [NAME], NAME = h + 1)", "the iname"),
        ("split_iname(i, 4)\nprecompute(t, [i_inner], name=NAME)", "the temporary"),
        ("rename_iname(i, NAME)", "the iname"),
        ("reverse(i, new=NAME)", "the iname"),
        ("tag_inames(q: block.x)\nsave_reload(p, name=NAME)", "the temporary"),
        ("split_iname(i, 4, outer=NAME)", "the iname"),
        ("split_iname(i, 4, inner=NAME)", "the iname"),
    ];
    for (step, what) in steps {
        for (name, reserved) in [("exp", true), ("ab", false)] {
            let text = step.replace("NAME", name);
            let found = Pipeline::parse(&text).unwrap_or_else(|d| panic!("{d}")).apply_unjudged(&kernel);
            match found {
                Ok(after) => {
                    assert!(!reserved, "{text}");
                    assert_eq!(LoopKernel::parse(&after.to_text()).as_ref(), Ok(&after), "{text}");
                }
                Err(d) => {
                    assert!(reserved, "{text}: {d}");
                    assert_eq!(d.code, "reserved-name", "{text}: {d}");
                    let help = d.help.unwrap_or_default();
                    assert!(
                        help.starts_with(&format!("give {what} another name, such as `")),
                        "{text}: {help}"
                    );
                }
            }
        }
    }
}

/// The same holds for names that steps generate, such as those made from `h_`.
#[test]
fn names_that_steps_make_up_are_read_back() {
    let kernel = LoopKernel::parse(
        "\
kernel marked(x: f32[n], y: f32[n], z: f32[n], n: i32)
assume 1 <= n
domain { [h_] : 0 <= h_ < n }
domain { [s] : 0 <= s < n }
domain { [k_] : 0 <= k_ <= s }
y[h_] = x[h_] {id=one}
z[h_] = 2.0 * x[h_] {id=two}
y[s] = sum(k_, x[k_]) {id=total}
",
    )
    .unwrap();
    for step in ["distribute(h_)", "realize_scan(s, k_)"] {
        let after = Pipeline::parse(step).unwrap().apply_unjudged(&kernel).unwrap_or_else(|d| panic!("{d}"));
        assert_eq!(LoopKernel::parse(&after.to_text()).as_ref(), Ok(&after), "{step}");
    }
}

/// Nothing is known about the code of a user's step: its result is validated like any text.
#[test]
fn what_a_user_makes_is_validated() {
    let registry = Registry::new().function("wrong", |kernel| {
        kernel.edit(|data| {
            data.instructions[0].targets[0].index = vec![Expr::name("i")];
            Ok(())
        })
    });
    let refusal = Pipeline::parse_with("wrong()", &registry).unwrap().apply(&segmented_sum()).unwrap_err();
    assert_eq!(refusal.code, "iname-not-around", "{refusal}");
}

/// In the table of loopy's names, each row has a valid text of its step; each tag has a row.
#[test]
fn the_tables_know_every_step_and_tag() {
    assert_eq!(Step::NAMES.len(), Step::TABLE.len());
    for (name, rows) in Step::NAMES.iter().zip(Step::TABLE) {
        for (text, loopy) in *rows {
            let step = Step::parse(text).unwrap_or_else(|d| panic!("{text}: {d}"));
            assert!(step.to_string().starts_with(&format!("{name}(")), "{text} is no `{name}`");
            assert!(!loopy.is_empty(), "{text}");
        }
    }
    fn tags_of_row(line: &str) -> Option<&str> {
        line.trim_start_matches("//! ").strip_prefix('|')?.split('|').next()
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(folder.join("src/tags.rs")).unwrap();
    let page = std::fs::read_to_string(folder.join("../../docs/tags.md")).unwrap();
    for tag in Tag::ALL {
        // A flattened loop has numbers.
        let text = if tag == Tag::Flat { "flat_128x16x16".into() } else { tag.to_string() };
        assert!(Tag::parse(&text) == Some(tag) || Flat::parse(&text).is_some(), "{text}");
        for (rows, file) in [(&table, "src/tags.rs"), (&page, "docs/tags.md")] {
            let mut tags = rows.lines().filter_map(tags_of_row);
            assert!(tags.any(|tags| tags.contains(&format!("`{text}`"))), "`{text}` is in no row of {file}");
        }
    }
}

/// The declaration of a step's arguments works in both directions, with all options given.
#[test]
fn every_step_is_printed_read_and_serialised() {
    let with_options = [
        "split_iname(i, $n, outer=io, inner=ii)",
        "chunk_iname(i, 4, outer=io)",
        "join_inames([i, j], k)",
        "duplicate_inames([i, j], [a, b], new=[k, l])",
        "distribute(i, before=[second], new=[k])",
        "fuse_loops([i, j], new=k)",
        "index_set_split(i, i <= 3, suffix=_b)",
        "reverse(i, new=k)",
        "peel(i, last=$n)",
        "map_domain([t, i] -> [w, t], w = 2*t + i)",
        "add_prefetch(a, [i, j], space=private, name=b, pad=1, inames=[r, c], readers=[x])",
        "add_prefetch(a, [i, j], accesses=[a[i, k], a[2 * j, k]])",
        "extract_subst(f, [i, j], x[i, j] * w[j])",
        "precompute(t, [i], space=private, name=b, pad=$p, inames=[r])",
        "buffer_array(c, [k], space=shared, name=b, init=none)",
        "save_reload(t, name=kept)",
        "flatten_ragged(s, i, threads=64, items=8, tiles=4, full_chunks=8, tail_tiles=1)",
        "cache_waves(x, window=128, windows=2)",
        "pad_array_axis(t, -1, $p)",
        "tag_array_axes(t, [N1, N0])",
        "fix_parameters(m=$m, n=64)",
    ];
    for text in with_options {
        assert_eq!(Step::parse(text).unwrap_or_else(|d| panic!("{text}: {d}")).to_string(), text);
    }
    let table = Step::TABLE.iter().flat_map(|rows| rows.iter().map(|(text, _)| *text));
    for text in table.chain(with_options) {
        let step = Step::parse(text).unwrap();
        assert_eq!(Step::parse(&step.to_string()).as_ref(), Ok(&step), "{text}");
        let json = serde_json::to_string(&step).unwrap();
        assert_eq!(serde_json::from_str::<Step>(&json).unwrap(), step, "{json}");
    }
}

/// Names that steps and their arguments had before are still read, as texts and as JSON, and mean
/// the same.
#[test]
fn older_names_are_read() {
    let steps = [
        (
            "join_atomically(total)",
            r#"{"join_atomically": {"instruction": "total"}}"#,
            "reduce_atomically(total)",
        ),
        (
            "flatten_ragged(s, i, threads=64, items=8, tiles=4, runs=8, rest=1)",
            r#"{"flatten_ragged": {"segment": "s", "point": "i", "threads": 64, "items": 8, "tiles": 4,
                "runs": 8, "rest": 1}}"#,
            "flatten_ragged(s, i, threads=64, items=8, tiles=4, full_chunks=8, tail_tiles=1)",
        ),
    ];
    for (old, json, new) in steps {
        let step = Step::parse(new).unwrap();
        assert_eq!(step.to_string(), new);
        assert_eq!(Step::parse(old).as_ref(), Ok(&step), "{old}");
        assert_eq!(serde_json::from_str::<Step>(json).unwrap(), step, "{json}");
    }
    let flat = r#"{"threads": 64, "items": 8, "tiles": 4, "shorter": {"after": 8, "tiles": 1}}"#;
    assert_eq!(Some(serde_json::from_str::<Flat>(flat).unwrap()), Flat::parse("flat_64x8x4_8x1"));
}

/// Conditions that hold in a part of a loop stay, and the note says what would give that part a
/// loop of its own: not where it has one, nor of what data decide, nor of what always holds.
#[test]
fn simplify_names_what_holds_in_a_part() {
    let notes = |value: &str, steps: &str| -> Vec<String> {
        let text = format!(
            "kernel k(x: f32[n], y: f32[n], c: i32[n], n: i32)\nassume 4 <= n\n\
             domain {{ [i] : 0 <= i < n }}\ny[i] = {value} {{id=d}}\n"
        );
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        let explained = Pipeline::parse(steps).unwrap().explain(&kernel);
        explained.steps.last().unwrap().notes.clone()
    };
    let part = |condition: &str, remedy: &str| {
        format!(
            "`{condition}` in `d` holds in a part of the loop over `i`, and stays: {remedy} gives that part a \
             loop of its own"
        )
    };
    assert_eq!(
        notes("if(i < 2 and i >= 0, 1.0, 2.0*4.0*x[i])", "simplify([d])"),
        [part("i < 2", "`index_set_split(i, i < 2)`")]
    );
    assert_eq!(
        notes("2.0*4.0*x[i] if i != n - 1", "simplify([d])"),
        [part("i != n - 1", "`peel(i, first=1)` or `peel(i, last=1)`, if it is about an end of it,")]
    );
    assert_eq!(notes("if(c[i] < 2, 1.0, 2.0*4.0*x[i])", "simplify([d])"), [""; 0]);
    assert_eq!(notes("if(i < n, 1.0, 2.0*4.0*x[i])", "simplify([d])"), [""; 0]);
    let split = "index_set_split(i, i < 2)\nsimplify([d])";
    assert_eq!(notes("if(i < 2, 1.0, 2.0*4.0*x[i])", split), [""; 0]);
}
