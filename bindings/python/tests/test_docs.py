"""Examples in docstrings are true."""

import doctest
import importlib

import pytest

MODULES = ("", "._frames", "._progress", ".estimator", ".graph", ".studies", ".training")


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    module = importlib.import_module("supergat" + name)
    failed, _ = doctest.testmod(module)
    assert failed == 0
