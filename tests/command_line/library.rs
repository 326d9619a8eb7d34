//! `--library`: kernels of other files that the kernel calls.

use crate::common::{Folder, call, out, refusal};

const SUMS: &str = "\
kernel total(row: f32[k], out result: f32, k: i32) {
    domain { [j] : 0 <= j < k }
    result = sum(j, row[j])
}
";

const SCALED: &str = "\
kernel scaled(a: f32[k], b: f32[k], k: i32)
domain { [j] : 0 <= j < k }
<> t = total(a[:])
b[j] = a[j]*t
";

const ROWS: &str = "\
kernel rows(x: f32[m, n], y: f32[m, n], m: i32, n: i32)
domain { [i] : 0 <= i < m }
for i { call scaled(x[i, :], y[i, :]) }
";

#[test]
fn kernels_of_files_are_called() {
    let folder = Folder::new("library");
    let (sums, scaled) = (folder.file("sums.lw", SUMS), folder.file("scaled.lw", SCALED));
    let rows = folder.file("rows.lw", ROWS);
    let pipe = folder.file("rows.pipe", "tag_inames(i: block.x)\n");
    let library = ["--library", &sums, "--library", &scaled];
    let with = |args: &[&str]| call(&[args, &library[..]].concat());
    let run = ["run", &rows, &pipe, "--set", "m=3", "--set", "n=5", "--random", "x", "--verify"];
    assert!(out(&with(&run)).contains("verified"));
    assert!(out(&with(&["check", &rows, &pipe])).contains("1 device kernel"));
    assert!(out(&with(&["print", &rows])).contains("sum(scaled_total_j, x[i, scaled_total_j])"));
    assert!(out(&with(&["auto", &rows])).contains("tag_inames"));
    assert!(out(&with(&["roofline", &rows, &pipe, "--set", "m=3", "--set", "n=5"])).contains("<svg"));
    let many = ["combine", "batch", &rows, "--of", "x,y", "--iname", "b", "--count", "many"];
    assert!(out(&with(&many)).contains("x: f32[many, m, n]"));
}

#[test]
fn refusals_name_the_file() {
    let folder = Folder::new("library-refused");
    let (sums, scaled) = (folder.file("sums.lw", SUMS), folder.file("scaled.lw", SCALED));
    let rows = folder.file("rows.lw", ROWS);
    let text = refusal(&call(&["check", &rows]));
    assert!(text.contains("there is no kernel `scaled`") && text.contains("--library"), "{text}");
    // A file's kernels call those of the files before.
    let text = refusal(&call(&["check", &rows, "--library", &scaled, "--library", &sums]));
    assert!(text.contains("`total`") && text.contains("scaled.lw:3"), "{text}");
    let text = refusal(&call(&["check", &rows, "--library", &sums, "--library", &sums]));
    assert!(text.contains("error[duplicate-name]") && text.contains("sums.lw:1:8"), "{text}");
    let text = refusal(&call(&["check", &rows, "--library", "missing.lw"]));
    assert!(text.contains("error[read-file]: missing.lw"), "{text}");
    let text = refusal(&call(&["check", &rows, "--library", "-"]));
    assert!(text.contains("not read from standard input"), "{text}");
    // What a step refuses is shown in the file of the caller.
    let pipe = folder.file("rows.pipe", "tag_inames(i: vec)\ntag_inames(q: block.x)\n");
    let text = refusal(&call(&["check", &rows, &pipe, "--library", &sums, "--library", &scaled]));
    assert!(text.contains("rows.pipe:2") || text.contains("rows.pipe:1"), "{text}");
}
