//! Every diagnostic code has a test that pins its rendered text, and a section in `docs/codes.md`.
//!
//! The codes are collected from the sources; the pinned texts are in the filetests, in the crates'
//! tests and in `tests/diagnostics/pinned.txt`, which holds what no kernel file can trigger:
//! refusals of arguments, of devices, of the driver and of the compiler. `LOOPWRIGHT_BLESS=1`
//! rewrites that file; review the difference before keeping it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use loopwright::emulator::{Fault, FaultKind, Options};
use loopwright::lowering::program::Scope;
use loopwright::prelude::*;
use loopwright::runtime::cuda::CudaError;
use loopwright::runtime::disasm::DisasmError;
use loopwright::runtime::nvrtc::CompileError;

/// Codes that occur in the sources without a pinned text, each with the reason.
const UNPINNED: [(&str, &str); 18] = [
    ("count-undecided", "a query to isl fails in a way that is not known"),
    ("count-foreign", "an iname that is not around its part: kernels that are refused when they are read"),
    ("budget", "isl gives up, after seconds of work"),
    ("isl", "isl fails in a way that is not known"),
    ("internal", "a mistake of this library: tests/fuzz.rs asserts that it does not happen"),
    ("space", "constraints over other names than those of a set: kernels put every name into their sets"),
    ("unbound", "no kernel is known: a bound that is not loaded is refused when the kernel is read"),
    ("no-kernel", "the tuner's own kernels are read"),
    ("undecided-bounds", "of a query beyond 64 bits: the small sizes that are tried first find a witness"),
    ("no-binary", "a GPU whose kernel was never compiled"),
    ("unbounded", "of the plain interpreter, for kernels that are refused when they are read"),
    ("unknown-operator", "of the plain interpreter, for kernels that are refused when they are read"),
    ("targets", "of the plain interpreter, for kernels that are refused when they are read"),
    ("subscripts", "of the plain interpreter, for kernels that are refused when they are read"),
    ("type", "of the plain interpreter, for kernels that are refused when they are read"),
    ("instances-lost", "no step of the library drops an instance"),
    ("wrong-result", "of the Python package, for a fault of the library: its own tests make one"),
    ("not-compiled", "an outcome of the tuner, which is a row of its table"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Whether a text has the form `a-stable-code`.
fn is_code(text: &str) -> bool {
    !text.is_empty() && text.split('-').all(|w| !w.is_empty() && w.bytes().all(|b| b.is_ascii_lowercase()))
}

/// The string literal that follows, at most a short expression away.
fn literal(text: &str) -> Option<&str> {
    let near = text.char_indices().nth(160).map_or(text, |(end, _)| &text[..end]);
    let (_, rest) = near.split_once('"')?;
    rest.split_once('"').map(|(inside, _)| inside)
}

/// The diagnostic codes that a source uses.
fn codes_of(source: &str) -> BTreeSet<String> {
    // Functions that construct a diagnostic take its code as their first string.
    let makers = [
        "Diagnostic::new(",
        "Refusal::new(",
        " error(",
        "(error(",
        ".error(",
        "error_at(",
        ".diagnostic(",
        "with_remedy(",
        "Words { code: ",
        "Refused { code: ",
        "(Law::",
    ];
    // Those of other names take it at once, if they take one.
    let others = ["refuse(", "refuse_with(", "(unknown("];
    let mut codes = BTreeSet::new();
    // A module in a file of its own may be declared anywhere.
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    for maker in makers {
        for (at, _) in code.match_indices(maker) {
            codes.extend(literal(&code[at + maker.len()..]).filter(|c| is_code(c)).map(str::to_owned));
        }
    }
    for maker in others {
        for (at, _) in code.match_indices(maker) {
            let inside = code[at + maker.len()..].trim_start();
            let first = literal(inside).filter(|c| inside.starts_with('"') && is_code(c));
            codes.extend(first.map(str::to_owned));
        }
    }
    // Choices between several.
    for (at, _) in code.match_indices("self.code = ") {
        let choice = code[at..].split(';').next().unwrap_or_default();
        codes.extend(choice.split('"').skip(1).step_by(2).filter(|c| is_code(c)).map(str::to_owned));
    }
    // Tables that map kinds of errors to codes.
    for table in ["fn code(&self) -> &'static str {", "let code = match", "let (code, remedy) = match"] {
        for (at, _) in code.match_indices(table) {
            let body = code[at..].split("\n    }").next().unwrap_or_default();
            for (arm, _) in body.match_indices("=>") {
                let after = body[arm + 2..].trim_start().trim_start_matches(['(', '{']).trim_start();
                if after.starts_with('"') {
                    codes.extend(literal(after).filter(|c| is_code(c)).map(str::to_owned));
                }
            }
        }
    }
    codes
}

/// All codes, each with a source that uses it.
fn codes() -> BTreeMap<String, PathBuf> {
    let mut sources = Vec::new();
    files(&root().join("src"), &mut sources);
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        // Two are part of the tests.
        if !["testing", "text-check"].iter().any(|name| path.ends_with(name)) {
            files(&path.join("src"), &mut sources);
        }
    }
    // This part of it is not.
    sources.push(root().join("crates/text-check/src/functions.rs"));
    let mut codes: BTreeMap<String, PathBuf> = BTreeMap::new();
    for source in sources.iter().filter(|p| p.extension().is_some_and(|e| e == "rs")) {
        for code in codes_of(&std::fs::read_to_string(source).unwrap()) {
            codes.entry(code).or_insert_with(|| source.clone());
        }
    }
    assert!(codes.len() > 300, "the codes are found: {codes:?}");
    codes
}

/// The tests and what they compare with, in one text.
fn pinned() -> String {
    let mut tests = Vec::new();
    files(&root().join("tests"), &mut tests);
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        files(&entry.unwrap().path().join("tests"), &mut tests);
    }
    let mut pinned = String::new();
    for test in tests {
        pinned.push_str(&String::from_utf8_lossy(&std::fs::read(test).unwrap()));
    }
    pinned
}

/// The codes of which a text is pinned: `error[CODE]` with a code in it.
fn codes_in(pinned: &str) -> BTreeSet<String> {
    let levels = ["error[", "warning["].into_iter();
    let found = levels.flat_map(|level| pinned.split(level).skip(1));
    found.filter_map(|rest| Some(rest.split_once(']')?.0)).filter(|c| is_code(c)).map(str::to_owned).collect()
}

#[test]
fn every_code_is_pinned() {
    let (codes, pinned) = (codes(), codes_in(&pinned()));
    let missing: Vec<String> = codes
        .iter()
        .filter(|(code, _)| !pinned.contains(*code) && !UNPINNED.iter().any(|(c, _)| c == *code))
        .map(|(code, source)| format!("{code} of {}", source.display()))
        .collect();
    assert!(missing.is_empty(), "no test pins the text of\n{}", missing.join("\n"));
    for (code, reason) in UNPINNED {
        assert!(codes.contains_key(code), "{code} is no code: {reason}");
        assert!(!pinned.contains(code), "{code} is pinned by now: {reason}");
    }
    // Nor is a code overlooked above: whatever is printed is found in the sources.
    let overlooked: Vec<&String> = pinned.iter().filter(|c| !codes.contains_key(*c)).collect();
    assert!(overlooked.is_empty(), "not found in the sources: {overlooked:?}");
}

/// The sections of `docs/codes.md`, by their codes.
fn sections(document: &str) -> Vec<(&str, &str)> {
    let sections = document.split("\n## ").skip(1);
    sections.map(|s| s.split("\n# ").next().unwrap_or(s).split_once('\n').unwrap()).collect()
}

#[test]
fn every_code_is_explained() {
    let document = std::fs::read_to_string(root().join("docs/codes.md")).unwrap();
    let (codes, sections) = (codes(), sections(&document));
    let mut explained = BTreeSet::new();
    for (code, text) in &sections {
        assert!(explained.insert(code.to_string()), "{code} has two sections");
        assert!(codes.contains_key(*code), "{code} is no code");
        let prose = text.split("```").next().unwrap();
        // What it means and what to do are two things.
        let paragraphs = prose.split("\n\n").filter(|p| !p.trim().is_empty()).count();
        assert!(paragraphs >= 2, "{code} says what it means, but not what to do");
        for link in prose.split("](#").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)) {
            assert!(codes.contains_key(link), "{code} refers to {link}, which is no code");
        }
    }
    let missing: Vec<&String> = codes.keys().filter(|c| !explained.contains(*c)).collect();
    assert!(missing.is_empty(), "docs/codes.md has no section for {missing:?}");
}

/// The texts in `docs/codes.md` are those that tests pin.
#[test]
fn explanations_show_pinned_texts() {
    let document = std::fs::read_to_string(root().join("docs/codes.md")).unwrap();
    let pinned = pinned();
    let lines: BTreeSet<&str> = pinned.lines().map(str::trim_end).collect();
    for (code, text) in sections(&document) {
        for sample in text.split("```text\n").skip(1) {
            let sample = sample.split("\n```").next().unwrap();
            assert!(sample.lines().next().unwrap().contains(&format!("[{code}]: ")), "{code}: {sample}");
            for line in sample.lines() {
                assert!(lines.contains(line), "{code}: no test pins `{line}`");
            }
        }
    }
}

fn refusal<T>(result: Result<T, Diagnostic>) -> Diagnostic {
    result.err().expect("refused")
}

fn kernel(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a kernel on the emulator for its refusal.
fn run(text: &str, args: Args) -> Diagnostic {
    refusal(Device::emulator().compile(&kernel(text)).and_then(|c| c.run(&args)))
}

const COPY: &str = "kernel copy(x: f32[n], y: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\ny[i] = x[i]\n";

fn of_the_runtime() -> Vec<Diagnostic> {
    let emulator = Device::emulator();
    let floats = |shape: &[usize]| Tensor::zeros(shape, DType::F32).unwrap();
    let x = || Args::new().tensor("x", &floats(&[4]));
    let options = |change: fn(&mut Options)| {
        let mut options = Options::default();
        change(&mut options);
        Device::emulator_with(options)
    };
    let on = |device: &Device, args: Args| refusal(device.compile(&kernel(COPY)).and_then(|c| c.run(&args)));
    let huge = 1usize << 40;
    vec![
        refusal(loopwright::automatic::sample(&kernel(
            "kernel many(x: f32[n], n: i32)\nassume n = 1000000000\n\
             domain { [i] : 0 <= i < n }\nx[i] = 1.0\n",
        ))),
        refusal(Tensor::from_vec(&[2, 3], vec![1.0f32])),
        refusal(floats(&[4]).reshape(&[5])),
        refusal(Tensor::zeros(&[huge, huge], DType::F32)),
        refusal(floats(&[4]).to_vec::<i32>()),
        refusal(emulator.upload(&floats(&[4])).and_then(|t| t.write(&floats(&[5])))),
        refusal(emulator.compile_with(
            &kernel(COPY),
            &CompileOptions { index: Some(DType::I8), ..CompileOptions::default() },
        )),
        run(
            "kernel k(y: f32[n, 4] strides(s, 1), n: i32, s: i32)\nassume 0 <= n and 0 <= s\n\
             domain { [i, j] : 0 <= i < n and 0 <= j < 4 }\ny[i, j] = 1.0\n",
            Args::new().scalar("n", 3).scalar("s", 2),
        ),
        run(
            "kernel k(y: f32[n, m, 2] strides(s, t, 1), n: i32, m: i32, s: i32, t: i32)\n\
             assume 0 <= n and 0 <= m and 0 <= s and 0 <= t\n\
             domain { [i, j, k] : 0 <= i < n and 0 <= j < m and 0 <= k < 2 }\n\
             y[i, j, k] = 1.0\n",
            Args::new().scalar("n", 5000).scalar("m", 5000).scalar("s", 3).scalar("t", 2),
        ),
        run(
            "kernel k(y: f32[n - 5], n: i32)\ndomain { [i] : 0 <= i < n - 5 }\ny[i] = 1.0\n",
            Args::new().scalar("n", 3),
        ),
        run(
            "kernel k(y: f32[n*m*m], n: i64, m: i64)\n\
             assume 1 <= n and 1 <= m\n\
             domain { [i] : 0 <= i < 1 }\n\
             y[i] = 1.0\n",
            Args::new().scalar("n", 1i64 << 40).scalar("m", 1i64 << 40),
        ),
        run(
            "kernel k(y: f32[n], n: i32)\n\
             function f(f32) -> f32 {\n\
             __device__ float f(float a) { asm(\"\" : \"+f\"(a)); return a; }\n\
             }\n\
             domain { [i] : 0 <= i < n }\n\
             y[i] = f(1.0)\n",
            Args::new().scalar("n", 3),
        ),
        on(&options(|o| o.max_bytes = 8), x()),
        on(&options(|o| o.max_bytes = 40), x()),
        on(&options(|o| o.max_steps = 3), x()),
        refusal(
            kernel(
                "kernel k(y: f32[n], n: i32, m: i32)\n\
                 assume 0 <= n and 0 <= m\n\
                 domain { [t] : 0 <= t < m }\n\
                 domain { [i] : 0 <= i < n }\n\
                 y[i] = t\n",
            )
            .tag_inames("t: host")
            .and_then(|k| emulator.compile(&k))
            .and_then(|c| c.bind(&Args::new().scalar("n", 1).scalar("m", i32::MAX))),
        ),
        on(&emulator, x().bind_type("T", DType::F32)),
    ]
}

/// Diagnostics that only a GPU, a driver or a broken compiler would trigger; their texts are the
/// same without one.
fn of_the_drivers() -> Vec<Diagnostic> {
    let arch = Arch::SM_80;
    let cuda = [
        CudaError::NoDriver,
        CudaError::NoDevice,
        CudaError::OldDriver { for_what: "graphs", since: "12.0" },
        CudaError::NoSuchDevice { ordinal: 3, count: 1 },
        CudaError::BadBinary { arch, reason: "it is cut off".into() },
        CudaError::NoSuchKernel { name: "copy".into() },
        CudaError::Arguments { kernel: "copy".into(), reason: "it takes 3 and was given 2".into() },
        CudaError::Range { offset: 8, bytes: 16, length: 20 },
        CudaError::Foreign { what: "the buffer is on another device than the stream" },
        CudaError::OutOfMemory { bytes: 1 << 40, free: Some(1 << 30) },
        CudaError::Driver {
            doing: "waiting for a stream",
            name: "CUDA_ERROR_ILLEGAL_ADDRESS".into(),
            text: "an illegal memory access was encountered".into(),
        },
    ];
    let compiler = [
        CompileError::UnsupportedArch { arch, supported: vec![90, 100], version: (13, 0) },
        CompileError::Rejected { messages: Vec::new(), log: "copy.cu(3): error: expected a \";\"\n".into() },
        CompileError::TooLong { bytes: 1 << 30, most: 1 << 26 },
    ];
    let disassembler = [
        DisasmError::NotFound,
        DisasmError::Failed { program: "nvdisasm".into(), reason: "it was stopped".into() },
    ];
    let all = cuda.into_iter().map(Diagnostic::from).chain(compiler.into_iter().map(Diagnostic::from));
    all.chain(disassembler.into_iter().map(Diagnostic::from)).collect()
}

/// Faults that only an incorrect lowered program triggers, or a program whose functions nobody has
/// compiled; the emulator's own tests trigger each
/// one.
fn of_the_emulator() -> Vec<Diagnostic> {
    let kinds = [
        FaultKind::InvalidProgram,
        FaultKind::Argument,
        FaultKind::MissingFunction,
        FaultKind::OutOfBounds,
        FaultKind::Misaligned,
        FaultKind::Race,
        FaultKind::RaceBetweenBlocks,
        FaultKind::Uninitialised,
        FaultKind::DivergentBarrier(Scope::Block),
        FaultKind::DivergentBarrier(Scope::Warp),
        FaultKind::DivergentShuffle,
        FaultKind::DivisionByZero,
        FaultKind::IndexOverflow,
    ];
    let fault = |kind| Fault {
        kind,
        kernel: Some("copy".into()),
        array: Some("x".into()),
        cell: vec![7],
        first: None,
        second: None,
        detail: String::new(),
    };
    kinds.into_iter().map(|kind| fault(kind).diagnostic()).collect()
}

/// Diagnostics of the plain interpreter for kernels and inputs that do not match.
fn of_the_interpreter() -> Vec<Diagnostic> {
    use loopwright_reference::{Inputs, Mode, interpret};
    let of = |text: &str, inputs: Inputs| refusal(interpret(&kernel(text), &inputs, Mode::Exact));
    let n = |n: i32| Inputs::new().scalar("n", n);
    vec![
        of(COPY, Inputs::new()),
        of(COPY, n(-1)),
        of(COPY, n(3)),
        of("kernel k(x: T[n], y: T[n], n: i32)\ndomain { [i] : 0 <= i < n }\ny[i] = x[i]\n", n(3)),
    ]
}

/// Errors that text cannot express, because parsing reports another error first: kernels assembled
/// from data.
/// What has no arrays of structs yet.
fn of_structs() -> Diagnostic {
    let kernel = kernel(
        "kernel k(p: pair[n], n: i32)\nstruct pair { key: u8, value: u32 }\nassume 0 <= n\n\
         domain { [i] : 0 <= i < n }\np[i].value = p[i].key\n",
    );
    let args = Args::new().tensor("p", &Tensor::zeros(&[2, 8], DType::U8).unwrap());
    let arch = "sm_90".parse().unwrap();
    refusal(loopwright::runtime::export(&kernel, arch, &args, &Default::default()))
}

/// Instructions that an architecture does not have.
fn of_architectures() -> Vec<Diagnostic> {
    let fp8 = "kernel k(a: e4m3[16, 32], b: e4m3[8, 32], c: f32[16, 8])\n\
               domain { [i, j] : 0 <= i < 16 and 0 <= j < 8 }\n\
               domain { [k] : 0 <= k < 32 }\n\
               c[i, j] = sum(k, cast(f32, a[i, k]) * cast(f32, b[j, k])) {id=product}\n";
    let bf16 = "kernel k(a: bf16[16, 16], b: bf16[8, 16], c: bf16[16, 8])\n\
                domain { [i, j] : 0 <= i < 16 and 0 <= j < 8 }\n\
                domain { [k] : 0 <= k < 16 }\n\
                c[i, j] = cast(bf16, sum(k, cast(f32, a[i, k]) * cast(f32, b[j, k]))) {id=product}\n";
    let stored = "tensorize(product, mma_m16n8k16_bf16, m=i, n=j, k=k)\n\
                  buffer_array(c, [i_reg, lane, j_reg], space=shared, init=none)\n\
                  store_matrices(product)\n";
    let by = "tensorize(product, mma_m16n8k32_e4m3, m=i, n=j, k=k)\n";
    let of = |text: &str, steps: &str| {
        let transformed = Pipeline::parse(steps).and_then(|p| p.apply(&kernel(text))).unwrap();
        refusal(compile_for(&transformed, Arch::SM_80, &Default::default(), &CompileOptions::default()))
    };
    vec![of(fp8, by), of(bf16, stored)]
}

fn of_kernels_as_data() -> Vec<Diagnostic> {
    let declare = |text: &str, change: fn(&mut loopwright::ir::KernelData)| {
        let mut data = (*kernel(text)).clone();
        change(&mut data);
        data.tree.clear();
        data
    };
    let cyclic = declare(
        "kernel k(b: f32[n, n], n: i32)\n\
         domain { [i] : 0 <= i < n }\n\
         domain { [j] : 0 <= j < n and j < i + 5 }\n\
         b[i, j] = 1.0\n",
        |data| {
            // i < j, which would also be refused in a text.
            let (i, j) = (loopwright::poly::Aff::var("i"), loopwright::poly::Aff::var("j"));
            data.domains[0].constraints.push(loopwright::poly::Constraint::lt(&i, &j).unwrap());
        },
    );
    let mut fewer = (*kernel(
        "kernel k(x: f32[n, n], b: f32[n], n: i32)\n\
         domain { [i] : 0 <= i < n }\n\
         b[i] = x[i, i] + x[i, 0]\n",
    ))
    .clone();
    if let loopwright::ir::Expr::Binary(op, left, _) = &fewer.instructions[0].value {
        let right = loopwright::ir::parse_expression("x[i]").unwrap();
        fewer.instructions[0].value = loopwright::ir::Expr::Binary(*op, left.clone(), right.into());
    }
    vec![
        refusal(LoopKernel::declare(cyclic).map_err(|d| d.0[0].clone())),
        refusal(LoopKernel::from_data(fewer).add_prefetch("x", "i")),
        refusal(
            loopwright::transforms::AssumeLegal::new("a \"quoted\" reason")
                .apply(&kernel("kernel k(b: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\nb[i] = 1.0\n")),
        ),
    ]
}

/// Invalid search spaces.
fn of_the_tuner() -> Vec<Diagnostic> {
    use loopwright::tuner::Space;
    let mut found: Vec<Diagnostic> =
        ["rows = 4", "rows in []", "rows in [1]\nrows in [2]", "rows in [1]\nrequire lanes == 4"]
            .into_iter()
            .map(|text| refusal(Space::parse(text)))
            .collect();
    found.push(refusal(Space::parse("a in [0, 1]\nrequire 4 // a == 4").and_then(|s| s.points())));
    found.push(refusal(Space::new().parameter("a", 0..4000).parameter("b", 0..4000).points()));
    found
}

/// Invalid segments.
fn of_the_segments() -> Vec<Diagnostic> {
    use loopwright::segmented::{Operator, SegmentedReduce, Segments, Shape};
    let sums = |dtype| SegmentedReduce::new(Operator::Sum, dtype);
    let rows = Shape::rows(4, 4);
    vec![
        refusal(Shape::of(10, Segments::Length(3))),
        refusal(Shape::of(10, Segments::Length(0))),
        refusal(Shape::of(10, Segments::Offsets(&[]))),
        refusal(Shape::of(10, Segments::Offsets(&[0, 7, 5, 10]))),
        refusal(Shape::of(10, Segments::Offsets(&[0, 11]))),
        refusal(Shape::of(10, Segments::WideOffsets(&[-1, 10]))),
        refusal(sums(DType::F32).kernel(&Shape::Ragged {
            count: 1,
            elements: 1 << 40,
            longest: None,
            offsets: DType::I32,
        })),
        refusal(sums(DType::F32).map("x * y")),
        refusal(sums(DType::F32).map("x > 0")),
        refusal(sums(DType::Bool).kernel(&rows)),
        refusal(sums(DType::F32).output(DType::I32).kernel(&rows)),
        refusal(SegmentedReduce::new(Operator::Mean, DType::I32).output(DType::I32).kernel(&rows)),
        refusal(sums(DType::I32).output(DType::Bool).kernel(&rows)),
        refusal(sums(DType::F32).run(&Device::emulator(), &[1.0f64], Segments::Length(1))),
    ]
}

#[test]
fn pinned_texts() {
    let groups = [
        ("arguments and data", of_the_runtime()),
        ("driver, compiler, disassembler", of_the_drivers()),
        ("emulator", of_the_emulator()),
        ("plain interpreter", of_the_interpreter()),
        ("kernels as data", of_kernels_as_data()),
        ("structs", vec![of_structs()]),
        ("architectures", of_architectures()),
        ("tuner", of_the_tuner()),
        ("segments", of_the_segments()),
    ];
    let mut text = String::new();
    for (title, diagnostics) in groups {
        text.push_str(&format!("==== {title}\n"));
        for d in diagnostics {
            text.push_str(&format!("{}\n\n", d.render()));
        }
    }
    let file = root().join("tests/diagnostics/pinned.txt");
    if std::env::var_os("LOOPWRIGHT_BLESS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    assert!(text == expected, "expected\n{expected}\nfound\n{text}");
}
