//! The tests of this package that need no process of their own, as one program, which is linked
//! once. Others are listed beside it in the manifest.

mod agreement;
mod ask;
mod dlpack;
mod held_to_types;
mod padding;
mod structs;
mod too_large;
mod values;
