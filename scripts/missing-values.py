#!/usr/bin/env python3
"""Measures the accuracy on a dataset of which a share of the feature values is missing.

    python3 scripts/missing-values.py DATASET [--missing 0.5] [--seeds 20] [--supergat COMMAND] [OPTIONS]

Converts the dataset to tables with one column per feature, removes feature values at random (the same ones in
every run), and trains on the complete table and on the incomplete one with --missing propagate and --missing
zero. Other OPTIONS are passed to `supergat train`. Prints the means over the seeds as a Markdown table.
"""
import argparse
import csv
import json
import pathlib
import random
import subprocess
import tempfile


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def widen(tables, folder, share, seed):
    """Writes the tables with one column per feature, of which a share of the values is missing."""
    sidecar = (tables / "dataset.toml").read_text().splitlines()
    width = int(next(line for line in sidecar if line.startswith("features")).split("=")[1])
    rows = {row["id"]: row["label"] for row in read(tables / "nodes.csv")}
    values = {node: {} for node in rows}
    for entry in read(tables / "features.csv"):
        values[entry["id"]][int(entry["feature"])] = entry["value"]
    rng = random.Random(seed)
    folder.mkdir()
    with open(folder / "nodes.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "label"] + [f"f{feature}" for feature in range(width)])
        for node, label in rows.items():
            given = values[node]
            missing = [rng.random() < share for _ in range(width)]
            out.writerow([node, label] + ["" if gone else given.get(at, "0") for at, gone in enumerate(missing)])
    for name in ["edges.csv", "splits.csv"]:
        (folder / name).write_bytes((tables / name).read_bytes())
    kept = [line for line in sidecar if line.split(" ")[0] not in ["features", "sparse", "prepared"]]
    (folder / "dataset.toml").write_text("\n".join(["prepared = true"] + kept) + "\n")


def train(command, folder, seeds, options):
    """Returns mean and standard deviation of the test metric."""
    with tempfile.TemporaryDirectory() as out:
        run = [command, "train", folder, "--seeds", str(seeds), "--out", f"{out}/run", "--json", "--quiet"]
        done = subprocess.run(run + options, check=True, capture_output=True, text=True)
    test = json.loads(done.stdout)["test"]
    return test["mean"], test["std"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--missing", type=float, default=0.5, help="share of values to remove")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--supergat", default="supergat")
    args, options_of_train = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([args.supergat, "convert", args.dataset, folder / "tables"], check=True, capture_output=True)
        widen(folder / "tables", folder / "complete", 0.0, 0)
        widen(folder / "tables", folder / "incomplete", args.missing, 0)
        print(f"| feature values | test metric, {args.seeds} seeds |\n|---|---|", flush=True)
        share = f"{100 * args.missing:.0f} % missing"
        for what, place, options in [
            ("complete", "complete", []),
            (f"{share}, `--missing propagate`", "incomplete", ["--missing", "propagate"]),
            (f"{share}, `--missing zero`", "incomplete", ["--missing", "zero"]),
        ]:
            mean, deviation = train(args.supergat, folder / place, args.seeds, options + options_of_train)
            print(f"| {what} | {mean:.2f} ± {deviation:.2f} % |", flush=True)


if __name__ == "__main__":
    main()
