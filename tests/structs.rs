//! Arrays of structs: where fields lie, as a C++ compiler says; kernels on bytes against loops that
//! are written here, by the emulator, the plain interpreter and the printed text; what is refused.

use std::collections::BTreeMap;

use loopwright::ir::{DType, LoopKernel, Name, Struct};
use loopwright::lowering::{LowerOptions, lower, program::Program};
use loopwright::prelude::{Args, Device, Pipeline, Tensor};
use loopwright_testing::check;
use loopwright_text_check::Checker;

/// What the elements below are: 24 bytes, with a gap behind the last field.
const PARTICLE: &str = "struct particle { x: f32, y: f32, mass: f64, kind: i32 }";
const BYTES: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Particle {
    x: f32,
    y: f32,
    mass: f64,
    kind: i32,
}

impl Particle {
    /// The `k`-th of the arguments.
    fn numbered(k: usize) -> Particle {
        let v = k as f32;
        Particle { x: v + 0.5, y: 3.0 - v, mass: 2.0 * f64::from(v) + 1.0, kind: (k % 3) as i32 }
    }

    /// As C lays it out; the gap holds a byte that nobody reads.
    fn bytes(self) -> [u8; BYTES] {
        let mut all = [0x5a; BYTES];
        all[0..4].copy_from_slice(&self.x.to_le_bytes());
        all[4..8].copy_from_slice(&self.y.to_le_bytes());
        all[8..16].copy_from_slice(&self.mass.to_le_bytes());
        all[16..20].copy_from_slice(&self.kind.to_le_bytes());
        all
    }

    fn of(bytes: &[u8]) -> Particle {
        Particle {
            x: f32::from_le_bytes(bytes[0..4].try_into().unwrap()),
            y: f32::from_le_bytes(bytes[4..8].try_into().unwrap()),
            mass: f64::from_le_bytes(bytes[8..16].try_into().unwrap()),
            kind: i32::from_le_bytes(bytes[16..20].try_into().unwrap()),
        }
    }
}

fn tensor(all: &[Particle]) -> Tensor {
    Tensor::from_vec(&[all.len(), BYTES], all.iter().flat_map(|p| p.bytes()).collect()).unwrap()
}

fn particles(bytes: &Tensor) -> Vec<Particle> {
    bytes.to_vec::<u8>().unwrap().chunks_exact(BYTES).map(Particle::of).collect()
}

fn kernel(lines: &str) -> LoopKernel {
    let text = format!(
        "kernel k(p: particle[n], q: particle[n], dt: f32, n: i32)\n{PARTICLE}\nassume 0 <= n\n\
         domain {{ [i] : 0 <= i < n }}\n{lines}\n"
    );
    LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{text}{d}"))
}

const MOVE: &str = "<> v = cast(f32, p[i].mass) * dt {id=v}\n\
                    q[i] = p[i] {id=copy}\n\
                    q[i].x = p[i].x + v if p[i].kind == 1 {id=move}";

fn moved(p: Particle, dt: f32) -> Particle {
    let x = if p.kind == 1 { p.x + p.mass as f32 * dt } else { p.x };
    Particle { x, ..p }
}

const PIPELINE: &str = "split_iname(i, 32)\ntag_inames(i_outer: block.x, i_inner: thread.x)";

fn on_threads(kernel: &LoopKernel) -> LoopKernel {
    Pipeline::parse(PIPELINE).and_then(|p| p.apply(kernel)).unwrap_or_else(|d| panic!("{d}"))
}

#[test]
fn bytes_go_in_and_come_out() {
    let p: Vec<Particle> = (0..70).map(Particle::numbered).collect();
    let expected: Vec<Particle> = p.iter().map(|p| moved(*p, 0.25)).collect();
    let compiled = Device::emulator().compile(&on_threads(&kernel(MOVE))).unwrap();
    let args = Args::new().tensor("p", &tensor(&p)).scalar("dt", 0.25f32);
    let outputs = compiled.run(&args).unwrap();
    assert_eq!(particles(outputs.get("q").unwrap()), expected);
    // The fields are there too, and so are those of the reference.
    let x: Vec<f32> = expected.iter().map(|p| p.x).collect();
    assert_eq!(outputs.get("q_x").unwrap().to_vec::<f32>().unwrap(), x);
    assert_eq!(compiled.reference(&args).unwrap()["q_x"].to_vec::<f32>().unwrap(), x);
    // An array of a device is changed in its place, and what nobody writes stays as it is.
    let device = compiled.device();
    let in_place = device.upload(&tensor(&p)).unwrap();
    let other = LoopKernel::parse(&format!(
        "kernel k(p: particle[n], n: i32)\n{PARTICLE}\ndomain {{ [i] : 0 <= i < n }}\np[i].y = p[i].y + 1.0\n"
    ));
    let shifted = device.compile(&on_threads(&other.unwrap())).unwrap();
    shifted.run(&Args::new().device_tensor("p", &in_place)).unwrap();
    let expected: Vec<u8> = p.iter().flat_map(|p| Particle { y: p.y + 1.0, ..*p }.bytes()).collect();
    assert_eq!(in_place.download().unwrap().to_vec::<u8>().unwrap(), expected);
}

/// A struct of every order of types, its fields written in the order of the letters.
fn random_struct(seed: &mut u64) -> Struct {
    let mut draw = |below: usize| {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) as usize % below
    };
    let fields = 1 + draw(6);
    let types: Vec<DType> = DType::ALL.iter().copied().filter(|t| !t.is_float8()).collect();
    Struct::new("s", (0..fields).map(|k| (format!("f{k}"), types[draw(types.len())])))
}

/// The printed text asserts size and offsets: that it compiles shows that they are those of C. What
/// it computes is compared with the kernel: each field is copied, and one is changed.
#[test]
fn structs_lie_as_in_c() {
    let mut seed = 7;
    let mut made = Vec::new();
    for _ in 0..24 {
        let of = random_struct(&mut seed);
        let fields: Vec<String> = of.fields.iter().map(|f| format!("{}: {}", f.name, f.dtype)).collect();
        let text = format!(
            "kernel k(p: s[n, m] order(f), q: s[n, m], n: i32, m: i32)\nstruct s {{ {} }}\n\
             assume 0 <= n and 0 <= m\ndomain {{ [i, j] : 0 <= i < n and 0 <= j < m }}\n\
             q[i, j] = p[i, j] if i != j\nq[i, j].f0 = p[i, j].f0 if i == j\n",
            fields.join(", ")
        );
        let declared = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{text}{d}"));
        assert_eq!(LoopKernel::parse(&declared.to_text()).unwrap(), declared, "{text}");
        let steps = "split_iname(j, 8)\ntag_inames(i: block.x, j_outer: seq, j_inner: thread.x)";
        let transformed = Pipeline::parse(steps).unwrap().apply(&declared).unwrap_or_else(|d| panic!("{d}"));
        let program = lower(&transformed, LowerOptions::default()).unwrap_or_else(|d| panic!("{text}{d}"));
        made.push((declared, program));
    }
    run_all(&made, &[("n", 5), ("m", 11)]);
}

fn run_all(made: &[(LoopKernel, Program)], sizes: &[(&str, i64)]) {
    let sizes: BTreeMap<Name, i64> = sizes.iter().map(|(n, v)| (Name::new(n), *v)).collect();
    let programs: Vec<Program> = made.iter().map(|(_, program)| program.clone()).collect();
    let texts = Checker::new().expect("a C++ compiler").compile_all(&programs);
    for ((declared, program), compiled) in made.iter().zip(texts) {
        assert_eq!(Program::parse(&program.to_text()).unwrap(), program.plain(), "{}", program.to_text());
        let compiled = compiled.unwrap_or_else(|d| panic!("{declared}{d}"));
        assert_eq!(check::is_compared(declared, &sizes), Ok(true));
        check::run(declared, program, &sizes).unwrap_or_else(|f| panic!("{declared}{}", f.text));
        check::run_compiled(&compiled, declared, &sizes).unwrap_or_else(|f| panic!("{declared}{}", f.text));
    }
}

/// Steps that know nothing of structs.
#[test]
fn fields_are_arrays_to_steps() {
    let sum = kernel("q[i].x = p[i].x*dt + cast(f32, p[i].mass)");
    let cases = [
        (&sum, PIPELINE.to_string()),
        (&sum, format!("{PIPELINE}\nadd_prefetch(p_x, [i_inner], space=shared)")),
        (&sum, format!("{PIPELINE}\nadd_prefetch(p_mass, [i_inner])")),
        (&sum, "split_iname(i, 4)\ntag_inames(i_outer: block.x, i_inner: unroll)".to_string()),
        (&sum, "split_iname(i, 4)\ntag_inames(i_outer: block.x, i_inner: ilp)".to_string()),
        (&sum, "split_iname(i, 4)\ntag_inames(i_outer: block.x, i_inner: vec)".to_string()),
        (
            &sum,
            "fix_parameters(n=45)\nsplit_iname(i, 32)\ntag_inames(i_outer: block.x, i_inner: thread.x)"
                .into(),
        ),
    ];
    let mut made = Vec::new();
    for (declared, steps) in cases {
        let transformed = Pipeline::parse(&steps)
            .and_then(|p| p.apply(declared))
            .unwrap_or_else(|d| panic!("{steps}\n{d}"));
        assert_eq!(LoopKernel::parse(&transformed.to_text()).unwrap(), transformed, "{steps}");
        let program = lower(&transformed, LowerOptions::default()).unwrap_or_else(|d| panic!("{steps}\n{d}"));
        made.push((declared.clone(), program));
    }
    run_all(&made, &[("n", 45)]);
    // What would move elements away from where the struct has them.
    for steps in ["pad_array_axis(p_x, 0, 3)", "tag_array_axes(p_x, \"stride:1\")"] {
        let refused = Pipeline::parse(steps).and_then(|p| p.apply(&sum)).unwrap_err();
        assert_eq!(refused.code, "struct-layout", "{refused}");
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let compiled = Device::emulator().compile(&on_threads(&kernel(MOVE))).unwrap();
    let code = |args: Args| compiled.run(&args.scalar("dt", 1.0f32)).unwrap_err().code;
    let p: Vec<Particle> = (0..4).map(Particle::numbered).collect();
    let bytes = |shape: &[usize]| Tensor::zeros(shape, DType::U8).unwrap();
    assert_eq!(code(Args::new()), "missing-argument");
    assert_eq!(code(Args::new().tensor("p", &bytes(&[4, 20]))), "argument-type");
    assert_eq!(code(Args::new().tensor("p", &bytes(&[96]))), "argument-type");
    assert_eq!(code(Args::new().tensor("p", &Tensor::zeros(&[4, 24], DType::I8).unwrap())), "argument-type");
    let x = Tensor::zeros(&[4], DType::F32).unwrap();
    assert_eq!(code(Args::new().tensor("p", &tensor(&p)).tensor("p_x", &x)), "argument-twice");
    assert_eq!(code(Args::new().tensor("p", &tensor(&p)).tensor("q", &bytes(&[5, 24]))), "argument-shape");
    // One array for both, of which the kernel writes one.
    let on_device = compiled.device().upload(&tensor(&p)).unwrap();
    let both = Args::new().device_tensor("p", &on_device).device_tensor("q", &on_device);
    assert_eq!(code(both), "aliased-arguments");
    let field = compiled.device().upload(&x).unwrap();
    assert_eq!(code(Args::new().tensor("p", &tensor(&p)).device_tensor("q_x", &field)), "argument-kind");
}

/// Temporaries of structs: a scalar of each thread, a tile that the threads of a block turn round,
/// and rows of each thread. Each field is an array as any other.
#[test]
fn temporaries_have_structs() {
    let text = |temporaries: &str, lines: &str| {
        format!(
            "kernel k(p: particle[n], q: particle[n], n: i32)\n{PARTICLE}\nassume 16 <= n and n mod 16 = 0\n\
             domain {{ [b, t, u] : 0 <= b and 16b < n and 0 <= t < 16 and 0 <= u < 16 }}\n{temporaries}\n\
             {lines}\n"
        )
    };
    let private = text(
        "temp one: particle",
        "one = p[16*b + t] {id=load}\nq[16*b + t] = one {id=keep}\n\
         q[16*b + t].kind = one.kind + 1 {id=count}",
    );
    let shared = text(
        "temp tile: particle[16] shared",
        "tile[t] = p[16*b + t] {id=fill}\nq[16*b + u] = tile[15 - u] {id=turn}\n\
         q[16*b + u].y = 2.0*tile[u].y {id=more}",
    );
    let rows = text(
        "temp pair: particle[2] private",
        "pair[0] = p[16*b + t] {id=own}\npair[1] = p[16*b + 15 - t] {id=other}\n\
         q[16*b + t] = pair[1] {id=far}\nq[16*b + t].x = pair[0].x - pair[1].x {id=near}",
    );
    let mut made = Vec::new();
    for text in [private, shared, rows] {
        let declared = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{text}{d}"));
        assert_eq!(LoopKernel::parse(&declared.to_text()).unwrap(), declared, "{text}");
        let used = if text.contains("[16*b + u]") { ", u: thread.x" } else { "" };
        let steps = format!("tag_inames(b: block.x, t: thread.x{used})");
        for steps in ["", &steps] {
            let kernel =
                Pipeline::parse(steps).unwrap().apply(&declared).unwrap_or_else(|d| panic!("{text}{d}"));
            let program = lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{text}{d}"));
            made.push((declared.clone(), program));
        }
    }
    run_all(&made, &[("n", 48)]);
    // By hand, for the tile.
    let p: Vec<Particle> = (0..48).map(Particle::numbered).collect();
    let turned = |k: usize| Particle { y: 2.0 * p[k].y, ..p[k / 16 * 16 + 15 - k % 16] };
    let compiled = Device::emulator().compile(&made[3].0).unwrap();
    let outputs = compiled.run(&Args::new().tensor("p", &tensor(&p))).unwrap();
    assert_eq!(particles(outputs.get("q").unwrap()), (0..48).map(turned).collect::<Vec<_>>());
}
