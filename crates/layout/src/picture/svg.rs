//! Pictures as SVG: squares with labels, rows and columns numbered outside.

use super::{Panel, Picture};

/// The side of a cell, in pixels.
const SIDE: usize = 36;

pub(super) fn write(picture: &Picture) -> String {
    let (above, left) = picture.margins();
    let (mut body, mut width, mut height) = (String::new(), 0, 0);
    for panel in &picture.panels {
        // A row and a column for the numbers, and a line for the title.
        let row = 2 + if panel.place.0 { above } else { 0 };
        let column = 1 + if panel.place.1 { left } else { 0 };
        draw(panel, picture, row, column, &mut body);
        width = width.max(column + panel.rows.first().map_or(0, Vec::len) + 1);
        height = height.max(row + panel.rows.len() + 1);
    }
    let title = escaped(&picture.title);
    let (pixels_x, pixels_y) = ((width * SIDE).max(9 * picture.title.len()), height * SIDE);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {pixels_x} {pixels_y}\" \
         width=\"{pixels_x}\" height=\"{pixels_y}\" font-family=\"monospace\" font-size=\"12\" \
         text-anchor=\"middle\">\n\
         <title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"8\" y=\"22\" font-size=\"14\" text-anchor=\"start\">{title}</text>\n\
         {body}</svg>\n"
    )
}

fn draw(panel: &Panel, picture: &Picture, row: usize, column: usize, out: &mut String) {
    let number = |x: usize, y: usize, text: &str, out: &mut String| {
        out.push_str(&format!("<text x=\"{x}\" y=\"{y}\" fill=\"#777\">{text}</text>\n"));
    };
    let middle = |k: usize| k * SIDE + SIDE / 2;
    if !panel.caption.is_empty() {
        let (x, y) = (column * SIDE, (row - 1) * SIDE + 8);
        let caption = escaped(&panel.caption);
        out.push_str(&format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"start\">{caption}</text>\n"));
    }
    for c in 0..panel.rows.first().map_or(0, Vec::len) {
        number(middle(column + c), row * SIDE - 6, &c.to_string(), out);
    }
    for (r, cells) in panel.rows.iter().enumerate() {
        number(middle(column - 1) + 6, middle(row + r) + 4, &r.to_string(), out);
        for (c, cell) in cells.iter().enumerate() {
            let (x, y) = ((column + c) * SIDE, (row + r) * SIDE);
            let [red, green, blue] = picture.colours.rgb(cell.shade);
            out.push_str(&format!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{SIDE}\" height=\"{SIDE}\" \
                 fill=\"#{red:02x}{green:02x}{blue:02x}\" stroke=\"black\"/>\n"
            ));
            // White on dark greys.
            let ink = if red.max(green).max(blue) < 140 { " fill=\"white\"" } else { "" };
            let first = middle(row + r) + 4 - 7 * (cell.label.len().max(1) - 1);
            for (k, line) in cell.label.iter().enumerate() {
                let (x, y) = (middle(column + c), first + 14 * k);
                out.push_str(&format!("<text x=\"{x}\" y=\"{y}\"{ink}>{line}</text>\n"));
            }
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
