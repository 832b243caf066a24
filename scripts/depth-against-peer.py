#!/usr/bin/env python3
"""Print the table "Against PyTorch Geometric" of docs/studies/depth.md from the runs of `supergat study depth`.

  python3 scripts/depth-against-peer.py [RUNS] [LONG]

For every dataset, the self-supervised cell (model and depth) with the highest mean validation metric over its final runs
is selected, among the cells of the study and networks that were trained for longer. Its mean test metric is compared
with that of a deep GAT in PyTorch Geometric. Needs only the standard library.
"""
import argparse
import collections
import gzip
import json
import math
import pathlib
import statistics

RUNS = pathlib.Path(__file__).resolve().parent.parent / "docs" / "studies" / "runs"
MODELS = ["supergat-sd", "supergat-mx", "supergat-v2"]
TRIALS, SPLITS = "12", 10
# Deep GAT of PyTorch Geometric, tuned by hand. Name: test metric in per cent, number of its splits.
PEER = {
    "minesweeper": (97.92, 2),
    "chameleon-filtered": (42.5, 10),
    "photo": (95.6, 3),
    "computers": (92.4, 3),
    "cs": (95.6, 2),
    "physics": (97.2, 1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="?", type=pathlib.Path, default=RUNS / "depth.jsonl.gz",
                        help="results of the study [docs/studies/runs/depth.jsonl.gz]")
    parser.add_argument("long", nargs="?", type=pathlib.Path, default=RUNS / "depth-long.jsonl.gz",
                        help="results of longer trainings [docs/studies/runs/depth-long.jsonl.gz]")
    args = parser.parse_args()
    cells = final_runs(args.runs) | long_runs(args.long)
    rows = [compare(name, cells) for name in PEER]
    for row, alone, both in zip(rows, holm([row["p"] for row in rows]), holm([row["p_both"] for row in rows])):
        row["p (Holm)"], row["p (Holm), peer's error included"] = chance(alone), chance(both)
    columns = [name for name in rows[0] if name not in ("p", "p_both")]
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(row[name] for name in columns) + " |")
    missing = [f"{name} {depth} {model}" for name in PEER for depth in ("published", "deep") for model in MODELS
               if (name, depth, model) not in cells]
    print(f"\nNot complete, so not selected from: {', '.join(missing) or 'none'}.")


def lines(path: pathlib.Path) -> list:
    """Returns the lines of a results file, which may be compressed."""
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()


def final_runs(path: pathlib.Path) -> dict:
    """Returns (validation, test) in per cent of every split, for every complete self-supervised cell."""
    cells = collections.defaultdict(dict)
    for line in lines(path):
        run = json.loads(line)
        task = run["task"].split(":")
        if task[0] != "depth" or task[2] != TRIALS or run["model"] not in MODELS or run["status"] != "ok":
            continue
        scores = 100 * run["validation"]["metric"], 100 * run["test"]["metric"]
        # A repeated run has the same result.
        if cells[run["dataset"], task[1], run["model"]].setdefault(run["split"], scores) != scores:
            raise SystemExit(f"{path}: two results for {run['dataset']}, {task[1]}, {run['model']}, split {run['split']}")
    return {cell: list(splits.values()) for cell, splits in cells.items() if len(splits) == SPLITS}


def long_runs(path: pathlib.Path) -> dict:
    """Returns (validation, test) in per cent of every split, for every complete self-supervised network."""
    cells = collections.defaultdict(dict)
    for line in lines(path):
        run = json.loads(line)
        if run["model"].startswith("supergat"):
            cells[run["dataset"], "long", run["name"]][run["split"]] = run["validation"], run["test"]
    return {cell: list(splits.values()) for cell, splits in cells.items() if len(splits) == SPLITS}


def compare(name: str, cells: dict) -> dict:
    """Returns the row of a dataset: the selected cell against the number of the peer."""
    complete = [cell for cell in cells if cell[0] == name]
    if not complete:
        raise SystemExit(f"{name}: no complete self-supervised cell; run `supergat study depth --datasets {name}`")
    cell = max(complete, key=lambda cell: statistics.mean(validation for validation, _ in cells[cell]))
    test = [test for _, test in cells[cell]]
    mean, deviation, n = statistics.mean(test), statistics.stdev(test), len(test)
    peer, splits = PEER[name]
    # One-sample t-test: t = (mean - peer) / (s / sqrt(n)). With an error of the peer from m splits that vary as ours do:
    # t = (mean - peer) / (s sqrt(1/n + 1/m)).
    error, both = deviation / math.sqrt(n), deviation * math.sqrt(1 / n + 1 / splits)
    half = quantile(0.05, n - 1) * error
    return {
        "dataset": name,
        "selected cell": f"{cell[2]}, {cell[1]}",
        "validation": f"{statistics.mean(validation for validation, _ in cells[cell]):.2f}",
        "test": f"{mean:.2f}",
        "95 % interval": f"{mean - half:.2f} to {mean + half:.2f}",
        "PyTorch Geometric": f"{peer} ({splits} split{'s' if splits > 1 else ''})",
        "difference": f"{mean - peer:+.2f}",
        "p": two_sided((mean - peer) / error, n - 1),
        "p_both": two_sided((mean - peer) / both, n - 1),
    }


def two_sided(t: float, freedom: int) -> float:
    """Returns the p-value of a two-sided t-test."""
    # P(|T| < t) for f degrees of freedom, with a = atan(t / sqrt(f)) (Abramowitz and Stegun 26.7.3 and 26.7.4):
    #   odd:  2/pi (a + sin a (cos a + 2/3 cos^3 a + ... + 2*4*..(f-3) / (1*3*..(f-2)) cos^(f-2) a))
    #   even: sin a (1 + 1/2 cos^2 a + ... + 1*3*..(f-3) / (2*4*..(f-2)) cos^(f-2) a)
    angle = math.atan(abs(t) / math.sqrt(freedom))
    odd = freedom % 2
    term, total = math.cos(angle) if odd else 1.0, 0.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= (power + 1) / (power + 2) * math.cos(angle) ** 2
    inside = math.sin(angle) * total
    return 1 - (2 / math.pi * (angle + inside) if odd else inside)


def quantile(level: float, freedom: int) -> float:
    """Returns the t whose two-sided p-value is `level`, by bisection."""
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, freedom) > level else (low, middle)
    return low


def holm(values: list) -> list:
    """Returns p-values with Holm's correction over all of them."""
    corrected, largest = [0.0] * len(values), 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[index]))
        corrected[index] = largest
    return corrected


def chance(p: float) -> str:
    """Returns a p-value as text."""
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


if __name__ == "__main__":
    main()
