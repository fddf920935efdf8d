"""One group of deployments, routed by one study.

A call takes a decision from stock and gets the deployments of its arm; when it has ended, its reward and what it has
cost go to the study in the background. Nothing here waits on an event loop: what needs the study's storage is done in
threads (`Route.ask`), by whoever has no decision in stock.
"""

from __future__ import annotations

import heapq
import logging
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol, cast

from satisfice.errors import InvalidReward, InvalidStudy, StorageError
from satisfice.integrations.routing.deployments import Arm, Deployment, Lookup, deployment_id, read_arms
from satisfice.integrations.routing.opening import Opened, StudyTerms, open_study
from satisfice.integrations.routing.sessions import Session, Sessions, drawn
from satisfice.integrations.routing.tickets import Recent, Ticket, Tickets

log = logging.getLogger("satisfice.routing")

# The deployments of a group are compared with the arms of its study after so many seconds.
COMPARE = 2.0
# Tickets are looked through after so many seconds. A reward waits for the end of its call for so long at most.
SWEEP, GRACE = 5.0, 60.0
# What a problem is called is said again after so many seconds.
AGAIN = 60.0
# For so many seconds it is known which arms have failed a call that is tried again.
FAILURES = 60.0
# After a trip to the study that failed, nobody waits for another for so many seconds.
REST = 5.0
# Whether another process was told the reward of a call is looked at after so many seconds, then after twice as many, up
# to the longest gap; so many calls at a time.
FIRST_LOOK, LONGEST_GAP, LOOKS = 2.0, 300.0, 500


class Deployments(Protocol):
    """Where all deployments of a group are named, those that rest included; None where nobody knows."""

    def __call__(self, group: str, healthy: Sequence[Deployment]) -> Sequence[Deployment] | None: ...


class Route:
    """The study of a group, as a router uses it.

    Parameters
    ----------
    group : str
        The name that callers ask for.
    terms : StudyTerms
        What study it is, and where.
    lookup : callable
        A map of prices.
    everything : callable
        All deployments of the group.
    tokens : (int, int)
        Tokens of a call, in and out, for first guesses.
    share : float
        The share of calls that get a decision of the study; the others get its leader. Below 1 where a judge grades
        only some of the answers.
    lost_after : float
        Seconds after which a call that was not heard of again counts as nothing.
    """

    def __init__(
        self,
        group: str,
        terms: StudyTerms,
        *,
        lookup: Lookup,
        everything: Deployments,
        tokens: tuple[int, int] = (800, 300),
        share: float = 1.0,
        sessions: bool = True,
        lost_after: float = 600.0,
    ) -> None:
        self.group, self.terms, self.share, self.lost_after = group, terms, share, lost_after
        self.sessions = Sessions(terms.session_ttl) if sessions else None
        self.tickets = Tickets()
        self.counts: Counter[str] = Counter()  # calls by what was done, and problems by what they were
        self.served: Counter[str] = Counter()  # calls by arm, those without a decision, too
        self.dollars: dict[str, float] = {}  # what they have cost
        self._lookup, self._everything, self._tokens = lookup, everything, tokens
        self._arms: dict[str, Arm] = {}
        self._arm_of: dict[str, str] = {}
        self._healthy: Sequence[Deployment] = ()  # as of the last call
        self._unknown = False  # whether it had a deployment that was not known
        self._opened: Opened | None = None
        self._lock, self._random = threading.Lock(), random.Random()
        self._compared = self._swept = self._away = 0.0
        self._said: dict[str, float] = {}
        self._failures = Recent(FAILURES)
        self._unrewarded: list[tuple[float, str, float]] = []  # when to look whether another process was told
        self._closing = threading.Event()
        self.notes = Recent(FAILURES)  # what was decided, by call, for whoever answers it

    # Choose

    @property
    def away(self) -> bool:
        """Whether a trip to the study failed just now, so that nobody should wait for another."""
        return time.monotonic() < self._away

    def missed(self) -> None:
        """A trip to the study failed."""
        self._away = time.monotonic() + REST

    @property
    def opened(self) -> bool:
        """Whether the study was opened."""
        return self._opened is not None

    @property
    def study(self) -> Opened:
        """The study, once a call has opened it."""
        if self._opened is None:
            raise StorageError(f"the study {self.terms.name!r} was not opened yet: no call has been made")
        return self._opened

    def ready(self, healthy: Sequence[Deployment], session: Session | None, failed: Collection[str]) -> Ticket | None:
        """A ticket that needs no trip to the study; None where it takes one. It never waits."""
        now = time.monotonic()
        if self._opened is None:
            return None
        self._healthy = healthy
        arms = self._playable(healthy, failed)
        if not arms or self._unknown:
            return None
        if session is not None and self.sessions is not None:
            kept = self.sessions.find(session)
            if kept is not None:
                # The study hears of a session in its second turn, and again before it forgets it.
                known = session.turns == 0 if kept.bound is None else now - kept.bound < 0.5 * self.sessions.ttl
                if kept.arm not in arms or not known:
                    return None
                arms = {kept.arm: arms[kept.arm]}
            elif session.named or session.turns:
                return None
        decision = self._opened.leased.ready(arms)
        if decision is None:
            return None
        return self._ticket(decision.id, decision.arm, arms[decision.arm], session, bound=False)

    def ask(self, healthy: Sequence[Deployment], session: Session | None, failed: Collection[str]) -> Ticket | None:
        """A ticket by a trip to the study, in a thread; None where none of these deployments has an arm."""
        if self._opened is None or self._unknown:
            self.compare(healthy)
        found = self.ready(healthy, session, failed)
        if found is not None:
            return found
        arms = self._playable(healthy, failed)
        if not arms:
            return None
        opened = self.study
        kept = self.sessions.find(session) if session is not None and self.sessions is not None else None
        if kept is None and (session is None or not (session.named or session.turns)):
            decision = opened.leased.ask() if len(arms) == len(self._arms) else None
            if decision is not None and decision.arm in arms:
                return self._ticket(decision.id, decision.arm, arms[decision.arm], session, bound=False)
            if decision is not None:
                opened.leased.put_back(decision)
            made = opened.ask(None, arms)
            return self._ticket(made[0], made[1], arms[made[1]], session, bound=False)
        mine = {kept.arm} if kept is not None and kept.arm in arms and session and not session.named else arms
        made = opened.ask(session.key if session is not None else None, mine)
        return self._ticket(made[0], made[1], arms[made[1]], session, bound=True)

    def leader(self, healthy: Sequence[Deployment], session: Session | None) -> tuple[str, frozenset[str]] | None:
        """The arm of a call that no reward will come of: that of its session, or the study's leader."""
        if self._opened is None:
            return None
        arms = self._playable(healthy, ())
        kept = self.sessions.find(session) if session is not None and self.sessions is not None else None
        name = kept.arm if kept is not None and kept.arm in arms else self._opened.leased.leader
        if name is None or name not in arms:
            return None
        if session is not None and self.sessions is not None:
            self.sessions.keep(session, name, bound=False)
        self.counts["leader"] += 1
        return name, arms[name]

    def sampled(self, session: Session | None) -> bool:
        """Whether a call gets a decision; all calls of a session do, or none."""
        if self.share >= 1.0:
            return True
        return (self._random.random() if session is None else drawn(session)) < self.share

    def _ticket(self, number: str, arm: str, ids: frozenset[str], session: Session | None, *, bound: bool) -> Ticket:
        ticket = Ticket(number, arm, ids)
        self.tickets.add(ticket)
        if session is not None and self.sessions is not None:
            self.sessions.keep(session, arm, bound=bound)
        self.counts["decided"] += 1
        return ticket

    def _playable(self, healthy: Sequence[Deployment], failed: Collection[str]) -> dict[str, frozenset[str]]:
        """The arms that these deployments are of, and their ids; without those that failed, where others are left."""
        found: dict[str, list[str]] = {}
        for deployment in healthy:
            number = deployment_id(deployment)
            arm = self._arm_of.get(number)
            if arm is None:
                self._unknown = True  # a deployment that is new: a comparison is due
            elif arm:
                found.setdefault(arm, []).append(number)
        left = {arm: frozenset(ids) for arm, ids in found.items() if arm not in failed}
        return left or {arm: frozenset(ids) for arm, ids in found.items()}

    # Arms

    def compare(self, healthy: Sequence[Deployment]) -> None:
        """Open the study if that was not done yet, and bring its arms up to date with the deployments of the group."""
        with self._lock:
            if self._opened is not None and not self._unknown and time.monotonic() - self._compared < COMPARE:
                return
            every = self._everything(self.group, healthy)
            arms = read_arms(every if every is not None else healthy, self._lookup, self._tokens)
            priced = self._priced(arms)
            if self._opened is None:
                if not priced:
                    raise InvalidStudy(f"no deployment of the group {self.group!r} has a known price")
                threading.Thread(target=self._look_after, name="satisfice-route", daemon=True).start()
                self._opened = open_study(self.terms, {arm.name: arm.guess or 0.0 for arm in priced.values()})
                known = self._opened.arms()
                gone = [name for name in known if name not in arms] if every is not None else []
            else:
                known = set(self._arms)
                gone = [name for name in known if name not in arms] if every is not None else []
            self._change([arm for arm in priced.values() if arm.name not in known], gone)
            if every is None:
                arms, priced = {**self._arms, **arms}, {**self._arms, **priced}
            self._arms = priced
            self._arm_of = {number: arm.name for arm in priced.values() for number in arm.ids}
            # Those without a price have no arm, and are not compared again and again.
            for number in (*(n for arm in arms.values() for n in arm.ids), *map(deployment_id, healthy)):
                self._arm_of.setdefault(number, "")
            self._unknown, self._compared = False, time.monotonic()

    def _priced(self, arms: Mapping[str, Arm]) -> dict[str, Arm]:
        """The arms that have a price; the others are refused, and it is said loudly."""
        guesses = [arm.guess for arm in arms.values() if arm.guess is not None and math.isfinite(arm.guess)]
        middle = sorted(guesses)[len(guesses) // 2] if guesses else 0.0
        priced = {}
        for arm in arms.values():
            if arm.guess is None:
                self.problem(
                    "no price",
                    f"{arm.name!r} of the group {self.group!r} has no known price and is not routed to: with a price "
                    "of zero that nobody declared it would win every comparison. Declare input_cost_per_token and "
                    "output_cost_per_token in its litellm_params (0 where it is really free)",
                )
            else:
                priced[arm.name] = arm if math.isfinite(arm.guess) else arm._replace(guess=middle)
        return priced

    def _change(self, new: Iterable[Arm], gone: Iterable[str]) -> None:
        opened, changed = self.study, False
        for arm in new:
            opened.add_arm(arm.name, arm.guess or 0.0)
            log.info("%s: %s was added to the study", self.group, arm.name)
            changed = True
        for name in gone:
            try:
                opened.retire_arm(name)
                log.info("%s: %s is gone and was retired", self.group, name)
                changed = True
            except InvalidStudy as error:  # the last arm, or the reference arm
                self.problem("not retired", str(error))
        if changed:
            opened.leased.anew()

    # Settle

    def ended(self, ticket: Ticket, cost: float | None) -> None:
        """A call was answered, and has cost so much."""
        if ticket.ended:
            return
        ticket.ended, ticket.cost = True, cost
        if ticket.reward is None:
            heapq.heappush(self._unrewarded, (time.monotonic() + FIRST_LOOK, ticket.id, FIRST_LOOK))
        self.served[ticket.arm] += 1
        self.dollars[ticket.arm] = self.dollars.get(ticket.arm, 0.0) + (cost or 0.0)
        if ticket.reward is not None:
            self._settle(ticket)

    def failed(self, ticket: Ticket, reward: float | None) -> None:
        """A call failed: it has cost nothing and is worth `reward`, or counts as nothing (None)."""
        if ticket.ended:
            return
        ticket.ended, ticket.cost, ticket.reward = True, 0.0, reward
        self.served[ticket.arm] += 1
        self.counts["failed"] += 1
        if ticket.trace is not None:
            self._failures.put(ticket.trace, (*self.failures(ticket.trace), ticket.arm))
        if reward is None:
            self.dropped(ticket)
        else:
            self._settle(ticket)

    def failures(self, trace: object) -> tuple[str, ...]:
        """The arms that have failed a call before."""
        return cast("tuple[str, ...]", self._failures.get(trace) or ())

    def tell(self, decision: str, reward: float, cost: float | None = None) -> None:
        """The reward of a decision; it goes to the study when its call has ended. What the call has cost is known where
        it was made; `cost` is for others."""
        self.check(reward)
        self.counts["rewards"] += 1
        ticket = self.tickets.find(decision)
        if ticket is None:  # of another process, or of long ago
            self.study.leased.tell(decision, float(reward), cost)
            return
        ticket.reward = float(reward)
        if ticket.ended:
            self._settle(ticket)

    def check(self, reward: object) -> None:
        """Refuse what is no reward."""
        low, high = self.terms.rewards
        if isinstance(reward, bool) or not isinstance(reward, (int, float)) or not low <= reward <= high:
            raise InvalidReward(f"reward = {reward!r}; this study takes numbers from {low:g} to {high:g}")

    def dropped(self, ticket: Ticket) -> None:
        """No reward will come of a call."""
        if self.tickets.drop(ticket) and not ticket.settled:
            ticket.settled = True
            self.study.leased.abandon(ticket.id)

    def unused(self, ticket: Ticket) -> None:
        """A decision was not needed: the answer came from a cache."""
        if self.tickets.drop(ticket) and not ticket.settled:
            ticket.settled = True
            self.study.give_back(ticket.id)

    def _settle(self, ticket: Ticket) -> None:
        if self.tickets.drop(ticket) and not ticket.settled and ticket.reward is not None:
            ticket.settled = True
            self.study.leased.tell(ticket.id, ticket.reward, ticket.cost)

    def sweep(self, seconds: float = SWEEP) -> None:
        """Settle what has waited for too long."""
        now = time.monotonic()
        if self._opened is None or now - self._swept < seconds:
            return
        self._swept = now
        for ticket in self.tickets.older(min(GRACE, self.lost_after)):
            if ticket.reward is not None:  # the end of the call was never heard of
                self.study.leased.tell(ticket.id, ticket.reward, ticket.cost)
            elif ticket.ended or now - ticket.began < self.lost_after:
                self.tickets.add(ticket)
            else:
                self.counts["lost"] += 1
                self.study.leased.abandon(ticket.id)

    def bill(self) -> None:
        """Tell what calls have cost whose rewards were told to another process, which does not know it."""
        now, due = time.monotonic(), dict[str, tuple[float, float]]()
        while self._unrewarded and self._unrewarded[0][0] <= now and len(due) < LOOKS:
            _, number, gap = heapq.heappop(self._unrewarded)
            ticket = self.tickets.find(number)
            if ticket is not None and ticket.reward is None and ticket.cost is not None:
                due[number] = ticket.cost, gap
        if not due:
            return
        told = self.study.bill({number: cost for number, (cost, _) in due.items()})
        for number, (_, gap) in due.items():
            ticket = self.tickets.find(number)
            if ticket is None:
                continue
            if number in told:
                ticket.settled = True
                self.tickets.drop(ticket)
            else:
                later = min(2.0 * gap, LONGEST_GAP)
                heapq.heappush(self._unrewarded, (now + later, number, later))

    def _look_after(self) -> None:
        """What is done every few seconds, in a thread of its own."""
        while not self._closing.wait(FIRST_LOOK):
            try:
                self.sweep()
                self.bill()
                if self._opened is not None:
                    self.compare(self._healthy)
            except Exception as error:
                self.problem("not billed", repr(error))

    # Words

    def problem(self, kind: str, words: str) -> None:
        """Count a problem, and say it, not more than once a minute for each kind."""
        self.counts[f"problem: {kind}"] += 1
        now = time.monotonic()
        if now - self._said.get(kind, -AGAIN) >= AGAIN:
            self._said[kind] = now
            log.error("satisfice, %s: %s", kind, words)

    def free(self, arm: str) -> bool:
        """Whether a price of zero was declared for an arm."""
        known = self._arms.get(arm)
        return known is not None and known.free

    def close(self) -> None:
        """Send what is left, give back what was not used, and let go of the study."""
        self._closing.set()
        if self._opened is not None:
            try:
                self._opened.close()
            except StorageError as error:
                self.problem("not sent", str(error))
            self._opened = None
