//! When asynchronous copies take effect. A program whose races are checked cannot tell, so these
//! run without that check.

use loopwright_emulator::{Arguments, Asynchrony, Checks, Options, run};
use loopwright_kernel_ir::Buffer;
use loopwright_program::Program;

/// Copies of ones over zeros by two blocks of 32 threads, 16 by each thread. `early` has what the
/// threads see when they have issued their copies, `committed` what they see when the first 16
/// threads have ended a group, and `waited` what they see when all have waited. Before that the
/// first block has issued `n` others.
const PROGRAM: &str = "program seen(x, early, committed, waited, n: i32) index i32
global x: f32[16, 32] read
global early: f32[2, 16, 32] written
global committed: f32[2, 16, 32] written
global waited: f32[2, 16, 32] written
leaf zero \"tile[k, t] = 0\"
leaf fetch \"tile[k, t] = x[k, t]\"
leaf see \"early[b, k, t] = tile[k, t]\"
host {
    launch seen
}
kernel seen(x, early written, committed written, waited written, n: i32) {
    grid(2, 1, 1)
    block(32, 1, 1)
    var k: i32
    shared tile: f32[16, 32]
    shared other: f32[16, 32]

    if block.x == 0 {
        for k: i32 = 0 to n {
            copy_async 1 other[k, thread.x] = x[k, thread.x] {fetch}
        }
    }
    for k: i32 = 0 to 16 {
        store tile[k, thread.x] = 0.0f32 {zero}
    }
    for k: i32 = 0 to 16 {
        copy_async 1 tile[k, thread.x] = x[k, thread.x] {fetch}
    }
    for k: i32 = 0 to 16 {
        store early[block.x, k, thread.x] = tile[k, thread.x] {see}
    }
    if thread.x < 16 {
        commit
    }
    for k: i32 = 0 to 16 {
        store committed[block.x, k, thread.x] = tile[k, thread.x] {see}
    }
    wait 0
    for k: i32 = 0 to 16 {
        store waited[block.x, k, thread.x] = tile[k, thread.x] {see}
    }
}
";

/// Of a block, a copy and a thread, whether the copy has taken effect.
struct Seen(Vec<bool>);

impl Seen {
    fn at(&self, block: usize, copy: usize, thread: usize) -> bool {
        self.0[(block * 16 + copy) * 32 + thread]
    }

    fn all() -> impl Iterator<Item = (usize, usize, usize)> {
        (0..2).flat_map(|b| (0..16).flat_map(move |k| (0..32).map(move |t| (b, k, t))))
    }
}

/// What is seen at the issue, at the commit and at the wait.
fn seen(asynchrony: Asynchrony, n: i32) -> [Seen; 3] {
    let program = Program::parse(PROGRAM).unwrap_or_else(|d| panic!("{}", d.render()));
    let names = ["early", "committed", "waited"];
    let mut arguments = Arguments::new().array("x", Buffer::from_slice(&[1f32; 512])).scalar("n", n);
    for name in names {
        arguments = arguments.array(name, Buffer::from_slice(&[-1f32; 1024]));
    }
    let checks = Checks { races: false, ..Checks::ALL };
    let options = Options { checks, asynchrony, threads: Some(1), ..Options::default() };
    run(&program, &mut arguments, &options).unwrap_or_else(|fault| panic!("{}", fault.diagnostic().render()));
    names.map(|name| {
        let values = arguments.buffer(name).unwrap().to_vec::<f32>().unwrap();
        assert!(values.iter().all(|v| *v == 0.0 || *v == 1.0), "{name}");
        Seen(values.iter().map(|v| *v == 1.0).collect())
    })
}

#[test]
fn copies_take_effect_at_once_or_when_they_are_waited_for() {
    let [early, committed, waited] = seen(Asynchrony::Early, 0);
    assert!([early, committed, waited].iter().all(|seen| seen.0.iter().all(|seen| *seen)));
    let [early, committed, waited] = seen(Asynchrony::Late, 0);
    assert!([early, committed].iter().all(|seen| seen.0.iter().all(|seen| !seen)));
    // The others have ended no group that they could wait for.
    assert!(Seen::all().all(|(b, k, t)| waited.at(b, k, t) == (t < 16)));
}

#[test]
fn copies_at_random_times_take_effect_at_their_issue_or_at_the_commit_or_the_wait_of_their_thread() {
    for seed in 1..4 {
        let [early, committed, waited] = seen(Asynchrony::Random(seed), 0);
        let mut times = [0; 3];
        for (b, k, t) in Seen::all() {
            let [early, committed, waited] = [&early, &committed, &waited].map(|seen| seen.at(b, k, t));
            if t < 16 {
                assert!(early <= committed && waited, "{seed}: {b} {k} {t}");
                times[usize::from(!early) + usize::from(!committed)] += 1;
            } else {
                assert_eq!([committed, waited], [early; 2], "{seed}: {b} {k} {t}");
            }
        }
        // A third each of 512.
        assert!(times.iter().all(|n| *n > 100), "{seed}: {times:?}");
    }
}

#[test]
fn random_times_differ_between_the_copies_of_a_thread_and_between_threads_and_blocks_and_seeds() {
    let [[first, ..], [second, ..]] = [1, 2].map(|seed| seen(Asynchrony::Random(seed), 0));
    let differs = |of: &dyn Fn(usize) -> Vec<bool>, n: usize| (1..n).any(|k| of(k) != of(0));
    assert!(differs(&|k| (0..32).map(|t| first.at(0, k, t)).collect(), 16), "copies");
    assert!(differs(&|t| (0..16).map(|k| first.at(0, k, t)).collect(), 32), "threads");
    assert!(differs(&|b| (0..512).map(|n| first.at(b, n / 32, n % 32)).collect(), 2), "blocks");
    assert_ne!(first.0, second.0, "seeds");
}

/// Blocks are given to workers in any order, and a run can be repeated.
#[test]
fn random_times_in_a_block_do_not_depend_on_blocks_that_ran_before() {
    let second = |n| {
        let [early, ..] = seen(Asynchrony::Random(1), n);
        (0..512).map(|k| early.at(1, k / 32, k % 32)).collect::<Vec<_>>()
    };
    assert_eq!(second(0), second(5));
}

#[test]
fn without_the_check_of_races_a_kernel_may_write_what_it_copies() {
    let text = "program swap(x) index i32
global x: f32[8] read written
leaf fetch \"tile[t] = x[t]\"
leaf turn \"x[t] = tile[7 - t]\"
host {
    launch swap
}
kernel swap(x written) {
    grid(1, 1, 1)
    block(8, 1, 1)
    shared tile: f32[8]

    copy_async 1 tile[thread.x] = x[thread.x] {fetch}
    commit
    wait 0
    barrier block
    store x[thread.x] = tile[7 - thread.x] {turn}
}
";
    let program = Program::parse(text).unwrap_or_else(|d| panic!("{}", d.render()));
    for races in [true, false] {
        let mut arguments =
            Arguments::new().array("x", Buffer::from_slice(&[1f32, 2., 3., 4., 5., 6., 7., 8.]));
        let options = Options { checks: Checks { races, ..Checks::ALL }, ..Options::default() };
        run(&program, &mut arguments, &options).unwrap();
        let turned = [8f32, 7., 6., 5., 4., 3., 2., 1.];
        assert_eq!(arguments.buffer("x").unwrap().to_vec::<f32>().unwrap(), turned, "{races}");
    }
}
