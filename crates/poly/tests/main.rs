//! The tests of this crate that need no process of their own, as one program, which is linked
//! once. `crates/suites` builds it, and lists others beside it.

mod accessors;
mod flow;
mod flow_by_enumeration;
mod flow_of_fixed_iterations;
mod last_value;
mod leading;
mod least_values_and_limits;
mod plain_against_isl;
mod refusals_and_edges;
mod relations_by_enumeration;
mod short;
mod spaces_in_messages;
mod stored;
mod system_by_enumeration;
mod system_by_hand;
mod text;
mod text_by_meaning;
