//! From a kernel to the one lowered program that the CUDA printer, the emulator and every analysis read.

pub mod program;
