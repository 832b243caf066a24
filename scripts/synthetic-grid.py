#!/usr/bin/env python3
"""Runs the experiments of docs/studies/synthetic-grid.md and writes its figures and tables.

    scripts/synthetic-grid.py --run    run what is missing in docs/studies/runs/grid, then write; resumable
    scripts/synthetic-grid.py          write the figures and tables from the runs in docs/studies/runs/grid

Options that are not listed below are passed to `supergat study grid`.
"""

import argparse
import re
import shutil
import subprocess
import tempfile
import textwrap
from pathlib import Path

from packed_runs import pack, unpack

STUDIES = Path(__file__).resolve().parent.parent / "docs" / "studies"
RUNS = STUDIES / "runs" / "grid"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--run", action="store_true", help="run what is missing first")
    parser.add_argument("--supergat", default="supergat", help="supergat command [default: supergat]")
    # The default is a part of the grid that one machine completes in an afternoon.
    parser.add_argument("--homophilies", default="0.1,0.3,0.5,0.7,0.9", help="rows of the grid")
    parser.add_argument("--degrees", default="1,2.5,5,7.5,10,20", help="columns of the grid, one results file each")
    parser.add_argument("--seeds", default="30", help="graphs per cell")
    args, more = parser.parse_known_args()
    asked = [args.supergat, "study", "grid", "--redrawn", "--homophilies", args.homophilies, "--seeds", args.seeds, *more]
    files = {degree: unpack(RUNS / f"degree-{degree}.jsonl") for degree in args.degrees.split(",")}
    with tempfile.TemporaryDirectory() as folder:
        if args.run:
            RUNS.mkdir(exist_ok=True)
            for degree, file in files.items():
                subprocess.run([*asked, "--degrees", degree, "--results", file, "--out", folder], check=True, stdout=subprocess.DEVNULL)
        results = Path(folder) / "all.jsonl"
        results.write_text("".join(file.read_text() for file in files.values() if file.exists()))
        for file in filter(Path.exists, files.values()):
            pack(file)
        table = ["--degrees", args.degrees, "--results", results, "--out", folder, "--table-only", "--quiet"]
        subprocess.run([*asked, *table], check=True, stdout=subprocess.DEVNULL)
        for name in ["gains", "recipe"]:
            shutil.copyfile(f"{folder}/{name}.svg", STUDIES / f"figures/grid-{name}.svg")
        tables = (Path(folder) / "table.md").read_text()
    page = STUDIES / "synthetic-grid.md"
    # Remove the padding of cells and the rows of graphs that were not run, and wrap notes at 110 columns.
    lines = [re.sub(r" *\| *", " | ", line).strip() for line in tables.splitlines() if " | missing" not in line]
    lines = [re.sub(r"\| -+ (?=\|)", "|---", line) if set(line) <= set("| -") else line for line in lines]
    lines = [part for line in lines for part in wrapped(line)]
    marks = "<!-- tables -->", "<!-- end of tables -->"
    body = "\n".join([marks[0], *lines, marks[1]])
    page.write_text(re.sub(f"{marks[0]}.*?{marks[1]}", lambda _: body, page.read_text(), flags=re.S))


def wrapped(line: str) -> list:
    """Wraps the notes below a table; returns all other lines unchanged."""
    return textwrap.wrap(line, 110, subsequent_indent="  ") if line.startswith("- ") else [line]


if __name__ == "__main__":
    main()
