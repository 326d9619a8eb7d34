//! How long `auto` takes by its rules alone, for each kernel of the examples and of PolyBench: the
//! least of five times, in milliseconds, from the parsed kernel to the pipeline. Builds with debug
//! assertions, whose times say little, take one.
//!
//!     cargo run --release --example auto_time [NAME]

use std::{fs, path::Path, time::Instant};

use loopwright::{auto::auto, prelude::*};

/// What is aimed at, in milliseconds.
const AIM: f64 = 50.0;
/// Times of a kernel.
const ROUNDS: usize = if cfg!(debug_assertions) { 1 } else { 5 };

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let only = std::env::args().nth(1);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut files = Vec::new();
    for folder in ["kernels", "polybench"] {
        let mut here: Vec<_> = fs::read_dir(root.join(folder))?.collect::<Result<Vec<_>, _>>()?;
        here.sort_by_key(fs::DirEntry::path);
        files.extend(here.into_iter().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "lw")));
    }
    println!("| kernel | ms | nests |\n|---|---|---|");
    let (mut above, mut all) = (0, 0);
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let kernel = LoopKernel::parse(&fs::read_to_string(&file)?)?;
        let (mut least, mut nests) = (f64::INFINITY, 0);
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            nests = auto(&kernel, &Target::default()).decisions.len();
            least = least.min(begun.elapsed().as_secs_f64() * 1e3);
        }
        println!("| {name} | {least:.1} | {nests} |");
        all += 1;
        above += usize::from(least > AIM);
    }
    println!("{above} of {all} above {AIM} ms");
    Ok(())
}
