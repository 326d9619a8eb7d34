//! The text of kernels: what is read, what is printed, and that reading what was printed gives an
//! equal kernel.

use loopwright_kernel_ir::{
    Aff, Constraint, Definition, Dim, Expr, LoopKernel, Role, Tag, Tree, parse_expression,
};

fn parse(text: &str) -> LoopKernel {
    match LoopKernel::parse(text) {
        Ok(kernel) => kernel,
        Err(e) => panic!("{e}\nin\n{text}"),
    }
}

fn round_trip(text: &str) -> LoopKernel {
    let kernel = parse(text);
    let printed = kernel.to_text();
    assert_eq!(parse(&printed), kernel, "\n{printed}");
    kernel
}

const SEGMENTED: &str = "\
kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
assume 1 <= nseg and 0 <= len
domain { [s] : 0 <= s < nseg }
domain { [i] : 0 <= i < len }
out[s] = sum(i, x[s, i]) {id=total}
";

#[test]
fn a_declared_kernel_prints_as_it_was_written() {
    let kernel = round_trip(SEGMENTED);
    assert_eq!(kernel.to_string(), SEGMENTED);
    assert_eq!(kernel.instructions[0].within, ["s"]);
    let tree = "tree {\n    for s {\n        total.init\n        for i {\n            \
                total.update\n        }\n        total.finish\n    }\n\
                }";
    let with_tree = parse(&format!("{}{tree}", SEGMENTED.replace("{id=total}", "{id=total, inames=s}")));
    assert_eq!(with_tree, kernel, "the tree that follows is the one written down");
}

#[test]
fn isl_and_loopy_spellings_give_the_same_kernel() {
    let other = "\
kernel segmented_sum(x: f32[nseg, len], # a comment
                     out: f32[nseg],
                     nseg: i32, len: i32)
assume nseg >= 1 and len >= 0
[nseg] -> { [s] : s >= 0 and s < nseg }
domain [len, nseg] -> { [i] : 0 <= i <= len - 1 };
out[s] = reduce(sum, i, x[s, i])  {id=total, inames=s}
";
    assert_eq!(parse(other), parse(SEGMENTED));
}

#[test]
fn remainders_read_as_they_print() {
    let text = SEGMENTED.replace("0 <= len", "0 <= len and len % 4 = 0 and (nseg + 1) % 2 = 1");
    let printed = round_trip(&text).to_string();
    assert!(
        printed.contains("assume 1 <= nseg and 0 <= len and len mod 4 = 0 and (nseg + 1) mod 2 = 1\n"),
        "{printed}"
    );
}

#[test]
fn ragged() {
    let _ = round_trip(
        "\
kernel ragged_sum(x: T[n], offsets: i32[nseg + 1], out: T[nseg], n: i32, nseg: i32)
fact monotone(offsets)
fact 0 <= offsets <= n
domain { [s] : 0 <= s < nseg }
domain { [i] : lo <= i < hi }
temp lo: i32 private
temp hi: i32 private
lo = offsets[s] {id=load_lo}
hi = offsets[s + 1] {id=load_hi}
out[s] = sum(i, x[i]) {id=total}
",
    );
}

#[test]
fn a_transformed_kernel_reads_back_with_its_declared_form() {
    let kernel = parse(SEGMENTED);
    let split = kernel
        .edit::<()>(|data| {
            let inner = Aff::var("i_inner");
            let outer = Aff::var("i_outer").scale(128).map_err(|_| ())?;
            data.definitions
                .push(Definition { iname: "i".into(), value: outer.add(&inner).map_err(|_| ())? });
            data.domains[1].inames = vec!["i".into(), "i_outer".into(), "i_inner".into()];
            data.domains[1].constraints.push(Constraint::nonneg(inner));
            data.tree = Tree::replace_loop(&data.tree, "i", &["i_outer".into(), "i_inner".into()]);
            data.tree = Tree::splice(&data.tree, "i_inner");
            data.tags.insert("i_inner".into(), Tag::Thread(Dim::X));
            data.instructions[0].made_by = Some("split_iname".into());
            data.instructions[0].role = Role::Does("total".into());
            data.instructions[0].map.insert("i".into(), Aff::var("i_outer"));
            Ok(())
        })
        .unwrap();
    let text = split.to_text();
    assert!(text.contains("let i = 128*i_outer + i_inner\n"), "{text}");
    assert!(text.contains("tag i_inner: thread.x\n"), "{text}");
    assert!(text.contains("declared {\n    kernel segmented_sum("), "{text}");
    assert_eq!(parse(&text), split);
    assert!(!split.to_string().contains("declared"));
}

/// A function that contains remainders is written with them; others that only look like it are not.
#[test]
fn remainders_are_written_as_such() {
    let written = |text: &str| {
        let aff = parse_expression(text).unwrap().to_aff().unwrap();
        let expr = Expr::from_aff(&aff);
        assert_eq!(expr.to_aff().as_ref(), Some(&aff), "{text} is {expr}");
        expr.to_string()
    };
    let same =
        ["(i + 1) % 4", "3 * ((i + j + 1) % 4) + 2", "2 * ((n - j + 3) % 4) + (i + 1) % 3", "i // 2 % 4"];
    for text in same {
        assert_eq!(written(text), text);
    }
    // Of `i` more, less, and another multiple than the remainder has.
    assert_eq!(written("(i + 1) % 4 + i"), "2 * i - 4 * ((i + 1) // 4) + 1");
    assert_eq!(written("i + j - 4 * ((i + 1) // 4)"), "(i + 1) % 4 + j - 1");
    assert_eq!(written("i - 5 * ((i + 1) // 4)"), "i - 5 * ((i + 1) // 4)");
    // One quotient for two remainders: it is part of one of them.
    written("i + 2 * (i // 2) - 8 * (i // 8)");
}
