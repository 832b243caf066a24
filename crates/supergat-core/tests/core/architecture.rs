//! Sizes of architectures.

use supergat_core::hyperparameters::NetworkSettings;
use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels, Norm, Residual};
use supergat_cpu::Model;

/// The bound counts every matrix, and only one of both halves of GraphSAGE's with root weight.
#[test]
fn least_weights_are_the_elements_of_matrices() {
    let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected).unwrap();
    let labels = Labels::Single { classes: 3, of: vec![0, 1] };
    let features = Features::dense(2, 5, vec![1.0f32; 10]).unwrap();
    let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]]).unwrap();
    for name in ["gcn", "mlp", "sage", "gat-go", "supergat-mx", "supergat-sd", "gatv2", "cgat"] {
        let plain = Architecture::new(name.parse().unwrap(), &example);
        let attends = plain.model.is_attention();
        for (layers, deep, label_input) in [(1, false, 0.0), (3, false, 0.5), (3, true, 0.0), (1, true, 0.5)] {
            let network = NetworkSettings {
                layers,
                heads: 3,
                hidden: 7,
                output_heads: 2,
                edge_messages: attends && deep,
                residual: if deep { Residual::Linear } else { Residual::None },
                norm: if deep { Norm::Batch } else { Norm::None },
                input_layer: deep,
                output_layer: deep,
                separate_ego: deep && attends,
                label_input,
                ..plain.network
            };
            let architecture = Architecture { edge_features: if attends { 4 } else { 0 }, network, ..plain };
            let model = Model::<f32>::zeros(architecture).unwrap();
            let is_matrix = |name: &str| {
                ![".a", ".b", ".weight", ".bias", ".mean", ".variance"].iter().any(|end| name.ends_with(end))
            };
            let matrices = model.parameters().filter(|parameter| is_matrix(&parameter.name));
            let elements: usize = matrices.map(|parameter| parameter.elements()).sum();
            assert_eq!(architecture.least_weights(), elements as u64, "{architecture:?}");
        }
    }
}
