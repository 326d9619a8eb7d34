//! Shared parts of the tests: filetests, random kernels and pipelines, and checks of these.

pub mod affine;
pub mod brute;
pub mod case;
pub mod check;
pub mod counts;
pub mod data;
pub mod filetest;
pub mod kernels;
pub mod linear;
pub mod moves;
pub mod pipelines;
pub mod products;
pub mod ranges;
mod recipes;
pub mod refusals;
pub mod rng;
pub mod segments;
pub mod shown;
mod sites;
pub mod sweep;
pub mod two_sided;
pub mod values;
