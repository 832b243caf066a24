"""Executes the notebooks with few seeds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"


def run(name, **environment):
    given = os.environ | {"SUPERGAT_QUICK": "1", "PYTHONIOENCODING": "utf-8"} | environment
    done = subprocess.run(
        [sys.executable, NOTEBOOKS / name], env=given, capture_output=True, text=True, encoding="utf-8", timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_own_frames_go_to_scores():
    pytest.importorskip("pandas")
    out = run("own_frames.py")
    assert "classified correctly" in out
    assert "is predicted to like" in out


def test_cora_is_trained_where_it_is_found():
    out = run("cora.py")
    place = os.environ.get("SUPERGAT_TEST_DATA")
    if place and (Path(place) / "cora").exists():
        assert "skipped" not in out
    assert "paired t-test" in out


def test_cora_is_replaced_where_it_is_missing(tmp_path):
    out = run("cora.py", SUPERGAT_TEST_DATA=str(tmp_path))
    assert out.startswith("skipped: ")
    assert "supergat-mx" in out
