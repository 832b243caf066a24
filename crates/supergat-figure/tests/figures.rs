//! Figures as SVG: drawn marks, skipped values and escaped text.

use supergat_figure::{Axis, Cell, Density, Plot, Quartiles, Shaded, panels, panels_with_shared_legend};

fn linear() -> Plot {
    Plot::new("t", Axis::linear("x"), Axis::linear("y"))
}

/// Asserts that all elements are closed, so that browsers accept the figure as XML.
fn assert_balanced(svg: &str) {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let name: String = tag.chars().take_while(|c| c.is_alphanumeric() || *c == '/').collect();
        let whole = tag.split('>').next().unwrap();
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "{svg}");
        } else if !whole.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

fn everything(value: f64) -> Plot {
    let point = [value, 1.0];
    linear()
        .right(Axis::linear("z"))
        .line("a", &[point, [1.0, 2.0]])
        .line_right("b", &[[1.0, value], [2.0, 2.0]])
        .faint_line("a", &[point])
        .steps("a", &[point, [1.0, 2.0], [2.0, 1.0]])
        .shaded_dots(&[
            Shaded { at: point, value, text: "s".into() },
            Shaded { at: [1.0, 1.0], value: 1.0, text: "s".into() },
        ])
        .band("a", &[[value, 0.0, 1.0], [1.0, 0.0, 3.0]])
        .dots("c", &[point, [3.0, 3.0]])
        .dots_right("b", &[point])
        .labelled_dots("d", &[(point, "<name>".into()), ([2.0, 2.0], "<other>".into())])
        .intervals("e", &[[1.0, value, 2.0]])
        .bars("f", &[point])
        .boxes("g", &[(1.0, Quartiles::of(&[value, 1.0])), (value, Quartiles::of(&[1.0])), (2.0, Quartiles::of(&[]))])
        .squares("h", &[(point, 0.5), ([1.0, 1.0], value)])
        .segments(&[[value, 0.0, 1.0, 1.0]])
        .density("i", &Density { x: [0.0, 1.0], y: [0.0, value], columns: 2, values: vec![value, 1.0, 0.0, 2.0] })
        .mark_x(value, "v")
        .mark_y(value, "h")
}

#[test]
fn skips_numbers_that_are_not_finite() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.5] {
        let svg = everything(value).svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert_balanced(&svg);
        assert_eq!(svg, everything(value).svg());
    }
}

#[test]
fn logarithmic_axes_skip_values_that_are_not_positive() {
    let svg = Plot::new("t", Axis::log("x"), Axis::log("y"))
        .dots("a", &[[0.0, 1.0], [1.0, -1.0], [1.0, 1.0], [10.0, 3.0]])
        .svg();
    assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
    let bars =
        Plot::new("t", Axis::categories("x", ["a", "b"]), Axis::log("y")).bars("a", &[[0.0, 10.0], [1.0, 0.0]]).svg();
    assert_eq!(bars.matches("<title>").count(), 1, "{bars}");
}

#[test]
fn empty_plots_show_no_data() {
    let odd = linear().line("a", &[[f64::NAN, 1.0]]).cells(&[]).segments(&[]).band("a", &[]);
    for svg in [linear().svg(), odd.svg()] {
        assert!(svg.contains(">no data<"), "{svg}");
        assert_balanced(&svg);
    }
    assert!(!linear().dots("a", &[[1.0, 1.0]]).svg().contains("no data"));
    assert_balanced(&panels("", 3, &[]));
}

#[test]
fn escapes_all_text() {
    let names = ["<c>"];
    let plot = Plot::new("<t>", Axis::categories("<x>", names), Axis::categories("<y>", names))
        .cells(&[Cell { x: 0, y: 0, value: 1.0, text: "<z>".into() }])
        .dots("<n>", &[[0.0, 0.0]])
        .mark_x(0.0, "<m>");
    let svg = panels("<p>", 1, &[plot]);
    for raw in ["<t>", "<x>", "<y>", "<z>", "<n>", "<m>", "<c>", "<p>"] {
        assert!(!svg.contains(raw), "{raw}");
        assert!(svg.contains(&raw.replace('<', "&lt;").replace('>', "&gt;")), "{raw} is missing: {svg}");
    }
}

#[test]
fn marks_of_one_name_share_colour_and_legend_entry() {
    let svg = linear().series(&["a", "b"]).line("b", &[[0.0, 0.0], [1.0, 1.0]]).dots("b", &[[0.5, 0.5]]).svg();
    assert_eq!(svg.matches(">b<").count(), 1, "{svg}");
    // The first colour is reserved for a series that is not drawn.
    assert!(svg.contains("class=\"s1 line\"") && !svg.contains("class=\"s0") && !svg.contains(">a<"), "{svg}");
}

#[test]
fn panels_share_a_legend_if_their_series_are_equal() {
    let plot = |name: &str| linear().series(&["a", "b"]).dots(name, &[[0.0, 1.0]]);
    // Each panel has one of the two series; the legend has both.
    let svg = panels_with_shared_legend("p", 2, &[plot("a"), plot("b"), plot("b")]);
    assert_eq!((svg.matches(">a</text>").count(), svg.matches(">b</text>").count()), (1, 1), "{svg}");
    assert_balanced(&svg);
    let other = linear().dots("b", &[[0.0, 1.0]]);
    let svg = panels_with_shared_legend("p", 2, &[plot("b"), other]);
    assert_eq!(svg.matches(">b</text>").count(), 2, "{svg}");
    assert_balanced(&panels_with_shared_legend("", 3, &[]));
}

#[test]
fn skips_marks_outside_the_range() {
    let svg = Plot::new("t", Axis::linear("x"), Axis::linear("y").range(0.0, 1.0))
        .dots("a", &[[0.0, 0.5], [1.0, 7.0], [2.0, 1.0]])
        .svg();
    assert_eq!(svg.matches("<circle").count(), 2);
}

#[test]
fn narrow_cells_show_their_text_as_tooltip_only() {
    let names: Vec<String> = (0..120).map(|k| format!("class {k}")).collect();
    let cells: Vec<Cell> = (0..120).map(|k| Cell { x: k, y: k, value: k as f64, text: "12345".into() }).collect();
    let svg = Plot::new("t", Axis::categories("x", names.clone()), Axis::categories("y", names)).cells(&cells).svg();
    assert_eq!((svg.matches(">12345<").count(), svg.matches("<title>").count()), (0, 120));
}
