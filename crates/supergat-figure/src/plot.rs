//! Plots: axes, and marks in the order in which they are added.

use crate::axis::Axis;
use crate::density::Density;
use crate::quartiles::Quartiles;

const HEIGHT: f64 = 430.0;

/// One cell of a heat map over two categorical axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Index on the horizontal axis.
    pub x: usize,
    /// Index on the vertical axis, from the top.
    pub y: usize,
    /// Value shown by the colour; the smallest value of all cells is the palest.
    pub value: f64,
    /// Text written into the cell.
    pub text: String,
}

/// A dot whose colour shows a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaded {
    /// Position `[x, y]`.
    pub at: [f64; 2],
    /// Value shown by the colour; the smallest value of all such dots is the palest.
    pub value: f64,
    /// Text of the tooltip.
    pub text: String,
}

/// Kind and data of a plot item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Line(Vec<[f64; 2]>),
    Faint(Vec<[f64; 2]>),
    Band(Vec<[f64; 3]>),
    Steps(Vec<[f64; 2]>),
    Dots(Vec<[f64; 2]>),
    Shaded(Vec<Shaded>),
    Labelled(Vec<([f64; 2], String)>),
    Intervals(Vec<[f64; 3]>),
    Bars(Vec<[f64; 2]>),
    Boxes(Vec<(f64, Quartiles)>),
    Squares(Vec<([f64; 2], f64)>),
    Cells(Vec<Cell>),
    Segments(Vec<[f64; 4]>),
    Density(Density),
    Vertical(f64, String),
    Horizontal(f64, String),
}

/// Marks of one kind, with the index of the series that gives their colour.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlotItem {
    pub(crate) series: Option<usize>,
    pub(crate) right: bool,
    pub(crate) shape: Shape,
}

/// A plot. Marks of the same name share a colour and one entry of the legend; the empty name has no entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) right: Option<Axis>,
    pub(crate) height: f64,
    pub(crate) names: Vec<String>,
    pub(crate) items: Vec<PlotItem>,
}

impl Plot {
    /// Creates an empty plot.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, right: None, height: HEIGHT, names: Vec::new(), items: Vec::new() }
    }

    /// Adds a second vertical axis, used by [`Plot::line_right`] and [`Plot::dots_right`].
    #[must_use]
    pub fn right(mut self, axis: Axis) -> Self {
        self.right = Some(axis);
        self
    }

    /// Sets the height; the width is 720, or a panel's share of that.
    #[must_use]
    pub fn height(mut self, height: f64) -> Self {
        self.height = if height.is_finite() { height.clamp(160.0, 4000.0) } else { HEIGHT };
        self
    }

    /// Assigns the first colours to these series, so that all panels of a figure use the same colours.
    #[must_use]
    pub fn series<S: AsRef<str>>(mut self, names: &[S]) -> Self {
        names.iter().for_each(|name| {
            self.series_index(name.as_ref());
        });
        self
    }

    /// Adds a line through points, interrupted where a number is not finite. Short lines also show their
    /// points as dots.
    #[must_use]
    pub fn line(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, false, Shape::Line(points.into()))
    }

    /// Adds a dashed line on the second vertical axis.
    #[must_use]
    pub fn line_right(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, true, Shape::Line(points.into()))
    }

    /// Adds a staircase through points: across at the old height, then up or down.
    #[must_use]
    pub fn steps(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, false, Shape::Steps(points.into()))
    }

    /// Adds a faint line in the background.
    #[must_use]
    pub fn faint_line(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, false, Shape::Faint(points.into()))
    }

    /// Adds a band between two lines, from `[x, low, high]`.
    #[must_use]
    pub fn band(self, name: &str, bands: &[[f64; 3]]) -> Self {
        self.add(name, false, Shape::Band(bands.into()))
    }

    /// Adds dots.
    #[must_use]
    pub fn dots(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, false, Shape::Dots(points.into()))
    }

    /// Adds dots on the second vertical axis.
    #[must_use]
    pub fn dots_right(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, true, Shape::Dots(points.into()))
    }

    /// Adds dots whose colour shows a value, from pale to strong.
    #[must_use]
    pub fn shaded_dots(self, dots: &[Shaded]) -> Self {
        self.add("", false, Shape::Shaded(dots.into()))
    }

    /// Adds dots with names beside them, placed without overlaps where possible.
    #[must_use]
    pub fn labelled_dots(self, name: &str, points: &[([f64; 2], String)]) -> Self {
        self.add(name, false, Shape::Labelled(points.into()))
    }

    /// Adds vertical intervals `[x, low, high]`, for instance confidence intervals.
    #[must_use]
    pub fn intervals(self, name: &str, intervals: &[[f64; 3]]) -> Self {
        self.add(name, false, Shape::Intervals(intervals.into()))
    }

    /// Adds bars from zero to `[x, y]`. Several series are drawn side by side.
    #[must_use]
    pub fn bars(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, false, Shape::Bars(points.into()))
    }

    /// Adds box plots, each at a position of the horizontal axis. Several series are drawn side by side.
    #[must_use]
    pub fn boxes(self, name: &str, boxes: &[(f64, Quartiles)]) -> Self {
        self.add(name, false, Shape::Boxes(boxes.into()))
    }

    /// Adds filled squares of relative size 0 to 1.
    #[must_use]
    pub fn squares(self, name: &str, squares: &[([f64; 2], f64)]) -> Self {
        self.add(name, false, Shape::Squares(squares.into()))
    }

    /// Adds a heat map over categorical axes, from pale to strong.
    #[must_use]
    pub fn cells(self, cells: &[Cell]) -> Self {
        self.add("", false, Shape::Cells(cells.into()))
    }

    /// Adds faint straight lines `[x0, y0, x1, y1]`, for instance edges of a graph.
    #[must_use]
    pub fn segments(self, segments: &[[f64; 4]]) -> Self {
        self.add("", false, Shape::Segments(segments.into()))
    }

    /// Adds a density over the plane, whose opacity grows with the value.
    #[must_use]
    pub fn density(self, name: &str, density: &Density) -> Self {
        self.add(name, false, Shape::Density(density.clone()))
    }

    /// Adds a dashed vertical line with a short text above it.
    #[must_use]
    pub fn mark_x(self, x: f64, words: &str) -> Self {
        self.add("", false, Shape::Vertical(x, words.into()))
    }

    /// Adds a dashed horizontal line with a short text at its end.
    #[must_use]
    pub fn mark_y(self, y: f64, words: &str) -> Self {
        self.add("", false, Shape::Horizontal(y, words.into()))
    }

    fn add(mut self, name: &str, right: bool, shape: Shape) -> Self {
        let series = (!name.is_empty()).then(|| self.series_index(name));
        self.items.push(PlotItem { series, right: right && self.right.is_some(), shape });
        self
    }

    /// Returns the index of a series, adding it if it is new.
    fn series_index(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }
}
