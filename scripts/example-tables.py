#!/usr/bin/env python3
"""Writes the example of docs/your-own-graph.md: a small town's library, whose members lend books to each other.

    python3 scripts/example-tables.py FOLDER

FOLDER/members: 300 members with nodes.csv and edges.csv; a third of them have told what they like to read.
FOLDER/newcomers: 40 members of another branch, of whom nobody has.
"""
import csv
import pathlib
import random
import sys

GENRES = ["crime", "history", "science fiction"]
TOWNS = ["Aldbury", "Brook", "Cawston", "Dunmore"]
dice = random.Random(7)


def member(genre):
    """Age, town and loans a year lean a little towards what somebody reads."""
    age = round(dice.gauss([48, 61, 36][genre], 11))
    town = TOWNS[genre] if dice.random() < 0.4 else dice.choice(TOWNS)
    loans = max(1, round(dice.gauss([14, 9, 22][genre], 6)))
    return [max(16, age), town, loans]


def write(folder, prefix, count, labels):
    folder.mkdir(parents=True, exist_ok=True)
    genres = [dice.randrange(len(GENRES)) for _ in range(count)]
    ids = [f"{prefix}{k:03}" for k in range(count)]
    with open(folder / "nodes.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id"] + (["label"] if labels else []) + ["age", "town", "loans"])
        for name, genre in zip(ids, genres):
            told = [GENRES[genre] if dice.random() < 0.35 else ""] if labels else []
            out.writerow([name] + told + member(genre))
    with open(folder / "edges.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["source", "target"])
        for k in range(count):
            for _ in range(3):
                # Three in four books go to somebody with the same taste.
                same = dice.random() < 0.75
                others = [j for j in range(count) if j != k and (genres[j] == genres[k]) == same]
                out.writerow([ids[k], ids[dice.choice(others)]])


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1])
    write(place / "members", "m", 300, True)
    write(place / "newcomers", "n", 40, False)
