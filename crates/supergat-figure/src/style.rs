//! Colours and the style sheet that every figure carries.

/// Colours that most people can distinguish (after Okabe and Ito), each for the light and the dark theme.
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

const BLACK: u32 = 0x000000;
const WHITE: u32 = 0xffffff;

/// Colours of a light or dark theme, as 0xRRGGBB.
struct Theme {
    ground: u32,
    ink: u32,
    pale: u32,
    grid: u32,
    cell: u32,
    /// Text on cells that are nearly transparent, and on cells that are nearly opaque. Only black and white
    /// together have enough contrast with every shade in between.
    cell_text: [u32; 2],
    /// Class of texts on nearly opaque cells.
    on: &'static str,
}

const LIGHT: Theme = Theme {
    ground: 0xffffff,
    ink: 0x222222,
    pale: 0x5c5c5c,
    grid: 0xe4e4e4,
    cell: 0x00467a,
    cell_text: [BLACK, WHITE],
    on: "on-light",
};

const DARK: Theme = Theme {
    ground: 0x17191d,
    ink: 0xe4e4e4,
    pale: 0xa8a8a8,
    grid: 0x34373d,
    cell: 0x6cb4e8,
    cell_text: [WHITE, BLACK],
    on: "on-dark",
};

/// Returns a distinct colour for every index, for the light theme: a fixed list, then hues in steps of the
/// golden angle.
pub fn colour(index: usize) -> String {
    let hue = || format!("hsl({:.0},65%,50%)", (index as f64 * 137.508) % 360.0);
    COLOURS.get(index).map_or_else(hue, |[light, _]| (*light).to_owned())
}

/// Returns the attributes that give a mark the colour of its series and further classes.
pub(crate) fn series(index: usize, classes: &str) -> String {
    match index < COLOURS.len() {
        true => format!("class=\"s{index} {classes}\""),
        false => format!("class=\"{classes}\" fill=\"{0}\" stroke=\"{0}\"", colour(index)),
    }
}

/// Returns the opacity of a cell or dot for a share between 0 and 1. The smallest share is still visible.
pub(crate) fn opacity(share: f64) -> f64 {
    0.06 + 0.94 * share.clamp(0.0, 1.0)
}

/// Returns the smallest and the largest of the finite values.
pub(crate) fn min_max(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.filter(|value| value.is_finite()).fold(None, |range, value| {
        let [low, high] = range.unwrap_or([value; 2]);
        Some([low.min(value), high.max(value)])
    })
}

/// Returns the relative position of a value between the smallest and the largest.
pub(crate) fn share(value: f64, [low, high]: [f64; 2]) -> f64 {
    if high > low { (value - low) / (high - low) } else { 0.5 }
}

/// Returns the classes of a text on a cell of some opacity, which select a readable colour in both themes.
pub(crate) fn cell_text_classes(opacity: f64) -> String {
    let on = [LIGHT, DARK].into_iter().filter(|theme| theme.is_opaque(opacity)).map(|theme| theme.on);
    std::iter::once("value").chain(on).collect::<Vec<_>>().join(" ")
}

impl Theme {
    /// Whether the text of opaque cells has more contrast with a cell than that of transparent cells.
    fn is_opaque(&self, opacity: f64) -> bool {
        let shade = self.shade(opacity);
        let [transparent, opaque] = self.cell_text.map(|text| contrast(channels(text), shade));
        opaque > transparent
    }

    /// Red, green and blue of a cell over the background.
    fn shade(&self, opacity: f64) -> [f64; 3] {
        let (cell, ground) = (channels(self.cell), channels(self.ground));
        std::array::from_fn(|k| opacity * cell[k] + (1.0 - opacity) * ground[k])
    }

    fn rules(&self) -> String {
        let Self { ground, ink, pale, grid, cell, cell_text: [text, text_on], on } = self;
        format!(
            ".sgf .ground{{fill:#{ground:06x}}}.sgf text{{fill:#{ink:06x};stroke:none}}.sgf .pale{{fill:#{pale:06x}}}\
             .sgf .grid{{stroke:#{grid:06x}}}.sgf .axis{{stroke:#{pale:06x}}}.sgf .cell{{fill:#{cell:06x}}}\
             .sgf .value{{fill:#{text:06x}}}.sgf .{on}{{fill:#{text_on:06x}}}.sgf .ring{{stroke:#{ground:06x}}}\
             .sgf .halo{{stroke:#{ground:06x}}}.sgf .rule{{stroke:#{ink:06x}}}"
        )
    }
}

/// Red, green and blue from 0 to 1.
fn channels(colour: u32) -> [f64; 3] {
    [16, 8, 0].map(|shift| f64::from(colour >> shift & 0xff) / 255.0)
}

/// Contrast ratio of two colours as the Web Content Accessibility Guidelines define it, from 1 to 21.
fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let linear = |v: f64| if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) };
    let luminance = |c: [f64; 3]| 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

/// Returns the style sheet: rules for the light theme, overridden on screens with the dark scheme. Paper is
/// always light.
pub(crate) fn sheet() -> String {
    let rules = |scheme: usize, theme: Theme| -> String {
        let series =
            COLOURS.iter().enumerate().map(|(k, both)| format!(".sgf .s{k}{{fill:{0};stroke:{0}}}", both[scheme]));
        series.collect::<String>() + &theme.rules()
    };
    let (light, dark) = (rules(0, LIGHT), rules(1, DARK));
    // Rules for both schemes have a higher specificity than the colours.
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
    fn assigns_a_colour_to_every_index() {
        assert_eq!(colour(0), "#0072b2");
        assert!(colour(70).starts_with("hsl("));
        assert_eq!(series(7, "line"), "class=\"s7 line\"");
        assert!(sheet().contains("prefers-color-scheme:dark"));
    }

    #[test]
    fn computes_wcag_contrast() {
        let ratio = |a: u32, b: u32| contrast(channels(a), channels(b));
        assert!((ratio(BLACK, WHITE) - 21.0).abs() < 1e-12);
        // Greys just above and just below 4.5 on white.
        assert!((ratio(0x767676, WHITE) - 4.54).abs() < 0.005 && (ratio(0x777777, WHITE) - 4.48).abs() < 0.005);
    }

    /// Returns the fill that the style sheet gives to these classes: the last of the matching rules wins.
    fn fill(classes: &str, dark: bool) -> [f64; 3] {
        let sheet = sheet();
        let (light_rules, rest) = sheet.split_once("@media").unwrap();
        let rules = if dark { format!("{light_rules}{rest}") } else { light_rules.to_owned() };
        let last = classes.split(' ').filter_map(|class| {
            let rule = format!(".sgf .{class}{{fill:#");
            rules.rfind(&rule).map(|at| (at, &rules[at + rule.len()..][..6]))
        });
        channels(u32::from_str_radix(last.max().unwrap().1, 16).unwrap())
    }

    /// Checks every opacity that a cell can have: they are written with three decimals.
    #[test]
    fn cell_text_has_enough_contrast_in_both_themes() {
        for (theme, dark) in [(LIGHT, false), (DARK, true)] {
            let mut least = f64::MAX;
            for thousandths in 60..=1000 {
                let opacity = f64::from(thousandths) / 1000.0;
                least = least.min(contrast(fill(&cell_text_classes(opacity), dark), theme.shade(opacity)));
            }
            assert!(least >= 4.5, "dark {dark}: {least}");
        }
    }
}
