//! `lint` and `export`.

use crate::common::{Folder, call, example, out, refusal};

#[test]
fn lint_says_what_is_slow_and_what_was_tried() {
    let kernel = example("kernels/transpose.lw");
    let lint = |pipeline: &str, more: &[&str]| {
        let pipeline = example(&format!("pipelines/transpose/{pipeline}.pipe"));
        out(&call(&[&["lint", &kernel, &pipeline, "--set", "m=384", "--set", "n=352"], more].concat()))
    };
    let text = lint("tiled", &[]);
    assert!(
        text.contains(
            "lint[bank-conflicts]: a read of `a_tile` in shared memory takes 32.0 passes over the \
             banks\n  at kernel `transpose`, in `b[j, i] = "
        ),
        "{text}"
    );
    assert!(
        text.contains(
            "\n  tried: pad axis 1 of `a_tile` by 1: 31 conflicts per request to 0\n    \
             pad_array_axis(a_tile, 1, 1)\n"
        ),
        "{text}"
    );
    assert!(text.ends_with("2 lints, 2 with a repair\n"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&lint("tiled", &["--json"])).unwrap();
    let first = &json[0];
    assert_eq!((&first["code"], &first["number"]), (&"bank-conflicts".into(), &31.0.into()));
    // The repaired pipeline is a valid file for the other commands, and the lint is gone.
    let folder = Folder::new("lint");
    let repaired = folder.file("repaired.pipe", first["repair"]["pipeline"].as_str().unwrap());
    let again = out(&call(&["lint", &kernel, &repaired, "--set", "m=384", "--set", "n=352"]));
    assert!(!again.contains("bank-conflicts"), "{again}");
    assert!(refusal(&call(&["lint", &kernel])).contains("error[missing-argument]"));
}

#[test]
fn export_lists_what_another_host_launches() {
    let folder = Folder::new("export");
    let made = folder.path("made");
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("pipelines/segmented_sum/grid_per_segment.pipe"));
    let export = |more: &[&str]| {
        call(
            &[&["export", &kernel, &pipeline, "--arch", "sm_90a", "-o", &made, "--set", "nseg=3"], more]
                .concat(),
        )
    };
    let refused = refusal(&export(&[]));
    assert!(refused.contains("error[missing-argument]: argument `len`"), "{refused}");
    if loopwright::runtime::nvrtc::library().is_err() {
        assert!(refusal(&export(&["--set", "len=100003"])).contains("error[no-compiler]"));
        return;
    }
    out(&export(&["--set", "len=100003"]));
    let list = std::fs::read(format!("{made}/launches.json")).unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list).unwrap();
    assert_eq!(list["arch"], "sm_90a");
    // Chunks of 16384: seven per row of 100003, whose sums are scratch memory.
    let scratch = serde_json::json!({
        "dtype": "f32", "shape": [3, 7], "strides": [7, 1], "bytes": 84, "written": true, "scratch": true,
    });
    assert_eq!(list["arrays"]["out_partial"], scratch);
    assert_eq!(list["arrays"]["x"]["bytes"], 3 * 100_003 * 4);
    assert_eq!(
        (&list["arrays"]["x"]["scratch"], &list["arrays"]["x"]["written"]),
        (&false.into(), &false.into())
    );
    let [first, second] = &list["launches"].as_array().unwrap()[..] else { panic!("{list}") };
    assert_eq!(first["grid"], serde_json::json!([3, 7, 1]));
    assert_eq!(first["block"], serde_json::json!([256, 1, 1]));
    assert_eq!(second["grid"], serde_json::json!([3, 1, 1]));
    // 100003 is 0x186a3, an i32.
    let parameters = |launch: &serde_json::Value| launch["parameters"].clone();
    assert_eq!(
        parameters(first),
        serde_json::json!([{ "array": "x" }, { "array": "out_partial" }, { "bytes": "a3860100" }])
    );
    assert_eq!(
        parameters(second),
        serde_json::json!([{ "array": "out" }, { "array": "out_partial" }, { "bytes": "a3860100" }])
    );
    // The kernels are those of the text and of the binary next to it.
    let text = std::fs::read_to_string(format!("{made}/kernel.cu")).unwrap();
    let binary = std::fs::read(format!("{made}/kernel.cubin")).unwrap();
    for launch in [first, second] {
        let name = launch["kernel"].as_str().unwrap();
        assert!(text.contains(&format!("{name}(")), "{text}");
        assert!(binary.windows(name.len()).any(|w| w == name.as_bytes()));
    }
    assert!(binary.starts_with(b"\x7fELF"));
}

/// Without sizes, they are arguments of host code, of which `tests/host_code` runs the
/// functions.
#[test]
fn export_without_sizes_writes_host_code() {
    let folder = Folder::new("host-code");
    let made = folder.path("made");
    let (kernel, pipeline) = (example("kernels/matmul.lw"), example("pipelines/matmul/tiled_16.pipe"));
    let export = |more: &[&str]| {
        call(&[&["export", &kernel, &pipeline, "--arch", "sm_90a", "-o", &made], more].concat())
    };
    if loopwright::runtime::nvrtc::library().is_err() {
        assert!(refusal(&export(&[])).contains("error[no-compiler]"));
        return;
    }
    out(&export(&[]));
    let read = |name: &str| std::fs::read_to_string(format!("{made}/{name}")).unwrap();
    assert!(read("matmul.h").contains("int32_t m,\n    int32_t n, int32_t l"), "{}", read("matmul.h"));
    assert!(read("matmul.py").contains("def launch(self, a, b, c, m, n, l, stream=0):"));
    assert!(
        read("matmul.cu").contains("matmul<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>")
    );
    let binary = std::fs::read(format!("{made}/matmul.cubin")).unwrap();
    assert!(binary.starts_with(b"\x7fELF"));
    // 0x7f E L F, as the text of the source has it.
    assert!(read("matmul.c").contains("{\n    127,69,76,70,"));
    // No sizes are left that 32 bits hold, as far as a host can tell.
    let (kernel, pipeline) =
        (example("kernels/ragged_sum.lw"), example("pipelines/ragged_sum/flattened.pipe"));
    let flattened = ["export", &kernel, &pipeline, "--arch", "sm_90a", "-o", &made];
    let refused = refusal(&call(&flattened));
    assert!(refused.contains("error[host-value]") && refused.contains("`--index i64`"), "{refused}");
    out(&call(&[&flattened[..], &["--index", "i64"]].concat()));
}
