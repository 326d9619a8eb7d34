//! Pictures, pinned; and what they show, read back and compared with the layouts.

use crate::common;

use common::values;
use loopwright_layout::{Picture, eval::evaluate};

fn picture(text: &str) -> Picture {
    Picture::of(&evaluate(text).unwrap_or_else(|e| panic!("{text}: {}", e.error))).unwrap()
}

const THREAD_VALUES: &str = "thread_values(((2,4),(2,2)):((8,1),(4,16)), (4,8))";
const QUADPAIR: &str = "SM70_8x8x4_F32F16F16F32_NT";
const PLAIN: &str = "tiled_mma(SM70_8x8x4_F32F16F16F32_NT, (2,2):(2,1))";
const INTERLEAVED: &str =
    "tiled_mma(SM70_8x8x4_F32F16F16F32_NT, (2,2):(2,1), <(4,2,2):(1,8,4), (4,2,2):(1,8,4)>)";

#[test]
fn pictures_that_people_know() {
    for (name, text) in [
        ("rows", "(4,8):(8,1)"),
        ("thread_values", THREAD_VALUES),
        ("quadpair", QUADPAIR),
        ("quadpairs_plain", PLAIN),
        ("quadpairs_interleaved", INTERLEAVED),
        ("padded_rows", "(64,16):(17,1)"),
        ("split_rows", "((32,3),16):((1,512),32)"),
        ("swizzled", "Sw<2,0,2> o 0 o (4,4):(4,1)"),
    ] {
        insta::assert_snapshot!(format!("{name}.text"), picture(text).text());
    }
}

#[test]
fn drawn_pictures() {
    for (name, text) in [("rows", "(2,4):(4,1)"), ("thread_values", THREAD_VALUES), ("quadpair", QUADPAIR)] {
        insta::assert_snapshot!(format!("{name}.svg"), picture(text).svg());
        insta::assert_snapshot!(format!("{name}.latex"), picture(text).latex());
    }
}

/// The numbers of a panel of a text picture, row by row.
fn cells(text: &str) -> Vec<Vec<String>> {
    let rows = text.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    rows.filter(|line| line.contains('|'))
        .map(|line| line.split('|').skip(1).map(|c| c.trim().to_owned()).filter(|c| !c.is_empty()).collect())
        .collect()
}

#[test]
fn layouts_are_drawn_as_they_are() {
    for text in ["(4,8):(8,1)", "(64,16):(17,1)", "((32,3),16):((1,512),32)", "(3,2,5):(1,3,6)", "7:2"] {
        let layout = common::layout(text);
        let rows = match layout.rank() {
            1 => 1,
            _ => common::Plain::of(&layout.modes()[0]).size() as usize,
        };
        let all = values(&layout);
        let found = cells(&picture(text).text());
        assert_eq!(found.len(), rows, "{text}");
        for (r, row) in found.iter().enumerate() {
            let expected: Vec<String> = (r..all.len()).step_by(rows).map(|i| all[i].to_string()).collect();
            assert_eq!(*row, expected, "{text}, row {r}");
        }
    }
}

/// All three forms have the same cells.
#[test]
fn forms_agree() {
    for text in [THREAD_VALUES, QUADPAIR, PLAIN, INTERLEAVED, "(64,16):(17,1)"] {
        let picture = picture(text);
        let mut expected: Vec<String> = cells(&picture.text()).concat();
        let svg = picture.svg();
        let labels =
            svg.lines().filter(|l| l.starts_with("<text") && !l.contains("#777") && !l.contains("start"));
        let labels: Vec<&str> = labels.map(|l| l.split(['>', '<']).nth(2).unwrap()).collect();
        let lines = labels.len() / expected.len();
        let mut drawn: Vec<String> = labels.chunks(lines).map(<[&str]>::concat).collect();
        let latex = picture.latex();
        let nodes = latex.lines().filter(|l| l.starts_with("\\node[cell"));
        let mut typeset: Vec<String> =
            nodes.map(|l| l.rsplit_once('{').unwrap().1.trim_end_matches("};").replace("\\\\", "")).collect();
        for labels in [&mut expected, &mut drawn, &mut typeset] {
            labels.sort();
        }
        assert_eq!(drawn, expected, "{text}");
        assert_eq!(typeset, expected, "{text}");
        // Documents are closed.
        for tag in ["svg", "title", "text"] {
            assert_eq!(svg.matches(&format!("<{tag}")).count(), svg.matches(&format!("</{tag}>")).count());
        }
        assert_eq!(latex.matches('{').count(), latex.matches('}').count());
    }
}

#[test]
fn what_has_no_picture_is_refused() {
    let refusal = |text: &str| Picture::of(&evaluate(text).unwrap()).unwrap_err().to_string();
    assert_eq!(refusal("Sw<3,4,3>"), "Sw<3,4,3> has no picture; a layout has one");
    assert_eq!(
        refusal("(m,n):(n,1)"),
        "picture: all numbers of (m,n):(n,1) would have to be known for all sizes"
    );
    assert_eq!(
        refusal("(1000,1000):(1000,1)"),
        "picture: only an enumeration of 1000000 points could decide this"
    );
    assert_eq!(
        refusal("thread_values((8,4):(4,1), (4,4))"),
        "thread 4 holds 16 as its value 0, outside a tile (4,4)"
    );
    assert_eq!(refusal("thread_values(8:1, (2,4))"), "8:1 is not a layout of (threads, values)");
    assert_eq!(refusal("thread_values((8,4):(4,1), 32)"), "a tile has rows and columns, not 32");
}
