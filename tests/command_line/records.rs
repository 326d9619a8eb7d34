//! Records of `tune` and of `auto --keep`: what is kept, and where it is used.

use loopwright::prelude::*;

use crate::common::{Folder, call, example, out, refusal, without_comments};

#[test]
fn a_record_is_used_where_it_holds() {
    let folder = Folder::new("record");
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("tuning/segmented_sum_short.pipe"));
    let space = folder.file("small.space", "width in [16, 64]\nrows in [16]\nblock_rows in [32, 64]\n");
    let record = folder.path("tuned.json");
    let tune = |len: &str| {
        let (len, record) = (format!("len={len}"), record.clone());
        let set = ["--set", "nseg=1000", "--set", &len, "--sample", "nseg=128", "--device", "emulator"];
        out(&call(&[&["tune", &kernel, &pipeline, &space, "--record", &record][..], &set].concat()))
    };
    let best = tune("64");
    let best = best.lines().find_map(|l| l.strip_prefix("best by the counts, nothing was timed: ")).unwrap();
    let run = |more: &[&str], nseg: &str, len: &str| {
        let (nseg, len) = (format!("nseg={nseg}"), format!("len={len}"));
        let args = ["run", &kernel, &pipeline, "--record", &record, "--device", "emulator", "--random", "x"];
        call(&[&args[..], &["--set", &nseg, "--set", &len, "--verify"], more].concat())
    };
    // A similar shape is enough: 900 rows of 80 are in the same classes as 1000 rows of 64.
    assert!(out(&run(&[], "904", "80")).contains("verified"));
    let differs = refusal(&run(&[], "904", "200"));
    assert!(
        differs.contains("error[record-differs]: the record is of something else: its shape class is `")
            && differs.contains("64..127 by 16")
            && differs.contains("128..255 by 8"),
        "{differs}"
    );
    // With user-supplied values it is only a note.
    let own = run(&["-p", "width=16", "-p", "rows=16", "-p", "block_rows=32"], "904", "200");
    assert!(String::from_utf8_lossy(&own.stderr).contains("note: the record is of something else"));
    assert!(out(&own).contains("verified"));
    // Printing needs no sizes: the text is that of the best point.
    let cuda = |more: &[&str]| call(&[&["cuda", &kernel, &pipeline], more].concat());
    let parameters: Vec<&str> = best.split(' ').flat_map(|p| ["-p", p]).collect();
    assert_eq!(out(&cuda(&["--record", &record])), out(&cuda(&parameters)));
    // Explicit values take precedence.
    let width = if best.contains("width=16") { "width=64" } else { "width=16" };
    assert_ne!(out(&cuda(&["--record", &record, "-p", width])), out(&cuda(&["--record", &record])));
    // A second shape class in the same file; the first one remains valid.
    tune("200");
    assert!(
        out(&run(&[], "904", "200")).contains("verified") && out(&run(&[], "904", "80")).contains("verified")
    );
    // Two records of one text with different best points: printing cannot choose between them.
    let other = folder.file("other.space", "width in [32]\nrows in [16]\nblock_rows in [32]\n");
    let set = ["--set", "nseg=1000", "--set", "len=3000", "--sample", "nseg=128", "--device", "emulator"];
    out(&call(&[&["tune", &kernel, &pipeline, &other, "--record", &record][..], &set].concat()));
    let refused = refusal(&cuda(&["--record", &record]));
    assert!(
        refused.contains("error[record-ambiguous]: 3 records match this kernel and pipeline")
            && refused.contains("2048..4095 by 8"),
        "{refused}"
    );
    std::fs::remove_file(&record).unwrap();
    tune("64");
    // Another pipeline: its own step is named.
    let text = std::fs::read_to_string(&pipeline).unwrap();
    let changed = folder.file("changed.pipe", text.replace("len % 4", "len % 8"));
    let refused = refusal(&call(&["cuda", &kernel, &changed, "--record", &record]));
    assert!(
        refused.contains("its pipeline is `assume(len mod 4 = 0)`, and here it is `assume(len mod 8 = 0)`"),
        "{refused}"
    );
    let damaged = folder.file("damaged.json", &std::fs::read(&record).unwrap()[..50]);
    let refused = refusal(&call(&["cuda", &kernel, &pipeline, "--record", &damaged]));
    assert!(refused.contains("error[tuning-record]") && refused.contains("EOF"), "{refused}");
    let refused = refusal(&call(&["cuda", &kernel, "--record", &record]));
    assert!(refused.contains("`--record` needs a pipeline"), "{refused}");
}

/// `--auto` makes the pipeline and its space; what it finds is kept in a record, in which `run`
/// finds it for the kernel alone.
#[test]
fn the_sizes_of_what_is_found_are_searched_and_recorded() {
    let folder = Folder::new("tune-auto");
    let (record, best) = (folder.path("tuned.json"), folder.path("best.pipe"));
    let kernel = example("kernels/transpose.lw");
    let tune = ["tune", &kernel, "--auto", "--set", "m=256", "--set", "n=256", "--device", "emulator"];
    let tuned = call(&[&tune[..], &["--record", &record, "--best", &best]].concat());
    let text = out(&tuned);
    assert!(text.contains("<- best"), "{text}");
    let told = String::from_utf8_lossy(&tuned.stderr).into_owned();
    assert!(told.starts_with("# transpose: ") && told.contains("# The space:\n"), "{told}");
    assert!(told.contains("_inner in [") && told.contains("$"), "{told}");
    // The best point, by its record and by its pipeline.
    let run = |form: &[&str]| {
        let given = ["--set", "m=256", "--set", "n=256", "--random", "a", "--device", "emulator", "--verify"];
        call(&[&["run", &kernel], form, &given[..]].concat())
    };
    let counts = |text: &str| text.lines().find(|line| line.starts_with("counts: ")).unwrap().to_owned();
    let by_record = run(&["--record", &record]);
    assert_eq!(counts(&out(&by_record)), counts(&out(&run(&[&best]))));
    let steps = without_comments(&best);
    assert!(String::from_utf8_lossy(&by_record.stderr).contains(steps.lines().next().unwrap()));
    // A record of another kernel is not used, and the user is told.
    let other = example("kernels/segmented_sum.lw");
    let given = ["--set", "nseg=5", "--set", "len=300", "--random", "x", "--device", "emulator"];
    let unfit = call(&[&["run", &other, "--record", &record], &given[..]].concat());
    out(&unfit);
    let told = String::from_utf8_lossy(&unfit.stderr).into_owned();
    assert!(told.contains("note: the usual sizes are taken, not those of "), "{told}");
}

/// Steps are found for the launch that is given, and so is the record of them.
#[test]
fn forms_of_a_launch_are_searched_and_recorded() {
    let folder = Folder::new("tune-launch");
    let record = folder.path("tuned.json");
    let kernel = example("kernels/segmented_sum.lw");
    let sizes = ["--set", "nseg=4096", "--set", "len=64"];
    let searched = ["--device", "emulator", "--strategy", "random", "--points", "2", "--record", &record];
    let tuned = call(&[&["tune", &kernel, "--auto"], &sizes[..], &searched].concat());
    assert!(out(&tuned).contains("<- best"));
    let told = String::from_utf8_lossy(&tuned.stderr).into_owned();
    assert!(told.contains("\nassume(len mod 4 = 0)\n"), "{told}");
    let given = ["--random", "x", "--device", "emulator", "--record", &record, "--verify"];
    let run = call(&[&["run", &kernel], &sizes[..], &given].concat());
    assert!(out(&run).contains("verified"));
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(told.contains("# record: as kept in ") && told.contains("\nassume(len mod 4 = 0)\n"), "{told}");
    // A smaller problem has to fit as well: what only the large one fulfils is not assumed.
    let small = ["--sample", "nseg=16", "--sample", "len=30"];
    let tuned = call(&[&["tune", &kernel, "--auto"], &sizes[..], &small, &searched[..6]].concat());
    assert!(out(&tuned).contains("<- best"));
    assert!(!String::from_utf8_lossy(&tuned.stderr).contains("\nassume("));
}

/// What a search of `auto` finds is kept, and taken for launches of the same kind.
#[test]
fn what_auto_finds_is_kept() {
    let folder = Folder::new("auto-keep");
    let record = folder.path("kept.json");
    let kernel = example("kernels/transpose.lw");
    let sizes = ["--set", "m=128", "--set", "n=96"];
    let auto = |more: &[&str]| call(&[&["auto", &kernel], &sizes[..], more].concat());
    let found = out(&auto(&["--search", "6", "--keep", &record]));
    assert!(found.starts_with("# estimated for an H200: "), "{found}");
    let steps: Vec<&str> = found.lines().filter(|line| !line.starts_with('#')).collect();
    let given = ["--random", "a", "--device", "emulator", "--record", &record, "--verify"];
    let run = call(&[&["run", &kernel], &sizes[..], &given].concat());
    assert!(out(&run).contains("verified"));
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(told.contains("# record: as kept in "), "{told}");
    assert!(steps.iter().all(|step| told.contains(step)), "{told}\n{found}");
    // For lengths of another class the rules decide again.
    let other = call(&[&["run", &kernel, "--set", "m=1000", "--set", "n=96"], &given[..]].concat());
    out(&other);
    let told = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(told.contains("note: the usual sizes are taken, not those of "), "{told}");
    // Without a GPU nothing can be timed there.
    if !Device::best().is_gpu() {
        let refused = refusal(&auto(&["--search", "2", "--device", "gpu"]));
        assert!(refused.contains("error["), "{refused}");
    }
    let refused = auto(&["--keep", &record]);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("--search"));
}
