"""The look of every picture: colours that a colour-blind reader can tell apart, one per policy, and savers.

The colours are Okabe and Ito's palette; a policy keeps its colour and its marker in every picture.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from satisfice.words import amount, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (6, 2, 1, 2)))
_PLACES = {"pe-cs": 0, "pe": 0, "ts-cs": 1, "etc-cs": 2, "ucb-cs": 3, "asymmetric-pe": 4, "ft-ucb": 5, "glr": 6}
NAMES = {
    "pe": "PE",
    "asymmetric-pe": "Asymmetric-PE",
    "pe-cs": "PE-CS",
    "etc-cs": "ETC-CS",
    "ucb-cs": "UCB-CS",
    "ts-cs": "TS-CS",
    "ft-ucb": "FT-UCB",
    "glr": "GLR (ours)",
    "glr-drift": "GLR-drift (ours)",
    "cof": "COF",
    "graves-lai": "Graves-Lai",
    "window-ts-cs": "Window TS-CS",
    "discounted-ts-cs": "Discounted TS-CS",
}


def look(label: str, place: int = 7) -> tuple[str, str, object]:
    """Colour, marker and dash of a policy's label; policies without a place of their own use `place`."""
    at = _PLACES.get(label.partition("(")[0], place) % len(COLOURS)
    return COLOURS[at], MARKERS[at], DASHES[at]


def looks(labels: Iterable[str]) -> dict[str, tuple[str, str, object]]:
    """`look` of several labels in one picture; no two get the same one as long as there are enough."""
    result: dict[str, tuple[str, str, object]] = {}
    taken: set[str] = set()
    for label in labels:
        choice = look(label)
        for place in range(len(COLOURS) - 1, -1, -1):
            if choice[0] not in taken:
                break
            choice = COLOURS[place], MARKERS[place], DASHES[place]
        taken.add(choice[0])
        result[label] = choice
    return result


def pretty(label: str) -> str:
    """The name of a policy as in the paper, with its parameters: `PE-CS (kappa=5)`."""
    base, bracket, rest = label.partition("(")
    return NAMES.get(base, base) + (f" ({rest}" if bracket else "")


@contextmanager
def style() -> Iterator[None]:
    """The settings of every picture: off-screen, a light grid, no frame where it says nothing."""
    import matplotlib

    with matplotlib.rc_context(
        {
            "axes.grid": True,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.constrained_layout.use": True,
            "figure.dpi": 120,
            "font.size": 10,
            "grid.alpha": 0.3,
            "legend.frameon": False,
            "savefig.dpi": 150,
            "svg.fonttype": "none",
        }
    ):
        yield


def new_figure(rows: int = 1, columns: int = 1, width: float = 6.4, height: float = 4.2) -> tuple[Figure, list[Axes]]:
    """A figure that needs no display, and its axes row by row; the sizes (inches) are of one panel."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from satisfice.notebook import Picture

    with style():
        figure = Picture(figsize=(width * columns, height * rows))
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, squeeze=False)
        return figure, [ax for row in axes for ax in row]


def headline(figure: Figure, text: str) -> None:
    """The title of a whole figure, in at most three lines that fit; what is longer is cut in the middle."""
    width = int(figure.get_figwidth() * 10)
    lines = textwrap.fill(shorten(text, 3 * width - 20), width)
    figure.suptitle(lines, fontsize=11, parse_math=False)


def legend(figure: Figure, drawn: Mapping[str, Artist]) -> None:
    """A legend below the figure, in as many columns as its texts leave room for; none when there is nothing in it."""
    if not drawn:
        return
    room = figure.get_figwidth() * 12 // (max(map(len, drawn)) + 8)
    columns = max(1, min(len(drawn), 5, int(room)))
    figure.legend(drawn.values(), drawn.keys(), loc="outside lower center", ncols=columns)


def drawn_in(axes: Iterable[Axes]) -> dict[str, Artist]:
    """What has a label in some axes, by label."""
    return {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}


def readable(axis: Axis) -> None:
    """Numbers on an axis as people write them: 0.16, 500, 12.5k, 3M."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: amount(value)))


def log_ticks(axis: Axis) -> None:
    """Ticks of a log axis that do not overlap; call it when the limits are final. On less than two decades they are
    at 1, 2 and 5 times the powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if high < 100 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        readable(axis)
    axis.set_minor_formatter(NullFormatter())


def symlog_ticks(axis: Axis, linear: float, top: float) -> None:
    """Ticks of an axis that is linear up to `linear`, a power of ten, and logarithmic from there to `top`: zero and
    at most eight powers of ten."""
    from matplotlib.ticker import FixedLocator, NullLocator

    first, last = round(math.log10(linear)), math.floor(math.log10(top))
    step = -(-(last - first + 1) // 8)
    axis.set_major_locator(FixedLocator([0.0, *(10.0**power for power in range(first, last + 1, max(step, 1)))]))
    axis.set_minor_locator(NullLocator())


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure (the format follows the name's ending), folders included; answers with the path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with style():
        figure.savefig(target)
    return target
