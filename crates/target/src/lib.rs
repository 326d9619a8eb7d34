//! The target of a program: the limits of a device, and the language in which programs are printed.
//!
//! A [`Target`] is plain data. Lowering takes one (by default [`Target::cuda`]) and stores it in
//! the program, where the final check, the printer, the emulator and the cost model read it.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod language;
mod words;

pub use language::{Builtin, Language};

/// A class of devices, and the language of their programs.
///
/// ```
/// use loopwright_target::Target;
///
/// let target = Target::default();
/// assert_eq!((target.language.name, target.warp_size), ("CUDA C", 32));
/// assert!(target.language.is_reserved("threadIdx"));
/// // The same language for a device with wider warps.
/// let wide = Target { warp_size: 64, ..target };
/// assert_eq!(wide.parts_of_warps(), "2, 4, 8, 16, 32 or 64");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The name of these devices: `cuda` for all that CUDA supports, otherwise an architecture.
    pub architecture: &'static str,
    /// Number of threads of a warp, which execute in lockstep and exchange values without memory; a
    /// power of two.
    pub warp_size: u32,
    /// Maximum number of threads per block.
    pub most_threads: u32,
    /// Maximum size in bytes of the shared memory that a kernel may declare with constant sizes; a
    /// larger amount has to be requested at launch.
    pub static_shared: u64,
    /// Maximum size in bytes of the shared memory of a block on any of these devices, if requested
    /// at launch.
    pub dynamic_shared: u64,
    /// Maximum size in bytes of the constant tables of a program.
    pub constant_memory: u64,
    /// Number of 32-bit registers that the threads of a block share.
    pub registers: u32,
    /// Maximum number of 32-bit registers per thread; compilers spill beyond it.
    pub thread_registers: u32,
    /// Size in bytes of the widest memory access of a thread; a power of two.
    pub widest_access: u32,
    /// Maximum number of blocks on the second and on the third dimension of a grid.
    pub most_blocks: u32,
    /// Size in bytes of a sector: what global memory delivers at once; a power of two.
    pub sector: u32,
    /// Size in bytes of a line of the caches; a power of two, and a whole number of sectors.
    pub line: u32,
    /// Number of banks of shared memory, each of which delivers one word in a pass; a power of two.
    pub banks: u32,
    /// Size in bytes of the word of a bank; a power of two.
    pub bank_word: u32,
    /// The language of its programs.
    pub language: Language,
}

impl Target {
    /// Devices that CUDA supports, of any compute capability.
    pub const fn cuda() -> Target {
        Target {
            architecture: "cuda",
            warp_size: 32,
            most_threads: 1024,
            static_shared: 48 << 10,
            dynamic_shared: 227 << 10,
            constant_memory: 64 << 10,
            registers: 1 << 16,
            thread_registers: 255,
            widest_access: 16,
            most_blocks: 65535,
            sector: 32,
            line: 128,
            banks: 32,
            bank_word: 4,
            language: Language::CUDA_C,
        }
    }

    /// AMD's data centre devices (gfx90a, gfx942), whose warps have 64 threads, in HIP C++.
    /// Sectors, lines and banks, which are counted but decide nothing about programs, are those of
    /// CUDA's devices.
    pub const fn hip_cdna() -> Target {
        Target {
            architecture: "cdna",
            warp_size: 64,
            static_shared: 64 << 10,
            dynamic_shared: 64 << 10,
            thread_registers: 512,
            language: Language::HIP,
            ..Target::cuda()
        }
    }

    /// AMD's graphics devices (gfx1030 and later), whose warps have 32 threads, in HIP C++.
    pub const fn hip_rdna() -> Target {
        Target { architecture: "rdna", warp_size: 32, thread_registers: 256, ..Target::hip_cdna() }
    }

    /// Number of elements of this size in bytes in the widest access; at least one.
    pub const fn widest_elements(&self, bytes: usize) -> usize {
        let elements = (self.widest_access as usize).checked_div(bytes);
        match elements {
            Some(0) | None => 1,
            Some(elements) => elements,
        }
    }

    /// The target of this architecture, by its name in texts.
    pub fn named(architecture: &str) -> Option<Target> {
        Target::NAMED.into_iter().find(|target| target.architecture == architecture)
    }

    /// The targets that have names in texts.
    pub const NAMED: [Target; 3] = [Target::cuda(), Target::hip_cdna(), Target::hip_rdna()];

    /// The one of these with the widest warps.
    pub fn widest() -> Target {
        let wider = |a: Target, b: Target| if b.warp_size > a.warp_size { b } else { a };
        Target::NAMED.into_iter().fold(Target::cuda(), wider)
    }

    /// Bytes that shared memory delivers in one pass over its banks.
    pub const fn pass(&self) -> u32 {
        self.banks.saturating_mul(self.bank_word)
    }

    /// The number of a warp's last lane.
    pub const fn last_lane(&self) -> u32 {
        self.warp_size.saturating_sub(1)
    }

    /// Whether a warp can be divided into groups of this number of neighbouring lanes: at least
    /// two, at most the whole warp.
    pub fn divides_warp(&self, lanes: u64) -> bool {
        lanes.is_power_of_two() && (2..=u64::from(self.warp_size)).contains(&lanes)
    }

    /// The possible numbers of lanes of such groups, for messages: `2, 4, 8, 16 or 32`.
    pub fn parts_of_warps(&self) -> String {
        let parts = |below: bool| {
            let all = (1..u32::BITS).map(|k| 1 << k);
            all.filter(move |n| if below { *n < self.warp_size } else { *n == self.warp_size })
        };
        let list = parts(true).map(|n: u32| n.to_string()).collect::<Vec<_>>().join(", ");
        if list.is_empty() { self.warp_size.to_string() } else { format!("{list} or {}", self.warp_size) }
    }
}

impl Default for Target {
    fn default() -> Self {
        Target::cuda()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_warps_are_powers_of_two_up_to_the_warp() {
        let target = Target::cuda();
        let parts: Vec<u64> = (0..=64).filter(|n| target.divides_warp(*n)).collect();
        assert_eq!(parts, [2, 4, 8, 16, 32]);
        assert_eq!(target.parts_of_warps(), "2, 4, 8, 16 or 32");
        assert!(Target::hip_cdna().divides_warp(64));
        assert_eq!(Target::widest(), Target::hip_cdna());
    }
}
