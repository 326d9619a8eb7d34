//! The command line as a user calls it: what it prints, writes and refuses, and its exit status.

mod combine;
mod common;
mod count;
mod export;
mod files;
mod interrupted;
mod layout;
mod library;
mod make;
mod messages;
mod output;
mod overflows;
mod pages;
mod picture;
mod program;
mod records;
mod refusals;
mod run;
mod texts;
mod tune;
