"""What can be read of a live study, without a lock and without the right to write."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

from satisfice.errors import InvalidData, InvalidStudy, StorageError, StudyClosed, UnknownDecision
from satisfice.policies import Policy
from satisfice.problem import Setting
from satisfice.studies.config import Config
from satisfice.studies.overdue import find_overdue
from satisfice.studies.storages.base import Ledger, T, View
from satisfice.words import FIRST, LAST, as_float, shown

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from satisfice.instances.sources import PandasFrame
    from satisfice.studies.audit import Audit
    from satisfice.studies.explain import Explanation
    from satisfice.studies.replaying import Replay
    from satisfice.studies.status import Status, Verdict
    from satisfice.studies.study import Study

# A status looks for overdue decisions among so many at a time.
LOOKED_AT = 1_000


class StudyReader:
    """The part of a `Study` that changes nothing."""

    def __init__(self, ledger: Ledger, clock: Callable[[], float] | None = None) -> None:
        self._ledger = ledger
        self._clock = clock
        if clock is not None:
            ledger.clock = clock
        self._open = True
        self._expires = ledger.config.expire_after is not None

    # 1. What it is

    @property
    def name(self) -> str:
        """The name of the study."""
        return self._ledger.config.name

    @property
    def config(self) -> Config:
        """What was fixed when the study was created."""
        return self._ledger.config

    def __repr__(self) -> str:
        return f"<Study {self.name!r}: {self.config.policy.label}, {self.config.setting}>"

    def close(self) -> None:
        """Let go of connections. The study goes on: others may use it, and `load_study` opens it again; `end` ends
        it."""
        self._open = False
        self._ledger.close()

    # 2. What is known

    @property
    def arms(self) -> dict[str, float]:
        """The arms that may be served, with what one pull of each costs."""
        return self._look(lambda view: {view.machine.arms[i].name: view.machine.price(i) for i in view.machine.active})

    def status(self) -> Status:
        """Per arm: pulls, pending, mean, interval and verdict; the leader, how sure that is, and what was spent.

        It takes no lock and needs no right to write.

        Examples
        --------
        >>> from satisfice import BestReward
        >>> from satisfice.studies import create_study
        >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1), policy="ucb-cs", horizon=100)
        >>> study.tell(study.ask().id, 1.0)
        True
        >>> [(arm.name, arm.pulls, arm.pending) for arm in study.status().arms]
        [('small', 1, 0), ('large', 0, 0)]
        """
        from satisfice.studies.report import make_status

        def work(view: View) -> tuple[bool, Status]:
            now = self._now(view)
            overdue = self._overdue(view, now)
            if view.machine.parts:  # segments have dictionaries, which may be changed by whoever gets them
                return overdue, make_status(view.machine, now)
            return overdue, view.noted(lambda machine: make_status(machine, now))

        overdue, status = self._look(work)
        if overdue:
            with contextlib.suppress(StorageError):  # of a study that may only be read
                self.expire()
                status = self._look(work)[1]
        return status

    def _overdue(self, view: View, now: float) -> bool:
        """Whether a decision is overdue; if not, the machine notes how far that is known, and until when."""
        while (found := find_overdue(view, now, LOOKED_AT)) is not None:
            if found.rows:
                return True
            found.note(view.machine)
            if not found.more:
                break
        return False

    def verdict(self) -> Verdict:
        """The leading arm, how sure that is, and which arms were refuted by which and when."""
        return self.status().verdict

    def explain(self, decision_id: int) -> Explanation:
        """Why this arm at that time: what was known then, and which lease the decision belongs to.

        It reads the log up to the decision, so it takes longer than an `ask`, in proportion to the log.
        """
        from satisfice.studies.explain import explain

        number = number_of(decision_id)

        def work(view: View) -> Explanation:
            row = view.find((number,)).get(number)
            if row is None:
                raise self._unknown(view, number)
            return explain(view, row)

        return self._look(work)

    def check(self) -> Audit:
        """Fold the whole log and say whether it makes the state that is kept."""
        from satisfice.studies.audit import audit

        return self._look(audit)

    def repair(self) -> None:
        """Rebuild the state that is kept from the log."""
        self._usable()
        self._ledger.repair()

    def log(self) -> pl.DataFrame:
        """One row per decision: id, arm, cost, reason, lease, whom it was for, times, status and reward by now.

        `chance` is the probability with which the arm was served at that moment, given all that was known.
        """
        from satisfice.studies.archive import log_frame

        return self._look(log_frame)

    def export(self, path: str | Path) -> Path:
        """Write `log()` to a file, folders included: .parquet, .csv, .jsonl or .xlsx, as its name ends.

        The memory that this takes does not grow with the log, but for spreadsheets.

        Raises
        ------
        InvalidData
            The file cannot be written, or its name ends otherwise.
        """
        from satisfice.studies.archive import write_log

        return self._look(lambda view: write_log(view, Path(path)))

    def replay(
        self,
        log: Study | pl.DataFrame | PandasFrame | str | Path | None = None,
        *,
        policy: str | Policy | type[Policy] | None = None,
        setting: Setting | None = None,
        seed: int = 0,
    ) -> Replay:
        """Feed a recorded log (by default this study's own) through this study's policy or another; see `sf.replay`."""
        from satisfice.studies.replaying import replay

        config = self.config
        return replay(
            config.policy if policy is None else policy,
            self if log is None else log,  # type: ignore[arg-type]
            setting=config.setting if setting is None else setting,
            horizon=config.horizon,
            rewards=(config.low, config.high),
            binary=config.binary,
            seed=seed,
        )

    def plot(self, path: str | Path | None = None) -> Figure:
        """Means with their intervals against the threshold, and where the decisions and the money went.

        Raises
        ------
        InvalidData
            The file cannot be written, or its name ends in no known kind of picture.
        """
        from satisfice.plots import save
        from satisfice.studies.archive import unwritten
        from satisfice.studies.picture import picture

        figure = picture(self.status())
        if path is not None:
            known = figure.canvas.get_supported_filetypes()
            if Path(path).suffix[1:].lower() not in known:
                raise InvalidData(f"{path} does not end in a kind of picture: {', '.join(known)}")
            try:
                save(figure, path)
            except OSError as error:
                raise unwritten(path, error) from error
        return figure

    def expire(self) -> int:
        """Nothing expires by reading."""
        return 0

    # Pieces

    def _look(self, work: Callable[[View], T]) -> T:
        self._usable()
        return self._ledger.look(work)

    def _usable(self) -> None:
        if not self._open:
            raise StudyClosed(
                f"this object let go of the study {self.name!r} by close(), and load_study opens it again; the study "
                "itself was not ended: since release 0.2 that is what end() does"
            )

    def _unknown(self, view: View, number: int) -> UnknownDecision:
        """What to raise for a decision that is not in the log: those in archives are numbered from 1 without a gap."""
        newest = next(iter(view.newest(limit=1)), None)
        if number >= 1 and newest is not None and number < newest.id:
            return UnknownDecision(
                f"decision {number!r} of the study {self.name!r} is in an archive; it is no longer told or explained"
            )
        return UnknownDecision(f"the study {self.name!r} never handed out a decision {number!r}")

    def _now(self, view: View) -> float:
        """The time: the caller's clock, or else the storage's own, or that of the machine."""
        if self._clock is None:
            return view.now
        said = self._clock()
        now = as_float(said)
        if not FIRST <= now <= LAST:
            raise InvalidStudy(
                f"the clock says {shown(said)}; it must be a finite number of seconds since 1970, before the year 10000"
            )
        return now


def number_of(decision_id: object) -> int:
    """A decision id: a whole number, NumPy's included, or the text of one."""
    number = -1
    if type(decision_id) is int:  # nearly always
        number = decision_id
    elif isinstance(decision_id, str):
        number = int(decision_id) if decision_id.isdecimal() else -1
    elif isinstance(decision_id, Integral) and not isinstance(decision_id, bool):
        number = int(decision_id)
    if not 1 <= number < 1 << 62:
        raise UnknownDecision(f"{shown(decision_id)} is not the id of a decision; ids are 1, 2, 3, ...")
    return number
