"""Everything that `satisfice` raises on purpose.

Every error says what was wrong, the value, and what is accepted. The classes that stand for a bad
value are also `ValueError`s, so code that does not know this package can still catch them.
"""


class SatisficeError(Exception):
    """The parent of every error of this package."""


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
    """The study never handed out a decision with this id."""


class InvalidReward(SatisficeError, ValueError):
    """A reward outside the range that the study declared."""


class RewardConflict(SatisficeError, ValueError):
    """A decision that is already settled in another way; `correct=True` corrects it."""


class StorageError(SatisficeError, RuntimeError):
    """A storage that cannot be understood, reached or locked."""
