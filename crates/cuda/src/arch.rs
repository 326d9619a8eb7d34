//! Architectures: which device a binary is for.
//!
//! A *real* architecture, `sm_90a`, is a compute capability with an optional suffix. A binary
//! without one runs on every device of the same major version and at least the same minor version.
//! `a` gives access to everything that exactly this device has, `f` to what its family has; such
//! binaries run nowhere else.

use std::fmt;
use std::str::FromStr;

/// How far a binary is bound to one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variant {
    /// No suffix: runs on later minor versions as well.
    Portable,
    /// `f`: the features of a family of devices.
    Family,
    /// `a`: every feature of exactly this device.
    Exact,
}

/// A real architecture, such as `sm_80` or `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    /// Major compute capability: 9 in `sm_90a`.
    pub major: u32,
    /// Minor compute capability: 0 in `sm_90a`.
    pub minor: u32,
    /// The suffix, which limits where binaries run.
    pub variant: Variant,
}

impl Arch {
    /// `sm_80` (A100).
    pub const SM_80: Arch = Arch { major: 8, minor: 0, variant: Variant::Portable };
    /// `sm_90a` (H100, H200).
    pub const SM_90A: Arch = Arch { major: 9, minor: 0, variant: Variant::Exact };
    /// `sm_100a` (B200).
    pub const SM_100A: Arch = Arch { major: 10, minor: 0, variant: Variant::Exact };

    /// The architecture to compile for when the binary is to run on a device of this compute
    /// capability and on no other: with all of its features, which need a suffix from 9.0 on.
    pub fn native(major: u32, minor: u32) -> Arch {
        Arch { major, minor, variant: if major >= 9 { Variant::Exact } else { Variant::Portable } }
    }

    /// The number in the name: 90 for `sm_90a`.
    pub fn number(self) -> u32 {
        self.major * 10 + self.minor
    }

    /// Whether a launch can start before the preceding one has ended, with kernels waiting for it
    /// themselves (`griddepcontrol`, PTX ISA 7.8).
    pub fn starts_early(self) -> bool {
        self.number() >= 90
    }

    /// Whether a binary for this architecture runs on a device of the given compute capability.
    pub fn runs_on(self, major: u32, minor: u32) -> bool {
        match self.variant {
            Variant::Exact => (self.major, self.minor) == (major, minor),
            Variant::Portable | Variant::Family => self.major == major && self.minor <= minor,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.variant {
            Variant::Portable => "",
            Variant::Family => "f",
            Variant::Exact => "a",
        };
        write!(f, "sm_{}{}{suffix}", self.major, self.minor)
    }
}

/// A text that is not the name of an architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseArchError {
    /// The rejected text.
    pub text: String,
}

impl fmt::Display for ParseArchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not an architecture: write, for example, sm_80, sm_90a or sm_100a",
            self.text.escape_debug()
        )
    }
}

impl std::error::Error for ParseArchError {}

impl FromStr for Arch {
    type Err = ParseArchError;

    fn from_str(text: &str) -> Result<Arch, ParseArchError> {
        let error = || ParseArchError { text: text.to_owned() };
        let rest = text.strip_prefix("sm_").ok_or_else(error)?;
        let (digits, variant) = match rest.as_bytes().last() {
            Some(b'a') => (&rest[..rest.len() - 1], Variant::Exact),
            Some(b'f') => (&rest[..rest.len() - 1], Variant::Family),
            _ => (rest, Variant::Portable),
        };
        // Two or three digits, of which the last is the minor version.
        if !(2..=3).contains(&digits.len())
            || !digits.bytes().all(|b| b.is_ascii_digit())
            || digits.starts_with('0')
        {
            return Err(error());
        }
        let number: u32 = digits.parse().map_err(|_| error())?;
        Ok(Arch { major: number / 10, minor: number % 10, variant })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for name in ["sm_75", "sm_80", "sm_86", "sm_90", "sm_90a", "sm_100a", "sm_100f", "sm_120a"] {
            assert_eq!(name.parse::<Arch>().unwrap().to_string(), name);
        }
        assert_eq!("sm_100a".parse(), Ok(Arch::SM_100A));
        for bad in
            ["", "sm_", "90a", "sm_9", "sm_9a", "sm_1000", "sm_90b", "compute_90", "sm_-10", "sm_08", "sm_9é"]
        {
            assert!(bad.parse::<Arch>().is_err(), "{bad} was read");
        }
    }

    #[test]
    fn a_suffix_binds_to_one_device() {
        let sm = |name: &str| name.parse::<Arch>().unwrap();
        assert!(sm("sm_80").runs_on(8, 6));
        assert!(!sm("sm_86").runs_on(8, 0));
        assert!(!sm("sm_80").runs_on(9, 0));
        assert!(sm("sm_90a").runs_on(9, 0));
        assert!(!sm("sm_100a").runs_on(10, 3));
        assert!(sm("sm_100f").runs_on(10, 3));
        assert_eq!(Arch::native(9, 0), Arch::SM_90A);
        assert_eq!(Arch::native(8, 0), Arch::SM_80);
    }
}
