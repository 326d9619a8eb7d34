//! The default memory limit of a run.

use std::{fs, sync::OnceLock};

/// The upper bound, in bytes, if the machine has more memory or does not report it.
const MOST: u64 = 1 << 36;

/// A quarter of the memory available to the process when this was first called. The limit counts
/// only the emulator's cells and their shadows, but each array exists once more for the device and
/// once more for the host.
pub(crate) fn share() -> u64 {
    static SHARE: OnceLock<u64> = OnceLock::new();
    *SHARE.get_or_init(|| {
        let read = |path: &str| fs::read_to_string(path).ok();
        let machine = read("/proc/meminfo").and_then(|text| available(&text));
        let left = |limit: &str, used: &str| {
            let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
            Some(number(limit)?.saturating_sub(number(used)?))
        };
        // A container's own limit, for either version of control groups.
        let group = left("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current").or_else(|| {
            left("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes")
        });
        [machine, group].into_iter().flatten().min().map_or(MOST, |bytes| (bytes / 4).min(MOST))
    })
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_what_is_available() {
        let text = "MemTotal:       24689068 kB\n\
                    MemFree:         1 kB\n\
                    MemAvailable:   23000000 kB\n\
                    Buffers: 0 kB\n";
        assert_eq!(available(text), Some(23_000_000 * 1024));
        assert_eq!(available("MemTotal: 5 kB\n"), None);
        assert_eq!(available("MemAvailable: 99999999999999999 kB\n"), None, "it overflows");
        assert!(share() > 0 && share() <= MOST);
        if let Ok(text) = fs::read_to_string("/proc/meminfo") {
            let total = text.lines().find_map(|l| l.strip_prefix("MemTotal:")).unwrap();
            let total: u64 = total.trim().trim_end_matches(" kB").parse().unwrap();
            assert!(share() <= total * 1024 / 4, "more than a quarter of the machine");
        }
    }
}
