//! What the tests share: filetests, random kernels and pipelines, and what is asked of them.

pub mod filetest;
