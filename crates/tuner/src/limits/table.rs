//! The report as text.

use std::fmt::Write;

use super::{Best, LimitReport, Reached, Series};
use crate::basis;

/// The columns of a table, all cells of one width.
struct Columns(Vec<[String; 6]>);

impl Columns {
    fn text(&self) -> String {
        let width = |c: usize| self.0.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..6).map(width).collect();
        let mut text = String::new();
        for row in &self.0 {
            let mut line = String::new();
            for (c, cell) in row.iter().enumerate() {
                // Words are left-aligned, figures right-aligned.
                let _ = match c {
                    1 | 3 => write!(line, "  {cell:>0$}", widths[c]),
                    _ => write!(line, "  {cell:<0$}", widths[c]),
                };
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}

impl LimitReport {
    /// One table per series: one line per shape, with the best point, its time, the fraction of the
    /// memory's limit that it reaches, and its bottleneck by the counts.
    pub fn table(&self) -> String {
        let everywhere = self.everywhere().map_or_else(String::new, |sizes| format!("; {sizes}"));
        let mut text = format!("fraction of the memory's limit by {}{everywhere}\n", self.by());
        for series in &self.series {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{}", series.label);
            let _ = writeln!(text, "  {}", series.on());
            if let Some(note) = series.measured().note() {
                let _ = writeln!(text, "  {note}");
            }
            let head = ["shape", "ms", "", "of limit", "by the counts", "best point"];
            let rows = series.shapes.iter().map(|shape| self.row(shape));
            text.push_str(&Columns([head.map(str::to_owned)].into_iter().chain(rows).collect()).text());
        }
        text
    }

    fn row(&self, shape: &Reached) -> [String; 6] {
        let name = self.shape(shape);
        let Some(Best { point, milliseconds, measured, fraction, bottleneck, .. }) = &shape.best else {
            let empty = String::new;
            return [name, empty(), empty(), empty(), empty(), shape.failure()];
        };
        [
            name,
            format!("{milliseconds:.4}"),
            if *measured { "measured" } else { "estimate" }.to_owned(),
            format!("{:.1} %", 100.0 * fraction),
            bottleneck.to_string(),
            point.to_string(),
        ]
    }
}

impl Reached {
    /// Why there is no best point.
    pub(super) fn failure(&self) -> String {
        match self.timed + self.counted {
            0 => format!("no point is legal: {} refused or wrong", self.failed),
            _ => "nothing has to move: no limit".to_owned(),
        }
    }
}

impl Series {
    /// Where it ran, and the limit to which its fractions refer:
    /// `on NVIDIA H200; limit 4.53 TB/s, measured`.
    pub(super) fn on(&self) -> String {
        let limit = self.limit().map_or_else(String::new, |limit| format!("; limit {limit}"));
        let on = match self.bests().any(|b| b.measured) {
            true => format!("on {}", self.key.device),
            false => match basis::device(&self.machine) {
                "" => format!("on {}, for a machine that is not recorded", self.key.device),
                basis::EMULATED => format!("on {}", self.key.device),
                device => format!("on {}, for {device}", self.key.device),
            },
        };
        format!("{on}{limit}")
    }
}
