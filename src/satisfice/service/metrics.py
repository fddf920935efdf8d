"""Numbers for Prometheus, right with several workers.

What happens is counted where it happens; with several workers prometheus-client adds the counts up, from files in
`PROMETHEUS_MULTIPROC_DIR`. What a study is like is read from the storage when it is asked for, so every worker and
every replica says the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from satisfice.studies import Status

CONTENT_TYPE = CONTENT_TYPE_LATEST
STATES = ("exploring", "certified", "none", "settled")
# So many studies are described at most: those with decisions since the service was started.
MOST_STUDIES = 200
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_CALLERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """What is counted."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "satisfice_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "satisfice_request_seconds",
            "Seconds until a request was answered.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._decisions = Counter(
            "satisfice_decisions", "Decisions handed out.", ("study", "arm"), registry=self._registry
        )
        self._rewards = Counter(
            "satisfice_rewards", "Rewards that changed something.", ("study",), registry=self._registry
        )
        self._callers = Histogram(
            "satisfice_commit_callers", "Callers that shared a commit.", buckets=_CALLERS, registry=self._registry
        )
        self._commits = Histogram(
            "satisfice_commit_seconds", "Seconds that a transaction took.", buckets=_SECONDS, registry=self._registry
        )
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._arms: dict[tuple[str, str], Counter] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        found = self._children.get((method, route, status))
        if found is None:
            found = self._requests.labels(method, route, str(status)), self._seconds.labels(method, route)
            self._children[method, route, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def decided(self, study: str, arm: str, count: int = 1) -> None:
        """Decisions were handed out."""
        child = self._arms.get((study, arm))
        if child is None:
            if len(self._arms) > 10_000:
                self._arms.clear()
            child = self._arms[study, arm] = self._decisions.labels(study, arm)
        child.inc(count)

    def told(self, study: str, count: int) -> None:
        """Rewards were counted."""
        if count:
            self._rewards.labels(study).inc(count)

    def committed(self, callers: int, seconds: float) -> None:
        """A transaction is durable."""
        self._callers.observe(callers)
        self._commits.observe(seconds)

    def page(self, look: Callable[[str], tuple[Status, float] | None]) -> bytes:
        """All numbers as Prometheus reads them. `look` gives the status of a study and the age of its oldest open
        decision; None: it is gone."""
        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            from prometheus_client import multiprocess

            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        counted = list(registry.collect())
        whole = CollectorRegistry()
        whole.register(_Families([*counted, *_described(_names(counted), look)]))
        return generate_latest(whole)


class _Families(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _names(families: list[Metric]) -> list[str]:
    """The studies with decisions."""
    names: dict[str, None] = {}
    for family in families:
        if family.name == "satisfice_decisions":
            names.update((sample.labels["study"], None) for sample in family.samples)
    return list(names)[:MOST_STUDIES]


def _described(names: list[str], look: Callable[[str], tuple[Status, float] | None]) -> Iterator[Metric]:
    def gauge(name: str, what: str, *labels: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(f"satisfice_study_{name}", what, labels=["study", *labels])

    pulls = gauge("pulls", "Rewards counted.", "arm")
    pending = gauge("pending", "Decisions without a reward yet.", "arm")
    dropped = gauge("expired", "Decisions that were abandoned, or expired and count as nothing.", "arm")
    spend = gauge("spend", "Cost of all decisions.", "arm")
    saving = gauge("saving", "What all decisions would have cost on the dearest arm, less what they did.")
    verdict = gauge("verdict", "1 for the state of the verdict.", "state")
    sure = gauge("sure", "Proved: how sure the leader is.")
    age = gauge("oldest_open_seconds", "Age of the oldest open decision; 0 where none is open.")
    for name in names:
        seen = look(name)
        if seen is None:
            continue
        status, oldest = seen
        for arm in status.arms:
            pulls.add_metric([name, arm.name], arm.pulls)
            pending.add_metric([name, arm.name], arm.pending)
            dropped.add_metric([name, arm.name], arm.dropped)
            spend.add_metric([name, arm.name], arm.spent)
        saving.add_metric([name], status.spending.dearest - status.spending.total)
        for state in STATES:
            verdict.add_metric([name, state], float(status.verdict.state == state))
        sure.add_metric([name], status.verdict.sure)
        age.add_metric([name], oldest)
    yield from (pulls, pending, dropped, spend, saving, verdict, sure, age)
