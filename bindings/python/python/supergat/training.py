"""Training with one or many seeds, and trained models."""

from __future__ import annotations

import json
import logging
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _frames, _supergat
from ._progress import Progress
from .graph import Graph, _has_labels, check_seed, html_table, python_messages

if TYPE_CHECKING:
    from numpy.typing import NDArray

log = logging.getLogger("supergat")

#: Curves of a run, in the order of the extension.
CURVES = (
    "label_loss", "edge_loss", "train_loss", "validation_loss", "validation_metric", "test_loss", "test_metric",
)  # fmt: skip


def seed_list(seeds: int | Iterable[int]) -> list[int]:
    """Return the seeds: a number means 0, 1, ... below it."""
    if isinstance(seeds, Iterable) and not isinstance(seeds, str):
        listed = [check_seed(seed, "seeds") for seed in seeds]
    else:
        try:
            listed = list(range(operator.index(seeds)))
        except TypeError:
            raise TypeError(f"seeds: expected a number of seeds or a list of them, found {seeds!r}") from None
    if not listed:
        raise ValueError("seeds: expected at least one")
    return listed


def thread_count(n_jobs: int | None) -> int | None:
    """Return the number of threads for ``n_jobs``, at most all cores; negative numbers count as in joblib."""
    if n_jobs is None:
        return None
    try:
        jobs = operator.index(n_jobs)
    except TypeError:
        raise TypeError(f"n_jobs: expected a whole number, found {n_jobs!r}") from None
    if jobs == 0:
        raise ValueError("n_jobs: expected a number other than 0")
    cores = os.cpu_count() or 1
    return min(jobs, cores) if jobs > 0 else max(1, cores + 1 + jobs)


def check_device(device: Any) -> None:
    """Raise a sentence about what was given instead of the name of a device."""
    if not isinstance(device, str):
        raise TypeError(f"device: expected a name such as 'cpu' or 'cuda', found {device!r}")


def weight_pairs(class_weight: str | Mapping[str, float] | None) -> str | list[tuple[str, float]] | None:
    """Return weights of classes in a form that the extension reads."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return class_weight
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight: expected None, 'balanced' or a dictionary of classes and weights, found {class_weight!r}")
    try:
        return [(str(name), float(weight)) for name, weight in class_weight.items()]
    except (TypeError, ValueError):
        raise TypeError(f"class_weight: expected a number for every class, found {class_weight!r}") from None


def decided(probabilities: NDArray[np.float32], threshold: dict[str, Any] | None, positive: int) -> NDArray[np.intp]:
    """Return the index of the predicted class of every row: the most probable, or with a threshold, the positive one."""
    if threshold is None:
        classes: NDArray[np.intp] = probabilities.argmax(axis=1)
    else:
        reached = probabilities[:, positive].astype(np.float64) >= threshold["value"]
        classes = np.where(reached, positive, 1 - positive)
    return classes


def named_classes(splits: dict[str, Any] | None, names: Sequence[str]) -> dict[str, Any] | None:
    """Return metrics of splits with those of classes by name instead of in a list."""
    for metrics in (splits or {}).values():
        if isinstance(metrics, dict) and "classes" in metrics:
            metrics["classes"] = dict(zip(names, metrics["classes"], strict=True))
    return splits


@dataclass(frozen=True)
class Run:
    """Result of one seed.

    Attributes
    ----------
    seed : int
    epochs, best_epoch : int
        Number of epochs, and the one with the best validation metric, counted from 0.
    validation, test : float
        Accuracy or micro-F1 at the best epoch, from 0 to 1. The test metric is 0 without test nodes.
    seconds : float
    curves : dict of arrays
        Losses and metrics of every epoch.
    metrics : dict
        All metrics of ``validation`` and ``test`` nodes by name, such as ``macro_f1``, from 0 to 1 except for losses;
        ``None`` where undefined. Their ``classes`` has ``nodes``, ``predictions``, ``precision``, ``recall`` and
        ``f1`` of every class by its name. Also the ``temperature`` and the ``threshold`` of the predictions, and
        ``uncalibrated``: the calibration errors of both before calibration.
    """

    seed: int
    epochs: int
    best_epoch: int
    validation: float
    test: float
    seconds: float
    curves: dict[str, NDArray[np.float64]]
    metrics: dict[str, Any]


class Model:
    """A trained model: predicts, explains, and is saved and loaded.

    The command line opens the same files.

    Examples
    --------
    >>> import supergat
    >>> graph = supergat.load("random-partition:classes=2,nodes=170,degree=6,homophily=0.9")
    >>> model = supergat.train(graph, model="supergat-mx", max_epochs=20).model
    >>> model.predict_proba(graph).shape
    (340, 2)
    """

    def __init__(self, inner: _supergat.Model) -> None:
        self._inner = inner

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Open a model file, or the folder of a run of the command line."""
        return cls(_supergat.Model.load(os.fspath(path)))

    @classmethod
    def from_bytes(cls, content: bytes) -> Model:
        """Read the bytes of a model file."""
        return cls(_supergat.Model.from_bytes(content))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, atomically."""
        self._inner.save(os.fspath(path))

    def to_bytes(self) -> bytes:
        """Return the bytes of a model file."""
        return self._inner.to_bytes()

    @cached_property
    def card(self) -> dict[str, Any]:
        """Model, classes, settings, seed and version."""
        found: dict[str, Any] = json.loads(self._inner.card())
        return found

    @property
    def classes(self) -> list[str]:
        """Names of the classes, in the order of the probabilities."""
        found: list[str] = self.card["class_names"]
        return found

    def read(self, source: str | os.PathLike[str]) -> Graph:
        """Read a new folder or file with the columns and classes of the training data."""
        inner = self._inner.read(os.fspath(source))
        return Graph(inner, labelled=_has_labels(inner))

    def read_frames(self, nodes: Any, edges: Any) -> Graph:
        """Read new frames with the columns and classes of the training data."""
        read = (_frames.columns_of(nodes, "nodes"), _frames.columns_of(edges, "edges"))
        with python_messages(frames=True):
            inner = self._inner.read_frames(*read)
        return Graph(inner, labelled=_has_labels(inner), library=_frames.package_of(nodes))

    def predict_proba(self, graph: Graph) -> NDArray[np.float32]:
        """Return the probabilities of all nodes, a row per node. They are calibrated if the model is."""
        return self._inner.predict(expect_graph(graph)._inner)

    def predict(self, graph: Graph) -> NDArray[Any]:
        """Return the class of every node by its name: the most probable one, unless the model has a threshold."""
        names = np.array(self.classes, dtype=object)
        found: NDArray[Any] = names[self.decide(self.predict_proba(graph))]
        return found

    def decide(self, probabilities: NDArray[np.float32]) -> NDArray[np.intp]:
        """Return the index of the class that is predicted for each row of probabilities of this model."""
        return decided(probabilities, self.card["threshold"], self._positive)

    @property
    def _positive(self) -> int:
        positive = self.card["positive"]
        return 1 if positive is None else self.classes.index(positive)

    def evaluate(self, graph: Graph) -> dict[str, dict[str, Any] | None]:
        """Return number of nodes, loss, metric (accuracy or micro-F1) and all ``metrics`` by name of every split.

        Metrics are from 0 to 1 except for losses, and ``None`` where undefined. Their ``classes`` has ``nodes``,
        ``predictions``, ``precision``, ``recall`` and ``f1`` of every class by its name.

        Examples
        --------
        >>> import supergat
        >>> graph = supergat.load("random-partition:classes=2,nodes=170,degree=6,homophily=0.9")
        >>> found = supergat.train(graph, "gcn", max_epochs=20).model.evaluate(graph)["test"]["metrics"]
        >>> list(found["classes"])
        ['0', '1']
        >>> sorted(found["classes"]["1"])
        ['f1', 'nodes', 'precision', 'predictions', 'recall']
        """
        if not expect_graph(graph).classes:
            raise ValueError("graph: expected labels to compare with, found none; add them with Graph.with_labels")
        found: dict[str, dict[str, Any] | None] = json.loads(self._inner.evaluate(graph._inner))
        for score in found.values():
            named_classes(score, self.classes)
        return found

    def attention(self, graph: Graph, *, form: str = "frame") -> Any:
        """Return the attention on all edges.

        Parameters
        ----------
        form : {"frame", "csr"}
            A frame with source, target, layer, head, coefficient and logit; or a scipy CSR matrix of the mean
            coefficients over the heads of the last layer, with targets as rows.
        """
        found = self._inner.attention(expect_graph(graph)._inner)
        if form == "frame":
            return self._edges(graph, found)
        if form != "csr":
            raise ValueError(f"form: expected frame or csr, found {form!r}")
        import scipy.sparse

        last = found["layer"] == found["layer"].max()
        heads = int(found["head"][last].max()) + 1
        entries = (found["coefficient"][last] / heads, (found["target"][last], found["source"][last]))
        return scipy.sparse.coo_array(entries, shape=(graph.num_nodes, graph.num_nodes)).tocsr()

    def explain(self, node: Any, graph: Graph) -> Any:
        """Return a frame of a node's neighbours and itself: attention per layer and head, and edge logit.

        The columns are ``source``, ``target``, ``layer``, ``head``, ``coefficient``, ``mean`` (of the heads of the
        layer) and ``logit``.
        """
        position = int(expect_graph(graph).positions([node])[0])
        return self._edges(graph, self._inner.attention(graph._inner, node=position), mean=True)

    def _edges(self, graph: Graph, found: dict[str, NDArray[Any]], mean: bool = False) -> Any:
        columns: dict[str, Any] = {"source": graph.ids[found["source"]], "target": graph.ids[found["target"]]}
        columns |= {name: found[name] for name in ("layer", "head", "coefficient")}
        if mean:
            keys = np.stack([found["layer"], found["source"], found["target"]])
            _, at = np.unique(keys, axis=1, return_inverse=True)
            at = at.ravel()
            columns["mean"] = (np.bincount(at, found["coefficient"]) / np.bincount(at))[at]
        columns["logit"] = found["logit"]
        return _frames.new_frame(columns, graph._library)

    def __repr__(self) -> str:
        card = self.card
        return f"Model({card['model']}, classes={len(card['class_names'])}, trained on {card['dataset']})"

    def _repr_html_(self) -> str:
        card = self.card
        rows = {"model": card["model"], "dataset": card["dataset"], "classes": ", ".join(self.classes[:8])}
        rows |= {name: str(value) for name, value in (card["settings"] or {}).items() if value is not None}
        return html_table("supergat model", rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return Model.from_bytes, (self.to_bytes(),)


class Training:
    """A finished training: the best model, and what happened with every seed.

    Attributes
    ----------
    model : Model
        Model of the seed with the best validation metric.
    runs : list of Run
        Result of every seed.
    best : int
        Index of the best run.
    probabilities : array of shape (nodes, classes)
        Predictions of the model of the best seed for the training graph.
    ensemble : array of shape (nodes, classes), optional
        Mean probabilities of all seeds, with ``train(..., ensemble=True)``; ``ensemble_metrics`` has their metrics.
    metric : str
        Metric of the runs: accuracy, micro-f1, or the one that ``select`` names.
    warnings : list of str
        Sentences about useless models, and what to try.
    settings : dict
        Model and hyperparameters.
    interrupted : bool
        Whether Ctrl-C ended the training.
    """

    def __init__(self, graph: Graph, found: _supergat.Trained) -> None:
        self.graph = graph
        self.model = Model(found["model"])
        self.runs = [
            Run(
                run["seed"], run["epochs"], run["best_epoch"], run["validation"], run["test"], run["seconds"],
                run["curves"], named_classes(metrics, self.model.classes) or {},
            )
            for run, metrics in zip(found["runs"], json.loads(found["metrics"]), strict=True)
        ]  # fmt: skip
        self.metric: str = found["metric"]
        self.warnings = found["warnings"]
        self.ensemble: NDArray[np.float32] | None = found["ensemble"]
        self.ensemble_metrics = named_classes(json.loads(found["ensemble_metrics"] or "null"), self.model.classes)
        self.best: int = found["best"]
        self.probabilities: NDArray[np.float32] = found["probabilities"]
        self.settings: dict[str, Any] = json.loads(found["settings"])
        self.recommendation: dict[str, Any] | None = json.loads(found["recommendation"] or "null")
        self.interrupted: bool = found["interrupted"]

    @property
    def test(self) -> NDArray[np.float64]:
        """Test metric of every seed, from 0 to 1."""
        return np.array([run.test for run in self.runs])

    @property
    def validation(self) -> NDArray[np.float64]:
        """Validation metric of every seed, from 0 to 1."""
        return np.array([run.validation for run in self.runs])

    def metrics(self, split: str = "test") -> dict[str, NDArray[np.float64]]:
        """Return all metrics of the test or the validation nodes: an array over the seeds for each name.

        Values are from 0 to 1 except for losses. Metrics that are undefined for a seed are left out.
        :meth:`class_metrics` has those of every class.
        """
        of_seeds = self._of_seeds(split)
        names = [name for name in of_seeds[0] if name not in ("nodes", "classes")]
        values = {name: [seed.get(name) for seed in of_seeds] for name in names}
        return {name: np.array(found) for name, found in values.items() if None not in found}

    def class_metrics(self, split: str = "test") -> dict[str, dict[str, NDArray[np.float64]]]:
        """Return the metrics of every class for the test or the validation nodes, by the name of the class.

        Each class has ``nodes``, ``predictions``, ``precision``, ``recall`` and ``f1``: arrays over the seeds, from
        0 to 1 except for the two counts. Undefined values are NaN, such as the precision of a class that is never
        predicted; ``np.nanmean`` leaves them out. Without nodes in the split, there are no classes.

        Examples
        --------
        >>> import supergat
        >>> graph = supergat.load("random-partition:classes=2,nodes=170,degree=6,homophily=0.9")
        >>> training = supergat.train(graph, "gcn", seeds=2, max_epochs=20)
        >>> training.class_metrics()["1"]["f1"].shape
        (2,)
        """
        of_seeds = [metrics.get("classes", {}) for metrics in self._of_seeds(split)]
        return {
            name: {
                metric: np.array([seed[name][metric] for seed in of_seeds], dtype=np.float64)
                for metric in ("nodes", "predictions", "precision", "recall", "f1")
            }
            for name in self.model.classes
            if all(name in seed for seed in of_seeds)
        }

    def _of_seeds(self, split: str) -> list[dict[str, Any]]:
        if split not in ("validation", "test"):
            raise ValueError(f"split: expected validation or test, found {split!r}")
        return [run.metrics[split] or {} for run in self.runs]

    def report(self) -> str:
        """Return the report as one HTML page with figures."""
        return self._report[0]

    @cached_property
    def _report(self) -> tuple[str, list[tuple[str, str]]]:
        metric = self.metric
        curves = [(run.seed, np.stack([run.curves[name] for name in CURVES], axis=1).tolist()) for run in self.runs]
        run = self.runs[self.best]
        facts = [("warning", warning) for warning in self.warnings]
        facts += [
            (f"test {metric}", _percent(self.test)),
            (f"validation {metric}", _percent(self.validation)),
            ("seeds", str(len(self.runs))),
            ("best epoch (from 0)", f"{run.best_epoch} of {run.epochs}"),
        ]
        return self.model._inner.report(self.graph._inner, curves, facts, metric)

    def __repr__(self) -> str:
        test = f"test {_percent(self.test)}"
        seeds = f"{len(self.runs)} seed{'s' if len(self.runs) > 1 else ''}"
        return f"Training({self.model.card['model']}, {seeds}, {test})"

    def _repr_html_(self) -> str:
        rows = {
            "model": self.model.card["model"],
            "test": _percent(self.test),
            "validation": _percent(self.validation),
            "seeds": str(len(self.runs)),
        }
        figures = "".join(svg for _, svg in self._report[1][:1])
        return html_table("Training", rows) + figures


def _percent(values: NDArray[np.float64]) -> str:
    deviation = f" ± {100 * values.std(ddof=1):.2f}" if len(values) > 1 else ""
    return f"{100 * values.mean():.2f}{deviation} %"


def expect_graph(graph: Any) -> Graph:
    """Return a graph, or raise a sentence about what was given instead."""
    if isinstance(graph, Graph):
        return graph
    found = type(graph).__name__
    raise TypeError(f"graph: expected a supergat.Graph, found {found}; make one with Graph.from_frames or Graph.load")


def train(
    graph: Graph,
    model: str | None = None,
    *,
    seeds: int | Iterable[int] = 1,
    choose_seconds: float | None = None,
    preset: str | None = None,
    n_jobs: int | None = None,
    device: str = "cpu",
    tf32: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: str = "10m",
    class_weight: str | Mapping[str, float] | None = None,
    positive: str | None = None,
    calibrate: str = "auto",
    threshold: str | float | None = None,
    select: str | None = None,
    ensemble: bool = False,
    progress: bool | None = None,
    **hyperparameters: Any,
) -> Training:
    """Train once per seed and keep the model with the best validation metric.

    The graph must have labels and a split. The same seeds give the same bits as ``supergat train``.

    Parameters
    ----------
    graph : Graph
    model : str, optional
        One of :func:`supergat.model_names`, or ``auto`` for the network that does best on held-out nodes.
        By default the paper's best model for its own datasets, otherwise ``auto``. ``Training.recommendation`` has
        what was compared. Ctrl-C during the comparison raises ``KeyboardInterrupt``.
    choose_seconds : float, optional
        Time for comparing models, if none is named; the answer then depends on the speed of the machine. By default
        up to about twenty seconds of one core, on large graphs about as long as one training.
    seeds : int or list of int
        Number of seeds, or the seeds themselves.
    preset : str, optional
        Dataset of the paper whose published hyperparameters are used.
    n_jobs : int, optional
        Number of threads; the default is all cores. Results do not depend on it.
    device : {"cpu", "cuda", "cuda:1", "auto"}
        Device that trains: the CPU, a GPU by its number, or the first GPU if there is one (``auto``).
        :func:`supergat.devices` lists them. Models predict on the CPU.
    tf32 : bool
        Whether dense products on a GPU may round their factors to 10 bits, which is faster for wide features.
    checkpoint : str or path, optional
        Folder for checkpoints. If it has those of an interrupted training, the same call resumes it, with the same
        result as without interruption. They are removed when the training is finished.
    checkpoint_every : str
        Interval between checkpoints: a time such as ``10m`` or ``30s``, or a number of epochs such as ``100e``.
    class_weight : "balanced" or dict, optional
        Weight of each class in the loss. ``balanced`` lets all classes count the same; a dictionary has weights of
        some classes by name, and the others have weight 1.
    positive : str, optional
        The positive class of two, for the threshold, AUROC, average precision and precision at k; by default the
        second.
    calibrate : {"auto", "temperature", "none"}
        Whether probabilities are calibrated by a temperature that is fitted on the validation nodes. By default, if
        there are at least 50 of them. Predicted classes do not depend on it.
    threshold : str or float, optional
        For two classes: the probability of the positive one from which on it is predicted, chosen on the validation
        nodes by ``f1``, ``precision=0.9`` or ``recall=0.8``, or given as a number.
    select : str, optional
        Score that chooses the best epoch and seed: ``accuracy``, ``balanced-accuracy``, ``macro-f1``, ``auroc``,
        ``average-precision`` or ``loss``.
    ensemble : bool
        Whether the model predicts the mean probabilities of the models of all seeds, which its file then contains.
        ``Training.ensemble`` has those of the training graph.
    progress : bool, optional
        Whether a progress line is shown; by default in terminals and notebooks.
    **hyperparameters
        Any hyperparameter of :class:`supergat.SuperGATClassifier` by its name, such as ``lambda_e=2.0``.

    Returns
    -------
    Training

    Raises
    ------
    RuntimeError
        If the GPU cannot be used. The message says what is missing.

    Examples
    --------
    >>> import supergat
    >>> graph = supergat.load("random-partition:classes=3,nodes=180,degree=8,homophily=0.9")
    >>> training = supergat.train(graph, "gat-go", seeds=[3, 4], hidden=4, max_epochs=20)
    >>> [run.seed for run in training.runs]
    [3, 4]
    """
    inner = expect_graph(graph)._inner
    listed = seed_list(seeds)
    if model is not None and not isinstance(model, str):
        raise TypeError(f"model: expected a name, found {model!r}")
    check_device(device)
    if not isinstance(tf32, (bool, np.bool_)):
        raise TypeError(f"tf32: expected True or False, found {tf32!r}")
    if positive is not None and not isinstance(positive, str):
        raise TypeError(f"positive: expected the name of a class, found {positive!r}")
    values = {name: plain(value) for name, value in hyperparameters.items() if value is not None}
    with Progress(len(listed), progress) as line:
        found = _supergat.train(
            inner, model=model, choose_seconds=choose_seconds, preset=preset, values=values, seeds=listed, threads=thread_count(n_jobs),
            device=device, tf32=bool(tf32), checkpoint=None if checkpoint is None else os.fspath(checkpoint),
            checkpoint_every=checkpoint_every, class_weight=weight_pairs(class_weight), positive=positive, calibrate=calibrate,
            threshold=None if threshold is None else str(threshold), select=select, ensemble=bool(ensemble),
            progress=line,
        )  # fmt: skip
    if found["not_saved"]:
        log.warning("no checkpoint could be written: %s", found["not_saved"])
    for name in found["unused"]:
        log.info("%s has no effect on this model", name)
    if preset is not None and not found["published"]:
        log.warning("%s has no published hyperparameters for this model; defaults were used", preset)
    training = Training(graph, found)
    if training.recommendation is not None:
        log.info("%s", training.recommendation["answer"])
    for warning in training.warnings:
        log.warning("%s", warning)
    if training.interrupted:
        log.warning("training was interrupted; the best model so far is kept")
    return training


def devices() -> list[dict[str, Any]]:
    """Return the devices that can train, the CPU first.

    If no GPU can be used, the reason is logged at level ``INFO``.

    Returns
    -------
    list of dict
        ``device`` is the name for ``train(..., device=...)``, ``name`` describes the device. For GPUs, ``memory``
        and ``free`` are bytes, ``compute_capability`` and ``driver`` (the newest CUDA it supports) are versions;
        for the CPU these are ``None``.

    Examples
    --------
    >>> import supergat
    >>> supergat.devices()[0]["device"]
    'cpu'
    """
    answer = json.loads(_supergat.devices())
    if answer["no_gpu"] is not None:
        log.info("no GPU: %s", answer["no_gpu"])
    found: list[dict[str, Any]] = answer["devices"]
    return found


def plain(value: Any) -> Any:
    """Return a number of numpy as one of Python, and a whole number as an int."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value
