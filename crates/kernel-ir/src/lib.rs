//! What a GPU kernel computes and in which order: the value that every transform reads and returns.
//!
//! A [`LoopKernel`] is plain, immutable data: cheap to clone, comparable, hashable, `Send + Sync`.
//! It is *declared* once (arguments, domains, instructions) and then *transformed*; the declared
//! form stays with it as the specification.
//!
//! # Meaning
//!
//! * **Instances.** A domain is read as a nest: a constraint belongs to the innermost iname that it
//!   mentions, and an instruction takes the constraints of its own inames only
//!   ([`KernelData::instances`]).
//! * **Order is data**: the loop tree ([`Tree`]). Inner nodes are sequential inames, leaves are
//!   parts of instructions. An iname tagged to a parallel axis is a coordinate and has no node.
//! * **Reductions** are three parts ([`Part`]): init, update, finish.
//! * **Splits keep names.** `split_iname(i, 128)` adds `i_outer` and `i_inner` and the
//!   [`Definition`] `i = 128*i_outer + i_inner`; expressions and constraints still use `i`. The
//!   definitions are the map from executions of the transformed kernel to instances of the declared
//!   one.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

pub mod arithmetic;
mod array;
mod array_layout;
pub mod atom;
mod axis;
pub mod bessel;
mod builder;
mod cache_hint;
mod combine;
mod complex;
mod conditions;
mod constant;
mod data;
mod declared;
mod diagnostic;
mod dtype;
mod expr;
mod flat;
mod float8;
mod foreign_function;
mod function;
#[doc = include_str!("../grammar.md")]
pub mod grammar {}
#[doc = include_str!("../values.md")]
pub mod values {}
mod infer;
mod inline;
mod instruction;
mod integer;
pub mod interval;
mod kernel;
mod last_value;
mod laws;
mod least_index;
mod loaded;
mod locate;
mod lookup;
mod math;
mod nest;
pub mod norms;
mod notes;
mod open_types;
mod part;
mod record;
mod reduction;
mod remainder;
mod render;
mod rule;
pub mod special;
mod suggest;
mod tag;
mod text;
mod tree;
mod type_table;
mod typed;
mod types;
mod update;
mod update_scope;
mod validate;
mod via;
mod warp_lanes;

pub use array::{AddressSpace, Arg, Array, Axis, Fact, Scalar};
pub use array_layout::ArrayLayout;
pub use axis::{AxisSet, Dim, HardwareAxis, PerAxis, PerDim};
pub use builder::{ArrayRef, KernelBuilder, Targets, array, call, cast, reduce, select, sum, var};
pub use cache_hint::{CacheHint, CacheHints, Waves};
pub use conditions::{FAR_SCALAR, Standing};
pub use constant::Constant;
pub use data::{Buffer, Element, Number};
pub use diagnostic::{Diagnostic, Diagnostics, Place};
pub use dtype::{DType, Type};
pub use expr::{BinaryOp, Expr, Float, Precision, Reduce, UnaryOp};
pub use flat::{Flat, Tail};
pub use float8::{E4M3, E5M2};
pub use function::DeviceFunction;
pub use instruction::{Access, AtomUse, Instruction, Role, Share, UPDATES, has_update};
pub use kernel::{Definition, Domain, KernelData, LoopKernel, Options, Vouched};
pub use laws::{Law, Laws};
pub use lookup::Lookup;
pub use loopwright_poly::{Aff, Constraint, Kind, Name, Term};
pub use math::{MATH_FUNCTIONS, MathFunction, MathResult, math_function};
pub use part::{Part, PartRef};
pub use record::{Field, Record, Struct};
pub use reduction::{ReductionOp, StateType, StateVar};
pub use remainder::{Remainder, remainders};
pub use rule::Rule;
pub use suggest::{did_you_mean, nearest};
pub use tag::Tag;
pub use text::{Library, parse_constraints, parse_domain, parse_expression, syntax};
pub use tree::Tree;
pub use type_table::TypeTable;
pub use typed::{ReductionTypes, Typed, TypedKind, end_of_range};
pub use types::{ValueType, computing_type, promote, state_type};
pub use update::{Combination, UpdateOp};
pub use update_scope::UpdateScope;
pub use validate::check_name;
pub use via::Via;
pub use warp_lanes::WarpLanes;
