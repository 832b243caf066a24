#!/usr/bin/env python3
"""Fails if a text line of a tracked Markdown file is longer than 110 columns, or a relative link leads nowhere.

    scripts/wrap-check.py

Not checked for width: code blocks, tables, headings, and lines that cannot be broken (an image, a link or a single word).
Links to headings are compared with the headings of the page. The links of CHANGELOG.md are those of their time.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 110
TABLE_OR_HEADING = re.compile(r"\s*(\||#)")
# An optional list marker, then one image, link or word with its punctuation.
UNBREAKABLE = re.compile(r"\s*([-*] |\d+\. )?(!?\[[^\]]*\]\([^)]*\)\S*|\S+)")


def long_lines(text: str):
    """Yields the number and the length of every line that is too long."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```|~~~)", line)
        if mark and fence in (None, mark[1]):
            fence = None if fence else mark[1]
        elif fence is None and len(line) > WIDTH and not TABLE_OR_HEADING.match(line) and not UNBREAKABLE.fullmatch(line):
            yield number, len(line)


LINK = re.compile(r"\]\(([^)\s:]*?)(?:#([^)\s]*))?\)")


def anchors(text: str) -> set:
    """Returns the names that links to the headings of a page have."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.S | re.M)
    headings = re.findall(r"^#+ +(.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(path: Path):
    """Yields every relative link of a page whose file or heading does not exist."""
    text = re.sub(r"^(```|~~~).*?^\1", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    for name, anchor in LINK.findall(text):
        target = path.parent / name if name else path
        if not target.exists() or anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            yield f"{name}#{anchor}" if anchor else name


def main() -> None:
    listed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = [name for name in listed.split("\0") if name and (ROOT / name).exists()]
    found = [
        f"{name}:{number}: {length} columns, at most {WIDTH} allowed"
        for name in files
        for number, length in long_lines((ROOT / name).read_text(encoding="utf-8"))
    ]
    found += [f"{name}: broken link {link}" for name in files if name != "CHANGELOG.md" for link in broken_links(ROOT / name)]
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
