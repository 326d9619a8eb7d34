//! A search as one self-contained page: plots as inline SVG, no scripts, no external resources.

use std::fmt::Write;

use loopwright_kernel_ir::Name;

use crate::page::{Frame, STYLE, Scale, escape, number, spaced};
use crate::{Cost, Outcome, Point, Tuning, tuning::best_first};

const WIDTH: f64 = 368.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 56.0;
const BOTTOM: f64 = 44.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = 14.0;
/// The width of a digit of a label, in pixels.
const LETTER: f64 = 6.5;

/// A dot of a plot: its place in the units of the axes, and the text that it shows.
struct Dot {
    x: f64,
    y: f64,
    best: bool,
    label: String,
}

struct Plot<'p> {
    title: &'p str,
    x: &'p str,
    y: &'p str,
    /// Values on the x axis at equal distances instead of a scale.
    categories: Option<&'p [i64]>,
    logarithmic: bool,
    dots: Vec<Dot>,
    /// Corners of the line of the limit.
    limit: Vec<(f64, f64)>,
    /// A line across the whole plot: the lower bound of all candidates.
    floor: Option<f64>,
}

impl Plot<'_> {
    fn svg(&self) -> String {
        let mut out = String::new();
        let (x0, x1, y0, y1) = (LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, TOP);
        let every = |f: fn(&(f64, f64)) -> f64| {
            self.dots.iter().map(|d| (d.x, d.y)).chain(self.limit.iter().copied()).map(move |p| f(&p))
        };
        let xs = Scale::new(every(|p| p.0), self.logarithmic, x0, x1);
        let ys = Scale::new(every(|p| p.1).chain(self.floor), self.logarithmic, y0, y1);
        let x_of = |v: f64| match self.categories {
            Some(c) => {
                let k = c.iter().position(|c| *c as f64 == v).unwrap_or(0);
                x0 + (k as f64 + 0.5) / c.len().max(1) as f64 * (x1 - x0)
            }
            None => xs.place(v),
        };
        let _ = write!(
            out,
            "<figure><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             role=\"img\" aria-label=\"{}\">",
            escape(self.title)
        );
        let frame = Frame { left: x0, right: x1, bottom: y0, top: y1, height: HEIGHT };
        frame.grid(&mut out, &ys, number);
        let marks: Vec<(f64, String)> = match self.categories {
            Some(c) => c.iter().map(|v| (x_of(*v as f64), v.to_string())).collect(),
            None => xs.ticks().into_iter().map(|v| (x_of(v), number(v))).collect(),
        };
        // A label that would touch the one before it is left out.
        let mut free = f64::NEG_INFINITY;
        for (x, text) in marks {
            let half = 0.5 * LETTER * text.len() as f64;
            if x - half < free {
                continue;
            }
            free = x + half + LETTER;
            let _ =
                write!(out, "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>", y0 + 16.0);
        }
        frame.axes(&mut out, self.x, self.y);
        if self.limit.len() > 1 {
            let corners: Vec<String> =
                self.limit.iter().map(|(x, y)| format!("{:.1},{:.1}", x_of(*x), ys.place(*y))).collect();
            let _ = write!(out, "<polyline class=\"limit\" points=\"{}\"/>", corners.join(" "));
        }
        if let Some(y) = self.floor.map(|v| ys.place(v)) {
            let _ = write!(out, "<polyline class=\"limit\" points=\"{x0},{y:.1} {x1},{y:.1}\"/>");
        }
        // The best point last, so that nothing covers it.
        for best in [false, true] {
            for dot in self.dots.iter().filter(|d| d.best == best) {
                let (class, radius) = if best { (" class=\"best\"", 5.0) } else { ("", 3.5) };
                let _ = write!(
                    out,
                    "<circle{class} cx=\"{:.1}\" cy=\"{:.1}\" \
                     r=\"{radius}\"><title>{}</title></circle>",
                    x_of(dot.x),
                    ys.place(dot.y),
                    escape(&dot.label)
                );
            }
        }
        let _ = write!(out, "</svg><figcaption>{}</figcaption></figure>", escape(self.title));
        out
    }
}

impl Tuning {
    /// The page: what was searched, plots of the time against each parameter, a roofline, and the
    /// table.
    pub fn html(&self) -> String {
        self.page("", &[])
    }

    /// As [`Tuning::html`], with a line of when and by whom it was made, unless that is empty, and
    /// with further texts after the pipeline, each under a heading: the kernel, the CUDA C of the
    /// best point.
    pub fn page(&self, made: &str, texts: &[(&str, &str)]) -> String {
        let order = best_first(&self.candidates);
        let found: Vec<(usize, &Point, &Outcome, f64, &Cost)> = order
            .iter()
            .filter_map(|k| {
                let (point, outcome) = &self.candidates[*k];
                let outcome = outcome.as_ref()?;
                Some((*k, point, outcome, outcome.milliseconds()?, outcome.cost()?))
            })
            .collect();
        let timed = found.iter().any(|f| f.2.times().is_some());
        // Estimates and times do not go into one plot.
        let shown: Vec<_> = found.iter().filter(|f| f.2.times().is_some() == timed).collect();
        let what = if timed { "time, ms" } else { "estimate, ms" };
        let mut out = String::new();
        let _ = write!(
            out,
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta \
             name=\"viewport\" \
             content=\"width=device-width\"><title>Tuning</title><style>{STYLE}</style></head><body><h1>Tuning \
             on {}</h1>",
            escape(&self.key.device)
        );
        let refused =
            self.candidates.iter().filter(|(_, o)| matches!(o, Some(Outcome::Refused { .. }))).count();
        let wrong = self.candidates.iter().filter(|(_, o)| matches!(o, Some(Outcome::Wrong { .. }))).count();
        let _ = write!(
            out,
            "<p>{} points: {} {}, {refused} refused, {wrong} wrong. Problem: {}.</p>",
            self.candidates.len(),
            shown.len(),
            if timed { "timed" } else { "counted, none timed" },
            escape(&self.key.problem)
        );
        let made = if made.is_empty() { String::new() } else { format!("{}. ", escape(made)) };
        let _ = write!(out, "<p class=\"note\">{made}{}.</p>", escape(&self.key.versions()));
        for note in &self.notes {
            let _ = write!(out, "<p>Note: {}.</p>", escape(note));
        }
        if let Some(why) = self.why_none() {
            let _ = write!(out, "<p>No best point: {why}.</p>");
        }
        if let Some(best) = self.best_point() {
            let reached = self.fraction_of_limit().map_or_else(String::new, |f| {
                format!(
                    ", at {:.1} % of the memory's limit of {:.2} TB/s",
                    100.0 * f,
                    self.machine.bandwidth / 1e12
                )
            });
            let _ = write!(out, "<p>Best: <b>{}</b>{reached}.</p>", escape(&best.to_string()));
        }
        let _ = write!(out, "<h2>Pipeline</h2><pre>{}</pre>", escape(self.key.pipeline.trim()));
        for (heading, text) in texts {
            let _ = write!(
                out,
                "<details><summary>{}</summary><pre>{}</pre></details>",
                escape(heading),
                escape(text.trim())
            );
        }

        out.push_str(
            "<h2>Parameters</h2><p class=\"note\">A dot is a point of the space, the green one \
             the best; a red line is the memory's bound, where that is near. Rest the pointer on \
             a dot to read which it is.</p><div class=\"plots\">",
        );
        let least = shown.first().map_or(0.0, |f| f.3);
        let most = shown.iter().map(|f| f.3).fold(0.0, f64::max);
        // A few slow points would compress all others at the bottom.
        let logarithmic = least > 0.0 && most > 10.0 * least;
        let floor = shown.first().map(|f| f.4.bound_ms).filter(|bound| *bound > 0.0 && *bound > least / 4.0);
        let names: Vec<Name> = self
            .candidates
            .first()
            .map(|(p, _)| p.values().map(|(n, _)| n.clone()).collect())
            .unwrap_or_default();
        for name in &names {
            let mut values: Vec<i64> = self.candidates.iter().filter_map(|(p, _)| p.get(name)).collect();
            values.sort_unstable();
            values.dedup();
            let dots = shown
                .iter()
                .filter_map(|(k, point, _, ms, _)| {
                    Some(Dot {
                        x: point.get(name)? as f64,
                        y: *ms,
                        best: self.best == Some(*k),
                        label: format!("{point}: {ms:.4} ms"),
                    })
                })
                .collect();
            let title = format!("{} in ms against {name}", if timed { "Time" } else { "Estimated time" });
            let plot = Plot {
                title: &title,
                x: name,
                y: what,
                categories: Some(&values),
                logarithmic,
                dots,
                limit: Vec::new(),
                floor,
            };
            out.push_str(&plot.svg());
        }
        out.push_str("</div><h2>Roofline</h2><div class=\"plots\">");
        let peak = self.machine.peak();
        // All compute the same results: extra operations in partial tiles do not count as
        // performance.
        let operations =
            shown.iter().map(|f| f.4.operations).filter(|n| *n > 0.0).fold(f64::INFINITY, f64::min);
        let intensity = |c: &Cost| operations / c.necessary_bytes.max(1.0);
        let dots: Vec<Dot> = shown
            .iter()
            .filter(|f| f.4.operations > 0.0)
            .map(|(k, point, _, ms, cost)| Dot {
                x: operations / cost.moved_bytes.max(1.0),
                y: operations / (ms * 1e-3),
                best: self.best == Some(*k),
                label: format!("{point}: {} operations/s", number(operations / (ms * 1e-3))),
            })
            .collect();
        if dots.is_empty() {
            out.push_str("<p>No candidate works on floating-point numbers.</p>");
        } else {
            let low = dots.iter().map(|d| d.x).fold(f64::INFINITY, f64::min).min(0.05);
            let ridge = peak / self.machine.bandwidth;
            let high = shown.iter().map(|f| intensity(f.4)).fold(4.0 * ridge, f64::max);
            let plot = Plot {
                title: "Operations a second against operations a byte moved; the line is what the \
                    memory and the f32 units allow",
                x: "operations / byte",
                y: "operations / s",
                categories: None,
                logarithmic: true,
                dots,
                limit: vec![(low, low * self.machine.bandwidth), (ridge, peak), (high, peak)],
                floor: None,
            };
            out.push_str(&plot.svg());
        }
        out.push_str(
            "</div><h2>Points</h2><div class=\"scroll\"><table><tr><th \
            class=\"point\">point</th>",
        );
        let _ = write!(
            out,
            "<th>{what}</th><th>bound, \
             ms</th><th>moved</th><th>conflicts</th><th>idle</th><th>occupancy</th><th>registers</th></tr>"
        );
        for (k, point, _, ms, cost) in &found {
            let class = if self.best == Some(*k) { " class=\"best\"" } else { "" };
            let _ = write!(
                out,
                "<tr{class}><td \
                 class=\"point\">{}</td><td>{ms:.4}</td><td>{:.4}</td><td \
                 title=\"{}B\">{:.2}x</td><td>{}</td><td>{:.0} \
                 %</td><td>{:.0} %</td><td>{}</td></tr>",
                escape(&point.to_string()),
                cost.bound_ms,
                spaced(cost.moved_bytes),
                cost.moved_times(),
                number(cost.bank_conflicts),
                100.0 * cost.idle,
                100.0 * cost.occupancy,
                // Nothing was compiled.
                if cost.registers == 0 { "-".to_owned() } else { cost.registers.to_string() }
            );
        }
        for (point, outcome) in &self.candidates {
            let reason = match outcome {
                Some(outcome @ Outcome::Refused { .. }) => ("refused", outcome.reason()),
                Some(outcome @ Outcome::Wrong { .. }) => ("wrong", outcome.reason()),
                _ => continue,
            };
            let reason = format!("{}: {}", reason.0, reason.1.unwrap_or_default());
            let _ = write!(
                out,
                "<tr><td class=\"point\">{}</td><td colspan=\"7\" class=\"reason\">{}</td></tr>",
                escape(&point.to_string()),
                escape(&reason)
            );
        }
        let _ = writeln!(out, "</table></div><p>Spent {}.</p></body></html>", self.spent);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_touch() {
        let values: Vec<i64> = (1..=400).collect();
        let dot = |x: i64| Dot { x: x as f64, y: 1.0 + x as f64, best: x == 1, label: String::new() };
        let plot = Plot {
            title: "Time",
            x: "rows",
            y: "ms",
            categories: Some(&values),
            logarithmic: false,
            dots: values.iter().map(|x| dot(*x)).collect(),
            limit: Vec::new(),
            floor: None,
        };
        let svg = plot.svg();
        let labels: Vec<(f64, usize)> = svg
            .split("<text x=\"")
            .skip(1)
            .filter(|label| label.contains("text-anchor=\"middle\""))
            .filter_map(|label| {
                let x = label.split('"').next()?.parse().ok()?;
                let text = label.split_once('>')?.1.split('<').next()?;
                Some((x, text.parse::<i64>().ok()?.to_string().len()))
            })
            .collect();
        assert!(labels.len() > 5, "{labels:?}");
        for pair in labels.windows(2) {
            let [(x, left), (y, right)] = pair else { continue };
            assert!(y - x >= 0.5 * LETTER * (left + right) as f64, "{pair:?} overlap");
        }
    }
}
