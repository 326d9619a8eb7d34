//! The text of programs: printing and reading.
//!
//! ```text
//! program copy(x, y, n: i32) index i32
//! global x: f32[n] read
//! global y: f32[n] written
//! leaf copy "y[i] = x[i]"
//! host {
//!     launch copy
//! }
//! kernel copy(x, y written, n: i32) {
//!     grid((n + 127) // 128, 1, 1)
//!     block(128, 1, 1)
//!     var i: i32 means thread.x + 128*block.x
//!
//!     let i: i32 = block.x * 128 + thread.x
//!     if i < n {
//!         store y[i] = x[i] {copy}
//!     }
//! }
//! ```
//!
//! Reading a printed program gives [`Program::plain`], the program without what a text cannot
//! represent. This holds for programs that satisfy the invariants on names (see the head of the
//! crate); NaNs are compared by their bits. The grammar is in [`crate::grammar`].
//!
//! ```text
//! print         programs and kernels to text; print_stmt, print_value: what is inside them
//! read          the inverse; read_kernel, read_stmt, read_value
//!   leaf          leaves of statements, in both directions
//!   note          notes and quoted text, in both directions
//!   operators     spelling and precedence of operators
//! names         resolution of names, and the types implied by them
//!   layout        implied strides and offsets
//! plain         the part of a program that its text represents
//! ```

mod layout;
mod leaf;
mod names;
mod note;
mod operators;
mod plain;
mod print;
mod print_stmt;
mod print_value;
mod read;
mod read_kernel;
mod read_stmt;
mod read_value;
