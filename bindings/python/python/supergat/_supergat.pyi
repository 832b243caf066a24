"""Types of the extension module: arrays and frames in, arrays and JSON out."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, final

import numpy as np
from numpy.typing import NDArray

from ._progress import Progress

__version__: str

class RunOutcome(TypedDict):
    """Result of one seed, with the metrics of its best epoch."""

    seed: int
    epochs: int
    best_epoch: int
    validation: float
    test: float
    seconds: float
    curves: dict[str, NDArray[np.float64]]

class Trained(TypedDict):
    """Result of a training."""

    runs: list[RunOutcome]
    best: int
    interrupted: bool
    recommendation: str | None
    settings: str
    published: bool
    unused: list[str]
    not_saved: str | None
    probabilities: NDArray[np.float32]
    ensemble: NDArray[np.float32] | None
    metric: str
    metrics: str
    ensemble_metrics: str | None
    warnings: list[str]
    model: Model

@final
class Graph:
    """A graph with features, and with labels and a split if they are known."""

    @staticmethod
    def load(source: str, options_json: str) -> Graph: ...
    @staticmethod
    def from_frames(nodes: Any, edges: Any, options_json: str) -> Graph: ...
    @staticmethod
    def from_arrays(
        nodes: int,
        sources: NDArray[np.uint32],
        targets: NDArray[np.uint32],
        *,
        dense: NDArray[np.float32] | None = None,
        csr: tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.float32], int] | None = None,
        ids: Sequence[str] | None = None,
        weights: NDArray[np.float64] | None = None,
        attributes: NDArray[np.float32] | None = None,
        duplicates: str = "sum",
        directed: bool = False,
        name: str = "arrays",
        node_order: str = "auto",
    ) -> Graph: ...
    def with_labels(
        self, labels: NDArray[np.int64], class_names: Sequence[str], split: Sequence[NDArray[np.uint32]]
    ) -> Graph: ...
    def redrawn(self, seed: int, shares: str | None = None) -> Graph: ...
    @property
    def name(self) -> str: ...
    @property
    def nodes(self) -> int: ...
    @property
    def node_order(self) -> str: ...
    @property
    def features(self) -> int: ...
    @property
    def class_names(self) -> list[str]: ...
    @property
    def multi_label(self) -> bool: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def directed(self) -> bool: ...
    def ids(self) -> list[str] | None: ...
    def labels(self) -> NDArray[np.int64]: ...
    def multi_labels(self) -> NDArray[np.uint8]: ...
    def split(self) -> list[NDArray[np.uint32]]: ...
    def edges(self) -> list[NDArray[np.uint32]]: ...
    @property
    def edge_features(self) -> int: ...
    def edge_weights(self) -> NDArray[np.float32]: ...
    def edge_attributes(self) -> NDArray[np.float32]: ...
    def feature_arrays(self) -> dict[str, NDArray[Any]]: ...
    def summary(self) -> str: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Graph: ...

@final
class Model:
    """A trained model."""

    @staticmethod
    def load(path: str) -> Model: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: str) -> None: ...
    def predict(self, graph: Graph) -> NDArray[np.float32]: ...
    def evaluate(self, graph: Graph) -> str: ...
    def attention(self, graph: Graph, node: int | None = None) -> dict[str, NDArray[Any]]: ...
    def read(self, source: str) -> Graph: ...
    def read_frames(self, nodes: Any, edges: Any) -> Graph: ...
    def card(self) -> str: ...
    def report(
        self,
        graph: Graph,
        curves: Sequence[tuple[int, Sequence[Sequence[float]]]],
        facts: Sequence[tuple[str, str]],
        metric: str,
    ) -> tuple[str, list[tuple[str, str]]]: ...

def model_names() -> list[str]: ...
def hyperparameters() -> str: ...
def devices() -> str: ...
def train(
    graph: Graph,
    *,
    model: str | None = None,
    choose_seconds: float | None = None,
    preset: str | None = None,
    values: dict[str, float | bool] | None = None,
    seeds: Sequence[int],
    threads: int | None = None,
    device: str = "cpu",
    tf32: bool = False,
    checkpoint: str | None = None,
    checkpoint_every: str = "10m",
    class_weight: str | Sequence[tuple[str, float]] | None = None,
    positive: str | None = None,
    calibrate: str = "auto",
    threshold: str | None = None,
    select: str | None = None,
    ensemble: bool = False,
    progress: Progress | None = None,
) -> Trained: ...
def recommend_within_seconds(
    graph: Graph,
    *,
    seconds: float,
    seed: int,
    threads: int,
    metric: str | None = None,
    device: str = "cpu",
    tf32: bool = False,
    progress: Progress | None = None,
) -> str: ...
def compare(
    a: tuple[str, Sequence[tuple[int, float]]], b: tuple[str, Sequence[tuple[int, float]]], dataset: str, metric: str
) -> str: ...
def datasets() -> str: ...
def recommend_within_minutes(
    graph: Graph,
    *,
    minutes: float,
    seed: int,
    threads: int,
    metric: str | None = None,
    families: Sequence[str] = (),
    keep_split: bool = False,
    device: str = "cpu",
    tf32: bool = False,
) -> str: ...
def tune(
    graph: Graph,
    model: str,
    *,
    choose_seconds: float | None = None,
    trials: int,
    seed: int,
    seeds: int,
    threads: int,
    also: Sequence[str] = (),
    search: Sequence[tuple[str, str]] = (),
    prune: bool = False,
    values: Mapping[str, Any] | None = None,
    device: str = "cpu",
    tf32: bool = False,
    class_weight: str | Sequence[tuple[str, float]] | None = None,
    positive: str | None = None,
    select: str | None = None,
    progress: Progress | None = None,
) -> str: ...
