"""Devices: the CPU by name, and a clear exception where there is no GPU."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from conftest import small_graph

import supergat
from supergat import Graph, SuperGATClassifier

NO_GPU = pytest.mark.skipif(len(supergat.devices()) > 1, reason="this machine has a GPU")
SETTINGS: dict[str, Any] = {"seeds": 2, "max_epochs": 10}


def test_the_cpu_is_listed_first() -> None:
    first, *gpus = supergat.devices()
    assert (first["device"], first["memory"], first["free"]) == ("cpu", None, None)
    assert first["name"].endswith("cores")
    assert [gpu["device"] for gpu in gpus] == [f"cuda:{number}" for number in range(len(gpus))]
    assert all(set(gpu) == set(first) and 0 < gpu["free"] <= gpu["memory"] for gpu in gpus)


@NO_GPU
def test_the_reason_for_no_gpu_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="supergat"):
        supergat.devices()
    assert len(caplog.messages) == 1 and caplog.messages[0].startswith("no GPU: ")


@pytest.mark.parametrize("options", [{"device": "cpu"}, {"tf32": True}, {"device": "cpu", "tf32": np.bool_(True)}])
def test_the_cpu_is_the_default(graph: Graph, training: supergat.Training, options: dict[str, Any]) -> None:
    found = supergat.train(graph, "supergat-mx", **SETTINGS, **options)
    assert np.array_equal(found.probabilities, training.probabilities)
    assert found.model.to_bytes() == training.model.to_bytes()


@NO_GPU
def test_auto_is_the_cpu_without_a_gpu(graph: Graph, training: supergat.Training) -> None:
    found = supergat.train(graph, "supergat-mx", **SETTINGS, device="auto")
    assert np.array_equal(found.probabilities, training.probabilities)


@NO_GPU
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_no_gpu_is_one_sentence(graph: Graph, y: np.ndarray, device: str) -> None:
    nodes = {"id": [f"n{k}" for k in range(8)], "label": list("abababab"), "x": [float(k % 2) for k in range(8)]}
    edges = {"source": nodes["id"], "target": nodes["id"][2:] + nodes["id"][:2]}
    calls = [
        lambda: supergat.train(graph, "gat-go", max_epochs=2, device=device),
        lambda: SuperGATClassifier(graph, "gat-go", max_epochs=2, device=device).fit(graph.ids, y),
        lambda: supergat.classify(nodes, edges, label="label", model="gat-go", device=device),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="^no NVIDIA (driver|GPU) found: .* train on the CPU") as caught:
            call()
        assert "\n" not in str(caught.value) and caught.value.__cause__ is None


def test_the_estimator_stores_its_device_untouched(graph: Graph, y: np.ndarray) -> None:
    classifier = SuperGATClassifier(graph, "gat-go", device="gpu", tf32="yes")
    assert (classifier.get_params()["device"], classifier.get_params()["tf32"]) == ("gpu", "yes")
    classifier.set_params(tf32=False)
    with pytest.raises(ValueError, match="device: expected cpu, cuda, cuda:1 or auto, found gpu"):
        classifier.fit(graph.ids, y)


@pytest.mark.skipif(len(supergat.devices()) < 2, reason="needs a GPU")
def test_a_gpu_trains_nearly_the_same_and_repeats_its_bits() -> None:
    graph = small_graph(240)
    options: dict[str, Any] = {"seeds": 1, "max_epochs": 10}
    cpu = supergat.train(graph, "supergat-mx", **options)
    one, two = (supergat.train(graph, "supergat-mx", **options, device="cuda") for _ in range(2))
    assert np.array_equal(one.probabilities, two.probabilities)
    assert np.allclose(one.probabilities, cpu.probabilities, atol=1e-2)
