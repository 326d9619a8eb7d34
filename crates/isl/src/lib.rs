//! The integer set library isl, built from its own sources and linked statically.
//!
//! There are no bindings here: who calls isl declares its functions, and says
//! `use loopwright_isl as _;` so that the library is linked.
