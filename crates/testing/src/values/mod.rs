//! What expressions mean, by a second evaluator: written from the page `kernel-ir/values.md` alone,
//! it shares no code with the validator, the plain interpreter, lowering, the emulator, the replay or
//! the printer, and checks all of them on random typed expressions.

pub mod compare;
pub mod data;
pub mod evaluate;
pub mod generate;
pub mod kernel;
pub mod number;
pub mod power;
pub mod replay;
pub mod types;
