#!/usr/bin/env python3
"""Makes the runs behind docs/synthetic-grid.md, and its figures and tables from them.

    scripts/synthetic-grid.py --run    what is missing in docs/results/grid.jsonl; stop it whenever you like
    scripts/synthetic-grid.py          figures and tables, from what docs/results/grid.jsonl holds

With `--supergat PATH` another command than `supergat`. Other options go to `supergat study grid`, for instance `--degrees 75,100`.
"""

import argparse
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
# A part of the grid that one machine does in an afternoon; options after these win.
GRAPHS = {"--homophilies": "0.1,0.3,0.5,0.7,0.9", "--degrees": "1,2.5,5,10,20,40"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--run", action="store_true", help="make the missing runs first")
    parser.add_argument("--supergat", default="supergat", help="the command [default: supergat]")
    args, more = parser.parse_known_args()
    graphs = [part for option in GRAPHS.items() if option[0] not in more for part in option]
    asked = [args.supergat, "study", "grid", "--results", DOCS / "results/grid.jsonl", *graphs, *more]
    with tempfile.TemporaryDirectory() as folder:
        out = ["--out", folder]
        if args.run:
            subprocess.run([*asked, *out], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*asked, *out, "--table-only", "--quiet"], check=True, stdout=subprocess.DEVNULL)
        (DOCS / "figures").mkdir(exist_ok=True)
        for name in ["gains", "recipe"]:
            shutil.copyfile(f"{folder}/{name}.svg", DOCS / f"figures/grid-{name}.svg")
        tables = (Path(folder) / "table.md").read_text()
    page = DOCS / "synthetic-grid.md"
    # Without the padding of cells, and without rows of graphs that were not run.
    lines = [re.sub(r" *\| *", " | ", line).strip() for line in tables.splitlines() if " | missing" not in line]
    lines = [re.sub(r"\| -+ (?=\|)", "|---", line) if set(line) <= set("| -") else line for line in lines]
    marks = "<!-- tables -->", "<!-- end of tables -->"
    body = "\n".join([marks[0], *lines, marks[1]])
    page.write_text(re.sub(f"{marks[0]}.*?{marks[1]}", lambda _: body, page.read_text(), flags=re.S))


if __name__ == "__main__":
    main()
