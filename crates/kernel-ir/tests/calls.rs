//! Calls of kernels mean what the kernel means that is written by hand, with the called lines in
//! place of each call. The kernels below are written, not copied from what the calls print.

use loopwright_kernel_ir::LoopKernel;

fn read(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()))
}

/// Both texts are one kernel.
fn same(calls: &str, written: &str) {
    let (calls, written) = (read(calls), read(written));
    assert_eq!(calls.to_text(), written.to_text());
    assert_eq!(calls, written);
}

#[test]
fn an_array_is_a_slice_and_a_result_an_element() {
    same(
        "kernel k(x: f64[m, n, 2], y: f64[m], m: i32, n: i32)
         kernel total(row: T[l], out result: T, l: i32) {
             domain { [j] : 0 <= j < l }
             result = 2.0*sum(j, row[j]) {id=sum}
         }
         domain { [i] : 0 <= i < m }
         y[i] = total(x[i, :, 1])",
        "kernel k(x: f64[m, n, 2], y: f64[m], m: i32, n: i32)
         domain { [i] : 0 <= i < m }
         domain { [total_j] : 0 <= total_j < n }
         y[i] = 2.0*sum(total_j, x[i, total_j, 1]) {id=total_sum}",
    );
}

#[test]
fn ranges_shift_and_stretch_subscripts() {
    same(
        "kernel k(x: f32[n], y: f32[m], n: i32, m: i32)
         assume m >= 0 and n >= 2*m + 3
         kernel mirror(a: f32[l], b: f32[l], l: i32) {
             domain { [j] : 0 <= j < l }
             b[l - 1 - j] = a[j] {id=set}
         }
         call mirror(x[3:2*m + 3:2], y) {id=even}
         call mirror(b=x[n - m:], a=y)",
        "kernel k(x: f32[n], y: f32[m], n: i32, m: i32)
         assume m >= 0 and n >= 2*m + 3
         domain { [even_j] : 0 <= even_j < m }
         domain { [mirror_j] : 0 <= mirror_j < m }
         y[m - 1 - even_j] = x[2*even_j + 3] {id=even_set}
         x[n - mirror_j - 1] = y[mirror_j] {id=mirror_set}",
    );
}

/// The loop of the call is the loop of the lines around it: the array that two calls share is
/// written and read in the order of the text, for one value of `i` after another.
#[test]
fn called_lines_run_in_the_loops_of_the_call() {
    same(
        "kernel k(x: f32[m, n], y: f32[m], m: i32, n: i32)
         temp t: f32[n]
         kernel shift(a: f32[l], b: f32[l], by: f32, l: i32) {
             domain { [j] : 0 <= j < l }
             b[j] = a[j] + by {id=set}
         }
         domain { [i] : 0 <= i < m }
         y[i] = 1.0 {id=first}
         call shift(x[i, :], t, 3.0*y[i]) {id=f}
         call shift(t, x[i, :], by=y[i], l=n) {id=g}
         y[i] = 2.0 {id=last}",
        "kernel k(x: f32[m, n], y: f32[m], m: i32, n: i32)
         domain { [i] : 0 <= i < m }
         domain { [f_j] : 0 <= f_j < n }
         domain { [g_j] : 0 <= g_j < n }
         temp t: f32[n]
         y[i] = 1.0 {id=first}
         <f32> f_by = 3.0*y[i] {id=f_by}
         t[f_j] = x[i, f_j] + f_by {id=f_set, inames=i:f_j}
         <f32> g_by = y[i] {id=g_by}
         x[i, g_j] = t[g_j] + g_by {id=g_set}
         y[i] = 2.0 {id=last}",
    );
}

/// An integer is a function in subscripts and bounds, and a value of its type in values.
#[test]
fn sizes_are_functions_of_the_callers_integers() {
    same(
        "kernel k(x: f32[n], y: i64[n], n: i32)
         kernel fill(a: f32[l], b: i64, by: i32, l: i32, out r: i64) {
             domain { [j] : 0 <= j < l }
             a[j] = l {id=size}
             r = b*l*by {id=value}
         }
         domain { [i] : 0 <= i < n }
         call fill(x[i:], 5, n, r=y[i])",
        "kernel k(x: f32[n], y: i64[n], n: i32)
         domain { [i] : 0 <= i < n }
         domain { [fill_j] : 0 <= fill_j < n - i }
         x[fill_j + i] = cast(i32, n - i) {id=fill_size}
         y[i] = cast(i64, 5)*cast(i32, n - i)*n {id=fill_value}",
    );
}

/// A call whose sizes are loaded in a loop runs in that loop, as a line with such bounds does.
#[test]
fn sizes_that_are_loaded_bring_their_loop() {
    let written = "kernel k(x: f32[total], offsets: i32[nseg + 1], len: i32[nseg], total: i32, nseg: i32)
         assume 0 <= nseg
         fact 0 <= offsets <= total
         fact 0 <= len
         domain { [s] : 0 <= s < nseg }
         domain { [scale_j] : 0 <= scale_j and lo + scale_j < hi }
         domain { [ones_j] : 0 <= ones_j < l }
         <i32> lo = offsets[s]
         <i32> hi = offsets[s + 1]
         x[lo + scale_j] = 2.0*x[lo + scale_j] {id=scale_set}
         <i32> l = len[s]
         x[0] = sum(ones_j, 1.0) if total > 0 {id=ones_set}";
    let called = "kernel k(x: f32[total], offsets: i32[nseg + 1], len: i32[nseg], total: i32, nseg: i32)
         assume 0 <= nseg
         fact 0 <= offsets <= total
         fact 0 <= len
         kernel scale(v: f32[k], k: i32) {
             domain { [j] : 0 <= j < k }
             v[j] = 2.0*v[j] {id=set}
         }
         kernel ones(v: f32[n], count: i32, n: i32) {
             domain { [j] : 0 <= j < count }
             v[0] = sum(j, 1.0) if n > 0 {id=set}
         }
         domain { [s] : 0 <= s < nseg }
         <i32> lo = offsets[s]
         <i32> hi = offsets[s + 1]
         call scale(x[lo:hi])
         <i32> l = len[s]
         call ones(x, count=l)";
    same(called, written);
    assert_eq!(*read(called).instructions[2].within, ["s", "scale_j"]);
    assert_eq!(*read(called).instructions[4].within, ["s"]);
}

/// The type of a temporary without a type is that of the result that it holds; the next call takes
/// it.
#[test]
fn open_types_are_those_of_each_call() {
    same(
        "kernel k(x: f32[n], y: f64[n], n: i32)
         kernel last(v: T[l], out r: T, l: i32) {
             assume 1 <= l
             r = v[l - 1] {id=set}
         }
         kernel add(v: T[l], s: T, l: i32) {
             domain { [j] : 0 <= j < l }
             v[j] = v[j] + s {id=set}
         }
         assume 1 <= n
         <> a = last(x) {id=p}
         <> b = last(y) {id=q}
         call add(x, a) {id=f}
         call add(y, b) {id=g}",
        "kernel k(x: f32[n], y: f64[n], n: i32)
         assume 1 <= n
         domain { [f_j] : 0 <= f_j < n }
         domain { [g_j] : 0 <= g_j < n }
         <f32> a = x[n - 1] {id=p_set}
         <f64> b = y[n - 1] {id=q_set}
         <f32> f_s = a {id=f_s}
         x[f_j] = x[f_j] + f_s {id=f_set}
         <f64> g_s = b {id=g_s}
         y[g_j] = y[g_j] + g_s {id=g_set}",
    );
}

/// A name of the called kernel is none of the caller's, whatever both call their things.
#[test]
fn names_do_not_meet() {
    same(
        "kernel k(t: f32[i_, 3], t_j: f32[i_], t_t: i32, i_: i32)
         kernel t(acc: f32[i], j: f32[i], i: i32) {
             domain { [k] : 0 <= k < i }
             <f32> t = acc[k]
             j[k] = t*i {id=t_j}
         }
         domain { [k] : 0 <= k < 3 }
         call t(t[:, k], t_j)",
        "kernel k(t: f32[i_, 3], t_j: f32[i_], t_t: i32, i_: i32)
         domain { [k] : 0 <= k < 3 }
         domain { [t_2_k] : 0 <= t_2_k < i_ }
         <f32> t_2_t = t[t_2_k, k] {id=t_2_set_t}
         t_j[t_2_k] = t_2_t*i_ {id=t_2_t_j, inames=k:t_2_k}",
    );
}

/// A condition around a call is one of each line, and counts for what the called kernel assumes.
#[test]
fn conditions_around_a_call_hold_in_it() {
    same(
        "kernel k(x: f32[n], n: i32)
         kernel halve(v: f32[l], l: i32) {
             assume 2 <= l
             domain { [j] : 0 <= j < l }
             v[j] = 0.5*v[j] if j > 0 {id=set}
         }
         if n >= 2 {
             call halve(x)
         }",
        "kernel k(x: f32[n], n: i32)
         domain { [halve_j] : 0 <= halve_j < n }
         x[halve_j] = 0.5*x[halve_j] if n >= 2 and halve_j > 0 {id=halve_set}",
    );
}

/// The places of items are those of the called lines: a step's refusal points there.
#[test]
fn places_are_in_the_called_lines() {
    let text = "kernel k(x: f32[n], y: f32[n], n: i32)
kernel copy(v: f32[l], w: f32[l], l: i32) {
    domain { [j] : 0 <= j < l }
    w[j] = v[j] {id=set}
}
call copy(x, y)
";
    let kernel = read(text);
    let refusal = loopwright_kernel_ir::Diagnostic::new("none", "`copy_set` is wrong");
    let place = kernel.locate_in("file", text, refusal).place.expect("a place");
    assert_eq!(&text[place.span], "w[j] = v[j] {id=set}");
}
