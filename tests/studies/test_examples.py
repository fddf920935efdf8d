"""The examples in the docstrings of the package run as they stand."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import satisfice.studies

MODULES = [module.name for module in pkgutil.walk_packages(satisfice.studies.__path__, "satisfice.studies.")] + [
    "satisfice.studies"
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
