#!/usr/bin/env python3
"""Runs the tests of the GPU and prints the tables of docs/studies/performance.md, on a machine with an NVIDIA GPU.

  python3 scripts/gpu.py                                       # tests, and supergat alone
  python3 scripts/gpu.py --peer path/to/pyg_supergat.py --data path/to/data
  python3 scripts/gpu.py --built folder --cases cora-mx        # programs built elsewhere: supergat and test programs

The peer is any script that takes --data/--random, --form, --epochs, --device, --hidden, --heads, --out-heads and
--dropout, and prints one JSON line with train_ms {median, min}. Cases whose dataset is not in the folder --data are
skipped. Without --built, the programs are built first.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

# Network of the peer, for graphs that the paper has no settings for.
NETWORK = ["--heads", "8", "--attention-dropout", "--residual", "none", "--norm", "none", "--activation", "elu", "--no-output-layer"]
ARXIV = ["--hidden", "16", "--output-heads", "1", "--dropout", "0.2"]
# Name: dataset or random graph, model, further options, epochs, epochs of the peer (0: not run).
CASES = {
    "cora-mx": ("cora", "supergat-mx", [], 200, 30),
    "pubmed-mx": ("pubmed", "supergat-mx", [], 100, 10),
    "arxiv-sized-mx": ("169343,14,128,40", "supergat-mx", ARXIV, 20, 2),
    "arxiv-sized-gat": ("169343,14,128,40", "gat-go", ARXIV, 20, 10),
    "arxiv-topology-mx": ("arxiv-topology", "supergat-mx", [*ARXIV, "--features", "structural"], 20, 0),
    "30-M-edges-gat": ("600000,50,128,40", "gat-go", ARXIV, 10, 5),
    "30-M-edges-mx": ("600000,50,128,40", "supergat-mx", ARXIV, 10, 0),
    "100-M-edges-mx": ("5000000,20,32,4", "supergat-mx", ["--hidden", "8", "--output-heads", "8", "--dropout", "0.6"], 5, 0),
    "ppi-sd": ("ppi", "supergat-sd", [], 10, 0),
}
TESTS = ["primitives", "attention", "samples", "engine"]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True)


def last_json(text: str) -> dict:
    return json.loads(text[text.index("{") :])


def time_step(command: list[str]) -> tuple[str, dict]:
    """Run a program that prints timings as JSON; return them as text, or the end of its errors."""
    done = run(command)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[-1][:80], {}
    found = last_json(done.stdout)
    return f"{found['train_ms']['min']:.3f} / {found['train_ms']['median']:.3f}", found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--built", help="folder with the programs supergat, " + ", ".join(TESTS))
    parser.add_argument("--data", help="folder that contains the dataset folders")
    parser.add_argument("--peer", help="script of the peer")
    parser.add_argument("--cases", default=",".join(CASES), help="cases to time [default: all]")
    parser.add_argument("--no-tests", action="store_true", help="do not run the tests")
    parser.add_argument("--seeds", type=int, default=100, help="seeds of the training on Cora; 0 skips it [default: 100]")
    given = parser.parse_args()
    built = given.built and pathlib.Path(given.built).resolve()
    if not built:
        subprocess.run(["cargo", "build", "--release"], check=True)
    supergat = str(built / "supergat" if built else "target/release/supergat")
    print(run([supergat, "devices"]).stdout, flush=True)
    if given.data:
        os.environ["SUPERGAT_DATA"] = given.data
    failed = []
    if not given.no_tests:
        for test in TESTS:
            command = [str(built / test)] if built else ["cargo", "test", "-p", "supergat-cuda", "--test", test, "--"]
            done = run([*command, "--test-threads", "1"])
            summary = [line for line in done.stdout.splitlines() if line.startswith(("test result", "skipped"))]
            print(f"{test}: {' '.join(summary)}", flush=True)
            if done.returncode:
                failed.append(test)
                print(done.stdout[-3000:], flush=True)
    print("| case | ms of a step, min / median | evaluation ms | peer ms | ratio of medians |\n|---|---|---|---|---|")
    for name in filter(None, given.cases.split(",")):
        source, model, options, epochs, peer_epochs = CASES[name]
        random = "," in source
        folder = None if random else pathlib.Path(given.data or ".") / source
        if folder and not folder.exists():
            print(f"| {name} | skipped: no dataset {source} in --data | | | |", flush=True)
            continue
        # A folder without features has no name of its own.
        graph = ["--random", source] if random else [str(folder) if "--features" in options else source]
        network = NETWORK if options else []
        ours, found = time_step(
            [supergat, "profile", *graph, "--model", model, "--device", "cuda", "--epochs", str(epochs), "--json", *options, *network]
        )
        evaluation = f"{found['eval_ms']['median']:.3f}" if found else ""
        theirs, peer = "", {}
        if given.peer and peer_epochs:
            form = "go" if model == "gat-go" else model.removeprefix("supergat-")
            graph = ["--random", source] if random else ["--data", str(folder)]
            shape = [option.replace("--output-heads", "--out-heads") for option in options]
            theirs, peer = time_step(
                [sys.executable, given.peer, *graph, "--form", form, "--epochs", str(peer_epochs), "--device", "cuda", *shape]
            )
        ratio = f"{peer['train_ms']['median'] / found['train_ms']['median']:.0f}" if peer and found else ""
        print(f"| {name} | {ours} | {evaluation} | {theirs} | {ratio} |", flush=True)
    cora = pathlib.Path(given.data or ".") / "cora"
    if given.seeds and cora.exists():
        command = [supergat, "train", "cora", "--model", "supergat-mx", "--seeds", str(given.seeds)]
        started = time.perf_counter()
        done = run([*command, "--device", "cuda", "--quiet", "--json", "--out", f"/tmp/supergat-gpu-{time.time_ns()}"])
        seconds = time.perf_counter() - started
        if done.returncode:
            failed.append("train")
            print(done.stderr[-2000:])
        else:
            test = last_json(done.stdout)["test"]
            print(f"{given.seeds} seeds of Cora, SuperGAT-MX: {seconds:.1f} s in all, "
                  f"test {test['mean']:.2f} +- {test['std']:.2f}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
