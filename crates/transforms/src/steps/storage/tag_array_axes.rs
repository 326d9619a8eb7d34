//! Chooses the layout of an array in storage.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, Expr, LoopKernel, Name, parse_expression};
use loopwright_legality::Judgement;
use serde::{Deserialize, Serialize};

use crate::{
    Transform,
    arguments::{Args, Argument},
    rewrite::{change_array, require_no_table},
    step::TextForm,
};

/// The position of one axis of an array in its storage layout.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum AxisTag {
    /// `N0` is the densest axis, `N1` the next one, and so on.
    Nest(u32),
    /// `stride:e`: a stride of `e` elements.
    Stride(Expr),
}

impl fmt::Display for AxisTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AxisTag::Nest(level) => write!(f, "N{level}"),
            AxisTag::Stride(e) => write!(f, "stride:{e}"),
        }
    }
}

impl From<AxisTag> for String {
    fn from(tag: AxisTag) -> String {
        tag.to_string()
    }
}

impl TryFrom<String> for AxisTag {
    type Error = Diagnostic;
    fn try_from(text: String) -> Result<Self, Diagnostic> {
        AxisTag::parse(&text)
    }
}

impl AxisTag {
    fn parse(text: &str) -> Result<Self, Diagnostic> {
        let text = text.trim();
        if let Some(level) = text.strip_prefix('N').and_then(|t| t.parse().ok()) {
            return Ok(AxisTag::Nest(level));
        }
        if let Some(stride) = text.strip_prefix("stride:") {
            return Ok(AxisTag::Stride(parse_expression(stride)?));
        }
        Err(Diagnostic::new("axis-tag", format!("there is no axis tag `{text}`")).help(
            "tags of an axis are `N0` (densest), `N1`, ... and `stride:e`; `c` and `f` are tags \
             of all axes together",
        ))
    }
}

/// The storage layout of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Row-major: the last axis is densest.
    C,
    /// Column-major: the first axis is densest.
    F,
    /// The tag of each axis, in the order of the axes.
    Axes(Vec<AxisTag>),
}

step! {
    /// `tag_array_axes(x, f)`: chooses the layout of an array in storage.
    ///
    /// # Meaning
    ///
    /// `c` is row-major, `f` column-major; `[N1, N0]` gives the nesting level of each axis, `N0`
    /// being the densest; `stride:e` gives the stride in elements. For an argument, the layout is
    /// part of the kernel's interface. Modes that `set_layout` has set are replaced, a swizzle
    /// stays.
    ///
    /// # Legality
    ///
    /// The levels of the axes without a stride must be `N0`, `N1`, ... without gaps. Subscripts do
    /// not change, and thus neither do values; that the layout is injective is checked when
    /// arguments are bound.
    ///
    /// In text: `tag_array_axes(x, f)`, `tag_array_axes(x, [N0, N1])`,
    /// `tag_array_axes(x, [stride:2*n, stride:1])`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel matmul(a: f32[n, m], b: f32[m, l], c: f32[n, l], n: i32, m: i32, l: i32)
    /// assume 1 <= n and 1 <= m and 1 <= l
    /// domain { [i, j, k] : 0 <= i < n and 0 <= j < l and 0 <= k < m }
    /// c[i, j] = sum(k, a[i, k] * b[k, j]) {id=dot}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// tag_array_axes(a, f)
    /// tag_array_axes(b, [stride:2*l, N0])
    /// pad_array_axis(c, -1, 1)
    /// set_precision(fast)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel matmul(
    ///     a: f32[n, m] order(f),
    ///     b: f32[m, l] strides(2 * l, _),
    ///     c: f32[n, l pad 1],
    ///     n: i32,
    ///     m: i32,
    ///     l: i32,
    /// )
    /// option fast_math
    /// assume 1 <= n and 1 <= m and 1 <= l
    /// domain { [i, j, k] : 0 <= i < n and 0 <= j < l and 0 <= k < m }
    /// c[i, j] = sum(k, a[i, k] * b[k, j]) {id=dot, inames=i:j}
    /// tree {
    ///     for i {
    ///         for j {
    ///             dot.init
    ///             for k {
    ///                 dot.update
    ///             }
    ///             dot.finish
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct TagArrayAxes as "tag_array_axes", by hand {
        /// An array, argument or temporary.
        pub array: Name,
        /// The layout of its axes.
        pub layout: Layout,
    }
    table:
        "tag_array_axes(x, [N1, N0])" => "`tag_array_axes(k, \"x\", \"N1,N0\")`",
        "tag_array_axes(x, f)" => "`tag_array_axes(k, \"x\", \"F\")`",
    methods: {
        /// See [`TagArrayAxes`]; `c`, `f`, or `N1, N0`.
        fn tag_array_axes(&self, array: &str, layout: &str) -> Result<Self, Diagnostic> {
            self.step(TagArrayAxes::parse(array, layout)?)
        }
    }
}

impl TagArrayAxes {
    /// Gives an array this layout in storage.
    pub fn new(array: impl Into<Name>, layout: Layout) -> Self {
        TagArrayAxes { array: array.into(), layout }
    }

    /// The layout of a text: `c`, `f`, or a tag for each axis with commas.
    pub fn parse(array: impl Into<Name>, text: &str) -> Result<Self, Diagnostic> {
        let text = text.trim();
        let text = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        let layout = match text {
            "c" | "C" => Layout::C,
            "f" | "F" => Layout::F,
            _ => Layout::Axes(text.split(',').map(AxisTag::parse).collect::<Result<_, _>>()?),
        };
        Ok(TagArrayAxes { array: array.into(), layout })
    }
}

impl TextForm for TagArrayAxes {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let array: Name = args.next("the array")?;
        let texts: Vec<String> = args.all_texts().into_iter().map(|(t, _)| t).collect();
        if texts.is_empty() {
            return Err(args.error("`tag_array_axes` needs a layout: `c`, `f`, or `[N1, N0]`"));
        }
        TagArrayAxes::parse(array, &texts.join(","))
    }

    fn arguments(&self) -> Vec<String> {
        let layout = match &self.layout {
            Layout::C => "c".to_string(),
            Layout::F => "f".to_string(),
            Layout::Axes(tags) => {
                let tags: Vec<String> = tags.iter().map(ToString::to_string).collect();
                format!("[{}]", tags.join(", "))
            }
        };
        vec![self.array.text(), layout]
    }
}

impl Transform for TagArrayAxes {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let axes = require_no_table(kernel, &self.array)?.axes.len();
        let (order, strides): (Vec<usize>, Vec<Option<Expr>>) = match &self.layout {
            Layout::C => (Vec::new(), vec![None; axes]),
            Layout::F => ((0..axes).rev().collect(), vec![None; axes]),
            Layout::Axes(tags) => {
                if tags.len() != axes {
                    return Err(Diagnostic::new(
                        "axis-count",
                        format!("`{}` has {axes} axes, and {} are tagged", self.array, tags.len()),
                    ));
                }
                let mut levels: Vec<(u32, usize)> = tags
                    .iter()
                    .enumerate()
                    .filter_map(|(k, t)| match t {
                        AxisTag::Nest(level) => Some((*level, k)),
                        AxisTag::Stride(_) => None,
                    })
                    .collect();
                levels.sort_unstable();
                if levels.iter().enumerate().any(|(k, (level, _))| usize::try_from(*level) != Ok(k)) {
                    return Err(Diagnostic::new(
                        "axis-levels",
                        format!(
                            "the axes of `{}` are not N0, N1, ... without gaps and repetitions",
                            self.array
                        ),
                    ));
                }
                let strided = (0..axes).filter(|k| matches!(tags[*k], AxisTag::Stride(_)));
                let order: Vec<usize> = strided.chain(levels.iter().rev().map(|(_, k)| *k)).collect();
                let plain = order.iter().enumerate().all(|(k, axis)| k == *axis);
                let strides = tags
                    .iter()
                    .map(|t| match t {
                        AxisTag::Stride(e) => Some(e.clone()),
                        AxisTag::Nest(_) => None,
                    })
                    .collect();
                (if plain { Vec::new() } else { order }, strides)
            }
        };
        kernel.edit(|data| {
            change_array(data, &self.array, |array| {
                array.order = order.clone();
                array.layout.modes = None;
                for (axis, stride) in array.axes.iter_mut().zip(&strides) {
                    axis.stride = stride.clone();
                }
            });
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("a layout is injective")
    }
}
