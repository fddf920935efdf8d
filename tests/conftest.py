"""Being here puts this folder on the import path, so that tests can share `stats` and `twins`.

Properties are tried on the same examples every time, so that a failure is the fault of the change at hand. To look for
new ones: `SATISFICE_EXPLORE=1 pytest`.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes depends on who else uses the machine.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("default" if os.environ.get("SATISFICE_EXPLORE") else "same")

# What is imported to collect the tests stays until the end: the garbage collector need not go through it again and
# again (a tenth of the time of all tests), nor copy it in every process that a test forks.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def no_policy_is_left_behind() -> Iterator[None]:
    """A policy of a test must not become a policy of the tests after it."""
    yield
    contract = sys.modules.get("satisfice.policies.contract")
    left = (
        []
        if contract is None
        else [c for c in contract.registry().values() if not c.__module__.startswith("satisfice.")]
    )
    assert left == [], "a test's policy says register=False, or is defined within registered()"
