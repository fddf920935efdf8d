"""Everything that `satisfice` raises on purpose.

Every error says what was wrong, the value, and what is accepted. The classes that stand for a bad
value are also `ValueError`s, so code that does not know this package can still catch them. What a program
may want to know about an error is data: nobody has to look for words in a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import EllipsisType

from satisfice.words import shown


class Hint(StrEnum):
    """Advice that goes with an error, as Python says it. Another interface has its own words for the same hint.

    Examples
    --------
    >>> error = SatisficeError("decision 7 has the reward 1", hint=Hint.CORRECT)
    >>> {Hint.CORRECT: "--correct corrects it"}[error.hint]
    '--correct corrects it'
    """

    CORRECT = "correct=True corrects it"
    CORRECT_INSTEAD = "correct the reward"
    LOAD = "load_study opens it"
    CREATE = "create_study makes it"
    SET_COST = "set_cost changes its cost"
    REOPEN = "reopen() lets it go on"
    STORAGE = "use None (memory), sqlite:///studies.db, postgresql://user@host/database or a Storage"
    FILE = "use sqlite:///file.db, or storage=None for memory"
    GIVE_COSTS = 'or give the costs: arms={"small": 0.2, "large": 8.0}'
    ARM_COLUMN = "name it with arm"
    REWARD_COLUMN = "name it with reward"
    TABLE = "name one with table"
    MAX_BAD = "a larger max_bad accepts more"
    SCALE = "divide the rewards with scale, or use another reward model"
    COSTS = (
        "cost (the column with the cost of every pull), costs (the cost of every arm) or random_costs (a seed, for "
        "experiments)"
    )


class SatisficeError(Exception):
    """The parent of every error of this package.

    Parameters
    ----------
    message : str
        What was wrong, the value, and what is accepted.
    hint : str or Hint, optional
        What to do about it.
    parameter : str, optional
        The parameter whose value was refused, as it is called in Python.
    value : object
        The value that was refused; the error keeps its text.
    columns : sequence of str
        The columns of a table that are missing or wrong.
    decision : int, optional
        The number of the decision that it is about; the message has `{decision}` where it is named.

    Examples
    --------
    >>> error = InvalidData("log.csv has no column 'cost'", hint=Hint.GIVE_COSTS, columns=["cost"])
    >>> "cost" in error.columns, error.message
    (True, "log.csv has no column 'cost'")
    >>> print(error)
    log.csv has no column 'cost'; or give the costs: arms={"small": 0.2, "large": 8.0}
    >>> error = InvalidSetting("it must be within [0, 1]", parameter="alpha", value=2)
    >>> print(error)
    alpha = 2; it must be within [0, 1]
    >>> error.worded(f"--{error.parameter} ")
    '--alpha 2; it must be within [0, 1]'
    >>> error = RewardConflict("{decision} was abandoned", decision=7)
    >>> error.decision, error.message, error.worded("", decision="this decision")
    (7, 'decision 7 was abandoned', 'this decision was abandoned')
    """

    def __init__(
        self,
        message: str = "",
        *,
        hint: str | None = None,
        parameter: str | None = None,
        value: object | EllipsisType = ...,
        columns: Sequence[str] = (),
        decision: int | None = None,
    ) -> None:
        self._template, self.decision = message, decision
        self.message = self._named(f"decision {decision}")
        super().__init__(self.message)
        self.hint = hint
        self.parameter = parameter
        self.value = None if value is ... else shown(value)
        self.columns = tuple(columns)

    def _named(self, decision: str) -> str:
        return self._template if self.decision is None else self._template.replace("{decision}", decision)

    def worded(self, assigned: str, hints: Mapping[str, str] | None = None, decision: str | None = None) -> str:
        """The error as an interface says it.

        Parameters
        ----------
        assigned : str
            What stands before a refused value: "alpha = " in Python, "--alpha " in a shell.
        hints : mapping, optional
            The interface's words for some hints; an empty text leaves the hint out.
        decision : str, optional
            What the interface calls the decision that the error is about.
        """
        parts = [f"{assigned}{self.value}"] if self.parameter and self.value is not None else []
        advice = (hints or {}).get(self.hint, self.hint) if self.hint else ""
        message = self.message if decision is None else self._named(decision)
        return "; ".join([*parts, message, *([advice] if advice else [])])

    def __str__(self) -> str:
        return self.worded(f"{self.parameter} = ")


class InvalidInstance(SatisficeError, ValueError):
    """Costs, means, names or a reward model that do not describe a bandit instance."""


class InvalidSetting(SatisficeError, ValueError):
    """A setting with a parameter out of range, or one that names an arm which does not exist."""


class NoFeasibleArm(SatisficeError, ValueError):
    """No arm reaches a fixed threshold, so there is no optimal arm to compare with."""


class InvalidPolicy(SatisficeError, ValueError):
    """An unknown policy, a parameter out of range, or a policy in a setting it does not serve."""


class InvalidRun(SatisficeError, ValueError):
    """A horizon, a number of runs, checkpoints or workers that cannot be simulated."""


class InvalidData(SatisficeError, ValueError):
    """A file or a table that cannot be read as what it was said to be."""


class MissingExtra(SatisficeError, ImportError):
    """A feature whose optional dependency is not installed."""


class InvalidStudy(SatisficeError, ValueError):
    """Terms of a live study, or a change to a running one, that make no sense."""


class UnknownStudy(SatisficeError, LookupError):
    """No study of this name is in the storage."""


class StudyExists(SatisficeError, ValueError):
    """A study of this name is already in the storage."""


class StudyClosed(SatisficeError, RuntimeError):
    """The study was closed; it hands out no decisions and takes no rewards."""


class UnknownDecision(SatisficeError, LookupError):
    """The study never handed out a decision with this id, or it is in an archive."""


class InvalidReward(SatisficeError, ValueError):
    """A reward outside the range that the study declared."""


class RewardConflict(SatisficeError, ValueError):
    """A decision that is already settled in another way; `correct=True` corrects it."""


class StorageError(SatisficeError, RuntimeError):
    """A storage that cannot be understood, reached or locked."""


class StorageBusy(StorageError):
    """A storage that others kept locked for too long: nothing has happened, and trying again may help."""


class OutcomeUnknown(StorageError):
    """An error whose outcome nobody knows: the change may or may not have happened."""
