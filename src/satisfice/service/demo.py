"""A fleet of LLM calls that nobody makes: studies for the dashboard to show, with all that goes wrong in practice.

Accuracies and prices are those of LLMRouterBench on GPQA (`llm-routing:GPQA`). Some hours of the past are made up in a
second or two; then the fleet goes on in the time of the clock: answers are judged late, some never, one model's
provider is down, one price is cut and one model gets worse. A smaller study beside it is proved within a minute.
"""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable

import numpy as np

from satisfice.errors import SatisficeError
from satisfice.instances import load_instance
from satisfice.problem import BestReward, FixedThreshold, ReferenceArm, Setting
from satisfice.studies import create_study
from satisfice.studies.changer import signed
from satisfice.studies.storages import Storage

LOGGER = logging.getLogger("satisfice.demo")
HOURS = 6.0  # that are made up
NEVER = 0.02  # share of answers that nobody judges
FAILING, DEARER, CHEAPER, WORSE = "Intern-S1", "Claude-v4", "GPT-5", "DS-V3.1-Tms"
BUYER = "procurement (sf_demo0001)"


class Callers:
    """Those who call one study: in simulated time at first, then in that of the clock."""

    def __init__(
        self, storage: Storage, name: str, arms: dict[str, tuple[float, float]], setting: Setting, *, late: float
    ) -> None:
        self.means = {arm: mean for arm, (_, mean) in arms.items()}
        self.failing: set[str] = set()
        self.late = late  # seconds until an answer is judged, on average
        self._rng = np.random.default_rng([len(name), len(arms)])
        self._now: float | None = time.time() - 3600.0 * HOURS
        self._due: list[tuple[float, int, float | None]] = []
        self.study = create_study(
            name,
            {arm: cost for arm, (cost, _) in arms.items()},
            setting,
            confidence=0.95 if name == "invoices" else None,  # what is worth a proof
            storage=storage,
            binary=True,
            baseline=CHEAPER if CHEAPER in arms else list(arms)[-1],
            mature_after=10 * late,
            expire_after=600.0,
            seed=1,
            clock=self.time,
        )

    def time(self) -> float:
        """The time of the study."""
        return time.time() if self._now is None else self._now

    def call(self, count: int) -> None:
        """So many calls: an arm for each, and its judgement when it comes."""
        now = self.time()
        for decision in self.study.ask_many(count):
            if decision.arm in self.failing:
                heapq.heappush(self._due, (now + 2.0, decision.id, None))
            elif self._rng.random() > NEVER:
                reward = float(self._rng.random() < self.means[decision.arm])
                heapq.heappush(self._due, (now + float(self._rng.exponential(self.late)), decision.id, reward))

    def judge(self) -> None:
        """Tell what is due."""
        now, told = self.time(), {}
        while self._due and self._due[0][0] <= now:
            _, number, reward = heapq.heappop(self._due)
            if reward is None:
                self.study.abandon(number)
            else:
                told[number] = reward
        if told:
            self.study.tell_many(told)

    def pass_by(self, part: float, count: int, stop: threading.Event) -> None:
        """A part of the past, with so many calls."""
        assert self._now is not None
        steps = max(count // 5, 1)
        for _ in range(steps):
            self._now += 3600.0 * HOURS * part / steps
            self.call(5)
            self.judge()
            if stop.is_set():
                return

    def arrive(self) -> None:
        """From now on the time is that of the clock."""
        self._now = None

    def act(self, count: int) -> None:
        """So many calls now; a study that somebody closed or deleted on its page is left alone."""
        try:
            if count:
                self.call(count)
            self.judge()
        except SatisficeError as error:
            LOGGER.info("the fleet waits: %s", error)
            self._due.clear()


class Fleet:
    """All callers, and the story that they live through."""

    def __init__(self, storage: Storage, *, rate: float = 30.0, past: int = 2_400) -> None:
        instance = load_instance("llm-routing:GPQA")
        pairs = zip(instance.costs.tolist(), instance.means.tolist(), strict=True)
        models = dict(zip(map(str, instance.names), pairs, strict=True))
        readers = {"budget-ocr": (0.4, 0.45), "cloud-ocr": (1.5, 0.93), "in-house": (6.0, 0.94)}
        ways = {"mail": (0.01, 0.18), "push": (0.02, 0.26), "sms": (0.6, 0.41)}
        writers = {"small": (0.2, 0.81), "middle": (1.5, 0.86), "large": (8.0, 0.88)}
        self.rate, self.past = rate, past
        self.summaries = Callers(storage, "summaries", writers, BestReward(alpha=0.05), late=1.0)
        self.reminders = Callers(storage, "reminders", ways, FixedThreshold(0.3), late=1.0)
        self.invoices = Callers(storage, "invoices", readers, ReferenceArm("in-house", alpha=0.15), late=0.5)
        self.answers = Callers(storage, "support-answers", models, BestReward(alpha=0.2), late=12.0)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def make_up(self, *, whole: bool = False) -> None:
        """The hours that were: a provider is down, a price rose. With `whole`, all that `go` does later happened, too,
        and what will be proved is."""
        answers, stop = self.answers, self._stop
        answers.failing.add(FAILING)
        deeds: list[Callable[[], object]] = [lambda: answers.study.set_cost(DEARER, 3.1)]
        if whole:
            deeds += [self.cut, self.worsen]
        for deed in deeds:
            answers.pass_by(1.0 / (len(deeds) + 1), self.past // (len(deeds) + 1), stop)
            with signed(BUYER):
                deed()
        answers.pass_by(1.0 / (len(deeds) + 1), self.past // (len(deeds) + 1), stop)
        for callers, count in ((self.invoices, 4_000 if whole else 250), (self.reminders, 160), (self.summaries, 700)):
            callers.pass_by(1.0, count, stop)
        for callers in (answers, self.invoices, self.reminders):
            callers.arrive()
        with signed("oncall (sf_demo0002)"):
            self.summaries.study.pause()

    def cut(self) -> None:
        """A price is cut."""
        with signed(BUYER):
            self.answers.study.set_cost(CHEAPER, 3.97)

    def worsen(self) -> None:
        """A model gets worse."""
        self.answers.means[WORSE] = 0.55

    def go(self, *, cut_after: float = 45.0, worse_after: float = 150.0) -> None:
        """Make up the past, then call until `stop`."""
        self.make_up()
        began = time.monotonic()
        due, cut = began, False
        while not self._stop.wait(0.2):
            now = time.monotonic()
            if not cut and now - began > cut_after:
                cut = True
                self.cut()
            if now - began > worse_after:
                self.worsen()
            count = int(min((now - due) * self.rate, 2 * self.rate))
            due = max(due + count / self.rate, now - 2.0)
            self.answers.act(count)
            self.invoices.act(count // 4)

    def start(self) -> None:
        """Go on in a thread of its own."""
        self._thread = threading.Thread(target=self.go, name="satisfice-demo", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Call no more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10.0)
