"""The contract: who is known by an id."""

from __future__ import annotations

from satisfice.policies import all_policies


def test_tests_leave_no_policy_behind() -> None:
    """A policy of a test is defined with `register=False`, or within `with registered():`."""
    assert [cls for cls in all_policies().values() if not cls.__module__.startswith("satisfice.")] == []
