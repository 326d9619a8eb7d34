//! Launches on the emulator.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use loopwright_emulator::{Arguments, ArrayArgument, Options, Report};
use loopwright_kernel_ir::{Buffer, Diagnostic, Name};
use loopwright_program::{Owner, Program, RecordArg};

use super::DeviceTensor;
use super::resolve::Resolved;
use super::variant::Variant;

/// A launch on the emulator.
#[derive(Debug)]
pub(super) struct Emulation {
    variant: Arc<Variant>,
    options: Options,
    /// Scalars, and arrays that are moved in during a launch.
    scalars: BTreeMap<Name, loopwright_kernel_ir::Number>,
    last: Mutex<Option<Report>>,
}

impl Emulation {
    pub fn new(variant: &Arc<Variant>, resolved: &Resolved, options: &Options) -> Emulation {
        Emulation {
            variant: variant.clone(),
            options: options.clone(),
            scalars: resolved.scalars.clone(),
            last: Mutex::new(None),
        }
    }

    /// Runs once; with a fault no array has changed.
    pub fn run(&self, arrays: &IndexMap<Name, DeviceTensor>) -> Result<(), Diagnostic> {
        let program = &self.variant.program;
        let emulator = self.variant.emulator(&self.options)?;
        // All launches lock in the same order, so that two that share arrays cannot deadlock; the
        // same memory is locked only once.
        let mut order: Vec<(&Name, &DeviceTensor)> = arrays
            .iter()
            .filter(|(name, _)| program.global(name).is_some_and(|g| g.owner == Owner::Caller))
            .collect();
        order.sort_by_key(|(_, array)| array.address());
        let mut guards: Vec<(usize, std::sync::MutexGuard<'_, ArrayArgument>)> = Vec::new();
        let mut arguments = Arguments { scalars: self.scalars.clone(), ..Arguments::default() };
        for (name, array) in &order {
            if guards.last().is_none_or(|(address, _)| *address != array.address()) {
                guards.push((array.address(), array.emulated()?));
            }
            let Some((_, guard)) = guards.last_mut() else { continue };
            if let Some((field, record)) = field_of(program, name) {
                let mut buffer = Buffer::zeros(array.dtype(), array.layout().size);
                record.take(field, guard.buffer.bytes(), buffer.bytes_mut());
                let argument = ArrayArgument { buffer, initialised: guard.initialised };
                arguments.arrays.insert((*name).clone(), argument);
                continue;
            }
            // Memory under two names is only read, so that a copy suffices for the second.
            let shared = order.iter().filter(|(_, other)| other.address() == array.address()).count() > 1;
            let argument = if shared {
                (**guard).clone()
            } else {
                let empty = ArrayArgument {
                    buffer: Buffer::zeros(guard.buffer.dtype(), 0),
                    initialised: guard.initialised,
                };
                std::mem::replace(&mut **guard, empty)
            };
            arguments.arrays.insert((*name).clone(), argument);
        }
        let result = emulator.run(&mut arguments);
        for (name, array) in &order {
            let Some(mut argument) = arguments.arrays.remove(*name) else { continue };
            if result.is_ok() && program.global(name).is_some_and(|g| g.written) {
                argument.initialised = true;
            }
            if let Some((field, record)) = field_of(program, name) {
                let guard = guards.iter_mut().find(|(address, _)| *address == array.address());
                if let Some((_, guard)) = guard.filter(|_| result.is_ok())
                    && program.global(name).is_some_and(|g| g.written)
                {
                    record.put(field, argument.buffer.bytes(), guard.buffer.bytes_mut());
                    guard.initialised = true;
                }
                continue;
            }
            if let Some((_, guard)) = guards.iter_mut().find(|(address, _)| *address == array.address()) {
                **guard = argument;
            }
        }
        drop(guards);
        let report = result.map_err(Diagnostic::from)?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
        Ok(())
    }

    pub fn report(&self) -> Option<Report> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The record of which a global array is a field, and the number of the field.
fn field_of<'p>(program: &'p Program, array: &Name) -> Option<(usize, &'p RecordArg)> {
    let number = program.globals.iter().position(|g| g.name == *array)?;
    program.field_place(number).map(|place| (place.field, place.record))
}
