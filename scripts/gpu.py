#!/usr/bin/env python3
"""Runs the tests of the GPU and a training of many seeds, on a machine with an NVIDIA GPU.

  python3 scripts/gpu.py --data path/to/data
  python3 scripts/gpu.py --built folder             # programs built elsewhere: supergat and test programs

Without --built, the programs are built first. scripts/compare.py times training steps.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

TESTS = ["primitives", "attention", "samples", "engine"]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True)


def last_json(text: str) -> dict:
    return json.loads(text[text.index("{") :])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--built", help="folder with the programs supergat, " + ", ".join(TESTS))
    parser.add_argument("--data", help="folder that contains the dataset folders")
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
    for test in TESTS:
        command = [str(built / test)] if built else ["cargo", "test", "-p", "supergat-cuda", "--test", test, "--"]
        done = run([*command, "--test-threads", "1"])
        summary = [line for line in done.stdout.splitlines() if line.startswith(("test result", "skipped"))]
        print(f"{test}: {' '.join(summary)}", flush=True)
        if done.returncode:
            failed.append(test)
            print(done.stdout[-3000:], flush=True)
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
                  f"test {test['mean']:.4f} +- {test['std']:.4f}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
