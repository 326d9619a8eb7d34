//! Sizes that leave 64 bits, or memory: each command refuses them, or does without.

use crate::common::{Folder, call, out, refusal};

/// The sizes of a launch that decide about nothing but the form.
#[test]
fn auto_finds_steps_for_lengths_far_beyond_memory() {
    let folder = Folder::new("far");
    let far = 4_611_686_018_427_387_907i64;
    let rows = "kernel k(x: u8[n, m], y: u32[n], n: i64, m: i64)\n\
        domain { [i] : 0 <= i < n }\ndomain { [k] : i <= k < m }\n\
        y[i] = sum(k, x[i, k]*cast(u32, k)) {id=s}\n";
    let two = "kernel k(x: f32[n, m], y: f32[n], z: f32[n, m], n: i64, m: i64)\n\
        domain { [i] : 0 <= i < n }\ndomain { [k] : 0 <= k < m }\n\
        domain { [l] : 0 <= l < m }\ndomain { [q] : 0 <= q < m }\n\
        temp mx: f32\ntemp sm: f32\n\
        for i {\n\
        mx = max(k, x[i, k]) {id=a}\n\
        sm = sum(l, x[i, l] - mx) {id=b}\n\
        z[i, q] = x[i, q]*sm {id=c}\n\
        y[i] = mx {id=d}\n\
        }\n";
    let product = "kernel k(a: bf16[m, l], b: bf16[n, l], c: bf16[m, n], m: i64, n: i64, l: i64)\n\
        assume 0 <= m and 0 <= n and 0 <= l and l % 8 = 0\n\
        domain { [i, j] : 0 <= i < m and 0 <= j < n }\ndomain { [k] : 0 <= k < l }\n\
        c[i, j] = cast(bf16, sum(k, cast(f32, a[i, k]) * cast(f32, b[j, k]))) {id=product}\n";
    let begun = "kernel k(x: f32[n], y: f32[n], n: i64, m: i64)\n\
        domain { [i] : 0 <= i < n and 0 <= i + m }\ny[i] = x[i]\n";
    for (text, sizes) in [
        (begun, vec![("n", 8), ("m", i64::MIN)]),
        (rows, vec![("n", far), ("m", 0)]),
        (two, vec![("n", 2), ("m", far)]),
        (product, vec![("m", far), ("n", far), ("l", far)]),
    ] {
        let kernel = folder.file("k.lw", text);
        let sizes: Vec<String> = sizes.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut args = vec!["auto", &kernel];
        sizes.iter().for_each(|size| args.extend(["--set", size]));
        let found = out(&call(&args));
        assert!(found.contains("tag_inames("), "{found}");
    }
}

/// What is wrong with a size is said, though the others are missing.
#[test]
fn auto_refuses_sizes_that_their_types_do_not_hold() {
    let folder = Folder::new("held");
    let text = "kernel k(x: f32[m, n], y: f32[m, n], m: u8, n: i32)\n\
        domain { [i, j] : 0 <= i < m and 0 <= j < n }\ny[i, j] = x[i, j]\n";
    let kernel = folder.file("k.lw", text);
    for (set, says) in [("n=2147483648", "`n` is i32"), ("m=256", "`m` is u8"), ("m=-1", "`m` is u8")] {
        for more in [&[][..], &["--refused"]] {
            let said = refusal(&call(&[&["auto", &kernel, "--set", set], more].concat()));
            assert!(said.contains("error[scalar-range]") && said.contains(says), "{said}");
        }
    }
    out(&call(&["auto", &kernel, "--set", "n=2147483647"]));
}

/// Bytes of an array that 64 bits do not hold.
#[test]
fn shared_arrays_beyond_all_memory_are_refused() {
    let folder = Folder::new("shared");
    let kernel = folder.file(
        "k.lw",
        "kernel k(x: f32[128], y: f32[128])\ndomain { [t] : 0 <= t < 128 }\n\
         temp sh: f32[4611686018427387904] shared\nsh[t] = x[t] {id=load}\ny[t] = sh[t] {id=get}\n",
    );
    for command in ["check", "cuda"] {
        let said = refusal(&call(&[command, &kernel]));
        assert!(said.contains("error[too-much-shared]"), "{said}");
    }
}

/// The offset of an element has a factor of 2^63.
#[test]
fn offsets_that_overflow_are_called_so() {
    let folder = Folder::new("offsets");
    let kernel = folder.file(
        "k.lw",
        "kernel pool(x: f32[2*m, 4611686018427387904*n], y: f32[m, n], m: i32, n: i32)\n\
         domain { [i, j] : 0 <= i < m and 0 <= j < n }\ny[i, j] = x[2*i, j]\n",
    );
    let said = refusal(&call(&["check", &kernel]));
    assert!(said.contains("error[overflow]") && said.contains("`x`"), "{said}");
}

#[test]
fn runs_refuse_arrays_that_no_memory_holds() {
    let folder = Folder::new("runs");
    let keys = folder.file(
        "keys.lw",
        "kernel k(keys: i32[r, n], h: u64[r, 8], n: i64, r: i32)\nfact 0 <= keys < 8\n\
         domain { [a, i] : 0 <= i < n and 0 <= a < r }\nh[a, keys[a, i]] min= 1 {id=c}\n",
    );
    let sizes = ["--set", "n=9223372036854775807", "--set", "r=2147483647"];
    let arrays = ["--random", "keys", "--random", "h", "--device", "emulator", "--as-declared"];
    let said = refusal(&call(&[&["run", &keys][..], &arrays, &sizes].concat()));
    assert!(said.contains("error[tensor-size]"), "{said}");
    // The program has no `t`, which nothing reads; the declared kernel has.
    let unread = folder.file(
        "unread.lw",
        "kernel k(a: f32[n], b: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\ndomain { [j] : 0 <= j < 32 }\n\
         temp t: f32[4611686018427387904]\nt[j] = a[i] {id=keep, inames=i:j}\nb[i] = a[i] + 1 {id=next}\n",
    );
    let args = ["run", &unread, "--as-declared", "--device", "emulator", "--set", "n=8", "--random", "a"];
    out(&call(&args));
    // The results are there before they are compared.
    let output = call(&[&args[..], &["--verify"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("error[memory-limit]") && said.contains("`t`"), "{said}");
}

/// A cell with more characters than a width may be.
#[test]
fn tables_hold_long_formulas() {
    let folder = Folder::new("long");
    let kernel = folder.file(
        "k.lw",
        "kernel product(a: f32[m, l], b: f32[n, l], c: f32[m, n], m: i32, n: i32, l: i32)\n\
         assume 0 <= m and 0 <= n and 0 <= l and l % 4 = 0\n\
         domain { [i, j] : 0 <= i < m and 2147483648 <= j < n }\ndomain { [k] : 0 <= k < l }\n\
         c[i, j] = sum(k, to_tf32(a[i, k]) * to_tf32(b[j, k])) {id=product}\n",
    );
    let pipeline = folder.file(
        "k.pipe",
        "split_iname(i, 32)\nsplit_iname(j, 32)\nsplit_iname(k, 32, outer=k_outer, inner=k_inner)\n\
         split_iname(i_inner, 16, outer=i_mma, inner=i_box)\n\
         split_iname(j_inner, 16, outer=j_warp, inner=j_tile)\n\
         split_iname(j_tile, 8, outer=j_mma, inner=j_box)\n\
         split_iname(k_inner, 8, outer=k_mma, inner=k_box)\n\
         tag_inames(i_outer: block.y, j_outer: block.x, j_warp: thread.y, i_mma: ilp, j_mma: ilp)\n\
         tensorize(product, mma_m16n8k8_tf32, m=i_box, n=j_box, k=k_box)\n\
         add_prefetch(b, [j_warp, j_mma, j_box_reg, lane, k_mma, k_box], vec=4, via=cp_async)\n",
    );
    let table = out(&call(&["count", &kernel, &pipeline]));
    let longest = table.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(longest > 65_535 && table.contains("\n  product.update"), "{longest}");
    let filled = table.lines().filter(|line| line.chars().count() > 65_535).count();
    assert!(filled < table.lines().count() / 2, "only rows with such a formula are as long");
}
