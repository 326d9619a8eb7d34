//! What a program is written for: a device's numbers, and the language in which it takes programs.
//!
//! A [`Target`] is plain data. Lowering takes one ([`Target::cuda`] unless another is asked for) and
//! leaves it in the program, where the final check, the printer, the emulator and the cost model
//! read it.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::todo)
)]

mod language;
mod words;

pub use language::Language;

/// A kind of devices, and the language of its programs.
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
    /// What these devices are called: of CUDA all that it supports, otherwise an architecture.
    pub architecture: &'static str,
    /// Threads of a warp, which execute in lock step and exchange values without memory. A power of
    /// two.
    pub warp_size: u32,
    /// The most threads of a block.
    pub most_threads: u32,
    /// The most bytes of shared memory that a kernel may declare with constant sizes; what is more
    /// has to be asked for at the launch.
    pub static_shared: u64,
    /// The most bytes of shared memory of a block on any of these devices, asked for at the launch.
    pub dynamic_shared: u64,
    /// 32-bit registers that the threads of a block share.
    pub registers: u32,
    /// The most 32-bit registers of a thread; compilers keep what is more in memory.
    pub thread_registers: u32,
    /// Bytes of the widest access to memory that one thread makes. A power of two.
    pub widest_access: u32,
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
            registers: 1 << 16,
            thread_registers: 255,
            widest_access: 16,
            language: Language::CUDA_C,
        }
    }

    /// AMD's data centre devices (gfx90a, gfx942), whose warps have 64 threads, in HIP C++.
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

    /// How many elements of so many bytes the widest access has; at least one.
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

    /// Those that texts have names for.
    pub const NAMED: [Target; 3] = [Target::cuda(), Target::hip_cdna(), Target::hip_rdna()];

    /// Of those, the one whose warps have the most threads.
    pub fn widest() -> Target {
        let wider = |a: Target, b: Target| if b.warp_size > a.warp_size { b } else { a };
        Target::NAMED.into_iter().fold(Target::cuda(), wider)
    }

    /// The number of a warp's last lane.
    pub const fn last_lane(&self) -> u32 {
        self.warp_size.saturating_sub(1)
    }

    /// Whether a warp can be divided into parts of so many neighbouring lanes, of two or more: the
    /// warp itself is one.
    pub fn divides_warp(&self, lanes: u64) -> bool {
        lanes.is_power_of_two() && (2..=u64::from(self.warp_size)).contains(&lanes)
    }

    /// The numbers of lanes of such parts, for a message: `2, 4, 8, 16 or 32`.
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
