#!/usr/bin/env python3
"""Compares lines of code and seconds from two pandas frames to test probabilities: PyTorch Geometric and supergat.

    python bench/frames_to_probabilities.py --seeds 5

Both programs get the same frames with the same split, train SuperGAT-MX with the same hyperparameters and number of
epochs, and keep the epoch with the best validation accuracy. Lines are counted in the body of each function,
without blank lines, comments and docstrings. Imports are not timed. Without PyTorch Geometric only supergat runs.
"""

import argparse
import ast
import importlib.util
import inspect
import statistics
import time

import numpy as np
import pandas as pd

import supergat

PYG = all(importlib.util.find_spec(name) for name in ("torch", "torch_geometric"))
if PYG:
    import torch
    import torch.nn.functional as F
    from torch_geometric.nn import SuperGATConv
    from torch_geometric.utils import to_undirected

CLASSES = ("crime", "history", "science fiction")
TOWNS = ("Aldbury", "Brook", "Cawston", "Dunmore")


def frames(count: int, seed: int = 7) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Return frames of nodes and edges, and the numbers of the test nodes."""
    random = np.random.default_rng(seed)
    genre = random.integers(0, 3, count)
    town = np.where(random.random(count) < 0.4, genre, random.integers(0, 4, count))
    nodes = pd.DataFrame(
        {
            "id": [f"m{at:05}" for at in range(count)],
            "label": np.array(CLASSES)[genre],
            "split": random.choice(["train", "validation", "test"], count, p=[0.2, 0.2, 0.6]),
            "age": random.normal(np.array([48, 61, 36])[genre], 11).round(),
            "town": np.array(TOWNS)[town],
            "loans": random.normal(np.array([14, 9, 22])[genre], 6).round(),
        }
    )
    by_class = [np.flatnonzero(genre == one) for one in range(3)]
    sources = np.repeat(np.arange(count), 3)
    # Two of three links are drawn within the class, the others anywhere.
    near = np.array([random.choice(by_class[genre[at]]) for at in sources])
    targets = np.where(random.random(len(sources)) < 2 / 3, near, random.integers(0, count, len(sources)))
    kept = sources != targets
    ids = nodes["id"].to_numpy()
    edges = pd.DataFrame({"source": ids[sources[kept]], "target": ids[targets[kept]]})
    return nodes, edges, np.flatnonzero(nodes["split"] == "test")


def with_supergat(nodes, edges, seed, epochs):
    """Return the probabilities of the test nodes."""
    graph = supergat.Graph.from_frames(nodes, edges)
    network = dict(hidden=8, heads=8, output_heads=8, dropout=0.6, attention_dropout=True, activation="elu")
    network |= dict(residual="none", norm="none", output_layer=False, lr=0.01, lambda_2=0.002, patience=0)
    training = supergat.train(graph, "supergat-mx", seeds=[seed], max_epochs=epochs, early_stop=False, **network)
    return training.probabilities[graph.positions(graph.split["test"])]


def with_pyg(nodes, edges, seed, epochs):
    """Return the probabilities of the test nodes."""
    torch.manual_seed(seed)
    numbers = nodes[["age", "loans"]]
    numbers = (numbers - numbers.mean()) / numbers.std(ddof=0)
    columns = pd.concat([numbers, pd.get_dummies(nodes["town"])], axis=1)
    x = torch.tensor(columns.to_numpy(np.float32))
    y = torch.tensor(nodes["label"].astype("category").cat.codes.to_numpy(np.int64))
    number = pd.Series(np.arange(len(nodes)), index=nodes["id"])
    links = np.stack([number[edges["source"]].to_numpy(), number[edges["target"]].to_numpy()])
    edge_index = to_undirected(torch.tensor(links))
    train, validation, test = (
        torch.tensor((nodes["split"] == part).to_numpy()) for part in ("train", "validation", "test")
    )
    options = dict(heads=8, dropout=0.6, attention_type="MX", edge_sample_ratio=0.8, is_undirected=True)
    first = SuperGATConv(x.shape[1], 8, **options)
    second = SuperGATConv(64, int(y.max()) + 1, concat=False, **options)
    net = torch.nn.ModuleList([first, second])
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=0.002)

    def forward():
        hidden = first(F.dropout(x, 0.6, net.training), edge_index)
        out = second(F.dropout(F.elu(hidden), 0.6, net.training), edge_index)
        return out, first.get_attention_loss() + second.get_attention_loss()

    best, probabilities = -1.0, None
    for _ in range(epochs):
        net.train()
        optimiser.zero_grad()
        out, edge_loss = forward()
        (F.cross_entropy(out[train], y[train]) + edge_loss).backward()
        optimiser.step()
        net.eval()
        with torch.no_grad():
            out = forward()[0]
        metric = (out.argmax(1) == y)[validation].float().mean().item()
        if metric > best:
            best, probabilities = metric, out.softmax(1)[test]
    return probabilities.numpy()


def lines(function) -> int:
    """Return the number of lines of code in the body of a function."""
    code = inspect.getsource(function)
    body = ast.parse(code).body[0].body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    text = code.splitlines()[body[0].lineno - 1 : body[-1].end_lineno]
    return sum(1 for line in text if line.strip() and not line.strip().startswith("#"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=2000, help="number of nodes (default: 2000)")
    parser.add_argument("--epochs", type=int, default=200, help="number of epochs (default: 200)")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds (default: 5)")
    given = parser.parse_args()
    nodes, edges, test = frames(given.nodes)
    truth = nodes["label"].astype("category").cat.codes.to_numpy()[test]
    sides = {"supergat": with_supergat}
    if PYG:
        sides["PyTorch Geometric"] = with_pyg
    else:
        print("skipped: PyTorch Geometric is not installed")
    accuracies: dict[str, list[float]] = {side: [] for side in sides}
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for seed in range(given.seeds):  # alternating, so that both see the same load of the machine
        for side, function in sides.items():
            started = time.perf_counter()
            probabilities = function(nodes, edges, seed, given.epochs)
            seconds[side].append(time.perf_counter() - started)
            accuracies[side].append(100 * float((probabilities.argmax(axis=1) == truth).mean()))
    print(f"{len(nodes)} nodes, {len(edges)} links, {given.epochs} epochs, {given.seeds} seeds, {len(test)} test nodes")
    print("| side | lines | seconds min / median | test accuracy % |\n|---|---|---|---|")
    for side, function in sides.items():
        found, times = accuracies[side], seconds[side]
        deviation = f" ± {statistics.stdev(found):.2f}" if len(found) > 1 else ""
        middle = statistics.median(times)
        print(f"| {side} | {lines(function)} | {min(times):.2f} / {middle:.2f} | {statistics.mean(found):.2f}{deviation} |")
    if len(sides) == 2 and given.seeds > 1:
        conclusion = supergat.compare(*([value / 100 for value in found] for found in accuracies.values()), names=list(sides))
        print(conclusion["conclusion"])


if __name__ == "__main__":
    main()
