//! The files of a call: which may be the same, how their texts may begin, and refusals in files
//! that are neither kernels nor pipelines.

use crate::common::{Folder, call, call_with, out, refusal};

const SCALE: &str = "kernel scale(x: f32[n], y: f32[n], z: f32[n], n: i32)\n\
                     domain { [i] : 0 <= i < n }\n\
                     y[i] = 2.0*x[i]\n\
                     z[i] = 3.0*x[i]\n";
const OPEN: &str = "split_iname(i, $rows)\ntag_inames(i_outer: block.x, i_inner: thread.x)\n";

/// Nothing is written over another output or over what is read, and nothing is computed before this
/// is known.
#[test]
fn outputs_are_files_of_their_own() {
    let folder = Folder::new("distinct");
    let (kernel, pipeline) = (folder.file("k.lw", SCALE), folder.file("open.pipe", OPEN));
    let (space, best) = (folder.file("s.space", "rows in [32]\n"), folder.path("best"));
    let run = |outputs: &[&str]| {
        let mut args = vec!["run", &kernel, &pipeline, "-p", "rows=32", "--set", "n=4", "--random", "x"];
        args.extend(["--device", "emulator"]);
        let outputs: Vec<String> = outputs.iter().map(|o| o.replace("IN", &folder.path(""))).collect();
        args.extend(outputs.iter().flat_map(|output| ["--output", output]));
        call(&args)
    };
    let twice = refusal(&run(&["y=IN/out.npy", "z=IN/./out.npy"]));
    assert!(twice.contains("would write the same file"), "{twice}");
    for (output, what) in [("y=IN/k.lw", "the kernel"), ("y=IN/open.pipe", "the pipeline")] {
        let text = refusal(&run(&[output]));
        assert!(text.contains("would overwrite") && text.contains(what), "{text}");
    }
    assert_eq!(std::fs::read_to_string(&kernel).unwrap(), SCALE);
    out(&run(&["y=IN/y.npy", "z=IN/z.npy"]));
    out(&run(&["y=/dev/null", "z=/dev/null"]));
    let read = format!("x={}", folder.path("y.npy"));
    let args = ["run", &kernel, "--input", &read, "--output", &read.replace("x=", "z=")];
    assert!(refusal(&call(&args)).contains("an input"));
    let tune = |more: &[&str]| {
        let all =
            [&["tune", &kernel, &pipeline, &space, "--set", "n=64", "--device", "emulator"], more].concat();
        refusal(&call(&all))
    };
    assert!(tune(&["--best", &best, "--html", &best]).contains("would write the same file"));
    assert!(tune(&["--best", &pipeline]).contains("the pipeline"));
    assert!(tune(&["--log", &space]).contains("the space"));
}

#[test]
fn inputs_are_read_before_anything_is_found() {
    let folder = Folder::new("missing");
    let kernel = folder.file("k.lw", SCALE);
    let text = refusal(&call(&["run", &kernel, "--input", "x=/nowhere/x.npy"]));
    assert!(text.contains("error[read-file]") && !text.contains("split_iname"), "{text}");
}

#[test]
fn standard_input_is_one_file() {
    for command in [&["check", "-", "-"][..], &["tune", "-", "p", "-"], &["roofline", "-", "-"]] {
        let text = refusal(&call_with(command, SCALE.as_bytes()));
        assert!(text.contains("standard input can be read once"), "{text}");
    }
}

/// A mark of the encoding at the beginning of a text is skipped.
#[test]
fn texts_may_begin_with_a_mark_of_their_encoding() {
    let folder = Folder::new("mark");
    let marked = |name: &str, text: &str| folder.file(name, format!("\u{feff}{text}"));
    let (kernel, pipeline) = (marked("k.lw", SCALE), marked("open.pipe", OPEN));
    let space = marked("s.space", "rows in [32]\n");
    out(&call(&["check", &kernel, &pipeline, "-p", "rows=32"]));
    out(&call(&["tune", &kernel, &pipeline, &space, "--set", "n=64", "--device", "emulator"]));
    let wrong = marked("wrong.lw", &SCALE.replace("x[i]", "w[i]"));
    let text = refusal(&call(&["check", &wrong]));
    assert!(text.contains("wrong.lw:3:12\n") && !text.contains('\u{feff}'), "{text}");
}

/// What is wrong in a space is shown there, with what to do.
#[test]
fn refusals_of_spaces_show_the_place() {
    let folder = Folder::new("spaces");
    let (kernel, pipeline) = (folder.file("k.lw", SCALE), folder.file("open.pipe", OPEN));
    for (text, code, place) in [
        ("rows in []\n", "no-candidates", "1:1"),
        ("rows in [1]\n\nrows in [2]\n", "parameter-twice", "3:1"),
        ("# these\n  rows = 1\n", "space-syntax", "2:3"),
        ("rows in 1..99999999\n", "space-size", "1:1"),
        ("rows in [1]\nrequire rows/2 > 1\n", "requirement", "2:1"),
        ("rows in [1]\nrequire lanes == 1\n", "unknown-parameter", "2:1"),
        ("rows in [1]\nrequire rows == rows +\n", "syntax", "2:23"),
        ("rows in [1]\nlanes in [2]\n", "unknown-parameter", "2:1"),
    ] {
        let space = folder.file("s.space", text);
        let said = refusal(&call(&["tune", &kernel, &pipeline, &space, "--set", "n=64"]));
        assert!(said.contains(&format!("error[{code}]")), "{text}{said}");
        assert!(said.contains(&format!("s.space:{place}\n")), "{text}{said}");
        assert!(code == "syntax" || said.contains("= help: "), "{text}{said}");
    }
}
