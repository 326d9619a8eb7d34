//! Vectors of integers by number, and the instances and cells that they stand for.
//!
//! A run meets each instance and each cell many times. Names are compared once, when a run begins:
//! what is left of an instance is the number of its part and its point, of a cell the number of its
//! array, its owner and its subscripts. Both are looked up as such vectors, and what holds them
//! has their numbers. Those of the declared run stand for the same instances and arguments in a
//! transformed one, whose own follow.

use std::{collections::HashMap, sync::Arc};

use loopwright_kernel_ir::{AxisSet, HardwareAxis, Name, Part};
use loopwright_poly::Table;

use super::{CellName, Instance, schedule::Execution};
use crate::{Model, owner};

/// Vectors by number, in the order in which they came.
#[derive(Default)]
pub(super) struct Vectors {
    numbers: Table<Arc<[i64]>, usize>,
    all: Vec<Arc<[i64]>>,
}

impl Vectors {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn get(&self, vector: &[i64]) -> Option<usize> {
        self.numbers.get(vector).copied()
    }

    pub fn at(&self, number: usize) -> &Arc<[i64]> {
        &self.all[number]
    }

    /// The number of a vector, a new one if it has none.
    pub fn number(&mut self, vector: &[i64]) -> usize {
        if let Some(number) = self.get(vector) {
            return number;
        }
        let (number, vector) = (self.all.len(), Arc::<[i64]>::from(vector));
        self.all.push(vector.clone());
        self.numbers.insert(vector, number);
        number
    }
}

/// The number of an instance of a declared run, by which it is referred to.
pub(super) type Who = usize;

/// The part of a declared instruction that instances are of, with the names of their points.
#[derive(Clone)]
struct Head {
    instruction: Name,
    part: Part,
    names: Vec<Name>,
}

/// Instances by number. Their vectors are the number of the head, and then the point.
#[derive(Default)]
pub(super) struct Instances {
    heads: Vec<Head>,
    vectors: Vectors,
    /// The number of instances of the declared run.
    declared: usize,
}

impl Instances {
    /// Those of a run beside the declared one: parts have the same numbers.
    pub fn beside(declared: &Instances) -> Instances {
        Instances {
            heads: declared.heads.clone(),
            vectors: Vectors::default(),
            declared: declared.vectors.len(),
        }
    }

    /// The number of a part of a declared instruction.
    pub fn head(&mut self, instruction: &Name, part: Part, names: &[Name]) -> i64 {
        let same = |h: &Head| h.instruction == *instruction && h.part == part;
        let number = self.heads.iter().position(same).unwrap_or_else(|| {
            self.heads.push(Head { instruction: instruction.clone(), part, names: names.to_vec() });
            self.heads.len() - 1
        });
        i64::try_from(number).unwrap_or(i64::MAX)
    }

    /// The number of an instance, which may be one of the declared run.
    pub fn number(&mut self, vector: &[i64], declared: Option<&Instances>) -> Who {
        let known = declared.and_then(|d| d.vectors.get(vector));
        known.unwrap_or_else(|| self.declared + self.vectors.number(vector))
    }

    /// The vector of an instance. Those of the declared run are not of a run beside it.
    pub fn vector<'a>(&'a self, who: Who, declared: Option<&'a Instances>) -> &'a Arc<[i64]> {
        match (who.checked_sub(self.declared), declared) {
            (None, Some(declared)) => declared.vectors.at(who),
            (own, _) => self.vectors.at(own.unwrap_or(who)),
        }
    }

    /// The names of the point of an instance, with their values.
    pub fn point<'a>(&'a self, vector: &'a [i64]) -> impl Iterator<Item = (&'a Name, i64)> {
        self.head_of(vector).into_iter().flat_map(|h| &h.names).zip(vector.iter().skip(1).copied())
    }

    fn head_of(&self, vector: &[i64]) -> Option<&Head> {
        self.heads.get(usize::try_from(*vector.first()?).ok()?)
    }

    /// The instance of a vector.
    pub fn instance(&self, vector: &[i64]) -> Instance {
        let (instruction, part) =
            self.head_of(vector).map_or((Name::new(""), Part::Whole), |h| (h.instruction.clone(), h.part));
        let point = self.point(vector).map(|(n, v)| (n.clone(), v)).collect();
        Instance { instruction, part, point }
    }

    /// The number of an instance, if it has run.
    pub fn find(&self, who: &Instance) -> Option<Who> {
        let head = self.heads.iter().position(|h| {
            h.instruction == who.instruction
                && h.part == who.part
                && h.names.iter().eq(who.point.iter().map(|(n, _)| n))
        })?;
        let vector: Vec<i64> =
            i64::try_from(head).into_iter().chain(who.point.iter().map(|(_, v)| *v)).collect();
        self.vectors.get(&vector)
    }
}

/// An array of a run: who owns its cells.
struct Array {
    name: Name,
    owners: AxisSet,
    /// The lanes that have cells of their own.
    lanes: Vec<Name>,
    is_given: bool,
}

/// Cells by number. Their vectors are the number of the array, the owner, and the subscripts.
#[derive(Default)]
pub(super) struct Cells {
    arrays: Vec<Array>,
    vectors: Vectors,
}

impl Cells {
    /// The arrays of a model, those of the declared run first.
    ///
    /// `shared` has the axes that share each accumulator, `lanes` the lanes that own cells.
    pub fn new(
        model: &Model<'_>,
        declared: Option<&Cells>,
        shared: &HashMap<Name, AxisSet>,
        lanes: impl Fn(&Name) -> Vec<Name>,
    ) -> Cells {
        let known = declared.into_iter().flat_map(|d| &d.arrays).map(|a| &a.name);
        let mut names: Vec<&Name> = known.collect();
        for name in model.touches.keys() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let array = |name: &Name| {
            // Each thread that runs the whole reduction itself has its own accumulator; threads
            // that share the reduction combine theirs.
            let owners = match shared.get(name) {
                Some(shared) => HardwareAxis::all().filter(|axis| !shared.contains(*axis)).collect(),
                None => owner(model.space(name)),
            };
            Array { name: name.clone(), owners, lanes: lanes(name), is_given: model.is_given(name) }
        };
        Cells { arrays: names.into_iter().map(array).collect(), vectors: Vectors::default() }
    }

    /// The number of an array.
    pub fn array(&self, name: &Name) -> usize {
        self.arrays.iter().position(|a| a.name == *name).unwrap_or(usize::MAX)
    }

    /// The positions of an array's own lanes among inames.
    pub fn lanes(&self, array: usize, inames: &[Name]) -> Vec<Option<usize>> {
        let lanes = self.arrays.get(array).map_or(&[][..], |a| &a.lanes);
        lanes.iter().map(|l| inames.iter().position(|i| i == l)).collect()
    }

    /// The number of the cell that an execution touches in an array, by the positions of the
    /// array's lanes. The vector is room for what is looked up.
    pub fn touched(
        &mut self,
        array: usize,
        x: &Execution,
        lanes: &[Option<usize>],
        index: impl Iterator<Item = i64>,
        vector: &mut Vec<i64>,
    ) -> usize {
        vector.clear();
        vector.push(i64::try_from(array).unwrap_or(i64::MAX));
        if let Some(array) = self.arrays.get(array) {
            vector.extend(array.owners.iter().map(|axis| x.place[axis]));
        }
        // Outside the lanes there is no copy.
        vector.extend(lanes.iter().map(|at| at.map_or(i64::MIN, |k| x.values[k])));
        vector.extend(index);
        self.vectors.number(vector)
    }

    /// The number here of a cell of another run.
    pub fn same(&self, other: &Cells, cell: usize) -> Option<usize> {
        self.vectors.get(other.vectors.at(cell))
    }

    fn array_of(&self, cell: usize) -> Option<&Array> {
        let number = *self.vectors.at(cell).first()?;
        self.arrays.get(usize::try_from(number).ok()?)
    }

    pub fn is_given(&self, cell: usize) -> bool {
        self.array_of(cell).is_some_and(|a| a.is_given)
    }

    pub fn index(&self, cell: usize) -> &[i64] {
        let owned = self.array_of(cell).map_or(0, |a| a.owners.iter().count() + a.lanes.len());
        &self.vectors.at(cell)[1 + owned..]
    }

    pub fn name(&self, cell: usize) -> CellName {
        let array = self.array_of(cell).map_or_else(|| Name::new(""), |a| a.name.clone());
        CellName { array, index: self.index(cell).to_vec() }
    }
}
