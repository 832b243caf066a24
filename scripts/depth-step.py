#!/usr/bin/env python3
"""Times training steps of deep networks in PyTorch Geometric and in supergat alternately, on a CPU or a GPU.

  python3 scripts/depth-step.py --data path/to/data [--device cuda] [--rounds 3] [--cases minesweeper,photo]

Both train the same network: attention of one head, linear residuals, norm, ReLU, dropout and a linear output layer. Needs
a release build of supergat, torch and torch_geometric. Datasets are the .npz files in folders of their name.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

# Name: layers, width, norm, residual, dropout, epochs of the peer on a CPU.
CASES = {
    "minesweeper": (15, 64, "batch", True, 0.2, 3),
    "chameleon-filtered": (2, 256, "batch", True, 0.7, 10),
    "photo": (3, 64, "layer", True, 0.5, 10),
    "computers": (2, 64, "layer", False, 0.5, 5),
    "cs": (1, 256, "layer", True, 0.3, 5),
    "physics": (2, 256, "batch", True, 0.7, 2),
}


def peer(given: argparse.Namespace) -> None:
    """Time steps of PyTorch Geometric and print them as JSON."""
    import numpy as np
    import torch
    from torch.nn import BatchNorm1d, LayerNorm, Linear, Module, ModuleList
    from torch.nn.functional import cross_entropy, dropout
    from torch_geometric.nn import GATConv
    from torch_geometric.utils import to_undirected

    layers, width, norm, residual, drop, _ = CASES[given.cases]
    arrays = np.load(next((pathlib.Path(given.data) / given.cases).glob("*.npz")), allow_pickle=True)
    if "node_features" in arrays:
        x = torch.tensor(arrays["node_features"], dtype=torch.float32)
        y, edges = torch.tensor(arrays["node_labels"]), torch.tensor(arrays["edges"]).t()
    else:
        import scipy.sparse as sp

        def matrix(name):
            parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
            return sp.csr_matrix(parts, shape=arrays[f"{name}_shape"])

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
    if given.threads:
        torch.set_num_threads(given.threads)
    device = torch.device(given.device)
    x, y, edges = x.to(device), y.to(device), edges.to(device)
    network = Network().to(device)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    train = torch.arange(x.shape[0] // 2, device=device)
    times = []
    for _ in range(given.epochs + 2):
        if device.type == "cuda":
            torch.cuda.synchronize()
        started = time.perf_counter()
        optimiser.zero_grad()
        cross_entropy(network(x)[train], y[train]).backward()
        optimiser.step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - started))
    times = times[2:]
    print(json.dumps({"train_ms": {"min": min(times), "median": statistics.median(times)}}))


def run(command: list[str]) -> dict:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout[done.stdout.index("{") :])["train_ms"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder that contains the dataset folders")
    parser.add_argument("--device", default="cpu", help="cpu or cuda [default: cpu]")
    parser.add_argument("--cases", default=",".join(CASES), help="cases to time [default: all]")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds [default: 3]")
    parser.add_argument("--threads", type=int, default=2, help="threads of the CPU [default: 2]")
    parser.add_argument("--supergat", default="target/release/supergat", help="supergat command")
    parser.add_argument("--epochs", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        return peer(given)
    print("| graph | network | peer ms min / median | supergat ms min / median | ratio of medians |\n|---|---|---|---|---|")
    for name in given.cases.split(","):
        layers, width, norm, residual, drop, epochs = CASES[name]
        epochs = epochs if given.device == "cpu" else 20
        same = ["--device", given.device, "--threads", str(given.threads)]
        theirs = [sys.executable, __file__, "--peer", "--data", given.data, "--cases", name, "--epochs", str(epochs), *same]
        ours = [
            given.supergat, "profile", str(pathlib.Path(given.data) / name), "--model", "gat-go", "--layers", str(layers),
            "--hidden", str(width), "--heads", "1", "--norm", norm, "--residual", "linear" if residual else "none",
            "--activation", "relu", "--output-layer", "--dropout", str(drop), "--attention-dropout", "--epochs", str(3 * epochs),
            "--json", *same,
        ]
        rounds = [(run(theirs), run(ours)) for _ in range(given.rounds)]

        def of(side: int, key: str) -> float:
            values = [both[side][key] for both in rounds]
            return min(values) if key == "min" else statistics.median(values)

        ratio = of(0, "median") / of(1, "median")
        print(f"| {name} | {layers} x {width}, {norm} norm | {of(0, 'min'):.1f} / {of(0, 'median'):.1f} "
              f"| {of(1, 'min'):.2f} / {of(1, 'median'):.2f} | {ratio:.1f} |", flush=True)


if __name__ == "__main__":
    main()
