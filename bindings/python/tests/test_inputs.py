"""The same graph from every source has equal features, edges and labels."""

from __future__ import annotations

import datetime
import pathlib
import pickle
from typing import Any

import duckdb
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import supergat
from supergat import Graph

DAYS = [datetime.date(2020, 1, day) for day in (1, 5, 9, 20, 21, 22)]
COMPLETE: dict[str, Any] = {
    "label": ["x", "y", "x", "y", "x", "y"],
    "age": [31.5, 4.0, 27.0, 5.0, 60.0, 44.0],
    "count": [1, 2, 3, 4, 5, 6],
    "kind": ["u", "v", "u", "w", "w", "u"],
    "active": [True, False, True, True, False, False],
    "joined": DAYS,
}
MISSING: dict[str, Any] = {
    "label": ["x", "y", None, "y", "x", None],
    "age": [31.5, None, 27.0, 5.0, 60.0, 44.0],
    "count": [1, 2, None, 4, 5, 6],
    "kind": ["u", "v", "u", None, "w", "u"],
    "active": [True, False, None, True, False, False],
    "joined": [*DAYS[:4], None, DAYS[5]],
}
IDS: dict[str, list[Any]] = {"text": ["n1", "n2", "n3", "n4", "n5", "n6"], "numbers": [10, 20, 30, 40, 50, 60]}
LINKS = np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])


def columns(ids: str, values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    names = IDS[ids]
    edges = {"source": [names[at] for at in LINKS[0]], "target": [names[at] for at in LINKS[1]]}
    return {"id": names} | values, edges


def pandas(frame: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(frame)


def pandas_typed(frame: dict[str, Any]) -> pd.DataFrame:
    """Categories, dates as timestamps, and types with missing values."""
    found = pd.DataFrame(frame)
    if "kind" in found:
        kinds = {"kind": "category", "count": "Int64", "active": "boolean"}
        found = found.astype(kinds).assign(joined=pd.to_datetime(found["joined"]))
    return found


def pandas_indexed(frame: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(frame).set_index("id") if "id" in frame else pd.DataFrame(frame)


def polars_typed(frame: dict[str, Any]) -> pl.DataFrame:
    found = pl.DataFrame(frame)
    if "kind" in found.columns:
        found = found.with_columns(pl.col("kind").cast(pl.Categorical), pl.col("joined").cast(pl.Datetime("us")))
    return found


def pyarrow_chunked(frame: dict[str, Any]) -> pa.Table:
    table = pa.table(frame)
    return pa.concat_tables([table.slice(0, 2), table.slice(2)])


FRAMES = {
    "dictionary": dict,
    "pandas": pandas,
    "pandas with types": pandas_typed,
    "pandas with an index": pandas_indexed,
    "polars": pl.DataFrame,
    "polars with types": polars_typed,
    "polars, lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "pyarrow in chunks": pyarrow_chunked,
    "DuckDB": lambda frame: duckdb.from_arrow(pa.table(frame)),
}


def dense(graph: Graph) -> np.ndarray:
    return graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray()


def check_equal(found: Graph, expected: Graph) -> None:
    assert np.array_equal(dense(found), dense(expected))
    assert np.array_equal(found.edge_index, expected.edge_index)
    assert found.labels.tolist() == expected.labels.tolist()
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.classes == expected.classes
    assert found.directed == expected.directed
    assert {part: nodes.tolist() for part, nodes in found.split.items()} == {
        part: nodes.tolist() for part, nodes in expected.split.items()
    }


def tables(folder: pathlib.Path, nodes: dict[str, Any], edges: dict[str, Any]) -> Graph:
    """Read the graph from CSV files."""
    pl.DataFrame(nodes).write_csv(folder / "nodes.csv")
    pl.DataFrame(edges).write_csv(folder / "edges.csv")
    return supergat.load(folder, cache=False, keep_rare=True)


@pytest.mark.parametrize("values", [COMPLETE, MISSING], ids=["complete", "missing"])
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("kind", FRAMES)
def test_frames_equal_files(tmp_path: pathlib.Path, kind: str, ids: str, values: dict[str, Any]) -> None:
    nodes, edges = columns(ids, values)
    found = Graph.from_frames(FRAMES[kind](nodes), FRAMES[kind](edges))
    check_equal(found, tables(tmp_path, nodes, edges))
    assert found.ids.tolist() == IDS[ids]
    assert found.labels.tolist() == values["label"]
    assert found.num_features >= 7


WAITS = [datetime.timedelta(seconds=1.5), datetime.timedelta(days=2), None, *[datetime.timedelta(milliseconds=at) for at in range(3)]]
SECONDS = [1.5, 172800.0, None, 0.0, 0.001, 0.002]


@pytest.mark.parametrize(
    "convert",
    [
        dict,
        pd.DataFrame,
        lambda frame: pd.DataFrame(frame).astype({"wait": "timedelta64[ns]"}),
        lambda frame: pd.DataFrame(frame).astype({"wait": pd.ArrowDtype(pa.duration("us"))}),
        lambda frame: pd.DataFrame(frame).astype({"wait": object}),
        lambda frame: dict(pd.DataFrame(frame)),
        lambda frame: frame | {"wait": np.array(frame["wait"], dtype="timedelta64[ms]")},
        pl.DataFrame,
        lambda frame: pl.DataFrame(frame).with_columns(pl.col("wait").cast(pl.Duration("ms"))),
        lambda frame: pa.table(frame | {"wait": pa.array(frame["wait"], pa.duration("ns"))}),
        lambda frame: pa.table(frame | {"wait": pa.array([wait and 1 for wait in frame["wait"]], pa.duration("s"))}),
    ],
    ids=[
        "dictionary", "pandas", "pandas in nanoseconds", "pandas with Arrow", "pandas objects", "series", "numpy",
        "polars", "polars in milliseconds", "pyarrow in nanoseconds", "pyarrow in seconds",
    ],
)  # fmt: skip
def test_durations_are_seconds(request: pytest.FixtureRequest, convert: Any) -> None:
    nodes, edges = columns("text", COMPLETE | {"wait": WAITS})
    found = Graph.from_frames(convert(nodes), edges, missing="zero", standardise=False)
    seconds = SECONDS
    if "in seconds" in request.node.name:
        seconds = [None if wait is None else 1.0 if wait else 0.0 for wait in SECONDS]
    _, expected = nodes.pop("wait"), Graph.from_frames(nodes | {"wait": seconds}, edges, missing="zero", standardise=False)
    check_equal(found, expected)
    assert {"name": "wait", "type": "number"}.items() <= found.summary()["columns"][-1].items()


CODES = [3, 10, None, 3, 7, 10]
ARROW = pd.ArrowDtype(pa.dictionary(pa.int8(), pa.int64()))


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: pd.DataFrame(frame).astype({"code": "category"}),
        lambda frame: pd.DataFrame(frame).astype({"code": "Int64"}).astype({"code": "category"}),
        lambda frame: pd.DataFrame(frame | {"code": [code and str(code) for code in CODES]}).astype({"code": "category"}),
        lambda frame: pd.DataFrame(frame).assign(code=pd.Series(CODES, dtype=ARROW)),
        lambda frame: dict(pd.DataFrame(frame).astype({"code": "category"})),
        lambda frame: frame | {"code": pa.array(CODES).dictionary_encode()},
        lambda frame: frame | {"code": pl.Series(CODES).cast(pl.String).cast(pl.Categorical)},
        lambda frame: pa.table(frame | {"code": pa.array(CODES).dictionary_encode()}),
        lambda frame: pa.table(frame | {"code": pa.array(CODES, pa.uint8()).dictionary_encode()}),
        lambda frame: pa.table(frame | {"code": pa.array(CODES, pa.float64()).dictionary_encode()}),
        lambda frame: pl.DataFrame(frame).with_columns(pl.col("code").cast(pl.String).cast(pl.Categorical)),
        lambda frame: pl.DataFrame(frame).with_columns(pl.col("code").cast(pl.String).cast(pl.Enum(["10", "3", "7", "8"]))),
    ],
    ids=[
        "pandas", "pandas with types", "pandas strings", "pandas with Arrow", "pandas series", "pyarrow array",
        "polars series", "pyarrow", "pyarrow, 8 bits", "pyarrow floats", "polars categorical", "polars enum",
    ],
)  # fmt: skip
def test_categories_may_be_numbers(tmp_path: pathlib.Path, convert: Any) -> None:
    nodes, edges = columns("text", COMPLETE | {"code": CODES})
    found = Graph.from_frames(convert(nodes), edges)
    check_equal(found, Graph.from_frames(nodes, edges, categorical="code"))
    decided = found.summary()["columns"][-1]
    assert (decided["name"], decided["type"], decided["features"]) == ("code", "category", 4)  # one marks missing values
    # A model reads new frames by the categories of training, whatever the type of the new column.
    model = supergat.train(found, "mlp", max_epochs=2).model
    model.save(tmp_path / "model.safetensors")
    model = supergat.Model.load(tmp_path / "model.safetensors")
    for new in (convert(nodes), pa.table(nodes), pd.DataFrame(nodes), pl.DataFrame(nodes)):
        assert np.array_equal(dense(model.read_frames(new, edges)), dense(found))


def test_categories_are_never_dates_or_codes_to_note() -> None:
    words: dict[str, Any] = {
        "answer": ["yes", "no", "no", "yes", "no", "no"],
        "day": [str(day) for day in DAYS],
        "code": ["01", "02", "01", "02", "01", "01"],
    }
    nodes, edges = columns("text", {"label": COMPLETE["label"]} | words)
    frame = pd.DataFrame(nodes)
    kinds = {"answer": "category", "day": "category", "code": "category"}
    found = Graph.from_frames(frame.astype(kinds), edges)
    assert [column["type"] for column in found.summary()["columns"][2:]] == ["boolean", "category", "category"]
    assert not any("read as categories" in note for note in found.notes)


def test_bytes_are_words() -> None:
    nodes, edges = columns("text", COMPLETE)
    found = Graph.from_frames(nodes | {name: np.array(nodes[name], dtype="S") for name in ("id", "kind")}, edges)
    check_equal(found, Graph.from_frames(nodes, edges))


@pytest.mark.parametrize("kind", FRAMES)
def test_classes_may_be_numbers(kind: str) -> None:
    nodes, edges = columns("text", COMPLETE | {"label": [1, 2, None, 2, 1, 2]})
    assert Graph.from_frames(FRAMES[kind](nodes), edges).labels.tolist() == ["1", "2", None, "2", "1", "2"]


@pytest.mark.parametrize("kind", FRAMES)
def test_classes_may_be_booleans(kind: str) -> None:
    nodes, edges = columns("text", COMPLETE | {"label": [True, False, None, False, True, True]})
    found = Graph.from_frames(FRAMES[kind](nodes), edges).labels.tolist()
    assert found == ["true", "false", None, "false", "true", "true"]


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_may_be_missing_altogether(kind: str) -> None:
    nodes, edges = columns("text", COMPLETE | {"kind": [None] * 6} if "types" not in kind else COMPLETE)
    assert Graph.from_frames(FRAMES[kind](nodes), edges).num_nodes == 6


def test_pandas_needs_no_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    find = importlib.util.find_spec
    expected = Graph.from_frames(*map(pandas_typed, columns("text", MISSING)))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else find(name))
    check_equal(Graph.from_frames(*map(pandas_typed, columns("text", MISSING))), expected)


def test_columns_are_named() -> None:
    nodes, edges = columns("text", COMPLETE)
    expected = Graph.from_frames(nodes, edges)
    renamed = {{"id": "key", "label": "fraud"}.get(name, name): values for name, values in nodes.items()}
    links = {"weight": [1.0] * 5, "to": edges["target"], "from": edges["source"]}
    check_equal(Graph.from_frames(renamed, links, id="key", label="fraud", source="from", target="to"), expected)


def test_notes_name_arguments_of_python() -> None:
    notes = Graph.from_frames(*columns("text", MISSING)).notes
    assert any("split_seed=0" in note for note in notes)
    assert not any("--" in note for note in notes)


class Arrays:
    """Matrices of one graph."""

    features = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32).round(2)
    labels = np.array([0, 1, 0, 1, 0, 1])


@pytest.fixture(scope="module")
def arrays() -> Graph:
    return Graph.from_edge_index(LINKS, Arrays.features, labels=Arrays.labels)


def test_edge_index_keeps_features_and_labels(arrays: Graph) -> None:
    assert np.array_equal(arrays.features, Arrays.features)
    assert arrays.labels.tolist() == ["0", "1", "0", "1", "0", "1"]
    both = {(int(a), int(b)) for a, b in LINKS.T} | {(int(b), int(a)) for a, b in LINKS.T}
    assert set(map(tuple, arrays.edge_index.T.tolist())) == both
    assert arrays.degrees().tolist() == [1, 2, 2, 2, 2, 1]


@pytest.mark.parametrize("convert", [scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array])
def test_sparse_features_equal_dense_ones(arrays: Graph, convert: Any) -> None:
    found = Graph.from_edge_index(LINKS, convert(Arrays.features), labels=Arrays.labels)
    check_equal(found, arrays)
    assert scipy.sparse.issparse(found.features)


@pytest.mark.parametrize("convert", [scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_adjacency_equals_edge_index(arrays: Graph, convert: Any) -> None:
    matrix = np.zeros((6, 6))
    matrix[LINKS[0], LINKS[1]] = matrix[LINKS[1], LINKS[0]] = 1
    check_equal(Graph.from_scipy(convert(matrix), Arrays.features, labels=Arrays.labels), arrays)
    matrix[LINKS[1], LINKS[0]] = 0
    assert Graph.from_scipy(convert(matrix), Arrays.features).directed
    check_equal(Graph.from_scipy(convert(matrix), Arrays.features, labels=Arrays.labels, directed=False), arrays)


def test_entries_of_an_adjacency_are_weights(arrays: Graph) -> None:
    matrix = np.zeros((6, 6))
    matrix[LINKS[0], LINKS[1]] = matrix[LINKS[1], LINKS[0]] = [0.5, 1, 2, 1, 3]
    found = Graph.from_scipy(scipy.sparse.csr_array(matrix), Arrays.features)
    expected = Graph.from_edge_index(LINKS, Arrays.features, edge_weight=[0.5, 1, 2, 1, 3])
    assert found.edge_weight is not None and not found.directed
    assert np.array_equal(found.edge_weight, expected.edge_weight)
    assert any("weights of links" in note for note in found.notes)
    assert any("weights of links" in note for note in found.with_labels(Arrays.labels).notes)
    plain = Graph.from_scipy(scipy.sparse.csr_array(matrix), Arrays.features, labels=Arrays.labels, weighted=False)
    check_equal(plain, arrays)
    assert plain.edge_weight is None and not any("weights" in note for note in plain.notes)
    # Entries of the same place are added.
    twice = scipy.sparse.coo_array((np.ones(4), ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(6, 6))
    assert Graph.from_scipy(twice, Arrays.features).edge_weight.tolist() == [2, 2]
    matrix[0, 1] = 4
    assert Graph.from_scipy(scipy.sparse.csr_array(matrix), Arrays.features).directed


@pytest.mark.parametrize("dtype", [np.int32, np.uint64, np.int8])
def test_edge_index_may_have_any_whole_type(arrays: Graph, dtype: Any) -> None:
    both = np.concatenate([LINKS, LINKS[::-1]], axis=1).astype(dtype)
    check_equal(Graph.from_edge_index(both, Arrays.features.tolist(), labels=Arrays.labels.tolist()), arrays)


class Tensor:
    """Stand-in for a tensor of torch."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> np.ndarray:
        return self.values


class Data:
    """Stand-in for torch_geometric.data.Data."""

    def __init__(self, kind: Any, graph: Graph, columns: bool = False) -> None:
        self.x = kind(Arrays.features)
        self.edge_index = kind(np.concatenate([LINKS, LINKS[::-1]], axis=1))
        self.y = kind(Arrays.labels[:, None] if columns else Arrays.labels)
        for part, name in (("train", "train_mask"), ("validation", "val_mask"), ("test", "test_mask")):
            mask = np.isin(graph.ids, graph.split[part])
            setattr(self, name, kind(np.stack([~mask, mask], axis=1) if columns else mask))


@pytest.mark.parametrize("kind", [np.asarray, Tensor])
def test_pyg_data_equals_arrays(arrays: Graph, kind: Any) -> None:
    check_equal(Graph.from_pyg(Data(kind, arrays)), arrays)
    check_equal(Graph.from_pyg(Data(kind, arrays, columns=True), split=1), arrays)


def test_a_real_pyg_graph_equals_arrays(arrays: Graph) -> None:
    data = pytest.importorskip("torch_geometric.data")
    torch = pytest.importorskip("torch")
    given = {name: torch.as_tensor(values) for name, values in vars(Data(np.asarray, arrays)).items()}
    check_equal(Graph.from_pyg(data.Data(**given)), arrays)


@pytest.mark.parametrize("matrix", [False, True], ids=["numbers", "lists"])
def test_networkx_equals_frames(matrix: bool) -> None:
    graph = nx.Graph()
    nodes: dict[str, Any] = {"id": IDS["text"], "label": COMPLETE["label"]}
    for at, name in enumerate(IDS["text"]):
        row = Arrays.features[at].astype(float).tolist()
        attributes = {"x": row} if matrix else {f"x_{k}": value for k, value in enumerate(row)}
        graph.add_node(name, label=COMPLETE["label"][at], **attributes)
    nodes |= {f"x_{k}": Arrays.features[:, k].astype(float) for k in range(4)}
    _, edges = columns("text", COMPLETE)
    graph.add_edges_from(zip(edges["source"], edges["target"]))
    check_equal(Graph.from_networkx(graph, label="label"), Graph.from_frames(nodes, edges))
    assert Graph.from_networkx(graph.to_directed(), label="label").directed
    nx.set_edge_attributes(graph, 0.5, "source")
    assert Graph.from_networkx(graph, label="label").edge_attr.tolist() == [[0.5]] * 10


def test_columns_of_a_matrix_equal_separate_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supergat._frames.BLOCK", 7)
    matrix = np.random.default_rng(1).standard_normal((30, 4)).astype(np.float32)
    matrix[3, 1] = np.nan
    matrix[:, 2] = np.where(np.arange(30) % 5 == 0, np.nan, np.arange(30))  # whole numbers, some missing
    frame = pd.DataFrame(matrix, columns=list("abcd"), copy=False)
    separate = pd.DataFrame({name: np.ascontiguousarray(matrix[:, at]) for at, name in enumerate("abcd")})
    edges = {"source": np.arange(29), "target": np.arange(1, 30)}
    for nodes in (frame, separate):
        nodes.insert(0, "id", np.arange(30))
        nodes.insert(1, "label", np.arange(30) % 2)
    assert not frame["a"].to_numpy().flags.c_contiguous
    check_equal(Graph.from_frames(frame, edges), Graph.from_frames(separate, edges))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_round_trip(arrays: Graph, library: str) -> None:
    nodes, edges = arrays.to_frames(library)
    assert type(nodes).__module__.split(".")[0] == library
    found = Graph.from_frames(nodes, edges, standardise=False)
    check_equal(found, arrays)


@pytest.mark.parametrize("ids", [["c", "a", "b", "f", "d", "e"], [2, 0, 1, 5, 3, 4], [20, 0, 10, 50, 30, 40], None])
def test_splits_are_given_by_ids(ids: list[Any] | None) -> None:
    graph = Graph.from_edge_index(LINKS, Arrays.features, ids=ids)
    parts = [np.array(graph.ids[part]) for part in ([4, 0, 1], [2, 5], [3])]
    expected = dict(zip(("train", "validation", "test"), [sorted(part.tolist()) for part in parts]))
    masks = [np.isin(np.arange(6), part) for part in ([4, 0, 1], [2, 5], [3])]
    found = graph.with_labels(Arrays.labels, split=parts)
    for again in (found, found.with_labels(Arrays.labels, split=found.split), found.with_labels(Arrays.labels, split=masks)):
        assert {part: sorted(nodes.tolist()) for part, nodes in again.split.items()} == expected


def test_order_of_nodes_changes_no_result() -> None:
    source = "random-partition:classes=3,nodes=180,degree=8"
    graphs = {order: supergat.load(source, node_order=order) for order in ("auto", "given", "local")}
    assert {order: graph.node_order for order, graph in graphs.items()} == {
        "auto": "given", "given": "given", "local": "local",
    }  # fmt: skip
    given, local = graphs["given"], graphs["local"]
    assert np.array_equal(given.edge_index, local.edge_index)
    assert np.array_equal(given.features, local.features)
    model = supergat.train(local, "supergat-mx", max_epochs=20).model
    assert np.allclose(model.predict_proba(given), model.predict_proba(local), atol=1e-5)
    # Copies with other labels and pickled ones keep the order.
    assert local.with_labels(local.labels).node_order == "local"
    restored = pickle.loads(pickle.dumps(local))
    assert restored.node_order == "local"
    assert np.array_equal(model.predict_proba(restored), model.predict_proba(local))
    with pytest.raises(ValueError, match='node_order: expected "auto", "given" or "local", found "metis"'):
        supergat.load(source, node_order="metis")
    with pytest.raises(ValueError, match="node_order: expected"):
        Graph.from_edge_index(LINKS, np.ones((6, 2)), node_order="metis")
    assert Graph.from_edge_index(LINKS, np.ones((6, 2)), node_order="local").node_order in ("given", "local")
