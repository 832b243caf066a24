"""A scikit-learn estimator whose samples are nodes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _frames
from .graph import Graph, check_seed, distinct, draw_split, html_table
from .training import Model, Training, decided, expect_graph, plain, train

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

#: Names of the hyperparameters, in the order of the library's table.
HYPERPARAMETERS = (
    "layers", "hidden", "heads", "output_heads", "dropout", "negative_slope", "edge_messages", "residual", "norm",
    "activation", "input_layer", "output_layer", "self_loops", "attention_dropout", "separate_ego", "label_input",
    "label_reuse", "lr", "lambda_2", "focal_gamma", "checkpointing", "max_epochs", "lambda_e", "p_e", "p_n",
    "top_k", "negatives_per_edge", "lambda_g", "margin_g", "lambda_b", "margin_b", "early_stop",
    "early_stop_patience", "early_stop_window", "early_stop_loss_change", "early_stop_metric_change", "patience",
    "propagation_alpha", "propagation_iterations", "tree_count", "tree_lr", "tree_depth", "tree_l2", "tree_node_share",
    "tree_column_share", "tree_patience", "tree_components", "graph_hidden", "graph_lr", "lambda_graph", "gamma_graph",
    "graph_from_labels", "lr_decay", "sampled_neighbours", "sampler_hidden", "temperature", "temperature_decay",
    "least_temperature",
    "agreement_hidden", "agreement_lr", "agreement_steps", "agreement_edges", "lambda_ll", "lambda_lu",
    "lambda_uu", "self_labels", "self_label_certainty", "keep_class_shares", "rounds", "round_patience",
    "similar_neighbours", "edge_lr", "edge_steps", "inner_steps", "inner_patience", "graph_samples",
    "outer_patience",
    "correct_and_smooth", "correct_alpha", "correct_iterations", "correct_scale",
    "smooth_alpha", "smooth_iterations", "correct_and_smooth_validation",
)


def default_model(graph: Graph | None) -> str:
    """Return the model of an estimator that names none."""
    return "mlp" if graph is None else "supergat-mx"


class SuperGATClassifier:
    """Graph attention network as a scikit-learn classifier. The samples are nodes, given by their ids.

    The graph is a parameter, so cross-validation, grid search and cloning work with node ids as X. Only the labels
    that are given to :meth:`fit` are used: labels of other nodes, also those of the graph, are never read.

    Parameters
    ----------
    graph : Graph, optional
        Graph of the nodes. Without one, X is a matrix of features, and the samples have no links.
    model : str, optional
        One of :func:`supergat.model_names`; by default ``supergat-mx``, or ``mlp`` without a graph. ``auto`` compares
        networks on held-out nodes of every call of :meth:`fit`, also in every fold of a cross-validation. To compare once,
        name the model that :func:`supergat.recommend` found.
    random_state : int, RandomState or None
        Seed; ``None`` is 0. The same seed gives the same bits.
    n_seeds : int
        Number of seeds; the model with the best validation metric is kept.
    validation : float
        Share of the given nodes that selects the best epoch and ends training early.
    preset : str, optional
        Dataset of the paper whose published hyperparameters are used.
    n_jobs : int, optional
        Number of threads; the default is all cores. Results do not depend on it.
    device : {"cpu", "cuda", "cuda:1", "auto"}
        Device that trains, as for :func:`supergat.train`. Models predict on the CPU.
    tf32 : bool
        Whether dense products on a GPU may round their factors to 10 bits, which is faster for wide features.
    verbose : bool, optional
        Whether a progress line is shown; by default in terminals and notebooks.
    class_weight : "balanced" or dict, optional
        Weight of each class in the loss. ``balanced`` lets all classes count the same; a dictionary has weights of
        some classes of y, and the others have weight 1.
    positive : class of y, optional
        The positive one of two classes, for the threshold and for ``select``; by default the second of ``classes_``.
    calibrate : {"auto", "temperature", "none"}
        Whether probabilities are calibrated on the validation nodes, as for :func:`supergat.train`.
    threshold : str or float, optional
        For two classes: the probability of the positive one from which on it is predicted, chosen on the validation
        nodes by ``f1``, ``precision=0.9`` or ``recall=0.8``, or given as a number.
    select : str, optional
        Score that chooses the best epoch and seed: ``accuracy``, ``balanced-accuracy``, ``macro-f1``, ``auroc``,
        ``average-precision`` or ``loss``.
    ensemble : bool
        Whether predictions are the mean probabilities of the models of all seeds.
    layers : int, optional
        Number of layers (L).
    hidden : int, optional
        Features per head in hidden layers (F); models without attention have heads * hidden.
    heads : int, optional
        Number of attention heads in hidden layers, concatenated (K).
    output_heads : int, optional
        Number of attention heads in the last layer, averaged.
    dropout : float, optional
        Dropout probability of layer inputs and attention coefficients.
    negative_slope : float, optional
        LeakyReLU slope for negative attention scores.
    edge_messages : bool, optional
        Whether messages carry the features of their link, where links have features and the model attends.
    residual : str, optional
        Shortcut that hidden layers add to their sums over neighbours: none, linear (h W + b), or identity, which
        needs input_layer.
    norm : str, optional
        Normalisation in hidden layers: none, layer or batch.
    activation : str, optional
        Activation of hidden layers: elu or relu.
    input_layer : bool, optional
        Whether a linear layer precedes the first layer.
    output_layer : bool, optional
        Whether a linear layer follows the last layer, which is then a hidden layer too.
    self_loops : bool, optional
        Whether nodes attend to themselves; gat and supergat models only.
    attention_dropout : bool, optional
        Whether dropout applies to attention coefficients too, not to layer inputs only.
    separate_ego : bool, optional
        Whether hidden layers put a node's own representation beside the sum over its neighbours, followed by two
        linear layers; gat and supergat models only.
    label_input : float, optional
        Share of the training nodes whose label is input in each step, with the loss on the others; 0: no labels as
        input.
    label_reuse : int, optional
        Number of further forward passes with predicted classes as input of unlabelled nodes; needs label_input.
    lr : float, optional
        Learning rate (Adam).
    lambda_2 : float, optional
        Weight decay, added to the gradient of every weight (lambda_2).
    focal_gamma : float, optional
        Exponent of the focal loss, which lowers the weight of nodes that are classified well; 0 for cross-entropy.
    checkpointing : bool, optional
        Whether hidden layers are computed again in the backward pass: less memory in deep networks, more time, the
        same result.
    max_epochs : int, optional
        Maximum number of epochs.
    lambda_e : float, optional
        Weight of the edge loss (lambda_E).
    p_e : float, optional
        Fraction of the edges sampled in each step (p_e).
    p_n : float, optional
        Number of negative samples (unlinked pairs) per sampled edge (p_n).
    top_k : int, optional
        Number of neighbours, those with the highest scores, that each head attends to in training (k).
    negatives_per_edge : int, optional
        Number of nodes that each edge is compared with.
    lambda_g : float, optional
        Weight of the loss that compares edges with non-edges (lambda_g).
    margin_g : float, optional
        Minimum margin between the scores of an edge and a non-edge.
    lambda_b : float, optional
        Weight of the loss that compares edges within and between classes (lambda_b); cgat-full-supervised only.
    margin_b : float, optional
        Minimum margin between the scores of edges within and between classes; cgat-full-supervised only.
    early_stop : bool, optional
        Whether to stop before max_epochs once the validation loss or metric has settled; if turned off, patience
        is 0 unless given.
    early_stop_patience : int, optional
        No early stop up to this epoch, counted from 0.
    early_stop_window : int, optional
        Number of previous validation results to average.
    early_stop_loss_change : float, optional
        Stop when the validation loss is within this fraction of its average.
    early_stop_metric_change : float, optional
        Stop when the validation metric is within this fraction of its average.
    patience : int, optional
        Stop after this number of epochs without a better validation score; 0 for no such limit.
    propagation_alpha : float, optional
        Share of the neighbours in a step of label propagation; known labels have the rest (alpha).
    propagation_iterations : int, optional
        Number of steps of label propagation.
    tree_count : int, optional
        Maximum number of trees per class.
    tree_lr : float, optional
        Factor of the values of each tree (learning rate); with a lower one, more trees are needed.
    tree_depth : int, optional
        Maximum depth of a tree: the number of questions before a leaf.
    tree_l2 : float, optional
        Penalty on the squared values of leaves, which makes them smaller (L2).
    tree_node_share : float, optional
        Share of the training nodes that each tree is grown from.
    tree_column_share : float, optional
        Share of the columns that each tree may ask for.
    tree_patience : int, optional
        Stop after this number of trees without a lower validation loss of the class.
    tree_components : int, optional
        Maximum number of columns per node; where there are more, trees read this number of principal components.
    graph_hidden : int, optional
        Number of projected features that the weights of links are learned from.
    graph_lr : float, optional
        Learning rate of the weights of links (Adam).
    lambda_graph : float, optional
        Weight of the loss of the learned graph: squared differences of linked nodes (lambda).
    gamma_graph : float, optional
        Weight of the squared weights of links within the loss of the learned graph (gamma).
    graph_from_labels : bool, optional
        Whether the weights of links learn from labels too, not from the loss of the graph alone.
    lr_decay : float, optional
        Factor of both learning rates after every 100 epochs.
    sampled_neighbours : int, optional
        Maximum number of neighbours that each node keeps (k).
    sampler_hidden : int, optional
        Number of hidden features of the scores of neighbours.
    temperature : float, optional
        Temperature of the Gumbel-softmax in the first epoch (tau).
    temperature_decay : float, optional
        Rate at which the temperature falls with the epochs: exp(-rate * epoch) (r).
    least_temperature : float, optional
        Lowest temperature of the Gumbel-softmax.
    agreement_hidden : int, optional
        Number of hidden features of the model that says whether two nodes have the same class.
    agreement_lr : float, optional
        Learning rate of the agreement model (Adam).
    agreement_steps : int, optional
        Maximum number of training steps of the agreement model in each round.
    agreement_edges : int, optional
        Number of links of each kind that the agreement loss samples in each step.
    lambda_ll : float, optional
        Weight of the agreement loss between labelled nodes (lambda_LL).
    lambda_lu : float, optional
        Weight of the agreement loss between a labelled and an unlabelled node (lambda_LU).
    lambda_uu : float, optional
        Weight of the agreement loss between unlabelled nodes (lambda_UU).
    self_labels : int, optional
        Maximum number of nodes that are labelled with their predicted class after each round (M).
    self_label_certainty : float, optional
        Smallest probability of a predicted class that becomes a label.
    keep_class_shares : bool, optional
        Whether new labels have the classes in the shares of the training nodes.
    rounds : int, optional
        Maximum number of rounds, the first one without agreement included; max_epochs limits each round.
    round_patience : int, optional
        Number of epochs without a better validation metric after which a round ends.
    similar_neighbours : int, optional
        Number of nodes with the most similar features that each node is linked with at first; 0: the given links.
    edge_lr : float, optional
        Learning rate of the probabilities of links.
    edge_steps : int, optional
        Number of steps between two updates of the probabilities of links, which their gradient passes through (tau).
    inner_steps : int, optional
        Maximum number of training steps in each epoch.
    inner_patience : int, optional
        Number of steps without a smaller training loss after which an epoch ends.
    graph_samples : int, optional
        Number of sampled graphs of a prediction (S).
    outer_patience : int, optional
        Number of epochs without a better validation metric after which training ends.
    correct_and_smooth : bool, optional
        Whether predictions are corrected and smoothed over links with the labels of training nodes.
    correct_alpha : float, optional
        Share of the neighbours in a step of the correction; 0: chosen on the validation nodes.
    correct_iterations : int, optional
        Number of steps of the correction.
    correct_scale : float, optional
        Factor of propagated errors in the correction; 0: each node has the mean error of training nodes (autoscale).
    smooth_alpha : float, optional
        Share of the neighbours in a step of the smoothing; 0: chosen on the validation nodes.
    smooth_iterations : int, optional
        Number of steps of the smoothing.
    correct_and_smooth_validation : bool, optional
        Whether labels of validation nodes are inputs of the smoothing too.

    Attributes
    ----------
    classes_ : array
        Classes in sorted order.
    n_features_in_ : int
        Number of features: those of a node, or without a graph the columns of X.
    model_ : Model
        Trained model; the command line opens its file.
    training_ : Training
        Curves and outcome of every seed.

    Notes
    -----
    A hyperparameter that is ``None`` has its default: the published value for a dataset of the paper, otherwise the
    default for new graphs, which was chosen on many graphs.

    Examples
    --------
    >>> import supergat
    >>> graph = supergat.load("random-partition:classes=3,nodes=180,degree=8,homophily=0.9")
    >>> nodes, y = graph.ids, graph.labels
    >>> classifier = supergat.SuperGATClassifier(graph=graph, model="gat-go", max_epochs=30)
    >>> bool(classifier.fit(nodes[::2], y[::2]).score(nodes[1::2], y[1::2]) > 0.5)
    True
    """

    _estimator_type = "classifier"

    def __init__(
        self,
        graph: Graph | None = None,
        model: str | None = None,
        random_state: Any = None,
        n_seeds: int = 1,
        validation: float = 0.2,
        preset: str | None = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        tf32: bool = False,
        verbose: bool | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        positive: Any = None,
        calibrate: str = "auto",
        threshold: str | float | None = None,
        select: str | None = None,
        ensemble: bool = False,
        layers: int | None = None,
        hidden: int | None = None,
        heads: int | None = None,
        output_heads: int | None = None,
        dropout: float | None = None,
        negative_slope: float | None = None,
        edge_messages: bool | None = None,
        residual: str | None = None,
        norm: str | None = None,
        activation: str | None = None,
        input_layer: bool | None = None,
        output_layer: bool | None = None,
        self_loops: bool | None = None,
        attention_dropout: bool | None = None,
        separate_ego: bool | None = None,
        label_input: float | None = None,
        label_reuse: int | None = None,
        lr: float | None = None,
        lambda_2: float | None = None,
        focal_gamma: float | None = None,
        checkpointing: bool | None = None,
        max_epochs: int | None = None,
        lambda_e: float | None = None,
        p_e: float | None = None,
        p_n: float | None = None,
        top_k: int | None = None,
        negatives_per_edge: int | None = None,
        lambda_g: float | None = None,
        margin_g: float | None = None,
        lambda_b: float | None = None,
        margin_b: float | None = None,
        early_stop: bool | None = None,
        early_stop_patience: int | None = None,
        early_stop_window: int | None = None,
        early_stop_loss_change: float | None = None,
        early_stop_metric_change: float | None = None,
        patience: int | None = None,
        propagation_alpha: float | None = None,
        propagation_iterations: int | None = None,
        tree_count: int | None = None,
        tree_lr: float | None = None,
        tree_depth: int | None = None,
        tree_l2: float | None = None,
        tree_node_share: float | None = None,
        tree_column_share: float | None = None,
        tree_patience: int | None = None,
        tree_components: int | None = None,
        graph_hidden: int | None = None,
        graph_lr: float | None = None,
        lambda_graph: float | None = None,
        gamma_graph: float | None = None,
        graph_from_labels: bool | None = None,
        lr_decay: float | None = None,
        sampled_neighbours: int | None = None,
        sampler_hidden: int | None = None,
        temperature: float | None = None,
        temperature_decay: float | None = None,
        least_temperature: float | None = None,
        agreement_hidden: int | None = None,
        agreement_lr: float | None = None,
        agreement_steps: int | None = None,
        agreement_edges: int | None = None,
        lambda_ll: float | None = None,
        lambda_lu: float | None = None,
        lambda_uu: float | None = None,
        self_labels: int | None = None,
        self_label_certainty: float | None = None,
        keep_class_shares: bool | None = None,
        rounds: int | None = None,
        round_patience: int | None = None,
        similar_neighbours: int | None = None,
        edge_lr: float | None = None,
        edge_steps: int | None = None,
        inner_steps: int | None = None,
        inner_patience: int | None = None,
        graph_samples: int | None = None,
        outer_patience: int | None = None,
        correct_and_smooth: bool | None = None,
        correct_alpha: float | None = None,
        correct_iterations: int | None = None,
        correct_scale: float | None = None,
        smooth_alpha: float | None = None,
        smooth_iterations: int | None = None,
        correct_and_smooth_validation: bool | None = None,
    ) -> None:
        self.graph = graph
        self.model = model
        self.random_state = random_state
        self.n_seeds = n_seeds
        self.validation = validation
        self.preset = preset
        self.n_jobs = n_jobs
        self.device = device
        self.tf32 = tf32
        self.verbose = verbose
        self.class_weight = class_weight
        self.positive = positive
        self.calibrate = calibrate
        self.threshold = threshold
        self.select = select
        self.ensemble = ensemble
        self.layers = layers
        self.hidden = hidden
        self.heads = heads
        self.output_heads = output_heads
        self.dropout = dropout
        self.negative_slope = negative_slope
        self.edge_messages = edge_messages
        self.residual = residual
        self.norm = norm
        self.activation = activation
        self.input_layer = input_layer
        self.output_layer = output_layer
        self.self_loops = self_loops
        self.attention_dropout = attention_dropout
        self.separate_ego = separate_ego
        self.label_input = label_input
        self.label_reuse = label_reuse
        self.lr = lr
        self.lambda_2 = lambda_2
        self.focal_gamma = focal_gamma
        self.checkpointing = checkpointing
        self.max_epochs = max_epochs
        self.lambda_e = lambda_e
        self.p_e = p_e
        self.p_n = p_n
        self.top_k = top_k
        self.negatives_per_edge = negatives_per_edge
        self.lambda_g = lambda_g
        self.margin_g = margin_g
        self.lambda_b = lambda_b
        self.margin_b = margin_b
        self.early_stop = early_stop
        self.early_stop_patience = early_stop_patience
        self.early_stop_window = early_stop_window
        self.early_stop_loss_change = early_stop_loss_change
        self.early_stop_metric_change = early_stop_metric_change
        self.patience = patience
        self.propagation_alpha = propagation_alpha
        self.propagation_iterations = propagation_iterations
        self.tree_count = tree_count
        self.tree_lr = tree_lr
        self.tree_depth = tree_depth
        self.tree_l2 = tree_l2
        self.tree_node_share = tree_node_share
        self.tree_column_share = tree_column_share
        self.tree_patience = tree_patience
        self.tree_components = tree_components
        self.graph_hidden = graph_hidden
        self.graph_lr = graph_lr
        self.lambda_graph = lambda_graph
        self.gamma_graph = gamma_graph
        self.graph_from_labels = graph_from_labels
        self.lr_decay = lr_decay
        self.sampled_neighbours = sampled_neighbours
        self.sampler_hidden = sampler_hidden
        self.temperature = temperature
        self.temperature_decay = temperature_decay
        self.least_temperature = least_temperature
        self.agreement_hidden = agreement_hidden
        self.agreement_lr = agreement_lr
        self.agreement_steps = agreement_steps
        self.agreement_edges = agreement_edges
        self.lambda_ll = lambda_ll
        self.lambda_lu = lambda_lu
        self.lambda_uu = lambda_uu
        self.self_labels = self_labels
        self.self_label_certainty = self_label_certainty
        self.keep_class_shares = keep_class_shares
        self.rounds = rounds
        self.round_patience = round_patience
        self.similar_neighbours = similar_neighbours
        self.edge_lr = edge_lr
        self.edge_steps = edge_steps
        self.inner_steps = inner_steps
        self.inner_patience = inner_patience
        self.graph_samples = graph_samples
        self.outer_patience = outer_patience
        self.correct_and_smooth = correct_and_smooth
        self.correct_alpha = correct_alpha
        self.correct_iterations = correct_iterations
        self.correct_scale = correct_scale
        self.smooth_alpha = smooth_alpha
        self.smooth_iterations = smooth_iterations
        self.correct_and_smooth_validation = correct_and_smooth_validation

    # Training

    def fit(self, X: ArrayLike, y: ArrayLike, *, validation_nodes: ArrayLike | None = None) -> SuperGATClassifier:
        """Train on nodes with their classes.

        Parameters
        ----------
        X : array of node ids, or without a graph a matrix of features
        y : array of classes, one per node of X
        validation_nodes : array of node ids, optional
            Nodes of X that select the best epoch; by default a share of every class is drawn.
        """
        graph, positions, classes, of_sample = self._samples(X, y)
        index = np.full(graph.num_nodes, -1, dtype=np.int64)
        index[positions] = of_sample
        seed = self._seed()
        if validation_nodes is not None:
            chosen = graph.positions(validation_nodes)
            outside = np.setdiff1d(chosen, positions)
            if outside.size:
                raise ValueError(f"validation_nodes: expected nodes of X, found {graph.ids[outside[:1]].tolist()[0]!r}")
            lists: list[NDArray[Any]] = [np.setdiff1d(positions, chosen), chosen]
        else:
            if not isinstance(self.validation, (float, np.floating)) or not 0 < self.validation < 1:
                raise ValueError(f"validation: expected a share between 0 and 1, found {self.validation!r}")
            lists = [*draw_split(index, (1 - self.validation, self.validation), seed)]
            # A few nodes, or classes of one node each, leave none to validate on: use them for both.
            lists[1] = lists[1] if lists[1].size else lists[0]
        names = [str(name) for name in classes.tolist()]
        test = np.zeros(0, dtype=np.uint32)
        arrays = [np.ascontiguousarray(nodes, dtype=np.uint32) for nodes in (*lists, test)]
        labelled = Graph(graph._inner.with_labels(index, names, arrays), library=graph._library)
        values = {name: plain(getattr(self, name)) for name in HYPERPARAMETERS if getattr(self, name) is not None}
        seeds = range(seed, seed + check_seed(self.n_seeds, "n_seeds"))
        self.training_: Training = train(
            labelled, self.model or default_model(self.graph), seeds=seeds, preset=self.preset, n_jobs=self.n_jobs, device=self.device,
            tf32=self.tf32, class_weight=self._class_weight(classes, names),
            positive=None if self.positive is None else named_class(self.positive, classes, names, "positive"),
            calibrate=self.calibrate, threshold=self.threshold, select=self.select, ensemble=self.ensemble,
            progress=self.verbose, **values,
        )  # fmt: skip
        self.model_: Model = self.training_.model
        self.classes_ = classes
        self.n_iter_ = self.training_.runs[self.training_.best].epochs
        self._graph = graph
        self._probabilities = self.training_.probabilities
        return self

    def _class_weight(self, classes: NDArray[Any], names: list[str]) -> Any:
        """Return the weights of classes by their names in the graph."""
        if not isinstance(self.class_weight, Mapping):
            return self.class_weight
        return {named_class(key, classes, names, "class_weight"): weight for key, weight in self.class_weight.items()}

    def _samples(self, X: Any, y: Any) -> tuple[Graph, NDArray[np.int64], NDArray[Any], NDArray[np.int64]]:
        """Return the graph, the nodes of X in it, the classes, and the class of every node of X."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        if self.graph is None:
            X, y = self._validated(X, y)
            graph = Graph.from_edge_index(np.zeros((2, 0), dtype=np.int64), X)
            positions = np.arange(graph.num_nodes)
        else:
            graph = expect_graph(self.graph)
            positions = graph.positions(X.to_numpy() if hasattr(X, "to_numpy") else X)
            self.n_features_in_ = graph.num_features
        target = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
        if target.ndim == 2 and target.shape[1] == 1:
            target = target.ravel()
        if target.shape != positions.shape:
            raise ValueError(f"y: expected one class per node of X, {len(positions)}, found the shape {target.shape}")
        if not positions.size:
            raise ValueError("X: expected at least one node, found 0 sample(s)")
        if target.dtype == object and any(one is None or one != one for one in target.tolist()):
            raise ValueError("y: expected a class for every node of X; leave nodes without a class out")
        if target.dtype.kind == "f" and not np.isfinite(target).all():
            raise ValueError("y: Input y contains NaN or infinity; leave nodes without a class out")
        if target.dtype.kind == "f" and (target != np.floor(target)).any():
            raise ValueError("Unknown label type: y contains numbers that are not whole, expected classes")
        if len(np.unique(positions)) != len(positions):
            raise ValueError("X: expected every node once")
        classes, of_sample = distinct(target, "y")
        if len(classes) < 2:
            raise ValueError(f"y: expected at least two classes, found one class: {classes.tolist()[0]!r}")
        return graph, positions, classes, of_sample

    def _validated(self, X: Any, y: Any = None) -> Any:
        """Check a matrix of features, and its classes, as scikit-learn does where it is installed."""
        if isinstance(X, Graph):
            raise ValueError("X: expected node ids or features, found a Graph; give it as SuperGATClassifier(graph=...)")
        if len(getattr(X, "shape", ())) == 1 or (isinstance(X, list) and np.ndim(X) == 1):
            raise ValueError("graph: expected a supergat.Graph, because X has one dimension. Reshape your data if it is features")
        try:
            from sklearn.utils.validation import validate_data
        except ImportError:
            X = np.asarray(X, dtype=np.float32)
            self.n_features_in_ = X.shape[1] if y is not None else self.n_features_in_
            if X.shape[1] != self.n_features_in_:
                raise ValueError(f"X has {X.shape[1]} features, but {self.n_features_in_} are expected") from None
            return X if y is None else (X, y)
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float32}
        if y is None:
            return validate_data(self, X, reset=False, **options)
        return validate_data(self, X, y, **options)

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        if hasattr(self.random_state, "randint"):
            return int(self.random_state.randint(2**31 - 1))
        if hasattr(self.random_state, "integers"):
            return int(self.random_state.integers(2**31 - 1))
        return check_seed(self.random_state, "random_state")

    # Prediction

    def predict_proba(self, X: ArrayLike, *, graph: Graph | None = None) -> NDArray[np.float32]:
        """Return the probabilities of nodes, a column per class of ``classes_``.

        ``graph`` is another graph with the same features, which may never have been seen.
        """
        self._check_fitted()
        if self.graph is None and graph is None:
            found = Graph.from_edge_index(np.zeros((2, 0), dtype=np.int64), self._validated(X))
            return self.model_.predict_proba(found)
        if self._is_known(graph):
            positions = self._graph.positions(X.to_numpy() if hasattr(X, "to_numpy") else X)
            return self._all_probabilities()[positions]
        assert graph is not None
        return self.model_.predict_proba(graph)[graph.positions(X)]

    def _is_known(self, graph: Graph | None) -> bool:
        """Return whether a graph is the training graph. Without a graph, X is always new."""
        return graph is self._graph or (graph is None and self.graph is not None)

    def _all_probabilities(self) -> NDArray[np.float32]:
        if self.training_.ensemble is not None:
            return self.training_.ensemble
        if self._probabilities is None:
            self._probabilities = self.model_.predict_proba(self._graph)
        return self._probabilities

    def predict(self, X: ArrayLike, *, graph: Graph | None = None) -> NDArray[Any]:
        """Return the class of nodes: the most probable one, unless the model has a threshold."""
        probabilities = self.predict_proba(X, graph=graph)
        metrics = self.training_.ensemble_metrics if self._is_known(graph) else None
        # The mean of all seeds has a threshold of its own.
        threshold = self.model_.card["threshold"] if metrics is None else metrics["threshold"]
        found: NDArray[Any] = self.classes_[decided(probabilities, threshold, self.model_._positive)]
        return found

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on nodes with their classes."""
        predicted, expected = self.predict(X), np.asarray(y)
        if expected.shape != predicted.shape:
            raise ValueError(f"y: expected one class per node of X, {len(predicted)}, found the shape {expected.shape}")
        right = predicted == expected
        return float(np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def explain(self, node: Any) -> Any:
        """Return a frame of a node's neighbours with their attention. See :meth:`Model.explain`."""
        self._check_fitted()
        return self.model_.explain(node, self._graph)

    def report(self) -> str:
        """Return the report of the training as one HTML page."""
        self._check_fitted()
        return self.training_.report()

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            message = "This SuperGATClassifier instance is not fitted yet: call fit(nodes, y) first"
            try:
                from sklearn.exceptions import NotFittedError
            except ImportError:
                raise AttributeError(message) from None
            raise NotFittedError(message)

    # The protocol of scikit-learn

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(cls._parameter_names())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> SuperGATClassifier:
        """Set parameters."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r} for estimator SuperGATClassifier: expected one of {known}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(sparse=True, two_d_array=self.graph is None, one_d_array=self.graph is not None),
            non_deterministic=False,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __getstate__(self) -> dict[str, Any]:
        # Probabilities are computed again; curves need the graph with its labels, which is in the training.
        state = self.__dict__.copy()
        if "_probabilities" in state:
            state["_probabilities"] = None
        return state

    def __repr__(self) -> str:
        default = {name: field.default for name, field in inspect.signature(type(self).__init__).parameters.items()}
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not default[name]]
        return f"SuperGATClassifier({', '.join(given)})"

    def _repr_html_(self) -> str:
        rows = {name: str(value) for name, value in self.get_params().items() if value is not None}
        if hasattr(self, "training_"):
            return html_table("SuperGATClassifier", rows) + self.training_._repr_html_()
        return html_table("SuperGATClassifier, not fitted", rows)


def named_class(key: Any, classes: NDArray[Any], names: list[str], parameter: str) -> str:
    """Return the name of a class of y in the graph, or raise a sentence about what was given instead."""
    known = classes.tolist()
    if plain(key) not in known:
        listed = ", ".join(repr(one) for one in known[:20])
        raise ValueError(f"{parameter}: expected a class of y ({listed}), found {key!r}")
    found: str = names[known.index(plain(key))]
    return found


def classify(
    nodes: Any,
    edges: Any,
    *,
    label: str | None = None,
    model: str = "auto",
    seeds: int = 1,
    n_jobs: int | None = None,
    device: str = "cpu",
    tf32: bool = False,
    progress: bool | None = None,
    hyperparameters: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Train on the nodes of a frame that have a class, and return a frame with the predictions for all nodes.

    Parameters
    ----------
    nodes, edges : frames
        As for :meth:`Graph.from_frames`. Nodes without a class are predicted.
    label : str, optional
        Column with the classes.
    model, seeds, n_jobs, device, tf32, progress
        As for :func:`supergat.train`.
    hyperparameters : dict, optional
        Hyperparameters by name.
    **options
        Options of :meth:`Graph.from_frames`.

    Returns
    -------
    frame
        Columns ``id``, ``class``, and ``probability_CLASS`` for every class, in the library of ``nodes``.

    Examples
    --------
    >>> import supergat
    >>> names = [f"n{k}" for k in range(40)]
    >>> nodes = {"id": names, "label": ["ab"[k % 2] for k in range(40)], "x": [k % 2 + 0.1 * (k % 7) for k in range(40)]}
    >>> edges = {"source": names, "target": names[2:] + names[:2]}
    >>> found = supergat.classify(nodes, edges, label="label", model="gat-go", hyperparameters={"max_epochs": 20})
    >>> list(found)
    ['id', 'class', 'probability_a', 'probability_b']
    """
    graph = Graph.from_frames(nodes, edges, label=label, **options)
    if not graph.classes or len(graph.classes) < 2:
        raise ValueError("nodes: expected a column with at least two classes; name it with label=")
    training = train(
        graph, model, seeds=seeds, n_jobs=n_jobs, device=device, tf32=tf32, progress=progress, **(hyperparameters or {})
    )
    probabilities, names = training.probabilities, training.model.classes
    columns: dict[str, Any] = {"id": graph.ids, "class": np.array(names, dtype=object)[training.model.decide(probabilities)]}
    columns |= {f"probability_{name}": probabilities[:, at] for at, name in enumerate(names)}
    return _frames.new_frame(columns, graph._library)
