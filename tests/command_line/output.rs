//! Where output goes, and what happens if it cannot be written.

use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use loopwright::prelude::*;

use crate::common::{Folder, call, example, out, refusal};

/// A small call of each command that produces output.
fn commands(folder: &Folder) -> Vec<Vec<String>> {
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("pipelines/segmented_sum/block_per_segment.pipe"));
    let log = folder.path("tune.jsonl");
    let space = folder.file("lanes.space", "lanes in [32, 64]\n");
    let open =
        folder.file("open.pipe", "split_iname(i, $lanes)\ntag_inames(s: block.x, i_inner: thread.x)\n");
    let sizes = ["--set", "nseg=2", "--set", "len=40"];
    let with = |first: &[&str], more: &[&str]| -> Vec<String> {
        first.iter().chain(more).map(ToString::to_string).collect()
    };
    let run = ["--random", "x", "--device", "emulator"];
    // Two lengths, so that the report has an axis.
    for len in ["len=40", "len=48"] {
        let of = ["--set", "nseg=2", "--set", len];
        out(&call(
            &[&["tune", &kernel, &open, &space, "--device", "emulator", "--log", &log], &of[..]].concat(),
        ));
    }
    vec![
        with(&["print", &kernel, &pipeline], &[]),
        with(&["print", "--steps", &kernel, &pipeline], &[]),
        with(&["explain", &kernel, &pipeline], &[]),
        with(&["explain", "--lowered", &kernel, &pipeline], &[]),
        with(&["compare", &kernel, &pipeline, &pipeline], &[]),
        with(&["bisect", &kernel, &pipeline, "--barriers", "0"], &[]),
        with(&["check", &kernel, &pipeline], &[]),
        with(&["cuda", &kernel, &pipeline], &[]),
        with(&["run", &kernel, &pipeline, "--verify"], &[&sizes[..], &run].concat()),
        with(&["tune", &kernel, &open, &space, "--device", "emulator"], &sizes),
        with(&["tune", "--replay", &log], &[]),
        with(&["report", &log], &[]),
        with(&["lint", &kernel, &pipeline], &sizes),
        with(&["auto", &kernel], &[]),
        with(&["program", &kernel, &pipeline], &[]),
        with(&["count", &kernel, &pipeline], &sizes),
        with(&["layout", "(4,8):(8,1)", "--picture", "text"], &[]),
        with(&["picture", &kernel, &pipeline], &sizes),
        with(&["roofline", &kernel, &pipeline], &sizes),
        with(&["make", "einsum", "ik,kj->ij"], &[]),
        with(&["doctor"], &[]),
        with(&["steps"], &[]),
        with(&["explain-code"], &[]),
        with(&["explain-code", "race"], &[]),
        with(&["tags"], &[]),
        with(&["tags", "lane"], &[]),
        with(&["completions", "bash"], &[]),
        with(&["--help"], &[]),
        with(&["--version"], &[]),
    ]
}

fn loopwright(args: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loopwright"));
    command.args(args).stdin(Stdio::null());
    command
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let folder = Folder::new("full");
    for args in commands(&folder) {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = loopwright(&args).stdout(full).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(
            text.contains("error[write-output]: standard output cannot be written: "),
            "{args:?}: {text}"
        );
        // If no message can be written, the exit status still reports the failure.
        let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
        let status = loopwright(&args).stdout(full()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(2), "{args:?}");
    }
}

/// `/dev/full` has no end when it is read.
#[test]
fn what_is_read_before_it_is_added_to_is_a_regular_file() {
    let folder = Folder::new("no-end");
    let kernel = "kernel k(x: f32[n], n: i32)\nassume 1 <= n\ndomain { [i] : 0 <= i < n }\nx[i] = 1.0";
    let kernel = folder.file("k.lw", kernel);
    let pipeline = folder.file("k.pipe", "split_iname(i, $b)");
    let space = folder.file("k.space", "b in [32, 64]");
    for (option, begins) in [("--record", "error[tuning-record]"), ("--log", "error[tuning-log]")] {
        let args = ["tune", &kernel, &pipeline, &space, "--set", "n=9", "--device", "emulator", option];
        for path in ["/dev/full", "/dev/zero"].into_iter().filter(|p| std::path::Path::new(p).exists()) {
            let args: Vec<String> = args.iter().chain(&[path]).map(|a| a.to_string()).collect();
            let output = loopwright(&args).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{option} {path}: {text}");
            assert!(
                text.starts_with(begins) && text.contains("not a regular file"),
                "{option} {path}: {text}"
            );
        }
    }
}

#[test]
fn a_reader_that_went_away_ends_a_command_quietly() {
    let folder = Folder::new("head");
    for args in commands(&folder) {
        // The reading end is closed before the command begins.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = loopwright(&args).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {text}");
        assert!(!text.contains("error") && !text.contains("panic"), "{args:?}: {text}");
    }
}

/// Callers pass the declared arguments: all arrays stay, in their shapes.
#[test]
fn a_text_has_the_arguments_of_its_declared_block() {
    let folder = Folder::new("declared-arguments");
    let kernel = |args: &str, more: &str| {
        format!(
            "kernel k(x: f32[m, n], {args}m: i32, n: i32)\n\
             assume 4 <= m <= n\n\
             domain {{ [i] : 0 <= i < 4 }}\n\
             y[i] = x[i, 3 - i] {{id=first}}\n\
             z[i] = x[3 - i, i] {{id=second}}\n\
             {more}"
        )
    };
    let declared = kernel("y: f32[4], z: f32[4], ", "");
    let check =
        |text: &str| call(&["check", &folder.file("k.lw", format!("{text}declared {{\n{declared}}}\n"))]);
    assert!(out(&check(&declared)).contains("2 instructions"));
    let temporary = declared.replace("z: f32[4], ", "").replace("z[i] =", "temp z: f32[4] global\nz[i] =");
    let without = declared.replace("z: f32[4], ", "").replace("z[i] = x[3 - i, i] {id=second}\n", "");
    for text in [temporary, without] {
        let text = refusal(&check(&text));
        assert!(text.contains("the argument `z` is gone"), "{text}");
    }
    let turned = declared.replace("f32[m, n]", "f32[n, m]");
    let text = refusal(&check(&turned));
    assert!(text.contains("`x` has another shape than declared"), "{text}");
    // The same shape where both are equal, or fixed.
    let equal = turned.replace("4 <= m <= n", "4 <= m and m = n");
    assert!(out(&check(&equal)).contains("2 instructions"));
    let fixed = declared.replace("f32[m, n]", "f32[7, n]").replace("4 <= m <= n", "4 <= m <= n and m = 7");
    assert!(out(&check(&fixed)).contains("2 instructions"));
}

/// What a file states about its origin is not a proof.
#[test]
fn a_text_is_held_to_its_declared_block() {
    let folder = Folder::new("declared");
    let declared = LoopKernel::parse(
        "kernel shift(x: f32[n], y: f32[n], n: i32)\n\
         assume 9 <= n\n\
         domain { [i] : 1 <= i < n }\n\
         x[i] = x[i - 1] + y[i] {id=go}\n",
    )
    .unwrap();
    let text = Pipeline::parse("split_iname(i, 4)").unwrap().apply(&declared).unwrap().to_text();
    assert!(text.contains("\ndeclared {\n"), "{text}");
    let right = call(&["check", &folder.file("right.lw", &text)]);
    assert!(out(&right).contains("1 instruction"));
    assert_eq!(String::from_utf8_lossy(&right.stderr), "");
    // Another type, other expressions, fewer instances.
    let (head, block) = text.split_at(text.find("\ndeclared {").unwrap());
    let changed = |from: &str, to: &str| {
        let changed = head.replacen(from, to, 1);
        assert_ne!(changed, head);
        folder.file("wrong.lw", changed + block)
    };
    let text = refusal(&call(&["check", &changed("y: f32[n]", "y: f64[n]")]));
    assert!(
        text.contains("error[declared-mismatch]") && text.contains("`y` is f64, but declared as f32"),
        "{text}"
    );
    let wrong = [
        changed("x[i] = x[i - 1] + y[i]", "x[i] = x[i - 1] + y[i] * 2"),
        changed("x[i] = x[i - 1] + y[i]", "x[i] = x[i - 1] + y[i - 1]"),
        changed("1 <= i < n", "2 <= i < n"),
    ];
    for file in wrong {
        for command in ["check", "cuda", "explain"] {
            let output = call(&[command, &file]);
            let text = String::from_utf8_lossy(&output.stderr);
            let told = text.contains("computes the kernel of its `declared` block")
                || text.contains("does not compute the kernel of its `declared` block");
            assert!(told && output.status.code() == Some(2), "{command}: {text}");
        }
    }
}

/// A value that differs, a reduction by another operator, a condition on data, a recurrence that
/// runs backwards: whether the results are the same is not known, and nothing may run them.
#[test]
fn a_text_that_is_not_known_to_compute_its_declared_kernel_is_refused() {
    let folder = Folder::new("declared-unknown");
    let text = |value: &str, declared: &str, line: &str| {
        let kernel = |value: &str, line: &str, inames: &str| {
            format!(
                "kernel k(x: f32[n], y: f32[n], n: i32)\nassume 1 <= n\n{line}\
                 domain {{ [i] : 0 <= i < n }}\ndomain {{ [j] : 0 <= j < 4 and j < n }}\n\
                 y[i] = {value} {{id=a{inames}}}\n"
            )
        };
        let block = kernel(declared, "", "");
        let tree = match value.starts_with("sum") {
            true => "for i { a.init for j { a.update } a.finish }",
            false => "for i { a }",
        };
        format!("{}tree {{ {tree} }}\ndeclared {{\n{block}}}\n", kernel(value, line, ", inames=i"))
    };
    let cases = [
        ("2.0*x[i]", "3.0*x[i]"),
        ("2.0*x[i]", "2.0 + x[i]"),
        ("x[i]", "abs(x[i])"),
        ("1.0", "0.0"),
        ("1.0*i", "2.0*i"),
        ("sum(j, x[j])", "max(j, x[j])"),
        ("2.0*x[i] if x[i] > 0.0", "2.0*x[i]"),
    ];
    for (value, declared) in cases {
        let file = folder.file("k.lw", text(value, declared, ""));
        let text = refusal(&call(&["check", &file]));
        assert!(text.contains("computes the kernel of its `declared` block"), "{value}: {text}");
        assert!(text.contains("error[legality-unknown]"), "{value}: {text}");
    }
    let recurrence = |domain: &str, value: &str| {
        format!("kernel k(y: f32[n + 1], n: i32)\nassume 1 <= n\ndomain {{ {domain} }}\n{value}\n")
    };
    let backwards = recurrence("[r] : -n < r <= 0", "y[-r + 1] = 2.0*y[-r] {id=a, inames=r}");
    let block = recurrence("[i] : 0 <= i < n", "y[i + 1] = 2.0*y[i] {id=a}");
    let file = folder.file("k.lw", format!("{backwards}tree {{ for r {{ a }} }}\ndeclared {{\n{block}}}\n"));
    let told = refusal(&call(&["check", &file]));
    assert!(told.contains("error[legality-unknown]"), "{told}");
    let file = folder.file("k.lw", text("2.0*x[i]", "3.0*x[i]", ""));
    let pipeline = folder.file("k.pipe", "split_iname(i, $w)");
    let space = folder.file("k.space", "w in [1, 2]");
    let output = folder.path("export");
    let run = ["run", &file, "--device", "emulator", "--set", "n=2", "--random", "x"];
    let tune = ["tune", &file, &pipeline, &space, "--device", "emulator", "--set", "n=2"];
    let export = ["export", &file, "--arch", "sm_90a", "--output", &output];
    let calls: [&[&str]; 6] =
        [&["cuda", &file], &["program", &file], &["explain", &file], &run, &tune, &export];
    for arguments in calls {
        let text = refusal(&call(arguments));
        assert!(text.contains("error[legality-unknown]"), "{arguments:?}: {text}");
        assert!(text.contains("write `assume_legal \"why\"` in a line before"), "{arguments:?}: {text}");
    }
    // It may still be printed.
    let printed = call(&["print", &file]);
    assert!(out(&printed).contains("y[i] = 2.0 * x[i]"));
    assert!(String::from_utf8_lossy(&printed.stderr).contains("note: it is not known whether `k` computes"));
    // The user vouches for it, and it is recorded; not for what is refuted.
    let vouch = "assume_legal \"x is zero\"\n";
    let vouched = folder.file("vouched.lw", text("2.0*x[i]", "3.0*x[i]", vouch));
    assert!(out(&call(&["check", &vouched])).contains("1 instruction"));
    let steps = out(&call(&["explain", &vouched]));
    assert!(steps.contains("assume_legal \"x is zero\" for \"the whole text\""), "{steps}");
    let refuted = folder.file("refuted.lw", text("x[i]", "x[n - 1 - i]", vouch));
    let text = refusal(&call(&["check", &refuted]));
    assert!(text.contains("does not compute the kernel of its `declared` block"), "{text}");
}

/// On a terminal, what takes long shows what it is doing and for how long.
#[cfg(target_os = "linux")]
#[test]
fn long_phases_tick_on_a_terminal() {
    let (kernel, pipeline) = (example("kernels/matmul.lw"), example("pipelines/matmul/register_tile.pipe"));
    let command = format!(
        "{} bisect {kernel} {pipeline} --result --random a --random b --set m=64 --set n=64 --set l=64",
        env!("CARGO_BIN_EXE_loopwright")
    );
    let Ok(output) = Command::new("script").args(["-qec", &command, "/dev/null"]).output() else {
        eprintln!("skipped: there is no `script`");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("trying steps"), "{text:?}");
}
