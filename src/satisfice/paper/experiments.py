"""The paper's experiments, declared: instance, setting, grid, policies, horizon, runs.

An experiment is one figure of the paper: one or more panels, each a grid of points at which the same policies
run. A new experiment is a few more lines here; panels that share a point share its data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from satisfice.errors import InvalidRun
from satisfice.policies import all_policies
from satisfice.problem import BestReward, ReferenceArm, Setting

KNOWN = ("pe", "ucb-cs")
SUBSIDIZED = ("pe-cs(kappa=5)", "etc-cs", "ucb-cs", "ts-cs")
# The project's own policies: one more series in every figure, marked as not from the paper.
OURS = tuple(id for id in ("glr",) if id in all_policies())
QUICK_HORIZON, QUICK_RUNS = 100_000, 5

Kind = Literal["scatter", "curves", "instance", "trade-off"]


@dataclass(frozen=True)
class Point:
    """One problem of a grid: its place on the x axis, the name of its instance and its setting."""

    x: float
    instance: str
    setting: Setting


@dataclass(frozen=True)
class Panel:
    """The same policies at every point of a grid."""

    title: str
    x: str  # what the grid varies
    grid: tuple[Point, ...]
    policies: tuple[str, ...]
    runs: int
    horizon: int = 5_000_000

    def quick(self) -> Panel:
        """A small version: few short runs."""
        return replace(self, runs=min(self.runs, QUICK_RUNS), horizon=min(self.horizon, QUICK_HORIZON))


@dataclass(frozen=True)
class Experiment:
    """One figure of the paper."""

    name: str
    title: str
    kind: Kind
    panels: tuple[Panel, ...]

    def quick(self) -> Experiment:
        """A small version."""
        return replace(self, panels=tuple(panel.quick() for panel in self.panels))


def references(title: str, instance: str, arms: tuple[int, ...]) -> Panel:
    """A panel over the known reference arm `ell` (1-based, as in the paper), with alpha = 0."""
    grid = tuple(Point(arm, instance, ReferenceArm(arm - 1)) for arm in arms)
    return Panel(title, "reference arm ℓ (arms in order of cost)", grid, (*KNOWN, *OURS), runs=25)


def known(title: str, instance: str, arm: int, percents: range) -> Panel:
    """A panel over alpha (in percent) with the known reference arm `arm` (1-based)."""
    grid = tuple(Point(p / 100, instance, ReferenceArm(arm - 1, alpha=p / 100)) for p in percents)
    return Panel(title, "subsidy factor α", grid, (*KNOWN, *OURS), runs=25)


def best(title: str, instance: str, percents: range, policies: tuple[str, ...] = SUBSIDIZED) -> Panel:
    """A panel over alpha (in percent) in the subsidized best reward setting."""
    grid = tuple(Point(p / 100, instance, BestReward(p / 100)) for p in percents)
    return Panel(title, "subsidy factor α", grid, (*policies, *OURS), runs=50)


TREND = ("pe-cs(kappa=5)", "ts-cs", "etc-cs")
P1A = references("MovieLens, α = 0", "movielens", (2, 5, 8, 11, 14, 17, 20))
P1B = references("Goodreads, α = 0", "goodreads", (2, 4, 6, 8))
P1C = known("MovieLens, ℓ = 11", "movielens", 11, range(0, 50, 5))
P1D = known("Goodreads, ℓ = 4", "goodreads", 4, range(0, 50, 5))
FIGURE_1 = (P1A, P1B, P1C, P1D)
P2A = best("MovieLens, α = 0.25", "movielens", range(25, 30, 5), TREND)
P2B = best("MovieLens", "movielens", range(5, 50, 5))
P2C = best("Goodreads, α = 0.25", "goodreads", range(25, 30, 5), TREND)
P2D = best("Goodreads", "goodreads", range(5, 50, 5))
FIXED = known("MovieLens, ℓ = 11, α = 0.05", "movielens", 11, range(5, 10, 5))
TOY = Panel(
    "four arms, α = 0.2, threshold 0.76",
    "mean reward μ₁ of the cheapest arm",
    tuple(Point(mu / 100, f"toy:{mu / 100}", BestReward(0.2)) for mu in range(60, 96, 3)),
    (*SUBSIDIZED, *OURS),
    runs=50,
    horizon=500_000,
)
ASYMMETRIC = Panel(
    "four arms, ℓ = 3, α = 0",
    "",
    (Point(0, "asymmetric", ReferenceArm(2)),),
    ("pe", "asymmetric-pe", *OURS),
    runs=500,  # the paper gives no number, and 50 do not tell the two apart
)

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment("1a", "Figure 1(a): a known reference arm, MovieLens", "scatter", (P1A,)),
        Experiment("1b", "Figure 1(b): a known reference arm, Goodreads", "scatter", (P1B,)),
        Experiment("1c", "Figure 1(c): a known reference arm and a subsidy, MovieLens", "scatter", (P1C,)),
        Experiment("1d", "Figure 1(d): a known reference arm and a subsidy, Goodreads", "scatter", (P1D,)),
        Experiment("fixed-reference", "Appendix: regret over time with a known reference arm", "curves", (FIXED,)),
        Experiment("trade-off-known", "Appendix: cost against quality, known reference arm", "trade-off", FIGURE_1),
        Experiment("asymmetric", "Appendix: what Asymmetric-PE saves", "curves", (ASYMMETRIC,)),
        Experiment("toy", "Appendix: the toy family", "scatter", (TOY,)),
        Experiment("2a", "Figure 2(a): subsidized best reward over time, MovieLens", "curves", (P2A,)),
        Experiment("2b", "Figure 2(b): subsidized best reward, MovieLens", "scatter", (P2B,)),
        Experiment("2c", "Figure 2(c): subsidized best reward over time, Goodreads", "curves", (P2C,)),
        Experiment("2d", "Figure 2(d): subsidized best reward, Goodreads", "scatter", (P2D,)),
        Experiment("trade-off-best", "Appendix: cost against quality, subsidized best reward", "trade-off", (P2B, P2D)),
        Experiment("instance-movielens", "Appendix: the MovieLens instance", "instance", (replace(P2A, policies=()),)),
        Experiment("instance-goodreads", "Appendix: the Goodreads instance", "instance", (replace(P2C, policies=()),)),
    )
}  # fmt: skip


def choose(names: list[str] | tuple[str, ...] = (), quick: bool = False) -> list[Experiment]:
    """The experiments of some figures, each given by its name or by how its name begins; all without names.

    Raises
    ------
    InvalidRun
        A name that no figure begins with.

    Examples
    --------
    >>> [experiment.name for experiment in choose(["1", "toy"])]
    ['1a', '1b', '1c', '1d', 'toy']
    """
    wanted = [name.lower().removeprefix("figure-").removeprefix("figure") for name in names] or [""]
    for name, given in zip(wanted, names, strict=False):
        if not name or not any(known.startswith(name) for known in EXPERIMENTS):
            raise InvalidRun(f"there is no figure {given!r}; the figures are {', '.join(EXPERIMENTS)}")
    chosen = [e for e in EXPERIMENTS.values() if any(e.name.startswith(name) for name in wanted)]
    return [experiment.quick() for experiment in chosen] if quick else chosen
