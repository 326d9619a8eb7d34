//! What is counted of copies and stores that move several elements at once: one request of a warp
//! with all of their bytes.

use loopwright_emulator::{Arguments, Counters, Options, run};
use loopwright_kernel_ir::{Buffer, DType};
use loopwright_program::Program;

fn counted(text: &str, mut arguments: Arguments) -> Counters {
    let program = Program::parse(text).unwrap_or_else(|d| panic!("{}", d.render()));
    run(&program, &mut arguments, &Options::default()).unwrap_or_else(|fault| panic!("{fault:?}")).total
}

/// Each of 32 lanes copies `lanes` floats from global to shared memory asynchronously.
fn copied(lanes: i64) -> Counters {
    let length = 32 * lanes;
    let text = format!(
        "\
program copies(x) index i32
global x: f32[{length}] read
host {{
    launch copies
}}
kernel copies(x) {{
    grid(1, 1, 1)
    block(32, 1, 1)
    shared tile: f32[{length}]

    copy_async {lanes} tile[thread.x * {lanes}] = x[thread.x * {lanes}]
    commit
    wait 0
}}
"
    );
    counted(&text, Arguments::new().array("x", Buffer::zeros(DType::F32, length as usize)))
}

#[test]
fn asynchronous_copies_move_all_of_their_bytes() {
    for lanes in [1, 2, 4] {
        let (t, bytes) = (copied(lanes), 128 * lanes as u64);
        let loads = t.global_loads;
        assert_eq!((loads.requests, loads.sectors, loads.bytes), (1, bytes / 32, bytes), "{lanes}");
        assert_eq!((t.shared_stores.requests, t.shared_stores.bytes), (1, bytes), "{lanes}");
    }
}

/// Eight lanes store a row of 16 bytes each, for all 32.
#[test]
fn stores_of_matrices_move_all_of_their_rows() {
    let text = "\
program matrices(x) index i32
global x: i16[1] written
host {
    launch matrices
}
kernel matrices(x written) {
    grid(1, 1, 1)
    block(32, 1, 1)
    shared tile: i16[8, 8]
    private own: i16[2]

    store own[0] = 1i16
    store own[1] = 2i16
    store_matrices 1 tile[thread.x rem 8, 0] = own[0]
}
";
    let stores = counted(text, Arguments::new().output("x", Buffer::zeros(DType::I16, 1))).shared_stores;
    assert_eq!((stores.requests, stores.wavefronts, stores.bytes), (1, 1, 128));
}
