#!/usr/bin/env python3
"""Prints the table of docs/studies/datasets.md: statistics by `supergat inspect`, compared with the paper.

    scripts/datasets.py --supergat target/release/supergat DATA_FOLDER
"""

import argparse
import json
import subprocess
from pathlib import Path

# Tables 6 and 7 of the paper: nodes, edges, features, classes, train, validation, test, mean and standard deviation of the
# degree, homophily.
PAPER = {
    "cora": (2708, 5429, 1433, 7, 140, 500, 1000, "3.90", "5.23", "0.83"),
    "citeseer": (3327, 4732, 3703, 6, 120, 500, 1000, "2.78", "3.39", "0.72"),
    "pubmed": (19717, 44338, 500, 3, 60, 500, 1000, "4.50", "7.43", "0.79"),
    "cora-ml": (2995, 8158, 2879, 7, 140, 210, 2645, "5.45", "8.24", "0.81"),
    "cora-full": (19793, 63421, 500, 70, 1395, 2049, 16349, "6.41", "8.79", "0.59"),
    "dblp": (17716, 52867, 1639, 4, 80, 120, 17516, "5.97", "9.35", "0.81"),
    "ogbn-arxiv": (169343, 1166243, 128, 40, 90941, 29799, 48603, "7.68", "9.05", "0.63"),
    "cs": (18333, 81894, 500, 15, 300, 450, 17583, "8.93", "9.11", "0.83"),
    "physics": (34493, 247962, 500, 5, 100, 150, 34243, "14.38", "15.57", "0.91"),
    "photo": (7650, 119081, 745, 8, 160, 240, 7250, "31.13", "47.27", "0.85"),
    "computers": (13752, 245861, 767, 10, 200, 300, 13252, "35.76", "70.31", "0.81"),
    "wiki-cs": (11701, 297110, 300, 10, 580, 1769, 5847, "26.40", "36.04", "0.68"),
    "four-univ": (4518, 3426, 2000, 6, 4014, 248, 256, "1.83", "1.71", "0.16"),
    "chameleon": (2277, 36101, 500, 6, 120, 180, 1977, "15.85", "18.20", "0.21"),
    "crocodile": (11631, 180020, 500, 6, 120, 180, 11331, "15.48", "15.97", "0.26"),
    "flickr": (89250, 449878, 500, 7, 44625, 22312, 22313, "10.08", "31.75", "0.32"),
    "ppi": (56944, 818716, 50, 121, 44906, 6514, 5524, "28.00", "39.26", "0.17"),
}


def ours(supergat: str, folder: Path) -> tuple:
    text = subprocess.run([supergat, "inspect", folder, "--json"], check=True, capture_output=True, text=True).stdout
    s = json.loads(text)
    names = ["nodes", "edges", "features", "classes", "train", "validation", "test"]
    numbers = [s["degree"]["mean"], s["degree"]["std"], s["homophily"]["node"]]
    return tuple(s[name] for name in names) + tuple(f"{number:.2f}" for number in numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder that contains the dataset folders")
    parser.add_argument("--supergat", default="supergat", help="supergat command [default: supergat]")
    args = parser.parse_args()
    print("| dataset | nodes | edges | features | classes | train | validation | test | degree | homophily | differs from the paper |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, paper in PAPER.items():
        folder = args.data / name
        found = ours(args.supergat, folder) if folder.is_dir() else None
        shown = found or paper
        cells = [str(cell) for cell in shown[:7]] + [f"{shown[7]} ± {shown[8]}", shown[9]]
        if found is None:
            note = "files not available: the paper's numbers"
        elif found == paper:
            note = "no"
        else:
            note = ", ".join(f"paper {p}, here {f}" for p, f in zip(paper, found) if p != f)
        print(f"| {name} | {' | '.join(cells)} | {note} |", flush=True)


if __name__ == "__main__":
    main()
