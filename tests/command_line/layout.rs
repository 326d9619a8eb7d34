//! `layout`: values, pictures, files of cases, and refusals.

use crate::common::{Folder, call, out, refusal};

#[test]
fn expressions_have_values() {
    for (expression, value) in [
        ("composition((4,8):(8,1), (2,4):(1,4))", "(2,4):(8,1)"),
        (
            "zipped_divide((m,n):(n,1), (16,16))",
            "((16,16),(ceil_div(m,16),ceil_div(n,16))):((n,1),(16*n,16))",
        ),
        ("Sw<3,4,3> o 0 o (8,64):(64,1)", "Sw<3,4,3> o 0 o (8,64):(64,1)"),
        ("size((4,8):(8,1))", "32"),
    ] {
        assert_eq!(out(&call(&["layout", expression])), format!("{value}\n"));
    }
    let help = out(&call(&["layout", "--help"]));
    for line in ["logical_divide(L, T)", "each mode as (tile, rest)", "SM70_8x8x4_F32F16F16F32_NT"] {
        assert!(help.contains(line), "{help}");
    }
}

#[test]
fn pictures_are_printed_and_written() {
    let folder = Folder::new("layout");
    let text = out(&call(&["layout", "(2,3):(3,1)", "--picture", "text"]));
    let expected = "(2,3):(3,1)\n    0   1   2\n  +---+---+---+\n\
                    0 | 0 | 1 | 2 |\n  +---+---+---+\n\
                    1 | 3 | 4 | 5 |\n  +---+---+---+\n";
    assert_eq!(text, expected);
    let (svg, latex) = (folder.path("a.svg"), folder.path("a.tex"));
    assert_eq!(out(&call(&["layout", "(2,3):(3,1)", "--svg", &svg, "--latex", &latex])), "");
    for (file, form) in [(svg, "svg"), (latex, "latex")] {
        let printed = out(&call(&["layout", "(2,3):(3,1)", "--picture", form]));
        assert_eq!(std::fs::read_to_string(file).unwrap(), printed);
    }
}

const CASES: &str = r#"{"cases": [
    {"id": 1, "op": "product", "args": {"a": [2, 3]}, "result": 6},
    {"id": 2, "op": "product", "args": {"a": [2, 3]}, "result": RESULT},
    {"id": 3, "op": "OP", "args": {"a": [2, 3]}, "result": [1, 2]}
]}"#;

/// Cases that differ are printed, counted, and end with status 1.
#[test]
fn cases_are_counted() {
    let folder = Folder::new("layout-cases");
    let file =
        |result: &str, op: &str| folder.file("cases.json", CASES.replace("RESULT", result).replace("OP", op));
    assert_eq!(out(&call(&["layout", "--cases", &file("6", "prefix_product")])), "3 passed, 0 failed\n");
    let output = call(&["layout", "--cases", &file("7", "postfix_product")]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "case 2, product: found 6, expected 7\n\
         case 3, postfix_product: the operation is unknown\n\
         1 passed, 2 failed\n"
    );
    let text = refusal(&call(&["layout", "--cases", &folder.file("none.json", "[]")]));
    assert!(text.contains("the file has no list `cases`"), "{text}");
    refusal(&call(&["layout", "--cases", &folder.path("nothing.json")]));
    for args in [&["layout"][..], &["layout", "4:1", "--cases", "cases.json"]] {
        assert_eq!(call(args).status.code(), Some(2));
    }
}

/// The whole text of a refusal of each kind.
#[test]
fn refusals_show_the_part_that_is_wrong() {
    let place =
        |text: &str, marks: &str| format!(" --> <expression>:1:1\n  |\n1 | {text}\n  | {marks}\n  |\n");
    let composed = "(3,4):(1,8) o 8:1";
    for (expression, expected) in [
        (
            composed,
            format!(
                "error[no-layout]: composition: no layout does this: mode 8:1 of B needs that 3, \
                 what is left of mode 0 of A, divides 8\n\
                 {}\x20 = witness: in A o 8:1, index 2 is 2 and index 3 is 8, a step after 3 of 8 \
                 positions\n\
                 \x20 = help: choose sizes and strides that divide each other\n",
                place(composed, "^^^^^^^^^^^^^^^^^"),
            ),
        ),
        (
            "4:(1,2)",
            format!(
                "error[layout-profile]: shape 4 and stride (1,2) are different trees\n{}\
                 \x20 = help: write one number, or one tuple, for each mode\n",
                place("4:(1,2)", "^^^^^^^"),
            ),
        ),
        (
            "? 4:1",
            format!(
                "error[layout-syntax]: `?` has no meaning in a layout\n{}\
                 \x20 = help: a layout is written (4, 8) : (1, 4), a swizzle Sw<3,4,3>\n",
                place("? 4:1", "^"),
            ),
        ),
        (
            "(m,n):(1,2*m) o 8:1",
            format!(
                "error[layout-not-known]: composition: that m, what is left of mode 0 of A, \
                 divides 8 would have to be known for all sizes\n\
                 {}\x20 = help: work mode by mode, with a tuple as tiler, or fix the size to a \
                 constant\n",
                place("(m,n):(1,2*m) o 8:1", "^^^^^^^^^^^^^^^^^^^"),
            ),
        ),
        (
            "values(2000000:1)",
            format!(
                "error[layout-too-large]: layout: only an enumeration of 2000000 points could \
                 decide this\n\
                 {}\x20 = help: choose strides that divide sizes, which needs no enumeration\n",
                place("values(2000000:1)", "^^^^^^^^^^^^^^^^^"),
            ),
        ),
        (
            "sise(4:1)",
            format!(
                "error[layout-call]: sise is not a function of layouts\n\
                 {}\x20 = help: `loopwright layout --help` lists the functions\n",
                place("sise(4:1)", "^^^^^^^^^"),
            ),
        ),
        (
            "9223372036854775807*2",
            format!(
                "error[layout-overflow]: a size or an index does not fit into 64 bits\n{}\
                 \x20 = help: sizes and strides are 64-bit integers\n",
                place("9223372036854775807*2", "^^^^^^^^^^^^^^^^^^^^^"),
            ),
        ),
    ] {
        let text = refusal(&call(&["layout", expression]));
        assert_eq!(text.trim_end(), expected.trim_end(), "{expression}");
    }
}

/// The page on layouts shows what the program prints.
#[test]
fn the_page_on_layouts_is_right() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/layouts.md")).unwrap();
    let blocks = page.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut count = 0;
    for call_and_output in blocks.flat_map(|block| block.split("$ loopwright layout ").skip(1)) {
        let (command, expected) = call_and_output.split_once('\n').unwrap();
        let (expression, options) = command.trim_start_matches('\'').split_once('\'').unwrap();
        let args: Vec<&str> = ["layout", expression].into_iter().chain(options.split_whitespace()).collect();
        assert_eq!(out(&call(&args)), expected, "{command}");
        count += 1;
    }
    assert!(count >= 9, "{count}");
}
