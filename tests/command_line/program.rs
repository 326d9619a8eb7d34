//! Programs as text: `program`.

use crate::common::{Folder, call, example, out, refusal};

#[test]
fn a_program_is_printed_and_checked() {
    let (kernel, pipeline) = (example("kernels/transpose.lw"), example("pipelines/transpose/tiled.pipe"));
    let text = out(&call(&["program", &kernel, &pipeline]));
    assert!(text.starts_with("program transpose(a, b, m: i32, n: i32) index i32\n"), "{text}");
    let folder = Folder::new("program");
    let found = out(&call(&["program", &folder.file("tiled.lwp", &text)]));
    assert!(found.starts_with("transpose: proved, "), "{found}");
    // It is also recognised by its first word.
    let found = out(&call(&["program", &folder.file("tiled.txt", format!("# tiles\n\n{text}"))]));
    assert!(found.starts_with("transpose: proved, "), "{found}");
    // Without its barrier it is refused, with two executions.
    let spoilt: String =
        text.lines().filter(|l| !l.trim().starts_with("barrier block")).map(|l| format!("{l}\n")).collect();
    assert_ne!(spoilt, text);
    let error = refusal(&call(&["program", &folder.file("spoilt.lwp", &spoilt)]));
    assert!(error.contains("error[unordered]: ") && error.contains("witness: thread ("), "{error}");
    // A mistake in the text has its place.
    let misspelt = text.replacen("barrier block", "barier block", 1);
    let error = refusal(&call(&["program", &folder.file("misspelt.lwp", &misspelt)]));
    assert!(error.contains("misspelt.lwp:") && error.contains("do you mean `barrier`?"), "{error}");
    let error = refusal(&call(&["program", &folder.file("tiled.lwp", &text), &pipeline]));
    assert!(error.contains("tiled.lwp is a program, which is already lowered"), "{error}");
    // Indices of 64 bits, and a refused kernel, as for the other commands.
    let wide = out(&call(&["program", "--index", "i64", &kernel, &pipeline]));
    assert!(wide.starts_with("program transpose(a, b, m: i32, n: i32) index i64\n"), "{wide}");
    let error = refusal(&call(&["program", &folder.file("broken.lw", "kernel k(x: f32[n]\n")]));
    assert!(error.contains("broken.lw:"), "{error}");
}
