"""The look of every picture: colours that a colour-blind reader can tell apart, one per policy, and savers.

The colours are Okabe and Ito's palette; a policy keeps its colour and its marker in every picture.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
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
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(width * columns, height * rows))
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, squeeze=False)
        return figure, [ax for row in axes for ax in row]


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure (the format follows the name's ending), folders included; answers with the path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with style():
        figure.savefig(target)
    return target
