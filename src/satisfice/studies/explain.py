"""Why this arm at that time: the state of a study just before one of its decisions, from the log."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from satisfice.policies.contract import SWEEP
from satisfice.studies.audit import rebuild
from satisfice.studies.machine import AGAIN, EXTRA, INTERIM, LEASE
from satisfice.studies.records import Row
from satisfice.studies.status import Status, make_status
from satisfice.studies.storages.base import Ledger


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
    status: Status  # just before the decision
    sentence: str

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        data = {key: value for key, value in asdict(self).items() if key != "status"}
        return data | {"status": self.status.to_dict()}

    def __str__(self) -> str:
        return f"{self.sentence}\nWhat was known then:\n{self.status}"


def explain(ledger: Ledger, row: Row) -> Explanation:
    """Explain a decision of the log."""
    machine, _ = rebuild(ledger.config, ledger.log(until=row.seq - 1))
    status = make_status(machine)
    machine.prepare()
    lease, arm = machine.lease, machine.arms[row.arm].name
    wanted = None if lease.arm == SWEEP else machine.arms[machine.order[lease.arm]].name
    policy, known = ledger.config.policy.label, f"{machine.t:,} rewards"
    what = "every arm in turn" if wanted is None else f"'{wanted}'"
    turns = f"{lease.pulls:,} time{'s' if lease.pulls != 1 else ''}"
    when = datetime.fromtimestamp(row.asked_at, UTC).isoformat(sep=" ", timespec="seconds")
    text = f"Decision {row.id} ({when}) is '{arm}'. "
    if row.reason == LEASE:
        text += f"With {known} known, {policy} wants {what} {turns}; this is pull {lease.handed + 1:,}."
    elif row.reason in (INTERIM, EXTRA):
        text += f"{policy} wanted {what} {turns}; all are handed out, and not all rewards are in ({known} so far). "
        if row.reason == INTERIM:
            text += "Until then the arm that would win now is played."
        else:
            text += f"Every {AGAIN}th time until then the lease's arm is played once more, in case they never come."
    else:
        text += f"{policy} wanted {what}, which was excluded; '{arm}' is the one that would win now among the others."
    return Explanation(
        id=row.id,
        arm=arm,
        reason=row.reason,
        lease=lease.number,
        lease_arm=wanted,
        lease_pulls=lease.pulls,
        place=lease.handed + 1,
        asked_at=row.asked_at,
        subject=row.subject,
        status=status,
        sentence=text,
    )
