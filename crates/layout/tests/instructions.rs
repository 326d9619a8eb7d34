//! The layouts of tensor-core instructions against the formulas of the PTX manual, lane by lane.

use crate::common;

use common::{layout, tiler};
use loopwright_layout::{Instruction, TiledInstruction};

/// The (row, column) that a lane holds as its value with a number.
type Formula = fn(i64, i64) -> (i64, i64);

/// With `g = lane / 4` and `q = lane % 4`, as in the manual's tables. `B` is given as (n, k).
const FORMULAS: &[(&str, [Formula; 3])] = &[
    (
        "SM80_16x8x8_F32F16F16F32_TN",
        [
            |l, v| (l / 4 + 8 * (v / 2), 2 * (l % 4) + v % 2),
            |l, v| (l / 4, 2 * (l % 4) + v),
            |l, v| (l / 4 + 8 * (v / 2), 2 * (l % 4) + v % 2),
        ],
    ),
    (
        "SM80_16x8x16_F32F16F16F32_TN",
        [
            |l, v| (l / 4 + 8 * (v / 2 % 2), 2 * (l % 4) + v % 2 + 8 * (v / 4)),
            |l, v| (l / 4, 2 * (l % 4) + v % 2 + 8 * (v / 2)),
            |l, v| (l / 4 + 8 * (v / 2), 2 * (l % 4) + v % 2),
        ],
    ),
    (
        "SM80_16x8x8_F32TF32TF32F32_TN",
        [
            |l, v| (l / 4 + 8 * (v % 2), l % 4 + 4 * (v / 2)),
            |l, v| (l / 4, l % 4 + 4 * v),
            |l, v| (l / 4 + 8 * (v / 2), 2 * (l % 4) + v % 2),
        ],
    ),
    (
        "SM80_8x8x4_F64F64F64F64_TN",
        [|l, _| (l / 4, l % 4), |l, _| (l / 4, l % 4), |l, v| (l / 4, 2 * (l % 4) + v)],
    ),
    (
        // `A` is stored by columns and `B` by rows; a quadpair is lanes 0 to 3 and 16 to 19.
        "SM70_8x8x4_F32F16F16F32_NT",
        [
            |l, v| (v + 4 * (l / 16), l % 4),
            |l, v| (v + 4 * (l / 16), l % 4),
            |l, v| (l % 2 + (v & 2) + 4 * (l / 16), (v & 4) + (l & 2) + v % 2),
        ],
    ),
    (
        "SM70_8x8x4_F32F16F16F32_TN",
        [
            |l, v| (l % 4 + 4 * (l / 16), v),
            |l, v| (l % 4 + 4 * (l / 16), v),
            |l, v| (l % 2 + (v & 2) + 4 * (l / 16), (v & 4) + (l & 2) + v % 2),
        ],
    ),
];

#[test]
fn operands_lie_where_the_manual_says() {
    assert_eq!(FORMULAS.len(), loopwright_layout::instruction_names().count());
    for (name, formulas) in FORMULAS {
        let tiled = TiledInstruction::alone(Instruction::named(name).unwrap()).unwrap();
        let [a, b, c] = tiled.holders().unwrap();
        for (held, (formula, transposed)) in [a, b, c].iter().zip(formulas.iter().zip([false, true, false])) {
            let mut cells = 0;
            for (row, holders) in (0i64..).zip(held) {
                for (column, (lane, value)) in (0i64..).zip(holders) {
                    let place = if transposed { (column, row) } else { (row, column) };
                    assert_eq!(formula(*lane, *value), place, "{name}: lane {lane}, value {value}");
                    cells += 1;
                }
            }
            assert!(cells > 0);
        }
    }
}

/// The plain tiling: instruction (i, j) owns block (i, j), and quadpairs follow the layout of
/// atoms.
#[test]
fn plain_tilings_repeat_the_instruction() {
    let atom = Instruction::named("SM70_8x8x4_F32F16F16F32_NT").unwrap();
    let alone = TiledInstruction::alone(atom.clone()).unwrap().holders().unwrap();
    let tiled = TiledInstruction::new(atom, &layout("(2,2):(2,1)"), None).unwrap();
    assert_eq!((tiled.shape().unwrap(), tiled.threads().unwrap()), ([16, 16, 4], 32));
    let [a, b, c] = tiled.holders().unwrap();
    for m in 0..16 {
        for n in 0..16 {
            // Atoms are numbered along n first; each starts four lanes on.
            let quad = 4 * (2 * (m as i64 / 8) + n as i64 / 8);
            let (lane, value) = alone[2][m % 8][n % 8];
            assert_eq!(c[m][n], (lane + quad, value), "C at {m}, {n}");
        }
        for k in 0..4 {
            // Of the atoms that share a row of A or a column of B, the first is given.
            let (lane, value) = alone[0][m % 8][k];
            assert_eq!(a[m][k], (lane + 8 * (m as i64 / 8), value), "A at {m}, {k}");
            let (lane, value) = alone[1][k][m % 8];
            assert_eq!(b[k][m], (lane + 4 * (m as i64 / 8), value), "B at {k}, {m}");
        }
    }
}

/// A permutation of m and n interleaves the instructions four rows and columns at a time.
#[test]
fn permutations_move_rows_and_columns() {
    let atom = Instruction::named("SM70_8x8x4_F32F16F16F32_NT").unwrap();
    let atoms = layout("(2,2):(2,1)");
    let plain = TiledInstruction::new(atom.clone(), &atoms, None).unwrap().holders().unwrap();
    let tile = tiler("<(4,2,2):(1,8,4), (4,2,2):(1,8,4)>");
    let [a, b, c] = TiledInstruction::new(atom, &atoms, Some(&tile)).unwrap().holders().unwrap();
    // Rows 0-3 stay, the second half of the first instruction goes after the first half of the
    // second.
    let to = |m: usize| [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15][m];
    for m in 0..16 {
        for n in 0..16 {
            assert_eq!(c[to(m)][to(n)], plain[2][m][n]);
        }
        for k in 0..4 {
            assert_eq!(a[to(m)][k], plain[0][m][k]);
            assert_eq!(b[k][to(m)], plain[1][k][m]);
        }
    }
}

/// A larger tile gives each thread more values; every cell of it has a different holder.
#[test]
fn larger_tiles_add_values() {
    let atom = Instruction::named("SM80_16x8x16_F32F16F16F32_TN").unwrap();
    let tiled = TiledInstruction::new(atom, &layout("(2,1):(1,0)"), Some(&tiler("<32, 32, 16>"))).unwrap();
    let [_, _, c] = tiled.holders().unwrap();
    let mut all: Vec<(i64, i64)> = c.into_iter().flatten().collect();
    all.sort_unstable();
    let expected: Vec<(i64, i64)> = (0..64).flat_map(|t| (0..16).map(move |v| (t, v))).collect();
    assert_eq!(all, expected);
}

#[test]
fn wrong_instructions_are_refused() {
    let of = |threads: &str, a: &str| {
        let (b, c) = (layout("((4,8),1):((8,1),0)"), layout("((4,8),2):((16,1),8)"));
        Instruction::new("test", [8, 8, 4], layout(threads), [layout(a), b, c]).map_err(|e| e.to_string())
    };
    assert!(of("32:1", "((4,8),1):((8,1),0)").is_ok());
    assert_eq!(
        of("32:1", "((4,8),1):((8,2),0)").unwrap_err(),
        "test: the layout ((4,8),1):((8,2),0) of A does not hold the 32 positions of its tile"
    );
    assert_eq!(
        of("32:1", "((4,4),2):((8,1),4)").unwrap_err(),
        "test: the layout ((4,4),2):((8,1),4) of A has 16 threads, not 32"
    );
    let atom = Instruction::named("SM80_8x8x4_F64F64F64F64_TN").unwrap();
    let tiled = TiledInstruction::new(atom, &layout("(2,1):(1,0)"), Some(&tiler("<8, 8, 4>")));
    assert_eq!(tiled.unwrap_err().to_string(), "8:1 is not a permutation of a multiple of 16 coordinates");
}
