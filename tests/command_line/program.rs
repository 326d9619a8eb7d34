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

#[test]
fn a_program_is_held_to_its_kernel() {
    let (kernel, pipeline) = (example("kernels/transpose.lw"), example("pipelines/transpose/tiled.pipe"));
    let text = out(&call(&["program", &kernel, &pipeline]));
    let folder = Folder::new("program_of_a_kernel");
    let held = |text: &str| {
        let file = folder.file("held.lwp", text);
        call(&["program", &file, "--kernel", &kernel, "--pipeline", &pipeline])
    };
    let found = out(&held(&text));
    assert!(found.starts_with("transpose: proved, ") && found.contains("transpose.lw does"), "{found}");
    // Another value: the text alone does not show what should be computed.
    let spoilt = text.replacen("store b[j, i] = a_tile", "store b[j, i] = 2.0f32 * a_tile", 1);
    assert_ne!(spoilt, text);
    let found = out(&call(&["program", &folder.file("spoilt.lwp", &spoilt)]));
    assert!(found.starts_with("transpose: proved, "), "{found}");
    let error = refusal(&held(&spoilt));
    assert!(error.contains("error[wrong-value]: "), "{error}");
    // It is no program of the kernel without its steps.
    let error = refusal(&call(&["program", &folder.file("tiled.lwp", &text), "--kernel", &kernel]));
    assert!(error.contains("error[wrong-claim]: "), "{error}");
}

#[test]
fn only_a_program_is_held_to_a_kernel() {
    let (kernel, pipeline) = (example("kernels/transpose.lw"), example("pipelines/transpose/tiled.pipe"));
    let error = refusal(&call(&["program", &kernel, "--kernel", &kernel]));
    assert!(error.contains("is a kernel, and is not held to another one"), "{error}");
    let text = out(&call(&["program", &kernel, &pipeline]));
    let folder = Folder::new("program_of_no_kernel");
    let file = folder.file("tiled.lwp", text);
    let output = call(&["program", &file, "--pipeline", &pipeline]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("--kernel"), "{error}");
    let error = refusal(&call(&["program", &file, "--kernel", &kernel, "--index", "i64"]));
    assert!(error.contains("is a program, which is already lowered"), "{error}");
}

#[test]
fn a_program_leaves_nothing_out_in_secret() {
    let folder = Folder::new("left_out");
    let kernel = folder.file(
        "dead.lw",
        "kernel k(x: f32[n], y: f32[n], n: i32)\nassume 0 <= n\ndomain { [i] : 0 <= i < n }\ntemp t: f32\n\
         t = 3.0*x[i] {id=dead}\ny[i] = 2.0*x[i] {id=live}\n",
    );
    let line = "left out: dead (nothing reads t)\n";
    for words in [&["check", "--schedule"][..], &["explain"], &["explain", "--lowered"]] {
        let found = out(&call(&[words, &[&kernel]].concat()));
        assert!(found.contains(line) && !found.contains("nothing reads y"), "{words:?}\n{found}");
    }
}
