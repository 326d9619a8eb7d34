//! A compiled binary, with what the compiler reported about it.

use super::log::{self, KernelResources, Message, Severity};
use crate::arch::Arch;

/// A binary, with what the compiler reported about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The architecture of the binary.
    pub arch: Arch,
    /// The binary (a cubin), an ELF file.
    pub cubin: Vec<u8>,
    /// The PTX that the binary was assembled from, if the compiler provides it.
    pub ptx: Option<String>,
    /// The complete log of the compiler.
    pub log: String,
    /// Warnings and remarks in the log.
    pub messages: Vec<Message>,
    /// The resource usage of each kernel, in the order of the log.
    pub resources: Vec<KernelResources>,
}

impl Compiled {
    /// A compilation from its stored parts; warnings and resources are parsed from its log.
    pub fn from_parts(arch: Arch, cubin: Vec<u8>, ptx: Option<String>, log: String) -> Compiled {
        let messages = log::messages(&log);
        let resources = log::resources(&log);
        Compiled { arch, cubin, ptx, log, messages, resources }
    }

    /// The messages that are warnings, in the order of the log.
    pub fn warnings(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(|message| message.severity == Severity::Warning)
    }

    /// Whether the binary is a complete ELF file according to its header: it contains the section
    /// table. The driver takes an address without a length, so that it must not be given an
    /// incomplete file.
    pub fn is_complete(&self) -> bool {
        let word = |at: usize, length: usize| -> Option<u64> {
            let part = self.cubin.get(at..at + length)?;
            Some(part.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
        };
        // In the header of a 64-bit file: the table's place, the size of an entry, the number of
        // entries.
        let (Some(place), Some(size), Some(count)) = (word(0x28, 8), word(0x3a, 2), word(0x3c, 2)) else {
            return false;
        };
        let end = size.checked_mul(count).and_then(|length| length.checked_add(place));
        self.cubin.starts_with(b"\x7fELF\x02") && end.is_some_and(|end| end <= self.cubin.len() as u64)
    }

    /// The resource usage of the kernel of this name.
    pub fn resources_of(&self, kernel: &str) -> Option<&KernelResources> {
        self.resources.iter().find(|resources| resources.name == kernel)
    }
}
