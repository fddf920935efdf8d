"""Live studies: ask for an arm, tell the reward later, lose nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from satisfice.policies import Policy
from satisfice.problem import Setting
from satisfice.studies.config import make_config
from satisfice.studies.records import Decision
from satisfice.studies.replay import Replay, replay
from satisfice.studies.status import ArmStatus, Status, Verdict
from satisfice.studies.storages import Storage, get_storage
from satisfice.studies.study import Study

__all__ = [
    "ArmStatus",
    "Decision",
    "Replay",
    "Status",
    "Storage",
    "Study",
    "Verdict",
    "create_study",
    "get_storage",
    "list_studies",
    "load_study",
    "replay",
]


def create_study(
    name: str,
    arms: Mapping[str, float],
    setting: Setting,
    policy: str | Policy | type[Policy] = "glr",
    storage: str | Storage | None = None,
    horizon: int | None = None,
    confidence: float | None = None,
    *,
    rewards: tuple[float, float] = (0.0, 1.0),
    binary: bool = False,
    expire_after: float | None = None,
    expire_as: float | None = None,
    seed: int | None = None,
    clock: Callable[[], float] = time.time,
) -> Study:
    """Create a live study.

    Parameters
    ----------
    name : str
        Unique within the storage.
    arms : mapping from name to cost
        Cost of one pull of each arm, at least 0, in any unit.
    setting : BestReward, ReferenceArm or FixedThreshold
        What is good enough. `mu0` of a fixed threshold is on the scale of the rewards.
    policy : str or Policy
        An id, a label such as `"pe-cs(kappa=5)"`, or an object. `"glr"` works to the confidence.
    storage : None, str or Storage
        None: in memory. `"sqlite:///studies.db"`, `"postgresql://user@host/database"`.
    horizon : int, optional
        The number of decisions to plan for; most policies of the paper need one. The study goes on after it.
    confidence : float
        The probability, at least, with which everything that the study calls proved is true. 0.95 by default.
    rewards : (float, float)
        The lowest and the highest possible reward. Inside, rewards are on [0, 1]: divided by the highest where the
        range begins at 0 or above, so that `(1 - alpha) x mean` keeps its meaning; where it begins below 0, they are
        also moved, and alpha is a share of the way up from the lowest reward.
    binary : bool
        Whether every reward is the lowest or the highest.
    expire_after : float, optional
        Seconds after which a decision without a reward expires.
    expire_as : float, optional
        The reward that an expired decision counts as; by default it counts as nothing.
    seed : int, optional
        Seed of the policy's own random choices; drawn at random, and kept, by default.
    clock : callable
        Where the time comes from, in seconds since 1970.

    Raises
    ------
    InvalidStudy, InvalidSetting, InvalidPolicy, StudyExists, StorageError

    Examples
    --------
    >>> from satisfice import BestReward
    >>> study = create_study("answers", {"small": 0.2, "large": 8.0}, BestReward(0.05), policy="pe-cs", horizon=10_000)
    >>> decision = study.ask()
    >>> study.tell(decision.id, reward=1.0)
    True
    """
    config = make_config(
        name, arms, setting, policy, horizon, confidence, rewards, binary, expire_after, expire_as, seed
    )
    return Study(get_storage(storage).create(config), clock)


def load_study(name: str, storage: str | Storage, *, clock: Callable[[], float] = time.time) -> Study:
    """Open a study that `create_study` made, from this or any other process.

    Raises
    ------
    UnknownStudy, StorageError

    Examples
    --------
    >>> from satisfice import FixedThreshold
    >>> here = get_storage(None)
    >>> _ = create_study("answers", {"small": 0.2, "large": 8.0}, FixedThreshold(0.8), policy="ft-ucb", storage=here)
    >>> load_study("answers", here).name
    'answers'
    """
    return Study(get_storage(storage, create=False).open(name), clock)


def list_studies(storage: str | Storage) -> list[str]:
    """The names of the studies in a storage, in the order of their creation."""
    return get_storage(storage, create=False).names()
