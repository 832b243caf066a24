#!/usr/bin/env python3
"""Times training steps of a peer program and of supergat alternately and prints a Markdown table.

  python3 scripts/compare.py --peer path/to/pyg_supergat.py --python path/to/python --data path/to/data [--rounds 5] [--cases cora-mx,...]

The peer is any script that takes --data/--random, --form, --epochs, --threads, --hidden, --out-heads and prints one
JSON line with train_ms, eval_ms {median, min} and peak_rss_mib. Ratios are of the minima and of the medians over all
rounds. Needs a release build of supergat (cargo build --release).
"""
import argparse, json, statistics, subprocess, sys

CASES = {
    "cora-mx": dict(data="cora", form="mx", epochs=30),
    "cora-gat": dict(data="cora", form="go", epochs=30),
    "pubmed-mx": dict(data="pubmed", form="mx", epochs=8),
    "arxiv-mx": dict(random="169343,14,128,40", form="mx", epochs=2, hidden=16, out_heads=1),
    "arxiv-gat": dict(random="169343,14,128,40", form="go", epochs=2, hidden=16, out_heads=1),
}
# Defaults of the peer, passed to supergat so that both do the same work.
SAME = ["--heads", "8", "--dropout", "0.6", "--attention-dropout", "--residual", "none", "--norm", "none", "--activation", "elu",
        "--no-output-layer", "--lr", "0.005", "--lambda-e", "10", "--lambda-2", "5e-4", "--p-e", "0.8", "--p-n", "0.5"]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout[done.stdout.index("{"):])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--peer", required=True, help="script of the peer")
    p.add_argument("--python", default=sys.executable, help="Python for the peer [default: this one]")
    p.add_argument("--data", required=True, help="folder that contains the dataset folders")
    p.add_argument("--supergat", default="target/release/supergat", help="supergat command")
    p.add_argument("--rounds", type=int, default=5, help="number of rounds [default: 5]")
    p.add_argument("--threads", default="2", help="number of threads [default: 2]")
    p.add_argument("--cases", default=",".join(CASES), help="cases to time [default: all]")
    a = p.parse_args()
    print("| case | peer ms min / median | ours ms min / median | ratio of minima | ratio of medians | peer MiB | ours MiB |")
    print("|---|---|---|---|---|---|---|")
    for name in a.cases.split(","):
        case = CASES[name]
        graph = ["--random", case["random"]] if "random" in case else ["--data", f"{a.data}/{case['data']}"]
        shape = [str(case.get("hidden", 8)), str(case.get("out_heads", 8))]
        epochs = str(case["epochs"])
        peer = [a.python, a.peer, *graph, "--form", case["form"], "--epochs", epochs, "--threads", a.threads,
                "--hidden", shape[0], "--out-heads", shape[1]]
        model = "gat-go" if case["form"] == "go" else f"supergat-{case['form']}"
        ours_graph = graph if "random" in case else graph[1:]
        ours = [a.supergat, "profile", *ours_graph, "--model", model, "--epochs", str(5 * case["epochs"]), "--threads", a.threads,
                "--hidden", shape[0], "--output-heads", shape[1], *SAME, "--json"]
        rounds = [(run(peer), run(ours)) for _ in range(a.rounds)]
        def of(side, key):
            values = [r[side]["train_ms"][key] for r in rounds]
            return min(values) if key == "min" else statistics.median(values)
        memory = [max(r[side]["peak_rss_mib"] or 0 for r in rounds) for side in (0, 1)]
        print(f"| {name} | {of(0, 'min'):.1f} / {of(0, 'median'):.1f} | {of(1, 'min'):.2f} / {of(1, 'median'):.2f} "
              f"| {of(0, 'min') / of(1, 'min'):.1f}x | {of(0, 'median') / of(1, 'median'):.1f}x | {memory[0]} | {memory[1]} |", flush=True)


main()
