//! Which tiles of a product without tensor cores keep a device of this size busy.
//!
//! The longer a tile, the more results an element serves that was loaded once; the shorter, the
//! more of them there are for the multiprocessors. What a device does of a form is estimated as its
//! speed where there are enough blocks, times the part of their tiles that are results, times the
//! part of the places for blocks that work, on average. The speeds are measured, on products of f32
//! (`benches/RESULTS.md`). They are relative to each other, so that they hold as far as devices
//! resemble each other.

use loopwright_kernel_ir::Name;
use loopwright_lowering::Target;

use super::{
    SIDE, Shape, registers, ring,
    small::{self, MIDDLE, SHORT},
};
use crate::Proposal;

/// A form of the product: how fast it is with enough blocks, and how many blocks of it a
/// multiprocessor holds.
struct Form {
    kind: Kind,
    speed: f64,
    resident: i64,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Ring,
    Registers,
    /// Of whole tiles, or of any.
    Small(small::Tile, bool),
}

const FORMS: [Form; 6] = [
    Form { kind: Kind::Ring, speed: 1.0, resident: 2 },
    Form { kind: Kind::Registers, speed: 0.87, resident: 2 },
    Form { kind: Kind::Small(MIDDLE, true), speed: 0.84, resident: 6 },
    Form { kind: Kind::Small(MIDDLE, false), speed: 0.75, resident: 6 },
    Form { kind: Kind::Small(SHORT, true), speed: 0.51, resident: 8 },
    Form { kind: Kind::Small(SHORT, false), speed: 0.42, resident: 8 },
];

/// The proposals, the best first. `width` is the number of elements of a vector.
pub(super) fn plain(shape: &Shape<'_>, device: &Target, width: i64) -> Vec<Proposal> {
    if shape.blocks([1, 1]).is_none() {
        return ring::ring(shape, device).into_iter().chain([registers(shape, width)]).collect();
    }
    let possible = FORMS.iter().filter(|form| form.is_possible(shape, device));
    let mut ranked: Vec<(f64, &Form)> = possible.map(|form| (form.rate(shape, width), form)).collect();
    ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    // What the best form needs is assumed for this launch, and not what others would need.
    let best = ranked.first().map(|(_, form)| form.kind);
    let taken = ranked.iter().filter(|(_, form)| form.whole(shape).is_none() || Some(form.kind) == best);
    taken.filter_map(|(_, form)| form.proposal(shape, device, width)).collect()
}

impl Form {
    /// The loops whose tiles have to be whole, with the lengths of tiles.
    fn whole<'s>(&self, shape: &'s Shape<'_>) -> Option<[(&'s Name, i64); 3]> {
        match self.kind {
            Kind::Ring => Some(ring::whole(shape)),
            Kind::Small(tile, true) => Some(shape.loops([tile.side; 2], tile.depth)),
            Kind::Registers | Kind::Small(_, false) => None,
        }
    }

    fn is_possible(&self, shape: &Shape<'_>, device: &Target) -> bool {
        let lies_so = match self.kind {
            Kind::Ring => ring::is_possible(shape, device),
            Kind::Registers => true,
            Kind::Small(tile, _) => small::is_possible(shape, tile, device),
        };
        lies_so && self.whole(shape).is_none_or(|loops| shape.divide(&loops))
    }

    fn proposal(&self, shape: &Shape<'_>, device: &Target, width: i64) -> Option<Proposal> {
        if let Kind::Small(..) = self.kind
            && let Some(loops) = self.whole(shape)
            && !shape.nest.had_better_be_multiples(&loops, "tiles that are copied without a condition")
        {
            return None;
        }
        match self.kind {
            Kind::Ring => ring::ring(shape, device),
            Kind::Registers => Some(registers(shape, width)),
            Kind::Small(tile, _) => small::small(shape, tile),
        }
    }

    /// The estimate, relative to other forms.
    fn rate(&self, shape: &Shape<'_>, width: i64) -> f64 {
        let (side, shares) = match self.kind {
            Kind::Ring => (ring::TILE, 1),
            Kind::Registers => (2 * SIDE * width, 1),
            Kind::Small(tile, _) => (tile.side, shape.shares([tile.side; 2], tile.depth)),
        };
        rate(shape, [side; 2], shares, self.speed, self.resident)
    }
}

/// What is done in a launch by blocks with such tiles, so many of which share a sum, whose speed
/// where there are enough of them is this.
pub(super) fn rate(shape: &Shape<'_>, tile: [i64; 2], shares: i64, speed: f64, resident: i64) -> f64 {
    let blocks = shape.blocks(tile).unwrap_or(i64::MAX).saturating_mul(shares);
    speed * shape.used(tile) * working(blocks, resident, shape.nest.launch().multiprocessors.into())
}

/// The part of the places for blocks that work, on average: all of them but in the last wave. Where
/// there are too few for one wave, they are spread evenly.
fn working(blocks: i64, resident: i64, multiprocessors: i64) -> f64 {
    let wave = multiprocessors.max(1) * if blocks < multiprocessors * resident { 1 } else { resident };
    let waves = (blocks.max(1) - 1) / wave + 1;
    blocks as f64 / (waves as f64 * wave as f64)
}

#[cfg(test)]
mod tests {
    use super::working;

    #[test]
    fn places_of_the_last_wave_are_idle() {
        assert_eq!(working(20, 2, 10), 1.0);
        // Half of the second wave is idle.
        assert_eq!(working(30, 2, 10), 0.75);
        // Two each for five of ten multiprocessors, one for the others.
        assert_eq!(working(15, 2, 10), 0.75);
        assert_eq!(working(1, 8, 10), 0.1);
    }
}
