//! Kernels that are called from another text than that which calls them.

use loopwright_kernel_ir::{Library, LoopKernel};

const SUMS: &str = "
# Sums of rows.
reduction both(v) { state s: f32 = 0; lift s = v; combine s = a.s + b.s; result s; commutes }
reduction other(v) { state s: f32 = 0; lift s = v; combine s = a.s + b.s; result s; commutes }
function twice(f32) -> f32 { __device__ float twice(float x) { return 2.0f*x; } }
function half(f32) -> f32 { __device__ float half(float x) { return 0.5f*x; } }
kernel total(row: f32[k], out result: f32, k: i32) {
    assume 1 <= k
    domain { [j] : 0 <= j < k }
    result = both(j, twice(row[j]))
}
";

/// As it is run alone, and calls a kernel of the text before.
const SCALE: &str = "kernel scaled(a: f32[k], b: f32[k], k: i32)
assume 1 <= k
domain { [j] : 0 <= j < k }
<> t = total(a[:])
b[j] = a[j]/t
";

const ROWS: &str = "kernel rows(x: f32[m, n], y: f32[m, n], m: i32, n: i32)
assume 1 <= n
domain { [i] : 0 <= i < m }
for i { call scaled(x[i, :], y[i, :]) }
";

fn library() -> Library {
    let sums = Library::new().with("sums.lw", SUMS).unwrap_or_else(|d| panic!("{d}"));
    sums.with("scale.lw", SCALE).unwrap_or_else(|d| panic!("{d}"))
}

/// The same as if the text had declared them, without what nothing uses.
#[test]
fn the_lines_of_a_library_are_those_of_the_text() {
    let kernel = LoopKernel::parse_with(ROWS, &library()).unwrap_or_else(|d| panic!("{d}"));
    let (head, body) = ROWS.split_once('\n').unwrap();
    let within = SCALE.replacen('\n', " {\n", 1) + "}\n";
    let used = SUMS.lines().filter(|l| !l.starts_with("reduction other") && !l.starts_with("function half"));
    let used: String = used.map(|l| format!("{l}\n")).collect();
    let inside =
        LoopKernel::parse(&format!("{head}\n{used}{within}{body}")).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(kernel, inside);
    // What is printed stands alone.
    assert_eq!(LoopKernel::parse(&kernel.to_text()).unwrap(), kernel);
    assert_eq!((kernel.reductions.len(), kernel.functions.len()), (1, 1));
    // A text that calls nothing is what it is without a library.
    let alone = "kernel k(y: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\ny[i] = 1.0\n";
    assert_eq!(LoopKernel::parse_with(alone, &library()).unwrap(), LoopKernel::parse(alone).unwrap());
}

/// Complex numbers, and operators that take rows, are read as in any text.
#[test]
fn a_library_has_what_texts_have() {
    let library = Library::new().with(
        "rows.lw",
        "reduction sums(v[2]) { state s: like v = 0; lift s = v; combine s[d] = a.s[d] + b.s[d]; result s; commutes }
         kernel columns(x: f32[k, 2], out: f32[2], k: i32)
         domain { [j] : 0 <= j < k }
         out[:] = sums(j, x[j, :])
        ",
    );
    let library = library.unwrap_or_else(|d| panic!("{}", d.render()));
    let library = library.with(
        "turn.lw",
        "kernel turn(z: complex64[k], w: complex64[k], k: i32) { domain { [j] : 0 <= j < k }\n w[j] = 2.0j*z[j] }",
    );
    let library = library.unwrap_or_else(|d| panic!("{}", d.render()));
    let text = "kernel k(x: f32[n, 2], y: f32[2], z: complex64[n], w: complex64[n], n: i32)\n\
                call columns(x[:, :], y[:])\ncall turn(z[:], w[:])\n";
    let kernel = LoopKernel::parse_with(text, &library).unwrap_or_else(|d| panic!("{}", d.render()));
    assert!(kernel.to_string().contains("sums(columns_j, x[columns_j, 0], x[columns_j, 1])"), "{kernel}");
}

fn refused(text: &str, library: &Library) -> String {
    LoopKernel::parse_with(text, library).map(|k| k.to_string()).unwrap_err().render()
}

/// Places are in the text where the mistake is.
#[test]
fn refusals_name_the_text() {
    // In the text that calls.
    let found = refused(&ROWS.replace("scaled(", "scale("), &library());
    assert!(found.contains("there is no kernel `scale` above this line\n --> <kernel>:4:14"), "{found}");
    assert!(found.contains("do you mean `scaled`?"), "{found}");
    // An assumption of the library that does not hold where it is called.
    let found = refused(&ROWS.replace("assume 1 <= n", "assume 0 <= n"), &library());
    assert!(found.contains("--> <kernel>:4:"), "{found}");
    // A name that two texts have.
    let twice = library().with("again.lw", SUMS).unwrap_err().render();
    assert!(twice.contains("there is already") && twice.contains("again.lw:3"), "{twice}");
    let own = refused(&format!("{ROWS}kernel total(x: f32[2], out y: f32) {{ y = x[0] }}\n"), &library());
    assert!(own.contains("there is already a kernel, rule, operator or function called `total`"), "{own}");
    assert!(own.contains("<kernel>:5:8"), "{own}");
    let header = refused(&ROWS.replace("kernel rows(", "kernel total("), &library());
    assert!(header.contains("sums.lw:7:8"), "{header}");
    // Lines that are no part of a library, and a brace that is left open.
    let lines = Library::new().with("d.lw", "domain { [i] : 0 <= i < 4 }\n").unwrap_err().render();
    assert!(lines.contains("expected `kernel`, but found `domain`\n --> d.lw:1:1"), "{lines}");
    let open = Library::new().with("o.lw", "kernel f(x: f32[2], out y: f32) {\n    y = x[0]\n");
    let open = open.unwrap_err().render();
    assert!(open.contains("expected `}`") && open.contains("o.lw:2"), "{open}");
    let option = Library::new().with("p.lw", "kernel f(x: f32[2], out y: f32)\noption fast_math\ny = x[0]\n");
    let option = option.unwrap_err().render();
    assert!(option.contains("a line that begins with `option`") && option.contains("p.lw:2:1"), "{option}");
    // A later text does not go on where an earlier one ends.
    let wrong = Library::new().with("w.lw", "kernel f(x: f32[2], out y: f32)\ny = x[0] +").unwrap_err();
    assert!(wrong.render().contains("w.lw:2:11"), "{wrong}");
    // What is wrong in a called kernel is said of its own text, before anything calls it.
    let bounds = Library::new().with("b.lw", "kernel f(x: f32[2], out y: f32)\ny = x[2]\n").unwrap_err();
    assert!(bounds.render().contains("b.lw:2:5"), "{bounds}");
    let bytes = Library::new().with_bytes("l.lw", b"kernel \xff").unwrap_err().render();
    assert!(bytes.contains("l.lw is not UTF-8 text"), "{bytes}");
}

/// A kernel of the library that is wrong only together with what calls it.
#[test]
fn notes_name_the_call() {
    let library =
        Library::new().with("g.lw", "kernel first(x: f32[k], out y: f32, k: i32)\nassume 3 <= k\ny = x[2]\n");
    let text = "kernel k(x: f32[m, n], y: f32[m], m: i32, n: i32)\ndomain { [i] : 0 <= i < m }\n\
                assume 0 <= n\ny[i] = first(x[i, :])\n";
    let found = refused(text, &library.unwrap());
    assert!(found.contains("<kernel>:4:"), "{found}");
}
