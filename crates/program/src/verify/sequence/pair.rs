//! Two accesses: when both are to one cell, and when one comes before the other in the kernel.

use std::cmp::Ordering;

use loopwright_kernel_ir::{AddressSpace, Aff, Constraint, HardwareAxis, Name};
use loopwright_legality::{Event, Load, Model, ModelPart, Touch, owner, primed};
use loopwright_poly::Result;

use crate::Program;

/// How one iname's values in two executions compare.
pub(super) type Relation = (Name, Ordering);

/// A case of an order: relations of inames, and constraints.
#[derive(Clone, Default)]
pub(super) struct Way {
    pub relations: Vec<Relation>,
    pub rows: Vec<Constraint>,
    /// Whether it is of lanes of one thread, in one iteration of all loops.
    pub of_lanes: bool,
}

impl Way {
    pub fn and(&self, other: &Way) -> Way {
        let (mut relations, mut rows) = (self.relations.clone(), self.rows.clone());
        relations.extend(other.relations.iter().cloned());
        rows.extend(other.rows.iter().cloned());
        Way { relations, rows, of_lanes: self.of_lanes || other.of_lanes }
    }

    /// Whether no iname has two relations.
    pub fn is_possible(&self) -> bool {
        let clash = |(k, (name, relation)): (usize, &Relation)| {
            self.relations[..k].iter().any(|(n, r)| n == name && r != relation)
        };
        !self.relations.iter().enumerate().any(clash)
    }
}

/// Two accesses, of two statements that may be one.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a, 'k> {
    pub program: &'a Program,
    pub model: &'a Model<'k>,
    pub context: &'a [Constraint],
    pub array: &'a Name,
    pub parts: (&'a ModelPart, &'a ModelPart),
    pub events: (&'a Event, &'a Event),
    pub x: usize,
    pub y: usize,
}

impl Pair<'_, '_> {
    pub fn second(&self, aff: &Aff) -> Result<Aff> {
        self.model.second(aff)
    }

    pub fn second_of(&self, c: &Constraint) -> Result<Constraint> {
        Ok(Constraint { kind: c.kind, aff: self.second(&c.aff)? })
    }

    pub fn is_accumulator(&self) -> bool {
        self.model.is_accumulator(self.array)
    }

    /// Whether all that is known of the two cells is in [`Pair::one_cell`].
    pub fn is_exact(&self) -> bool {
        self.has_known_cells() && self.events.0.under.is_empty() && self.events.1.under.is_empty()
    }

    /// Whether the subscripts of both are functions of inames and of what is loaded.
    pub fn has_known_cells(&self) -> bool {
        [self.events.0, self.events.1].iter().all(|e| e.cell.iter().all(Option::is_some))
    }

    /// What a part reads from data for its subscripts, beside what its statement reads.
    pub fn loads(&self, part: &ModelPart, of_statement: &[Load]) -> Result<Vec<Load>> {
        let mut loads = of_statement.to_vec();
        for load in &part.loads {
            if loads.iter().all(|known| known.name != load.name) {
                let arguments = load.arguments.iter().map(|aff| self.of_text(aff)).collect::<Result<_>>()?;
                loads.push(Load { arguments, ..load.clone() });
            }
        }
        Ok(loads)
    }

    /// Whether the user has vouched for executions of one part, and these are.
    pub fn is_vouched(&self) -> bool {
        !self.model.kernel.vouched.is_empty() && std::ptr::eq(self.parts.0, self.parts.1)
    }

    /// The cases in which the first comes before the second; of those that run in one iteration of
    /// all loops alone, if the text has the same loops.
    pub fn before_in_kernel(&self, aligned: bool) -> Result<Vec<Way>> {
        let (p, q) = self.parts;
        let (loops, position) = loops_around(p, q);
        let relate = |way: &mut Way, name: &Name, relation: Ordering| -> Result<()> {
            let (own, other) = (Aff::var(name), Aff::var(primed(name)));
            way.rows.push(match relation {
                Ordering::Less => Constraint::lt(&own, &other)?,
                _ => Constraint::equal(&own, &other)?,
            });
            way.relations.push((name.clone(), relation));
            Ok(())
        };
        let (mut ways, mut equal) = (Vec::new(), Way::default());
        for name in &loops {
            let mut less = equal.clone();
            relate(&mut less, name, Ordering::Less)?;
            ways.push(less);
            relate(&mut equal, name, Ordering::Equal)?;
        }
        if position == Ordering::Less {
            ways.push(equal.clone());
        }
        if aligned {
            ways.clear();
        }
        // Lanes of a thread read before they write, and write one after the other.
        if position == Ordering::Equal && !self.is_accumulator() {
            equal.of_lanes = true;
            let coordinates = HardwareAxis::all().map(|axis| Name::new(axis.coordinate()));
            coordinates.into_iter().try_for_each(|name| relate(&mut equal, &name, Ordering::Equal))?;
            match (self.events.0.touch == Touch::Read, self.events.1.touch == Touch::Read) {
                (true, false) if !p.lanes.is_empty() => ways.push(equal),
                (false, false) => {
                    for lane in &p.lanes {
                        let mut less = equal.clone();
                        relate(&mut less, lane, Ordering::Less)?;
                        ways.push(less);
                        relate(&mut equal, lane, Ordering::Equal)?;
                    }
                }
                _ => {}
            }
        }
        Ok(ways)
    }

    /// The condition that both access one cell.
    pub fn one_cell(&self) -> Result<Way> {
        let mut way = Way::default();
        let equal = |way: &mut Way, name: &Name| -> Result<()> {
            way.rows.push(Constraint::equal(&Aff::var(name), &Aff::var(primed(name)))?);
            way.relations.push((name.clone(), Ordering::Equal));
            Ok(())
        };
        if self.is_accumulator() {
            // Threads have accumulators of their own, of which those along the axes on which the
            // first value is not are joined. No blocks are.
            let mut axes: Vec<HardwareAxis> = HardwareAxis::OF_GRID.to_vec();
            for name in self.events.0.cell.iter().flatten().filter_map(Aff::as_var) {
                let tag = self.model.kernel.tag(name);
                axes.extend(tag.axis());
                if tag.is_jam() {
                    equal(&mut way, name)?;
                }
            }
            axes.iter().try_for_each(|axis| equal(&mut way, &Name::new(axis.coordinate())))?;
            return Ok(way);
        }
        let space = self.model.space(self.array);
        for axis in HardwareAxis::all().filter(|axis| owner(space).contains(*axis)) {
            equal(&mut way, &Name::new(axis.coordinate()))?;
        }
        if space == AddressSpace::Private {
            for lane in self.model.owning_lanes(self.array) {
                equal(&mut way, &lane)?;
            }
        }
        way.rows.extend(self.model.ranges_of_data(self.parts.0)?);
        for c in self.model.ranges_of_data(self.parts.1)? {
            way.rows.push(self.second_of(&c)?);
        }
        for (s, t) in self.events.0.cell.iter().zip(&self.events.1.cell) {
            if let (Some(s), Some(t)) = (s, t) {
                let same = s == t && s.as_var().is_some_and(|n| self.model.lookup.is_iname(n));
                let (s, t) = (self.of_text(s)?, self.of_text(t)?);
                way.rows.push(Constraint::equal(&s, &self.second(&t)?)?);
                way.relations.extend(s.as_var().filter(|_| same).map(|name| (name.clone(), Ordering::Equal)));
            }
        }
        Ok(way)
    }

    /// A function of inames over coordinates, as the program has them.
    fn of_text(&self, aff: &Aff) -> Result<Aff> {
        let coordinates = &self.program.coordinates;
        aff.substitute(&|n| coordinates.iter().find(|(name, _)| name == n).map(|(_, value)| value.clone()))
    }
}

/// The loops of the kernel around both parts, and the order of what is inside.
pub(super) fn loops_around(p: &ModelPart, q: &ModelPart) -> (Vec<Name>, Ordering) {
    let mut loops = Vec::new();
    for (a, b) in p.path.iter().zip(&q.path) {
        match a.position.cmp(&b.position) {
            Ordering::Equal => loops.extend(a.iname.clone()),
            unequal => return (loops, unequal),
        }
    }
    (loops, Ordering::Equal)
}
