"""Live studies: ask for an arm, tell the reward later, lose nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from satisfice.errors import StudyExists, UnknownStudy
from satisfice.policies import Policy
from satisfice.problem import Setting
from satisfice.studies.config import check_text, make_config
from satisfice.studies.records import Decision
from satisfice.studies.replaying import Replay, replay
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
    "delete_study",
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
    mature_after: float | None = None,
    costs: str = "fixed",
    cost_range: tuple[float, float] | None = None,
    worth: float | None = None,
    baseline: str | None = None,
    holdout: float = 0.0,
    budget: float | None = None,
    session_ttl: float | None = None,
    drift: str | None = "watch",
    segments: Sequence[str] | int | None = None,
    seed: int | None = None,
    clock: Callable[[], float] | None = None,
    load_if_exists: bool = False,
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
        The probability, at least, with which everything that the study calls proved is true. 0.95 by default. Who
        gives one wants a proof: `"glr"` then buys it once the rest of it costs no more than 0.02 units of reward
        per decision so far (`glr(proof=...)` is another price). By default it buys none, and what happens to be proved
        is proved.
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
    mature_after : float, optional
        Seconds after which proofs no longer wait for the reward of a decision; where `expire_as` is given, they wait
        until it expires. Proofs and intervals count decisions in their order, up to the first that is open, so that
        rewards that are late because of their value prove nothing wrong.
    costs : "fixed" or "told"
        With "told", the numbers of `arms` are first guesses: the cost of a decision is told with its reward, and the
        cheapest arm is the one with the smallest mean cost so far. With "fixed", told costs only enter the spending.
    cost_range : (float, float), optional
        Within which told costs lie. With it, the order of the arms by cost can be proved; without, it is believed.
    worth : float, optional
        What one unit of reward is worth, in the unit of the costs: what you would pay to have it. By default it is the
        cost of the dearest arm.
    baseline : str, optional
        The arm that is served to the control group, and to all while the study is paused.
    holdout : float
        The share of decisions (of subjects, where they are named) that are the control group and get the baseline.
    budget : float, optional
        What finding out may cost, in the unit of the costs, beyond the arm that would win at the time. When it is
        spent, the study serves that arm, and goes on learning from what it serves.
    session_ttl : float, optional
        Seconds for which a session keeps its arm, counted from its last decision; 1800 by default.
    drift : "watch", "adapt" or None
        What is done about rewards that change. "watch": the rewards of every arm are tested for a change; after an
        alarm the arm begins anew, what was proved with its old rewards is withdrawn, and the status says when it was.
        A study in which nothing changes ever has an alarm with a probability of at most 1%. "adapt": arms that are
        passed over are also looked at now and then, at a bounded price. None: what was proved stays proved.
    segments : names, or int, optional
        Kinds of traffic, each of which may have its own cheapest arm that is good enough: their names, or how many
        there may be, which then appear as they are asked for. Every decision says its `segment`, and every segment has
        a verdict of its own; all verdicts together hold with the study's confidence. What is known of the others
        counts, as far as segments have turned out to be alike, until a segment has rewards of its own. A segment named
        "other", which is there where only a number is given, takes what has no segment, or a new one beyond the number.
    seed : int, optional
        Seed of the policy's own random choices; drawn at random, and kept, by default.
    clock : callable, optional
        Where the time comes from, in seconds since 1970; by default the server's clock on PostgreSQL, else the
        machine's.
    load_if_exists : bool
        Whether to open the study of this name if there is one. Its terms must be these, but for the costs and arms that
        were changed since.

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
        name,
        arms,
        setting,
        policy=policy,
        horizon=horizon,
        confidence=confidence,
        rewards=rewards,
        binary=binary,
        expire_after=expire_after,
        expire_as=expire_as,
        mature_after=mature_after,
        costs=costs,
        cost_range=cost_range,
        worth=worth,
        baseline=baseline,
        holdout=holdout,
        budget=budget,
        session_ttl=session_ttl,
        drift=drift,
        segments=segments,
        seed=seed,
    )
    place = get_storage(storage)
    try:
        return Study(place.create(config), clock)
    except StudyExists:
        if not load_if_exists:
            raise
    ledger = place.open(config.name)
    config.same_as(ledger.config, seed=seed is not None)
    return Study(ledger, clock)


def load_study(name: str, storage: str | Storage, *, clock: Callable[[], float] | None = None) -> Study:
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
    return Study(get_storage(storage, create=False).open(_read_name(name)), clock)


def list_studies(storage: str | Storage) -> list[str]:
    """The names of the studies in a storage, in the order of their creation.

    Examples
    --------
    >>> list_studies(get_storage(None))
    []
    """
    return get_storage(storage, create=False).names()


def delete_study(name: str, storage: str | Storage) -> None:
    """Delete a study and its log, for good.

    Raises
    ------
    UnknownStudy, StorageError

    Examples
    --------
    >>> from satisfice import FixedThreshold
    >>> here = get_storage(None)
    >>> _ = create_study("answers", {"small": 0.2, "large": 8.0}, FixedThreshold(0.8), policy="ft-ucb", storage=here)
    >>> delete_study("answers", here)
    >>> list_studies(here)
    []
    """
    get_storage(storage, create=False).delete(_read_name(name))


def _read_name(name: object) -> str:
    """The name of a study as `create_study` keeps it: without spaces around it."""
    return check_text("the name of the study", name, UnknownStudy).strip()
