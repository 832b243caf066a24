"""Import time, signals, threads, progress, pages for notebooks, and the other public functions."""

from __future__ import annotations

import inspect
import json
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import supergat
from supergat import Graph, SuperGATClassifier, _supergat
from supergat._progress import Progress
from supergat.estimator import HYPERPARAMETERS

#: Seconds after which a process is taken to hang.
LIMIT = 600


def python(code: str, **options: Any) -> subprocess.Popen[str]:
    """Start a fresh process that has the path of this one."""
    prelude = f"import sys; sys.path[:0] = {[str(pathlib.Path(supergat.__file__).parents[1]), str(pathlib.Path(__file__).parent)]!r}\n"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", prelude + code], **pipes, **options)


def test_import_takes_less_time_than_that_of_numpy() -> None:
    code = "from time import perf_counter as now; a = now(); import numpy, numpy.random; b = now(); import supergat; print(b - a, now() - b)"
    found = [[float(time) for time in python(code).communicate(timeout=LIMIT)[0].split()] for _ in range(5)]
    numpy, own = (min(times) for times in zip(*found, strict=True))
    assert own < numpy


def test_import_needs_numpy_only() -> None:
    code = "import supergat; print([name for name in ('pandas', 'polars', 'pyarrow', 'scipy', 'sklearn') if name in sys.modules])"
    assert python(code).communicate(timeout=LIMIT)[0].strip() == "[]"


LONG = """
from conftest import small_graph
import supergat
graph = small_graph(3000)
print("ready", flush=True)
training = supergat.train(graph, "supergat-mx", seeds=2, max_epochs=1_000_000, early_stop=False)
print(training.interrupted, training.model.predict(graph).shape, len(training.runs) > 0, flush=True)
"""


def test_interrupt_returns_the_model_so_far() -> None:
    process = python(LONG)
    assert process.stdout is not None
    watch = threading.Timer(LIMIT, process.kill)
    watch.start()
    try:
        assert process.stdout.readline().strip() == "ready"
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    finally:
        watch.cancel()
        process.kill()
    assert process.returncode == 0, err
    assert out.strip() == "True (3000,) True"
    assert "interrupted" in err


def test_resumes_a_killed_training(tmp_path: pathlib.Path) -> None:
    options = {"seeds": 2, "max_epochs": 3000, "early_stop": False, "checkpoint_every": "20e"}
    folder = tmp_path / "checkpoint"
    load = "random-partition:classes=3,nodes=180,degree=8,homophily=0.9"
    call = f"supergat.train(supergat.load({load!r}), 'gat-go', checkpoint={str(folder)!r}, **{options!r})"
    process = python(f"import supergat; {call}")
    try:
        until = time.monotonic() + LIMIT
        while not list(folder.glob("seed-*.safetensors")):
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.01)
    finally:
        process.kill()
        process.communicate()
    graph = supergat.load(load)
    with pytest.raises(ValueError, match="it has dropout = .*, but this training has 0.125"):
        supergat.train(graph, "gat-go", checkpoint=folder, dropout=0.125, **options)
    resumed = supergat.train(graph, "gat-go", checkpoint=folder, **options)
    whole = supergat.train(graph, "gat-go", **options)
    assert [run.epochs for run in resumed.runs] == [3000, 3000]
    assert resumed.model.to_bytes() == whole.model.to_bytes()
    assert not folder.exists()
    with pytest.raises(ValueError, match="checkpoint_every: expected a time such as 10m"):
        supergat.train(graph, "gat-go", checkpoint=folder, checkpoint_every="10")


def test_other_threads_run_during_training(graph: Graph) -> None:
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.005):
            ticks.append(time.monotonic())

    other = threading.Thread(target=tick)
    other.start()
    started = time.monotonic()
    supergat.train(graph, "supergat-mx", seeds=2, max_epochs=400, early_stop=False, n_jobs=1)
    ended = time.monotonic()
    done.set()
    other.join()
    during = [moment for moment in ticks if started < moment < ended]
    assert len(during) > 5


@pytest.mark.parametrize("progress", [True, False, None])
def test_progress_is_written_to_standard_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, progress: bool | None
) -> None:
    from conftest import small_graph

    monkeypatch.setattr("supergat._progress.Progress.DELAY", 0.0)
    large = small_graph(1500)
    supergat.train(large, "supergat-mx", seeds=1, max_epochs=60, early_stop=False, progress=progress, n_jobs=1)
    out, err = capfd.readouterr()
    assert out == ""
    if progress:
        assert re.search(r"training: +\d+ % \|#* *\| \d/1 seed \[epoch \d+, validation [\d.]+ %, \d+ s\]", err)
        assert err.endswith("\r"), "the line is removed at the end"
    else:
        assert err == ""


def test_errors_of_progress_are_raised(graph: Graph) -> None:
    def fail(done: int, epoch: int, metric: float) -> None:
        raise KeyError("from the callback")

    with pytest.raises(KeyError, match="from the callback"):
        _supergat.train(
            graph._inner, model="supergat-mx", values={"max_epochs": 100_000, "early_stop": False}, seeds=[0], progress=fail
        )


def test_pages_for_notebooks(graph: Graph, training: supergat.Training) -> None:
    odd = Graph.from_frames(
        {"id": ["<i>", "b"], "label": ["<b>x", "y"], "x": [1.0, 2.0]}, {"source": ["<i>"], "target": ["b"]}
    )
    compared = supergat.compare([0.81, 0.82, 0.80, 0.83], [0.79, 0.80, 0.80, 0.80], names=("<u>", "b"))
    classifier = SuperGATClassifier(graph)
    for found in (graph, odd, training.model, training, compared, supergat.recommend(graph, seconds=0), classifier):
        page = found._repr_html_()
        assert page.count("<table") == page.count("</table>") >= 1
        assert "<b>x" not in page and "<u>" not in page, "values are escaped"
        assert "nan" not in page.lower().split()
    assert "<svg" in training._repr_html_()


def test_representations(graph: Graph, training: supergat.Training) -> None:
    assert re.fullmatch(r"Graph\(nodes=60, links=\d+, features=3, classes=3\)", repr(graph))
    assert re.fullmatch(r"Training\(supergat-mx, 2 seeds, test [\d.]+ ± [\d.]+ %\)", repr(training))
    assert repr(training.model) == "Model(supergat-mx, classes=3, trained on small)"
    assert repr(SuperGATClassifier(model="gcn", lambda_e=2.0)) == "SuperGATClassifier(model='gcn', lambda_e=2.0)"


def test_report_is_a_page_with_figures(training: supergat.Training) -> None:
    page = training.report()
    assert page.lower().startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert page.count("<svg") >= 2
    assert not re.search(r"(src|href)=[\"']https?://", page), "needs nothing from elsewhere"


def test_hyperparameters_are_parameters_in_order() -> None:
    table = json.loads(_supergat.hyperparameters())
    names = [row["name"] for row in table]
    assert list(HYPERPARAMETERS) == names
    parameters = list(inspect.signature(SuperGATClassifier).parameters)
    assert parameters[-len(names) :] == names
    text = " ".join((SuperGATClassifier.__doc__ or "").split())
    documented = re.findall(r"(\w+) : \w+, optional (.*?)(?= \w+ : | Attributes --)", text)
    meanings = {name: meaning for name, meaning in documented}
    for row in table:
        assert meanings[row["name"]].rstrip(".") == " ".join(row["meaning"].split()).rstrip(".")


@pytest.mark.parametrize("row", json.loads(_supergat.hyperparameters()), ids=lambda row: row["name"])
def test_hyperparameters_reach_the_model(graph: Graph, row: dict[str, Any]) -> None:
    default = row["default"]
    other: Any
    if isinstance(default, str):
        # The second of "must be one of none, layer, batch".
        other = row["range"].split(", ")[1]
    else:
        other = not default if isinstance(default, bool) else default + 1 if isinstance(default, int) else default / 2
    value = 2 if row["name"] == "max_epochs" else other
    models = {
        "Constraints": "cgat-full-supervised",
        "Label": "label-propagation",
        "Boosted": "trees",
        "Graph learning": "glcn",
        "Graph Agreement": "gcn-gam",
        "Learned": "lds",
        "Choice": "neuralsparse",
    }
    model = next((name for start, name in models.items() if row["group"].startswith(start)), "supergat-mx")
    # Label reuse needs labels as input, and models that are no networks have no epochs.
    others: dict[str, Any] = {"label_input": 0.5} if row["name"] == "label_reuse" else {}
    if model not in ("label-propagation", "trees"):
        others["max_epochs"] = 2
    training = supergat.train(graph, model, **(others | {row["name"]: value}))
    assert training.settings[row["name"]] == value
    assert training.model.card["settings"][row["name"]] == value


@pytest.mark.parametrize("model", ["glcn", "neuralsparse"])
def test_systems_are_saved_and_return_their_edges(graph: Graph, tmp_path: pathlib.Path, model: str) -> None:
    training = supergat.train(graph, model, max_epochs=5)
    assert training.runs[0].epochs == 5
    training.model.save(tmp_path / "model.safetensors")
    read = supergat.Model.load(tmp_path / "model.safetensors")
    assert np.array_equal(read.predict_proba(graph), training.model.predict_proba(graph))
    assert np.allclose(read.attention(graph, form="csr").sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("model", ["gcn-gam", "lds"])
def test_systems_in_rounds_are_saved(graph: Graph, tmp_path: pathlib.Path, model: str) -> None:
    options: dict[str, Any] = {"inner_steps": 10} if model == "lds" else {"rounds": 2, "agreement_steps": 10}
    training = supergat.train(graph, model, max_epochs=2, **options)
    assert training.runs[0].epochs == (2 if model == "lds" else 4)
    training.model.save(tmp_path / "model.safetensors")
    read = supergat.Model.load(tmp_path / "model.safetensors")
    assert np.array_equal(read.predict_proba(graph), training.model.predict_proba(graph))


def test_unknown_choices_list_the_known_ones(graph: Graph) -> None:
    with pytest.raises(ValueError, match="norm = group: must be one of none, layer, batch"):
        supergat.train(graph, "gat-go", norm="group")


def test_presets_are_used_or_reported(graph: Graph, caplog: pytest.LogCaptureFixture) -> None:
    published = supergat.train(graph, "gat-go", preset="pubmed", max_epochs=2).settings
    general = supergat.train(graph, "gat-go", max_epochs=2).settings
    assert published != general
    assert not caplog.records
    assert supergat.train(graph, "mlp", preset="cora", max_epochs=2).settings["max_epochs"] == 2
    assert "no published hyperparameters" in caplog.text


def test_attention_sums_to_one(graph: Graph, training: supergat.Training) -> None:
    matrix = training.model.attention(graph, form="csr")
    assert matrix.shape == (60, 60)
    assert np.allclose(matrix.sum(axis=1), 1, atol=1e-5)
    frame = training.model.attention(graph)
    assert list(frame.columns) == ["source", "target", "layer", "head", "coefficient", "logit"]
    sums = frame.groupby(["target", "layer", "head"])["coefficient"].sum()
    assert np.allclose(sums, 1, atol=1e-5)


@pytest.mark.parametrize("name", ["gatv2", "supergat-v2"])
def test_gatv2_trains_and_explains(graph: Graph, name: str) -> None:
    assert name in supergat.model_names()
    model = supergat.train(graph, name, max_epochs=5).model
    assert np.allclose(model.attention(graph, form="csr").sum(axis=1), 1, atol=1e-5)
    again = supergat.Model.from_bytes(model.to_bytes())
    assert np.array_equal(again.predict_proba(graph), model.predict_proba(graph))


def test_explanations_are_the_attention_of_a_node(graph: Graph, training: supergat.Training) -> None:
    found = training.model.explain(7, graph)
    neighbours = set(graph.edge_index[0][graph.edge_index[1] == 7].tolist()) | {7}
    assert set(found["source"]) == neighbours
    assert set(found["target"]) == {7}
    everything = training.model.attention(graph)
    of_node = everything[everything["target"] == 7]
    assert sorted(of_node["coefficient"]) == sorted(found["coefficient"])
    means = found.groupby(["layer", "source"])["coefficient"].mean()
    for row in found.itertuples():
        assert np.isclose(row.mean, means[row.layer, row.source])


def test_evaluation_agrees_with_the_run(graph: Graph, training: supergat.Training) -> None:
    found = training.model.evaluate(graph)
    run = training.runs[training.best]
    assert found["test"] is not None and found["validation"] is not None and found["train"] is not None
    assert found["test"]["metric"] == pytest.approx(run.test)
    assert found["validation"]["metric"] == pytest.approx(run.validation)
    assert found["train"]["nodes"] == len(graph.split["train"])
    predicted = training.model.predict(graph)
    test = graph.positions(graph.split["test"])
    assert (predicted[test] == graph.labels[test]).mean() == pytest.approx(run.test)


def test_comparison(graph: Graph, training: supergat.Training) -> None:
    other = supergat.train(graph, "gcn", seeds=2, max_epochs=10)
    found = supergat.compare(training, other, names=("supergat", "gcn"))
    assert (found["a"]["name"], found["b"]["name"]) == ("supergat", "gcn")
    assert found["a"]["mean"] == pytest.approx(training.test.mean())
    same = supergat.compare(list(training.test), list(other.test), names=("supergat", "gcn"))
    assert same["a"]["mean"] == found["a"]["mean"]


def test_tuning(graph: Graph) -> None:
    found = supergat.tune(graph, "gat-go", trials=2, seeds=1, n_jobs=1)
    assert len(found["trials"]) == 2
    settings = {name: value for name, value in found.settings.items() if value is not None}
    assert settings.pop("model") == "gat-go"
    assert supergat.train(graph, "gat-go", **(settings | {"max_epochs": 2})).runs[0].epochs == 2
    assert "<table" in found._repr_html_()


def test_tuning_of_deep_networks(graph: Graph) -> None:
    options: dict[str, Any] = {
        "also": ["residual", "output_layer"],
        "search": {"model": ["gat-go", "supergat-mx"], "layers": "1..3", "norm": ["layer", "none"], "self_loops": [True]},
    }
    found = [
        supergat.tune(graph, "gat-go", trials=12, seeds=1, max_epochs=16, prune=True, n_jobs=jobs, **options)
        for jobs in (1, 2)
    ]
    assert found[0] == found[1]
    trials = found[0]["trials"]
    assert all(1 <= trial["settings"]["layers"] <= 3 and trial["settings"]["self_loops"] for trial in trials)
    assert {trial["settings"]["norm"] for trial in trials} <= {"layer", "none"}
    assert any(trial["pruned"] is not None for trial in trials) and trials[found[0]["best"]]["pruned"] is None
    settings = {name: value for name, value in found[0].settings.items() if value is not None}
    assert supergat.train(graph, **settings).runs[0].epochs <= 16


def test_recommendation_within_minutes(graph: Graph) -> None:
    found = supergat.recommend(graph, minutes=0.05, families=["mlp", "gcn"], n_jobs=2, random_state=3)
    compared = [family["family"] for family in found["families"]]
    assert len(compared) + len(found["left_out"]) == 2 and found["family"] in compared
    assert found.answer == found["answer"] and found["plan"]["seed"] == 3
    assert found.model == found.settings["model"]
    assert all(0 <= family["test"]["mean"] <= 1 for family in found["families"])
    assert supergat.train(graph, **(found.settings | {"max_epochs": 2})).runs[0].epochs == 2
    assert "<table" in found._repr_html_()


def test_recommendation(graph: Graph) -> None:
    found = supergat.recommend(graph, seconds=1, n_jobs=2)
    assert found.model in supergat.model_names() and found["measured"]["families"] and found["notes"]
    assert found.answer == found["answer"] and "<table" in found._repr_html_()
    assert all(0 <= family["mean"] <= 1 for family in found["measured"]["families"])
    by_map = supergat.recommend(graph, seconds=0)
    assert by_map["measured"] is None and by_map["map"]["reasons"] and by_map.model == by_map["map"]["recommendation"]
    trained = [supergat.train(graph, "auto", max_epochs=2, n_jobs=jobs) for jobs in (1, 2)]
    chosen = [training.recommendation["recommendation"] for training in trained if training.recommendation]
    assert [training.settings["model"] for training in trained] == chosen and chosen[0] == chosen[1]
    for wrong in ({"seconds": -1}, {"seconds": float("nan")}, {"metric": "speed"}, {"seconds": 1, "minutes": 1}):
        with pytest.raises(ValueError):
            supergat.recommend(graph, **wrong)


class Comparing(Progress):
    """Progress that records what is compared, and may press Ctrl-C."""

    def __init__(self, interrupt: bool) -> None:
        super().__init__(1, True)
        self.interrupt = interrupt
        self.lines: list[tuple[str, int, int, float | None]] = []

    def choosing(self, names: str, run: int, runs: int, left: float | None) -> None:
        self.lines.append((names, run, runs, left))
        super().choosing(names, run, runs, left)
        # A second Ctrl-C would raise at once.
        if self.interrupt and len(self.lines) == 1:
            signal.raise_signal(signal.SIGINT)


def unknown_graph(nodes: int = 2000) -> Graph:
    """Return a graph without published settings, on which a comparison takes some seconds."""
    rng = np.random.default_rng(0)
    y = np.arange(nodes) % 2
    edges = rng.integers(0, nodes, (2, 4 * nodes))
    return Graph.from_edge_index(edges, rng.normal(size=(nodes, 64)) + y[:, None], labels=y, name="cora")


def test_a_comparison_of_models_is_shown_and_counted() -> None:
    line = Comparing(False)
    found = _supergat.train(unknown_graph()._inner, seeds=[0], values={"max_epochs": 2}, progress=line)
    assert json.loads(found["recommendation"])["measured"]["families"]
    names, run, runs, _ = line.lines[-1]
    assert "sage" in names and "gcn" in names and 0 < run <= runs
    assert any(left is not None for *_, left in line.lines)


def test_a_comparison_in_a_script_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    for progress, announced in ((None, 1), (False, 0)):
        caplog.clear()
        supergat.train(unknown_graph(), max_epochs=2, progress=progress)
        found = [record for record in caplog.records if record.levelname == "WARNING" and "comparing models" in record.message]
        assert len(found) == announced
        assert all("sage" in record.message and "choose_seconds=" in record.message for record in found)


def test_a_search_shows_and_bounds_its_comparison_of_models() -> None:
    line = Comparing(False)
    options: dict[str, Any] = {"trials": 1, "seed": 0, "seeds": 1, "threads": 1, "values": {"max_epochs": 2}}
    _supergat.tune(unknown_graph()._inner, "auto", progress=line, **options)
    names, run, runs, _ = line.lines[-1]
    assert "gcn" in names and 0 < run <= runs
    found = supergat.tune(unknown_graph(), trials=1, seeds=1, choose_seconds=0, max_epochs=2)
    assert len(found["trials"]) == 1
    with pytest.raises(KeyboardInterrupt, match="before a model was chosen"):
        _supergat.tune(unknown_graph(20000)._inner, "auto", progress=Comparing(True), **options)


def test_ctrl_c_during_a_comparison_returns_no_model() -> None:
    with pytest.raises(KeyboardInterrupt, match="before a model was chosen"):
        # The comparison is long enough to be interrupted on a busy machine.
        _supergat.train(unknown_graph(20000)._inner, seeds=[0], progress=Comparing(True))


def test_the_time_for_choosing_a_model_can_be_set() -> None:
    training = supergat.train(unknown_graph(), max_epochs=2, choose_seconds=0)
    assert training.recommendation is not None and training.recommendation["measured"] is None
    assert training.recommendation["answer"].startswith("Nothing was measured: ")
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="choose_seconds = .*: must be 0 or more"):
            supergat.train(unknown_graph(), choose_seconds=wrong)


def test_datasets() -> None:
    found = supergat.datasets()
    assert {"cora", "citeseer", "pubmed"} <= set(found["name"])
    assert {"nodes", "edges", "features", "classes", "licence", "home", "place"} <= set(found.columns)


def test_reproduce_trains_with_published_settings(monkeypatch: pytest.MonkeyPatch, graph: Graph) -> None:
    monkeypatch.setattr(Graph, "load", classmethod(lambda cls, source: graph))
    found = supergat.reproduce("cora", ["gcn"], seeds=2, n_jobs=1)
    assert found["model"].tolist() == ["gcn"]
    assert found["seeds"].tolist() == [2]
    assert 0 <= found["mean"][0] <= 1


def test_models_read_new_frames(graph: Graph) -> None:
    nodes, edges = graph.to_frames("polars")
    named = nodes.rename({"feature_0": "age", "feature_1": "size", "feature_2": "rank"})
    model = supergat.train(Graph.from_frames(named, edges), "gat-go", max_epochs=5).model
    shuffled = named.select("rank", "age", "id", "size")
    new = model.read_frames(shuffled, edges)
    assert np.array_equal(model.predict_proba(new), model.predict_proba(Graph.from_frames(named, edges)))
    assert new.classes == []


NUMPY_ONLY = """
import importlib.util
import numpy as np, supergat
assert importlib.util.find_spec("pandas") is None
y = np.arange(60) % 3
x = np.eye(3)[y] + np.random.default_rng(0).normal(0, 0.5, (60, 3))
at = np.arange(60)
graph = supergat.Graph.from_edge_index(np.stack([at, (at + 3) % 60]), x, labels=y)
training = supergat.train(graph, "supergat-mx", max_epochs=5)
print(list(training.model.explain(3, graph)))
print(list(training.model.attention(graph)), list(supergat.datasets())[:2])
print([list(frame)[:2] for frame in graph.to_frames()])
classifier = supergat.SuperGATClassifier(graph, model="gat-go", max_epochs=5)
try:
    classifier.predict([0])
except AttributeError as error:
    print(error)
print(classifier.fit(graph.ids, y).predict([1, 2]).shape, len(classifier._repr_html_()) > 100)
features = supergat.SuperGATClassifier(model="mlp", max_epochs=5).fit(x, y)
print(features.predict(x).shape)
nodes = {"id": list("abcd"), "label": list("xyxy"), "v": [1.0, 2.0, 1.5, 3.0]}
edges = {"source": ["a"], "target": ["b"]}
print(list(supergat.classify(nodes, edges, model="gat-go", hyperparameters={"max_epochs": 2})))
"""


def test_numpy_is_enough(tmp_path: pathlib.Path) -> None:
    """Without pandas, polars, scipy and scikit-learn, frames are dictionaries and the estimator works."""
    packages = pathlib.Path(np.__file__).parents[1]
    for folder in (packages / "numpy", packages / "numpy.libs", pathlib.Path(supergat.__file__).parent):
        if folder.exists():
            (tmp_path / folder.name).symlink_to(folder)
    prelude = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    done = subprocess.run([sys.executable, "-S", "-c", prelude + NUMPY_ONLY], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "['source', 'target', 'layer', 'head', 'coefficient', 'mean', 'logit']"
    assert "not fitted yet" in lines[3]
    assert lines[-1] == "['id', 'class', 'probability_x', 'probability_y']"


def test_trees_are_trained_saved_and_loaded(graph: Graph, tmp_path: pathlib.Path) -> None:
    training = supergat.train(graph, "trees", tree_count=10)
    training.model.save(tmp_path / "trees.safetensors")
    loaded = supergat.Model.load(tmp_path / "trees.safetensors")
    assert np.array_equal(loaded.predict_proba(graph), training.probabilities)


def test_trees_classify_features_without_a_graph() -> None:
    x = np.random.default_rng(0).normal(size=(200, 3))
    y = (x[:, 0] > 0.2).astype(int)
    classifier = SuperGATClassifier(model="trees", tree_count=40).fit(x, y)
    assert np.mean(classifier.predict(x) == y) > 0.9
