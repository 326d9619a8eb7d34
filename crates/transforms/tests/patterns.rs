//! Patterns in lists: each pipeline with one against the pipeline with the names, and the refusals.

use loopwright_kernel_ir::LoopKernel;
use loopwright_transforms::{Pipeline, Step, Transform};

const MATMUL: &str = "\
kernel matmul(a: f32[m, l], b: f32[l, n], c: f32[m, n], d: f32[m, n], m: i32, n: i32, l: i32)
assume 1 <= m and 1 <= n and 1 <= l
domain { [i, j] : 0 <= i < m and 0 <= j < n }
domain { [k] : 0 <= k < l }
domain { [p, q] : 0 <= p < m and 0 <= q < n }
temp t: f32 private
temp u: f32 private
c[i, j] = sum(k, a[i, k]*b[k, j]) {id=product}
t = c[p, q] {id=load_t, inames=p:q}
u = 2*t {id=twice, inames=p:q}
d[p, q] = u {id=store_d}
";

/// What comes before: loops in tiles, blocks of threads, a copy in shared memory.
const BEFORE: &str = "\
split_iname(i, 16)
split_iname(j, 16)
split_iname(k, 16)
tag_inames(i_outer: block.y, j_outer: block.x, i_inner: thread.y, j_inner: thread.x)
add_prefetch(a, [i_inner, k_inner])
";

fn kernel() -> LoopKernel {
    Pipeline::parse(BEFORE).unwrap().apply(&LoopKernel::parse(MATMUL).unwrap()).unwrap()
}

fn expanded(step: &str, kernel: &LoopKernel) -> String {
    Step::parse(step).unwrap_or_else(|d| panic!("{step}: {d}")).expanded(kernel).unwrap().to_string()
}

#[test]
fn patterns_stand_for_names_in_the_order_of_their_declaration() {
    let kernel = kernel();
    for (pattern, names) in [
        // By name; `i`, `j` and `k` are split, and no longer loops.
        ("untag_inames(*_outer)", "untag_inames(i_outer, j_outer, k_outer)"),
        ("untag_inames(?)", "untag_inames(p, q)"),
        ("untag_inames(*_inner & !i*)", "untag_inames(j_inner, k_inner)"),
        ("untag_inames(j_* | i_*)", "untag_inames(i_outer, i_inner, j_outer, j_inner)"),
        // Names that the list says itself stay where they are, once.
        ("untag_inames(k_inner, *_inner)", "untag_inames(k_inner, i_inner, j_inner)"),
        ("untag_inames(*_inner, i_inner)", "untag_inames(j_inner, k_inner, i_inner)"),
        // By tag, by nesting, by instruction.
        ("untag_inames(tag:block.*)", "untag_inames(i_outer, j_outer)"),
        ("untag_inames(within:k_outer)", "untag_inames(k_inner, a_f0, a_f1)"),
        ("untag_inames(within:p)", "untag_inames(q)"),
        ("untag_inames(id:store_d)", "untag_inames(p, q)"),
        ("untag_inames(reads:b & !tag:block.?)", "untag_inames(i_inner, j_inner, k_outer, k_inner)"),
        ("untag_inames(role:copy & a_f*)", "untag_inames(a_f0, a_f1)"),
        ("untag_inames(writes:c & !(k_* | tag:block.*))", "untag_inames(i_inner, j_inner)"),
        ("unroll(*_inner & within:k_outer)", "unroll(k_inner)"),
        ("reorder(q, p)", "reorder(q, p)"),
        ("privatize_temporary(t, [?])", "privatize_temporary(t, [p, q])"),
        ("alias_temporaries([?])", "alias_temporaries([t, u])"),
        ("alias_temporaries([space:private & !a*])", "alias_temporaries([t, u])"),
        ("alias_temporaries([id:twice])", "alias_temporaries([t, u])"),
        ("duplicate_inames([p], [reads:u | writes:u])", "duplicate_inames([p], [twice, store_d])"),
        ("duplicate_inames([p], [within:q & !id:load_*])", "duplicate_inames([p], [twice, store_d])"),
        ("duplicate_inames([p], [accesses:t & !role:copy])", "duplicate_inames([p], [load_t, twice])"),
        ("distribute(p, before=[id:store_*])", "distribute(p, before=[store_d])"),
        ("join_inames([?])", "join_inames([p, q])"),
        ("tile([?], [4, 4])", "tile([p, q], [4, 4])"),
        ("buffer_array(c, [j_inner & j*])", "buffer_array(c, [j_inner])"),
        ("tag_inames(?_inner & !k*: unroll)", "tag_inames(i_inner: unroll, j_inner: unroll)"),
        ("tag_inames(tag:seq & id:store_d: unroll)", "tag_inames(p: unroll, q: unroll)"),
        (
            "tag_inames(?_inner & !k*: unroll, j_inner: thread.x)",
            "tag_inames(i_inner: unroll, j_inner: thread.x)",
        ),
    ] {
        let step = Step::parse(pattern).unwrap_or_else(|d| panic!("{pattern}: {d}"));
        assert_eq!(step.to_string(), pattern, "the printed step");
        assert_eq!(expanded(pattern, &kernel), names, "{pattern}");
        // Both are the same step, whatever becomes of it.
        let of = |text: &str| Step::parse(text).unwrap().apply(&kernel).map_err(|d| d.to_string());
        assert_eq!(of(pattern), of(names), "{pattern}");
    }
}

/// A later step sees the names that an earlier one has made, in groups too.
#[test]
fn patterns_are_looked_up_in_the_kernel_that_a_step_gets() {
    let declared = LoopKernel::parse(MATMUL).unwrap();
    let apply = |text: &str| Pipeline::parse(text).unwrap().apply(&declared).unwrap();
    let named = apply("split_iname(p, 4)\nsplit_iname(q, 8)\ntag_inames(p_inner: unroll, q_inner: unroll)");
    let steps = "split_iname(p, 4); split_iname(q, 8); tag_inames(*_inner: unroll)";
    assert_eq!(apply(steps), named);
    assert_eq!(apply(&format!("together {{ {steps} }}")), named);
    assert_eq!(apply(&format!("mine {{ {steps} }}")), named);
    let explained = Pipeline::parse(steps).unwrap().explain(&declared);
    assert_eq!(explained.steps[2].notes, ["for this kernel: tag_inames(p_inner: unroll, q_inner: unroll)"]);
}

#[test]
fn patterns_that_cannot_be_are_refused() {
    let declared = LoopKernel::parse(MATMUL).unwrap();
    for (step, refusal) in [
        (
            "unroll(*_inner)",
            "error[pattern-nothing]: step 1, `unroll(*_inner)`: `*_inner` matches none of the inames\n  help: \
             the inames are `i`, `j`, `k`, `p` and `q`",
        ),
        (
            "duplicate_inames([p], [reads:z])",
            "error[pattern-nothing]: step 1, `duplicate_inames([p], [reads:z])`: `reads:z` matches none of the \
             instructions\n  help: the instructions are `product`, `load_t`, `twice` and `store_d`",
        ),
        (
            "unroll(i &)",
            "error[step-arguments]: `i &` is no pattern: a name or a pattern is missing\n  help: a pattern is \
             written as `*_inner`, `id:load_*`, `reads:x & !within:i`",
        ),
        (
            "tag_inames(read:x: unroll)",
            "error[step-arguments]: `read:x` is no pattern: there is no key `read`; did you mean `reads`?\n  help: a \
             pattern is written as `*_inner`, `id:load_*`, `reads:x & !within:i`",
        ),
        // Names that a step gives, and single names, are no lists of what there is.
        (
            "duplicate_inames([p], [load_t], new=[p*])",
            "error[step-arguments]: expected names, not `p*`\n  help: \
          patterns stand for names that the kernel has already",
        ),
        ("split_iname(i*, 4)", "error[step-arguments]: expected a name, not `i*`"),
    ] {
        let found = Pipeline::parse(step).and_then(|p| p.apply(&declared)).unwrap_err();
        assert_eq!(found.to_string(), refusal, "{step}");
    }
}

/// The page in `docs` and that of the module have one table.
#[test]
fn the_pages_agree() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(folder.join("../../docs/patterns.md")).unwrap();
    let module = std::fs::read_to_string(folder.join("src/patterns.rs")).unwrap();
    let rows: Vec<&str> = module
        .lines()
        .filter_map(|line| line.strip_prefix("//! "))
        .filter(|line| line.starts_with('|'))
        .collect();
    assert_eq!(rows.len(), 12);
    for row in rows {
        assert!(page.lines().any(|line| line == row), "{row}");
    }
}

/// The steps with a list of names that may have patterns, as their files declare them: by kind of
/// the names.
fn steps_with_lists() -> Vec<(String, &'static str)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/steps");
    let mut found = Vec::new();
    for folder in std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
        for file in std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            let text = std::fs::read_to_string(file).unwrap();
            let Some((_, declared)) = text.split_once(" as \"") else { continue };
            let name = declared.split('"').next().unwrap();
            for subject in ["Inames", "Instructions", "Temporaries"] {
                let (by_macro, by_hand) = (format!(") of {subject},"), format!("Subject::{subject}"));
                if text.contains(&by_macro) || text.contains(&by_hand) {
                    found.push((name.to_owned(), subject));
                }
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_page_has_all_lists() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/patterns.md");
    let page = std::fs::read_to_string(page).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, lists) = page.split_once("Lists with patterns: of inames in").unwrap();
    let (inames, rest) = lists.split_once("; of instructions in").unwrap();
    let (instructions, rest) = rest.split_once("; of temporaries in").unwrap();
    let temporaries = rest.split_once('.').unwrap().0;
    let mut named = Vec::new();
    for (text, subject) in [(inames, "Inames"), (instructions, "Instructions"), (temporaries, "Temporaries")]
    {
        let words = text.split('`').skip(1).step_by(2).filter(|word| !word.ends_with('='));
        named.extend(words.map(|word| (word.to_owned(), subject)));
    }
    named.sort();
    assert_eq!(named, steps_with_lists());
}
