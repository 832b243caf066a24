//! All kinds of marks on one page: `cargo run -p supergat-figure --example gallery > gallery.html`.

use supergat_figure::{Axis, Cell, Density, Page, Plot, Quartiles, panels};

/// Deterministic pseudo-random number between 0 and 1.
fn noise(k: usize) -> f64 {
    ((k as f64 * 12.9898).sin() * 43_758.547).fract().abs()
}

fn lines() -> String {
    let curve = |shift: f64| -> Vec<[f64; 2]> {
        (-5..=2).map(|power| [10.0_f64.powi(power), 0.7 + 0.2 / (1.0 + (f64::from(power) + shift).powi(2))]).collect()
    };
    let accuracy: Vec<[f64; 2]> = curve(2.0).iter().map(|[x, y]| [*x, 60.0 + 25.0 * y]).collect();
    let band: Vec<[f64; 3]> = curve(1.0).iter().map(|[x, y]| [*x, y - 0.03, y + 0.02]).collect();
    Plot::new("Lines, a band, two axes", Axis::log("lambda_E"), Axis::linear("AUC").range(0.6, 1.0))
        .right(Axis::linear("accuracy (%)"))
        .band("GO", &band)
        .line("GO", &curve(1.0))
        .line("DP", &curve(3.0))
        .line_right("accuracy of GO", &accuracy)
        .mark_x(0.1, "chosen")
        .mark_y(0.85, "reference")
        .svg()
}

fn epochs() -> Plot {
    let curve = |seed: usize| -> Vec<[f64; 2]> {
        (0..200).map(|k| [k as f64, 2.0 * (-(k as f64) / 60.0).exp() + 0.3 * noise(k + 977 * seed)]).collect()
    };
    (1..6)
        .fold(Plot::new("Epochs", Axis::linear("epoch"), Axis::linear("loss")), |plot, seed| {
            plot.faint_line("training", &curve(seed))
        })
        .line("training", &curve(0))
        .mark_x(163.0, "best epoch")
}

fn boxes() -> Plot {
    let values =
        |shift: usize| -> Vec<f64> { (0..60).map(|k| (noise(k + shift) + noise(k + 7 * shift)).powi(2)).collect() };
    let boxes = |shift: usize| -> Vec<(f64, Quartiles)> {
        (0..4).map(|k| (k as f64, Quartiles::of(&values(100 * k + shift)))).collect()
    };
    let layers = ["layer 1", "layer 2", "layer 3", "layer 4"];
    Plot::new("Boxes", Axis::categories("", layers), Axis::linear("divergence"))
        .boxes("GO", &boxes(1))
        .boxes("DP", &boxes(2))
        .boxes("uniform", &boxes(3))
}

fn bars() -> Plot {
    let bins = ["1", "2", "3-4", "5-8", "9-16", "17-32"];
    let points: Vec<[f64; 2]> = (0..6).map(|k| [k as f64, 60.0 + 30.0 * noise(k)]).collect();
    let intervals: Vec<[f64; 3]> = points.iter().map(|[x, y]| [*x, y - 5.0, y + 4.0]).collect();
    Plot::new("Bars", Axis::categories("degree", bins), Axis::linear("accuracy (%)").range(0.0, 100.0))
        .bars("right", &points)
        .intervals("95 % interval", &intervals)
}

fn heat() -> String {
    let names = ["Theory", "Reinforcement learning", "Genetic algorithms", "Neural networks", "Case based"];
    let cells: Vec<Cell> = (0..25)
        .map(|k| (k % 5, k / 5, if k % 6 == 0 { 80.0 } else { 20.0 * noise(k) }))
        .map(|(x, y, value)| Cell { x, y, value, text: format!("{value:.0}") })
        .collect();
    Plot::new("Cells", Axis::categories("predicted", names), Axis::categories("true", names)).cells(&cells).svg()
}

fn cloud() -> Plot {
    let names = ["cora", "citeseer", "pubmed", "photo", "computers", "cs", "physics", "dblp", "cora-ml", "wiki-cs"];
    let points: Vec<([f64; 2], String)> = names
        .iter()
        .enumerate()
        .map(|(k, name)| ([2.0 + 30.0 * noise(k).powi(3), 0.6 + 0.3 * noise(k + 50)], (*name).to_owned()))
        .collect();
    let squares: Vec<([f64; 2], f64)> =
        (0..12).map(|k| ([2.5 * 1.3_f64.powi(k), 0.3 + 0.02 * f64::from(k)], 0.5)).collect();
    Plot::new("Labelled dots and squares", Axis::log("mean degree"), Axis::linear("homophily"))
        .squares("SuperGAT-MX", &squares)
        .labelled_dots("datasets", &points)
}

fn density() -> Plot {
    let at = |k: usize| (k as f64 / 39.0 - 0.5) * 6.0;
    let values =
        (0..1600).map(|k| (-0.5 * (at(k % 40).powi(2) + (at(k / 40) - 0.5 * at(k % 40)).powi(2))).exp()).collect();
    let edges: Vec<[f64; 4]> = (0..40).map(|k| [at(k), at(39 - k), noise(k), noise(k + 9)]).collect();
    let dots: Vec<[f64; 2]> = (0..40).map(|k| [3.0 * noise(k) - 1.5, 3.0 * noise(k + 40) - 1.5]).collect();
    Plot::new("Density, segments, dots", Axis::linear("x"), Axis::linear("y"))
        .density("", &Density { x: [-3.0, 3.0], y: [-3.0, 3.0], columns: 40, values })
        .segments(&edges)
        .dots("runs", &dots)
}

fn main() {
    let empty =
        Plot::new("Nothing", Axis::linear("x"), Axis::linear("y")).dots("none", &[[f64::NAN, 1.0]]).height(220.0).svg();
    let rows: Vec<Vec<String>> =
        (0..4).map(|k| (0..9).map(|c| format!("{:.3} ± 0.{k}{c}", 80.0 * noise(k * 9 + c))).collect()).collect();
    let header: Vec<String> = (0..9).map(|c| format!("column {c}")).collect();
    let page = Page::new("Gallery", "All kinds of marks")
        .facts(&[("test accuracy", "83.9 ± 0.5 %"), ("seeds", "100"), ("time", "12.3 s")])
        .section("Lines")
        .text("A paragraph explains the figure. The width of long paragraphs is limited, which keeps their lines readable.")
        .figure(&lines(), "Two series on the left axis, one on the right.")
        .section("Small multiples")
        .figure(&panels("Four panels", 2, &[epochs(), boxes(), bars(), density()]), "Each has its own axes.")
        .section("Cells")
        .figure(&heat(), "Rows are true classes.")
        .figure(&cloud().svg(), "Names do not overlap.")
        .figure(&empty, "A plot without data.")
        .section("Tables")
        .table(&header, &rows)
        .code("supergat train cora --model supergat-mx --seeds 10 --out runs/a-rather-long-name-that-does-not-fit-a-telephone");
    print!("{}", page.html());
}
