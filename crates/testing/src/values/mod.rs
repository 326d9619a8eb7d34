//! What expressions mean, by a second evaluator: written from the page `kernel-ir/values.md` alone,
//! it shares no code with the validator, the plain interpreter, lowering, the emulator, the replay
//! or the printer, and checks all of them on random typed expressions.

mod arithmetic;
pub mod compare;
pub mod complex;
pub mod data;
pub mod evaluate;
pub mod generate;
pub mod kernel;
pub mod number;
mod operators;
pub mod power;
pub mod replay;
pub mod types;
