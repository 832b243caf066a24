"""Recommendation, comparison, tuning, known datasets, and the paper's results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _frames, _supergat
from ._progress import Progress
from .graph import Graph, check_seed, html_table
from .training import Training, check_device, expect_graph, plain, thread_count, train, weight_pairs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class _Result(dict[str, Any]):
    """A dictionary with a title and main entries for notebooks."""

    title = ""

    def _rows(self) -> dict[str, str]:
        return {name: str(value) for name, value in self.items() if not isinstance(value, (dict, list))}

    def _repr_html_(self) -> str:
        return html_table(self.title, self._rows(), self.get("reasons", ()))


class Recommendation(_Result):
    """Recommended model with the results of all compared families and the limits of the answer."""

    title = "Recommended model"

    @property
    def model(self) -> str:
        """Name of the recommended model."""
        found: str | None = self["recommendation"]
        if found is None:
            raise ValueError("recommend: no family has results; give more minutes")
        return found

    @property
    def settings(self) -> dict[str, Any]:
        """Recommended model and its settings, as far as they are not its default ones, for :func:`supergat.train`."""
        own = self["settings"] or {}
        return {"model": self.model} | {name: value for name, value in own.items() if value is not None}

    @property
    def answer(self) -> str:
        """The answer in one or two sentences."""
        found: str = self["answer"]
        return found

    def _rows(self) -> dict[str, str]:
        if "measured" not in self:
            families = sorted(self["families"], key=lambda family: -family["test"]["mean"])
            means = {one["words"]: f"{100 * one['test']['mean']:.2f} ± {100 * one['test']['std']:.2f} %" for one in families}
            return {"answer": self.answer, "metric": self["metric"], **means}
        confidence, measured = self["confidence"], self["measured"] or {"families": [], "metric": ""}
        scores = {
            family["family"]: f"{measured['metric']} {100 * family['mean']:.1f} %, standard error {100 * family['error']:.1f}"
            for family in measured["families"]
        }
        return {
            "answer": self.answer,
            "model": self.model,
            "confidence": "-" if confidence is None else f"{100 * confidence:.0f} %",
            "alternatives": ", ".join(self["alternatives"]) or "-",
            **scores,
        }

    def _repr_html_(self) -> str:
        return html_table(self.title, self._rows(), self["notes"] + self.get("map", {}).get("reasons", []))


class Comparison(_Result):
    """Statistical comparison of two lists of test metrics."""

    title = "Comparison"


class Tuned(_Result):
    """Result of a search: all trials, and the best settings."""

    title = "Tuned settings"

    @property
    def settings(self) -> dict[str, Any]:
        """Best settings."""
        if self["best"] is None:
            raise ValueError("tune: no trial was finished")
        found: dict[str, Any] = self["trials"][self["best"]]["settings"]
        return found

    def _rows(self) -> dict[str, str]:
        settings = {} if self["best"] is None else self.settings
        return {name: str(value) for name, value in settings.items() if value is not None}


def recommend(
    graph: Graph,
    seconds: float | None = None,
    *,
    minutes: float | None = None,
    families: Iterable[str] = (),
    keep_split: bool = False,
    metric: str | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    device: str = "cpu",
    tf32: bool = False,
    progress: bool | None = None,
) -> Recommendation:
    """Recommend a model for a graph: within seconds, or thoroughly within minutes.

    Within seconds, every family is trained with its default settings on resampled parts of the labelled nodes, and
    GraphSAGE with eight layers as well. Labels of test nodes are not used. The paper's map is prior knowledge, and the
    confidence is the probability that the model is the best of those compared.

    Within minutes, every family gets the same search on validation nodes; its selected settings run on resampled splits.
    The answer is the best family on test nodes, or a simpler one that is at most half a point worse, or within one
    standard error of it and not significantly worse.

    Parameters
    ----------
    graph : Graph
    seconds : float, optional
        Time for the comparison with default settings, 20 by default; 0 consults the paper's map alone.
    minutes : float, optional
        Time for measurements, searches and final runs, instead of ``seconds``.
    families : list of str
        Families to compare within minutes; all by default.
    keep_split : bool
        Whether all runs within minutes have the split of the graph, as splits by time need.
    metric : str, optional
        ``accuracy``, ``micro-f1``, ``balanced-accuracy``, ``macro-f1``, ``auroc`` or ``average-precision``. By default
        accuracy, micro-F1 with several classes per node, or AUROC if one of two classes is rare.
    random_state : int
        Seed of resampled nodes, trials and runs.
    n_jobs : int, optional
        Number of threads; all cores by default.
    device, tf32
        Device that trains networks, as for :func:`supergat.train`.
    progress : bool, optional
        Whether a progress line is shown within seconds; by default in terminals and notebooks.

    Examples
    --------
    >>> import supergat
    >>> graph = supergat.load("random-partition:classes=2,nodes=170,degree=6,homophily=0.9")
    >>> found = supergat.recommend(graph, seconds=1)
    >>> found.model in supergat.model_names()
    True
    >>> supergat.recommend(graph, seconds=0)["measured"] is None
    True
    >>> found = supergat.recommend(graph, minutes=0.02, families=["mlp", "gcn"])
    >>> len(found["families"]) + len(found["left_out"])
    2
    """
    threads = thread_count(n_jobs) or thread_count(-1) or 1
    inner = expect_graph(graph)._inner
    seed = check_seed(random_state, "random_state")
    if isinstance(families, str):
        raise TypeError(f"families: expected a list of names, found {families!r}")
    names = list(families)
    check_device(device)
    if minutes is None:
        if names or keep_split:
            raise ValueError(f"{'families' if names else 'keep_split'}: needs minutes, such as minutes=10")
        seconds = 20 if seconds is None else seconds
        if not 0 <= seconds < 1e7:
            raise ValueError(f"seconds: expected 0 or a positive number, found {seconds!r}")
        with Progress(1, progress) as line:
            found = _supergat.recommend_within_seconds(
                inner, seconds=float(seconds), seed=seed, threads=threads, metric=metric, device=device,
                tf32=bool(tf32), progress=line if line.show else None,
            )  # fmt: skip
        return Recommendation(json.loads(found))
    if seconds is not None:
        raise ValueError("seconds: expected either seconds or minutes, found both")
    if not 0 < minutes < 5e6:
        raise ValueError(f"minutes: expected a positive number, found {minutes!r}")
    if not graph.classes or not all(part.size for part in inner.split()):
        raise ValueError(
            "graph: expected labelled training, validation and test nodes; add them with Graph.with_labels"
        )
    found = _supergat.recommend_within_minutes(
        inner, minutes=float(minutes), seed=seed, threads=threads, metric=metric, families=names,
        keep_split=bool(keep_split), device=device, tf32=bool(tf32),
    )  # fmt: skip
    return Recommendation(json.loads(found))


def compare(a: Training | ArrayLike, b: Training | ArrayLike, names: Sequence[str] = ("a", "b")) -> Comparison:
    """Compare the test metrics of two trainings, paired by seed: difference, interval, tests and a conclusion.

    Parameters
    ----------
    a, b : Training or array of test metrics from 0 to 1
        Entries of arrays are paired by their position.
    names : two str
        Names in the sentences.

    Examples
    --------
    >>> import supergat
    >>> found = supergat.compare([0.81, 0.82, 0.80, 0.83], [0.79, 0.80, 0.80, 0.80])
    >>> sorted(found)[:2]
    ['a', 'b']
    """

    def runs(side: Training | ArrayLike) -> list[tuple[int, float]]:
        if isinstance(side, Training):
            return [(run.seed, run.test) for run in side.runs]
        try:
            values = np.asarray(side, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.zeros(0)
        if values.ndim != 1 or not values.size or not np.isfinite(values).all():
            raise ValueError("compare: expected trainings, or lists of finite test metrics")
        return list(enumerate(values.tolist()))

    if len(names) != 2:
        raise ValueError(f"names: expected two, found {len(names)}")
    dataset = a.graph.name if isinstance(a, Training) else "data"
    found = _supergat.compare((str(names[0]), runs(a)), (str(names[1]), runs(b)), dataset, "test metric")
    return Comparison(json.loads(found))


def _range_text(name: str, values: Any) -> str:
    """Return the values of a hyperparameter as the command line has them."""
    if isinstance(values, str):
        return values
    try:
        listed = [plain(value) for value in values]
    except TypeError:
        raise TypeError(f"search: expected a range such as '2..8' or a list for {name}, found {values!r}") from None
    return ",".join(str(value).lower() if isinstance(value, bool) else str(value) for value in listed)


def tune(
    graph: Graph,
    model: str = "auto",
    *,
    choose_seconds: float | None = None,
    trials: int = 30,
    seeds: int = 3,
    also: Iterable[str] = (),
    search: Mapping[str, Any] | None = None,
    prune: bool = False,
    random_state: int = 0,
    n_jobs: int | None = None,
    device: str = "cpu",
    tf32: bool = False,
    class_weight: str | Mapping[str, float] | None = None,
    positive: str | None = None,
    select: str | None = None,
    progress: bool | None = None,
    **hyperparameters: Any,
) -> Tuned:
    """Search hyperparameters by the mean validation metric. Test nodes are never used.

    Parameters
    ----------
    graph : Graph
    model : str
        One of :func:`supergat.model_names`, or ``auto`` for the network that does best on held-out nodes.
    choose_seconds, progress
        Time and progress line of the comparison of ``auto``, as for :func:`supergat.train`.
    trials, seeds : int
        Number of settings to try, and number of seeds of each.
    also : list of str
        Further hyperparameters to search at their usual values: ``lr``, ``dropout``, ``layers``, ``hidden``, ``heads``,
        ``norm``, ``residual``, ``activation``, ``input_layer``, ``output_layer``, ``self_loops``,
        ``attention_dropout``, ``separate_ego``, or ``model``.
    search : dict, optional
        Values of hyperparameters, or of ``model``: a range such as ``"2..8"``, or a list such as ``["layer", "batch"]``.
        They replace the usual values.
    prune : bool
        Whether the first run of a trial stops in the middle if it is below the median of earlier trials.
    random_state : int
        Seed of the search, and first seed of each trial.
    n_jobs, device, tf32, class_weight, positive, select
        As for :func:`supergat.train`. ``select`` names the metric that is searched by; it is among the best settings.
    **hyperparameters
        Initial values, used by the first trial, and by all trials where they are not searched.

    Examples
    --------
    >>> import supergat
    >>> graph = supergat.load("random-partition:classes=2,nodes=170,degree=6,homophily=0.9")
    >>> found = supergat.tune(graph, "gat-go", trials=2, seeds=1)
    >>> len(found["trials"])
    2
    >>> deep = supergat.tune(
    ...     graph, "gat-go", trials=2, seeds=1, max_epochs=5, search={"layers": "2..4", "norm": ["layer", "batch"]}
    ... )
    >>> 2 <= deep["trials"][1]["settings"]["layers"] <= 4
    True
    """
    if check_seed(trials, "trials") < 1 or check_seed(seeds, "seeds") < 1:
        raise ValueError("tune: expected at least one trial and one seed")
    threads = thread_count(n_jobs) or thread_count(-1) or 1
    inner = expect_graph(graph)._inner
    if not graph.classes or not all(part.size for part in inner.split()[:2]):
        raise ValueError("graph: expected labelled training and validation nodes; add them with Graph.with_labels")
    seed = check_seed(random_state, "random_state")
    if isinstance(also, str):
        raise TypeError(f"also: expected a list of names, found {also!r}")
    check_device(device)
    ranges = [(name, _range_text(name, values)) for name, values in (search or {}).items()]
    with Progress(seeds, progress) as line:
        found = _supergat.tune(
            inner, model, choose_seconds=choose_seconds, trials=trials, seed=seed, seeds=seeds, threads=threads,
            also=list(also), search=ranges, prune=bool(prune),
            values={name: plain(value) for name, value in hyperparameters.items() if value is not None},
            device=device, tf32=bool(tf32), class_weight=weight_pairs(class_weight), positive=positive, select=select,
            progress=line,
        )  # fmt: skip
    return Tuned(json.loads(found))


def datasets() -> Any:
    """Return a frame of the known datasets: sizes, licence, home and the folder on this machine, if there is one."""
    rows = json.loads(_supergat.datasets())
    return _frames.new_frame({name: [row[name] for row in rows] for name in rows[0]}, None)


def reproduce(
    dataset: str,
    models: Iterable[str] = ("gcn", "gat-go", "supergat-sd", "supergat-mx"),
    *,
    seeds: int = 10,
    n_jobs: int | None = None,
    device: str = "cpu",
    tf32: bool = False,
    progress: bool | None = None,
) -> Any:
    """Train models with the paper's hyperparameters and return a frame: mean and deviation of the test metric.

    The command ``supergat reproduce`` does the same for whole tables of the paper, resumes, and compares with the
    published numbers.

    Parameters
    ----------
    dataset : str
        Known dataset of the paper, such as ``cora``, or a folder with its files.
    models : list of str
    seeds : int
        Number of seeds; the paper uses 100.
    n_jobs, device, tf32, progress
        As for :func:`supergat.train`.
    """
    graph = Graph.load(dataset)
    trainings = {
        model: train(graph, model, seeds=seeds, n_jobs=n_jobs, device=device, tf32=tf32, progress=progress)
        for model in models
    }
    scores = [training.test for training in trainings.values()]
    columns: dict[str, Any] = {
        "model": list(trainings),
        "mean": [values.mean() for values in scores],
        "deviation": [values.std(ddof=1) if len(values) > 1 else float("nan") for values in scores],
        "seeds": [len(values) for values in scores],
    }
    return _frames.new_frame(columns, None)
