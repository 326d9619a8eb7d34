//! Compiles isl with the settings of `config/`, instead of by its configure script and make: one
//! way on all machines, without autoconf, and the same for whoever depends on this crate.

use std::{env, path::Path, process::ExitCode};

/// The files that isl's Makefile compiles for its library with imath.
const SOURCES: &str = include_str!("config/sources.txt");

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=isl");
    println!("cargo::rerun-if-changed=config");
    if env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family != "unix") {
        println!("cargo::error=isl's settings in `config/isl_config.h` are those of Unix systems alone");
        return ExitCode::FAILURE;
    }
    // Queries take much of the time of proofs: never without optimisation. With all of it isl takes
    // nearly twice as long to compile.
    let opt_level = match env::var("OPT_LEVEL").as_deref() {
        Ok("0" | "1") => 1,
        _ => 2,
    };
    let sources = SOURCES.lines().map(|file| Path::new("isl").join(file));
    let compiled = cc::Build::new()
        .files(sources)
        // Before isl's own folders, whose `include/isl` has no `stdint.h`.
        .include("config")
        .include("isl")
        .include("isl/include")
        .include("isl/imath_wrap")
        .define("HAVE_CONFIG_H", None)
        .std("gnu99")
        .opt_level(opt_level)
        .debug(false)
        .warnings(false)
        .try_compile("isl");
    match compiled {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error=isl cannot be compiled: {error}");
            ExitCode::FAILURE
        }
    }
}
