//! Pictures as SVG: who runs which instances of a statement ([`Picture`]), and how fast programs
//! may be at most ([`Roofline`]).
//!
//! Both hold data that can be asked, and draw themselves without further questions: the same
//! kernel, sizes and pipelines give the same bytes.

mod points;
#[cfg(feature = "run")]
mod roofline;
mod svg;

pub use points::{Cell, Choice, Panel, Picture, Runner};
#[cfg(feature = "run")]
pub use roofline::{Dot, Roofline};
