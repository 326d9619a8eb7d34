//! Nothing but tests: those in the folders `tests` of the crates that are compiled optimised.
//!
//! Cargo compiles all targets of a package alike. A package of their own lets tests go without the
//! optimisation of what they test, which would take most of the time to build them: five times as
//! long for those of `poly`.
