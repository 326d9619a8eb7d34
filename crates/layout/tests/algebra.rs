//! Single values of the algebra: well-known examples, edge cases, and refusals.

use crate::common;

use common::layout;
use loopwright_layout::eval::{FUNCTIONS, evaluate};

fn value(text: &str) -> String {
    match evaluate(text) {
        Ok(value) => value.to_string(),
        Err(e) => panic!("{text}: {}", e.error),
    }
}

fn refusal(text: &str) -> String {
    match evaluate(text) {
        Ok(value) => panic!("{text} is {value}"),
        Err(e) => format!("{}: {}", &text[e.span], e.error),
    }
}

#[test]
fn expressions_are_read() {
    for (text, expected) in [
        ("(_4,_8):(_1,_4)", "(4,8):(1,4)"),
        ("( 4 , (2,3) ) : ( 6 , (3,1) )", "(4,(2,3)):(6,(3,1))"),
        ("(4):(1)", "(4):(1)"),
        ("4:1", "4:1"),
        ("2*(3 + 4) - -1", "15"),
        ("<3:3, (2,4):(1,8)>", "<3:3, (2,4):(1,8)>"),
        ("(_, 3)", "(_,3)"),
        ("()", "()"),
        ("((4,8):(8,1))", "(4,8):(8,1)"),
        ("Swizzle<3,4,3>", "Sw<3,4,3>"),
        ("Sw<3,4,3> o (8,64):(64,1)", "Sw<3,4,3> o 0 o (8,64):(64,1)"),
        ("Sw<3,4,3> o 16 o (8,64):(64,1)", "Sw<3,4,3> o 16 o (8,64):(64,1)"),
        ("Sw<3,4,3> o (8,64):(64,1) o 8:1", "Sw<3,4,3> o 0 o 8:64"),
        ("(m,n):(n,1)", "(m,n):(n,1)"),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

/// One value of each function, by hand.
#[test]
fn functions_have_their_values() {
    let examples = [
        ("size((4,(2,3)):(6,(3,1)))", "24"),
        ("size<1>((4,(2,3)):(6,(3,1)))", "6"),
        ("cosize((4,2):(3,20))", "30"),
        ("rank((4,(2,3)):(6,(3,1)))", "2"),
        ("depth((4,(2,3)):(6,(3,1)))", "2"),
        ("shape((4,(2,3)):(6,(3,1)))", "(4,(2,3))"),
        ("stride<1>((4,(2,3)):(6,(3,1)))", "(3,1)"),
        ("layout<1,0>((4,(2,3)):(6,(3,1)))", "2:3"),
        ("select<2,0>((4,2,3):(6,3,1))", "(3,4):(1,6)"),
        ("take<1,3>((4,2,3):(6,3,1))", "(2,3):(3,1)"),
        ("group<0,2>((4,2,3):(6,3,1))", "((4,2),3):((6,3),1)"),
        ("flatten((4,(2,3)):(6,(3,1)))", "(4,2,3):(6,3,1)"),
        ("append((4,2):(2,1), 3:8)", "(4,2,3):(2,1,8)"),
        ("prepend((4,2):(2,1), 3:8)", "(3,4,2):(8,2,1)"),
        ("make_layout((4,(2,3)))", "(4,(2,3)):(1,(4,8))"),
        ("make_layout((4,2), (2,1))", "(4,2):(2,1)"),
        ("make_layout(4:1, (2,3):(4,8))", "(4,(2,3)):(1,(4,8))"),
        ("make_layout_right((4,(2,3)))", "(4,(2,3)):(6,(3,1))"),
        ("make_ordered_layout((4,2,3), (2,0,1))", "(4,2,3):(6,1,2)"),
        ("crd2idx((1,(1,2)), (4,(2,3)):(6,(3,1)))", "11"),
        ("crd2idx((1,5), (4,(2,3)):(6,(3,1)))", "11"),
        ("crd2idx((1,5), (4,6), (6,1))", "11"),
        ("crd2idx(3, Sw<1,0,1> o 4:1)", "2"),
        ("idx2crd(21, (4,(2,3)))", "(1,(1,2))"),
        ("values((2,2):(2,1))", "(0,2,1,3)"),
        ("slice((1,_), (4,(2,3)):(6,(3,1)))", "((2,3)):((3,1))"),
        ("dice((1,_), (4,(2,3)):(6,(3,1)))", "(4):(6)"),
        ("slice_and_offset((1,(_,2)), (4,(2,3)):(6,(3,1)))", "<(2):(3), 8>"),
        ("product((4,(2,3)))", "24"),
        ("inner_product((4,2),(3,5))", "22"),
        ("prefix_product((4,(2,3)))", "(1,(4,8))"),
        ("shape_div((4,6), 8)", "(1,3)"),
        ("ceil_div(7, 2)", "4"),
        ("compatible((4,6), (4,(2,3)))", "true"),
        ("compatible((4,(2,3)), (4,6))", "false"),
        ("coalesce((2,(1,6)):(1,(6,2)))", "12:1"),
        ("coalesce((2,(1,6)):(1,(6,2)), (1,1))", "(2,6):(1,2)"),
        ("filter((2,5,3):(3,0,6))", "6:3"),
        ("filter((2,(5,3)):(3,(0,6)), (1,1))", "(2,3):(3,6)"),
        ("filter_zeros((2,(5,3)):(3,(0,6)))", "(2,(1,3)):(3,(0,6))"),
        ("composition((6,2):(8,2), (4,3):(3,1))", "((2,2),3):((24,2),8)"),
        ("composition((6,8):(8,1), <2, 4:2>)", "(2,4):(8,2)"),
        ("complement((2,3):(12,2), 48)", "(2,2,2):(1,6,24)"),
        ("complement(3:5)", "5:1"),
        ("right_inverse((3,5):(5,1))", "(5,3):(3,1)"),
        ("left_inverse((3,2):(2,12))", "(2,3,2,2):(6,1,12,3)"),
        ("nullspace((4,3,2):(1,0,0))", "(3,2):(4,12)"),
        ("logical_divide(24:3, 4:2)", "(4,(2,3)):(6,(3,24))"),
        ("zipped_divide((6,8):(8,1), (3,4))", "((3,4),(2,2)):((8,1),(24,4))"),
        ("tiled_divide((6,8):(8,1), (3,4))", "((3,4),2,2):((8,1),24,4)"),
        ("flat_divide((6,8):(8,1), (3,4))", "(3,4,2,2):(8,1,24,4)"),
        ("logical_product(3:2, (2,2):(2,1))", "(3,(2,2)):(2,(6,1))"),
        ("zipped_product((2,3):(1,2), (2,4))", "((2,3),(2,(2,2))):((1,2),(2,(1,6)))"),
        ("tiled_product((2,3):(1,2), (2,4))", "((2,3),2,(2,2)):((1,2),2,(1,6))"),
        ("flat_product((2,3):(1,2), (2,4))", "(2,3,2,(2,2)):(1,2,2,(1,6))"),
        ("blocked_product((2,3):(1,2), (2,4):(4,1))", "((2,2),(3,4)):((1,24),(2,6))"),
        ("raked_product((2,3):(1,2), (2,4):(4,1))", "((2,2),(4,3)):((24,1),(6,2))"),
        ("tile_to_shape((2,2):(2,1), (4,6))", "(4,(2,3)):(2,(1,8))"),
        ("tile_to_shape((2,2):(2,1), (4,6), (2,1))", "((2,2),(2,3)):((2,12),(1,4))"),
        ("upcast<4>((2,8):(8,1))", "(2,2):(2,1)"),
        ("downcast<2>((2,8):(8,1))", "(2,16):(16,1)"),
        ("recast<16,8>((2,8):(8,1))", "(2,16):(16,1)"),
        ("recast<16,24>((2,9):(9,1))", "(2,6):(6,1)"),
        ("max_common_layout((4,8):(1,4), (8,4):(1,8))", "32:1"),
        ("max_common_vector((4,8):(1,16), (4,8):(1,4))", "4"),
        ("is_injective((4,8):(8,1))", "true"),
        ("is_injective((4,8):(7,1))", "false"),
        ("is_injective(Sw<2,0,2> o (4,4):(4,1))", "true"),
        (
            "thread_values(((2,4),(2,2)):((8,1),(4,16)), (4,8))",
            "thread_values(((2,4),(2,2)):((8,1),(4,16)), (4,8))",
        ),
        (
            "mma((8,8,4), 32:1, ((4,8),1):((8,1),0), ((4,8),1):((8,1),0), ((4,8),2):((16,1),8))",
            "mma: threads 32:1, A ((4,8),1):((8,1),0), B ((4,8),1):((8,1),0), C \
             ((4,8),2):((16,1),8); atoms (1,1,1):(0,0,0), tile <8:1, 8:1, 4:1>",
        ),
        (
            "tiled_mma(SM80_8x8x4_F64F64F64F64_TN, (2,1):(1,0), <16, 16, 4>)",
            "SM80_8x8x4_F64F64F64F64_TN: threads 32:1, A ((4,8),1):((8,1),0), B \
             ((4,8),1):((8,1),0), C ((4,8),2):((16,1),8); atoms (2,1,1):(1,0,0), tile <16:1, \
             16:1, 4:1>",
        ),
    ];
    for (text, expected) in examples {
        assert_eq!(value(text), expected, "{text}");
    }
    // The help names each of them, and nothing else.
    let name = |call: &str| call[..call.find(['(', '<']).unwrap()].to_owned();
    let mut called: Vec<String> = examples.iter().map(|(text, _)| name(text)).collect();
    let mut listed: Vec<String> = FUNCTIONS.iter().map(|f| name(f.call)).collect();
    for names in [&mut called, &mut listed] {
        names.sort();
        names.dedup();
    }
    assert_eq!(called, listed);
}

#[test]
fn refusals_name_the_mode_and_the_reason() {
    for (text, expected) in [
        ("(4,8):(1", ": expected `,` or `)` (at byte 8)"),
        ("4:1:2", ":: expected the end of the expression (at byte 3)"),
        ("4:", ": expected a layout, a tuple, an integer or a function (at byte 2)"),
        ("4:(1,2)", "4:(1,2): shape 4 and stride (1,2) are different trees"),
        ("0:1", "0:1: the size 0 is less than 1"),
        ("(4:1):2", "(4:1):2: a shape and a stride are integers or tuples of them (at byte 0)"),
        ("4 + (1,2)", "4 + (1,2): expected a number, found (1,2) (at byte 0)"),
        ("4:1 ? 2", "?: `?` has no meaning in a layout (at byte 4)"),
        ("99999999999999999999:1", "99999999999999999999: an integer does not fit into 64 bits (at byte 0)"),
        ("o", "o: `o` composes two layouts (at byte 0)"),
        (
            "Sw<3,4,2>",
            "Sw<3,4,2>: Sw<3,4,2>: the shift is at least the number of bits, or the bits would \
             overlap",
        ),
        ("Sw<40,20,40>", "Sw<40,20,40>: Sw<40,20,40>: an index has 62 bits"),
        ("size()", "size(): size takes 1 argument and was given 0"),
        ("size(4, 5)", "size(4, 5): size takes 1 argument and was given 2"),
        ("size<2>((4,8):(8,1))", "size<2>((4,8):(8,1)): size<2>: (4,8):(8,1) has 2 modes"),
        ("coalesce(_)", "coalesce(_): coalesce: expected a layout, found _"),
        ("upcast(4:1)", "upcast(4:1): upcast takes a positive number: upcast<2>(L)"),
        (
            "shape_div((4,6), 5)",
            "shape_div((4,6), 5): shape_div: no layout does this: neither of 4 and 5 divides the \
             other",
        ),
        (
            "crd2idx((1,2,3), (4,8):(8,1))",
            "crd2idx((1,2,3), (4,8):(8,1)): crd2idx: (1,2,3) is not a coordinate of (4,8)",
        ),
        (
            "slice((_,_,_), (4,8):(8,1))",
            "slice((_,_,_), (4,8):(8,1)): slice: (_,_,_) is not a coordinate of (4,8):(8,1)",
        ),
        (
            "composition(4:1, (2,2))",
            "composition(4:1, (2,2)): composition: the tiler has 2 modes and 4:1 has 1",
        ),
        (
            "(3,4):(1,8) o 8:1",
            "(3,4):(1,8) o 8:1: composition: no layout does this: mode 8:1 of B needs that 3, \
             what is left of mode 0 of A, divides 8",
        ),
        (
            "(4,8):(1,10) o 4:3",
            "(4,8):(1,10) o 4:3: composition: no layout does this: mode 4:3 of B needs that 3 \
             divides 4, or 4 divides 3, in mode 0 of A",
        ),
        (
            "(4,2):(1,10) o (2,2):(3,3)",
            "(4,2):(1,10) o (2,2):(3,3): composition: no layout does this: modes of (2,2):(3,3) \
             carry over between modes of (4,2):(1,10)",
        ),
        (
            "complement((2,2):(1,1), 8)",
            "complement((2,2):(1,1), 8): complement: no layout does this: the modes of \
             (2,2):(1,1) overlap",
        ),
        (
            "tile_to_shape((2,2):(2,1), (4,5))",
            "tile_to_shape((2,2):(2,1), (4,5)): tile_to_shape: no layout does this: the mode 2:1 \
             of the block has size 2, which does not divide 5",
        ),
        (
            "upcast<4>(2:3)",
            "upcast<4>(2:3): upcast: no layout does this: mode 2:3 needs that one of 3 and 4 \
             divides the other",
        ),
        (
            "size((9223372036854775807,2):(1,1))",
            "size((9223372036854775807,2):(1,1)): a size or an index does not fit into 64 bits",
        ),
        (
            "values(2000000:1)",
            "values(2000000:1): layout: only an enumeration of 2000000 points could decide this",
        ),
    ] {
        assert_eq!(refusal(text), expected, "{text}");
    }
    let deep = format!("{}4{}", "(".repeat(10_000), ")".repeat(10_000));
    assert!(refusal(&deep).contains("nested at most"));
    let product = format!("product(({}))", vec!["a + b + c + d + e"; 40].join(","));
    assert!(refusal(&product).ends_with("a size or an index does not fit into 64 bits"));
}

/// Errors carry indices that anyone can check by hand.
#[test]
fn witnesses_are_values() {
    let witness = |text: &str| evaluate(text).unwrap_err().error.witness().unwrap().to_owned();
    assert_eq!(
        witness("(3,4):(1,8) o 8:1"),
        "in A o 8:1, index 2 is 2 and index 3 is 8, a step after 3 of 8 positions"
    );
    assert_eq!(
        witness("(4,2):(1,10) o (2,2):(3,3)"),
        "A(B(3)) = A(6) is 12, where the modes of B add up to 6"
    );
    assert_eq!(witness("complement((2,2):(1,1), 8)"), "(2,2):(1,1) is 1 at 1 and at 2");
}

/// Beyond what rules of divisibility give.
#[test]
fn what_a_layout_does_is_found() {
    // The positions 0, 3, 6 of an 8 x 8 array of rows.
    assert_eq!(value("(8,8):(8,1) o 3:3"), "3:24");
    // A layout continues beyond its domain in its last mode, even if that has size 1.
    assert_eq!(value("(4,3):(3,1) o (24):(1)"), "((4,6)):((3,1))");
    assert_eq!(value("(4,3,1):(3,1,0) o (24):(1)"), "((4,3,2)):((3,1,0))");
    assert_eq!(value("(1):(1) o (4):(1)"), "(4):(1)");
    assert_eq!(value("complement((2,2):(2,3), 20)"), "4:6");
    assert_eq!(value("left_inverse((2,2):(2,3))"), "(2,4):(1,1)");
    assert_eq!(value("left_inverse((4,2):(1,5))"), "(5,2):(1,4)");
    assert_eq!(value("left_inverse(4:-1)"), "4:-1");
    assert_eq!(layout("():()").size().unwrap().to_string(), "1");
}

/// What the operations make of a swizzled layout: the same function of other coordinates, or a
/// layout that is decided by its values. `C` stands for `(Sw<2,0,2> o (4,4):(4,1))`.
#[test]
fn swizzled_layouts_take_part_in_the_algebra() {
    let with = |text: &str| text.replace('C', "(Sw<2,0,2> o (4,4):(4,1))");
    for (text, expected) in [
        ("coalesce(C)", "Sw<2,0,2> o 0 o (4,4):(4,1)"),
        ("composition(C, (2,2))", "Sw<2,0,2> o 0 o (2,2):(4,1)"),
        ("C o 4:2", "Sw<2,0,2> o 0 o (2,2):(8,1)"),
        ("size<0>(C)", "4"),
        ("cosize(C)", "16"),
        ("rank(C)", "2"),
        ("shape(C)", "(4,4)"),
        ("layout<1>(C)", "Sw<2,0,2> o 0 o 4:1"),
        ("select<1,0>(C)", "Sw<2,0,2> o 0 o (4,4):(1,4)"),
        ("group<0,2>(C)", "Sw<2,0,2> o 0 o ((4,4)):((4,1))"),
        ("append(C, 2:16)", "Sw<2,0,2> o 0 o (4,4,2):(4,1,16)"),
        ("complement(C)", "1:0"),
        ("complement(C, 32)", "2:16"),
        ("filter(C)", "Sw<2,0,2> o 0 o (4,4):(4,1)"),
        ("right_inverse(C)", "Sw<2,0,-2> o 0 o (4,4):(4,1)"),
        ("right_inverse(Sw<3,3,3> o (8,64):(64,1))", "Sw<3,0,-6> o 0 o (64,8):(8,1)"),
        ("left_inverse(C)", "Sw<2,0,-2> o 0 o (4,4):(4,1)"),
        ("left_inverse(Sw<1,0,1> o (2,2):(1,4))", "Sw<1,0,2> o 0 o (2,2,2):(1,4,2)"),
        ("nullspace(C)", "1:0"),
        ("logical_divide(C, (2,2))", "Sw<2,0,2> o 0 o ((2,2),(2,2)):((4,8),(1,2))"),
        ("zipped_divide(C, (2,2))", "Sw<2,0,2> o 0 o ((2,2),(2,2)):((4,1),(8,2))"),
        ("logical_product(C, 2:1)", "Sw<2,0,2> o 0 o ((4,4),2):((4,1),16)"),
        ("blocked_product(C, (2,2):(1,2))", "Sw<2,0,2> o 0 o ((4,2),(4,2)):((4,16),(1,32))"),
        ("tile_to_shape(C, (8,8))", "Sw<2,0,2> o 0 o (8,(4,2)):(4,(1,32))"),
        ("upcast<2>(Sw<3,3,3> o 8 o (8,64):(64,1))", "Sw<3,2,3> o 4 o (8,32):(32,1)"),
        ("downcast<2>(C)", "Sw<2,1,2> o 0 o (4,8):(8,1)"),
        ("recast<16,32>(Sw<3,3,3> o (8,64):(64,1))", "Sw<3,2,3> o 0 o (8,32):(32,1)"),
        ("max_common_vector(C, (4,4):(4,1))", "1"),
        ("max_common_vector(Sw<2,2,2> o (4,16):(16,1), (4,16):(16,1))", "4"),
        ("max_common_layout(C, (4,4):(4,1))", "4:4"),
        ("slice((1,_), C)", "Sw<2,0,2> o 4 o (4):(1)"),
        ("dice((1,_), C)", "Sw<2,0,2> o 0 o (4):(4)"),
        ("slice_and_offset((1,_), C)", "<Sw<2,0,2> o 4 o (4):(1), 0>"),
        ("crd2idx((1,2), C)", "7"),
        ("16:2 o C", "Sw<2,1,2> o 0 o (4,4):(8,2)"),
        ("C o C", "Sw<2,0,-2> o 0 o (4,4):(4,1)"),
        ("Sw<2,0,2> o C", "(4,4):(4,1)"),
    ] {
        assert_eq!(value(&with(text)), expected, "{text}");
    }
    for (text, expected) in [
        ("stride(C)", "a swizzle has no strides: how far neighbours are apart depends on where they are"),
        ("upcast<2>(C)", "Sw<2,0,2> takes 2 neighbours apart"),
        ("upcast<3>(C)", "Sw<2,0,2> exchanges bits, and 3 elements are no power of two"),
        ("upcast<2>(Sw<3,3,3> o 1 o (8,64):(64,1))", "the offset 1 is inside of a unit of 2"),
        ("16:3 o C", "with every swizzle behind it, what is left is no layout"),
        ("4 o C", "with every swizzle behind it, what is left is no layout"),
        ("make_layout(C, 2:1)", "a tuple of layouts is swizzled as a whole"),
        ("thread_values(C, (4,4))", "positions in a tile are not swizzled"),
        (
            "logical_divide(4:1, C)",
            "a swizzle is the last thing that is applied, and here it would come first",
        ),
        (
            "complement(Sw<1,0,1> o 1 o 3:1, 8)",
            "the positions that Sw<1,0,1> o 1 o 3:1 reaches, in order, are those of no layout",
        ),
        ("right_inverse(Sw<1,0,1> o 2 o 2:1)", "Sw<1,0,1> o 2 o 2:1 is 0 at no index"),
        ("nullspace(Sw<1,0,1> o 2 o 2:0)", "no index of Sw<1,0,1> o 2 o 2:0 that a layout begins with is 0"),
        ("left_inverse(Sw<1,0,1> o 1 o 4:1)", "it begins at an offset, which a layout does not take away"),
    ] {
        let refused = evaluate(&with(text)).expect_err(text).error.to_string();
        assert!(refused.contains(expected), "{text}: {refused}");
    }
}
