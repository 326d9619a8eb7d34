//! What a nest reads from memory and writes to it in the launch that is meant, and hints to the
//! second-level cache that follow from it.
//!
//! A few writes among many reads cost more than their bytes: memory turns around between reading
//! and writing for each handful of lines that the cache gives up. `cache_waves` has them given up
//! many at a time. That is worth its instructions where results are small beside what is read, are
//! written by many blocks at once, and are enough for several waves. A wave takes a sixth of the
//! cache, which is at most what devices grant to lines that stay; its windows have room for the
//! rows that the device works on at a time, whose results come in no order.
//!
//! Several results of a row are stored by more instructions, which waves would double; if the
//! cache holds them all, the elements are evicted first instead (`cache_streaming`), so that
//! results leave it whole lines at a time.

use loopwright_kernel_ir::{Expr, Name};

use crate::{Nest, Stride};

/// Windows of each wave: all but one are kept.
const WINDOWS: u32 = 8;
/// Waves of a launch: three and a half, so that the last one, which is never full, weighs little.
const WAVES: f64 = 3.5;
/// The part of the cache that a wave takes.
const PART: f64 = 6.0;
/// Lanes that work on a row at a time, by which the rows under way are estimated.
const LANES: i64 = 16;
/// Bytes of results are small beside those of elements if they are at most one for so many.
const SMALL: f64 = 2.0;

/// The bytes of arrays.
pub(crate) struct Traffic {
    /// Bytes that are read along the rows.
    pub read: f64,
    /// The arrays of which each element is read once.
    once: Vec<Name>,
    /// The arrays of results, with the bytes of an element and the number of elements.
    results: Vec<(Name, f64, f64)>,
    /// Rows that the device works on at a time.
    under_way: f64,
    /// Bytes that the cache holds.
    cache: f64,
}

impl Traffic {
    /// That of a nest with these loops around rows along `r`; `None` if the launch does not tell.
    pub fn of(nest: &Nest<'_>, parallel: &[Name], r: &Name) -> Option<Traffic> {
        let launch = nest.launch();
        let length = |e: &Expr| Some(e.to_aff()?.eval(&|n| launch.integers.get(n).copied())? as f64);
        let elements = |name: &Name| {
            let array = nest.kernel.array(name)?;
            array.axes.iter().map(|axis| length(&axis.length)).product::<Option<f64>>()
        };
        let mut traffic = Traffic {
            read: 0.0,
            once: Vec::new(),
            results: Vec::new(),
            under_way: (launch.places() / LANES) as f64,
            cache: launch.cache as f64,
        };
        let mut seen: Vec<&Name> = Vec::new();
        for site in nest.sites.iter().filter(|s| s.is_write || s.stride(r) == Stride::Unit) {
            let is_again = seen.contains(&&site.array);
            if is_again {
                traffic.once.retain(|name| *name != site.array);
                continue;
            }
            seen.push(&site.array);
            let (all, bytes) = (elements(&site.array)?, site.bytes as f64);
            if site.is_write {
                traffic.results.push((site.array.clone(), bytes, all));
                continue;
            }
            traffic.read += all * bytes;
            if parallel.iter().all(|n| site.stride(n) != Stride::Same) {
                traffic.once.push(site.array.clone());
            }
        }
        Some(traffic)
    }

    /// Whether more is read than the cache holds, so that there is something to give up.
    pub fn exceeds(&self) -> bool {
        self.read > self.cache
    }

    /// Whether the cache holds all results, of so many bytes for each element of them, beside what
    /// passes through it.
    fn holds(&self, bytes: Option<f64>) -> bool {
        let all = self.results.iter().map(|(_, own, elements)| match bytes {
            Some(bytes) => elements * bytes,
            None => elements * own,
        });
        all.fold(0.0, f64::max) <= self.cache / 2.0
    }

    /// The step that stores the results in waves, where that pays. Forms whose `rows` take more
    /// instructions than the loads cost are better off without, unless the results alone fill half
    /// of the cache.
    pub fn waves(&self, suits: bool) -> Option<String> {
        let [(result, bytes, elements)] = self.results.as_slice() else { return None };
        if !self.exceeds() || (!suits && self.holds(None)) || bytes * elements * SMALL > self.read {
            return None;
        }
        let most = self.cache / PART / f64::from(WINDOWS - 1) / bytes;
        let own = (elements / WAVES / f64::from(WINDOWS)).min(most);
        let window = (own / 128.0) as i64 * 128;
        (own >= self.under_way && window > 0)
            .then(|| format!("cache_waves({result}, window={window}, windows={WINDOWS})"))
    }

    /// The steps that load the elements of rows with several results evict-first. A partial result
    /// has `state` bytes.
    pub fn streaming(&self, state: i64) -> Vec<String> {
        if self.results.len() < 2 || !self.exceeds() || !self.holds(Some(state as f64)) {
            return Vec::new();
        }
        self.once.iter().map(|array| format!("cache_streaming({array})")).collect()
    }
}
