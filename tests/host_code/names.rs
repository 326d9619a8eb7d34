//! Names of kernels that the texts have for something else.

use super::*;

/// The kernel `names`, with these names for two arrays, a size and a number.
fn named([x, out, n, a]: [&str; 4]) -> LoopKernel {
    let text = format!(
        "kernel names({x}: f32[{n}], {out}: f32[{n}], {n}: i32, {a}: f32)
         domain {{ [ii] : 0 <= ii < {n} }}
         {out}[ii] = {a}*{x}[ii]"
    );
    let steps = "split_iname(ii, 32)
                 tag_inames(ii_outer: block.x, ii_inner: thread.x)";
    Pipeline::parse(steps).unwrap().apply(&LoopKernel::parse(&text).unwrap()).unwrap()
}

/// The C text compiles without warnings, and the loader's parameters have different names.
#[test]
fn arguments_have_any_names() {
    let cases = [
        ["x", "out", "fits", "a"],
        ["error", "error_", "n", "a"],
        ["len", "len_", "n", "a"],
        ["_x", "x_", "n", "_1"],
        ["arg_n", "arg_n_", "n", "arg_arg_n"],
        ["names_check", "names_module", "n", "a"],
        ["x", "out", "names_module", "names_check"],
    ];
    for case in cases {
        let Some(of) = Exported::new(named(case)) else { return };
        of.build();
        let script = "import names, inspect\nprint(*inspect.signature(names.Module.launch).parameters)\n";
        let Some(output) = of.python(script) else { return };
        let (shown, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(shown.split_whitespace().count(), 6, "{case:?}: {shown}{error}");
    }
}

/// A variable of the host is passed beside an argument that is called as it is passed.
#[test]
fn variables_of_the_host_have_any_names() {
    let kernel = LoopKernel::parse(
        "kernel rows(u: f32[n, n], n: i32)
         assume 1 <= n
         domain { [arg_n] : 0 <= arg_n < n }
         domain { [i] : 0 <= i < n }
         u[arg_n, i] = 1.0",
    );
    let steps = "tag_inames(arg_n: host, i: block.x)";
    let kernel = Pipeline::parse(steps).unwrap().apply(&kernel.unwrap()).unwrap();
    let Some(of) = Exported::new(kernel) else { return };
    let loaded = Loaded::new(&of);
    let launch: unsafe extern "C" fn(*const c_void, *mut c_void, u64, i32) -> c_int =
        loaded.function("launch");
    let at = loaded.memory(&[0.0; 9]);
    // SAFETY: the types are those of the header, and the array has nine elements.
    assert_eq!(unsafe { launch(loaded.module(), std::ptr::null_mut(), at, 3) }, 0);
    assert_eq!(loaded.read(at, 9), [1.0; 9]);
}

/// The loader is imported by a name that is Python's own neither as a word nor as a module.
#[test]
fn loaders_have_names_that_can_be_imported() {
    let folder = tempfile::tempdir().unwrap();
    for (kernel, loader) in [
        ("copy", "copy_kernel.py"),
        ("ctypes", "ctypes_kernel.py"),
        ("lambda", "lambda_kernel.py"),
        ("None", "None_kernel.py"),
        ("torch", "torch_kernel.py"),
        ("blur", "blur.py"),
    ] {
        let text =
            format!("kernel {kernel}(out: f32[n], n: i32)\ndomain {{ [i] : 0 <= i < n }}\nout[i] = 1.0");
        let code = host_code(&LoopKernel::parse(&text).unwrap(), &Default::default(), DType::I32).unwrap();
        let files = code.write_to(folder.path().join(kernel), b"any").unwrap();
        let python = files.iter().find(|(file, _)| file.extension().is_some_and(|e| e == "py"));
        assert_eq!(python.unwrap().0.file_name().unwrap(), loader);
        let module = loader.trim_end_matches(".py");
        assert!(code.python.contains(&format!("module = {module}.Module()")), "{}", code.python);
    }
}
