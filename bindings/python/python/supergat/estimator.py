"""A scikit-learn estimator whose samples are nodes."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _frames, _supergat
from .graph import Graph, check_seed, distinct, draw_split, html_table
from .training import Model, Training, decided, expect_graph, plain, train

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

#: Hyperparameters of the library with their meaning and defaults.
TABLE: list[dict[str, Any]] = json.loads(_supergat.hyperparameters())
#: Names of the hyperparameters, in the order of the library's table.
HYPERPARAMETERS = tuple(row["name"] for row in TABLE)


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
        Fraction of the given nodes that selects the best epoch and ends training early.
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
        The positive class of two, for the threshold and for ``select``; by default the second of ``classes_``.
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
    **hyperparameters

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
        **hyperparameters: Any,
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
        for name in HYPERPARAMETERS:
            setattr(self, name, hyperparameters.pop(name, None))
        if hyperparameters:
            raise TypeError(f"SuperGATClassifier: unknown parameter {next(iter(hyperparameters))!r}")

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


def _declare_hyperparameters(cls: type[SuperGATClassifier]) -> None:
    """Give the hyperparameters of the library to the signature and the documentation of the estimator."""
    signature = inspect.signature(cls.__init__)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    keywords, lines = [], []
    for row in TABLE:
        kind = type(row["default"]).__name__
        annotation = f"{kind} | None"
        keywords.append(inspect.Parameter(row["name"], inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
        lines.append(f"    {row['name']} : {kind}, optional")
        lines += textwrap.wrap(f"{row['meaning']}.", 110, initial_indent=" " * 8, subsequent_indent=" " * 8, break_on_hyphens=False)
    setattr(cls.__init__, "__signature__", signature.replace(parameters=[*own, *keywords]))  # noqa: B010
    if cls.__doc__ is not None:
        cls.__doc__ = cls.__doc__.replace("    **hyperparameters", "\n".join(lines), 1)


_declare_hyperparameters(SuperGATClassifier)



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
