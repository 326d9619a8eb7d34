//! Matrices that the lanes of a warp store together.
//!
//! The contract copies elements of a private array to shared memory, each lane its own. What runs
//! stores matrices: a lane gives two neighbours of the private array for each of them, and the
//! addresses of rows are given by other lanes. Both are enumerated, each lane and each value of the
//! loops, which go from one constant to another: each element of each lane has to be stored once,
//! where the contract says. Names around the atom stay names, over which the cells have to be the
//! same functions. No two elements may have one cell, since nothing says which is stored last.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Aff, Name};
use loopwright_poly::{Result, Table};

use super::{Flaw, Mirrors, are_apart, held::is_of_warp, loop_name, texts, warp_lanes};
use crate::{
    Memory, Stmt,
    verify::reading::{AtomText, Reading, lane_of},
};
use texts::{Found, Loop, Source};

/// Statements beyond so many instances of a lane are not enumerated.
const MOST: i64 = 4096;

/// By lane and place in the private array: the cell that is written.
type Cells = Table<(i64, Aff), Vec<Aff>>;

/// What is wrong with stores of matrices.
pub(super) fn wrong_store(
    reading: &Reading<'_>,
    text: &AtomText<'_>,
    mirrors: &Mirrors,
) -> Result<Option<Flaw>> {
    let warp = match warp_lanes(reading) {
        Ok(warp) => warp,
        Err(why) => return Ok(Some(why.into())),
    };
    let read = texts::kept(reading, text).and_then(|copy| Ok((copy, texts::stores(reading, text)?)));
    let (copy, stores) = match read {
        Ok(read) => read,
        Err(why) => return Ok(Some(why.into())),
    };
    let (Memory::Private(from), Memory::Shared(to)) = (copy.from.memory, copy.to.memory) else {
        return Ok(Some("matrices are stored from private to shared memory alone".into()));
    };
    let (Some(array), Some(shared)) = (reading.kernel.private.get(from), reading.kernel.shared.get(to))
    else {
        return Ok(Some("there is no such array".into()));
    };
    let row = usize::from(Stmt::STORED_ROW) * array.dtype.bytes();
    if array.dtype != shared.dtype || row != Stmt::ROW_BYTES || array.layout.is_some() {
        return Ok(Some("matrices are stored whose rows have not eight elements of two bytes".into()));
    }
    if mirrors.has(copy.from.memory) {
        let name = reading.array_name(copy.from.memory);
        return Ok(Some(format!("`{name}` stands for another array, or another one for it").into()));
    }
    // The number of an element in the private array, which has to be the same for all lanes.
    let own_place = |cell: &[Aff], values: &Table<Name, i64>| -> Result<Option<Aff>> {
        let own = substituted(cell, &|n| values.get(n).copied())?;
        own.iter().all(|s| is_of_warp(reading, s)).then(|| array.offset_in_rows(&own)).transpose()
    };
    let by_lane = || Ok(Some("which element of its array a lane stores depends on the lane".into()));
    let whole = |cell: &[Option<Aff>]| cell.iter().cloned().collect::<Option<Vec<Aff>>>();
    let unread = || Ok(Some("a subscript is not affine".into()));
    let lanes = i64::from(reading.program.target.warp_size);

    // What the contract says.
    let mut wanted = Cells::default();
    let mut first: Option<Vec<Aff>> = None;
    let mut taken = BTreeSet::new();
    let (Some(of_from), Some(of_to)) = (whole(&copy.from.cell), whole(&copy.to.cell)) else {
        return unread();
    };
    let loops: Vec<(Loop, i64)> = copy.loops.iter().map(|one| (*one, 1)).collect();
    let instances = match instances(reading, &loops) {
        Ok(instances) => instances,
        Err(why) => return Ok(Some(why.into())),
    };
    for values in &instances {
        let Some(own) = own_place(&of_from, values)? else { return by_lane() };
        for lane in 0..lanes {
            let value = |n: &Name| values.get(n).copied().or_else(|| warp.coordinate(n, lane));
            let cell = substituted(&of_to, &value)?;
            // Cells differ by constants, so that equal ones are found.
            let first = first.get_or_insert_with(|| cell.clone());
            let mut apart = Vec::new();
            for (s, of_first) in cell.iter().zip(first) {
                let Some(by) = s.sub(of_first)?.as_constant() else {
                    return Ok(Some("how far its cells are apart depends on names around it".into()));
                };
                apart.push(by);
            }
            if !taken.insert(apart) || wanted.insert((lane, own.clone()), cell).is_some() {
                return Ok(Some("it stores an element twice, or two elements in one place".into()));
            }
        }
    }

    // What is done.
    for store in &stores {
        let touch = &reading.touches[store.to];
        if store.from.memory != copy.from.memory || touch.memory != copy.to.memory {
            return Ok(Some("matrices are stored from or to another array".into()));
        }
        let (Some(of_from), Some(of_row)) = (whole(&store.from.cell), whole(&touch.cell)) else {
            return unread();
        };
        let along = lane_of(store.to);
        let instances = match self::instances(reading, &store.loops) {
            Ok(instances) => instances,
            Err(why) => return Ok(Some(why.into())),
        };
        for values in &instances {
            let Some(own) = own_place(&of_from, values)? else { return by_lane() };
            for (lane, k) in (0..lanes).flat_map(|l| (0..2 * i64::from(store.matrices)).map(move |k| (l, k)))
            {
                let (number, element, transposed) = (k / 2, k % 2, store.transposed);
                let source = Source::Matrix { number, each: 2, element, transposed };
                let (at, behind) = source.of_lane(lane);
                let value = |n: &Name| match *n == along {
                    true => Some(behind),
                    false => values.get(n).copied().or_else(|| warp.coordinate(n, at)),
                };
                let cell = substituted(&of_row, &value)?;
                let own = own.add_constant(k)?;
                let found = wanted.remove(&(lane, own.clone()));
                if found.as_ref() != Some(&cell) {
                    let text = |cell: &[Aff]| {
                        let cell: Vec<String> = cell.iter().map(Aff::to_string).collect();
                        format!("{}[{}]", reading.array_name(copy.to.memory), cell.join(", "))
                    };
                    let shown = found.as_ref().map_or(Ok(true), |wanted| are_apart(&cell, wanted))?;
                    let wanted = found.map(|cell| format!("to {}", text(&cell)));
                    let wanted = wanted.unwrap_or_else(|| "nowhere, or has by then".into());
                    let why = format!(
                        "element {own} of `{}` of lane {lane} is stored to {}, where the contract stores it \
                         {wanted}",
                        array.name,
                        text(&cell)
                    );
                    return Ok(Some(Flaw { why, shown }));
                }
            }
        }
    }
    Ok(wanted.keys().min_by_key(|(lane, own)| (*lane, own.to_string())).map(|(lane, own)| Flaw {
        why: format!("element {own} of `{}` of lane {lane} is not stored, as the contract does", array.name),
        shown: true,
    }))
}

/// A cell where some names have values.
fn substituted(cell: &[Aff], value: &dyn Fn(&Name) -> Option<i64>) -> Result<Vec<Aff>> {
    cell.iter().map(|s| s.substitute(&|n| value(n).map(Aff::constant))).collect()
}

/// The values of the counters of loops, in each of their instances.
fn instances(reading: &Reading<'_>, loops: &[(Loop, i64)]) -> Found<Vec<Table<Name, i64>>> {
    let mut all = vec![Table::default()];
    let mut count = 1i64;
    for (one, step) in loops {
        let values = (0..).map(|k| k * step).take_while(|v| *v < one.length);
        count = count.saturating_mul((one.length + step - 1) / step);
        if count > MOST {
            return Err("it stores too many elements for a check".into());
        }
        let name = loop_name(reading, one.counter);
        let values: Vec<i64> = values.map(|v| one.first + v).collect();
        all = all
            .iter()
            .flat_map(|own| {
                values.iter().map(|v| {
                    let mut own: Table<Name, i64> = own.clone();
                    own.insert(name.clone(), *v);
                    own
                })
            })
            .collect();
    }
    Ok(all)
}
