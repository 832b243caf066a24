#!/usr/bin/env python3
"""Makes the runs behind docs/results.md, and its tables from them.

    scripts/results.py --run           what is missing in docs/results.jsonl; stop it whenever you like
    scripts/results.py                 the tables, from what docs/results.jsonl holds

With `--supergat PATH` another command than `supergat`. Datasets are found as by `supergat train` (`SUPERGAT_DATA`).
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
MODELS = "gcn,sage,gat-go,supergat-sd,supergat-mx"
# Section of docs/results.md, then what `supergat reproduce` is asked for; the shorter ones first.
STAGES = [
    ("planetoid", ["planetoid", "--datasets", "cora,citeseer", "--models", MODELS, "--seeds", "100"]),
    ("real-world", ["real-world", "--datasets", "four-univ,cora-ml", "--models", MODELS, "--seeds", "100"]),
    ("planetoid", ["planetoid", "--datasets", "pubmed", "--models", MODELS, "--seeds", "10"]),
    ("real-world", ["real-world", "--datasets", "chameleon", "--models", MODELS, "--seeds", "100"]),
    ("real-world", ["real-world", "--datasets", "photo,dblp", "--models", MODELS, "--seeds", "20"]),
    ("real-world", ["real-world", "--datasets", "cs,computers,crocodile,physics", "--models", MODELS, "--seeds", "10"]),
    ("redrawn", ["real-world", "--datasets", "cora-ml,chameleon,photo", "--models", MODELS, "--seeds", "30", "--split", "redrawn"]),
    ("cgat", ["planetoid", "--datasets", "cora,citeseer", "--models", "gat-go,cgat", "--seeds", "100"]),
    ("cgat", ["planetoid", "--datasets", "pubmed", "--models", "gat-go,cgat", "--seeds", "10"]),
    ("full-supervised", ["full-supervised", "--models", "gat-go,supergat-mx,cgat-full-supervised", "--seeds", "10"]),
    ("ppi", ["ppi", "--models", MODELS + ",cgat", "--seeds", "3"]),
]


def reproduce(supergat: str, results: Path, out: str, arguments: list, *more: str) -> None:
    command = [supergat, "reproduce", *arguments, "--results", results, "--out", out, *more]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def rows(markdown: str) -> list:
    """The rows of a table that hold a number of ours, without the padding of their cells."""
    lines = [re.sub(r" *\| *", " | ", line).strip() for line in markdown.splitlines() if line.startswith("|")]
    return lines[:1] + [line for line in lines[2:] if not re.match(r"\|[^|]*\|[^|]*\| - \|", line)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true", help="make the missing runs first")
    parser.add_argument("--supergat", default="supergat", help="the command [default: supergat]")
    parser.add_argument("--results", type=Path, default=DOCS / "results.jsonl", help="the runs [default: docs/results.jsonl]")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        if args.run:
            for _, arguments in STAGES:
                reproduce(args.supergat, args.results, out, arguments)
        tables = {}
        for section, arguments in STAGES:
            reproduce(args.supergat, args.results, out, arguments, "--table-only", "--quiet")
            found = rows((Path(out) / f"{arguments[0]}.md").read_text())
            known = tables.setdefault(section, [])
            known += [row for row in found if row not in known]
    page = DOCS / "results.md"
    text = page.read_text()
    for section, table in tables.items():
        if len(table) > 1:
            table.insert(1, "|" + "---|" * (table[0].count("|") - 1))
        marks = f"<!-- {section} -->\n", f"<!-- end of {section} -->"
        body = "\n".join(table) if len(table) > 1 else "No runs yet."
        text = re.sub(re.escape(marks[0]) + ".*?" + re.escape(marks[1]), lambda _: marks[0] + body + "\n" + marks[1], text, flags=re.S)
    page.write_text(text)


if __name__ == "__main__":
    main()
