"""The contract that every policy keeps: a pure rule on plain state that answers with leases.

A policy is one class in one file of this folder. Its rule is `decide(problem, state, t, rng)`, which
answers with a lease: an arm and a number of pulls, "pull this arm so many times, then ask me again".
Whoever runs the policy (the simulator, a live study) carries the lease out and adds the pulls and the
rewards to the state. The rule sees arms in ascending order of cost, as the paper does; putting them
in order, and reporting in the caller's order, is not its business.

A rule is plain Python on numbers and NumPy arrays. The simulator compiles it with Numba, together with
every plain function that it calls; a live study runs it as it is. So it may use `math`, `np`, loops,
other plain functions and the `rng` (a `numpy.random.Generator`), and nothing else.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from satisfice.errors import InvalidPolicy
from satisfice.policies.compiled import uncounted
from satisfice.policies.params import make_params
from satisfice.problem import Setting, arm_index

# The arm of a lease that means "every arm in order, this many times over" (the paper's "k_t = t").
SWEEP = -1


class Problem(NamedTuple):
    """What a rule may know before the first pull. Arms are in ascending order of cost."""

    costs: NDArray[np.float64]  # (arms,)
    horizon: int  # T; 0 when there is none
    alpha: float  # subsidy factor; 0 for a fixed threshold
    reference: int  # the known reference arm ell, always the last arm; -1 when there is none
    mu0: float  # the fixed threshold; nan when there is none
    bounded: bool  # whether every reward is known to lie within [0, 1]
    params: Any  # the policy's own parameters by the names of its fields: a named tuple of floats
    binary: bool = False  # whether every reward is known to be 0 or 1
    sigma: float = 0.5  # the rewards are sub-Gaussian with this standard deviation: half the range, where there is one


class State(NamedTuple):
    """What a rule remembers. The first three are kept by whoever runs the policy, the others by its rule."""

    pulls: NDArray[np.int64]  # (arms,) of which a rule may take some off in `learn`, to begin anew with an arm
    totals: NDArray[np.float64]  # (arms,) sum of the rewards
    squares: NDArray[np.float64]  # (arms,) sum of their squares: `totals`, where every reward is 0 or 1
    ints: NDArray[np.int64]
    floats: NDArray[np.float64]


Lease = tuple[int, int]
Rule = Callable[[Problem, State, int, np.random.Generator], Lease]

_registry: dict[str, type[Policy]] = {}


@dataclass(frozen=True)
class Policy:
    """The parent of every policy. The fields of a subclass are its parameters (numbers), with defaults.

    Class attributes to set: `id`, `settings` (the settings that it serves), `summary` (one line), and where they
    differ from the defaults `needs_horizon`, `bounded_only`, `live` (whether a study can use it), `changing`
    (whether it is for means that change), `uses_squares` (whether the rule reads `state.squares`; Gaussian rewards
    have them drawn only then, so that no other run changes), `draws` (whether the rule uses `rng`), `sweeps_first`
    (whether the rule takes it that every arm was pulled before `t` reached their number: a study that was told of
    some arms alone sees to it) and `until_zeros` (whether a lease of an arm, where every reward is 0 or 1, stands
    until so many of its rewards are 0, since those of 1 only speak for the arm: a simulation carries it on until
    then). `version` counts the rule's changes: raise it whenever the rule remembers something else or decides
    otherwise from the same state, so that a study that is under way knows that its memory is of another time and
    starts it anew. `retired` names parameters that older versions had, and that a study of that time is opened
    without.

    A subclass with an `id` is found by it (`get_policy`); an id that another class has is an error, except
    that a class may be defined again, as in a notebook. `class Mine(Policy, register=False)` stays unknown.
    """

    id: ClassVar[str]
    settings: ClassVar[tuple[type[Setting], ...]]
    summary: ClassVar[str]
    version: ClassVar[int] = 1
    needs_horizon: ClassVar[bool] = True
    bounded_only: ClassVar[bool] = False
    live: ClassVar[bool] = True
    changing: ClassVar[bool] = False
    uses_squares: ClassVar[bool] = False
    draws: ClassVar[bool] = True
    sweeps_first: ClassVar[bool] = False
    until_zeros: ClassVar[bool] = False
    retired: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, register: bool = True, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if register and hasattr(cls, "id"):
            known_by_id(cls)

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        """The rule: the next lease, after `t` pulls in all."""
        raise NotImplementedError

    @staticmethod
    @uncounted
    def start(problem: Problem, state: State) -> None:
        """Set `state.ints` and `state.floats` (zeros) before the first decision, if zeros are not right."""

    @staticmethod
    @uncounted
    def learn(problem: Problem, state: State, arm: int, pulls: int, total: float, rng: np.random.Generator) -> None:
        """Learn more from a lease than `pulls` and `totals`, which are already up to date."""

    def memory(self, arms: int) -> tuple[int, int]:
        """How many ints and how many floats the rule remembers."""
        return 0, 0

    @property
    def params(self) -> dict[str, float]:
        """The parameters by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @property
    def label(self) -> str:
        """The id, with the parameters that are not at their defaults: `pe-cs(kappa=5)`."""
        changed = [
            f"{field.name}={getattr(self, field.name):g}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"{self.id}({', '.join(changed)})" if changed else self.id

    def check_numbers(self) -> None:
        """Raise `InvalidPolicy` where a parameter is no number at all."""
        for name, value in self.params.items():
            if not isinstance(value, (int, float, np.number, np.bool_)):
                raise InvalidPolicy(f"{self.id}: {name} = {value!r}; it must be a number")

    @classmethod
    def serves(cls, setting: Setting) -> bool:
        """Whether the policy works in a setting."""
        return isinstance(setting, cls.settings)

    def check(self, setting: Setting, horizon: int | None, bounded: bool) -> None:
        """Raise `InvalidPolicy` when the policy cannot work here."""
        if not self.serves(setting):
            served = ", ".join(cls.__name__ for cls in self.settings)
            raise InvalidPolicy(f"{self.id} does not serve {type(setting).__name__}; it serves {served}")
        if self.needs_horizon and not horizon:
            raise InvalidPolicy(f"{self.id} needs a horizon (the number of pulls to plan for)")
        if self.bounded_only and not bounded:
            raise InvalidPolicy(f"{self.id} needs rewards within [0, 1]")


def arrange(costs: ArrayLike, setting: Setting, names: Sequence[str]) -> NDArray[np.int64]:
    """The caller's indices of the arms that a rule sees, in the order in which it sees them.

    Ascending cost, ties in the caller's order. With a known reference arm, arms that are dearer than it
    can never be optimal and are left out, and it comes last, after the arms of its own cost.
    """
    price = np.asarray(costs, dtype=np.float64)
    if setting.reference is None:
        return np.argsort(price, kind="stable")
    ell = arm_index(setting.reference, names)
    kept = np.flatnonzero((price <= price[ell]) & (np.arange(len(price)) != ell))
    return np.append(kept[np.argsort(price[kept], kind="stable")], ell)


def make_problem(
    policy: Policy,
    setting: Setting,
    costs: ArrayLike,
    order: NDArray[np.int64],
    horizon: int | None,
    bounded: bool,
    binary: bool = False,
    sigma: float | None = None,
) -> Problem:
    """What the rule of `policy` may know; `order` is from `arrange`."""
    policy.check(setting, horizon, bounded)
    return Problem(
        costs=np.asarray(costs, dtype=np.float64)[order],
        horizon=int(horizon or 0),
        alpha=float(setting.alpha),
        reference=-1 if setting.reference is None else len(order) - 1,
        mu0=float(setting.mu0),
        bounded=bounded,
        params=make_params(policy.params),
        binary=binary,
        sigma=sigma if sigma is not None else 0.5 if bounded else 1.0,
    )


def new_state(policy: Policy, arms: int) -> State:
    """The state before the first pull, `start` not yet called."""
    ints, floats = policy.memory(arms)
    return State(
        pulls=np.zeros(arms, dtype=np.int64),
        totals=np.zeros(arms, dtype=np.float64),
        squares=np.zeros(arms, dtype=np.float64),
        ints=np.zeros(ints, dtype=np.int64),
        floats=np.zeros(floats, dtype=np.float64),
    )


def sound(arm: int, pulls: int, arms: int) -> bool:
    """Whether this is a lease: an arm of the problem, or `SWEEP`, and a whole number of pulls, at least 1."""
    return (arm == SWEEP or 0 <= arm < arms) and arm == int(arm) and pulls >= 1 and pulls == int(pulls)


def unsound(policy: str, arms: int, t: int) -> InvalidPolicy:
    """What to raise where a rule answers with something else."""
    return InvalidPolicy(
        f"{policy}: its rule answered with no lease after {t:,} pulls; a lease is an arm from 0 to {arms - 1}, or "
        "SWEEP, and a whole number of pulls, at least 1"
    )


def learns(policy: Policy) -> bool:
    """Whether a rule learns more from rewards than the sums that it is given.

    Examples
    --------
    >>> from satisfice import GLR
    >>> learns(GLR())
    False
    """
    return type(policy).learn is not Policy.learn


def mean(state: State, arm: int) -> float:
    """Empirical mean of an arm, 0 before its first pull (the paper's initial value)."""
    if state.pulls[arm] == 0:
        return 0.0
    return float(state.totals[arm] / state.pulls[arm])


def one_of(count: int, rng: np.random.Generator) -> int:
    """A number from 0 to `count - 1`, each with the same probability. (Numba's `rng.integers` makes an array.)

    Of 2^53 equally likely numbers those beyond the last multiple of `count` are drawn again.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [one_of(3, rng) for _ in range(8)]
    [2, 0, 2, 0, 0, 0, 0, 1]
    """
    last = (1 << 53) - (1 << 53) % count
    while True:
        number = int(rng.random() * (1 << 53))
        if number < last:
            return number % count


def registry() -> dict[str, type[Policy]]:
    """Every policy class by id."""
    return _registry


def known_by_id(cls: type[Policy]) -> None:
    """Make a class known by its id."""
    old = _registry.get(cls.id)
    same = old is None or (_home(old), old.__qualname__) == (_home(cls), cls.__qualname__)
    if old is not None and not same:
        raise InvalidPolicy(f"{cls.__qualname__}: the id {cls.id!r} belongs to {old.__module__}.{old.__qualname__}")
    _registry[cls.id] = cls


def _home(cls: type[Policy]) -> str:
    """Where a class is defined: the file of its module, which may have been loaded under several names."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return cls.__module__ if file is None else os.path.realpath(file)


@contextmanager
def registered(*classes: type[Policy]) -> Iterator[None]:
    """Within this block, and no longer, the `classes` and those that are defined in it are known by their ids.

    Examples
    --------
    >>> with registered():
    ...     class Mine(Policy):
    ...         id = "mine"
    ...     "mine" in registry()
    True
    >>> "mine" in registry()
    False
    """
    before = dict(_registry)
    try:
        for cls in classes:
            known_by_id(cls)
        yield
    finally:
        _registry.clear()
        _registry.update(before)
