//! `combine`: what it prints is the kernel that one would write, and other commands take it.

use crate::common::{Folder, call, out, refusal};

const PRODUCER: &str = "\
kernel producer(x: f32[n], t: f32[n], n: i32)
assume 1 <= n
domain { [i] : 0 <= i < n }
t[i] = 2.0*x[i] {id=double}
";

#[test]
fn two_kernels_are_one() {
    let folder = Folder::new("combine-fuse");
    let first = folder.file("first.lw", PRODUCER);
    let second = folder.file(
        "second.lw",
        "kernel consumer(t: f32[n], y: f32[n], n: i32)\nassume 1 <= n\n\
         domain { [i] : 0 <= i < n }\ny[i] = t[i] + t[0] {id=add}\n",
    );
    let text = out(&call(&["combine", "fuse", &first, &second]));
    assert_eq!(
        text,
        "kernel producer_consumer(x: f32[n], t: f32[n], n: i32, y: f32[n])\n\
         assume 1 <= n\n\
         domain { [i] : 0 <= i < n }\n\
         domain { [i_2] : 0 <= i_2 < n }\n\
         t[i] = 2.0 * x[i] {id=double}\n\
         y[i_2] = t[i_2] + t[0] {id=add}\n"
    );
    let both = folder.file("both.lw", &text);
    let arguments = ["run", &both, "--set", "n=40", "--random", "x", "--zeros", "t", "--verify"];
    assert!(out(&call(&arguments)).contains("verified"));
    assert!(out(&call(&["combine", "fuse", &first, &second, "--name", "both"])).starts_with("kernel both("));
}

#[test]
fn a_kernel_is_one_of_many_problems() {
    let folder = Folder::new("combine-batch");
    let one = folder.file("one.lw", PRODUCER);
    assert_eq!(
        out(&call(&["combine", "batch", &one, "--of", "x,t", "--iname", "b", "--count", "many"])),
        "kernel producer(x: f32[many, n], t: f32[many, n], n: i32, many: i32)\n\
         assume 1 <= n\n\
         domain { [b] : 0 <= b < many }\n\
         domain { [i] : 0 <= i < n }\n\
         t[b, i] = 2.0 * x[b, i] {id=double}\n"
    );
    let text = refusal(&call(&["combine", "batch", &one, "--of", "x"]));
    assert!(text.contains("error[batch-shared]"), "{text}");
}

#[test]
fn arrays_of_the_caller_are_separated_and_put_together() {
    let folder = Folder::new("combine-arrays");
    let pairs = folder.file(
        "pairs.lw",
        "kernel norm(x: f32[n, 2], y: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\n\
         y[i] = x[i, 0]*x[i, 0] + x[i, 1]*x[i, 1] {id=norm}\n",
    );
    assert_eq!(
        out(&call(&["combine", "separate", &pairs, "x", "--axis", "1", "--names", "re,im"])),
        "kernel norm(re: f32[n], im: f32[n], y: f32[n], n: i32)\n\
         domain { [i] : 0 <= i < n }\n\
         y[i] = re[i] * re[i] + im[i] * im[i] {id=norm}\n"
    );
    let two = folder.file(
        "two.lw",
        "kernel add(a: f32[n], b: f32[n], y: f32[n], n: i32)\nassume 0 <= n\n\
         domain { [i] : 0 <= i < n }\ny[i] = a[i] + b[i] {id=add}\n",
    );
    assert_eq!(
        out(&call(&["combine", "concatenate", &two, "a", "b", "--name", "both"])),
        "kernel add(both: f32[2 * n], y: f32[n], n: i32)\n\
         assume 0 <= n\n\
         domain { [i] : 0 <= i < n }\n\
         y[i] = both[i] + both[i + n] {id=add}\n"
    );
}
