"""Small graphs for all tests."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Callable

import numpy as np
import pytest

import supergat


def small_graph(nodes: int = 60, classes: int = 3, seed: int = 0) -> supergat.Graph:
    """Return a graph whose links are mostly within classes, with features that tell the classes apart."""
    random = np.random.default_rng(seed)
    labels = np.arange(nodes) % classes
    features = np.eye(classes, dtype=np.float32)[labels] + random.normal(0, 1, (nodes, classes)).astype(np.float32)
    sources = np.repeat(np.arange(nodes), 3)
    targets = (sources + classes * random.integers(1, 6, sources.size)) % nodes
    noisy = random.random(sources.size) < 0.3
    targets[noisy] = random.integers(0, nodes, noisy.sum())
    return supergat.Graph.from_edge_index(np.stack([sources, targets]), features, labels=labels, name="small")


@pytest.fixture(scope="session")
def graph() -> supergat.Graph:
    return small_graph()


@pytest.fixture(scope="session")
def y(graph: supergat.Graph) -> np.ndarray:
    return graph.labels.astype(int)


@pytest.fixture(scope="session")
def training(graph: supergat.Graph) -> supergat.Training:
    return supergat.train(graph, "supergat-mx", seeds=2, max_epochs=10)


@pytest.fixture(scope="session")
def command_line() -> Callable[..., str]:
    """Return a function that runs the command line and returns its standard output."""
    default = pathlib.Path(__file__).parents[3] / "target" / "release" / "supergat"
    binary = pathlib.Path(os.environ.get("SUPERGAT_BINARY", default))
    if not binary.is_file():
        pytest.skip(f"no command line at {binary}: build it with cargo build --release, or set SUPERGAT_BINARY")

    def run(*arguments: object) -> str:
        done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
