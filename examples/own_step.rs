//! Steps of one's own: one made of the library's steps, used in the text of a pipeline, and one
//! that changes a kernel by itself and is found to be wrong.

use std::fmt;

use loopwright::ir::{BinaryOp, Expr};
use loopwright::prelude::*;

const KERNEL: &str = "
kernel row_sums(x: f32[rows, columns], out: f32[rows], rows: i32, columns: i32)
assume 0 <= rows and 0 <= columns
domain { [r] : 0 <= r < rows }
domain { [c] : 0 <= c < columns }
out[r] = sum(c, x[r, c])
";

/// The lanes of a warp along a loop, which is split for them.
#[derive(Debug)]
struct WarpAlong(Name);

/// The step as pipelines write it.
impl fmt::Display for WarpAlong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "warp_along({})", self.0)
    }
}

impl Transform for WarpAlong {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let WarpAlong(along) = self;
        kernel.split_iname(along, 32)?.tag_inames(&format!("{along}_inner: lane"))
    }
}

/// A step that changes the kernel's data: it means to leave the sum as it is, and does not.
#[derive(Debug)]
struct Doubled;

impl fmt::Display for Doubled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("doubled()")
    }
}

impl Transform for Doubled {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        kernel.edit(|data| {
            for instruction in &mut data.instructions {
                let value = instruction.value.clone();
                instruction.value = Expr::Binary(BinaryOp::Mul, Expr::Int(2).into(), value.into());
            }
            Ok(())
        })
    }
}

fn main() -> Result<(), Error> {
    let kernel = LoopKernel::parse(KERNEL)?;

    // Registered under a name, it is a step of texts.
    let registry = Registry::new().transform("warp_along", |args| match args {
        [iname] => Ok(WarpAlong(Name::new(iname))),
        _ => Err(Diagnostic::new("step-arguments", "`warp_along` needs an iname")),
    });
    let pipeline = Pipeline::parse_with("tag_inames(r: block.x)\nwarp_along(c)", &registry)?;
    println!("{}", pipeline.explain(&kernel));

    let x = Tensor::from_vec(&[2, 3], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let outputs = Device::best().compile(&pipeline.apply(&kernel)?)?.run(&Args::new().tensor("x", &x))?;
    assert_eq!(outputs.get("out")?.to_vec::<f32>()?, [6.0, 15.0]);

    // What a step does is judged, whoever wrote it.
    let wrong = Pipeline::new().step(Step::user(Doubled));
    match wrong.apply(&kernel) {
        Err(refusal) => {
            assert_eq!(refusal.code, "legality-unknown");
            println!("{}", refusal.render());
        }
        Ok(_) => panic!("a sum that is doubled is another kernel"),
    }
    Ok(())
}
