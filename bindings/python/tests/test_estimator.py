"""The estimator works with scikit-learn, joblib, pickle and threads."""

from __future__ import annotations

import copy
import pathlib
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import small_graph
from sklearn.base import clone, is_classifier
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import supergat
from supergat import Graph, SuperGATClassifier

#: Checks of scikit-learn that fail, with the reason. None does.
EXPECTED_FAILURES: dict[str, str] = {}


@pytest.mark.filterwarnings("ignore:Estimator SuperGATClassifier does not inherit")
def test_checks_of_scikit_learn() -> None:
    classifier = SuperGATClassifier(max_epochs=60, n_jobs=1)
    found = check_estimator(classifier, expected_failed_checks=EXPECTED_FAILURES, on_skip=None)
    assert len(found) > 40
    failed = {check["check_name"] for check in found if check["status"] in ("failed", "xfail")}
    assert failed == set(EXPECTED_FAILURES)


@pytest.fixture(scope="module")
def classifier(graph: Graph) -> SuperGATClassifier:
    return SuperGATClassifier(graph=graph, model="supergat-mx", max_epochs=15)


@pytest.fixture(scope="module")
def fitted(classifier: SuperGATClassifier, graph: Graph, y: np.ndarray) -> SuperGATClassifier:
    return clone(classifier).fit(graph.ids[:40], y[:40])


def test_the_default_model_is_named_and_not_compared(graph: Graph, y: np.ndarray) -> None:
    fitted = SuperGATClassifier(graph=graph, max_epochs=3).fit(graph.ids, y)
    assert fitted.model_.card["model"] == "supergat-mx" and fitted.training_.recommendation is None
    without = SuperGATClassifier(max_epochs=3).fit(np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2)
    assert without.model_.card["model"] == "mlp"


def test_cross_validation_learns(classifier: SuperGATClassifier, graph: Graph, y: np.ndarray) -> None:
    scores = cross_val_score(classifier, graph.ids, y, cv=5, scoring="f1_macro")
    assert scores.shape == (5,)
    assert scores.mean() > 0.5


def test_cross_validation_equals_a_loop(classifier: SuperGATClassifier, graph: Graph, y: np.ndarray) -> None:
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    expected = [
        f1_score(y[test], clone(classifier).fit(graph.ids[train], y[train]).predict(graph.ids[test]), average="macro")
        for train, test in folds.split(graph.ids, y)
    ]
    assert cross_val_score(classifier, graph.ids, y, cv=folds, scoring="f1_macro").tolist() == expected


def test_cross_validation_with_several_processes(classifier: SuperGATClassifier, graph: Graph, y: np.ndarray) -> None:
    one = cross_val_score(classifier, graph.ids, y, cv=3)
    assert cross_val_score(classifier, graph.ids, y, cv=3, n_jobs=2).tolist() == one.tolist()


def test_cross_validated_probabilities(classifier: SuperGATClassifier, graph: Graph, y: np.ndarray) -> None:
    found = cross_val_predict(classifier, graph.ids, y, cv=3, method="predict_proba")
    assert found.shape == (60, 3)
    assert np.allclose(found.sum(axis=1), 1, atol=1e-5)


def test_grid_search(classifier: SuperGATClassifier, graph: Graph, y: np.ndarray) -> None:
    search = GridSearchCV(classifier, {"lambda_e": [0.1, 1.0, 10.0]}, cv=StratifiedKFold(3), scoring="f1_macro")
    search.fit(graph.ids, y)
    assert search.best_params_["lambda_e"] in (0.1, 1.0, 10.0)
    assert search.best_estimator_.graph is graph
    assert search.best_estimator_.training_.settings["lambda_e"] == search.best_params_["lambda_e"]
    assert search.predict(graph.ids[:4]).shape == (4,)


def test_clones_share_the_graph(fitted: SuperGATClassifier, graph: Graph) -> None:
    cloned = clone(fitted)
    assert cloned.graph is graph
    assert not hasattr(cloned, "model_")
    assert cloned.get_params() == fitted.get_params()
    assert copy.deepcopy(graph) is graph
    assert is_classifier(cloned)


def test_pickles_predict_equal_bits(fitted: SuperGATClassifier, graph: Graph, tmp_path: pathlib.Path) -> None:
    expected = fitted.predict_proba(graph.ids)
    joblib.dump(fitted, tmp_path / "classifier.joblib")
    for found in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "classifier.joblib")):
        assert np.array_equal(found.predict_proba(graph.ids), expected)
        assert found.classes_.tolist() == fitted.classes_.tolist()
        assert found.training_.report()


def test_graphs_are_pickled(graph: Graph) -> None:
    found = pickle.loads(pickle.dumps(graph))
    assert np.array_equal(found.features, graph.features)
    assert np.array_equal(found.edge_index, graph.edge_index)
    assert found.labels.tolist() == graph.labels.tolist()
    assert found.ids.tolist() == graph.ids.tolist()
    assert found.split["test"].tolist() == graph.split["test"].tolist()


def test_unlabelled_graphs_are_pickled(graph: Graph) -> None:
    bare = Graph.from_edge_index(graph.edge_index, graph.features, ids=[f"n{at}" for at in range(60)])
    found = pickle.loads(pickle.dumps(bare))
    assert found.classes == []
    assert found.ids.tolist() == bare.ids.tolist()


def test_threads_and_jobs_do_not_change_a_bit(classifier: SuperGATClassifier, graph: Graph, y: np.ndarray) -> None:
    def probabilities(jobs: int | None) -> Any:
        return clone(classifier).set_params(n_jobs=jobs).fit(graph.ids[:40], y[:40]).predict_proba(graph.ids)

    expected = probabilities(1)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(probabilities, [None, 1, 2, -1]))
    assert all(np.array_equal(one, expected) for one in found)


def test_seeds_change_the_result(classifier: SuperGATClassifier, graph: Graph, y: np.ndarray) -> None:
    def probabilities(seed: Any) -> Any:
        return clone(classifier).set_params(random_state=seed).fit(graph.ids, y).predict_proba(graph.ids)

    assert np.array_equal(probabilities(None), probabilities(0))
    assert not np.array_equal(probabilities(0), probabilities(1))
    assert np.array_equal(probabilities(np.random.RandomState(3)), probabilities(np.random.RandomState(3)))
    assert np.array_equal(probabilities(np.int64(3)), probabilities(3))


def test_several_seeds_keep_the_best(classifier: SuperGATClassifier, graph: Graph, y: np.ndarray) -> None:
    found = clone(classifier).set_params(n_seeds=3, random_state=5).fit(graph.ids, y)
    assert [run.seed for run in found.training_.runs] == [5, 6, 7]
    assert found.training_.validation[found.training_.best] == found.training_.validation.max()


def test_predicts_on_an_unseen_graph(fitted: SuperGATClassifier, graph: Graph) -> None:
    unseen = small_graph(seed=7)
    labels = unseen.labels.astype(int)
    found = fitted.predict(unseen.ids, graph=unseen)
    assert (found == labels).mean() > 0.5
    assert np.array_equal(fitted.predict_proba([3, 4], graph=unseen), fitted.model_.predict_proba(unseen)[[3, 4]])
    # Ids of another graph are its own.
    named = Graph.from_edge_index(unseen.edge_index, unseen.features, ids=[f"n{at}" for at in range(60)])
    assert fitted.predict(["n3"], graph=named).tolist() == [found[3]]


def test_order_of_the_nodes_does_not_matter(fitted: SuperGATClassifier, classifier: SuperGATClassifier, graph: Graph, y: np.ndarray) -> None:
    order = np.random.default_rng(0).permutation(40)
    found = clone(classifier).fit(graph.ids[:40][order], y[:40][order])
    assert np.array_equal(found.predict_proba(graph.ids), fitted.predict_proba(graph.ids))
    assert np.array_equal(found.predict_proba([5, 2]), fitted.predict_proba([2, 5])[::-1])


@pytest.mark.parametrize("library", [list, pd.Series, pl.Series])
def test_ids_and_classes_of_any_library(fitted: SuperGATClassifier, classifier: SuperGATClassifier, graph: Graph, y: np.ndarray, library: Any) -> None:
    found = clone(classifier).fit(library(graph.ids[:40].tolist()), library(y[:40].tolist()))
    assert np.array_equal(found.predict_proba(library([1, 2])), fitted.predict_proba([1, 2]))
    assert found.score(library([1, 2]), library(y[1:3].tolist())) == fitted.score([1, 2], y[1:3])


@pytest.mark.parametrize("names", [["no", "yes", "maybe"], [True, False], [-5, 7, 100]])
def test_classes_keep_their_type(graph: Graph, y: np.ndarray, names: list[Any]) -> None:
    target = np.array(names)[y % len(names)]
    found = SuperGATClassifier(graph, model="gat-go", max_epochs=5).fit(graph.ids, target)
    assert found.classes_.tolist() == sorted(names)
    assert found.predict(graph.ids).dtype == target.dtype


def test_validation_nodes(classifier: SuperGATClassifier, graph: Graph, y: np.ndarray) -> None:
    found = clone(classifier).fit(graph.ids[:40], y[:40], validation_nodes=graph.ids[30:40])
    split = found.training_.graph.split
    assert split["train"].tolist() == list(range(30))
    assert split["validation"].tolist() == list(range(30, 40))
    assert split["test"].size == 0


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_classify_returns_a_frame_of_the_library(graph: Graph, library: str) -> None:
    nodes, edges = graph.to_frames("pandas")
    nodes = nodes.drop(columns="split").rename(columns={"label": "fraud"})
    nodes.loc[::4, "fraud"] = None
    if library == "polars":
        nodes, edges = pl.from_pandas(nodes), pl.from_pandas(edges)
    elif library == "pyarrow":
        import pyarrow as pa

        nodes, edges = pa.Table.from_pandas(nodes), pa.Table.from_pandas(edges)
    found = supergat.classify(nodes, edges, label="fraud", model="gat-go", hyperparameters={"max_epochs": 10})
    assert type(found).__module__.split(".")[0] == library
    table = found if library == "pandas" else found.to_pandas()
    assert list(table.columns) == ["id", "class", "probability_0", "probability_1", "probability_2"]
    assert table["id"].tolist() == graph.ids.tolist()
    assert np.allclose(table.iloc[:, 2:].sum(axis=1), 1, atol=1e-5)
    assert (table["class"].to_numpy() == graph.labels).mean() > 0.5
