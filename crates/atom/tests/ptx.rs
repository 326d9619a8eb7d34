//! The placements, lane by lane, against the formulas of the PTX ISA.

use loopwright_atom::{Operand, all, library, parse_atoms};

/// `groupID` and `threadID_in_group` of the manual.
fn of_lane(lane: i64) -> (i64, i64) {
    (lane / 4, lane % 4)
}

type Formula = fn(i64, i64, i64) -> (i64, i64);

fn holds(name: &str, operand: Operand, elements: i64, formula: Formula) {
    let atom = library(name).unwrap_or_else(|| panic!("no atom {name}"));
    assert_eq!(atom.operand(operand).elements(), elements, "{name} {operand:?}");
    assert_eq!(atom.lanes(), 32, "{name}");
    for lane in 0..32 {
        let (group, thread) = of_lane(lane);
        for i in 0..elements {
            let found = atom.position(operand, lane, i);
            assert_eq!(found, formula(group, thread, i), "{name} {operand:?}, lane {lane}, element {i}");
            assert_eq!(atom.holder(operand, found), Some((lane, i)), "{name} {operand:?}: one holder");
        }
    }
}

#[test]
fn half_precision_k16() {
    for name in ["mma_m16n8k16_f16", "mma_m16n8k16_bf16", "mma_m16n8k16_f16_f16"] {
        // a: row = groupID for i in 0, 1, 4, 5, else groupID + 8;
        // col = 2 t + (i & 1), + 8 for i >= 4.
        holds(name, Operand::A, 8, |g, t, i| {
            let row = if [0, 1, 4, 5].contains(&i) { g } else { g + 8 };
            (row, t * 2 + (i & 1) + if i < 4 { 0 } else { 8 })
        });
        // b: row (k) = 2 t + (i & 1), + 8 for i >= 2; col (n) = groupID. Ours is (n, k).
        holds(name, Operand::B, 4, |g, t, i| (g, t * 2 + (i & 1) + if i < 2 { 0 } else { 8 }));
        holds(name, Operand::D, 4, |g, t, i| (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1)));
    }
}

#[test]
fn half_precision_k8() {
    for name in ["mma_m16n8k8_f16", "mma_m16n8k8_bf16"] {
        holds(name, Operand::A, 4, |g, t, i| (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1)));
        holds(name, Operand::B, 2, |g, t, i| (g, t * 2 + i));
        holds(name, Operand::D, 4, |g, t, i| (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1)));
    }
}

#[test]
fn bytes_k32() {
    let float8 =
        ["mma_m16n8k32_e4m3", "mma_m16n8k32_e5m2", "mma_m16n8k32_e5m2_e4m3", "mma_m16n8k32_e4m3_e5m2"];
    for name in ["mma_m16n8k32_s8", "mma_m16n8k32_u8"].into_iter().chain(float8) {
        holds(name, Operand::A, 16, |g, t, i| {
            let row = if (0..4).contains(&i) || (8..12).contains(&i) { g } else { g + 8 };
            (row, t * 4 + (i & 3) + if i < 8 { 0 } else { 16 })
        });
        holds(name, Operand::B, 8, |g, t, i| (g, t * 4 + (i & 3) + if i < 4 { 0 } else { 16 }));
        holds(name, Operand::D, 4, |g, t, i| (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1)));
    }
}

#[test]
fn double_precision_k4() {
    holds("mma_m8n8k4_f64", Operand::A, 1, |g, t, _| (g, t));
    holds("mma_m8n8k4_f64", Operand::B, 1, |g, t, _| (g, t));
    holds("mma_m8n8k4_f64", Operand::D, 2, |g, t, i| (g, t * 2 + i));
}

#[test]
fn tf32() {
    for name in ["mma_m16n8k8_tf32", "mma_m16n8k8_tf32_truncated"] {
        // a: row = groupID for i in 0, 2, else groupID + 8; col = t, + 4 for i >= 2.
        holds(name, Operand::A, 4, |g, t, i| {
            (if i % 2 == 0 { g } else { g + 8 }, if i < 2 { t } else { t + 4 })
        });
        // b: row (k) = t, + 4 for i = 1; col (n) = groupID. Ours is (n, k).
        holds(name, Operand::B, 2, |g, t, i| (g, if i == 0 { t } else { t + 4 }));
        holds(name, Operand::D, 4, |g, t, i| (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1)));
    }
    for name in ["mma_m16n8k4_tf32", "mma_m16n8k4_tf32_truncated"] {
        // a: row = groupID, + 8 for i = 1; col = t.
        holds(name, Operand::A, 2, |g, t, i| (if i == 0 { g } else { g + 8 }, t));
        holds(name, Operand::B, 1, |g, t, _| (g, t));
        holds(name, Operand::D, 4, |g, t, i| (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1)));
    }
}

#[test]
fn large_boxes_of_f64() {
    // a: row = groupID for even i, else groupID + 8; col = t + 4*(i / 2). b: row (k) = t + 4*i. All
    // sizes have the results of the others.
    for (k, elements) in [(16, 8), (8, 4), (4, 2)] {
        let name = format!("mma_m16n8k{k}_f64");
        holds(&name, Operand::A, elements, |g, t, i| (if i % 2 == 0 { g } else { g + 8 }, t + 4 * (i / 2)));
        holds(&name, Operand::B, elements / 2, |g, t, i| (g, t + 4 * i));
        holds(&name, Operand::D, 4, |g, t, i| (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1)));
    }
}

/// The instruction is run by quad pairs: the manual's formulas are those of one of them, and each
/// has a quadrant of the tile of a warp.
#[test]
fn quad_pairs_have_quadrants() {
    let atom = library("mma_m16n16k4_f16").unwrap();
    assert_eq!(Operand::ALL.map(|o| atom.operand(o).elements()), [4, 4, 8]);
    assert_eq!(Operand::ALL.map(|o| atom.operand(o).copies()), [2, 2, 1]);
    for lane in 0..32 {
        let pair = lane / 4 % 4;
        let (below, right) = (8 * (pair % 2), 8 * (pair / 2));
        // a.row: row = lane % 4, + 4 from lane 16 on; col = i. b.col: the same of its columns.
        let of_factor = lane % 4 + if lane < 16 { 0 } else { 4 };
        for i in 0..4 {
            assert_eq!(atom.position(Operand::A, lane, i), (of_factor + below, i), "a, lane {lane}");
            assert_eq!(atom.position(Operand::B, lane, i), (of_factor + right, i), "b, lane {lane}");
        }
        // Both halves of a row of quadrants have a copy of `a`, which the columns number.
        assert_eq!(atom.operand(Operand::A).copy(lane), right / 8);
        assert_eq!(atom.operand(Operand::B).copy(lane), below / 8);
        for i in 0..8i64 {
            let row = (lane & 1) + (i & 2) + if lane < 16 { 0 } else { 4 };
            let column = (i & 4) + (lane & 2) + (i & 1);
            let found = atom.position(Operand::D, lane, i);
            assert_eq!(found, (row + below, column + right), "d, lane {lane}, element {i}");
            assert_eq!(atom.holder(Operand::D, found), Some((lane, i)));
        }
    }
}

/// Copies are of factors, and each is whole.
#[test]
fn copies_that_are_not_whole_are_refused() {
    let text = library("mma_m16n16k4_f16").unwrap().to_string();
    let with = |from: &str, to: &str| parse_atoms(&text.replacen(from, to, 1)).unwrap_err().to_string();
    // Lanes of one copy that hold the same rows.
    let twice = with("a: f16 ((4,2,2,2),4):((1,8,0,4),16)", "a: f16 ((4,2,2,2),4):((1,4,0,4),16)");
    assert!(twice.contains("(4, 0) has 2 holders, not one"), "{twice}");
    let of_result = with("((1,32,8,128,4),(16,2,64))", "((1,32,0,128,4),(16,2,64))");
    assert!(of_result.contains("has no digits"), "{of_result}");
    let of_element =
        with("a: f16 ((4,2,2,2),4):((1,8,0,4),16)", "a: f16 ((4,2,2,2),(4,2)):((1,8,0,4),(16,0))");
    assert!(of_element.contains("has no digits"), "{of_element}");
}

#[test]
fn every_atom_is_held_to_a_formula() {
    let tested = [
        "mma_m16n8k16_f16",
        "mma_m16n8k16_bf16",
        "mma_m16n8k8_f16",
        "mma_m16n8k8_bf16",
        "mma_m16n8k32_s8",
        "mma_m16n8k32_u8",
        "mma_m16n8k32_e4m3",
        "mma_m16n8k32_e5m2",
        "mma_m16n8k32_e5m2_e4m3",
        "mma_m16n8k32_e4m3_e5m2",
        "mma_m8n8k4_f64",
        "mma_m16n8k16_f16_f16",
        "mma_m16n8k8_tf32",
        "mma_m16n8k4_tf32",
        "mma_m16n8k8_tf32_truncated",
        "mma_m16n8k4_tf32_truncated",
        "mma_m16n8k16_f64",
        "mma_m16n8k8_f64",
        "mma_m16n8k4_f64",
        "mma_m16n16k4_f16",
    ];
    assert_eq!(all().iter().map(|atom| atom.name().as_str()).collect::<Vec<_>>(), tested);
}

/// The text form of an atom is read back as what it was.
#[test]
fn texts_survive_printing() {
    for atom in all() {
        assert_eq!(parse_atoms(&atom.to_string()).expect("an atom"), [(**atom).clone()]);
    }
}

#[test]
fn texts_that_describe_no_instruction_are_refused() {
    const GOOD: &str = "\
atom own {
    d[m, n] += a[m, k] * b[n, k]
    box m < 8, n < 8, k < 4
    a: f64 ((4,8),1):((8,1),0)
    b: f64 ((4,8),1):((8,1),0)
    d: f64 ((4,8),2):((16,1),8)
    executor warp
    since sm_80
    ptx mma
}
";
    assert_eq!(parse_atoms(GOOD).expect("an atom").len(), 1);
    for (from, to, message) in [
        (
            "box m < 8",
            "box m < 4",
            "line 4 of the atoms: the placement ((4,8),1):((8,1),0) of `a` in `own` has no digits",
        ),
        (
            "b: f64 ((4,8),1):((8,1),0)",
            "b: f64 ((4,8),2):((8,1),32)",
            "line 5 of the atoms: the placement ((4,8),2):((8,1),32) of `b` in `own` does not hold \
             its tile: lane 0 has (0, 4) as element 1, outside of 8 x 4",
        ),
        (
            "b: f64 ((4,8),1):((8,1),0)",
            "b: f64 ((2,8),1):((8,1),0)",
            "line 5 of the atoms: the placement ((2,8),1):((8,1),0) of `b` in `own` is over 16 lanes, and a \
             warp has 32",
        ),
        (
            "b: f64 ((4,8),1):((8,1),0)",
            "b: f64 ((4,8),1):((16,1),0)",
            "line 5 of the atoms: the placement ((4,8),1):((16,1),0) of `b` in `own` does not hold its tile: \
             lane 2 has (0, 4) as element 0, outside of 8 x 4",
        ),
        (
            "d: f64",
            "d: f32",
            "line 6 of the atoms: `own` cannot add products of f64 and f64 in f32: there are f16 in f32 and f16, \
             bf16 in f32, i8 and u8 in i32, f64 in f64, and `to_tf32` or \
             `truncate_to_tf32` of f32 in f32",
        ),
        (
            "a[m, k] * b[n, k]",
            "a[k, m] * b[n, k]",
            "line 2 of the atoms: `d[m, n] += a[k, m] * b[n, k]` is no meaning of an atom: that is \
             `d[m, n] += a[m, k] * b[n, k]` or `d[m, n] += to_tf32(a[m, k]) * to_tf32(b[n, k])` or \
             `d[m, n] += truncate_to_tf32(a[m, k]) * truncate_to_tf32(b[n, k])`",
        ),
        ("since sm_80", "since sm_80\n    since sm_90", "line 9 of the atoms: a second line `since`"),
        (
            "ptx mma",
            "ptx mma\\n;",
            "line 9 of the atoms: `mma\\n;` is not the name of an instruction, such as `mma.sync.aligned...`",
        ),
        (
            "d: f64 ((4,8),2):((16,1),8)",
            "d: f64 ((4,8),2):((8,1),8)",
            "line 6 of the atoms: the placement ((4,8),2):((8,1),8) of `d` in `own` does not hold its tile: \
             (0, 1) has 2 holders, not one",
        ),
        ("    executor warp\n", "", "line 8 of the atoms: `own` lacks its executor, `executor warp`"),
        ("since sm_80", "since 80", "line 8 of the atoms: an architecture is `sm_80`"),
        ("ptx mma\n}", "ptx mma", "line 1 of the atoms: `own` is not closed"),
        (
            "executor warp",
            "executor thread",
            "line 7 of the atoms: `executor thread` says nothing about an atom",
        ),
        ("a: f64", "a: f63", "line 4 of the atoms: no type `f63`"),
    ] {
        let text = GOOD.replace(from, to);
        assert_ne!(text, GOOD);
        let refused = parse_atoms(&text).expect_err(from);
        assert_eq!(refused.message, message);
    }
}

#[test]
fn texts_that_are_no_atoms_are_refused() {
    let refused = |text| parse_atoms(text).expect_err(text).render();
    assert_eq!(
        refused("# a comment\n\natoms\n"),
        "error[atom-syntax]: line 3 of the atoms: an atom begins with `atom NAME {`"
    );
}
