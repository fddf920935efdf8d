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
