//! What a plot shows: axes, and marks in the order in which they are given.

use crate::axis::Axis;
use crate::density::Density;
use crate::quartiles::Quartiles;

const HEIGHT: f64 = 430.0;

/// One cell of a heat map over two categorical axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Position on the horizontal axis.
    pub x: usize,
    /// Position on the vertical axis, from the top.
    pub y: usize,
    /// What its colour shows; the smallest value of all cells is the palest.
    pub value: f64,
    /// What is written into it.
    pub text: String,
}

/// A dot whose colour shows a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaded {
    /// Where it is.
    pub at: [f64; 2],
    /// What its colour shows; the smallest value of all such dots is the palest.
    pub value: f64,
    /// What a pointer shows.
    pub text: String,
}

/// What is drawn, with the series whose colour it has.
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

/// Marks of one kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layer {
    pub(crate) series: Option<usize>,
    pub(crate) right: bool,
    pub(crate) shape: Shape,
}

/// A plot. Marks of the same name have the same colour and one entry of the legend; the empty name has no entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) right: Option<Axis>,
    pub(crate) height: f64,
    pub(crate) names: Vec<String>,
    pub(crate) layers: Vec<Layer>,
}

impl Plot {
    /// An empty plot.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, right: None, height: HEIGHT, names: Vec::new(), layers: Vec::new() }
    }

    /// A second vertical axis, for marks that say so.
    #[must_use]
    pub fn right(mut self, axis: Axis) -> Self {
        self.right = Some(axis);
        self
    }

    /// Its height, where its width is 720 (or a panel's share of that).
    #[must_use]
    pub fn height(mut self, height: f64) -> Self {
        self.height = if height.is_finite() { height.clamp(160.0, 4000.0) } else { HEIGHT };
        self
    }

    /// Which series get the first colours, whatever is drawn first: panels of one figure then agree.
    #[must_use]
    pub fn series<S: AsRef<str>>(mut self, names: &[S]) -> Self {
        names.iter().for_each(|name| {
            self.number(name.as_ref());
        });
        self
    }

    /// A line through points, interrupted where a number is not finite. Few points are also dots.
    #[must_use]
    pub fn line(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, false, Shape::Line(points.into()))
    }

    /// A dashed line on the second vertical axis.
    #[must_use]
    pub fn line_right(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, true, Shape::Line(points.into()))
    }

    /// A staircase through points: across at the old height, then up or down.
    #[must_use]
    pub fn steps(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, false, Shape::Steps(points.into()))
    }

    /// A line in the background.
    #[must_use]
    pub fn faint_line(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, false, Shape::Faint(points.into()))
    }

    /// A band between two lines, from `[x, low, high]`.
    #[must_use]
    pub fn band(self, name: &str, bands: &[[f64; 3]]) -> Self {
        self.add(name, false, Shape::Band(bands.into()))
    }

    /// Dots.
    #[must_use]
    pub fn dots(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, false, Shape::Dots(points.into()))
    }

    /// Dots on the second vertical axis.
    #[must_use]
    pub fn dots_right(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, true, Shape::Dots(points.into()))
    }

    /// Dots whose colour shows a value, from pale to strong.
    #[must_use]
    pub fn shaded_dots(self, dots: &[Shaded]) -> Self {
        self.add("", false, Shape::Shaded(dots.into()))
    }

    /// Dots with names beside them, which make way for each other.
    #[must_use]
    pub fn labelled_dots(self, name: &str, points: &[([f64; 2], String)]) -> Self {
        self.add(name, false, Shape::Labelled(points.into()))
    }

    /// Vertical intervals `[x, low, high]`, for instance of confidence.
    #[must_use]
    pub fn intervals(self, name: &str, intervals: &[[f64; 3]]) -> Self {
        self.add(name, false, Shape::Intervals(intervals.into()))
    }

    /// Bars from zero to `[x, y]`. Series stand side by side.
    #[must_use]
    pub fn bars(self, name: &str, points: &[[f64; 2]]) -> Self {
        self.add(name, false, Shape::Bars(points.into()))
    }

    /// Box plots at places of the horizontal axis. Series stand side by side.
    #[must_use]
    pub fn boxes(self, name: &str, boxes: &[(f64, Quartiles)]) -> Self {
        self.add(name, false, Shape::Boxes(boxes.into()))
    }

    /// Filled squares of relative size 0 to 1.
    #[must_use]
    pub fn squares(self, name: &str, squares: &[([f64; 2], f64)]) -> Self {
        self.add(name, false, Shape::Squares(squares.into()))
    }

    /// A heat map over categorical axes, from pale to strong.
    #[must_use]
    pub fn cells(self, cells: &[Cell]) -> Self {
        self.add("", false, Shape::Cells(cells.into()))
    }

    /// Faint straight lines `[x0, y0, x1, y1]`, for instance edges of a graph.
    #[must_use]
    pub fn segments(self, segments: &[[f64; 4]]) -> Self {
        self.add("", false, Shape::Segments(segments.into()))
    }

    /// A density over the plane, the stronger the higher.
    #[must_use]
    pub fn density(self, name: &str, density: &Density) -> Self {
        self.add(name, false, Shape::Density(density.clone()))
    }

    /// A dashed vertical line with a few words above it.
    #[must_use]
    pub fn mark_x(self, x: f64, words: &str) -> Self {
        self.add("", false, Shape::Vertical(x, words.into()))
    }

    /// A dashed horizontal line with a few words at its end.
    #[must_use]
    pub fn mark_y(self, y: f64, words: &str) -> Self {
        self.add("", false, Shape::Horizontal(y, words.into()))
    }

    fn add(mut self, name: &str, right: bool, shape: Shape) -> Self {
        let series = (!name.is_empty()).then(|| self.number(name));
        self.layers.push(Layer { series, right: right && self.right.is_some(), shape });
        self
    }

    fn number(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }
}
