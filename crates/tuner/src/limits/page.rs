//! The report as one self-contained page: the plot as inline SVG, no scripts, no external
//! resources.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{Best, LimitReport, Reached, Series};
use crate::page::{Frame, STYLE, Scale, escape, number};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 58.0;
const BOTTOM: f64 = 48.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = 18.0;
/// Minimum distance between marks of the size axis, in pixels.
const APART: f64 = 48.0;

/// Colours of the lines, reused cyclically with other marks.
const LIGHT: [&str; 8] =
    ["#0969da", "#bc4c00", "#1a7f37", "#8250df", "#bf3989", "#9a6700", "#1b7c83", "#57606a"];
const DARK: [&str; 8] =
    ["#58a6ff", "#f0883e", "#3fb950", "#bc8cff", "#f778ba", "#d29922", "#39c5cf", "#8b949e"];

const OWN_STYLE: &str = "\
:root{--paper:#fff}figure.wide{width:48rem;overflow-x:auto}figure.wide svg{width:100%;min-width:32rem}
svg .line{fill:none;stroke:currentColor;stroke-width:2}svg .line.estimate{stroke-dasharray:5 4}
svg .mark{fill:currentColor;fill-opacity:1;stroke:currentColor;stroke-width:2}svg .mark.estimate{fill:var(--paper)}
ul.legend{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;font-size:.85rem}
ul.legend li{display:flex;align-items:center;gap:.5rem}ul.legend svg{width:34px;height:14px;flex:none}
td.said,th.said{text-align:left}td.said{white-space:nowrap}tr.group td{text-align:left;font-weight:600;background:#f6f8fa}h3{font-size:1rem;margin-bottom:.3rem}
@media (prefers-color-scheme:dark){:root{--paper:#0d1117}tr.group td{background:#161b22}svg .limit{stroke:#ff7b72}}\n";

/// A size as text next to the axis.
fn of_size(size: f64) -> String {
    const KI: f64 = 1024.0;
    match size {
        s if s >= KI * KI && s % (KI * KI) == 0.0 => format!("{}Mi", s / (KI * KI)),
        s if s >= 16.0 * KI && s % KI == 0.0 => format!("{}Ki", s / KI),
        s if s.fract() == 0.0 && s < 100_000.0 => s.to_string(),
        s => number(s),
    }
}

/// The marks of the size axis: the sizes themselves if there is room, otherwise powers of two if
/// all sizes are.
fn size_marks(sizes: &[f64], scale: &Scale) -> Vec<(f64, String)> {
    let placed = |s: f64| (scale.place(s), of_size(s));
    let exact: Vec<(f64, String)> = sizes.iter().map(|s| placed(*s)).collect();
    if exact.windows(2).all(|pair| pair[1].0 - pair[0].0 >= APART) {
        return exact;
    }
    if sizes.iter().all(|s| s.log2().fract() == 0.0) {
        let (first, last) = (sizes[0].log2() as i32, sizes[sizes.len() - 1].log2() as i32);
        let room = ((WIDTH - LEFT - RIGHT) / APART) as i32;
        let step = ((last - first) / room + 1) as usize;
        return (first..=last).step_by(step).map(|e| placed(2f64.powi(e))).collect();
    }
    scale.ticks().into_iter().map(|v| (scale.place(v), number(v))).collect()
}

/// A mark of the plot: filled if it was measured.
fn mark(out: &mut String, series: usize, measured: bool, (x, y): (f64, f64), title: &str) {
    let class = if measured { "mark" } else { "mark estimate" };
    let title = if title.is_empty() { String::new() } else { format!("<title>{}</title>", escape(title)) };
    let _ = match series / LIGHT.len() % 3 {
        0 => write!(
            out,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" \
            r=\"3.5\">{title}</circle>"
        ),
        1 => write!(
            out,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"7\" \
             height=\"7\">{title}</rect>",
            x - 3.5,
            y - 3.5
        ),
        _ => write!(out, "<path class=\"{class}\" d=\"M{x:.1} {:.1}l4.5 8h-9z\">{title}</path>", y - 5.0),
    };
}

fn colour(series: usize) -> usize {
    series % LIGHT.len()
}

/// Whether it can be shown on a logarithmic axis.
fn has_place(shape: &Reached) -> bool {
    shape.size > 0.0 && shape.size.is_finite()
}

/// The shapes that a plot with a logarithmic axis can show.
fn shown(series: &Series) -> impl Iterator<Item = (&Reached, &Best)> {
    series.shapes.iter().filter(|s| has_place(s)).filter_map(|s| Some((s, s.best.as_ref()?)))
}

impl LimitReport {
    /// The page: the plot, a table of results, and a description of each line.
    pub fn html(&self) -> String {
        self.page("")
    }

    /// As [`LimitReport::html`], with a line of when and by whom it was made, unless that is empty.
    pub fn page(&self, made: &str) -> String {
        self.page_with(made, |_, _| None)
    }

    /// As [`LimitReport::page`], with the CUDA C of best points where `printed` gives it: folded
    /// away, once for all shapes of a line that have the same.
    pub fn page_with(&self, made: &str, printed: impl Fn(&Series, &Reached) -> Option<String>) -> String {
        let title = format!("Fraction of the memory's limit by {}", self.by());
        let rules = |palette: [&str; 8]| -> String {
            palette.iter().enumerate().map(|(k, c)| format!(".s{k}{{color:{c}}}")).collect()
        };
        let colours = format!("{}@media (prefers-color-scheme:dark){{{}}}", rules(LIGHT), rules(DARK));
        let mut out = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta \
             name=\"viewport\" \
             content=\"width=device-width\"><title>{title}</title><style>{STYLE}\n\
             {OWN_STYLE}{colours}</style></head><body><h1>{title}</h1>",
            title = escape(&title)
        );
        let everywhere =
            self.everywhere().map_or_else(String::new, |sizes| format!(" Everywhere: {}.", escape(&sizes)));
        let _ = write!(
            out,
            "<p class=\"note\">A mark is the best point that a search found for a shape: the \
             least time in which the memory moves what must move, over the point's time. Rest the \
             pointer on a mark to read which point it is.{everywhere}</p>"
        );
        if self.series.iter().any(|s| s.measured().note().is_some()) {
            out.push_str(
                "<p><b>Hollow marks on broken lines are estimates by the counts: nothing was timed \
                 there.</b></p>",
            );
        }
        self.plot(&mut out, &title);
        let left_out = self.series.iter().flat_map(|s| &s.shapes).filter(|s| !has_place(s)).count();
        if left_out > 0 {
            let _ = write!(
                out,
                "<p class=\"note\">{left_out} shapes whose {} is not a number above 0 have no \
                 place on the axis; the table has them.</p>",
                escape(self.by())
            );
        }
        self.tabulate(&mut out);
        self.describe(&mut out, printed);
        // Each line has its own above, if they differ.
        let versions: BTreeSet<String> = self.series.iter().map(|s| s.key.versions()).collect();
        // Without a device there is no driver: the versions of those with one say it all.
        let is_told = |short: &String| versions.iter().any(|v| v != short && v.starts_with(short.as_str()));
        let versions: Vec<&str> = versions.iter().filter(|v| !is_told(v)).map(String::as_str).collect();
        let made = if made.is_empty() { String::new() } else { format!("{}. ", escape(made)) };
        let _ = write!(out, "<p class=\"note\">{made}Found with {}.</p>", escape(&versions.join("; ")));
        out.push_str("</body></html>\n");
        out
    }

    fn plot(&self, out: &mut String, title: &str) {
        let mut sizes: Vec<f64> = self.series.iter().flat_map(shown).map(|(s, _)| s.size).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        if sizes.is_empty() {
            out.push_str("<p>No shape has a place on the plot.</p>");
            return;
        }
        let (x0, x1, y0, y1) = (LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, TOP);
        let xs = Scale::new(sizes.iter().copied(), true, x0, x1);
        let fractions = self.series.iter().flat_map(shown).map(|(_, best)| best.fraction);
        let ys = Scale::new(fractions.chain([1.0]), false, y0, y1);
        let _ = write!(
            out,
            "<figure class=\"wide\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-label=\"{}\">",
            escape(title)
        );
        let frame = Frame { left: x0, right: x1, bottom: y0, top: y1, height: HEIGHT };
        frame.grid(out, &ys, |v| format!("{:.0} %", 100.0 * v));
        for (x, text) in size_marks(&sizes, &xs) {
            let _ = write!(
                out,
                "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{y0}\" y2=\"{:.1}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                y0 + 4.0,
                y0 + 17.0
            );
        }
        frame.axes(out, self.by(), "of the limit");
        let limit = ys.place(1.0);
        let _ = write!(
            out,
            "<polyline class=\"limit\" points=\"{x0},{limit:.1} \
            {x1},{limit:.1}\"/>"
        );
        for (k, series) in self.series.iter().enumerate() {
            let _ = write!(out, "<g class=\"s{}\">", colour(k));
            let place = |(shape, best): &(&Reached, &Best)| (xs.place(shape.size), ys.place(best.fraction));
            let all: Vec<(&Reached, &Best)> = shown(series).collect();
            // Measured points are not connected to estimates.
            for run in all.chunk_by(|a, b| a.1.measured == b.1.measured).filter(|run| run.len() > 1) {
                let class = if run[0].1.measured { "line" } else { "line estimate" };
                let corners: Vec<String> =
                    run.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                let _ = write!(out, "<polyline class=\"{class}\" points=\"{}\"/>", corners.join(" "));
            }
            for found in &all {
                let title = format!("{}: {}", series.label, self.sentence(found.0, found.1));
                mark(out, k, found.1.measured, place(found), &title);
            }
            out.push_str("</g>");
        }
        out.push_str("</svg></figure><ul class=\"legend\">");
        for (k, series) in self.series.iter().enumerate() {
            let measured = series.bests().any(|b| b.measured);
            let class = if measured { "line" } else { "line estimate" };
            let _ = write!(
                out,
                "<li><svg class=\"s{}\" viewBox=\"0 0 34 14\" aria-hidden=\"true\"><polyline \
                 class=\"{class}\" points=\"0,7 34,7\"/>",
                colour(k)
            );
            mark(out, k, measured, (17.0, 7.0), "");
            let estimate = if measured { "" } else { " (estimate)" };
            let _ = write!(out, "</svg>{}{estimate}</li>", escape(&series.label));
        }
        out.push_str(
            "<li><svg viewBox=\"0 0 34 14\" aria-hidden=\"true\"><polyline class=\"limit\" \
             points=\"0,7 34,7\"/></svg>what the memory allows</li></ul>",
        );
    }

    /// The text that a mark shows: what it reaches of the limit, its time and its point.
    fn sentence(&self, shape: &Reached, best: &Best) -> String {
        let Best { point, milliseconds, measured, fraction, bandwidth, .. } = best;
        let (of, how) = (100.0 * fraction, if *measured { "" } else { ", estimated, not timed" });
        format!(
            "{}: {of:.1} % of {:.2} TB/s{how}, {milliseconds:.4} ms, {point}",
            self.shape(shape),
            bandwidth / 1e12
        )
    }

    fn tabulate(&self, out: &mut String) {
        out.push_str(
            "<h2>Shapes</h2><div class=\"scroll\"><table><tr><th class=\"said\">shape</th><th>of \
             the limit</th><th>ms</th><th></th><th class=\"said\">longest by the counts</th><th \
             class=\"point\">best point</th><th class=\"said\">points</th></tr>",
        );
        for series in &self.series {
            let _ = write!(out, "<tr class=\"group\"><td colspan=\"7\">{}</td></tr>", escape(&series.label));
            for shape in &series.shapes {
                let _ = write!(out, "<tr><td class=\"said\">{}</td>", escape(&self.shape(shape)));
                let _ = match &shape.best {
                    Some(Best { point, milliseconds, measured, fraction, bottleneck, .. }) => write!(
                        out,
                        "<td>{:.1} %</td><td>{milliseconds:.4}</td><td class=\"said\">{}</td><td \
                         class=\"said\">{bottleneck}</td><td class=\"point\">{}</td>",
                        100.0 * fraction,
                        if *measured { "measured" } else { "estimate" },
                        escape(&point.to_string())
                    ),
                    None => write!(out, "<td colspan=\"5\" class=\"said\">{}</td>", escape(&shape.failure())),
                };
                let _ = write!(out, "<td class=\"said\">{}</td></tr>", shape.points());
            }
        }
        out.push_str("</table></div>");
    }

    fn describe(&self, out: &mut String, printed: impl Fn(&Series, &Reached) -> Option<String>) {
        out.push_str("<h2>Lines</h2>");
        for series in &self.series {
            let _ = write!(out, "<h3>{}</h3><p>{}.", escape(&series.label), escape(&capital(&series.on())));
            if let Some(note) = series.measured().note() {
                let _ = write!(out, " {}.", capital(note));
            }
            let key = &series.key;
            let _ =
                write!(out, " Arrays: {}. Found with {}.</p>", escape(&key.types()), escape(&key.versions()));
            for text in [series.declared.trim(), key.pipeline.trim()].iter().filter(|t| !t.is_empty()) {
                let _ = write!(out, "<pre>{}</pre>", escape(text));
            }
            let mut texts: Vec<(String, Vec<String>)> = Vec::new();
            for shape in &series.shapes {
                let Some(text) = shape.best.as_ref().and_then(|_| printed(series, shape)) else { continue };
                match texts.iter_mut().find(|(known, _)| *known == text) {
                    Some((_, shapes)) => shapes.push(self.shape(shape)),
                    None => texts.push((text, vec![self.shape(shape)])),
                }
            }
            for (text, shapes) in texts {
                let _ = write!(
                    out,
                    "<details><summary>CUDA C of the best point, {}</summary><pre>{}</pre></details>",
                    escape(&shapes.join("; ")),
                    escape(&text)
                );
            }
        }
    }
}

impl Reached {
    /// The outcomes of the points: `70 timed, 4 refused or wrong`.
    fn points(&self) -> String {
        let counts = [(self.timed, "timed"), (self.counted, "counted"), (self.failed, "refused or wrong")];
        let said =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        said.collect::<Vec<_>>().join(", ")
    }
}

/// As the beginning of a sentence.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
