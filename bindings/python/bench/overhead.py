#!/usr/bin/env python3
"""Compares training through Python with training by the command line: same graph, same seeds, alternating rounds.

    SUPERGAT_BINARY=target/release/supergat python bench/overhead.py --rounds 5

Both sides run in a new process. "training" is the time from the loaded graph to the trained models, as each
side measures it; "process" is the whole process, in which the command line also writes a run folder and Python
imports its packages. "CPU s" is the processor time of the process. Both must report the same test metrics,
otherwise the script fails. The package must be built from the same sources, in the same profile.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from statistics import median

CORA_SIZED = "random-partition:classes=7,nodes=387,degree=4,homophily=0.8"
PYTHON = """
import json, sys, time
import supergat
graph = supergat.load(sys.argv[1])
started = time.perf_counter()
training = supergat.train(graph, sys.argv[2], seeds=int(sys.argv[3]), max_epochs=int(sys.argv[4]), early_stop=False,
                          n_jobs=int(sys.argv[5]), progress=False)
print(json.dumps([(100 * training.test).tolist(), time.perf_counter() - started]))
"""


def timed(command: list[str]) -> tuple[str, float, float]:
    """Run a command and return its output, its seconds and its CPU seconds."""

    def cpu() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    started, before = time.perf_counter(), cpu()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout, time.perf_counter() - started, cpu() - before


def python(given) -> tuple[list[float], float, float, float]:
    """Return test metrics, seconds of training, seconds and CPU seconds of the process."""
    sizes = [str(given.seeds), str(given.epochs), str(given.threads)]
    out, *process = timed([sys.executable, "-c", PYTHON, given.dataset, given.model, *sizes])
    metrics, training = json.loads(out)
    return metrics, training, *process


def command_line(given, binary: str) -> tuple[list[float], float, float, float]:
    """Return test metrics, seconds of training, seconds and CPU seconds of the process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            binary, "train", given.dataset, "--model", given.model, "--seeds", str(given.seeds), "--max-epochs",
            str(given.epochs), "--threads", str(given.threads), "--no-early-stop", "--quiet", "--json", "--out",
            os.path.join(folder, "run"),
        ]  # fmt: skip
        out, *process = timed(command)
    found = json.loads(out)
    return found["test"]["values"], found["seconds"], *process


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default=CORA_SIZED, help=f"dataset (default: {CORA_SIZED})")
    parser.add_argument("--model", default="supergat-mx", help="model (default: supergat-mx)")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds (default: 3)")
    parser.add_argument("--epochs", type=int, default=100, help="number of epochs (default: 100)")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds (default: 5)")
    parser.add_argument("--threads", type=int, default=1, help="number of threads (default: 1)")
    given = parser.parse_args()
    binary = os.environ.get("SUPERGAT_BINARY")
    if not binary:
        sys.exit("SUPERGAT_BINARY: expected the path of the command supergat; set the variable")
    sides: dict[str, list[tuple[list[float], float, float, float]]] = {"python": [], "command line": []}
    for _ in range(given.rounds):
        sides["python"].append(python(given))
        sides["command line"].append(command_line(given, binary))
    metrics = [run[0] for runs in sides.values() for run in runs]
    if any(abs(a - b) > 1e-9 for found in metrics for a, b in zip(found, metrics[0], strict=True)):
        sys.exit(f"the test metrics differ: {metrics}")
    print(f"{given.model} on {given.dataset}, {given.seeds} seeds, {given.epochs} epochs, {given.threads} threads")
    print("| side | training s min / median | process s min / median | CPU s min / median |\n|---|---|---|---|")
    for side, runs in sides.items():
        columns = [[run[at] for run in runs] for at in (1, 2, 3)]
        print(f"| {side} | " + " | ".join(f"{min(values):.2f} / {median(values):.2f}" for values in columns) + " |")
    for name, at in (("training", 1), ("process", 2), ("CPU time", 3)):
        ours, theirs = ([run[at] for run in runs] for runs in sides.values())
        print(f"ratio of {name}: {min(ours) / min(theirs):.2f} by minima, {median(ours) / median(theirs):.2f} by medians")


if __name__ == "__main__":
    main()
