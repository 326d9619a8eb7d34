//! Pictures as terminal text: one panel after the other, cells with borders, rows and columns
//! numbered.

use super::{Cell, Picture};

pub(super) fn write(picture: &Picture) -> String {
    let mut out = format!("{}\n", picture.title);
    for panel in &picture.panels {
        if !panel.caption.is_empty() {
            out.push_str(&format!("\n{}\n", panel.caption));
        }
        let label = |cell: &Cell| cell.label.concat();
        let columns = panel.rows.first().map_or(0, Vec::len);
        let widest = panel.rows.iter().flatten().map(|c| label(c).len()).max().unwrap_or(1);
        let width = widest.max(columns.saturating_sub(1).to_string().len());
        let margin = panel.rows.len().saturating_sub(1).to_string().len();
        let heading: String = (0..columns).map(|c| format!(" {c:>width$}  ")).collect();
        let border = format!("{:margin$} +{}\n", "", format!("{}+", "-".repeat(width + 2)).repeat(columns));
        out.push_str(&format!("{:margin$}  {heading}\n{border}", ""));
        for (r, row) in panel.rows.iter().enumerate() {
            let cells: String = row.iter().map(|c| format!(" {:>width$} |", label(c))).collect();
            out.push_str(&format!("{r:>margin$} |{cells}\n{border}"));
        }
    }
    // No line ends with spaces.
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
