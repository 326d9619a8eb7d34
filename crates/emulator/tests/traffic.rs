//! What stores of matrices transfer.

use loopwright_emulator::{Arguments, Options, run};
use loopwright_kernel_ir::{Buffer, DType};
use loopwright_program::Program;

/// Eight rows of eight elements of two bytes for each matrix, each written at the address of one
/// lane: eight rows that follow one another fill the 32 banks once.
#[test]
fn traffic_of_stored_matrices() {
    for matrices in [1, 2, 4] {
        let (rows, elements) = (8 * matrices, 2 * matrices);
        let text = format!(
            "program p(y) index i32
global y: u16[{rows}, 8] written
host {{
    launch p
}}
kernel p(y written) {{
    grid(1, 1, 1)
    block(32, 1, 1)
    var k: i32
    shared s: u16[{rows}, 8]
    private own: u16[{elements}]

    for k: i32 = 0 to {elements} unroll {{
        store own[k] = cast(u16, k)
    }}
    store_matrices {matrices} s[thread.x rem {rows}, 0] = own[0]
    barrier block
    if thread.x < {rows} {{
        for k: i32 = 0 to 8 unroll {{
            store y[thread.x, k] = s[thread.x, k]
        }}
    }}
}}
"
        );
        let p = Program::parse(&text).unwrap_or_else(|d| panic!("{text}{d}"));
        let elements = 8 * rows as usize;
        let mut args = Arguments::new().array("y", Buffer::zeros(DType::U16, elements));
        let stores = run(&p, &mut args, &Options::default()).unwrap().total.shared_stores;
        let found = (stores.requests, stores.wavefronts, stores.bytes);
        assert_eq!(found, (1, matrices, 16 * rows), "{matrices} matrices");
    }
}
