#!/usr/bin/env python3
"""Compares the kernels with the limits of the machine and prints Markdown tables (roofline).

Counts the bytes and operations of a training step and divides them by the rates that crates/supergat-cpu/examples/machine.rs
measures in the same run.

  cargo build --release && cargo build --release -p supergat-cpu --example machine
  python3 scripts/roofline.py --data path/to/data

Rows that are read in the order of the links (gathered) count at the rate of random rows of a table of the same size, which
depends on the cache that holds it. All other data counts as copied (streamed), and operations as multiply-adds on the longest
vectors. The limit of a primitive is the longer one of the times for bytes and for operations, and the fraction is the limit
divided by the measured minimum.
"""
import argparse, json, pathlib, subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SETTINGS = ["--heads", "8", "--attention-dropout", "--residual", "none", "--norm", "none", "--activation", "elu", "--no-output-layer",
            "--dropout", "0.6", "--lr", "0.005", "--lambda-e", "10", "--lambda-2", "5e-4", "--p-e", "0.8", "--p-n", "0.5", "--model", "supergat-mx"]
# Graph, features per node, total number of entries if sparse, and (heads, features per head) of both layers.
CASES = {
    "pubmed-mx": dict(graph=["{data}/pubmed"], columns=500, entries=988031, layers=[(8, 8), (8, 3)]),
    "arxiv-mx": dict(graph=["--random", "169343,14,128,40"], columns=128, entries=None, layers=[(8, 16), (1, 40)],
                     options=["--hidden", "16", "--output-heads", "1"], epochs=8),
}


def padded(heads, features):
    """Returns the padded numbers of values and of heads in a row: 1, 2, 4 or 8 heads share a vector of eight."""
    lanes = next(n for n in (1, 2, 4, 8) if n >= min(heads, 8))
    return -(-features * lanes // 8) * 8 * -(-heads // 8), -(-heads // 8) * 8


def work(n, e, case):
    """Returns the bytes gathered by table (rows, bytes of a row), bytes streamed and operations of each primitive in a step."""
    p_e, p_n = 0.8, 0.5
    negatives = p_n * p_e * e
    total = {}

    def add(name, table, gathered, streamed, operations):
        g, s, o = total.setdefault(name, ({}, 0, 0))
        if gathered:
            g[table] = g.get(table, 0) + gathered
        total[name] = (g, s + streamed, o + operations)

    width = case["columns"]
    for layer, (heads, features) in enumerate(case["layers"]):
        row, lanes = padded(heads, features)
        if layer == 0 and case["entries"]:
            kept, weights = 0.4 * case["entries"], (width, 4 * row)
            streamed = 8.125 * case["entries"] + 4 * n * row
            add("sparse_product", weights, 4 * row * kept, streamed, 2 * kept * row)
            # Rows of the gradient of the weights are read and written.
            add("sparse_transposed_product", weights, 8 * row * kept, streamed, 2 * kept * row)
        else:
            for name in ("dense_product", "dense_transposed_product"):
                add(name, None, 0, 4 * n * (width + row) + n * width / 8, 2 * n * width * row)
            if layer > 0:
                add("dense_product", None, 0, 4 * n * (width + row), 2 * n * width * row)
        state = 4 * 4 * lanes
        # Forward, per edge: row and score of the source; one dot product and one weighted sum.
        add("attention_forward", (n, 4 * row), e * (4 * row + 4 * lanes), e * (5 + lanes / 8) + n * (8 * row + state), e * 4 * row)
        # Backward, per edge: row, gradient, state and score of the other end; three dot products and two sums.
        # Per non-edge: a row at both ends.
        add("attention_backward", (n, 8 * row), e * (8 * row + state + 4 * lanes) + 2 * negatives * 4 * row,
            e * (8 + lanes / 4) + 8 * negatives + 12 * n * row, e * 10 * row + 2 * negatives * 4 * row)
        width = row
    return total


def run(command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, help="folder that contains the dataset folders")
    p.add_argument("--cases", default=",".join(CASES), help="cases to measure [default: all]")
    a = p.parse_args()
    found = {}
    for name in a.cases.split(","):
        case = CASES[name]
        graph = [part.format(data=str(pathlib.Path(a.data).resolve())) for part in case["graph"]]
        options = case.get("options", []) + ["--epochs", str(case.get("epochs", 40)), "--threads", "2", "--json"]
        profile = json.loads(run(["target/release/supergat", "profile", *graph, *SETTINGS, *options]))
        n, e = profile["nodes"], profile["edges"] + profile["nodes"]
        found[name] = profile, n, e, work(n, e, case)
    tables = sorted({table for *_, total in found.values() for gathered, _, _ in total.values() for table in gathered})
    names = [f"{rows}x{size}" for rows, size in tables]
    machine = [json.loads(line) for line in run(["target/release/examples/machine", *names]).splitlines()]
    print("| rate | one thread | two threads |\n|---|---|---|")
    print("| copy, GB/s |", " | ".join(f"{m['copy_gb_s']:.1f}" for m in machine), "|")
    for (rows, size), name in zip(tables, names):
        label = f"random rows of {size} B of a table of {rows * size / 1e6:.1f} MB, GB/s"
        print(f"| {label} |", " | ".join(f"{m['gather_gb_s'][name]:.1f}" for m in machine), "|")
    print("| multiply-adds, Gflop/s |", " | ".join(f"{m['multiply_add_gflop_s']:.0f}" for m in machine), "|")
    m = machine[-1]
    rates = {table: m["gather_gb_s"][name] for table, name in zip(tables, names)}
    for name, (profile, n, e, total) in found.items():
        kernels = {k["name"]: k["ms"]["min"] for k in profile["kernels"]}
        step = profile["train_ms"]["min"]
        print(f"\n**{name}**: {n} nodes, {e} edges with self-loops, {step:.1f} ms\n")
        print("| primitive | gathered MB | streamed MB | Mflop | limit ms | by | measured ms | fraction of the limit |\n|---|---|---|---|---|---|---|---|")
        left = step
        for kernel, (gathered, streamed, operations) in total.items():
            memory = sum(size / rates[table] for table, size in gathered.items()) / 1e6 + streamed / m["copy_gb_s"] / 1e6
            compute = operations / m["multiply_add_gflop_s"] / 1e6
            measured = kernels[kernel]
            left -= measured
            print(f"| {kernel} | {sum(gathered.values()) / 1e6:.1f} | {streamed / 1e6:.1f} | {operations / 1e6:.1f} | {max(memory, compute):.2f} "
                  f"| {'bytes' if memory > compute else 'arithmetic'} | {measured:.2f} | {max(memory, compute) / measured:.2f} |")
        print(f"| everything else | | | | | | {left:.2f} | |")


main()
