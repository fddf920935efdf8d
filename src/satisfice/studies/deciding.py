"""The rule of a policy as a study runs it: plain Python, and compiled once it has cost enough time.

The compiled rule is the simulator's, made from the same lines. A rule that has taken `WORTH_COMPILING` seconds in this
process is compiled in the background; until that is done, decisions go on with the plain one. Compiled and plain
mathematics may differ in the last bit; what the rule decided and remembers is in the log, so nobody has to do it again.
"""

from __future__ import annotations

import logging
import threading
import time

import numpy as np

from satisfice.policies.contract import Lease, Policy, Problem, Rule, State, sound, unsound

WORTH_COMPILING = 10.0

_native: dict[type[Policy], Rule] = {}
_spent: dict[type[Policy], float] = {}


def decide(policy: type[Policy], problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
    """The next lease by the rule of a policy."""
    native = _native.get(policy)
    if native is not None:
        return checked(policy, native(problem, state, t, rng), problem, t)
    began = time.perf_counter()
    answer = policy.decide(problem, state, t, rng)
    before = _spent.get(policy, 0.0)
    _spent[policy] = spent = before + time.perf_counter() - began
    if before <= WORTH_COMPILING < spent:
        threading.Thread(target=compile_rule, args=(policy, problem, state), daemon=True).start()
    return checked(policy, answer, problem, t)


def checked(policy: type[Policy], answer: Lease, problem: Problem, t: int) -> Lease:
    """What a rule answered, if it is a lease."""
    try:
        arm, pulls = answer
        if sound(arm, pulls, len(problem.costs)):
            return int(arm), int(pulls)
    except (TypeError, ValueError, OverflowError):  # nothing, a text, no two numbers, infinitely many pulls
        pass
    raise unsound(policy.id, len(problem.costs), t)


def one_decision(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
    """Is linked to a rule, and counts references, whatever the rule does: Python hands it a generator many times."""
    lease: Lease = decide(problem, state, t, rng)  # type: ignore[call-arg]
    return lease


def compile_rule(policy: type[Policy], problem: Problem, state: State) -> None:
    """Compile the rule of a policy (from the cache on disk if it is there) and use it from now on."""
    from satisfice.policies.compiled import compile_native

    try:
        rule = compile_native(one_decision, decide=policy.decide)
        trial = State(
            state.pulls.copy(), state.totals.copy(), state.squares.copy(), state.ints.copy(), state.floats.copy()
        )
        rule(problem, trial, int(trial.pulls.sum()), np.random.Generator(np.random.PCG64(0)))
    except Exception:  # a rule that Numba cannot compile is none the worse for it here
        logging.getLogger(__name__).warning("the rule of %s could not be compiled", policy.id, exc_info=True)
        return
    _native[policy] = rule
