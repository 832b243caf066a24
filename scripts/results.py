#!/usr/bin/env python3
"""Makes the runs behind docs/results.md, and its tables from them.

    scripts/results.py --run           what is missing in docs/results; stop it whenever you like
    scripts/results.py                 the tables, from what docs/results holds

With `--supergat PATH` another command than `supergat`. Datasets are found as by `supergat train` (`SUPERGAT_DATA`).
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
MODELS = "gcn,sage,gat-go,supergat-sd,supergat-mx"
# Section of docs/results.md, then what `supergat reproduce` is asked for: table, datasets, models, seeds. The shorter ones first.
STAGES = [
    ("planetoid", "planetoid", "cora,citeseer", MODELS, "100"),
    ("real-world", "real-world", "four-univ,cora-ml", MODELS, "100"),
    ("planetoid", "planetoid", "pubmed", MODELS, "10"),
    ("real-world", "real-world", "chameleon", MODELS, "100"),
    ("real-world", "real-world", "photo,dblp", MODELS, "20"),
    ("real-world", "real-world", "cs,computers,crocodile,physics", MODELS, "10"),
    ("redrawn", "real-world", "cora-ml,chameleon,photo", MODELS, "30"),
    ("cgat", "planetoid", "cora,citeseer", "gat-go,cgat", "100"),
    ("cgat", "planetoid", "pubmed", "gat-go,cgat", "10"),
    ("full-supervised", "full-supervised", "cora,citeseer,pubmed", "gat-go,supergat-mx,cgat-full-supervised", "10"),
    ("ppi", "ppi", "ppi", MODELS + ",cgat", "3"),
]


def reproduce(supergat: str, results: Path, out: str, *more: str) -> dict:
    """One stage after another, each dataset with a file of its own; gives the rows of every section."""
    tables = {}
    for section, table, datasets, models, seeds in STAGES:
        tables.setdefault(section, [])
        split = ["--split", "redrawn"] if section == "redrawn" else []
        for dataset in datasets.split(","):
            if "--table-only" in more and not (results / f"{dataset}.jsonl").exists():
                continue
            asked = [table, "--datasets", dataset, "--models", models, "--seeds", seeds, *split]
            place = ["--results", results / f"{dataset}.jsonl", "--out", out]
            subprocess.run([supergat, "reproduce", *asked, *place, *more], check=True, stdout=subprocess.DEVNULL)
            known = tables[section]
            known += [row for row in rows((Path(out) / f"{table}.md").read_text()) if row not in known]
    return tables


def rows(markdown: str) -> list:
    """The rows of a table that hold a number of ours, without the padding of their cells."""
    lines = [re.sub(r" *\| *", " | ", line).strip() for line in markdown.splitlines() if line.startswith("|")]
    return lines[:1] + [line for line in lines[2:] if not re.match(r"\|[^|]*\|[^|]*\| - \|", line)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true", help="make the missing runs first")
    parser.add_argument("--supergat", default="supergat", help="the command [default: supergat]")
    parser.add_argument("--results", type=Path, default=DOCS / "results", help="folder of the runs [default: docs/results]")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        if args.run:
            reproduce(args.supergat, args.results, out)
        tables = reproduce(args.supergat, args.results, out, "--table-only", "--quiet")
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
