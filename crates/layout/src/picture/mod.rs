//! Pictures of layouts, of thread-value maps and of tiled instructions.
//!
//! A picture is panels of cells, each with a label and a shade; it is drawn as terminal text, SVG
//! or LaTeX (TikZ). Contents are determined here; the three writers know nothing about layouts.

mod latex;
mod svg;
mod text;

use crate::{ComposedLayout, Error, IntTuple, Layout, Result, TiledInstruction, eval::Value, fit::LIMIT};

/// A cell of a panel: what is written in it, and its shade.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    /// One line, or two: a thread and its value.
    label: Vec<String>,
    /// Cells with one shade belong together.
    shade: usize,
}

/// A rectangle of cells, with numbers of rows and columns.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Panel {
    caption: String,
    /// Its position: whether it is below and whether it is right of other panels.
    place: (bool, bool),
    rows: Vec<Vec<Cell>>,
}

/// A picture. See the module's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    title: String,
    panels: Vec<Panel>,
    colours: Colours,
}

/// What a cell's shade stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colours {
    /// Eight greys: values modulo 8.
    Grey,
    /// Eight hues: threads modulo 8.
    Hues,
}

impl Colours {
    /// Red, green and blue of a shade.
    fn rgb(self, shade: usize) -> [u8; 3] {
        const GREYS: [u8; 8] = [255, 153, 204, 102, 230, 128, 179, 77];
        const HUES: [[u8; 3]; 8] = [
            [174, 199, 232],
            [255, 187, 120],
            [152, 223, 138],
            [255, 152, 150],
            [197, 176, 213],
            [219, 219, 141],
            [158, 218, 229],
            [247, 182, 210],
        ];
        match self {
            Colours::Grey => [GREYS[shade % 8]; 3],
            Colours::Hues => HUES[shade % 8],
        }
    }
}

/// More cells than this are not drawn.
const MOST_CELLS: i64 = 1 << 16;

impl Picture {
    /// The picture of a value, if it has one.
    pub fn of(value: &Value) -> Result<Picture> {
        match value {
            Value::Layout(layout) => Picture::of_layout(layout),
            Value::Composed(composed) => Picture::of_composed(composed),
            Value::ThreadValues { layout, tile } => Picture::of_thread_values(layout, tile),
            Value::Instruction(tiled) => Picture::of_instruction(tiled),
            other => match other.layout() {
                Some(layout) => Picture::of_layout(&layout),
                None => Err(Error::Call(format!("{other} has no picture; a layout has one"))),
            },
        }
    }

    /// A layout: a row for each index of the first mode, a column for each of the others.
    pub fn of_layout(layout: &Layout) -> Result<Picture> {
        grid(layout, layout.to_string(), &|i| layout.at(i))
    }

    /// A swizzled layout, with rows and columns as [`Picture::of_layout`] has them.
    pub fn of_composed(composed: &ComposedLayout) -> Result<Picture> {
        grid(&composed.layout, composed.to_string(), &|i| composed.at(i))
    }

    /// A layout of (thread, value) in a tile: the holder of each cell.
    pub fn of_thread_values(layout: &Layout, tile: &IntTuple) -> Result<Picture> {
        let mut sizes = Vec::new();
        for mode in tile.modes() {
            sizes.push(mode.product()?.as_const().ok_or_else(|| Error::open("picture", layout))?);
        }
        let [rows, columns] = sizes[..] else {
            return Err(Error::Profile(format!("a tile has rows and columns, not {tile}")));
        };
        let [threads, values] = layout
            .modes()
            .try_into()
            .map_err(|_| Error::Profile(format!("{layout} is not a layout of (threads, values)")))?;
        few(rows.saturating_mul(columns))?;
        let (threads, values) = (threads.known("picture")?.size, values.known("picture")?.size);
        few(threads.saturating_mul(values))?;
        let mut cells = vec![vec![Cell { label: Vec::new(), shade: 0 }; index(columns)?]; index(rows)?];
        for thread in 0..threads {
            for value in 0..values {
                let at = layout.at_coordinate(&IntTuple::from(vec![thread, value]))?;
                if at < 0 || at >= rows * columns {
                    return Err(Error::Profile(format!(
                        "thread {thread} holds {at} as its value {value}, outside a tile {tile}"
                    )));
                }
                let cell = &mut cells[index(at % rows)?][index(at / rows)?];
                // The first thread that holds a cell is given.
                if cell.label.is_empty() {
                    *cell = holder(thread, value)?;
                }
            }
        }
        let panel = Panel { caption: String::new(), place: (false, false), rows: cells };
        Ok(Picture { title: format!("{layout} in {tile}"), panels: vec![panel], colours: Colours::Hues })
    }

    /// A tiled instruction: `A` on the left, `B` on top, `C` between them.
    pub fn of_instruction(tiled: &TiledInstruction) -> Result<Picture> {
        let [m, n, k] = tiled.shape()?;
        few(m.saturating_mul(n).saturating_add((m + n).saturating_mul(k)))?;
        let captions = ["A (m, k)", "B (k, n)", "C (m, n)"];
        let places = [(true, false), (false, true), (true, true)];
        let mut panels = Vec::new();
        for ((held, caption), place) in tiled.holders()?.into_iter().zip(captions).zip(places) {
            let mut rows = Vec::new();
            for row in held {
                rows.push(row.into_iter().map(|(t, v)| holder(t, v)).collect::<Result<Vec<_>>>()?);
            }
            panels.push(Panel { caption: caption.into(), place, rows });
        }
        let threads = tiled.threads()?;
        let title = format!("{}: {m} x {n} x {k}, {threads} threads", tiled.instruction.name);
        Ok(Picture { title, panels, colours: Colours::Hues })
    }

    /// The picture as text for a terminal.
    pub fn text(&self) -> String {
        text::write(self)
    }

    /// The picture as an SVG document.
    pub fn svg(&self) -> String {
        svg::write(self)
    }

    /// As a LaTeX document that draws it with TikZ.
    pub fn latex(&self) -> String {
        latex::write(self)
    }

    /// The sizes of the panels on the left and of those on top: rows above, columns left.
    fn margins(&self) -> (usize, usize) {
        let above = self.panels.iter().filter(|p| !p.place.0).map(|p| p.rows.len()).max();
        let left =
            self.panels.iter().filter(|p| !p.place.1).map(|p| p.rows.first().map_or(0, Vec::len)).max();
        let several = self.panels.len() > 1;
        // Headings are between panels.
        (if several { above.unwrap_or(0) + 2 } else { 0 }, if several { left.unwrap_or(0) + 2 } else { 0 })
    }
}

fn holder(thread: i64, value: i64) -> Result<Cell> {
    Ok(Cell { label: vec![format!("T{thread}"), format!("V{value}")], shade: index(thread)? })
}

fn index(value: i64) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::Overflow)
}

fn few(cells: i64) -> Result<()> {
    if cells > MOST_CELLS.min(LIMIT) {
        return Err(Error::TooLarge { operation: "picture", points: cells });
    }
    Ok(())
}

fn grid(layout: &Layout, title: String, at: &dyn Fn(i64) -> Result<i64>) -> Result<Picture> {
    let size = layout.known("picture")?.size;
    few(size)?;
    // One mode is drawn along a row.
    let modes = layout.modes();
    let height = match (modes.len(), modes.first()) {
        (2.., Some(first)) => first.known("picture")?.size,
        _ => 1,
    };
    let mut rows = Vec::new();
    for row in 0..height {
        let mut cells = Vec::new();
        for column in 0..size / height {
            let value = at(row + height * column)?;
            cells.push(Cell { label: vec![value.to_string()], shade: index(value.rem_euclid(8))? });
        }
        rows.push(cells);
    }
    let panel = Panel { caption: String::new(), place: (false, false), rows };
    Ok(Picture { title, panels: vec![panel], colours: Colours::Grey })
}
