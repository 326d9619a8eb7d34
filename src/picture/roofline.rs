//! The roofline: how many operations a second a machine can do at most, over the operations for
//! each byte that its memory moves.
//!
//! A program's dot is at what the emulator has counted, and at the time that the cost model
//! estimates from these counts. Bytes are counted as multiprocessors request them: where the
//! level-2 cache has them, a dot may lie above the roof, which is that of the memory. The dashed
//! line is at the operations for each byte if every byte that is read or written moves once.

use std::fmt::Write;

use loopwright_kernel_ir::Diagnostic;
use loopwright_tuner::{Cost, Machine};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 48.0;

/// A program in a roofline.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// What the dot is called.
    pub name: String,
    /// What was counted, and the estimate.
    pub cost: Cost,
}

impl Dot {
    /// The operations for each byte that it moves.
    pub fn intensity(&self) -> f64 {
        self.cost.operations / self.cost.moved_bytes
    }

    /// The operations for each byte if bytes moved once.
    pub fn best_intensity(&self) -> f64 {
        self.cost.operations / self.cost.necessary_bytes
    }

    /// The estimated operations a second.
    pub fn rate(&self) -> f64 {
        self.cost.operations / self.cost.estimate_ms * 1e3
    }
}

/// Programs that compute the same, below the roof of a machine.
///
/// ```
/// use loopwright::picture::{Dot, Roofline};
/// use loopwright::prelude::*;
/// use loopwright::tuner::{Machine, estimate};
///
/// let kernel = LoopKernel::parse(
///     "kernel scaled(x: f32[n], y: f32[n], n: i32)
///      domain { [i] : 0 <= i < n }
///      y[i] = 2.0*x[i]",
/// )?;
/// let kernel = kernel.split_iname("i", 128)?.tag_inames("i_outer: block.x, i_inner: thread.x")?;
/// let machine = Machine::h200();
/// let args = Args::new().tensor("x", &Tensor::from_vec(&[1024], vec![1.0_f32; 1024])?);
/// let dot = Dot { name: "blocks".into(), cost: estimate(&kernel, &args, &machine)? };
/// assert_eq!(dot.intensity(), 0.125);
/// let roofline = Roofline { title: "scaled".into(), machine, dots: vec![dot] };
/// assert!(roofline.svg()?.contains("blocks"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Roofline {
    /// The title above the drawing.
    pub title: String,
    /// The machine whose roof it is.
    pub machine: Machine,
    /// The programs, each as a dot under the roof.
    pub dots: Vec<Dot>,
}

/// A logarithmic axis, from a power of its base to another one.
struct Scale {
    least: f64,
    greatest: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// An axis over these values, from a power of the base to one.
    fn over(values: impl Iterator<Item = f64>, base: f64, from: f64, to: f64) -> Scale {
        let (mut least, mut greatest) = (f64::INFINITY, 0.0_f64);
        for value in values {
            (least, greatest) = (least.min(value), greatest.max(value));
        }
        let power = |value: f64, round: fn(f64) -> f64| base.powf(round(value.ln() / base.ln()));
        Scale { least: power(least / 1.2, f64::floor), greatest: power(greatest * 1.2, f64::ceil), from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value / self.least).ln() / (self.greatest / self.least).ln();
        self.from + part * (self.to - self.from)
    }

    /// The powers of the base that lie on the axis.
    fn ticks(&self, base: f64) -> Vec<f64> {
        let mut ticks = Vec::new();
        let mut tick = self.least;
        while tick <= self.greatest * 1.001 {
            ticks.push(tick);
            tick *= base;
        }
        ticks
    }
}

impl Roofline {
    /// The operations a second that the machine can do at most at this many for each byte.
    pub fn roof(&self, intensity: f64) -> f64 {
        self.machine.peak().min(self.machine.bandwidth * intensity)
    }

    /// The picture as an SVG document.
    ///
    /// Errors: `no-picture` of a program without floating-point operations, or that moves nothing.
    pub fn svg(&self) -> Result<String, Diagnostic> {
        for dot in &self.dots {
            if !(dot.intensity().is_finite() && dot.intensity() > 0.0 && dot.rate().is_finite()) {
                return Err(Diagnostic::new(
                    "no-picture",
                    format!("`{}` does no floating-point operations, or moves no bytes", dot.name),
                )
                .help("what it moves is in `loopwright run --device emulator`"));
            }
        }
        let ridge = self.machine.peak() / self.machine.bandwidth;
        let intensities = self.dots.iter().flat_map(|d| [d.intensity(), d.best_intensity()]);
        let xs = Scale::over(intensities.chain([ridge * 2.0]), 2.0, LEFT, WIDTH - RIGHT);
        let rates = self.dots.iter().map(Dot::rate);
        let rates = rates.chain([self.machine.peak(), self.roof(xs.least)]);
        let ys = Scale::over(rates, 10.0, HEIGHT - BOTTOM, TOP);
        let mut out = String::new();
        self.axes(&xs, &ys, &mut out);
        let corners = [xs.least, ridge, xs.greatest];
        let corners = corners.map(|x| format!("{:.1},{:.1}", xs.place(x), ys.place(self.roof(x))));
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#cf222e\" stroke-width=\"2\"/>",
            corners.join(" ")
        );
        if let Some(best) = self.dots.first().map(Dot::best_intensity) {
            let x = xs.place(best);
            let _ = writeln!(
                out,
                "<line x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{:.1}\" stroke=\"#777\" \
                 stroke-dasharray=\"4 3\"/>\n<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#555\" \
                 text-anchor=\"end\">each byte once</text>",
                ys.place(self.roof(best)),
                HEIGHT - BOTTOM,
                x - 5.0,
                HEIGHT - BOTTOM - 6.0
            );
        }
        self.dots_at(&xs, &ys, &mut out);
        let title = escaped(&format!("{}, on {}", self.title, self.machine.device));
        Ok(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" font-family=\"monospace\" font-size=\"11\" text-anchor=\"middle\">\n\
             <title>{title}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"16\" y=\"22\" font-size=\"14\" text-anchor=\"start\">{title}</text>\n\
             {out}</svg>\n"
        ))
    }

    fn axes(&self, xs: &Scale, ys: &Scale, out: &mut String) {
        let line = |ends: [f64; 4], out: &mut String| {
            let [x1, y1, x2, y2] = ends;
            let _ = writeln!(
                out,
                "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#ddd\"/>"
            );
        };
        let text = |x: f64, y: f64, anchor: &str, text: &str, out: &mut String| {
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"#555\" text-anchor=\"{anchor}\">{text}</text>"
            );
        };
        for tick in xs.ticks(2.0) {
            let x = xs.place(tick);
            line([x, TOP, x, HEIGHT - BOTTOM], out);
            let shown = if tick < 1.0 { format!("1/{:.0}", 1.0 / tick) } else { format!("{tick:.0}") };
            text(x, HEIGHT - BOTTOM + 15.0, "middle", &shown, out);
        }
        for tick in ys.ticks(10.0) {
            let y = ys.place(tick);
            line([LEFT, y, WIDTH - RIGHT, y], out);
            text(LEFT - 6.0, y + 4.0, "end", &rate(tick), out);
        }
        text(
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 12.0,
            "middle",
            "operations for each byte requested",
            out,
        );
        text(LEFT + 4.0, TOP + 14.0, "start", "operations a second", out);
    }

    /// The dots, with names to their right; below the one before where both would be in one place.
    fn dots_at(&self, xs: &Scale, ys: &Scale, out: &mut String) {
        let mut taken: Vec<(f64, f64)> = Vec::new();
        for dot in &self.dots {
            let (x, y) = (xs.place(dot.intensity()), ys.place(dot.rate()));
            let near =
                |below: f64| taken.iter().any(|(a, b)| (a - x).abs() < 120.0 && (b - below).abs() < 12.0);
            let mut below = y + 4.0;
            while near(below) {
                below += 12.0;
            }
            taken.push((x, below));
            let (anchor, at) = if x > WIDTH * 0.7 { ("end", x - 8.0) } else { ("start", x + 8.0) };
            let _ = writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"#0969da\"><title>{:.2} operations for each \
                 byte, {}</title></circle>\n<text x=\"{at:.1}\" y=\"{below:.1}\" text-anchor=\"{anchor}\">{}</text>",
                dot.intensity(),
                rate(dot.rate()),
                escaped(&dot.name)
            );
        }
    }
}

/// Operations a second with a unit: `67T`.
fn rate(value: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match units.iter().find(|(unit, _)| value >= *unit * 0.999) {
        Some((unit, letter)) => {
            format!("{:.3}", value / unit).trim_end_matches('0').trim_end_matches('.').to_owned() + letter
        }
        None => format!("{value:.0}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
