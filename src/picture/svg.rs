//! Pictures of points as SVG: squares with labels, rows and columns numbered outside.
//!
//! A shade is a block, or a thread where there are no blocks, or a tile where there are no threads
//! either; a label is who runs a cell, or when it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use loopwright_kernel_ir::{Dim, HardwareAxis, PerDim};

use super::points::{Cell, Panel, Picture, Runner};

/// The least width of a cell.
const SIDE: usize = 24;
/// The width of a character.
const LETTER: usize = 6;
/// Space around panels, in pixels.
const MARGIN: usize = 16;
/// The height of a line of text.
const LINE: usize = 16;
/// The width of the longest line above a panel, in characters, before it is broken.
const LINE_LENGTH: usize = 56;

/// The shades, of which neighbours differ.
const HUES: [&str; 8] =
    ["#aec7e8", "#ffbb78", "#98df8a", "#ff9896", "#c5b0d5", "#dbdb8d", "#9edae5", "#f7b6d2"];

/// A panel with what is written into it.
struct Drawn<'p> {
    panel: &'p Panel,
    /// The lines above it, of which the first are its caption.
    lines: Vec<String>,
    heads: usize,
    labels: BTreeMap<[i64; 2], (String, usize)>,
    /// The width and the height of a cell.
    cell: (usize, usize),
}

pub(super) fn write(picture: &Picture) -> String {
    let (mut body, mut width) = (String::new(), 9 * picture.title.len() + 2 * MARGIN);
    let mut top = 3 * LINE;
    for panel in &picture.panels {
        let drawn = Drawn::of(panel);
        let (right, bottom) = drawn.draw(top, &mut body);
        width = width.max(right + MARGIN);
        top = bottom + LINE;
    }
    let title = escaped(&picture.title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {top}\" width=\"{width}\" \
         height=\"{top}\" font-family=\"monospace\" font-size=\"10\" text-anchor=\"middle\">\n\
         <title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{MARGIN}\" y=\"22\" font-size=\"14\" text-anchor=\"start\">{title}</text>\n\
         {body}</svg>\n"
    )
}

/// Whether two panels look alike, but for their captions.
pub(super) fn look_alike(one: &Panel, other: &Panel) -> bool {
    let looks = |panel: &Panel| {
        let mut out = String::new();
        Drawn::of(&Panel { caption: String::new(), ..panel.clone() }).draw(0, &mut out);
        out
    };
    looks(one) == looks(other)
}

/// What the labels of cells say: a thread, a block, or a place in the order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Thread,
    Block,
    Order,
}

impl<'p> Drawn<'p> {
    fn of(panel: &'p Panel) -> Drawn<'p> {
        let (blocks, threads) = (panel.dims(HardwareAxis::Grid), panel.dims(HardwareAxis::Block));
        let label = match (&blocks[..], &threads[..]) {
            (_, [_, ..]) => Label::Thread,
            ([_, ..], []) => Label::Block,
            ([], []) => Label::Order,
        };
        let ranks = ranks(panel);
        // A thread that runs several cells has an order of its own.
        let in_order = label != Label::Order && ranks.values().any(|rank| *rank > 0);
        let mut shades: BTreeMap<Vec<i64>, usize> = BTreeMap::new();
        let mut labels = BTreeMap::new();
        for (at, cell) in &panel.cells {
            let who = match label {
                Label::Thread => span(cell, &|r| text(&r.thread, &threads)),
                Label::Block => span(cell, &|r| text(&r.block, &blocks)),
                Label::Order => String::new(),
            };
            let rank = ranks.get(at).copied().unwrap_or(0);
            let text = match (label, in_order) {
                (Label::Order, _) => rank.to_string(),
                (_, true) => format!("{who} #{rank}"),
                (_, false) => who,
            };
            let shade = shade(cell, &blocks, &threads, &mut shades);
            labels.insert(*at, (text, shade));
        }
        let longest = labels.values().map(|(text, _)| text.len()).max().unwrap_or(1);
        let cell = (SIDE.max(longest * LETTER + 6), SIDE);
        let several = panel.cells.values().any(|c| c.runners.len() > 1);
        let mut lines = if panel.caption.is_empty() { Vec::new() } else { broken(&panel.caption) };
        let heads = lines.len();
        lines.extend(legend(panel, label, in_order, several, (&blocks, &threads)));
        Drawn { panel, lines, heads, labels, cell }
    }

    /// Draws it below `top`; returns its right and its lower end.
    fn draw(&self, top: usize, out: &mut String) -> (usize, usize) {
        let ((first_row, last_row), (first_column, last_column)) = (self.panel.ends(0), self.panel.ends(1));
        let (width, height) = self.cell;
        let [row_name, column_name] = &self.panel.axes;
        let digits = last_row.to_string().len().max(first_row.to_string().len()).max(row_name.len());
        let left = MARGIN + if row_name.is_empty() { 0 } else { digits * LETTER + 8 };
        for (k, line) in self.lines.iter().enumerate() {
            let weight = if k < self.heads { " font-weight=\"bold\"" } else { "" };
            let _ = writeln!(
                out,
                "<text x=\"{MARGIN}\" y=\"{}\" font-size=\"12\"{weight} text-anchor=\"start\">{}</text>",
                top + k * LINE,
                escaped(line)
            );
        }
        let head = top + self.lines.len() * LINE + 4;
        let grey = |x: usize, y: usize, text: &str, out: &mut String| {
            let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" fill=\"#777\">{}</text>", escaped(text));
        };
        let far = |least: i64, k: i64| usize::try_from(k - least).unwrap_or(0);
        grey(left + (far(first_column, last_column) + 1) * width / 2, head, column_name, out);
        for column in first_column..=last_column {
            grey(left + far(first_column, column) * width + width / 2, head + 12, &column.to_string(), out);
        }
        let grid = head + LINE;
        if !row_name.is_empty() {
            grey(MARGIN + digits * LETTER / 2, head + 12, row_name, out);
            for row in first_row..=last_row {
                let y = grid + far(first_row, row) * height + height / 2 + 4;
                grey(MARGIN + digits * LETTER / 2, y, &row.to_string(), out);
            }
        }
        for (at, (label, shade)) in &self.labels {
            let (x, y) = (left + far(first_column, at[1]) * width, grid + far(first_row, at[0]) * height);
            let hue = HUES.get(*shade).copied().unwrap_or("white");
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{hue}\" \
                 stroke=\"black\"/><text x=\"{}\" y=\"{}\">{label}</text>",
                x + width / 2,
                y + height / 2 + 4
            );
        }
        let longest = self.lines.iter().map(|line| line.len() * 8).max().unwrap_or(0);
        (
            (left + (far(first_column, last_column) + 1) * width).max(MARGIN + longest),
            grid + (far(first_row, last_row) + 1) * height + LINE,
        )
    }
}

/// What labels and shades are.
fn legend(
    panel: &Panel,
    label: Label,
    in_order: bool,
    several: bool,
    (blocks, threads): (&[Dim], &[Dim]),
) -> Vec<String> {
    let names = |of: fn(Dim) -> HardwareAxis, dims: &[Dim]| {
        dims.iter().map(|dim| of(*dim).coordinate()).collect::<Vec<_>>().join(",")
    };
    let mut lines = Vec::new();
    let shown = match label {
        Label::Thread => names(HardwareAxis::Block, threads),
        Label::Block => names(HardwareAxis::Grid, blocks),
        Label::Order => "the order".to_owned(),
    };
    let order = if in_order { ", #the order within a thread" } else { "" };
    let shades = match label {
        Label::Thread if !blocks.is_empty() && !panel.one_block => {
            format!("; shades: {}", names(HardwareAxis::Grid, blocks))
        }
        Label::Order if panel.cells.values().flat_map(|c| &c.tiles).any(|t| !t.is_empty()) => {
            "; shades: iterations of the outer loops".to_owned()
        }
        Label::Thread | Label::Block | Label::Order => String::new(),
    };
    lines.push(format!("labels: {shown}{order}{shades}"));
    if several {
        lines.push("a..b: several run instances of the cell, the first and the last are named".to_owned());
    }
    let copied = panel.copied.iter().filter(|axis| axis.is_in_block() || !panel.one_block);
    let copied: Vec<&str> = copied.map(HardwareAxis::coordinate).collect();
    if !copied.is_empty() {
        lines.push(format!("each {} runs all of this for itself", copied.join(", ")));
    }
    if panel.one_block && !blocks.is_empty() {
        lines.push("of the first block; each has an array of its own".to_owned());
    }
    if panel.conditional {
        lines.push("data decide which of these do something".to_owned());
    }
    lines
}

/// A text in lines that are not too long, broken at spaces.
fn broken(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= LINE_LENGTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The number of a cell among those of one thread, or of all if there are no threads: cells with
/// equal times, which lanes run, have equal numbers.
fn ranks(panel: &Panel) -> BTreeMap<[i64; 2], usize> {
    let mut times: BTreeMap<Option<&Runner>, BTreeSet<&Vec<i64>>> = BTreeMap::new();
    for cell in panel.cells.values() {
        times.entry(cell.runners.first()).or_default().extend(cell.times.first());
    }
    let of = |cell: &Cell| {
        let own = times.get(&cell.runners.first())?;
        own.iter().position(|time| Some(*time) == cell.times.first())
    };
    panel.cells.iter().filter_map(|(at, cell)| Some((*at, of(cell)?))).collect()
}

/// The number of a cell's shade; one that there is not for a cell that several blocks run.
fn shade(cell: &Cell, blocks: &[Dim], threads: &[Dim], shades: &mut BTreeMap<Vec<i64>, usize>) -> usize {
    // Neighbours along each dimension differ.
    let hue = |at: &PerDim<i64>| usize::try_from((at.x + 3 * at.y + 5 * at.z).rem_euclid(8)).unwrap_or(0);
    let hues: BTreeSet<usize> = match (blocks, threads) {
        ([_, ..], _) => cell.runners.iter().map(|r| hue(&r.block)).collect(),
        ([], [_, ..]) => cell.runners.iter().map(|r| hue(&r.thread)).collect(),
        ([], []) => {
            let tiles = cell.tiles.iter().map(|tile| {
                let next = shades.len() % HUES.len();
                *shades.entry(tile.clone()).or_insert(next)
            });
            tiles.take(1).collect()
        }
    };
    match (hues.len(), hues.first()) {
        (1, Some(hue)) => *hue,
        _ => HUES.len(),
    }
}

/// Who runs a cell: one, or the first and the last of several.
fn span(cell: &Cell, text: &dyn Fn(&Runner) -> String) -> String {
    let (Some(first), Some(last)) = (cell.runners.first(), cell.runners.last()) else { return String::new() };
    let (first, last) = (text(first), text(last));
    if first == last { first } else { format!("{first}..{last}") }
}

/// Coordinates along some dimensions, x first.
fn text(at: &PerDim<i64>, dims: &[Dim]) -> String {
    dims.iter().map(|dim| at[*dim].to_string()).collect::<Vec<_>>().join(",")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
