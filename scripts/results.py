#!/usr/bin/env python3
"""Runs the experiments of docs/studies/results.md and writes its tables.

    scripts/results.py --run           run what is missing in docs/studies/runs, then write the tables; resumable
    scripts/results.py                 write the tables from the runs in docs/studies/runs

Datasets are found as by `supergat train` (`SUPERGAT_DATA`).
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

from packed_runs import pack, unpack

STUDIES = Path(__file__).resolve().parent.parent / "docs" / "studies"
MODELS = "gcn,sage,gat-go,supergat-sd,supergat-mx"
# Section of docs/studies/results.md, then the arguments of `supergat reproduce`: table, datasets, models, seeds. Shorter runs first.
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
    ("systems", "planetoid", "cora,citeseer", "glcn,neuralsparse,gcn-gam,lds", "20"),
    ("systems", "planetoid", "pubmed", "glcn,neuralsparse,gcn-gam", "5"),
    ("full-supervised", "full-supervised", "cora,citeseer,pubmed", "gat-go,supergat-mx,cgat-full-supervised", "10"),
    ("ppi", "ppi", "ppi", MODELS + ",cgat", "3"),
]


def reproduce(supergat: str, results: Path, out: str, *more: str) -> dict:
    """Runs all stages, with one results file per dataset, and returns the table rows of every section."""
    tables = {}
    for section, table, datasets, models, seeds in STAGES:
        tables.setdefault(section, [])
        split = ["--split", "redrawn"] if section == "redrawn" else []
        for dataset in datasets.split(","):
            file = unpack(results / f"{dataset}.jsonl")
            if "--table-only" in more and not file.exists():
                continue
            asked = [table, "--datasets", dataset, "--models", models, "--seeds", seeds, *split]
            place = ["--results", file, "--out", out]
            subprocess.run([supergat, "reproduce", *asked, *place, *more], check=True, stdout=subprocess.DEVNULL)
            known = tables[section]
            known += [row for row in rows((Path(out) / f"{table}.md").read_text()) if row not in known]
    return tables


def summary(tables: dict) -> str:
    """Summarises how many judged cells are within the tolerance, and lists the others."""
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for table in tables.values() for row in table[1:]]
    judged = [cell for cell in cells if cell[-1].startswith(("within", "outside"))]
    outside = [f"{model} on {dataset} ({difference})" for dataset, model, _, _, _, difference, *_, verdict in judged if verdict.startswith("outside")]
    within = len(judged) - len(outside)
    share = f"{within} of {len(judged)} judged cells ({100 * within / len(judged):.0f} %) are within the tolerance."
    return "\n- ".join([f"{share} Outside:\n", *outside]) if outside else share


def rows(markdown: str) -> list:
    """Returns the header and the rows with a result of ours, without padding in the cells."""
    lines = [re.sub(r" *\| *", " | ", line).strip() for line in markdown.splitlines() if line.startswith("|")]
    return lines[:1] + [line for line in lines[2:] if not re.match(r"\|[^|]*\|[^|]*\| - \|", line)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true", help="run what is missing first")
    parser.add_argument("--supergat", default="supergat", help="supergat command [default: supergat]")
    parser.add_argument("--results", type=Path, default=STUDIES / "runs", help="folder with the runs [default: docs/studies/runs]")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        if args.run:
            reproduce(args.supergat, args.results, out)
        tables = reproduce(args.supergat, args.results, out, "--table-only", "--quiet")
    for file in args.results.glob("*.jsonl"):
        pack(file)
    page = STUDIES / "results.md"
    text = put(page.read_text(), "summary", summary(tables))
    for section, table in tables.items():
        line = "|" + "---|" * (table[0].count("|") - 1) if table else ""
        text = put(text, section, "\n".join([table[0], line, *table[1:]]) if len(table) > 1 else "No runs yet.")
    page.write_text(text)


def put(page: str, section: str, body: str) -> str:
    """Returns the page with the text between the markers of a section replaced by `body`."""
    begin, end = f"<!-- {section} -->\n", f"<!-- end of {section} -->"
    return re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: f"{begin}{body}\n{end}", page, flags=re.S)


if __name__ == "__main__":
    main()
