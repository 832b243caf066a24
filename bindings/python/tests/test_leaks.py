"""Labels of held-out nodes are never read."""

import numpy as np
import pytest

import supergat
from supergat import SuperGATClassifier


@pytest.mark.parametrize("model", ["auto", "supergat-mx", "cgat-full-supervised"])
def test_labels_of_the_graph_outside_fit_do_not_change_a_bit(graph: supergat.Graph, y: np.ndarray, model: str) -> None:
    nodes = graph.ids
    given = nodes[: 2 * len(nodes) // 3]
    changed = y.copy()
    changed[len(given) :] = (changed[len(given) :] + 1) % 3
    found = [
        SuperGATClassifier(graph=graph.with_labels(labels), model=model, max_epochs=8)
        .fit(given, y[: len(given)])
        .predict_proba(nodes)
        for labels in (y, changed)
    ]
    assert np.array_equal(*found)


def test_fit_needs_no_labels_in_the_graph(graph: supergat.Graph, y: np.ndarray) -> None:
    bare = supergat.Graph.from_edge_index(graph.edge_index, graph.features)
    found = [
        SuperGATClassifier(graph=one, model="gat-go", max_epochs=8).fit(graph.ids[:40], y[:40]).predict_proba(graph.ids)
        for one in (graph, bare)
    ]
    assert np.array_equal(*found)


@pytest.mark.parametrize("model", ["auto", "supergat-sd"])
def test_labels_of_test_nodes_do_not_change_a_bit(graph: supergat.Graph, y: np.ndarray, model: str) -> None:
    parts = list(graph.split.values())
    changed = y.copy()
    changed[parts[2]] = (changed[parts[2]] + 1) % 3
    found = [
        supergat.train(graph.with_labels(labels, split=parts), model, seeds=2, max_epochs=8) for labels in (y, changed)
    ]
    assert found[0].settings == found[1].settings
    assert found[0].best == found[1].best
    assert np.array_equal(found[0].probabilities, found[1].probabilities)
    assert not np.array_equal(found[0].test, found[1].test)


def test_tuning_does_not_read_test_labels(graph: supergat.Graph, y: np.ndarray) -> None:
    parts = list(graph.split.values())
    changed = y.copy()
    changed[parts[2]] = (changed[parts[2]] + 1) % 3
    found = [
        supergat.tune(graph.with_labels(labels, split=parts), "gat-go", trials=2, seeds=1, n_jobs=1)
        for labels in (y, changed)
    ]
    assert found[0].settings == found[1].settings
    assert [trial["validation"] for trial in found[0]["trials"]] == [trial["validation"] for trial in found[1]["trials"]]
