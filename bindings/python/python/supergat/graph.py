"""Graphs with features, from frames, matrices, arrays, other libraries and files."""

from __future__ import annotations

import json
import operator
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _frames, _supergat

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

#: Names of the parts of a split, in the order of the extension.
SPLITS = ("train", "validation", "test")


def _options(tables: Mapping[str, Any], **others: Any) -> str:
    """Return options of reading as JSON, without those that are not given."""

    def text(value: Any) -> Any:
        return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value

    given = {name: text(value) for name, value in tables.items() if value is not None}
    return json.dumps({"tables": given} | {name: value for name, value in others.items() if value is not None})


#: A parameter of the library whose argument of `from_frames` has a shorter name. Columns of the user are left alone.
_COLUMN_PARAMETER = re.compile(r"(?<!column )`(id|label|split|source|target|ignore)_columns?(?=[`=])")


def for_frames(text: str) -> str:
    """Return a sentence of the library with the arguments of ``from_frames``. Frames have no delimiter.

    >>> for_frames("give `label_column` another name or number, or check `delimiter`")
    'give `label` another name or number'
    >>> for_frames("column `id_column`: leave the column out with `ignore_columns`")
    'column `id_column`: leave the column out with `ignore`'
    """
    text = text.replace(", or check `delimiter`", "")
    text = text.replace("say with `delimiter` which character separates the fields", "add the other columns")
    return _COLUMN_PARAMETER.sub(r"`\1", text)


@contextmanager
def python_messages(*, frames: bool = False) -> Iterator[None]:
    """Raise errors about options, and about tables that are frames, in the words of Python."""
    try:
        yield
    except (ValueError, OSError) as error:
        text = re.sub(r" at line 1 column \d+$", "", str(error)).replace("unknown field", "unknown option")
        raise type(error)(for_frames(text) if frames else text) from None


def check_seed(seed: Any, name: str) -> int:
    """Return a seed, or raise a sentence about what was given instead."""
    try:
        found = operator.index(seed)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, found {seed!r}") from None
    if not 0 <= found < 2**64:
        raise ValueError(f"{name}: expected a whole number from 0 to 2^64 - 1, found {found}")
    return found


class Graph:
    """A graph with a row of features per node, and with classes and a split where they are known.

    Made by :meth:`from_frames`, :meth:`from_scipy`, :meth:`from_edge_index`, :meth:`from_networkx`,
    :meth:`from_pyg` and :meth:`load`. A graph does not change: it can be shared between threads, models and
    the folds of a cross-validation.

    Examples
    --------
    >>> import numpy as np, supergat
    >>> graph = supergat.Graph.from_edge_index([[0, 1], [1, 2]], features=np.eye(3, dtype="float32"))
    >>> graph
    Graph(nodes=3, links=2, features=3, classes=0)
    """

    def __init__(self, inner: _supergat.Graph, *, labelled: bool = True, library: str | None = None) -> None:
        self._inner = inner
        self._labelled = labelled
        self._library = library

    # Sources

    @classmethod
    def from_frames(
        cls,
        nodes: Any,
        edges: Any,
        *,
        id: str | None = None,
        label: str | None = None,
        split: str | None = None,
        source: str | None = None,
        target: str | None = None,
        edge_weight: str | None = None,
        ignore: str | Sequence[str] | None = None,
        numeric: str | Sequence[str] | None = None,
        categorical: str | Sequence[str] | None = None,
        date: str | Sequence[str] | None = None,
        text: str | Sequence[str] | None = None,
        missing: str | None = None,
        missing_words: str | Sequence[str | float] | None = None,
        standardise: bool | None = None,
        directed: bool = False,
        duplicates: str = "sum",
        two_way: bool = False,
        skip_unknown: bool = False,
        features: str | None = None,
        add_features: str | None = None,
        row_normalise: bool = False,
        split_seed: int | None = None,
        node_order: str = "auto",
    ) -> Graph:
        """Read a frame of nodes and a frame of links, as the command line reads ``nodes.csv`` and ``edges.csv``.

        Columns are recognised by name and position, and their types are detected; ``summary()["columns"]`` lists
        the decisions and ``notes`` says what was done. Columns of a categorical type are categories, also if they
        are numbers. Durations are read as seconds.

        Parameters
        ----------
        nodes, edges : pandas, polars or pyarrow frame, DuckDB relation, or dictionary of columns
            One row per node: an id, the class if it is known, and columns that describe the node. One row per
            link: two ids, ``weight`` if links are weighted, and columns that describe the link.
        id, label, split, source, target, edge_weight : str, optional
            Names of columns that are not recognised.
        ignore, numeric, categorical, date, text : str or list of str, optional
            Columns to leave out, or to read as a type.
        missing : {"mean", "zero", "propagate", "error"}, optional
            Treatment of missing values; the default is the mean and a column that marks them.
        missing_words : str or list of str and numbers, optional
            Further words and numbers for missing values, such as ``["unknown", -999]``, also in the column of labels.
        standardise : bool, optional
            Whether numeric columns are standardised; by default those with large values.
        directed : bool
            Whether links are directed.
        duplicates : {"sum", "max", "first", "error"}
            Links that are listed several times: their weights are added and their features averaged, the largest
            or the first are taken, or they are an error.
        two_way : bool
            Whether undirected links have separate features for each direction, for columns whose meaning depends on
            it, such as a type ``follows``.
        skip_unknown : bool
            Whether links to unknown nodes are skipped instead of refused.
        features, add_features : str, optional
            Features to compute from the graph, instead of the columns or in addition: ``structural``,
            ``spectral:64``, ``pagerank``. Only in addition: columns of neighbours, ``means:2``, ``extremes:2``.
        row_normalise : bool
            Whether the given features of each node are divided by their sum.
        split_seed : int, optional
            Seed of the random split, if there is no column with one.
        node_order : {"auto", "given", "local"}
            Order of the nodes inside the engine: the given one, or one that keeps neighbours close, which is faster
            on large graphs. By default, large graphs are ordered where it helps. Results do not change their order.

        Examples
        --------
        >>> import supergat
        >>> nodes = {"id": ["a", "b", "c"], "label": ["x", "y", None], "age": [31.0, 44.0, 27.0]}
        >>> graph = supergat.Graph.from_frames(nodes, {"source": ["a", "b"], "target": ["b", "c"]})
        >>> graph.ids.tolist(), graph.features.shape
        (['a', 'b', 'c'], (3, 1))
        """
        tables = {
            "id_column": id, "label_column": label, "split_column": split, "source_column": source,
            "target_column": target, "edge_weight": edge_weight, "ignore_columns": ignore, "numeric": numeric, "categorical": categorical,
            "date": date, "text": text, "missing": missing, "missing_words": missing_words, "standardise": standardise, "directed": directed,
            "duplicates": duplicates, "two_way": two_way, "skip_unknown": skip_unknown, "split_seed": split_seed, "keep_rare": True,
        }  # fmt: skip
        if split_seed is not None:
            tables["split_seed"] = check_seed(split_seed, "split_seed")
        options = _options(
            tables, features=features, add_features=add_features, row_normalise=row_normalise, node_order=node_order
        )
        library = _frames.package_of(nodes)
        read = (_frames.columns_of(nodes, "nodes"), _frames.columns_of(edges, "edges"))
        with python_messages(frames=True):
            inner = _supergat.Graph.from_frames(*read, options)
        return cls(inner, labelled=_has_labels(inner), library=library)

    @classmethod
    def from_edge_index(
        cls,
        edge_index: ArrayLike,
        features: Any,
        *,
        labels: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        edge_weight: ArrayLike | None = None,
        edge_attr: ArrayLike | None = None,
        duplicates: str = "sum",
        directed: bool = False,
        name: str = "arrays",
        node_order: str = "auto",
    ) -> Graph:
        """Build a graph from an array of two rows, the sources and the targets of the links, and features.

        Parameters
        ----------
        edge_index : array of shape (2, links)
            Nodes are numbered from 0. A link may be listed in one or in both directions.
        features : array of shape (nodes, columns) or scipy sparse matrix
            A row of finite numbers per node. Sparse matrices stay sparse.
        labels : array of length nodes, optional
            Class of each node; ``None``, ``NaN`` and -1 are unknown.
        ids : array of length nodes, optional
            Names of the nodes; the default is 0, 1, ...
        edge_weight : array of length links, optional
            Weight of each link, which multiplies its attention before normalisation. 0 removes the link.
        edge_attr : array of shape (links, columns), optional
            Features of each link, which attention can use.
        duplicates : {"sum", "max", "first", "error"}
            Treatment of links that are listed several times; see :meth:`from_frames`. Without direction, a link and
            its reverse are the same link.
        directed : bool
            Whether links are directed.
        node_order : {"auto", "given", "local"}
            Order of the nodes inside the engine; see :meth:`from_frames`.
        """
        try:
            links = np.asarray(edge_index)
        except ValueError:
            raise ValueError("edge_index: expected the shape (2, links), found rows of unequal lengths") from None
        if links.ndim != 2 or links.shape[0] != 2:
            raise ValueError(f"edge_index: expected the shape (2, links), found {links.shape}")
        if links.size and links.dtype.kind not in "iu":
            raise ValueError(f"edge_index: expected whole numbers, found {links.dtype}")
        given, nodes = _feature_arguments(features)
        if links.size and (links.min() < 0 or links.max() >= nodes):
            found = links.min() if links.min() < 0 else links.max()
            raise ValueError(f"edge_index: expected nodes from 0 to {nodes - 1}, one per row of features, found {found}")
        sources, targets = np.ascontiguousarray(links, dtype=np.uint32)
        names = None if ids is None else [str(found) for found in np.asarray(ids).tolist()]
        inner = _supergat.Graph.from_arrays(
            nodes, sources, targets, ids=names, directed=directed, name=name, node_order=node_order,
            weights=_weights(edge_weight, len(sources)), attributes=_attributes(edge_attr, len(sources)),
            duplicates=duplicates, **given,
        )  # fmt: skip
        graph = cls(inner, labelled=False)
        return graph if labels is None else graph.with_labels(labels)

    @classmethod
    def from_scipy(
        cls, adjacency: Any, features: Any, *, directed: bool | None = None, weighted: bool = True, **options: Any
    ) -> Graph:
        """Build a graph from a scipy sparse adjacency matrix and features.

        Parameters
        ----------
        adjacency : scipy sparse matrix of shape (nodes, nodes)
            An entry in row i and column j that is not zero is a link from i to j.
        features : array or scipy sparse matrix with a row per node
        directed : bool, optional
            By default, links are directed if the matrix is not symmetric.
        weighted : bool
            Whether the entries are the weights of the links, which a note says; entries that are all 1 are no weights.
            ``False`` makes every entry a link of weight 1.
        **options
            ``labels``, ``ids``, ``duplicates``, ``name`` and ``node_order`` of :meth:`from_edge_index`.

        Examples
        --------
        >>> import numpy as np, scipy.sparse, supergat
        >>> adjacency = scipy.sparse.csr_array([[0, 2], [2, 0]])
        >>> supergat.Graph.from_scipy(adjacency, np.eye(2)).edge_weight.tolist()
        [2.0, 2.0]
        >>> supergat.Graph.from_scipy(adjacency, np.eye(2), weighted=False).edge_weight is None
        True
        """
        if not hasattr(adjacency, "tocoo"):
            raise TypeError(f"adjacency: expected a scipy sparse matrix, found {type(adjacency).__name__}")
        if "edge_weight" in options:
            raise TypeError("edge_weight: expected the weights as entries of the matrix")
        if adjacency.shape[0] != adjacency.shape[1]:
            raise ValueError(f"adjacency: expected as many rows as columns, found {adjacency.shape}")
        matrix = adjacency.tocsr(copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        weighted = weighted and bool((matrix.data != 1).any())
        pattern = (matrix != 0).astype(np.int8)
        if directed is None:
            compared = matrix if weighted else pattern
            directed = bool((compared != compared.T).nnz)
        listed = matrix.tocoo()
        links, weights = np.stack([listed.row, listed.col]), listed.data
        if weighted:
            wrong = ~(np.isfinite(weights) & (weights > 0))
            if wrong.any():
                raise ValueError(
                    f"adjacency: expected weights of links, numbers that are not negative, found {weights[wrong][0]}; "
                    "weighted=False reads every entry as a link without weight"
                )
            options["edge_weight"] = weights
            if not directed and "duplicates" not in options:
                # Links that are listed in both directions must have equal weights there.
                unequal = (matrix != matrix.T).multiply(pattern).multiply(pattern.T).tocoo()
                if unequal.nnz:
                    row, column = int(unequal.row[0]), int(unequal.col[0])
                    raise ValueError(
                        f"adjacency: expected equal weights in both directions, found {matrix[row, column]} from {row} "
                        f"to {column} and {matrix[column, row]} back; give directed=True, duplicates='sum', or weighted=False"
                    )
                options["duplicates"] = "first"
        elif not directed:
            links = _once(links, matrix.shape[0])
        return cls.from_edge_index(links, features, directed=directed, **options)

    @classmethod
    def from_networkx(cls, graph: Any, *, label: str | None = None, **options: Any) -> Graph:
        """Read a networkx graph; its attributes of nodes and edges are the columns of :meth:`from_frames`.

        Parameters
        ----------
        graph : networkx graph
        label : str, optional
            Attribute with the class of a node.
        **options
            Options of :meth:`from_frames`.
        """
        if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
            raise TypeError(f"graph: expected a networkx graph, found {type(graph).__name__}")
        kinds = dict.fromkeys(key for _, attributes in graph.nodes(data=True) for key in attributes)
        # An attribute may be called id, too.
        id_column = next(name for name in ("id", "node", "networkx_node") if name not in kinds)
        nodes: dict[str, Any] = {id_column: [_name(node) for node in graph.nodes]}
        for kind in kinds:
            values = [attributes.get(kind) for _, attributes in graph.nodes(data=True)]
            if any(isinstance(value, (list, tuple, np.ndarray)) for value in values):
                matrix = np.asarray(values, dtype=np.float64)
                nodes |= {f"{kind}_{at}": matrix[:, at] for at in range(matrix.shape[1])}
            else:
                nodes[str(kind)] = values
        links = list(graph.edges())
        described = [attributes for *_, attributes in graph.edges(data=True)]
        kinds = dict.fromkeys(key for attributes in described for key in attributes)
        # Attributes of links may be called source or target, too.
        source, target = ("networkx_" * (end in kinds) + end for end in ("source", "target"))
        edges: dict[str, Any] = {source: [_name(pair[0]) for pair in links], target: [_name(pair[1]) for pair in links]}
        edges |= {str(kind): [attributes.get(kind) for attributes in described] for kind in kinds}
        options.setdefault("directed", bool(graph.is_directed()))
        return cls.from_frames(nodes, edges, id=id_column, label=label, source=source, target=target, **options)

    @classmethod
    def from_pyg(cls, data: Any, *, split: int = 0) -> Graph:
        """Read a ``torch_geometric.data.Data``: ``x``, ``edge_index``, and ``edge_weight``, ``edge_attr``, ``y`` and
        masks where there are some.

        ``split`` is the column of the masks where they contain several splits.
        """
        missing = [name for name in ("x", "edge_index") if getattr(data, name, None) is None]
        if missing:
            raise ValueError(f"data: expected a graph of PyTorch Geometric with x and edge_index, {missing[0]} is missing")

        def array(value: Any) -> NDArray[Any]:
            return np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)

        links, features = array(data.edge_index).astype(np.int64), array(data.x)
        nodes = max(len(features), int(links.max(initial=-1)) + 1)
        described = {name: getattr(data, name, None) for name in ("edge_weight", "edge_attr")}
        given: dict[str, Any] = {name: array(value) for name, value in described.items() if value is not None}
        there, back = links[0] * nodes + links[1], links[1] * nodes + links[0]
        if given:
            # Links are undirected if every one has its reverse, with the same attributes.
            order, reverse = np.argsort(there, kind="stable"), np.argsort(back, kind="stable")
            undirected = np.array_equal(there[order], back[reverse]) and all(
                np.array_equal(values[order], values[reverse]) for values in given.values()
            )
            if undirected:
                once = links[0] <= links[1]
                links, given = links[:, once], {name: values[once] for name, values in given.items()}
        else:
            undirected = np.array_equal(np.unique(there), np.unique(back))
            if undirected:
                links = _once(links, nodes)
        graph = cls.from_edge_index(links, features, directed=not undirected, name="pyg", **given)
        if getattr(data, "y", None) is None:
            return graph
        classes = array(data.y)
        classes = classes.ravel() if classes.shape == (graph.num_nodes, 1) else classes
        masks = [getattr(data, f"{name}_mask", None) for name in ("train", "val", "test")]
        if masks[0] is None:
            return graph.with_labels(classes)
        if masks[1] is None:
            raise ValueError("data: expected val_mask beside train_mask, because validation nodes select the best epoch")
        parts = [np.zeros(graph.num_nodes, bool) if mask is None else array(mask) for mask in masks]
        # Several splits are columns of the masks.
        parts = [part[:, split] if part.ndim == 2 else part for part in parts]
        return graph.with_labels(classes, split=parts)

    @classmethod
    def load(
        cls,
        source: str | os.PathLike[str],
        *,
        split: str | None = None,
        features: str | None = None,
        add_features: str | None = None,
        row_normalise: bool = False,
        node_order: str = "auto",
        cache: bool = True,
        **tables: Any,
    ) -> Graph:
        """Read a folder of tables, a file, a known dataset such as ``cora``, or generate a graph.

        Parameters
        ----------
        source : str or path
            Folder, file, name of a known dataset, or ``random-partition:classes=3,nodes=200,degree=8``.
        split : str, optional
            ``published``, ``random:SEED``, ``random:60/20/20:SEED`` and so on, as the option ``--split`` of the command line.
        features, add_features : str, optional
            Features to compute from the graph; see :meth:`from_frames`.
        row_normalise : bool
            Whether the given features of each node are divided by their sum; published datasets then have no principal
            components.
        node_order : {"auto", "given", "local"}
            Order of the nodes inside the engine; see :meth:`from_frames`.
        cache : bool
            Whether prepared datasets and orders of nodes are kept in the user's cache folder.
        **tables
            Options of tables, such as ``label_column="fraud"`` or ``missing="propagate"``.

        Examples
        --------
        >>> import supergat
        >>> supergat.Graph.load("random-partition:classes=2,nodes=170,degree=4")
        Graph(nodes=340, links=715, features=2, classes=2)
        """
        options = _options(
            tables, split=split, features=features, add_features=add_features, row_normalise=row_normalise,
            node_order=node_order, cache=cache,
        )
        if not isinstance(source, (str, os.PathLike)):
            raise TypeError(f"source: expected a path or a name, found {type(source).__name__}")
        with python_messages():
            inner = _supergat.Graph.load(os.fspath(source), options)
        return cls(inner, labelled=True)

    # What it contains

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return self._inner.name

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self._inner.nodes

    @property
    def num_features(self) -> int:
        """Number of features per node."""
        return self._inner.features

    @property
    def num_edge_features(self) -> int:
        """Number of features per link."""
        return self._inner.edge_features

    @property
    def edge_weight(self) -> NDArray[np.float32] | None:
        """Weight of every edge of ``edge_index``; ``None`` if links are not weighted."""
        found = self._inner.edge_weights()
        return found if len(found) else None

    @property
    def edge_attr(self) -> NDArray[np.float32]:
        """Features of every edge of ``edge_index``, a row per edge."""
        return self._inner.edge_attributes()

    @property
    def node_order(self) -> str:
        """Order of the nodes inside the engine: ``given``, ``local``, or ``parts`` for a graph divided into parts."""
        return self._inner.node_order

    @property
    def directed(self) -> bool:
        """Whether links are directed."""
        return self._inner.directed

    @property
    def classes(self) -> list[str]:
        """Names of the classes; empty if no labels are known."""
        return self._inner.class_names if self._labelled else []

    @property
    def notes(self) -> list[str]:
        """What the reader decided and counted, as sentences."""
        return self._inner.notes

    @cached_property
    def ids(self) -> NDArray[Any]:
        """Ids of the nodes: whole numbers if all are, otherwise strings."""
        found = self._inner.ids()
        if found is None:
            return np.arange(self.num_nodes)
        try:
            numbers = np.array(found, dtype=np.int64)
        except (ValueError, OverflowError):
            return np.array(found, dtype=object)
        canonical = all(str(number) == text for number, text in zip(numbers.tolist(), found))
        return numbers if canonical else np.array(found, dtype=object)

    @property
    def labels(self) -> NDArray[Any]:
        """Class of every node by its name; ``None`` where it is unknown.

        With several classes per node, an array of 0 and 1 with a column per class.
        """
        if self._inner.multi_label:
            return self._inner.multi_labels()
        names = np.array([*self._inner.class_names, None], dtype=object)
        return names[self._inner.labels()]

    @property
    def split(self) -> dict[str, NDArray[Any]]:
        """Ids of the training, validation and test nodes."""
        return {name: self.ids[nodes] for name, nodes in zip(SPLITS, self._inner.split())}

    @property
    def features(self) -> Any:
        """Features: an array with a row per node, or a scipy CSR matrix where they are stored sparsely."""
        found = self._inner.feature_arrays()
        if "dense" in found:
            return found["dense"]
        import scipy.sparse

        shape = (self.num_nodes, self.num_features)
        return scipy.sparse.csr_array((found["values"], found["columns"], found["offsets"]), shape=shape)

    @property
    def edge_index(self) -> NDArray[np.int64]:
        """Array of two rows: source and target of every edge. Links without direction are listed in both."""
        return np.stack(self._inner.edges()).astype(np.int64)

    def degrees(self) -> NDArray[np.int64]:
        """Return the number of neighbours of every node, without itself."""
        return np.bincount(self.edge_index[1], minlength=self.num_nodes)

    @property
    def homophily(self) -> float | None:
        """Share of a node's neighbours with its class, mean over nodes; ``None`` without labels."""
        found: float | None = self.summary()["statistics"]["homophily"]["node"]
        return found if self._labelled else None

    def summary(self) -> dict[str, Any]:
        """Return sizes, degree, homophily, decisions on columns and notes: what ``supergat inspect --json`` prints."""
        return self._summary

    @cached_property
    def _summary(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._inner.summary())
        return found

    def to_frames(self, library: str | None = None) -> tuple[Any, Any]:
        """Return frames of nodes (id, label, split, features) and of edges (source, target).

        ``library`` is ``pandas``, ``polars`` or ``pyarrow``; by default the one that the graph came from.
        """
        library = library or self._library
        split = np.full(self.num_nodes, None, dtype=object)
        for name, part in zip(SPLITS, self._inner.split()):
            split[part] = name
        nodes: dict[str, Any] = {"id": self.ids}
        if self._labelled and not self._inner.multi_label:
            nodes |= {"label": self.labels, "split": split}
        features = self.features
        dense = features if isinstance(features, np.ndarray) else features.toarray()
        nodes |= {f"feature_{at}": dense[:, at] for at in range(dense.shape[1])}
        index = self.edge_index
        if not self.directed:
            index = index[:, index[0] <= index[1]]
        edges = {"source": self.ids[index[0]], "target": self.ids[index[1]]}
        return _frames.new_frame(nodes, library), _frames.new_frame(edges, library)

    # Other labels

    def with_labels(
        self,
        labels: ArrayLike,
        *,
        split: Sequence[ArrayLike] | Mapping[str, ArrayLike] | None = None,
        seed: int = 0,
    ) -> Graph:
        """Return the same graph with other classes: one per node, with ``None``, ``NaN`` or -1 where unknown.

        Parameters
        ----------
        labels : array of length nodes
        split : three arrays, or a dictionary such as :attr:`split`, optional
            Training, validation and test nodes: their ids, or masks. The ids of a graph without ids are the numbers
            of its nodes, counted from 0. By default, nodes are drawn at random, 60, 20 and 20 % of every class.
        seed : int
            Seed of the random split.
        """
        classes, index = encode_labels(labels, self.num_nodes)
        if split is None:
            lists = draw_split(index, (0.6, 0.2, 0.2), check_seed(seed, "seed"))
        else:
            if isinstance(split, Mapping):
                if set(split) != set(SPLITS):
                    raise ValueError(f"split: expected the keys {', '.join(SPLITS)}, found {', '.join(map(str, split))}")
                split = [split[name] for name in SPLITS]
            lists = [self._split_nodes(nodes) for nodes in split]
            if len(lists) != 3:
                raise ValueError(f"split: expected training, validation and test nodes, found {len(lists)} arrays")
            listed = np.bincount(np.concatenate(lists), minlength=self.num_nodes)
            if listed.max(initial=0) > 1:
                again = self.ids[[listed.argmax()]].tolist()[0]
                raise ValueError(f"split: expected every node in one part, once, found node {again!r} again")
        inner = self._inner.with_labels(index, [str(name) for name in classes], lists)
        return Graph(inner, labelled=True, library=self._library)

    def _split_nodes(self, nodes: ArrayLike) -> NDArray[np.uint32]:
        """Return the numbers of nodes from their ids or from a mask."""
        array = np.asarray(nodes)
        if array.dtype != np.bool_:
            found = self._positions(array, "split")
        elif array.shape == (self.num_nodes,):
            found = np.flatnonzero(array)
        else:
            raise ValueError(f"split: expected masks of length {self.num_nodes}, found the shape {array.shape}")
        return np.ascontiguousarray(found, dtype=np.uint32)

    def redrawn(self, seed: int, *, shares: str | None = None) -> Graph:
        """Return the same graph with another random split.

        Parameters
        ----------
        seed : int
            Seed of the split.
        shares : str, optional
            Per cent of the labelled nodes for training, validation and testing, such as ``"60/20/20"``; by default 20
            nodes of every class for training and 30 for validation.

        Examples
        --------
        >>> import supergat
        >>> graph = supergat.Graph.load("random-partition:classes=2,nodes=200,degree=4")
        >>> {part: len(nodes) for part, nodes in graph.redrawn(0, shares="60/20/20").split.items()}
        {'train': 240, 'validation': 80, 'test': 80}
        """
        if shares is not None and not isinstance(shares, str):
            raise TypeError(f'shares: expected a text such as "60/20/20", found {type(shares).__name__}')
        inner = self._inner.redrawn(check_seed(seed, "seed"), shares)
        return Graph(inner, labelled=True, library=self._library)

    # Ids

    def positions(self, nodes: ArrayLike) -> NDArray[np.int64]:
        """Return the numbers of nodes, counted from 0, by their ids."""
        return self._positions(nodes, "nodes")

    def _positions(self, nodes: ArrayLike, name: str) -> NDArray[np.int64]:
        """Return the numbers of nodes by their ids; errors name the argument."""
        asked = np.asarray(nodes)
        if asked.ndim == 2 and asked.shape[1] == 1:
            asked = asked[:, 0]
        if asked.ndim != 1:
            raise ValueError(f"{name}: expected ids in one dimension, found the shape {asked.shape}")
        if not asked.size:
            return np.zeros(0, dtype=np.int64)
        if self.ids.dtype != object and asked.dtype.kind in "iu":
            order, ids = self._sorted
            at = np.searchsorted(ids, asked).clip(max=len(ids) - 1)
            found: NDArray[np.int64] = order[at]
            unknown: NDArray[np.bool_] = ids[at] != asked
        else:
            found = np.array([self._position.get(_text(one), -1) for one in asked.tolist()], dtype=np.int64)
            unknown = found < 0
        if unknown.any():
            shown = asked[unknown][:3].tolist()
            count = int(unknown.sum())
            numbers = self.ids.dtype == object and asked.dtype.kind in "iu"
            advice = "; graph.ids[numbers] returns the ids of numbers of nodes" if numbers else ""
            raise ValueError(
                f"{name}: expected ids of nodes of the graph, such as {self.ids[:1].tolist()[0]!r}, "
                f"found {count} {'other' if count == 1 else 'others'}, such as {', '.join(map(repr, shown))}{advice}"
            )
        return found

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        order = np.argsort(self.ids, kind="stable")
        return order, self.ids[order]

    @cached_property
    def _position(self) -> dict[str, int]:
        return {_text(one): at for at, one in enumerate(self.ids.tolist())}

    # Python's own protocols

    def __len__(self) -> int:
        return self.num_nodes

    def __repr__(self) -> str:
        links = self.summary()["statistics"]["edges"]
        classes = len(self.classes)
        return f"Graph(nodes={self.num_nodes}, links={links}, features={self.num_features}, classes={classes})"

    def _repr_html_(self) -> str:
        statistics = self.summary()["statistics"]
        rows = {
            "nodes": f"{statistics['nodes']:,}",
            "links": f"{statistics['edges']:,}",
            "degree": f"{statistics['degree']['mean']:.2f}",
            "features": f"{statistics['features']:,}",
            "classes": ", ".join(self.classes[:8]) + (", ..." if len(self.classes) > 8 else ""),
            "homophily": "-" if self.homophily is None else f"{self.homophily:.2f}",
        }
        return html_table(f"Graph {self.name}", rows, self.notes)

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self

    def __copy__(self) -> Graph:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._inner.to_bytes(), self._labelled, self._library)


def load(source: str | os.PathLike[str], **options: Any) -> Graph:
    """Read a graph from a folder, a file or a known name. See :meth:`Graph.load`."""
    return Graph.load(source, **options)


def _restore(content: bytes, labelled: bool, library: str | None) -> Graph:
    return Graph(_supergat.Graph.from_bytes(content), labelled=labelled, library=library)


def _name(node: Any) -> Any:
    """Return a node of networkx as an id: numbers and strings as they are, others as text."""
    return node if isinstance(node, (str, int, np.integer)) and not isinstance(node, bool) else str(node)


def _once(links: NDArray[Any], nodes: int) -> NDArray[np.int64]:
    """Return links without direction, each once."""
    low, high = np.sort(links.astype(np.int64), axis=0)
    found = np.unique(low * nodes + high)
    return np.stack([found // nodes, found % nodes])


def _weights(given: ArrayLike | None, links: int) -> NDArray[np.float64] | None:
    """Return the weights of links."""
    if given is None:
        return None
    found = np.ascontiguousarray(given, dtype=np.float64)
    if found.shape != (links,):
        raise ValueError(f"edge_weight: expected one weight per link, the shape ({links},), found {found.shape}")
    return found


def _attributes(given: ArrayLike | None, links: int) -> NDArray[np.float32] | None:
    """Return the features of links, a row per link."""
    if given is None:
        return None
    found = np.asarray(given, dtype=np.float32)
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2 or len(found) != links:
        raise ValueError(f"edge_attr: expected the shape ({links}, columns), a row per link, found {found.shape}")
    return np.ascontiguousarray(found)


def _text(one: Any) -> str:
    return str(int(one)) if isinstance(one, float) and one.is_integer() else str(one)


def _has_labels(inner: _supergat.Graph) -> bool:
    return inner.multi_label or bool((inner.labels() >= 0).any())


def _feature_arguments(features: Any) -> tuple[dict[str, Any], int]:
    """Return features as arguments of the extension, and the number of rows."""
    if hasattr(features, "tocsr"):
        matrix = features.tocsr(copy=True)
        matrix.sum_duplicates()
        matrix.sort_indices()
        values = matrix.data.astype(np.float32)
        _check_finite(values)
        arrays = (matrix.indptr.astype(np.uint64), matrix.indices.astype(np.uint32), values, matrix.shape[1])
        return {"csr": arrays}, matrix.shape[0]
    if hasattr(features, "to_numpy"):
        features = features.to_numpy()
    try:
        with np.errstate(over="ignore"):  # infinity is refused below
            dense = np.ascontiguousarray(features, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError("features: expected numbers; give frames with words to Graph.from_frames") from error
    if dense.ndim != 2:
        raise ValueError(f"features: expected two dimensions, a row per node, found the shape {dense.shape}")
    _check_finite(dense)
    return {"dense": dense}, dense.shape[0]


def _check_finite(values: NDArray[np.float32]) -> None:
    if not np.isfinite(values).all():
        raise ValueError("features: NaN or infinity found; fill them, or use Graph.from_frames(..., missing='propagate')")


def encode_labels(labels: ArrayLike, nodes: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted classes, and the class of every node as a number, -1 where it is unknown."""
    array = np.asarray(labels.to_numpy() if hasattr(labels, "to_numpy") else labels)
    if array.shape != (nodes,):
        raise ValueError(f"labels: expected one per node, {nodes}, found the shape {array.shape}")
    if array.dtype.kind == "f":
        known = ~np.isnan(array)
        if np.all(array[known] == np.floor(array[known])):
            array = np.where(known, array, -1).astype(np.int64)
    if array.dtype.kind in "iu":
        known = array != -1
    elif array.dtype.kind != "f":
        known = np.array([one is not None and one == one for one in array.tolist()], dtype=bool)
    if not known.any():
        raise ValueError("labels: expected some that are known, all are missing")
    classes, positions = distinct(array[known], "labels")
    # The rule of tables.
    fractions = [one for one in classes.tolist() if isinstance(one, float) and not one.is_integer()]
    if len(fractions) > 20 or 2 * len(fractions) > np.count_nonzero(known):
        raise ValueError(
            f"labels: expected classes, found {len(fractions)} different numbers such as {fractions[0]}, which look like a "
            "quantity to predict, as in regression; replace them by a few ranges, such as numpy.digitize(labels, [1, 10]), "
            "or by words if they are names of classes"
        )
    index = np.full(nodes, -1, dtype=np.int64)
    index[known] = positions
    return classes, index


def distinct(values: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted classes, and the class of every value."""
    try:
        classes, of = np.unique(values, return_inverse=True)
    except TypeError:
        kinds = ", ".join(sorted({type(value).__name__ for value in values.tolist()}))
        raise ValueError(f"{name}: expected classes of one type, found {kinds}") from None
    return classes, of


def draw_split(index: NDArray[np.int64], shares: Iterable[float], seed: int) -> list[NDArray[np.uint32]]:
    """Divide the labelled nodes at random, every class by the same shares. The first part gets the rest."""
    random = np.random.default_rng(seed)
    first, *others = shares
    parts: list[list[NDArray[np.int64]]] = [[] for _ in (first, *others)]
    for label in range(int(index.max()) + 1):
        nodes = random.permutation(np.flatnonzero(index == label))
        for part, share in zip(parts[1:], others):
            count = min(int(round(share * np.count_nonzero(index == label))), max(len(nodes) - 1, 0))
            part.append(nodes[:count])
            nodes = nodes[count:]
        parts[0].append(nodes)
    return [np.sort(np.concatenate(part)).astype(np.uint32) for part in parts]


def html_table(title: str, rows: Mapping[str, str], notes: Iterable[str] = ()) -> str:
    """Return a small table for notebooks."""
    from html import escape

    body = "".join(f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows.items())
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    details = f"<details><summary>notes</summary><ul>{listed}</ul></details>" if listed else ""
    return f"<div><b>{escape(title)}</b><table>{body}</table>{details}</div>"
