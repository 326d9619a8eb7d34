//! Common parts of the pages: style, text in HTML, numbers, scales, the frame of a plot.

use std::fmt::Write;

/// The style of all pages, light and dark.
pub(crate) const STYLE: &str = "\
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
.plots{display:flex;flex-wrap:wrap;gap:1.2rem 1rem}figure{margin:0;width:368px;max-width:100%}
figcaption,.note{font-size:.85rem;color:#57606a}svg{max-width:100%;height:auto;display:block}
table{border-collapse:collapse;font-size:.85rem}td,th{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #d8dee4}
td.point{text-align:left;font-family:ui-monospace,monospace;white-space:nowrap}
th{white-space:nowrap;position:sticky;top:0;background:#fff}th.point{text-align:left}td.reason{text-align:left;min-width:20rem}
tr.best td{background:#dafbe1}pre{background:#f6f8fa;padding:.8rem;overflow:auto;font-size:.85rem}
.scroll{max-height:32rem;overflow:auto;width:fit-content;max-width:100%}
svg text{font:11px system-ui,sans-serif;fill:#57606a}
svg .axis{stroke:#8c959f;stroke-width:1}svg .grid{stroke:#eaeef2;stroke-width:1}
svg .limit{stroke:#cf222e;stroke-width:1.5;fill:none}
svg circle{fill:#0969da;fill-opacity:.55}svg circle.best{fill:#1a7f37;fill-opacity:1}
@media (prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}pre{background:#161b22}
td,th{border-color:#30363d}th{background:#0d1117}tr.best td{background:#12361f}svg .grid{stroke:#21262d}svg text{fill:#8b949e}figcaption,.note{color:#8b949e}
svg circle{fill:#58a6ff}svg circle.best{fill:#3fb950}}";

/// Text escaped for HTML, including attributes.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A scale from values to positions, linear or logarithmic.
pub(crate) struct Scale {
    pub low: f64,
    pub high: f64,
    logarithmic: bool,
    from: f64,
    to: f64,
}

impl Scale {
    pub fn new(values: impl Iterator<Item = f64>, logarithmic: bool, from: f64, to: f64) -> Scale {
        let usable = values.filter(|v| v.is_finite() && (!logarithmic || *v > 0.0));
        let (mut low, mut high) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if !low.is_finite() {
            (low, high) = (1.0, 2.0);
        }
        if logarithmic {
            (low, high) = (low / 1.15, high * 1.15);
        } else {
            // Times start at zero, so that lengths can be compared.
            (low, high) = (low.min(0.0), if high > 0.0 { high * 1.08 } else { 1.0 });
        }
        Scale { low, high, logarithmic, from, to }
    }

    pub fn place(&self, v: f64) -> f64 {
        let part = if self.logarithmic {
            (v / self.low).ln() / (self.high / self.low).ln()
        } else {
            (v - self.low) / (self.high - self.low)
        };
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    pub fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let decades = (self.high / self.low).log10();
            let factors: &[f64] = if decades < 3.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
            return (first..=last)
                .flat_map(|e| factors.iter().map(move |f| f * 10f64.powi(e)))
                .filter(|v| (self.low..=self.high).contains(v))
                .collect();
        }
        let rough = (self.high - self.low) / 8.0;
        let unit = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|f| f * unit).find(|s| *s >= rough).unwrap_or(unit);
        (0..20).map(|k| f64::from(k) * step).filter(|v| (self.low..=self.high).contains(v)).collect()
    }
}

/// The position of a plot in its picture, between the axes and their ends.
pub(crate) struct Frame {
    pub left: f64,
    pub right: f64,
    pub bottom: f64,
    pub top: f64,
    /// The height of the whole picture.
    pub height: f64,
}

impl Frame {
    /// Lines across the plot at the marks of its vertical axis.
    pub fn grid(&self, out: &mut String, ys: &Scale, text: impl Fn(f64) -> String) {
        let (x0, x1) = (self.left, self.right);
        for v in ys.ticks() {
            let y = ys.place(v);
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{x0}\" x2=\"{x1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                x0 - 6.0,
                y + 4.0,
                text(v)
            );
        }
    }

    /// Both axes with their labels.
    pub fn axes(&self, out: &mut String, x: &str, y: &str) {
        let (x0, x1, y0, y1) = (self.left, self.right, self.bottom, self.top);
        let middle = (y0 + y1) / 2.0;
        let _ = write!(
            out,
            "<line class=\"axis\" x1=\"{x0}\" x2=\"{x1}\" y1=\"{y0}\" y2=\"{y0}\"/><line \
             class=\"axis\" x1=\"{x0}\" x2=\"{x0}\" y1=\"{y0}\" y2=\"{y1}\"/><text x=\"{:.1}\" \
             y=\"{:.1}\" text-anchor=\"middle\">{}</text><text x=\"14\" y=\"{middle:.1}\" \
             text-anchor=\"middle\" transform=\"rotate(-90 14 {middle:.1})\">{}</text>",
            (x0 + x1) / 2.0,
            self.height - 10.0,
            escape(x),
            escape(y)
        );
    }
}

/// A number in few characters: `1.08G`, `0.25`.
pub(crate) fn number(v: f64) -> String {
    let (v, suffix) = match v.abs() {
        a if a >= 1e12 => (v / 1e12, "T"),
        a if a >= 1e9 => (v / 1e9, "G"),
        a if a >= 1e6 => (v / 1e6, "M"),
        a if a >= 1e4 => (v / 1e3, "k"),
        _ => (v, ""),
    };
    let digits = if v != 0.0 && v.abs() < 0.1 { 3 } else { 2 };
    let text = format!("{v:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{suffix}")
}

/// As [`number`], with a space before the letter: `1.08 G`, for a unit to follow.
pub(crate) fn spaced(v: f64) -> String {
    let text = number(v);
    let digits = text.trim_end_matches(char::is_alphabetic);
    format!("{digits} {}", &text[digits.len()..])
}
