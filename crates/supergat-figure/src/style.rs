//! Colours and the style sheet that every figure carries.

/// Colours that most people can tell apart (after Okabe and Ito), each for light and for dark ground.
const COLOURS: [[&str; 2]; 8] = [
    ["#0072b2", "#4fb0ef"],
    ["#d98c00", "#f0b13c"],
    ["#009e73", "#2fc79a"],
    ["#b8558e", "#e391bf"],
    ["#d55e00", "#ff8a47"],
    ["#3a9bd4", "#8fd0f7"],
    ["#8f8300", "#d8cc45"],
    ["#5b5b5b", "#b4b4b4"],
];

/// A colour of its own for every number, on light ground: the list, then hues that turn by the golden angle.
pub fn colour(number: usize) -> String {
    let hue = || format!("hsl({:.0},65%,50%)", (number as f64 * 137.508) % 360.0);
    COLOURS.get(number).map_or_else(hue, |[light, _]| (*light).to_owned())
}

/// The attributes that give a mark the colour of its series, besides other classes.
pub(crate) fn series(number: usize, classes: &str) -> String {
    match number < COLOURS.len() {
        true => format!("class=\"s{number} {classes}\""),
        false => format!("class=\"{classes}\" fill=\"{0}\" stroke=\"{0}\"", colour(number)),
    }
}

/// How opaque a share between 0 and 1 is drawn: nothing is invisible.
pub(crate) fn strength(share: f64) -> f64 {
    0.06 + 0.94 * share.clamp(0.0, 1.0)
}

/// The smallest and the largest of the finite values.
pub(crate) fn ends(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.filter(|value| value.is_finite()).fold(None, |ends, value| {
        let [low, high] = ends.unwrap_or([value; 2]);
        Some([low.min(value), high.max(value)])
    })
}

/// How far a value is on the way from the smallest to the largest.
pub(crate) fn share(value: f64, [low, high]: [f64; 2]) -> f64 {
    if high > low { (value - low) / (high - low) } else { 0.5 }
}

/// The style sheet: plain rules for light ground, others for screens of readers who like dark ones. Paper is always light.
pub(crate) fn sheet() -> String {
    let rules = |scheme: usize, [ground, ink, pale, grid, cell, on]: [&str; 6]| -> String {
        let series =
            COLOURS.iter().enumerate().map(|(k, both)| format!(".sgf .s{k}{{fill:{0};stroke:{0}}}", both[scheme]));
        let rest = format!(
            ".sgf .ground{{fill:{ground}}}.sgf text{{fill:{ink};stroke:none}}.sgf .pale{{fill:{pale}}}.sgf .grid{{stroke:{grid}}}\
             .sgf .axis{{stroke:{pale}}}.sgf .cell{{fill:{cell}}}.sgf .on{{fill:{on}}}.sgf .ring{{stroke:{ground}}}\
             .sgf .halo{{stroke:{ground}}}.sgf .rule{{stroke:{ink}}}"
        );
        series.collect::<String>() + &rest
    };
    let light = rules(0, ["#ffffff", "#222222", "#5c5c5c", "#e4e4e4", "#00467a", "#ffffff"]);
    let dark = rules(1, ["#17191d", "#e4e4e4", "#a8a8a8", "#34373d", "#6cb4e8", "#0d0f12"]);
    // What holds in both schemes is more specific than the colours.
    format!(
        "<style>{light}@media screen and (prefers-color-scheme:dark){{{dark}}}\
         svg.sgf{{font-family:system-ui,sans-serif;display:block}}svg.sgf .line{{fill:none}}svg.sgf .area{{stroke:none}}\
         svg.sgf .halo{{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}}</style>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_colour() {
        assert_eq!(colour(0), "#0072b2");
        assert!(colour(70).starts_with("hsl("));
        assert_eq!(series(7, "line"), "class=\"s7 line\"");
        assert!(sheet().contains("prefers-color-scheme:dark"));
    }
}
