"""Why this arm at that time: the state of a study just before one of its decisions, from the log."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

from satisfice.policies.contract import SWEEP
from satisfice.studies.folding import advance, followed
from satisfice.studies.machine import Machine
from satisfice.studies.records import Decision, Entry, Reason, Row
from satisfice.studies.report import make_status
from satisfice.studies.state import OF_LEASE
from satisfice.studies.status import Status
from satisfice.studies.storages.base import View
from satisfice.tables import fill
from satisfice.words import date_of, shorten


@dataclass(frozen=True)
class Explanation:
    """A decision, the lease that it belongs to, and what was known when it was made."""

    id: int
    arm: str
    reason: str
    lease: int
    lease_arm: str | None  # None: every arm in turn
    lease_pulls: int
    place: int  # which decision of the lease it is, from 1
    asked_at: float
    subject: str | None
    session: str | None
    segment: str | None
    chance: float  # with which this arm was served at that moment
    status: Status  # just before the decision
    sentence: str

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        data = {key: value for key, value in asdict(self).items() if key != "status"}
        return data | {"status": self.status.to_dict()}

    def sentence_for(self, name: str) -> str:
        """The sentence for those who know the decision by another name than its number."""
        return _opening(name, self.asked_at, self.arm) + self.sentence.removeprefix(
            _opening(self.id, self.asked_at, self.arm)
        )

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int | None = None) -> str:
        """Everything in words, in lines of at most so many characters."""
        return f"{fill(self.sentence, width)}\nWhat was known then:\n{self.status.text(width)}"


def _opening(name: object, at: float, arm: str) -> str:
    when = date_of(at).isoformat(sep=" ", timespec="seconds")
    return f"Decision {name} ({when}) is '{arm}'. "


def explain(view: View, row: Row) -> Explanation:
    """Explain a decision of the log."""
    with followed(view.config):
        return _explain(view, row)


def _explain(view: View, row: Row) -> Explanation:
    machine, place = before(view, row)
    status = make_status(machine, row.at)
    lease, arm = (
        next(
            (
                event.data
                for event in view.events()
                if event.kind == "make_lease"
                and event.data["number"] == row.lease
                and event.data.get("segment", 0) == row.segment
            ),
            {},
        ),
        machine.arms[row.arm].name,
    )
    pulls, index = cast(int, lease.get("pulls", 0)), cast(int, lease.get("arm", row.arm))
    wanted = None if index == SWEEP else machine.arms[index].name
    part = machine.part(row.segment)
    policy, known = view.config.policy.label, f"{part.t:,} rewards"
    if part.name is not None:
        known += f" in {shorten(part.name, 60)!r}"
    what = "every arm in turn" if wanted is None else f"'{wanted}'"
    turns = f"{pulls:,} time{'s' if pulls != 1 else ''}"
    text = _opening(row.id, row.at, arm)
    if row.reason == Reason.LEASE:
        text += f"With {known} known, {policy} wants {what} {turns}; this is pull {place:,}."
    elif row.reason in (Reason.INTERIM, Reason.EXTRA):
        text += f"{policy} wanted {what} {turns}; all are handed out, and not all rewards are in ({known} so far). "
        if row.reason == Reason.INTERIM:
            text += "Until then it plays what it would play if they came as expected."
        else:
            text += "Some of them are lost, so that the lease's arm is played once more."
    elif row.reason == Reason.STANDIN:
        text += f"{policy} wanted {what}, which was excluded; '{arm}' is the one that would win now among the others."
    elif row.reason == Reason.TRIAL:
        text += f"'{arm}' did not answer and rests; this is a trial, whether it answers again."
    elif row.reason == Reason.RECORDED:
        text += "Somebody else made it, and it was recorded here."
    else:
        text += f"It is {view_of(row, arm)}."
    return Explanation(
        id=row.id,
        arm=arm,
        reason=row.reason,
        lease=row.lease,
        lease_arm=wanted,
        lease_pulls=pulls,
        place=place,
        asked_at=row.at,
        subject=row.subject,
        session=row.session,
        segment=part.name,
        chance=row.chance,
        status=status,
        sentence=text,
    )


def view_of(row: Row, arm: str) -> str:
    """The reason of a decision that the policy did not make."""
    return Decision(row.id, arm, row.reason, row.lease, row.subject, row.key, row.session).why


def before(view: View, row: Row) -> tuple[Machine, int]:
    """The state just before a decision, and which decision of its lease it is, from 1.

    Entries are in no order among each other, so what was known is told by their time, and where two have the same
    time by the last decision that the writer of an entry knew of.
    """
    machine, place = Machine(view.config), 1

    def known(entry: Entry) -> bool:
        return entry.at < row.at or (entry.at == row.at and entry.after < row.id)

    for event in view.events():
        own = event.kind == "make_lease" and event.data.get("segment", 0) == row.segment
        number = event.data["number"] if own else None
        later = event.at > row.at or (number is not None and cast(int, number) > row.lease)
        later = later or (event.kind == "drift" and cast(int, event.data["decisions"]) >= row.id)
        if not later or event.kind in ("archive", "add_segment"):
            machine.happen(event)
    for asked, entries in view.chains():
        if asked.id >= row.id:
            break
        machine.ask(asked)
        place += (asked.lease, asked.segment) == (row.lease, row.segment) and asked.reason in OF_LEASE
        for entry in entries:
            if known(entry):
                machine.enter(entry)
    machine.arrange()
    advance(machine, view)
    return machine, place
