#!/usr/bin/env python3
"""Writes the example of docs/your-own-graph.md: a library whose members lend books to each other.

    python3 scripts/example-tables.py FOLDER

FOLDER/members: nodes.csv and edges.csv of 300 members; about a third have a label (their favourite genre).
FOLDER/newcomers: the same tables for 40 members of another branch, without labels.
"""
import csv
import pathlib
import random
import sys

GENRES = ["crime", "history", "science fiction"]
TOWNS = ["Aldbury", "Brook", "Cawston", "Dunmore"]
rng = random.Random(7)


def member(genre):
    """Draws age, town and loans per year, which depend weakly on the genre."""
    age = round(rng.gauss([48, 61, 36][genre], 11))
    town = TOWNS[genre] if rng.random() < 0.4 else rng.choice(TOWNS)
    loans = max(1, round(rng.gauss([14, 9, 22][genre], 6)))
    return [max(16, age), town, loans]


def write(folder, prefix, count, labels):
    folder.mkdir(parents=True, exist_ok=True)
    genres = [rng.randrange(len(GENRES)) for _ in range(count)]
    ids = [f"{prefix}{k:03}" for k in range(count)]
    with open(folder / "nodes.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id"] + (["label"] if labels else []) + ["age", "town", "loans"])
        for name, genre in zip(ids, genres):
            label = [GENRES[genre] if rng.random() < 0.35 else ""] if labels else []
            out.writerow([name] + label + member(genre))
    with open(folder / "edges.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["source", "target"])
        for k in range(count):
            for _ in range(3):
                # Three of four links join members with the same favourite genre.
                same = rng.random() < 0.75
                others = [j for j in range(count) if j != k and (genres[j] == genres[k]) == same]
                out.writerow([ids[k], ids[rng.choice(others)]])


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1])
    write(place / "members", "m", 300, True)
    write(place / "newcomers", "n", 40, False)
