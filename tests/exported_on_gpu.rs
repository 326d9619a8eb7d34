//! Exported host code of the examples on a GPU, with CUDA's driver: the loader in Python and the
//! library in C, for several sizes, against the reference. Without a GPU, NVRTC, Python or a C
//! compiler, each test is listed as ignored with the reason.
//!
//! `tests/host_code/mod.rs` tests the same texts against a stand-in for the driver.

#[path = "common/cases.rs"]
mod cases;
#[path = "common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments as Options, Completion, Failed, Trial};
use loopwright::host_code::{HostCode, host_code};
use loopwright::ir::{Arg, Buffer, Number};
use loopwright::prelude::*;
use loopwright::runtime::nvrtc;
use serde_json::json;

type Outcome = Result<Completion, Failed>;

/// The folder of CUDA's driver, which this process has loaded.
fn folder_of_the_driver() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let library = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    library
        .map(Path::new)
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libcuda.so")))?
        .parent()
        .map(Path::to_path_buf)
}

/// Runs a command in a folder; its output, or what it says as the failure.
fn output(command: &mut Command, folder: &Path) -> Result<String, Failed> {
    let output = command.current_dir(folder).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(format!("{command:?}\n{text}{}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// The C compiler, in strict C99, with the driver to link.
fn compile(folder: &Path, arguments: &[&str]) -> Result<(), Failed> {
    let driver = folder_of_the_driver().ok_or("the driver's library is not among the loaded ones")?;
    let mut command = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    command.args(["-O1", "-Wall", "-Wextra", "-Werror"]).args(arguments);
    command.arg("-L").arg(driver).args(["-l:libcuda.so.1", "-lm"]);
    output(&mut command, folder).map(|_| ())
}

fn exported(code: &HostCode, device: &Device, folder: &Path) -> Result<(), Failed> {
    let arch = device.as_cuda().ok_or("no GPU")?.info().arch();
    code.write_to(folder, &code.compile(arch)?)?;
    Ok(())
}

/// An example's host code gives what the declared kernel computes, for all of its sizes.
fn example_is_launched(device: &Device, example: &common::Example) -> Outcome {
    let kernel = example.transformed();
    let code = match host_code(&kernel, &Default::default(), DType::I32) {
        Ok(code) => code,
        Err(refusal) if refusal.code == "host-value" => return Ok(Completion::ignored_with(refusal.message)),
        Err(refusal) => return Err(refusal.into()),
    };
    let folder = tempfile::tempdir()?;
    exported(&code, device, folder.path())?;
    let source = format!("{}.c", code.name);
    compile(folder.path(), &["-std=c99", "-pedantic", "-shared", "-fPIC", "-o", "libhost.so", &source])?;

    let program = &code.program;
    let (mut runs, mut wanted) = (Vec::new(), Vec::new());
    for sizes in cases::sizes(&example.kernel) {
        if !cases::allowed(program, &sizes) {
            continue;
        }
        let given = cases::arguments(program, &sizes);
        let (mut arrays, mut scalars) = (Vec::new(), Vec::new());
        for arg in &kernel.args {
            match arg {
                Arg::Scalar(scalar) => scalars.push(match given.scalars[&scalar.name] {
                    Number::I32(value) => json!(["c_int32", value]),
                    Number::I64(value) => json!(["c_int64", value]),
                    Number::F32(value) => json!(["c_float", value]),
                    other => return Err(format!("no type of ctypes for {other:?}").into()),
                }),
                Arg::Array(array) => {
                    let file = format!("{}.{}", array.name, runs.len());
                    let buffer = given.buffer(&array.name).ok_or("an array without contents")?;
                    std::fs::write(folder.path().join(&file), buffer.bytes())?;
                    arrays.push(file);
                }
            }
        }
        for (name, buffer) in cases::expected(&example.declared, &given) {
            // Expected values may be those of f64.
            let dtype = given.buffer(&name).ok_or("an array without contents")?.dtype();
            wanted.push((format!("{name}.{}", runs.len()), dtype, sizes.clone(), buffer));
        }
        runs.push(json!({ "arrays": arrays, "scalars": scalars }));
    }
    let described = json!({ "name": code.name.to_string(), "runs": runs }).to_string();
    std::fs::write(folder.path().join("runs.json"), described)?;
    std::fs::write(folder.path().join("exported.py"), include_str!("common/exported.py"))?;
    output(Command::new("python3").args(["exported.py", "runs.json"]), folder.path())?;

    for (file, dtype, sizes, expected) in wanted {
        for ending in ["python", "c"] {
            let bytes = std::fs::read(folder.path().join(format!("{file}.{ending}")))?;
            let got = Buffer::from_bytes(dtype, bytes).ok_or("an array's length")?;
            if !cases::agree(&example.kernel, &got, &expected) {
                return Err(format!("{file} by {ending} for {sizes:?} is {got:?}, not {expected:?}").into());
            }
        }
    }
    Ok(Completion::Completed)
}

/// The program in C of the book's page, as it stands there.
fn the_books_program_in_c(device: &Device) -> Outcome {
    let kernel = LoopKernel::parse(include_str!("../book/src/first/launch.in/blur.lw"))?;
    let steps = Pipeline::parse(include_str!("../book/src/first/launch.in/blocks.pipe"))?;
    let code = host_code(&steps.apply(&kernel)?, &Default::default(), DType::I32)?;
    let folder = tempfile::tempdir()?;
    exported(&code, device, folder.path())?;
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
    write("main.c", include_str!("../book/src/first/launch.in/main.c"))?;
    write("cuda.h", include_str!("common/cuda.h"))?;
    compile(folder.path(), &["-std=gnu99", "-I.", "main.c", "blur.c", "-o", "main"])?;
    let printed = output(&mut Command::new(folder.path().join("main")), folder.path())?;
    // Of numbers in a row, each is the mean of its neighbours.
    match printed == "1 1000\n" {
        true => Ok(Completion::Completed),
        false => Err(format!("it prints {printed}").into()),
    }
}

fn runs(command: &str) -> bool {
    Command::new(command).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn main() -> ExitCode {
    let options = Options::from_args();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let device = match Device::cuda(0) {
        Ok(_) if nvrtc::library().is_err() => Err("there is no NVRTC"),
        Ok(_) if !runs("python3") => Err("there is no Python"),
        Ok(_) if !runs(&compiler) => Err("there is no C compiler"),
        Ok(device) => Ok(device),
        Err(error) if matches!(error.code, "no-driver" | "no-device") => {
            println!("{error}");
            Err("there is no GPU")
        }
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    type Test = Box<dyn FnOnce(&Device) -> Outcome + Send>;
    let examples = common::examples().iter().map(|example| {
        let test: Test = Box::new(|device| example_is_launched(device, example));
        (example.name(), test)
    });
    let book: (String, Test) = ("the_books_program_in_c".to_string(), Box::new(the_books_program_in_c));
    let trials = std::iter::once(book).chain(examples).map(|(name, test)| {
        let device = device.clone();
        Trial::ignorable_test(name, move || match device {
            Ok(device) => test(&device),
            Err(reason) => Ok(Completion::ignored_with(reason)),
        })
    });
    libtest_mimic::run(&options, trials.collect()).exit_code()
}
