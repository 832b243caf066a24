"""Wrong input raises one exception of a fitting type, with one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import supergat
from supergat import Graph, Model, SuperGATClassifier
from supergat.training import thread_count

EYE = np.eye(3)
LINK = [[0], [1]]
NODES = {"id": ["a", "b"], "x": [1.0, 2.0]}
EDGES = {"source": ["a"], "target": ["b"]}


def refused(kind: type[BaseException], match: str, call: Any, *arguments: Any, **named: Any) -> None:
    """Check that a call raises exactly this type, with one line that contains a text."""
    with pytest.raises(kind) as caught:
        call(*arguments, **named)
    text = str(caught.value)
    assert match in text
    assert "\n" not in text
    assert "internal error" not in text
    assert "--" not in text, "names an option of the command line"
    assert caught.type.__name__ != "PanicException"


@pytest.mark.parametrize(
    ("match", "links", "features"),
    [
        ("NaN or infinity", LINK, [[np.nan], [1]]),
        ("NaN or infinity", LINK, [[1e300], [1]]),
        ("NaN or infinity", LINK, scipy.sparse.csr_array([[np.inf], [1]])),
        ("two dimensions", LINK, np.zeros((2, 2, 2))),
        ("two dimensions", LINK, np.zeros(2)),
        ("two dimensions", LINK, None),
        ("expected numbers", LINK, [["a"], ["b"]]),
        ("at least 1", LINK, np.zeros((3, 0))),
        ("shape (2, links)", np.zeros((2, 1, 1), int), EYE),
        ("shape (2, links)", np.zeros((5, 2), int), EYE),
        ("shape (2, links)", [[0], [1, 2]], EYE),
        ("shape (2, links)", None, EYE),
        ("whole numbers", [[0.5], [1]], EYE),
        ("whole numbers", [["a"], ["b"]], EYE),
        ("found -1", [[-1], [1]], EYE),
        ("found 7", [[7], [1]], EYE),
    ],
)
def test_arrays(match: str, links: Any, features: Any) -> None:
    refused(ValueError, match, Graph.from_edge_index, links, features)


def test_ids() -> None:
    refused(ValueError, "one per node", Graph.from_edge_index, LINK, EYE, ids=["a"])
    refused(ValueError, "distinct", Graph.from_edge_index, LINK, EYE, ids=["a", "a", "b"])


@pytest.mark.parametrize("labels", [[0, 1], np.zeros((60, 2)), "abc", [None] * 60, np.array(["a", 1] * 30, dtype=object)])
def test_labels(graph: Graph, labels: Any) -> None:
    refused(ValueError, "labels: expected", graph.with_labels, labels)


def test_labels_that_are_a_quantity(graph: Graph) -> None:
    quantity = np.arange(60) / 7
    message = "found 51 different numbers such as 0.14285714285714285, which look like a quantity to predict"
    refused(ValueError, message, graph.with_labels, quantity)
    nodes = {"id": [*range(60)], "label": quantity, "x": [1.0, 2.0] * 30}
    refused(ValueError, message.replace("0.142", "`0.142").replace("285,", "285`,"), Graph.from_frames, nodes, {"source": [0], "target": [1]})
    assert len(graph.with_labels(np.arange(60) % 4 / 2).classes) == 4
    assert len(graph.with_labels(np.arange(60) % 30 * 1.0).classes) == 30


def test_words_for_missing_values() -> None:
    nodes = {"id": [1, 2, 3, 4], "label": ["a", "b", "?", "Unknown"], "x": [1.0, -999.0, 3.0, 2.0], "y": [1, 2, -999, 4]}
    edges = {"source": [1, 2], "target": [2, 3]}
    graph = Graph.from_frames(nodes, edges, missing_words=["unknown", -999])
    assert graph.classes == ["a", "b"]
    assert any("2 missing values in `x` (1), `y` (1)" in note for note in graph.notes)


@pytest.mark.parametrize(
    "split",
    [
        ([0], [1], [99]), ([0], [1], [-1]), ([0, 1], [1], [2]), ([0], [1]), ([0.5], [1], [2]), ([[0, 3]], [1], [2]),
        ([True, False], [1], [2]), {"train": [0], "val": [1], "test": [2]},
    ],
)  # fmt: skip
def test_splits(graph: Graph, y: np.ndarray, split: Any) -> None:
    refused(ValueError, "split: expected", graph.with_labels, y, split=split)


def test_splits_by_ids() -> None:
    named = Graph.from_edge_index(LINK, EYE, ids=["a", "b", "c"])
    refused(ValueError, "such as 'a', found 1 other, such as 'd'", named.with_labels, [0, 1, 0], split=(["a"], ["b"], ["d"]))
    refused(ValueError, "graph.ids[numbers]", named.with_labels, [0, 1, 0], split=([0], [1], [2]))
    refused(ValueError, "found node 'b' again", named.with_labels, [0, 1, 0], split=(["a"], ["b"], ["b"]))


def test_weights_of_an_adjacency() -> None:
    def matrix(there: float, back: float) -> scipy.sparse.csr_array:
        return scipy.sparse.csr_array(np.array([[0, there, 0], [back, 0, 0], [0, 0, 0]], dtype=float))

    for wrong in (-1, np.nan, np.inf):
        refused(ValueError, "weighted=False", Graph.from_scipy, matrix(wrong, wrong), EYE)
    refused(ValueError, "found 2.0 from 0 to 1 and 3.0 back", Graph.from_scipy, matrix(2, 3), EYE, directed=False)
    refused(TypeError, "entries of the matrix", Graph.from_scipy, matrix(2, 2), EYE, edge_weight=[1, 1])


def test_objects_that_are_no_graphs(graph: Graph, training: supergat.Training) -> None:
    for call in (supergat.train, supergat.recommend, supergat.tune, training.model.predict, training.model.evaluate):
        refused(TypeError, "expected a supergat.Graph, found list", call, [1, 2])
    refused(TypeError, "expected a supergat.Graph", SuperGATClassifier(graph=5).fit, [1], [1])  # type: ignore[arg-type]
    refused(ValueError, "found a Graph", SuperGATClassifier().fit, graph, [1])
    for frame in (5, None, "nodes.csv", [1, 2]):
        refused(TypeError, "expected a data frame", Graph.from_frames, frame, frame)
    refused(TypeError, "networkx", Graph.from_networkx, 5)
    refused(ValueError, "x is missing", Graph.from_pyg, 5)
    refused(TypeError, "scipy", Graph.from_scipy, EYE, EYE)
    refused(ValueError, "as many rows as columns", Graph.from_scipy, scipy.sparse.csr_array(np.ones((2, 3))), EYE)
    refused(TypeError, "path or a name", supergat.load, None)


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame])
def test_empty_frames(kind: Any) -> None:
    refused(ValueError, "expected columns", Graph.from_frames, kind({}), kind({}))
    refused(ValueError, "expected nodes", Graph.from_frames, kind({"id": [], "x": []}), kind({"source": [], "target": []}))
    assert Graph.from_frames(kind(NODES), kind({"source": [], "target": []})).degrees().tolist() == [0, 0]


@pytest.mark.parametrize("column", ["id", "label", "split", "source", "target", "ignore", "numeric"])
def test_columns_that_do_not_exist(column: str) -> None:
    refused(ValueError, "`nope`", Graph.from_frames, NODES, EDGES, **{column: "nope"})


@pytest.mark.parametrize("column", ["id", "label", "split", "source", "target", "ignore"])
def test_errors_of_frames_name_their_arguments(column: str) -> None:
    with pytest.raises(ValueError, match=f"`{column}`") as caught:
        Graph.from_frames(NODES, EDGES, **{column: "nope"})
    assert "_column" not in str(caught.value) and "delimiter" not in str(caught.value)


def test_frames() -> None:
    read = Graph.from_frames
    refused(ValueError, "expected 2", read, NODES | {"x": [1.0]}, EDGES)
    refused(ValueError, "nodes: column `x`", read, NODES | {"x": [[1.0], [2.0]]}, EDGES)
    refused(ValueError, "nodes: column `x`", read, NODES | {"x": [[1.0], [2.0, 3.0]]}, EDGES)
    refused(ValueError, "skip_unknown=True", read, NODES, {"source": ["a"], "target": ["z"]})
    refused(ValueError, "occurs once", read, NODES | {"id": ["a", "a"]}, EDGES)
    refused(ValueError, 'missing="error"', read, NODES | {"x": [1.0, None]}, EDGES, missing="error")
    refused(ValueError, "unknown variant `wrong`", read, NODES, EDGES, missing="wrong")
    refused(ValueError, "split_seed", read, NODES, EDGES, split_seed=-1)
    refused(ValueError, "spectral:COUNT", read, NODES, EDGES, features="wrong")
    refused(ValueError, "add the other columns", read, {"id": ["a", "b"]}, EDGES)
    refused(TypeError, "column `x` has the type", read, pl.DataFrame(NODES | {"x": [[1.0], [2.0]]}), EDGES)
    refused(ValueError, "`x` again", read, pd.DataFrame([["a", 1, 2]], columns=["id", "x", "x"]), EDGES)
    refused(ValueError, "label=", supergat.classify, NODES, EDGES)


@pytest.mark.parametrize(
    ("kind", "match", "nodes", "target"),
    [
        (ValueError, "such as 999", [1, 2, 999], [0, 1, 0]),
        (ValueError, "such as 'a', 'b'", ["a", "b"], [0, 1]),
        (ValueError, "such as 0.5", [0.5, 1], [0, 1]),
        (ValueError, "one dimension", np.zeros((3, 2)), [0, 1, 0]),
        (ValueError, "every node once", [1, 1], [0, 1]),
        (ValueError, "at least one node", [], []),
        (ValueError, "one class per node", [1, 2, 3], [0, 1]),
        (ValueError, "one class per node", [1, 2, 3], np.eye(3)),
        (ValueError, "two classes", [1, 2, 3], [0, 0, 0]),
        (ValueError, "y is None", [1, 2], None),
        (ValueError, "leave nodes without a class out", [1, 2, 3], [0, 1, None]),
        (ValueError, "NaN", [1, 2, 3], [0, 1, np.nan]),
        (ValueError, "not whole", [1, 2, 3], [0.5, 1, 0.3]),
        (ValueError, "one type", [1, 2, 3], np.array(["a", 1, 2], dtype=object)),
    ],
)
def test_samples(graph: Graph, kind: type[Exception], match: str, nodes: Any, target: Any) -> None:
    refused(kind, match, SuperGATClassifier(graph, max_epochs=2).fit, nodes, target)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (ValueError, {"random_state": -1}),
        (TypeError, {"random_state": "a"}),
        (ValueError, {"n_seeds": 0}),
        (TypeError, {"n_seeds": 1.5}),
        (ValueError, {"validation": 2}),
        (ValueError, {"validation": "a"}),
        (ValueError, {"model": "gatt"}),
        (ValueError, {"preset": "nope"}),
        (ValueError, {"dropout": 2.0}),
    ],
)
def test_parameters_of_the_estimator(graph: Graph, y: np.ndarray, kind: type[Exception], parameters: Any) -> None:
    refused(kind, "", SuperGATClassifier(graph, max_epochs=2, **parameters).fit, graph.ids, y)


def test_estimator(graph: Graph, y: np.ndarray) -> None:
    from sklearn.exceptions import NotFittedError

    classifier = SuperGATClassifier(graph, model="gat-go", max_epochs=2)
    for call in (classifier.predict, classifier.predict_proba, classifier.explain):
        refused(NotFittedError, "not fitted yet", call, [0])
    refused(NotFittedError, "not fitted yet", classifier.report)
    refused(ValueError, "'nope'", classifier.set_params, nope=1)
    refused(ValueError, "nodes of X", classifier.fit, graph.ids[:30], y[:30], validation_nodes=[50])
    refused(ValueError, "no labelled node", classifier.fit, graph.ids[:30], y[:30], validation_nodes=graph.ids[:30])
    classifier.fit(graph.ids, y)
    refused(ValueError, "one class per node", classifier.score, [1, 2], [0])
    refused(TypeError, "expected a supergat.Graph", classifier.predict, [1], graph=4)
    assert classifier.predict([]).shape == (0,)


@pytest.mark.parametrize(
    ("kind", "match", "arguments"),
    [
        (ValueError, "found -1", {"seeds": [-1]}),
        (ValueError, "at least one", {"seeds": -1}),
        (ValueError, "at least one", {"seeds": 0}),
        (ValueError, "at least one", {"seeds": []}),
        (ValueError, "2^64", {"seeds": [2**64]}),
        (TypeError, "seeds: expected", {"seeds": 1.5}),
        (TypeError, "seeds: expected", {"seeds": "a"}),
        (TypeError, "seeds: expected", {"seeds": None}),
        (ValueError, "unknown model `gatt`: expected one of", {"model": "gatt"}),
        (TypeError, "model: expected a name", {"model": 5}),
        (ValueError, "unknown hyperparameter `lamda`", {"lamda": 1}),
        (ValueError, "dropout", {"dropout": 2.0}),
        (ValueError, "lr", {"lr": float("nan")}),
        (ValueError, "heads", {"heads": -1}),
        (ValueError, "heads", {"heads": "a"}),
        (ValueError, "heads", {"heads": [1]}),
        (ValueError, "heads", {"heads": 1.5}),
        (ValueError, "heads", {"heads": True}),
        (ValueError, "hidden", {"hidden": 10**9}),
        (ValueError, "early_stop", {"early_stop": 1}),
        (ValueError, "unknown preset `nope`", {"preset": "nope"}),
        (ValueError, "n_jobs", {"n_jobs": 0}),
        (TypeError, "n_jobs", {"n_jobs": "a"}),
        (TypeError, "n_jobs", {"n_jobs": 1.5}),
        (ValueError, "device: expected cpu, cuda, cuda:1 or auto, found gpu", {"device": "gpu"}),
        (ValueError, "device: expected cpu", {"device": "cuda:-1"}),
        (ValueError, "device: expected cpu", {"device": ""}),
        (TypeError, "device: expected a name", {"device": 0}),
        (TypeError, "device: expected a name", {"device": None}),
        (TypeError, "tf32: expected True or False", {"tf32": "yes"}),
    ],
)
def test_training(graph: Graph, kind: type[Exception], match: str, arguments: Any) -> None:
    refused(kind, match, supergat.train, graph, **({"model": "gat-go", "max_epochs": 2} | arguments))


def test_numbers_may_be_of_numpy_or_floating(graph: Graph) -> None:
    found = supergat.train(graph, "gat-go", max_epochs=np.int32(2), heads=4.0, lr=np.float32(0.5), early_stop=np.bool_(False))
    assert (found.settings["heads"], found.settings["lr"], found.settings["early_stop"]) == (4, 0.5, False)


def test_more_threads_than_cores_are_not_started() -> None:
    import os

    assert thread_count(100_000) == os.cpu_count()
    assert thread_count(-1) == os.cpu_count()
    assert thread_count(-100_000) == 1


def test_graph_without_edges(graph: Graph, y: np.ndarray) -> None:
    bare = Graph.from_edge_index([[], []], graph.features, labels=y)
    for model in ("auto", "supergat-mx", "supergat-v2", "gcn"):
        assert supergat.train(bare, model, max_epochs=2).probabilities.shape == (60, 3)
    assert supergat.recommend(bare, seconds=0).model == "mlp"
    assert any("there are no links" in note for note in supergat.recommend(bare, seconds=1)["notes"])


def test_graph_without_labels() -> None:
    bare = Graph.from_edge_index(LINK, EYE)
    refused(ValueError, "no labelled node", supergat.train, bare, "gat-go", max_epochs=2)
    refused(ValueError, "labelled", supergat.tune, bare, "gat-go", trials=1)
    assert bare.classes == [] and bare.homophily is None


def test_missing_files(tmp_path: Any, training: supergat.Training) -> None:
    refused(FileNotFoundError, "not found", supergat.load, tmp_path / "nothing")
    refused(FileNotFoundError, "not found", Model.load, tmp_path / "nothing")
    refused(FileNotFoundError, "not found", training.model.read, tmp_path / "nothing")
    refused(ValueError, "no model.safetensors", Model.load, tmp_path)
    refused(OSError, "cannot write", training.model.save, tmp_path / "no" / "folder")
    refused(ValueError, "unknown dataset", supergat.load, "nothing-here")
    refused(ValueError, "unknown dataset", supergat.reproduce, "nothing-here")
    refused(ValueError, "unknown option `nope`", supergat.load, "random-partition", nope=1)
    refused(ValueError, "found `wrong`", supergat.load, "random-partition", split="wrong")
    refused(ValueError, "at least 170 nodes", supergat.load, "random-partition:nodes=60")


def test_damaged_models(training: supergat.Training) -> None:
    content = training.model.to_bytes()
    for damaged in (b"", b"x" * 100, content[:100], content[: len(content) // 2], content[:-1]):
        refused(ValueError, "cannot be used", Model.from_bytes, damaged)
    refused(TypeError, "bytes", Model.from_bytes, "text")
    random = np.random.default_rng(0)
    for at in random.integers(0, min(len(content), 2000), 200):
        changed = bytearray(content)
        changed[at] ^= 0xFF
        try:
            Model.from_bytes(bytes(changed))
        except ValueError as error:
            assert "\n" not in str(error)


def test_models(graph: Graph, training: supergat.Training) -> None:
    model = training.model
    refused(ValueError, "features per node = 3", model.predict, Graph.from_edge_index(LINK, np.eye(5)))
    refused(ValueError, "expected labels", model.evaluate, Graph.from_edge_index(LINK, EYE))
    refused(ValueError, "such as 99", model.explain, 99, graph)
    refused(ValueError, "frame or csr", model.attention, graph, form="x")
    refused(ValueError, "has no attention", supergat.train(graph, "gcn", max_epochs=2).model.attention, graph)


def test_studies(graph: Graph) -> None:
    refused(ValueError, "compare: expected", supergat.compare, [], [])
    refused(ValueError, "compare: expected", supergat.compare, "a", "b")
    refused(ValueError, "compare: expected", supergat.compare, [0.1, np.nan], [0.1, 0.2])
    refused(ValueError, "names", supergat.compare, [0.1, 0.2], [0.1, 0.3], names=("a",))
    refused(ValueError, "unknown family", supergat.recommend, graph, minutes=1, families=["gnn"])
    refused(ValueError, "families: needs minutes", supergat.recommend, graph, families=["mlp"])
    refused(ValueError, "keep_split: needs minutes", supergat.recommend, graph, keep_split=True)
    refused(TypeError, "families: expected a list", supergat.recommend, graph, minutes=1, families="mlp")
    refused(ValueError, "minutes", supergat.recommend, graph, minutes=0)
    refused(ValueError, "unknown metric", supergat.recommend, graph, minutes=1, metric="speed")
    refused(ValueError, "at least one trial", supergat.tune, graph, trials=0)
    refused(ValueError, "unknown model", supergat.tune, graph, "nope", trials=1)
    refused(ValueError, "random_state", supergat.tune, graph, "gat-go", trials=1, random_state=-1)
    refused(ValueError, "also: expected some of", supergat.tune, graph, "gat-go", trials=1, also=["depth"])
    refused(TypeError, "also: expected a list", supergat.tune, graph, "gat-go", trials=1, also="lr")
    refused(TypeError, "search: expected a range", supergat.tune, graph, "gat-go", trials=1, search={"layers": 3})
    refused(ValueError, "norm = group", supergat.tune, graph, "gat-go", trials=1, search={"norm": ["group"]})
    refused(ValueError, "lambda_e", supergat.tune, graph, "gat-go", trials=1, search={"lambda_e": "1..2"})
    refused(ValueError, "device", supergat.tune, graph, "gat-go", trials=1, device="gpu")
    refused(ValueError, "seed", graph.redrawn, -1)
    with pytest.raises(ValueError, match="with the sum 100 instead of 110"):
        graph.redrawn(0, shares="60/20/30")
    with pytest.raises(TypeError, match="shares"):
        graph.redrawn(0, shares=0.6)
