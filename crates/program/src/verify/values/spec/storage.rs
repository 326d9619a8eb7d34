//! Where the elements of the kernel's arrays and accumulators lie: in which place, with which
//! subscripts. What a thread owns has an element for each lane that writes it.

use std::rc::Rc;

use loopwright_kernel_ir::{AddressSpace, Aff, DType, HardwareAxis, Name, Part, PartRef};
use loopwright_legality::{conditional_reads, context, flat_nests};
use loopwright_poly::{System, TableSet};

use super::{At, Spec, version};
use crate::{
    BinOp,
    verify::values::forms::{Form, Forms, Node, Place},
};

impl Spec<'_> {
    pub(super) fn element_of_state(
        &mut self,
        forms: &mut Forms,
        place: Place,
        dtype: DType,
        at: &At<'_>,
    ) -> Form {
        let subscripts = self.state_subscripts(forms, &place, at);
        let version = version(at.versions, &place, at.time);
        forms.make(Node::Element(dtype, place, subscripts, version))
    }

    pub(super) fn state_subscripts(&mut self, forms: &mut Forms, place: &Place, at: &At<'_>) -> Vec<Form> {
        let lanes = self.lanes_of(place);
        lanes.iter().map(|lane| self.lane(forms, lane, at)).collect()
    }

    /// The lanes for which a place of the thread has a copy.
    fn lanes_of(&mut self, place: &Place) -> Rc<Vec<Name>> {
        if let Some(known) = self.lanes.get(place) {
            return known.clone();
        }
        let is_lane = |name: &Name| self.kernel.tag(name).is_jam();
        let lanes = match place {
            Place::Array(array) => self.owning.get(array).cloned().unwrap_or_default(),
            Place::State(id, n, _) | Place::Carried(id, n, _) => {
                let inames = |part| self.lookup.part_inames(&PartRef { instruction: id.clone(), part });
                let mut lanes = inames(Part::Update(*n));
                lanes.retain(is_lane);
                // The lanes of one thread join nothing for a result of no points, whose accumulator
                // is as it began.
                if !lanes.is_empty() && self.is_of_no_points(id, *n) {
                    lanes = inames(Part::Init(*n));
                    lanes.retain(is_lane);
                }
                if let Place::Carried(..) = place {
                    let own = inames(Part::Init(*n));
                    lanes.retain(|lane| own.contains(lane));
                }
                lanes
            }
        };
        let lanes = Rc::new(lanes);
        self.lanes.insert(place.clone(), lanes.clone());
        lanes
    }

    /// Whether a reduction that is not spread over threads is known to have no points.
    fn is_of_no_points(&self, instruction: &Name, n: usize) -> bool {
        let reductions = self.lookup.instruction(instruction).map(|i| i.reductions());
        let Some(reduce) = reductions.and_then(|all| all.into_iter().nth(n)) else { return false };
        let in_block = |n: &Name| self.kernel.tag(n).axis().is_some_and(HardwareAxis::is_in_block);
        if reduce.inames.iter().flat_map(|n| self.lookup.base_of(n)).any(in_block) {
            return false;
        }
        let update = PartRef { instruction: instruction.clone(), part: Part::Update(n) };
        let mut rows = context(self.kernel);
        for c in self.lookup.instances(&self.lookup.part_inames(&update)) {
            rows.extend(self.lookup.expand_constraint(&c));
        }
        System::new(&rows).and_then(|system| system.is_empty()).unwrap_or(false)
    }

    /// The arrays that the instructions of the nests over segments read that an instruction is in.
    pub fn read_in_nests(&mut self, instruction: &Name) -> Rc<TableSet<Name>> {
        if let Some(known) = self.in_nests.get(instruction) {
            return known.clone();
        }
        let own = flat_nests(self.kernel)
            .filter(|nest| nest.parts.iter().any(|part| part.instruction == *instruction));
        let mut found = TableSet::default();
        for part in own.flat_map(|nest| nest.parts) {
            let Some(i) = self.lookup.instruction(&part.instruction) else { continue };
            let read = conditional_reads(&self.lookup, i, &part);
            found.extend(read.into_iter().map(|(access, _)| access.array));
        }
        let found = Rc::new(found);
        self.in_nests.insert(instruction.clone(), found.clone());
        found
    }

    /// Whether a part may read what it writes: an update its accumulator, an instruction an element
    /// of its targets.
    pub fn reads_what_it_writes(&self, part: &PartRef) -> bool {
        match part.part {
            Part::Init(_) => false,
            Part::Update(_) => true,
            Part::Whole | Part::Finish => {
                let Some(i) = self.lookup.instruction(&part.instruction) else { return true };
                if i.update.is_some() {
                    return true;
                }
                let read = conditional_reads(&self.lookup, i, part);
                read.iter().any(|(access, _)| i.targets.iter().any(|t| t.array == access.array))
            }
        }
    }

    /// Whether the updates of a reduction are in lanes in which its first value is not.
    pub fn joins_lanes(&self, instruction: &Name, n: usize) -> bool {
        let inames = |part| self.lookup.part_inames(&PartRef { instruction: instruction.clone(), part });
        let first = inames(Part::Init(n));
        inames(Part::Update(n)).iter().any(|i| self.kernel.tag(i).is_jam() && !first.contains(i))
    }

    /// The number of a lane, from 0.
    fn lane(&mut self, forms: &mut Forms, lane: &Name, at: &At<'_>) -> Form {
        let index = forms.index;
        if !(at.has_lane)(lane) {
            return forms.int(index, 0);
        }
        let value = self.name(forms, lane, index, at);
        let lower = self.lower(lane);
        let lower = forms.int(index, lower);
        forms.binary(BinOp::Sub, index, value, lower)
    }

    /// A lane counts from this value in some loop: any will do that all accesses have in common.
    pub fn begins_at(&mut self, lane: &Name, low: i64) {
        if self.kernel.tag(lane).is_jam() {
            self.lowers.entry(lane.clone()).or_insert(low);
        }
    }

    /// The least value of a lane, as its loops have it.
    pub fn lower(&mut self, lane: &Name) -> i64 {
        if let Some(known) = self.lowers.get(lane) {
            return *known;
        }
        let mut rows = context(self.kernel);
        rows.extend(self.lookup.instances(std::slice::from_ref(lane)));
        let range = System::new(&rows).and_then(|s| s.constant_range(&Aff::var(lane)));
        let lower = range.ok().and_then(|(low, _)| low).unwrap_or_default();
        self.lowers.insert(lane.clone(), lower);
        lower
    }

    /// The subscripts of an array's element in storage, by those of the kernel.
    pub(super) fn place_subscripts(
        &mut self,
        forms: &mut Forms,
        array: &Name,
        own: Vec<Form>,
        at: &At<'_>,
    ) -> Vec<Form> {
        let Some(found) = self.lookup.array(array) else { return own };
        let ordered = || found.storage_order().into_iter().filter_map(|axis| own.get(axis).copied());
        match found.space {
            AddressSpace::Global | AddressSpace::Constant => own,
            AddressSpace::Shared if own.is_empty() => vec![forms.int(forms.index, 0)],
            AddressSpace::Shared => ordered().collect(),
            AddressSpace::Private => {
                let place = Place::Array(array.clone());
                let mut all = self.state_subscripts(forms, &place, at);
                all.extend(ordered());
                all
            }
        }
    }

    pub(super) fn element(
        &mut self,
        forms: &mut Forms,
        array: &Name,
        own: Vec<Form>,
        dtype: DType,
        at: &At<'_>,
    ) -> Form {
        let subscripts = self.place_subscripts(forms, array, own, at);
        let place = Place::Array(array.clone());
        let version = version(at.versions, &place, at.time);
        forms.make(Node::Element(dtype, place, subscripts, version))
    }
}
