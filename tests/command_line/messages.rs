//! Refusals and warnings that name what is wrong, the remedy, and no place that is not theirs.

use crate::common::{Folder, call, out, refusal};

const SCALE: &str = "kernel scale(x: f32[n], y: f32[n], n: i32)\n\
                     domain { [i] : 0 <= i < n }\n\
                     y[i] = 2.0*x[i]\n";

/// No line of a file is about the command line.
#[test]
fn refusals_of_the_command_line_have_no_place() {
    let folder = Folder::new("own");
    let kernel = folder.file("k.lw", SCALE);
    let pipeline = folder.file("rows.pipe", "split_iname(i, $rows)\n");
    for (args, says) in [
        (&["-p", "rows"][..], "`rows` is not of the form"),
        (&["-p", "rows=1", "-p", "rows=2"], "error[argument-twice]: parameter `rows` was given twice"),
        (&["-p", "rows=x"], "`x` is not an integer"),
        (&["-p", "rows=8", "--type", "U=f32"], "= help: it has no open types"),
        (&["-p", "rows=8", "--type", "U=f32", "--type", "U=f64"], "type `U` was given twice"),
        (&["-p", "rows=8", "--index", "n"], "indices cannot be `n`"),
    ] {
        let text = refusal(&call(&[&["check", &kernel, &pipeline], args].concat()));
        assert!(text.contains(says) && !text.contains("-->"), "{text}");
    }
    let text = refusal(&call(&["count", &kernel, "--set", "n=1", "--set", "n=2"]));
    assert!(text.contains("argument `n` was given twice"), "{text}");
}

/// Numbers may be negative on the command line: the option says what is wrong with them.
#[test]
fn options_say_what_is_wrong_with_negative_numbers() {
    let folder = Folder::new("negative");
    let kernel = folder.file("k.lw", SCALE);
    for args in [
        &["run", &kernel, "--seed", "-1"][..],
        &["run", &kernel, "--repeat", "-1"],
        &["bisect", &kernel, "--barriers", "-1"],
        &["auto", &kernel, "--search", "0"],
    ] {
        let output = call(args);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("it has to be a whole number") && !text.contains("tip:"), "{text}");
    }
    for command in ["count", "picture"] {
        let text = refusal(&call(&[command, &kernel, "--set", "n=-1"]));
        assert!(text.contains("error[assumption]"), "{text}");
    }
}

/// Options of the command line stand for what the library says of its functions.
#[test]
fn remedies_are_options_of_the_command() {
    let folder = Folder::new("options");
    let kernel = folder.file("k.lw", SCALE);
    let open = folder.file("open.pipe", "split_iname(i, $rows)\n");
    let known = folder.file("known.pipe", "split_iname(i, 32)\n");
    for args in [
        &["compare", &kernel, &open, &known][..],
        &["roofline", &kernel, &open, "--set", "n=64"],
        &["tune", &kernel, &open, "--auto", "--set", "n=64"],
    ] {
        let text = refusal(&call(args));
        assert!(text.contains("give it a value: `-p rows=128`") && !text.contains("bind("), "{text}");
    }
    out(&call(&["roofline", &kernel, &open, &known, "--set", "n=64", "-p", "rows=32"]));
    let text = refusal(&call(&["tune", &kernel]));
    assert!(text.contains("or the kernel and `--auto`"), "{text}");
    let generic = folder.file("t.lw", SCALE.replace("f32", "T"));
    let text = refusal(&call(&["roofline", &generic, &known, "--set", "n=64"]));
    assert!(text.contains("--type T=f32"), "{text}");
}

/// A kernel that cannot be lowered has no property, which is not the same as keeping it.
#[test]
fn bisect_names_the_step_after_which_nothing_can_be_told() {
    let folder = Folder::new("untold");
    let kernel = folder.file("k.lw", SCALE);
    let wide =
        folder.file("wide.pipe", "split_iname(i, 2048)\ntag_inames(i_outer: block.x, i_inner: thread.x)\n");
    for property in [&["--barriers", "0"][..], &["--kernels", "1"], &["--result", "--set", "n=64"]] {
        let text = refusal(&call(&[&["bisect", &kernel, &wide], property].concat()));
        assert!(text.contains("error[too-many-threads]: step 2, `tag_inames("), "{text}");
        assert!(text.contains("made it impossible to tell") && text.contains("wide.pipe:2:1"), "{text}");
    }
}

/// What no device has room for is refused where a device is meant, and told where none is.
#[test]
fn limits_of_devices_have_a_place() {
    let folder = Folder::new("limits");
    let kernel = folder.file("k.lw", SCALE.replace("domain", "assume n mod 65536 = 0\ndomain"));
    let deep = "split_iname(i, 128)\ntag_inames(i_outer: block.x, i_inner: thread.z)\n";
    let large = "split_iname(i, 65536)\nsplit_iname(i_inner, 256, outer=i_s, inner=i_t)\n\
                 tag_inames(i_outer: block.x, i_t: thread.x)\nadd_prefetch(x, [i_s, i_t])\n";
    for (text, place) in [(deep, "p.pipe:2:1"), (large, "p.pipe:4:1")] {
        let pipeline = folder.file("p.pipe", text);
        let said = refusal(&call(&["check", &kernel, &pipeline]));
        assert!(said.contains("error[device-limit]") && said.contains(place), "{said}");
        let output = call(&["cuda", &kernel, &pipeline]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("warning[device-limit]"), "{said}");
        assert!(said.contains(place), "{said}");
        let to = folder.path("to");
        for more in [&[][..], &["--set", "n=65536"]] {
            let args = [&["export", &kernel, &pipeline, "--arch", "sm_90a", "-o", &to], more].concat();
            let said = String::from_utf8_lossy(&call(&args).stderr).into_owned();
            assert!(said.contains("error[device-limit]") || said.contains("error[no-compiler]"), "{said}");
        }
    }
}

/// Steps name what there is.
#[test]
fn steps_name_what_there_is() {
    let folder = Folder::new("steps");
    let kernel = folder.file("k.lw", SCALE);
    for (step, says) in [
        ("privatize_updates(zzz, i)", "has no instruction `zzz`"),
        ("recognize_reduction(zzz, i)", "= help: its instructions are `set_y`"),
        ("recognize_reduction(y, i)", "= help: `y` is written by `set_y`"),
        ("map_domain([i] -> [n], n = i + 1)", "= help: choose another name in the second list"),
        ("fix_parameters(n=-3)", "would have the length -3"),
        ("split_iname(i, 32, outer_tag=g.0)", "= help: tags are a step of their own"),
        ("split_iname(i, 32, slabs=(0, 1))", "`peel(i_outer, first=1, last=1)`"),
        ("split_iname(i, 32, outer_iname=k)", "= help: it is `outer=...` here"),
        ("tag_inames(i: l.auto)", "here it is `thread.x`, `thread.y` or `thread.z`: axes are chosen by hand"),
    ] {
        let pipeline = folder.file("p.pipe", step);
        let text = refusal(&call(&["print", &kernel, &pipeline]));
        assert!(text.contains(says) && text.contains("p.pipe:1:"), "{text}");
    }
    let idle = folder.file("idle.pipe", "together { }\nassume_legal(\"why\")\n");
    let output = call(&["check", &kernel, &idle]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("none follows it"), "{text}");
    assert!(text.contains("`together { }` has no steps"), "{text}");
    // Two reads of different places have no common footprint; one of them has.
    let pairs = folder.file(
        "pairs.lw",
        "kernel pairs(p: f32[n, 3], y: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\n\
         domain { [j] : 0 <= j < n }\ndomain { [c] : 0 <= c < 3 }\n\
         y[i] = sum([j, c], p[j, c]*p[i, c])\n",
    );
    let steps = "split_iname(i, 32)\nsplit_iname(j, 16)\nadd_prefetch(p, [i_inner, c]";
    let text = refusal(&call(&["check", &pairs, &folder.file("p.pipe", format!("{steps})\n"))]));
    let (_, accesses) = text.split_once("`accesses=").expect("it names a read");
    let accesses = accesses.split('`').next().unwrap();
    assert!(!text.contains("j_outer"), "{text}");
    let pipeline = folder.file("p.pipe", format!("{steps}, accesses={accesses})\n"));
    out(&call(&["check", &pairs, &pipeline]));
}

/// Kernels are refused and warned about in the words of their text.
#[test]
fn texts_of_kernels_are_understood() {
    let folder = Folder::new("texts");
    let of = |value: &str| folder.file("k.lw", SCALE.replace("2.0*x[i]", value));
    for (value, says) in
        [("x(i)", "= help: it is an array: write `x[i]`"), ("x[i]^2", "= help: a power is written `x[i]**2`")]
    {
        let text = refusal(&call(&["check", &of(value)]));
        assert!(text.contains(says), "{text}");
    }
    let outside =
        SCALE.replace("2.0*x[i]", "x[i] + j {inames=i}").replace("y[i]", "domain { [j] : 0 <= j < 4 }\ny[i]");
    let text = refusal(&call(&["check", &folder.file("j.lw", outside)]));
    assert!(text.contains("error[iname-not-around]") && text.contains("j.lw:4:15\n"), "{text}");
    let named = folder.file("double.lw", SCALE.replace("scale", "double"));
    let text = refusal(&call(&["check", &named]));
    assert!(text.contains("error[reserved-name]") && text.contains("double.lw:1:8\n"), "{text}");
    for (value, says, helps) in [
        ("x[cast(i32, y[i]*100)]", "nothing bounds the elements of `y`", "by `min` and `max`"),
        ("x[(i*7) % m]", "divides by `m`, which may be 0", "`assume 1 <= m`"),
        ("x[k[i]]", "nothing bounds the elements of `k`", "`fact 0 <= k < n`"),
        ("x[k[i] + 1]", "nothing bounds the elements of `k`", "declare a range of `k` for which `k[i] + 1`"),
        ("x[k[i]*7 >> 4]", "nothing bounds the elements of `k`", "no range of `k` would show it"),
    ] {
        let text = SCALE.replace("n: i32)", "n: i32, m: i32, k: i32[n])").replace("2.0*x[i]", value);
        let text = match value.contains('m') && !value.contains("cast") {
            true => text.replace("x: f32[n]", "x: f32[m]"),
            false => text,
        };
        let text = out(&call(&["check", &folder.file("data.lw", text)]));
        assert!(text.contains("warning[unbounded-data]") && text.contains(says), "{text}");
        assert!(text.contains(helps), "{text}");
    }
    let known = SCALE.replace("n: i32)", "n: i32)\nassume 1 <= n").replace("2.0*x[i]", "x[(i*7) % n]");
    let text = out(&call(&["check", &folder.file("known.lw", known)]));
    assert!(!text.contains("warning"), "{text}");
}

/// An assumption of the declared kernel is nothing that a pipeline could leave out.
#[test]
fn assumptions_of_the_text_are_shown_there() {
    let folder = Folder::new("assume");
    let kernel = folder.file("k.lw", SCALE.replace("domain", "assume 1 <= n and n mod 4 = 0\ndomain"));
    let args = ["run", &kernel, "--as-declared", "--set", "n=5", "--random", "x", "--device", "emulator"];
    let text = refusal(&call(&args));
    assert!(text.contains("k.lw:2:19\n") && !text.contains("transform"), "{text}");
}

#[test]
fn random_arrays_that_cannot_be_are_told() {
    let folder = Folder::new("impossible");
    let kernel = folder.file(
        "k.lw",
        "kernel k(keys: i32[5], y: f32[5])\nfact 0 <= keys < 3\nfact injective(keys)\n\
         domain { [i] : 0 <= i < 5 }\ny[keys[i]] = 1.0\n",
    );
    let args = ["run", &kernel, "--as-declared", "--random", "keys", "--device", "emulator"];
    let text = refusal(&call(&args));
    assert!(text.contains("no 5 distinct numbers are in its declared range, which has 3"), "{text}");
}

/// Whoever asks for colours gets them everywhere.
#[test]
fn colours_are_everywhere() {
    let folder = Folder::new("colours");
    let kernel = folder.file("k.lw", SCALE.replace("2.0*x[i]", "x[cast(i32, y[i]*100)]"));
    for args in [
        &["check", &kernel][..],
        &["count", &kernel],
        &["check", &kernel, "--schedule"],
        &["lint", &folder.file("s.lw", SCALE), "--set", "n=4096"],
    ] {
        let coloured = out(&call(&[args, &["--color", "always"]].concat()));
        assert!(coloured.contains("\x1b["), "{coloured}");
        assert!(!out(&call(args)).contains('\x1b'));
    }
}

#[test]
fn names_of_no_letters_and_of_loopy_have_answers() {
    assert!(refusal(&call(&["steps", ""])).contains("`loopwright steps` lists all of them"));
    let text = refusal(&call(&["tags", "l.auto"]));
    assert!(text.contains("here it is `thread.x`, `thread.y` or `thread.z`"), "{text}");
}
