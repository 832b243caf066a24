"""The package and the command line give the same bits and open each other's models."""

from __future__ import annotations

import csv
import io
import json
import pathlib
from collections.abc import Callable

import numpy as np
import pytest
from conftest import small_graph

import supergat
from supergat import Graph, Model

CommandLine = Callable[..., str]
EPOCHS, SEEDS = 10, 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, graph: Graph) -> pathlib.Path:
    """Tables of the small graph."""
    folder = tmp_path_factory.mktemp("tables")
    for table, name in zip(graph.to_frames("pandas"), ("nodes", "edges")):
        table.to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory, command_line: CommandLine, folder: pathlib.Path) -> pathlib.Path:
    out = tmp_path_factory.mktemp("run") / "out"
    command_line(
        "train", folder, "--model", "gat-go", "--max-epochs", EPOCHS, "--seeds", SEEDS, "--out", out, "--no-cache"
    )  # fmt: skip
    return out


@pytest.fixture(scope="module")
def loaded(folder: pathlib.Path) -> Graph:
    return supergat.load(folder, cache=False)


@pytest.fixture(scope="module")
def trained(loaded: Graph) -> supergat.Training:
    return supergat.train(loaded, "gat-go", seeds=SEEDS, max_epochs=EPOCHS)


def table_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def check_predictions(rows: list[dict[str, str]], model: Model, graph: Graph) -> None:
    """Probabilities are written with as many digits as identify a number of single precision."""
    expected = model.predict_proba(graph)
    written = np.array([[row[f"p_{name}"] for name in model.classes] for row in rows], dtype=np.float32)
    assert np.array_equal(written, expected)
    assert [row["predicted"] for row in rows] == model.predict(graph).tolist()
    assert [row["node"] for row in rows] == [str(node) for node in graph.ids]


def test_curves_are_equal(run_folder: pathlib.Path, trained: supergat.Training) -> None:
    lines = [json.loads(line) for line in (run_folder / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == SEEDS * EPOCHS
    for run in trained.runs:
        of_seed = [line for line in lines if line["seed"] == run.seed]
        assert [line["epoch"] for line in of_seed] == list(range(run.epochs))
        for curve in set(of_seed[0]) - {"seed", "epoch"}:
            assert run.curves[curve].tolist() == [line[curve] for line in of_seed], curve


def test_summaries_are_equal(run_folder: pathlib.Path, trained: supergat.Training) -> None:
    summary = json.loads((run_folder / "summary.json").read_text())
    assert summary["seeds"] == [run.seed for run in trained.runs]
    assert summary["epochs"] == [run.epochs for run in trained.runs]
    assert summary["best_epochs"] == [run.best_epoch for run in trained.runs]
    assert summary["test"]["values"] == trained.test.tolist()
    assert summary["validation"]["values"] == trained.validation.tolist()
    assert summary["best_seed"] == trained.runs[trained.best].seed
    assert summary["model"] == trained.settings["model"]


def test_predictions_are_equal(run_folder: pathlib.Path, trained: supergat.Training, loaded: Graph) -> None:
    check_predictions(table_of((run_folder / "predictions.csv").read_text()), trained.model, loaded)
    assert np.array_equal(trained.probabilities, trained.model.predict_proba(loaded))


@pytest.mark.parametrize("name", ["", "model.safetensors"])
def test_python_opens_models_of_the_command_line(
    run_folder: pathlib.Path, trained: supergat.Training, loaded: Graph, folder: pathlib.Path, name: str
) -> None:
    model = Model.load(run_folder / name)
    assert np.array_equal(model.predict_proba(loaded), trained.probabilities)
    assert model.card["settings"] == trained.model.card["settings"]
    assert np.array_equal(model.predict_proba(model.read(folder)), trained.probabilities)


def test_command_line_opens_models_of_python(
    command_line: CommandLine, trained: supergat.Training, loaded: Graph, folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "model.safetensors"
    trained.model.save(path)
    assert path.read_bytes() == trained.model.to_bytes()
    check_predictions(table_of(command_line("predict", path, folder, "--no-cache")), trained.model, loaded)
    found = json.loads(command_line("evaluate", path, folder, "--json", "--no-cache"))
    for part, score in trained.model.evaluate(loaded).items():
        assert score is not None
        classes = [
            {"class": name} | values for name, values in score["metrics"].pop("classes").items()
        ]
        metrics = {name: value for name, value in score["metrics"].items() if name != "nodes"}
        expected = {"nodes": score["nodes"], "loss": score["loss"], "metric": score["metric"], "metrics": metrics}
        assert found[part] == expected | {"classes": classes}
        # Only two classes have a positive one, whose first nodes are counted.
        undefined = [name for name, value in metrics.items() if value is None]
        assert metrics["accuracy"] == expected["metric"]
        assert undefined == ["precision_at_10", "precision_at_100", "precision_at_1000"]


def test_weights_and_decisions_are_equal(command_line: CommandLine, tmp_path: pathlib.Path) -> None:
    graph = small_graph(nodes=120, classes=2)
    for table, name in zip(graph.to_frames("pandas"), ("nodes", "edges")):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    command_line(
        "train", tmp_path, "--model", "gat-go", "--max-epochs", EPOCHS, "--seeds", SEEDS, "--out", tmp_path / "out",
        "--class-weight", "0=5", "--positive", "0", "--threshold", "f1", "--select", "average-precision", "--no-cache",
    )  # fmt: skip
    loaded = supergat.load(tmp_path, cache=False)
    found = supergat.train(
        loaded, "gat-go", max_epochs=EPOCHS, seeds=SEEDS, class_weight={"0": 5}, positive="0", threshold="f1",
        select="average-precision",
    )  # fmt: skip
    check_predictions(table_of((tmp_path / "out" / "predictions.csv").read_text()), found.model, loaded)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["metric"] == found.metric == "average-precision"
    assert summary["validation"]["values"] == found.validation.tolist()
    assert summary["threshold"]["values"] == [run.metrics["threshold"]["value"] for run in found.runs]
    opened = Model.load(tmp_path / "out")
    assert opened.card["positive"] == "0" and opened.card["settings"] == found.model.card["settings"]
    without = supergat.train(loaded, "gat-go", max_epochs=EPOCHS, seeds=SEEDS)
    assert not np.array_equal(without.probabilities, found.probabilities)


def test_command_line_opens_models_of_frames(
    command_line: CommandLine, folder: pathlib.Path, loaded: Graph, tmp_path: pathlib.Path
) -> None:
    """Models of data frames remember the columns, so that tables can be read for them."""
    graph = Graph.from_frames(*loaded.to_frames("polars"))
    model = supergat.train(graph, "gat-go", max_epochs=5).model
    model.save(tmp_path / "model.safetensors")
    rows = table_of(command_line("predict", tmp_path / "model.safetensors", folder, "--no-cache"))
    check_predictions(rows, model, graph)
