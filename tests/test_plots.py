"""Pictures: what is written on them can be read, whatever the numbers and the names are."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

import satisfice as sf
from satisfice.bounds import lower, upper
from satisfice.bounds.picture import picture
from satisfice.planning import plan
from satisfice.planning.picture import picture as plan_picture
from satisfice.plots import new_figure, readable

MODELS = sf.Instance(costs=[8.0, 0.2, 1.0], means=[0.90, 0.70, 0.88], names=["large", "small", "medium"])
LONG = "A very long name of an instance that somebody typed into a field because nobody told them not to, " * 2


def shown(ax: Axes, axis: str) -> list[str]:
    return [text.get_text().replace("$\\mathdefault{0}$", "0") for text in labels(ax, axis)]


def labels(ax: Axes, axis: str) -> list[Text]:
    found = (getattr(ax, f"{axis}axis").get_ticklabels(which=which) for which in ("major", "minor"))
    return [text for part in found for text in part if text.get_text() and _inside(ax, text, axis)]


def _inside(ax: Axes, text: Text, axis: str) -> bool:
    low, high = sorted(getattr(ax, f"get_{axis}lim")())
    at: float = text.get_position()["xy".index(axis)]
    return bool(low <= at <= high)


def assert_apart(texts: Sequence[Text]) -> None:
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_rotation() == 0]
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        assert not a.overlaps(b), f"{one!r} and {other!r} overlap"


def assert_readable(figure: Figure) -> None:
    figure.canvas.draw()
    for ax in figure.axes:
        for axis in "xy":
            assert_apart(labels(ax, axis))
    whole = figure.bbox
    title = figure.get_suptitle()
    box = next(text for text in figure.texts if text.get_text() == title).get_window_extent()
    assert whole.x0 <= box.x0 and box.x1 <= whole.x1
    for one in figure.legends:
        box = one.get_window_extent()
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1 and one.get_texts()


@pytest.mark.parametrize("scale", [0.001, 1, 1000])
def test_ticks_and_titles_of_a_simulation(scale: float) -> None:
    instance = MODELS.replace(costs=MODELS.costs * scale, label=LONG)
    policies = ["glr", "pe-cs(kappa=5)", "glr(delta=0.001,care=8,exchange=1)", "etc-cs", "ucb-cs"]
    figure = sf.simulate(instance, sf.BestReward(0.05), policies, 20_000, runs=2).plot()
    assert_readable(figure)
    title = figure.get_suptitle().replace("\n", " ")
    assert title.startswith("A very long name") and title.endswith("BestReward (alpha = 0.05), T = 20,000, 2 runs")
    for ax in figure.axes:
        assert "0" in shown(ax, "y")
        assert not any(text.endswith(("m", "µ")) for text in shown(ax, "y"))
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[3].get_xticklabels()]
    # The long label takes no more room than two lines of another would.
    assert max(box.height for box in boxes) < 0.2 * figure.bbox.height


def test_one_run_is_one_run_and_a_dollar_is_no_formula() -> None:
    instance = MODELS.replace(label="cost in $ and reward in $")
    figure = sf.simulate(instance, sf.BestReward(0.05), "etc-cs", 100, runs=1).plot()
    assert figure.get_suptitle() == "cost in $ and reward in $, BestReward (alpha = 0.05), T = 100, 1 run"
    assert_readable(figure)


def test_numbers_on_an_axis() -> None:
    _, (ax,) = new_figure()
    readable(ax.yaxis)
    assert [ax.yaxis.get_major_formatter()(value) for value in (0, 0.16, 0.3, 500, 2500, 3e6)] == [
        "0", "0.16", "0.3", "500", "2.5k", "3M",
    ]  # fmt: skip


@pytest.mark.parametrize("horizon", [20, 1000, 10_000])
def test_a_plan(horizon: int) -> None:
    result = plan([0.2, 1, 8], [0.6, 0.86, 0.9], sf.BestReward(0.1), horizon, policies=["glr", "etc-cs"], runs=3)
    figure = plan_picture("plan", result)
    assert_readable(figure)
    assert "half of the horizon" in [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("horizon", [10, 10_000])
def test_bounds(horizon: int) -> None:
    setting = sf.BestReward(0.05)
    assert_readable(picture(LONG, upper("pe-cs", MODELS, setting, horizon), lower(MODELS, setting)))


def test_bounds_without_a_regret_have_no_legend() -> None:
    one, setting = sf.Instance([1], [0.5]), sf.BestReward(0.1)
    assert not picture("one arm", upper("pe-cs", one, setting, 100), lower(one, setting)).legends


def test_a_theorem_that_does_not_apply_says_so() -> None:
    setting = sf.BestReward(0.15)
    cents = sf.Instance([0.1, 1, 5], [500, 800, 900], reward="gaussian", sigma=30)
    figure = picture("cents", upper("pe-cs", cents, setting, 10_000), lower(cents, setting))
    texts = [text.get_text().replace("\n", " ") for text in figure.axes[0].texts]
    assert any("the theorem is for rewards within [0, 1]" in text for text in texts)
    assert not any("above the largest gap" in text for text in texts)
    assert not any("theorem" in text.get_text() for text in figure.legends[0].get_texts())
