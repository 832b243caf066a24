//! Drawing of a graph (SVG): nodes are coloured by predicted class, more opaque with higher probability. Of a model that
//! chooses neighbours, only chosen links are drawn.

use crate::error::{CliError, Result};
use std::fmt::Write as _;
use supergat::{Classifier, Dataset, Predictions};
use supergat_core::{Graph, Labels, System};
use supergat_figure::{colour, escaped};
use supergat_numerics::layout::{MAX_NODES, layout};

const PAGE: f32 = 1000.0;
const MARGIN: f32 = 30.0;
const LEGEND: f32 = 320.0;
const LINE: f32 = 26.0;

/// Returns an error if the dataset has several graphs or too many nodes to draw.
pub fn check(dataset: &Dataset) -> Result<()> {
    let [example] = &dataset.examples[..] else {
        return Err(CliError::usage(format!("--picture draws one graph, but the data has {}", dataset.examples.len())));
    };
    match example.graph.nodes() {
        nodes if nodes > MAX_NODES => {
            Err(CliError::usage(format!("--picture draws at most {MAX_NODES} nodes, but the graph has {nodes}")))
        }
        _ => Ok(()),
    }
}

/// Returns which edges a model that chooses neighbours keeps, in the order of the graph's incoming lists; `None` for other
/// models.
pub fn chosen(dataset: &Dataset, model: &Classifier) -> Result<Option<Vec<bool>>> {
    if model.architecture().model.system() != Some(System::NeuralSparse) {
        return Ok(None);
    }
    let attention = model.attention(dataset, 0)?;
    let of_node = |node: usize| attention.of(node).into_iter().map(|edge| edge.coefficient > 0.0);
    Ok(Some((0..dataset.examples[0].graph.nodes()).flat_map(of_node).collect()))
}

/// Draws the graph of a dataset with the predicted classes; `chosen` marks the edges that are drawn, if not all.
pub fn svg(dataset: &Dataset, model: &str, predictions: &Predictions, chosen: Option<&[bool]>) -> String {
    let example = &dataset.examples[0];
    let classes = dataset.classes();
    let places: Vec<[f32; 2]> =
        layout(&example.graph).iter().map(|place| place.map(|v| MARGIN + v * (PAGE - 2.0 * MARGIN))).collect();
    let height = PAGE.max(2.0 * MARGIN + LINE * (classes as f32 + 4.0));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" font-family=\"sans-serif\" font-size=\"16\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}",
        PAGE + LEGEND,
        links(&example.graph, &places, chosen)
    );
    let radius = (300.0 / (example.graph.nodes() as f32).sqrt()).clamp(2.5, 12.0);
    let mut counts = vec![0; classes];
    for (node, [x, y]) in places.iter().enumerate() {
        let (class, row) = (predictions.classes()[node], predictions.probabilities_of(node));
        counts[class] += 1;
        let ring = if known(&example.labels, node) { " stroke=\"black\" stroke-width=\"1.5\"" } else { "" };
        let name = escaped(&dataset.node_id(0, node));
        let class_name = escaped(&dataset.class_names[class]);
        // Writing to a string never fails.
        let _ = writeln!(
            text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{}\" fill-opacity=\"{:.2}\"{ring}>\
             <title>{name}: {class_name} ({:.0} %)</title></circle>",
            colour(class),
            0.25 + 0.75 * row[class],
            100.0 * row[class]
        );
    }
    text + &legend(dataset, model, &counts) + "</svg>\n"
}

fn links(graph: &Graph, places: &[[f32; 2]], chosen: Option<&[bool]>) -> String {
    // A link is drawn if it is chosen in one direction.
    let edge = |source: usize, target: usize| {
        let position = graph.position(source as u32, target as u32);
        position.is_some_and(|position| chosen.is_none_or(|chosen| chosen[position]))
    };
    let mut path = String::from("<path stroke=\"#888\" stroke-opacity=\"0.45\" stroke-width=\"1\" fill=\"none\" d=\"");
    for target in 0..graph.nodes() {
        for &source in graph.incoming().of(target) {
            let source = source as usize;
            let drawn = source > target && edge(target, source);
            if source != target && edge(source, target) && !drawn {
                let ([a, b], [c, d]) = (places[source], places[target]);
                let _ = write!(path, "M{a:.1} {b:.1}L{c:.1} {d:.1}");
            }
        }
    }
    path + "\"/>\n"
}

fn legend(dataset: &Dataset, model: &str, counts: &[usize]) -> String {
    let x = PAGE;
    let mut text = format!(
        "<text x=\"{x}\" y=\"{}\" font-weight=\"bold\">{}</text>\n<text x=\"{x}\" y=\"{}\">classes predicted by {}</text>\n",
        MARGIN + LINE,
        escaped(&dataset.name),
        MARGIN + 2.0 * LINE,
        escaped(model)
    );
    for (class, (name, count)) in dataset.class_names.iter().zip(counts).enumerate() {
        let y = MARGIN + (class as f32 + 3.2) * LINE;
        let _ = writeln!(
            text,
            "<circle cx=\"{}\" cy=\"{}\" r=\"8\" fill=\"{}\"/><text x=\"{}\" y=\"{y}\">{} ({count})</text>",
            x + 8.0,
            y - 5.0,
            colour(class),
            x + 26.0,
            escaped(name)
        );
    }
    let y = MARGIN + (counts.len() as f32 + 3.8) * LINE;
    text + &format!(
        "<text x=\"{x}\" y=\"{y}\" fill=\"#555\" font-size=\"13\">ringed: label in the data; pale: low probability</text>\n"
    )
}

fn known(labels: &Labels, node: usize) -> bool {
    match labels {
        Labels::Single { of, .. } => of[node] != Labels::UNKNOWN,
        Labels::Multi { classes, of } => of[node * classes..][..*classes].contains(&1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_each_node_and_link_once() {
        let mut dataset = supergat_data::load("random-graph:nodes=60,degree=4,classes=3,features=2").unwrap();
        dataset.class_names[1] = "<a & \"b\">".into();
        let model = supergat::Classifier::builder().model("gat-go").max_epochs(1).fit(&dataset).unwrap();
        let predictions = model.predict(&dataset).unwrap();
        check(&dataset).unwrap();
        assert_eq!(chosen(&dataset, &model).unwrap(), None);
        let text = svg(&dataset, "gat-go", &predictions, None);
        assert_eq!(text.matches("<title>").count(), 60);
        assert_eq!(text.matches('M').count(), (dataset.examples[0].graph.edges() - 60) / 2);
        assert!(text.contains("&lt;a &amp; &quot;b&quot;&gt; (") && text.ends_with("</svg>\n"));
        assert_eq!(text, svg(&dataset, "gat-go", &predictions, None));
        let large = supergat_data::load("random-graph:nodes=5001,degree=1,features=1").unwrap();
        assert!(check(&large).is_err());
    }

    #[test]
    fn draws_chosen_links_only() {
        let dataset = supergat_data::load("random-graph:nodes=60,degree=8,classes=3,features=2").unwrap();
        let builder = Classifier::builder().model("neuralsparse").max_epochs(1);
        let model = builder.set("sampled_neighbours", 1).fit(&dataset).unwrap();
        let kept = chosen(&dataset, &model).unwrap().unwrap();
        let text = svg(&dataset, "neuralsparse", &model.predict(&dataset).unwrap(), Some(&kept));
        let links = text.matches('M').count();
        assert!((30..=60).contains(&links), "{links} links of 60 nodes with one chosen neighbour each");
    }
}
