"""A study for a route: in memory, in a database, or behind a service, with the same few methods."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from satisfice.errors import InvalidStudy, StudyExists
from satisfice.problem import Setting
from satisfice.studies.leased import LeasedStudy
from satisfice.studies.records import Outcome
from satisfice.studies.serving import SESSION_TTL
from satisfice.studies.storages import Storage


@dataclass(frozen=True)
class StudyTerms:
    """What study it is: its name, where it is kept, what is good enough, and further options of `create_study`."""

    name: str
    setting: Setting
    storage: str | Storage | None = None
    key: str | None = None
    policy: str = "glr"
    options: Mapping[str, Any] = field(default_factory=dict)
    patience: float = 2.0

    @property
    def session_ttl(self) -> float:
        """Seconds for which a session keeps its arm."""
        return float(self.options.get("session_ttl") or SESSION_TTL)

    @property
    def rewards(self) -> tuple[float, float]:
        """The lowest and the highest possible reward."""
        low, high = self.options.get("rewards") or (0.0, 1.0)
        return float(low), float(high)

    @property
    def remote(self) -> bool:
        """Whether the study is behind a service."""
        return isinstance(self.storage, str) and self.storage.startswith(("http://", "https://"))


class Opened(Protocol):
    """A study that is open. Ids of decisions are texts."""

    @property
    def leased(self) -> LeasedStudy:
        """The study with decisions that are taken in advance."""

    def ask(self, session: str | None, available: Collection[str]) -> tuple[str, str]:
        """A decision by a trip to the study: its id and its arm."""

    def arms(self) -> set[str]:
        """The names of the arms that may be served."""

    def add_arm(self, name: str, cost: float) -> None:
        """Add an arm, or bring a retired one back."""

    def retire_arm(self, name: str) -> None:
        """Take an arm out."""

    def give_back(self, decision: str) -> None:
        """Say that a decision was not used."""

    def bill(self, costs: Mapping[str, float]) -> set[str]:
        """Add what decisions have cost to those that were told without a cost, by another process; answers with
        which were told by now."""

    def record(self, arm: str, reward: float, cost: float, key: str) -> None:
        """Count a decision that somebody else made."""

    def status(self) -> object:
        """The status of the study."""

    def close(self) -> None:
        """Send what is left, and let go."""


def open_study(terms: StudyTerms, arms: Mapping[str, float]) -> Opened:
    """Open the study, and make it where there is none.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> opened = open_study(StudyTerms("answers", BestReward(0.1)), {"small": 0.001, "large": 0.01})
    >>> sorted(opened.arms())
    ['large', 'small']
    >>> opened.close()
    """
    return ServiceStudy(terms, arms) if terms.remote else StoredStudy(terms, arms)


class StoredStudy:
    """A study in a storage."""

    def __init__(self, terms: StudyTerms, arms: Mapping[str, float]) -> None:
        from satisfice.studies import create_study, get_storage, load_study

        place = get_storage(terms.storage)
        options = {"policy": terms.policy, "costs": "told", **terms.options, "storage": place}
        try:
            self.study = create_study(terms.name, arms, terms.setting, **options)
        except StudyExists:
            # The deployments may be others than those that it began with; all other terms must be these.
            with load_study(terms.name, place) as study:
                first = dict(study.config.arms)
            self.study = create_study(terms.name, first, terms.setting, **options, load_if_exists=True)
        self._patience = terms.patience

    @cached_property
    def leased(self) -> LeasedStudy:
        return self.study.leased(patience=self._patience)

    def ask(self, session: str | None, available: Collection[str]) -> tuple[str, str]:
        made = self.study.ask(session=session, available=tuple(available))
        return str(made.id), made.arm

    def arms(self) -> set[str]:
        return set(self.study.arms)

    def add_arm(self, name: str, cost: float) -> None:
        if name not in self.study.arms:
            self.study.add_arm(name, cost)

    def retire_arm(self, name: str) -> None:
        self.study.retire_arm(name)

    def give_back(self, decision: str) -> None:
        self.leased.unused(decision)

    def bill(self, costs: Mapping[str, float]) -> set[str]:
        numbers = {int(number): cost for number, cost in costs.items() if number.isdigit()}
        rows = self.study._look(lambda view: view.find(list(numbers)))
        told = {number: row for number, row in rows.items() if row.outcome == Outcome.TOLD}
        for number, row in told.items():
            if row.told_cost is None and row.reward is not None:
                # The same reward again: nothing is corrected but the cost.
                self.study.tell(number, row.reward, numbers[number], correct=True)
        return {str(number) for number in told}

    def record(self, arm: str, reward: float, cost: float, key: str) -> None:
        self.study.record(arm, reward, cost, key=key)

    def status(self) -> object:
        return self.study.status()

    def close(self) -> None:
        try:
            if "leased" in vars(self):
                self.leased.close()
        finally:
            self.study.close()


class ServiceStudy:
    """A study behind a service."""

    def __init__(self, terms: StudyTerms, arms: Mapping[str, float]) -> None:
        from satisfice.client import connect

        key = terms.key or os.environ.get("SATISFICE_KEY")
        self._client = connect(str(terms.storage), key, timeout=10.0, tries=2)
        options = {"costs": "told", **terms.options}
        try:
            self.study = self._client.create_study(terms.name, arms, terms.setting, terms.policy, **options)
        except StudyExists:
            self.study = self._client.study(terms.name)
            theirs = Setting.from_dict(self.study.terms()["setting"])
            if theirs != terms.setting:
                raise InvalidStudy(
                    f"the study {terms.name!r} is there already with other terms: its setting is {theirs}, not "
                    f"{terms.setting}; choose another name",
                    parameter="setting",
                ) from None
        self._patience = terms.patience

    @cached_property
    def leased(self) -> LeasedStudy:
        return self.study.leased(patience=self._patience)

    def ask(self, session: str | None, available: Collection[str]) -> tuple[str, str]:
        made = self.study.ask(session=session, available=tuple(available))
        return made.id, made.arm

    def arms(self) -> set[str]:
        return set(self.study.terms()["arms"])

    def add_arm(self, name: str, cost: float) -> None:
        if name not in self.arms():
            self.study.add_arm(name, cost)

    def retire_arm(self, name: str) -> None:
        self.study.retire_arm(name)

    def give_back(self, decision: str) -> None:
        self.leased.unused(decision)

    def bill(self, costs: Mapping[str, float]) -> set[str]:
        return set()  # the service does not say what was told

    def record(self, arm: str, reward: float, cost: float, key: str) -> None:
        self.study.record(arm, reward, cost, key=key)

    def status(self) -> object:
        return self.study.status()

    def close(self) -> None:
        try:
            if "leased" in vars(self):
                self.leased.close()
        finally:
            self._client.close()
