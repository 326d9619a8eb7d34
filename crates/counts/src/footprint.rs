//! The number of distinct elements that a kernel accesses.
//!
//! The elements of one access are the image of its domain under its subscripts: the projection of
//! the conjunction of both onto the subscripts, a union of conjunctions. The union over all
//! accesses is made disjoint, and the points of each piece are counted.

use loopwright_kernel_ir::{Access, Aff, Constraint, Name};
use loopwright_poly::{Set, System};

use crate::{
    Formula, Refusal,
    accesses::subscripts,
    domain::{Domain, Domains, Guard},
    points::count_points,
};

/// The greatest number of conjunctions of a footprint.
const CONJUNCTIONS: usize = 32;

/// The name of a subscript, which no text can spell.
fn cell(k: usize) -> Name {
    Name::new(format!("\u{0}cell{k}"))
}

/// The elements that accesses touch together.
#[derive(Default)]
pub(crate) struct Cells {
    systems: Vec<System>,
    axes: usize,
}

impl Cells {
    /// Adds the elements of one access.
    pub fn add(
        &mut self,
        domains: &Domains<'_, '_>,
        domain: &Domain,
        guard: &Guard,
        access: &Access,
    ) -> Result<(), Refusal> {
        let unknown = || Refusal::new("count-data", "a subscript is not affine, or read from data");
        let subscripts = subscripts(domains.lookup, access).ok_or_else(unknown)?;
        self.axes = subscripts.len();
        for region in &guard.regions {
            let all = domain.constraints.iter().chain(region).cloned().collect();
            let (dims, mut constraints) = domains.close(&domain.inames, all)?;
            for (k, subscript) in subscripts.iter().enumerate() {
                constraints.push(Constraint::equal(&Aff::var(cell(k)), subscript)?);
            }
            constraints.extend(domains.context.constraints().iter().cloned());
            for system in System::of(constraints)?.project_exactly(&|n| dims.contains(n))? {
                if !self.systems.contains(&system) {
                    self.systems.push(system);
                }
            }
        }
        if self.systems.len() > CONJUNCTIONS {
            return Err(Refusal::new("count-size", "its accesses are a union of too many pieces"));
        }
        Ok(())
    }

    /// The number of distinct elements, as a formula of the parameters.
    pub fn count(&self, domains: &Domains<'_, '_>) -> Result<Formula, Refusal> {
        let dims: Vec<Name> = (0..self.axes).map(cell).collect();
        let pieces = match &self.systems[..] {
            [] => return Ok(Formula::default()),
            [one] => vec![one.clone()],
            several => {
                let union = Set::from_systems(&dims, several.to_vec())?;
                union.coalesce()?.make_disjoint()?.disjuncts().to_vec()
            }
        };
        let mut sum = Formula::default();
        for piece in pieces {
            let own = count_points(&dims, piece.constraints(), &domains.context, &|_| 0)?;
            sum = sum.plus(&own)?;
        }
        Ok(sum)
    }
}
