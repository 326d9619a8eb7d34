//! Folders of compiled candidates, as far as testable without a GPU: written, read, refused.

use std::path::Path;

use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel};
use loopwright_runtime::cuda::DeviceInfo;
use loopwright_runtime::{Arch, Args, Device, Tensor, nvrtc};
use loopwright_transforms::Pipeline;
use loopwright_tuner::{BinaryFolder, CompiledFolder, Space, Tuner};

const KERNEL: &str = "\
kernel row_sum(x: T[n, m], out: T[n], n: i32, m: i32)
assume 0 <= n and 0 <= m
domain { [s] : 0 <= s < n }
domain { [i] : 0 <= i < m }
out[s] = sum(i, x[s, i])
";
const PIPELINE: &str = "\
split_iname(s, $rows)
split_iname(i, $lanes)
tag_inames(s_outer: block.x, s_inner: thread.y, i_inner: thread.x)
";

struct Setting {
    kernel: LoopKernel,
    pipeline: Pipeline,
    sample: Args,
    args: Args,
}

fn setting() -> Setting {
    let kernel = LoopKernel::parse(KERNEL).expect("a kernel");
    let pipeline = Pipeline::parse(PIPELINE).expect("a pipeline");
    let sample = Args::new().tensor("x", &Tensor::random(&[64, 100], DType::F32, 7).expect("a tensor"));
    let args = Args::new().scalar("n", 1 << 16).scalar("m", 1000).bind_type("T", DType::F32);
    Setting { kernel, pipeline, sample, args }
}

impl Setting {
    fn with<T>(&self, space: &str, use_tuner: impl FnOnce(Tuner<'_>) -> T) -> T {
        let (space, device) = (Space::parse(space).expect("a space"), Device::emulator());
        let tuner = Tuner::new(&device, &self.kernel, &self.pipeline, &space, &self.args);
        use_tuner(tuner.sample(&self.sample).scale(1e4))
    }

    fn compile(&self, folder: &Path) -> Option<CompiledFolder> {
        // What needs no compiler is also tested without one.
        nvrtc::library().ok()?;
        let made =
            self.with("rows in [1, 4, 64]\nlanes in [32, 64]\n", |t| t.compile_only(folder, Arch::SM_80));
        Some(made.expect("a folder"))
    }

    fn measure(&self, folder: &Path) -> Diagnostic {
        let open = BinaryFolder::open(folder);
        let run =
            |folder| self.with("rows in [1, 4]\nlanes in [32]\n", |t| t.binaries(folder).run().map(|_| ()));
        open.and_then(run).expect_err("the emulator times nothing")
    }
}

#[test]
fn a_folder_goes_as_far_as_a_device_is_needed() {
    let (setting, temporary) = (setting(), tempfile::tempdir().expect("a folder"));
    let folder = temporary.path().join("made");
    let Some(made) = setting.compile(&folder) else { return };
    assert_eq!((made.compiled, made.refused), (4, 2), "64 rows of 32 or 64 lanes are too many threads");
    // The table has the compiler's registers, best estimate first, and no figure where nothing was
    // compiled.
    let counted = setting.with("rows in [1, 4]\nlanes in [32]\n", |t| t.run().expect("a search"));
    let (compiled, counted) = (made.tuning.table(), counted.table());
    let registers = |text: &str| -> Vec<String> {
        let lines =
            text.lines().filter(|l| l.contains(" rows=") && !l.contains("refused") && !l.contains(": "));
        lines.map(|l| l.split_whitespace().nth(6).expect("a column").to_owned()).collect()
    };
    let (there, here) = (registers(&compiled), registers(&counted));
    assert!(there.len() == 4 && there.iter().all(|r| r.parse::<u32>().is_ok_and(|r| r > 8)), "{compiled}");
    assert!(here.len() == 2 && here.iter().all(|r| r == "-"), "{counted}");
    assert!(compiled.contains("  <- best\n") && compiled.contains("nothing was timed: rows="), "{compiled}");
    let read = BinaryFolder::open(&folder).expect("it is whole");
    assert_eq!((read.len(), read.arch()), (4, Arch::SM_80));
    // Four candidates, five kernels that measure the memory, the manifest.
    assert_eq!(std::fs::read_dir(&folder).expect("lists").count(), 10);
    let refused = setting.measure(&folder);
    assert_eq!(refused.code, "binary-device");
    assert!(refused.message.contains("there is none: emulator"), "{refused}");

    let a100 = DeviceInfo { name: "A".into(), compute_capability: (8, 0), ..DeviceInfo::default() };
    assert_eq!(read.check_device(&a100), Ok(()));
    let h200 = DeviceInfo { name: "H".into(), compute_capability: (9, 0), ..DeviceInfo::default() };
    let refused = read.check_device(&h200).expect_err("another major version");
    assert_eq!(refused.message, "binaries for sm_80 do not run on H, which is sm_90a");
    assert!(refused.help.expect("a remedy").contains("--arch sm_90a"));

    // Another problem is reported before the device is checked.
    let other = Setting { args: setting.args.clone().bind_type("T", DType::F64), ..setting };
    let refused = other.measure(&folder);
    assert_eq!(refused.code, "binary-folder-differs");
    assert!(refused.message.ends_with("are for a different problem"), "{refused}");
    let other =
        Setting { pipeline: Pipeline::parse(&format!("assume(m >= 1)\n{PIPELINE}")).expect("one"), ..other };
    assert!(other.measure(&folder).message.ends_with("are for a different pipeline"));
}

#[test]
fn damage_is_found_before_anything_is_loaded() {
    let (setting, temporary) = (setting(), tempfile::tempdir().expect("a folder"));
    let folder = temporary.path();
    let Some(_) = setting.compile(folder) else { return };
    let message = || {
        let refused = BinaryFolder::open(folder).expect_err("it is damaged");
        assert_eq!(refused.code, "binary-folder");
        assert!(refused.help.expect("a remedy").contains("copy the whole folder again"));
        refused.message
    };
    let cubin = folder.join("00000.cubin");
    let whole = std::fs::read(&cubin).expect("a binary");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [&flipped[..], &whole[..whole.len() / 2], b""] {
        std::fs::write(&cubin, damaged).expect("writes");
        assert!(
            message().contains("00000.cubin cannot be used: it is not the file that the manifest describes")
        );
    }
    std::fs::remove_file(&cubin).expect("removes");
    assert!(message().contains("00000.cubin cannot be used: "));
    std::fs::write(&cubin, &whole).expect("writes");
    assert!(BinaryFolder::open(folder).is_ok(), "it is whole again");

    let manifest = folder.join("manifest.json");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    let with = |text: &str| {
        std::fs::write(&manifest, text).expect("writes");
        message()
    };
    assert!(with(&text[..text.len() / 2]).contains("manifest.json cannot be used: EOF"));
    assert!(with(&text.replacen("\"format\": 2", "\"format\": 9", 1)).contains("its format is not 2"));
    assert!(with(&text.replace("00000.cubin", "../00000.cubin")).contains("it is not in the folder"));
    assert!(with(&text.replacen("\"sm_80\"", "\"sm-80\"", 1)).contains("is not an architecture"));
    std::fs::remove_file(&manifest).expect("removes");
    assert!(message().contains("manifest.json cannot be used: No such file"));
}
