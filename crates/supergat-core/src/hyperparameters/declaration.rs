//! Declaration of all hyperparameters: the one place that a new one is written in, besides its use.

/// Calls a macro with the declaration of all hyperparameters, in the order of documentation and help texts.
///
/// Structs of settings, the table [`HYPERPARAMETERS`](crate::hyperparameters::HYPERPARAMETERS), options of the command
/// line, keys of configuration files, keywords of Python, setters of the library and search spaces are derived from it.
///
/// A group has a description, a name, a struct of its values, a heading, and a function that names its models. A
/// hyperparameter has its meaning, which is also its help text, its name, its type, and its description
/// in the words of `declare.rs`: range, defaults, and how searches vary it.
#[macro_export]
macro_rules! declared_hyperparameters {
    ($callback:ident) => {
        $callback! {
            /// Shape of the network.
            Network: NetworkSettings, "Network", ModelKind::has_epochs {
                /// Number of layers (L).
                layers: usize = whole(1, 1000, 2).searched_on_request(19, Whole(1, 10));
                /// Features per head in hidden layers (F); models without attention have heads * hidden.
                hidden: usize = by_attention(1, 1 << 16, 8, 64)
                    .on_new_graphs_by_attention(16, 64)
                    .searched_on_request(20, Wholes(&[8, 16, 32, 64, 128, 256]));
                /// Number of attention heads in hidden layers, concatenated (K).
                heads: usize = by_attention(1, HEADS, 8, 1)
                    .on_new_graphs_by_attention(4, 1)
                    .searched_on_request(21, Wholes(&[1, 2, 4, 8]))
                    .searched_for(Models::WithAttention);
                /// Number of attention heads in the last layer, averaged.
                output_heads: usize = by_attention(1, HEADS, 8, 1)
                    .on_new_graphs(Value::Whole(1))
                    .searched_for(Models::WithAttention);
                /// Dropout probability of layer inputs and attention coefficients.
                dropout: f64 = number(Range::BelowOne, 0.6)
                    .on_new_graphs(Value::Number(0.5))
                    .searched_on_request(6, Numbers(&[0.0, 0.2, 0.4, 0.6, 0.8]));
                /// LeakyReLU slope for negative attention scores.
                negative_slope: f64 = number(Range::UnitInterval, 0.2).read_by(Models::WithAttention);
                /// Whether messages carry the features of their link, where links have features and the model attends.
                edge_messages: bool = switch(false).read_by(Models::WithAttention);
                /// Shortcut that hidden layers add to their sums over neighbours: none, linear (h W + b), or identity,
                /// which needs input_layer.
                residual: Residual = choice(Residual::NAMES)
                    .on_new_graphs(Value::Choice("linear"))
                    .searched_on_request(23, All)
                    .searched_for(Models::WithBlocks);
                /// Normalisation in hidden layers: none, layer or batch.
                norm: Norm = choice(Norm::NAMES)
                    .on_new_graphs(Value::Choice("layer"))
                    .searched_on_request(22, All)
                    .searched_for(Models::WithBlocks);
                /// Activation of hidden layers: elu or relu.
                activation: Activation = choice(Activation::NAMES)
                    .on_new_graphs(Value::Choice("relu"))
                    .searched_on_request(24, All)
                    .searched_for(Models::WithBlocks);
                /// Whether a linear layer precedes the first layer.
                input_layer: bool = switch(false)
                    .searched_on_request(25, All)
                    .searched_for(Models::WithBlocks);
                /// Whether a linear layer follows the last layer, which is then a hidden layer too.
                output_layer: bool = switch(false)
                    .on_new_graphs(Value::Switch(true))
                    .searched_on_request(26, All)
                    .searched_for(Models::WithBlocks);
                /// Whether nodes attend to themselves; gat and supergat models only.
                self_loops: bool = switch(true).searched_on_request(27, All).read_by(Models::FreeAttention);
                /// Whether dropout applies to attention coefficients too, not to layer inputs only.
                attention_dropout: bool = switch(true)
                    .on_new_graphs(Value::Switch(false))
                    .searched_on_request(28, All)
                    .read_by(Models::WithAttention);
                /// Format of the rows that attention gathers over links: f32, bf16, which halves their bytes, or auto: bf16
                /// in large graphs; gat and supergat models only.
                precision: Precision = choice(Precision::NAMES).never_searched();
                /// Whether hidden layers put a node's own representation beside the sum over its neighbours, followed
                /// by two linear layers; gat and supergat models only.
                separate_ego: bool = switch(false).searched_on_request(29, All).read_by(Models::FreeAttention);
                /// Fraction of the training nodes whose label is input in each step, with the loss on the others; 0: no
                /// labels as input.
                label_input: f64 = number(Range::BelowOne, 0.0);
                /// Number of further forward passes with predicted classes as input of unlabelled nodes; needs
                /// label_input.
                label_reuse: usize = whole(0, 100, 0);
            }
            /// Optimiser and length of training.
            Training: TrainingSettings, "Training", ModelKind::has_epochs {
                /// Learning rate (Adam).
                lr: f64 = number(Range::Positive, 0.01)
                    .on_new_graphs(Value::Number(0.005))
                    .searched_on_request(5, Between(1e-3, 0.1));
                /// Weight decay, added to the gradient of every weight (lambda_2).
                lambda_2: f64 = number(Range::NotNegative, 0.002)
                    .on_new_graphs(Value::Number(5e-4))
                    .searched(1, Between(1e-7, 0.1));
                /// Exponent of the focal loss, which lowers the weight of nodes that are classified well; 0:
                /// cross-entropy.
                focal_gamma: f64 = number(Range::NotNegative, 0.0);
                /// Whether hidden layers are computed again in the backward pass: less memory in deep networks, more
                /// time, the same result.
                checkpointing: bool = switch(false).never_searched();
                /// Maximum number of epochs.
                max_epochs: usize = whole(1, MANY, 500).never_searched();
            }
            /// Edge loss of `supergat-*` models.
            SelfSupervision: EdgeLossSettings, "Self-supervision (supergat-* only)", ModelKind::is_self_supervised {
                /// Weight of the edge loss (lambda_E).
                lambda_e: f64 = number(Range::NotNegative, 1.0).searched(2, Between(1e-5, 200.0));
                /// Fraction of the edges sampled in each step (p_e).
                p_e: f64 = number(Range::Share, 0.8).searched(4, Numbers(&[0.6, 0.8, 1.0]));
                /// Number of negative samples (unlinked pairs) per sampled edge (p_n).
                p_n: f64 = number(Range::NotNegative, 0.5).searched(3, Numbers(&[0.3, 0.5, 0.7, 0.9]));
            }
            /// Constraints of `cgat` models.
            Constraints: ConstraintSettings, "Constraints (cgat* only)", is_constrained {
                /// Number of neighbours, those with the highest scores, that each head attends to in training (k).
                top_k: usize = whole(1, CHOSEN, 4);
                /// Number of nodes that each edge is compared with.
                negatives_per_edge: usize = whole(1, 1000, 5);
                /// Weight of the loss that compares edges with non-edges (lambda_g).
                lambda_g: f64 = number(Range::NotNegative, 1.0);
                /// Minimum margin between the scores of an edge and a non-edge.
                margin_g: f64 = number(Range::NotNegative, 0.3);
            }
            /// Constraints by classes, of `cgat-full-supervised` only.
            ClassConstraints: ClassConstraintSettings, "Constraints (cgat* only)", is_constrained_by_classes {
                /// Weight of the loss that compares edges within and between classes (lambda_b); cgat-full-supervised
                /// only.
                lambda_b: f64 = number(Range::NotNegative, 1.0);
                /// Minimum margin between the scores of edges within and between classes; cgat-full-supervised only.
                margin_b: f64 = number(Range::NotNegative, 0.1);
            }
            /// Rule that stops training before the last epoch.
            EarlyStopping: EarlyStoppingSettings, "Early stopping", stops_early {
                /// Whether to stop before max_epochs once the validation loss or metric has settled; if turned off,
                /// patience is 0 unless given.
                early_stop: bool = switch(true).on_new_graphs(Value::Switch(false)).never_searched();
                /// Epoch, counted from 0, after which training may stop early.
                early_stop_after: usize = whole(0, MANY, 100).never_searched().stored_as("early_stop_patience");
                /// Number of previous validation results to average.
                early_stop_window: usize = whole(1, MANY, 100).never_searched();
                /// Stop when the validation loss is within this fraction of its average.
                early_stop_loss_change: f64 = number(Range::NotNegative, 1e-4).never_searched();
                /// Stop when the validation metric is within this fraction of its average.
                early_stop_metric_change: f64 = number(Range::NotNegative, 1e-4).never_searched();
                /// Stop after this number of epochs without a better validation score; 0 for no such limit.
                patience: usize = whole(0, MANY, 0).on_new_graphs(Value::Whole(100)).never_searched();
            }
            /// Steps of `label-propagation`.
            Propagation: PropagationSettings, "Label propagation (label-propagation only)", is_propagation {
                /// Weight of the neighbours in a step of label propagation; known labels have the rest (alpha).
                propagation_alpha: f64 = number(Range::BelowOne, 0.9)
                    .searched(7, Numbers(&[0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]));
                /// Number of steps of label propagation.
                propagation_iterations: usize = whole(1, STEPS, 50);
            }
            /// Number and shape of the trees of `trees`.
            Trees: TreeSettings, "Boosted trees (trees only)", is_trees {
                /// Maximum number of trees per class.
                tree_count: usize = whole(1, 100_000, 500);
                /// Factor of the values of each tree (learning rate); with a lower one, more trees are needed.
                tree_lr: f64 = number(Range::Share, 0.1).searched(8, Between(0.01, 0.3));
                /// Maximum depth of a tree.
                tree_depth: usize = whole(1, 64, 6).searched(9, Whole(2, 10));
                /// Penalty on the squared values of leaves, which makes them smaller (L2).
                tree_l2: f64 = number(Range::NotNegative, 1.0).searched(10, Between(0.01, 100.0));
                /// Fraction of the training nodes that each tree is grown from.
                tree_node_share: f64 = number(Range::Share, 0.8);
                /// Fraction of the columns sampled for each tree.
                tree_column_share: f64 = number(Range::Share, 0.5).searched(11, Numbers(&[0.1, 0.2, 0.5, 1.0]));
                /// Stop after this number of trees without a lower validation loss of the class.
                tree_patience: usize = whole(1, 100_000, 50).never_searched();
                /// Maximum number of columns per node; where there are more, trees read this number of principal
                /// components.
                tree_components: usize = whole(1, 4096, 128);
            }
            /// Graph learning of `glcn`.
            GraphLearning: GlcnOptions, "Graph learning (glcn only)", is_glcn {
                /// Number of projected features that the weights of links are learned from.
                graph_hidden: usize = whole(1, 1 << 16, 70);
                /// Learning rate of the weights of links (Adam).
                graph_lr: f64 = number(Range::Positive, 0.005).searched(13, Between(1e-3, 0.1));
                /// Weight of the loss of the learned graph: squared differences of linked nodes (lambda).
                lambda_graph: f64 = number(Range::NotNegative, 0.01).searched(12, Between(1e-4, 1.0));
                /// Weight of the squared weights of links within the loss of the learned graph (gamma).
                gamma_graph: f64 = number(Range::NotNegative, 0.01);
                /// Whether the weights of links learn from labels too, not from the loss of the graph alone.
                graph_from_labels: bool = switch(true);
                /// Factor of both learning rates after every 100 epochs.
                lr_decay: f64 = number(Range::Share, 0.9);
            }
            /// Choice of neighbours of `neuralsparse`.
            Sparsification: NeuralSparseOptions, "Choice of neighbours (neuralsparse only)", is_neural_sparse {
                /// Maximum number of neighbours that each node keeps (k).
                sampled_neighbours: usize = whole(1, 1000, 5).searched(14, Whole(2, 15));
                /// Number of hidden features of the scores of neighbours.
                sampler_hidden: usize = whole(1, 1 << 16, 64);
                /// Temperature of the Gumbel-softmax in the first epoch (tau).
                temperature: f64 = number(Range::Positive, 1.0);
                /// Rate at which the temperature falls with the epochs: exp(-rate * epoch) (r).
                temperature_decay: f64 = number(Range::NotNegative, 0.01).searched(15, Between(1e-4, 0.1));
                /// Lowest temperature of the Gumbel-softmax.
                least_temperature: f64 = number(Range::Positive, 0.05);
            }
            /// Agreement and self-labelling of `gcn-gam`.
            Agreement: GamOptions, "Graph Agreement Models (gcn-gam only)", is_gam {
                /// Number of hidden features of the model that says whether two nodes have the same class.
                agreement_hidden: usize = whole(1, 1 << 16, 128);
                /// Learning rate of the agreement model (Adam).
                agreement_lr: f64 = number(Range::Positive, 0.001);
                /// Maximum number of training steps of the agreement model in each round.
                agreement_steps: usize = whole(1, MANY, 2000).never_searched();
                /// Number of links of each kind that the agreement loss samples in each step.
                agreement_edges: usize = whole(1, MANY, 512);
                /// Weight of the agreement loss between labelled nodes (lambda_LL).
                lambda_ll: f64 = number(Range::NotNegative, 0.0);
                /// Weight of the agreement loss between a labelled and an unlabelled node (lambda_LU).
                lambda_lu: f64 = number(Range::NotNegative, 100.0).searched(16, Between(0.1, 1000.0));
                /// Weight of the agreement loss between unlabelled nodes (lambda_UU).
                lambda_uu: f64 = number(Range::NotNegative, 50.0).searched(17, Between(0.05, 500.0));
                /// Maximum number of nodes that are labelled with their predicted class after each round (M).
                self_labels: usize = whole(0, MANY, 200);
                /// Smallest probability of a predicted class that becomes a label.
                self_label_certainty: f64 = number(Range::UnitInterval, 0.4);
                /// Whether new labels have the same fractions of classes as the training nodes.
                keep_class_shares: bool = switch(true);
                /// Maximum number of rounds, the first one without agreement included; max_epochs limits each round.
                rounds: usize = whole(1, 100_000, 30).never_searched();
                /// Number of epochs without a better validation metric after which a round ends.
                round_patience: usize = whole(1, MANY, 200).never_searched();
            }
            /// Edges learned by `lds`.
            EdgeLearning: LdsOptions, "Learned edges (lds only)", is_lds {
                /// Number of nodes with the most similar features that each node is linked with at first; 0: the given
                /// links.
                similar_neighbours: usize = whole(0, 1000, 0);
                /// Learning rate of the probabilities of links.
                edge_lr: f64 = number(Range::NotNegative, 1.0).searched(18, Between(0.01, 10.0));
                /// Number of steps between two updates of the probabilities of links, which their gradient passes
                /// through (tau).
                edge_steps: usize = whole(1, 100, 5);
                /// Maximum number of training steps in each epoch.
                inner_steps: usize = whole(1, MANY, 400);
                /// Number of steps without a smaller training loss after which an epoch ends.
                inner_patience: usize = whole(1, MANY, 20).never_searched();
                /// Number of sampled graphs of a prediction (S).
                graph_samples: usize = whole(1, 1000, 16);
                /// Number of epochs without a better validation metric after which training ends.
                outer_patience: usize = whole(1, MANY, 20).never_searched();
            }
            /// Correct and Smooth, after the training of any model.
            CorrectAndSmooth: CorrectAndSmoothSettings, "Correct and Smooth", is_any {
                /// Whether predictions are corrected and smoothed over links with the labels of training nodes.
                correct_and_smooth: bool = switch(false).never_searched();
                /// Weight of the neighbours in a step of the correction; 0: chosen on the validation nodes.
                correct_alpha: f64 = number(Range::UnitInterval, 0.0).never_searched();
                /// Number of steps of the correction.
                correct_iterations: usize = whole(1, STEPS, 50).never_searched();
                /// Factor of propagated errors in the correction; 0: each node has the mean error of training nodes
                /// (autoscale).
                correct_scale: f64 = number(Range::NotNegative, 0.0).never_searched();
                /// Weight of the neighbours in a step of the smoothing; 0: chosen on the validation nodes.
                smooth_alpha: f64 = number(Range::UnitInterval, 0.0).never_searched();
                /// Number of steps of the smoothing.
                smooth_iterations: usize = whole(1, STEPS, 50).never_searched();
                /// Whether labels of validation nodes are inputs of the smoothing too.
                correct_and_smooth_validation: bool = switch(false).never_searched();
            }
        }
    };
}
