//! Blocks that are run on numbers.

use super::*;

/// Runs one block of these threads, with a body that may write the integers `y` and `s`, of
/// which the latter are shared: how often each element of `y` is written, or what is wrong.
fn run(threads: &str, body: &str) -> std::result::Result<Vec<(i64, u32)>, String> {
    let text = format!(
        "program k(x, y) index i32\nglobal x: i32[32] read\nglobal y: i32[32] written\nhost {{\n launch \
         k\n}}\nkernel k(x, y written) {{\n grid(1, 1, 1)\n block({threads})\n var k: i32\n var u: i32\n var b: i32 within(0, 3)\n shared s: i32[64]\n\n \
         {body}\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    let mut machine = Machine {
        program: &program,
        scalars: Table::default(),
        sizes: vec![32; program.globals.len()],
        written: Table::default(),
        is_written: vec![false; program.globals.len()],
        first: &|_, offset| Num::Int(offset),
        scalar: &|_| Num::Nothing,
        left: 1000,
    };
    match machine.launch(&program.kernels[0]) {
        Ok(()) => {
            let mut times: Vec<(i64, u32)> =
                machine.written.iter().map(|((_, offset), (_, times))| (*offset, *times)).collect();
            times.sort_unstable();
            Ok(times)
        }
        Err(Stop::Wrong(why)) => Err(why),
        Err(Stop::NotFollowed(why)) => Err(why.into()),
    }
}

/// What is said of a program of four threads that copies vectors of four elements, from and to
/// these elements; nothing if it runs.
fn copied(from: &str, to: &str) -> Option<String> {
    run("4, 1, 1", &format!("copy 4 y[{to}] = x[{from}]")).err()
}

#[test]
fn writes_of_an_element_are_counted() {
    assert_eq!(run("4, 1, 1", "store y[thread.x] = 1"), Ok(vec![(0, 1), (1, 1), (2, 1), (3, 1)]));
    let again = "store y[thread.x] = 1\n store y[thread.x quo 2] = 1";
    assert_eq!(run("4, 1, 1", again), Ok(vec![(0, 3), (1, 3), (2, 1), (3, 1)]));
}

#[test]
fn threads_have_coordinates_along_each_axis() {
    let each = "store y[thread.x + 2 * thread.y + 6 * thread.z] = 1";
    assert_eq!(run("2, 3, 4", each), Ok((0..24).map(|at| (at, 1)).collect()));
    let each = "store y[thread.x + 2 * thread.y + 4 * thread.z] = 1";
    assert_eq!(run("2, 2, 3", each), Ok((0..12).map(|at| (at, 1)).collect()));
}

/// A barrier of warps orders what the threads of one warp write, and no others.
#[test]
fn threads_that_write_one_shared_element_are_ordered_by_barriers() {
    let by = |first: u32, barrier: &str, second: u32| {
        let write = |thread: u32| format!("if thread.x == {thread} {{\n store s[5] = 1\n }}");
        run("64, 1, 1", &format!("{}\n {barrier}\n {}", write(first), write(second))).err()
    };
    let wrong = |thread: u32| {
        Some(format!(
            "thread ({thread}, 0, 0) of block (0, 0, 0) of `k` writes element 5 of `s` as another \
             thread does"
        ))
    };
    assert_eq!(by(33, "", 33), None);
    assert_eq!(by(33, "", 40), wrong(40));
    assert_eq!(by(33, "barrier warp", 40), None);
    assert_eq!(by(34, "barrier warp", 40), None);
    assert_eq!(by(1, "barrier warp", 40), wrong(40));
    assert_eq!(by(3, "barrier warp", 40), wrong(40));
    assert_eq!(by(40, "barrier warp", 3), wrong(3));
    assert_eq!(by(3, "barrier block", 40), None);
}

#[test]
fn both_ends_of_a_vector_copy_are_aligned() {
    let aligned = "4 * thread.x + 8";
    assert_eq!(copied(aligned, aligned), None);
    let wrong = "thread (0, 0, 0) of block (0, 0, 0) of `k` copies a vector that is not aligned";
    for off in ["4 * thread.x + 1", "4 * thread.x + 2"] {
        assert_eq!(copied(off, aligned).as_deref(), Some(wrong), "from {off}");
        assert_eq!(copied(aligned, off).as_deref(), Some(wrong), "to {off}");
        assert_eq!(copied(off, off).as_deref(), Some(wrong), "from and to {off}");
    }
}

/// The threads of a block of two warps.
const THREADS: i64 = 64;

/// What a body that ends with a number `v` for each thread of two warps gives, in their order. A
/// thread reads its own number of `x`; private arrays are `p` and `q`.
fn computed(body: &str) -> Vec<i64> {
    let text = format!(
        "program k(x, y, n: i32, z: f32) index i32\nglobal x: i32[64] read\nglobal y: i32[64] \
         written\nhost {{\n launch k\n}}\nkernel k(x, y written, n: i32, z: \
         f32) {{\n grid(1, 1, 1)\n block(64, 1, 1)\n var v: i32 mutable\n var w: i32 mutable\n var k: i32\n \
         private p: i32[3]\n private q: i32[2]\n shared s: i32[64]\n\n let v: i32 = 0\n {body}\n store \
         y[thread.x] = v\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    let mut machine = Machine {
        program: &program,
        scalars: Table::from_iter([(Name::new("n"), 5), (Name::new("z"), 1)]),
        sizes: vec![THREADS; program.globals.len()],
        written: Table::default(),
        is_written: vec![false; program.globals.len()],
        first: &|_, offset| Num::Int(offset),
        scalar: &|_| Num::Float(2.5),
        left: 100_000,
    };
    match machine.launch(&program.kernels[0]) {
        Ok(()) => {}
        Err(Stop::Wrong(why)) => panic!("{why}\n{text}"),
        Err(Stop::NotFollowed(why)) => panic!("{why}\n{text}"),
    }
    (0..THREADS).map(|t| machine.written[&(1, t)].0.int().unwrap_or(i64::MIN)).collect()
}

/// For a value in each thread, by its number.
fn each(f: impl Fn(i64) -> i64) -> Vec<i64> {
    (0..THREADS).map(f).collect()
}

/// Threads leave a loop one by one; the rounds of each are the digits of a number.
#[test]
fn rounds_count_up_by_a_step_double_or_halve() {
    let digits = |numbers: &[i64]| numbers.iter().fold(0, |all, k| all * 100 + k);
    let of = |range: &str| computed(&format!("for k: i32 = {range} {{\n set v = v * 100 + k\n }}"));
    assert_eq!(of("2 to 5"), each(|_| digits(&[2, 3, 4])));
    assert_eq!(of("2 to 9 step 3"), each(|_| digits(&[2, 5, 8])));
    assert_eq!(of("2 to 8 step 3"), each(|_| digits(&[2, 5])));
    assert_eq!(of("5 to 5"), each(|_| 0));
    assert_eq!(of("6 to 5"), each(|_| 0));
    assert_eq!(of("8 to 0 step halve"), each(|_| digits(&[8, 4, 2, 1])));
    assert_eq!(of("8 to 2 step halve"), each(|_| digits(&[8, 4])));
    assert_eq!(of("2 to 8 step halve"), each(|_| 0));
    assert_eq!(of("1 to 8 step double"), each(|_| digits(&[1, 2, 4])));
    assert_eq!(of("3 to 13 step double"), each(|_| digits(&[3, 6, 12])));
    assert_eq!(of("n to n + 2"), each(|_| digits(&[5, 6])));
    let own = |t: i64| (t % 4..3).collect::<Vec<_>>();
    assert_eq!(of("thread.x rem 4 to 3"), each(|t| digits(&own(t))));
    assert_eq!(of("0 to thread.x rem 4"), each(|t| digits(&(0..t % 4).collect::<Vec<_>>())));
}

/// Each lane has the number of another one of its group, or its own.
#[test]
fn lanes_exchange_within_their_groups() {
    for width in [4, 32] {
        for by in ["1", "3", "thread.x rem 3", "thread.x rem 32"] {
            let amount = |t: i64| match by {
                "thread.x rem 3" => t % 3,
                "thread.x rem 32" => t % 32,
                by => by.parse().unwrap(),
            };
            let from = |of: &dyn Fn(i64, i64) -> i64| {
                each(|t| {
                    let (first, lane) = (t / width * width, t % width);
                    let to = of(lane, amount(t));
                    let to = if to >= 0 && to < width { to } else { lane };
                    1000 + 3 * (first + to)
                })
            };
            let of = |mode: &str| computed(&format!("set v = {mode}(1000 + 3 * thread.x, {by}, {width})"));
            assert_eq!(of("shuffle_xor"), from(&|lane, by| lane ^ by), "xor {by} {width}");
            assert_eq!(of("shuffle_up"), from(&|lane, by| lane - by), "up {by} {width}");
            assert_eq!(of("shuffle_down"), from(&|lane, by| lane + by), "down {by} {width}");
            assert_eq!(of("shuffle_index"), from(&|_, by| by), "index {by} {width}");
        }
    }
}

#[test]
fn lanes_vote_in_their_warps() {
    let one = |t: i64| computed(&format!("if any(thread.x == {t}) {{\n set v = 1\n }}"));
    for lone in [0, 31, 32, 63] {
        assert_eq!(one(lone), each(|t| i64::from(t / 32 == lone / 32)), "{lone}");
    }
    let mask = |cond: &str| computed(&format!("set v = cast(i32, ballot({cond}))"));
    assert_eq!(mask("thread.x == 3 or thread.x == 36"), each(|t| if t < 32 { 1 << 3 } else { 1 << 4 }));
    assert_eq!(mask("thread.x < 0"), each(|_| 0));
    let zeros = |value: &str| computed(&format!("set v = leading_zeros({value})"));
    assert_eq!(zeros("ballot(thread.x rem 32 < 5)"), each(|_| 32 - 5));
    assert_eq!(zeros("cast(u32, thread.x)"), each(|t| i64::from((t as u32).leading_zeros())));
    assert_eq!(zeros("cast(u64, thread.x)"), each(|t| i64::from((t as u64).leading_zeros())));
}

#[test]
fn lanes_exchange_and_vote_in_whole_warps_alone() {
    for (exchange, cond) in ["shuffle_xor(1, 1, 32)", "cast(i32, ballot(true))", "cast(i32, any(true))"]
        .iter()
        .flat_map(|exchange| {
            ["thread.x < 31", "thread.x >= 1", "thread.x != 5", "thread.x >= 16 and thread.x < 48"]
                .map(|cond| (exchange, cond))
        })
    {
        let body = format!("if {cond} {{\n store s[thread.x] = {exchange}\n }}");
        let why = run("64, 1, 1", &body).err().unwrap_or_default();
        assert!(why.ends_with("exchanges values in a part of its warp"), "{exchange} if {cond}: {why}");
    }
    for cond in ["thread.x < 32", "thread.x >= 32", "thread.x < 0", "thread.x < 64"] {
        let body = format!("if {cond} {{\n store s[thread.x] = shuffle_xor(1, 1, 32)\n }}");
        assert_eq!(run("64, 1, 1", &body).err(), None, "{cond}");
    }
}

/// Elements of a thread's own arrays are no other thread's, and no other element.
#[test]
fn each_thread_has_arrays_of_its_own() {
    let fill = "store p[0] = thread.x\n store p[1] = 100 + thread.x\n store p[2] = 200 + thread.x\n store \
                q[0] = 300 + thread.x\n store q[1] = 400 + thread.x\n";
    for (element, more) in [("p[0]", 0), ("p[1]", 100), ("p[2]", 200), ("q[0]", 300), ("q[1]", 400)] {
        assert_eq!(computed(&format!("{fill} set v = {element}")), each(|t| more + t), "{element}");
    }
    assert_eq!(
        computed(&format!("{fill} set v = p[thread.x rem 3]")),
        each(|t| t + 100 * (t % 3)),
        "by a subscript of the thread"
    );
}

#[test]
fn elements_in_shared_and_global_memory_are_those_last_written() {
    let turned = "store s[thread.x] = 7 * thread.x\n barrier block\n set v = s[63 - thread.x]";
    assert_eq!(computed(turned), each(|t| 7 * (63 - t)));
    assert_eq!(computed("set v = x[63 - thread.x]"), each(|t| 63 - t));
    assert_eq!(computed("store y[thread.x] = 5 * thread.x\n set v = 1 + y[thread.x]"), each(|t| 1 + 5 * t));
}

#[test]
fn what_is_not_there_or_not_given_is_a_fault() {
    let of = |body: &str| run("4, 1, 1", body).err().unwrap_or_default();
    let at = |thread: u32, what: &str| format!("thread ({thread}, 0, 0) of block (0, 0, 0) of `k` {what}");
    for (array, size) in [("s", 64), ("y", 32)] {
        let outside = |offset: i64| format!("accesses element {offset} of `{array}`, which has {size}");
        let store = |at: &str| of(&format!("store {array}[{at}] = 1"));
        assert_eq!(store(&format!("{size} - 1 + thread.x quo 3")), at(3, &outside(size)));
        assert_eq!(store("thread.x - 1"), at(0, &outside(-1)));
        assert_eq!(store(&format!("{size} - 4 + thread.x")), "");
        let load = |at: &str| of(&format!("store y[thread.x] = {array}[{at}]"));
        assert_eq!(load(&format!("{size} - 1 + thread.x quo 3")), at(3, &outside(size)));
        assert_eq!(load("thread.x - 1"), at(0, &outside(-1)));
    }
    let read = "reads element 2 of `s`, which nothing has written";
    assert_eq!(
        of("if thread.x < 2 {\n store s[thread.x] = 1\n }\n store y[thread.x] = s[thread.x]"),
        at(2, read)
    );
    let unset = |uses: &str| of(&format!("declare u: i32\n {uses}"));
    assert_eq!(unset("if u < 3 {\n store y[0] = 1\n }"), at(0, "decides by a value that nothing has given"));
    assert_eq!(unset("store y[u] = 1"), at(0, "accesses an element by a value that nothing has given"));
    assert_eq!(
        unset("for k: i32 = u to 3 {\n store y[0] = 1\n }"),
        at(0, "begins a loop with a value that nothing has given")
    );
    assert_eq!(
        unset("for k: i32 = 0 to u {\n store y[0] = 1\n }"),
        at(0, "ends a loop with a value that nothing has given")
    );
}

/// A bound that is declared holds at both ends.
#[test]
fn a_variable_stays_within_its_declared_bounds() {
    for (value, wrong) in
        [("thread.x", None), ("thread.x + 1", Some((3, 4))), ("thread.x - 1", Some((0, -1)))]
    {
        let expected = wrong.map(|(thread, v)| {
            format!("thread ({thread}, 0, 0) of block (0, 0, 0) of `k` has {v} in `b`, which is from 0 to 3")
        });
        assert_eq!(run("4, 1, 1", &format!("let b: i32 = {value}")).err(), expected, "{value}");
    }
}

/// What is not chosen is not computed: a quotient by zero has no value, and nothing can be decided
/// by it.
#[test]
fn one_side_of_a_choice_is_computed() {
    let chosen = "set v = if(thread.x rem 3 == 1, 10 + thread.x, 100 quo (thread.x rem 3 - 1))";
    let of = |t: i64| if t % 3 == 1 { 10 + t } else { 100 / (t % 3 - 1) };
    assert_eq!(computed(chosen), each(of));
    let both =
        "if thread.x rem 4 != 0 and 8 quo (thread.x rem 4) > 3 {\n set v = 1\n } else {\n set v = 2\n }";
    assert_eq!(computed(both), each(|t| if t % 4 != 0 && 8 / (t % 4) > 3 { 1 } else { 2 }));
    let either =
        "if thread.x rem 4 == 0 or 8 quo (thread.x rem 4) > 3 {\n set v = 1\n } else {\n set v = 2\n }";
    assert_eq!(computed(either), each(|t| if t % 4 == 0 || 8 / (t % 4) > 3 { 1 } else { 2 }));
}

#[test]
fn operands_are_constants_scalars_and_results() {
    assert_eq!(computed("set v = thread.x - n"), each(|t| t - 5));
    assert_eq!(computed("set v = n - thread.x"), each(|t| 5 - t));
    assert_eq!(computed("set v = -thread.x"), each(|t| -t));
    assert_eq!(computed("set v = thread.x * thread.x"), each(|t| t * t));
    assert_eq!(computed("set v = cast(i32, cast(u8, thread.x * 5))"), each(|t| t * 5 % 256));
    assert_eq!(computed("if z > 2.0f32 {\n set v = 1\n }"), each(|_| 1));
    assert_eq!(computed("if z > 3.0f32 {\n set v = 1\n }"), each(|_| 0));
    assert_eq!(computed("set v = cast(i32, max(2.0f32 * z, cast(f32, thread.x)))"), each(|t| t.max(5)));
    assert_eq!(computed("set v = cast(i32, abs(cast(f32, thread.x - 9)))"), each(|t| (t - 9).abs()));
    assert_eq!(computed("if true {\n set v = 3\n }"), each(|_| 3));
}

/// Lanes of a vector are copied each to its own element.
#[test]
fn a_vector_is_copied_element_by_element() {
    let copied = run("4, 1, 1", "copy 4 y[4 * thread.x + 8] = x[4 * thread.x]");
    assert_eq!(copied, Ok((8..24).map(|at| (at, 1)).collect()));
    let values = computed("copy 2 p[0] = x[2 * (thread.x quo 2)]\n set v = p[0] + 100 * p[1]");
    assert_eq!(values, each(|t| t / 2 * 2 + 100 * (t / 2 * 2 + 1)));
}

#[test]
fn statements_are_counted_for_each_thread() {
    // One for each of ten threads, of the thousand that may be.
    let of = |times: usize| run("10, 1, 1", &"store s[thread.x] = 1\n ".repeat(times)).err();
    assert_eq!(of(100), None);
    assert_eq!(of(101).as_deref(), Some("it runs for too long"));
}

#[test]
fn all_blocks_of_a_grid_are_run() {
    let text = "program k(y, n: i32) index i32\nglobal y: i32[24] written\nhost {\n launch k\n}\nkernel k(y \
                written, n: i32) {\n grid(n - 3, 3, n - 1)\n block(1, 1, 1)\n\n store y[block.x + 2 * block.y \
                + 6 * block.z] = 1\n}\n";
    let program = Program::parse(text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    let mut machine = Machine {
        program: &program,
        scalars: Table::from_iter([(Name::new("n"), 5)]),
        sizes: vec![24],
        written: Table::default(),
        is_written: vec![false; program.globals.len()],
        first: &|_, offset| Num::Int(offset),
        scalar: &|_| Num::Nothing,
        left: 1000,
    };
    assert!(machine.launch(&program.kernels[0]).is_ok());
    let mut written: Vec<(i64, u32)> = machine.written.iter().map(|((_, at), (_, n))| (*at, *n)).collect();
    written.sort_unstable();
    assert_eq!(written, (0..24).map(|at| (at, 1)).collect::<Vec<_>>());
}
