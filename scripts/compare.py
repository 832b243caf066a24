#!/usr/bin/env python3
"""Times training steps of PyTorch Geometric and of supergat alternately, on a CPU and, if there is one, on an NVIDIA GPU.

  python3 scripts/compare.py --peer path/to/pyg_supergat.py --data path/to/data [--rounds 5] [--device cpu] [--cases cora-mx,...]

Prints a Markdown table per device, with milliseconds of a step: the minimum, and the median of the medians of the rounds. The
ratio of the programs is the geometric mean over the rounds, with its 95 % confidence interval. Cases whose dataset is not in
the folder --data are skipped.

The peer of the paper's networks is any script that takes --data/--random, --form, --epochs, --threads, --device, --hidden,
--out-heads and --dropout, and prints one JSON line with train_ms {median, min} and peak_rss_mib. The peer of deep networks is
in this file, and needs torch and torch_geometric. Without --peer, supergat runs alone. Needs a release build of supergat
(cargo build --release).
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

# Settings of the peer that the paper's networks need, so that both programs do the same work.
PAPER = [
    "--heads", "8", "--attention-dropout", "--residual", "none", "--norm", "none", "--activation", "elu", "--no-output-layer",
    "--lr", "0.005", "--lambda-e", "10", "--lambda-2", "5e-4", "--p-e", "0.8", "--p-n", "0.5",
]
ARXIV = {"hidden": 16, "output-heads": 1, "dropout": 0.2, "precision": "f32"}
# Rows that attention gathers in 16 bits; the peer always has 32.
ARXIV_16 = {**ARXIV, "precision": "bf16"}
SMALL = {"hidden": 8, "output-heads": 8, "dropout": 0.6}
# Name: dataset or random graph, model, shape, epochs of the peer on a CPU and on a GPU (0: the peer is not run, None: neither is).
CASES = {
    "cora-mx": ("cora", "supergat-mx", SMALL, 30, 30),
    "cora-gat": ("cora", "gat-go", SMALL, 30, 30),
    "pubmed-mx": ("pubmed", "supergat-mx", SMALL, 8, 10),
    "arxiv-mx": ("169343,14,128,40", "supergat-mx", ARXIV, 2, 2),
    "arxiv-gat": ("169343,14,128,40", "gat-go", ARXIV, 2, 10),
    "arxiv-mx-bf16": ("169343,14,128,40", "supergat-mx", ARXIV_16, 2, None),
    "arxiv-gat-bf16": ("169343,14,128,40", "gat-go", ARXIV_16, 2, None),
    "arxiv-topology-mx": ("arxiv-topology", "supergat-mx", ARXIV, None, 0),
    "30-M-edges-gat": ("600000,50,128,40", "gat-go", ARXIV, None, 5),
    "30-M-edges-mx": ("600000,50,128,40", "supergat-mx", ARXIV, None, 0),
    "100-M-edges-mx": ("5000000,20,32,4", "supergat-mx", SMALL, None, 0),
}
# Name: dataset, layers, width, norm, whether there are residuals, dropout, epochs of the peer on a CPU. On a GPU it has 20.
DEEP = {
    "minesweeper-deep": ("minesweeper", 15, 64, "batch", True, 0.2, 3),
    "photo-deep": ("photo", 3, 64, "layer", True, 0.5, 10),
    "computers-deep": ("computers", 2, 64, "layer", False, 0.5, 5),
    "chameleon-deep": ("chameleon-filtered", 2, 256, "batch", True, 0.7, 10),
}
# Quantiles of Student's t distribution for 95 %, by degrees of freedom.
STUDENT = [math.nan, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26]


def deep_peer(name: str, data: str, device: str, threads: int, epochs: int) -> None:
    """Times steps of a deep network of PyTorch Geometric and prints them as JSON."""
    import numpy as np
    import torch
    from torch.nn import BatchNorm1d, LayerNorm, Linear, Module, ModuleList
    from torch.nn.functional import cross_entropy, dropout
    from torch_geometric.nn import GATConv
    from torch_geometric.utils import to_undirected

    dataset, layers, width, norm, residual, drop, _ = DEEP[name]
    arrays = np.load(next((pathlib.Path(data) / dataset).glob("*.npz")), allow_pickle=True)
    if "node_features" in arrays:
        x = torch.tensor(arrays["node_features"], dtype=torch.float32)
        y, edges = torch.tensor(arrays["node_labels"]), torch.tensor(arrays["edges"]).t()
    else:
        import scipy.sparse as sp

        def matrix(of):
            parts = tuple(arrays[f"{of}_{part}"] for part in ("data", "indices", "indptr"))
            return sp.csr_matrix(parts, shape=arrays[f"{of}_shape"])

        x = torch.tensor(matrix("attr").toarray(), dtype=torch.float32)
        y = torch.tensor(arrays["labels"], dtype=torch.int64)
        edges = torch.tensor(np.array(matrix("adj").nonzero()), dtype=torch.int64)
    edges = to_undirected(edges)

    class Network(Module):
        def __init__(self):
            super().__init__()
            widths = [x.shape[1]] + layers * [width]
            self.convs = ModuleList(GATConv(a, b, heads=1, dropout=drop) for a, b in zip(widths, widths[1:]))
            self.skips = ModuleList(Linear(a, b) for a, b in zip(widths, widths[1:])) if residual else None
            self.norms = ModuleList((BatchNorm1d if norm == "batch" else LayerNorm)(width) for _ in range(layers))
            self.out = Linear(width, int(y.max()) + 1)

        def forward(self, h):
            for k, (conv, normed) in enumerate(zip(self.convs, self.norms)):
                h = dropout(h, drop, self.training)
                mixed = conv(h, edges)
                h = normed(mixed + self.skips[k](h) if residual else mixed).relu()
            return self.out(dropout(h, drop, self.training))

    torch.manual_seed(0)
    torch.set_num_threads(threads)
    place = torch.device(device)
    x, y, edges = x.to(place), y.to(place), edges.to(place)
    network = Network().to(place)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    train = torch.arange(x.shape[0] // 2, device=place)
    times = []
    for _ in range(epochs + 2):
        if place.type == "cuda":
            torch.cuda.synchronize()
        started = time.perf_counter()
        optimiser.zero_grad()
        cross_entropy(network(x)[train], y[train]).backward()
        optimiser.step()
        if place.type == "cuda":
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - started))
    times = times[2:]
    print(json.dumps({"train_ms": {"min": min(times), "median": statistics.median(times)}}))


def run(command: list[str]) -> dict:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout[done.stdout.index("{") :])


def commands(name: str, given: argparse.Namespace, device: str) -> tuple[list[str] | None, list[str]] | None:
    """Returns the commands of the peer and of supergat; None if the case is not for the device or has no data."""
    same = ["--device", device, "--threads", str(given.threads)]
    ours = [given.supergat, "profile", *same, "--json"]
    if name in DEEP:
        dataset, layers, width, norm, residual, drop, epochs = DEEP[name]
        folder = pathlib.Path(given.data or ".") / dataset
        if not folder.exists():
            return None
        epochs = epochs if device == "cpu" else 20
        shape = [
            "--model", "gat-go", "--layers", str(layers), "--hidden", str(width), "--heads", "1", "--norm", norm,
            "--residual", "linear" if residual else "none", "--activation", "relu", "--output-layer", "--dropout", str(drop),
            "--attention-dropout",
        ]
        theirs = [given.python, __file__, "--deep-peer", name, "--data", given.data or ".", "--epochs", str(epochs), *same]
        return theirs if given.peer else None, [*ours, str(folder), *shape, "--epochs", str(3 * epochs)]
    source, model, shape, *epochs = CASES[name]
    epochs = epochs[0] if device == "cpu" else epochs[1]
    folder = pathlib.Path(given.data or ".") / source
    if epochs is None or ("," not in source and not folder.exists()):
        return None
    graph = ["--random", source] if "," in source else ["--data", str(folder)]
    options = [text for key, value in shape.items() for text in (f"--{key}", str(value))]
    features = ["--features", "structural"] if source == "arxiv-topology" else []
    ours += [*(graph if "," in source else graph[1:]), "--model", model, *options, *features, *PAPER]
    ours += ["--epochs", str(5 * epochs or 10)]
    form = "go" if model == "gat-go" else model.removeprefix("supergat-")
    theirs = [given.python, given.peer, *graph, "--form", form, "--epochs", str(epochs), *same]
    of_peer = {"hidden": "--hidden", "output-heads": "--out-heads", "dropout": "--dropout"}
    theirs += [text for key, option in of_peer.items() for text in (option, str(shape[key]))]
    return theirs if given.peer and epochs else None, ours


def ratio(peer: list[dict], ours: list[dict]) -> str:
    """Returns the geometric mean of the ratios of the rounds, with its confidence interval."""
    logs = [math.log(p["train_ms"]["median"] / o["train_ms"]["median"]) for p, o in zip(peer, ours)]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return f"{math.exp(mean):.1f}"
    student = STUDENT[len(logs) - 1] if len(logs) <= len(STUDENT) else 2.2
    half = student * statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(mean):.1f} ({math.exp(mean - half):.1f} to {math.exp(mean + half):.1f})"


def times(rounds: list[dict]) -> str:
    """Returns the lowest time and the median of the medians."""
    lowest = min(found["train_ms"]["min"] for found in rounds)
    middle = statistics.median(found["train_ms"]["median"] for found in rounds)
    return " / ".join(f"{ms:.0f}" if ms >= 100 else f"{ms:.3g}" for ms in (lowest, middle))


def memory(rounds: list[dict]) -> str:
    found = max(found.get("peak_rss_mib") or 0 for found in rounds)
    return str(round(found)) if found else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="script of the peer")
    parser.add_argument("--python", default=sys.executable, help="Python for the peer [default: this one]")
    parser.add_argument("--data", help="folder that contains the dataset folders")
    parser.add_argument("--supergat", default="target/release/supergat", help="supergat command")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds [default: 5]")
    parser.add_argument("--threads", type=int, default=2, help="number of threads of the CPU [default: 2]")
    parser.add_argument("--device", help="cpu or cuda [default: cpu, and cuda if there is a GPU]")
    parser.add_argument("--cases", default=",".join([*CASES, *DEEP]), help="cases to time [default: all]")
    parser.add_argument("--deep-peer", help=argparse.SUPPRESS)
    parser.add_argument("--epochs", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.deep_peer:
        return deep_peer(given.deep_peer, given.data, given.device, given.threads, given.epochs)
    unknown = [name for name in given.cases.split(",") if name not in {**CASES, **DEEP}]
    if unknown:
        parser.error(f"unknown cases {', '.join(unknown)}: choose among {', '.join([*CASES, *DEEP])}")
    if given.data:
        os.environ["SUPERGAT_DATA"] = given.data
    has_gpu = any(device["device"].startswith("cuda") for device in run([given.supergat, "devices", "--json"])["devices"])
    for device in [given.device] if given.device else ["cpu"] + ["cuda"] * has_gpu:
        print(f"\n{device}:\n\n| case | peer ms min / median | supergat ms min / median | ratio of medians (95 % interval) "
              "| peer MiB | supergat MiB |\n|---|---|---|---|---|---|", flush=True)
        for name in given.cases.split(","):
            found = commands(name, given, device)
            if found is None:
                continue
            theirs, ours = found
            rounds = [(run(theirs) if theirs else {}, run(ours)) for _ in range(given.rounds)]
            peer, own = [both[0] for both in rounds], [both[1] for both in rounds]
            left = [times(peer), times(own), ratio(peer, own)] if theirs else ["", times(own), ""]
            print(f"| {name} | {' | '.join(left)} | {memory(peer) if theirs else ''} | {memory(own)} |", flush=True)


if __name__ == "__main__":
    main()
