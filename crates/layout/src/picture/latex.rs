//! Pictures as LaTeX: a document of one TikZ picture, in which a cell is a filled node.

use super::{Colours, Picture};

pub(super) fn write(picture: &Picture) -> String {
    let (above, left) = picture.margins();
    let mut body = String::new();
    for panel in &picture.panels {
        let row = if panel.place.0 { above } else { 0 };
        let column = if panel.place.1 { left } else { 0 };
        if !panel.caption.is_empty() {
            body.push_str(&format!(
                "\\node[anchor=west] at ({:.1},{:.1}) {{{}}};\n",
                spot(column, -0.5),
                down(row, -1.5),
                panel.caption
            ));
        }
        for c in 0..panel.rows.first().map_or(0, Vec::len) {
            body.push_str(&format!("\\node[number] at ({},{}) {{{c}}};\n", column + c, down(row, -0.8)));
        }
        for (r, cells) in panel.rows.iter().enumerate() {
            body.push_str(&format!(
                "\\node[number] at ({},{}) {{{r}}};\n",
                spot(column, -0.8),
                down(row + r, 0.0)
            ));
            for (c, cell) in cells.iter().enumerate() {
                let label = cell.label.join("\\\\");
                body.push_str(&format!(
                    "\\node[cell,fill=shade{}{}] at ({},{}) {{{label}}};\n",
                    cell.shade % 8,
                    if dark(picture.colours, cell.shade) { ",text=white" } else { "" },
                    column + c,
                    down(row + r, 0.0)
                ));
            }
        }
    }
    let colours: String = (0..8)
        .map(|k| {
            let [red, green, blue] = picture.colours.rgb(k);
            format!("\\definecolor{{shade{k}}}{{RGB}}{{{red},{green},{blue}}}\n")
        })
        .collect();
    format!(
        "% {}\n\\documentclass{{standalone}}\n\\usepackage{{tikz}}\n{colours}\\begin{{document}}\n\
         \\begin{{tikzpicture}}[\n\
         \x20 cell/.style={{draw,minimum size=1cm,inner sep=0pt,align=center}},\n\
         \x20 number/.style={{font=\\small,text=gray}}]\n\
         {body}\\end{{tikzpicture}}\n\\end{{document}}\n",
        picture.title
    )
}

/// As [`spot`], downwards.
fn down(cells: usize, off: f64) -> f64 {
    0.0 - spot(cells, off)
}

/// A coordinate in cells, a little off a cell's place. A picture has few cells.
fn spot(cells: usize, off: f64) -> f64 {
    f64::from(u32::try_from(cells).unwrap_or(u32::MAX)) + off
}

fn dark(colours: Colours, shade: usize) -> bool {
    colours.rgb(shade).iter().all(|part| *part < 140)
}
