"""Executes the Python blocks of the manual in order, in one namespace."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDE = ROOT / "docs" / "python.md"
PAGES = [ROOT / "docs" / "first-steps.md", ROOT / "docs" / "choosing-a-model.md", GUIDE]
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(not GUIDE.exists(), reason="needs a clone of the repository")


def blocks(text):
    """Return the line and the code of every block, without those marked no-run and those that need a missing package."""

    def runs(mark):
        package = mark.removeprefix("needs ")
        return mark == "" or package != mark and importlib.util.find_spec(package) is not None

    found = [(text.count("\n", 0, match.start()) + 1, match) for match in BLOCK.finditer(text)]
    return [(line, match[2]) for line, match in found if runs(match[1].strip())]


def pyg_like():
    """Return an object with the attributes of a ``torch_geometric.data.Data``."""
    ring = np.arange(30)
    links = np.stack([ring, (ring + 1) % 30])
    part = np.arange(30) % 3
    return SimpleNamespace(
        x=np.eye(30, dtype=np.float32),
        edge_index=np.concatenate([links, links[::-1]], axis=1),
        y=ring // 15,
        train_mask=part == 0,
        val_mask=part == 1,
        test_mask=part == 2,
    )


def test_every_block_of_the_manual_runs(tmp_path, monkeypatch):
    for name in ("pandas", "scipy", "sklearn", "networkx"):
        pytest.importorskip(name)
    subprocess.run([sys.executable, ROOT / "scripts" / "example-tables.py", tmp_path / "library"], check=True, timeout=600)
    monkeypatch.chdir(tmp_path)
    namespace = {"data": pyg_like()}
    found = [(page, *block) for page in PAGES for block in blocks(page.read_text(encoding="utf-8"))]
    assert len(found) > 22
    for page, line, code in found:
        # Blank lines in front keep the line numbers of the page in tracebacks.
        exec(compile("\n" * line + code, str(page), "exec"), namespace)
    assert str(namespace["training"]) in GUIDE.read_text(encoding="utf-8")
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_the_blocks_about_fraud_run(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    script = ROOT / "scripts" / "fraud-tables.py"
    subprocess.run([sys.executable, script, tmp_path / "fraud", "--accounts", "4000"], check=True, timeout=600)
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "studies" / "fraud.md"
    namespace = {}
    found = blocks(page.read_text(encoding="utf-8"))
    assert len(found) == 2
    for line, code in found:
        code = code.replace("seeds=3", "seeds=1, max_epochs=3")
        exec(compile("\n" * line + code, str(page), "exec"), namespace)
    assert len(namespace["suspicious"]) == 100
    assert namespace["graph"].num_edge_features > 0
