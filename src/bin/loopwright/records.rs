//! Files of records of tuned kernels: what they have for a launch, and whether more can be added.

use std::path::Path;

use loopwright::auto::Found;
use loopwright::prelude::*;
use loopwright::tuner::TunedRecord;

use crate::files::writable;
use crate::input::{Completed, Failure};

/// Refuses a file to which records cannot be added: they are added to the existing ones, in a new
/// file next to it.
pub fn keeps_records(path: &Path) -> Result<(), Failure> {
    let _ = TunedRecords::load_or_new(path)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    Ok(writable(Path::new(&beside)).map_err(|_| {
        Diagnostic::new("tuning-record", format!("{} cannot be written", path.display()))
            .help("use a file in an existing, writable folder")
    })?)
}

/// How a record is looked for.
#[derive(Clone, Copy)]
pub enum Lookup<'l> {
    /// By the kernel and the pipeline alone.
    ByText,
    /// By the arguments and the device too.
    For(&'l Args, &'l Device),
}

impl Lookup<'_> {
    /// The record of a pipeline with open parameters.
    pub fn find<'r>(
        self,
        records: &'r TunedRecords,
        kernel: &LoopKernel,
        pipeline: &Pipeline,
    ) -> Result<&'r TunedRecord, Diagnostic> {
        match self {
            Lookup::ByText => records.find_by_text(kernel, pipeline),
            Lookup::For(args, device) => records.find(kernel, pipeline, args, device),
        }
    }
}

/// What the records of a file have as the steps after the user's own, with their sizes.
pub fn recorded(
    (path, records): (&Path, &TunedRecords),
    declared: &LoopKernel,
    own: &Pipeline,
    lookup: Lookup<'_>,
) -> Result<Option<Completed>, Failure> {
    let known = match lookup {
        Lookup::ByText => None,
        Lookup::For(args, device) => Some((args, device)),
    };
    let Some(record) = records.find_beginning(declared, own, known)? else { return Ok(None) };
    // Steps that only a registry knows are found again.
    let Ok(pipeline) = record.pipeline() else { return Ok(None) };
    let pipeline = record.bind(&pipeline)?;
    let (own, rest) = pipeline.steps().split_at(own.steps().len().min(pipeline.steps().len()));
    let own: Pipeline = own.iter().cloned().collect();
    let begun = own.apply(declared)?;
    let found = Found::given(&begun, rest, format!("as kept in {}", path.display()))?;
    Ok(Some(Completed { own, begun, found }))
}
