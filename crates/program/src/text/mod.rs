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
//!     var i: i32 means threadIdx.x + 128*blockIdx.x
//!
//!     let i: i32 = blockIdx.x * 128 + threadIdx.x
//!     if i < n {
//!         store y[i] = x[i] {copy}
//!     }
//! }
//! ```
//!
//! Reading what is printed gives [`Program::plain`], the program without what a text cannot keep.
//! That holds of programs that keep the invariants of names (see the head of the crate); a NaN is
//! the same by its bits, though it does not equal itself. The grammar is a page of its own,
//! [`crate::grammar`].
//!
//! ```text
//! print         the program and its kernels; print_stmt, print_value: what is inside them
//! read          the same, the other way; read_kernel, read_stmt, read_value
//!   leaf          what statements come from, printed and read
//!   note          lines that say why, and quoted text, printed and read
//!   operators     how operators are spelt, and how strongly they bind
//! names         what names stand for, and so the types that need not be said
//!   layout        strides and offsets that need not be said
//! plain         what a text keeps
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
