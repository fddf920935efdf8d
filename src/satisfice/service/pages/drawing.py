"""Pictures as SVG inside a page: what they are made of is escaped, and they have no style of their own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape


def tag(name: str, *inside: object, **attributes: object) -> Markup:
    """An element. `class_` is its class, and an underscore in a name is a dash; None leaves an attribute out.

    Examples
    --------
    >>> tag("text", "<b>", x=1.234, class_="label")
    Markup('<text x="1.2" class="label">&lt;b&gt;</text>')
    """
    texts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None:
            continue
        said = short(value) if isinstance(value, float) else value
        key = key if key == "viewBox" or key == "preserveAspectRatio" else key.rstrip("_").replace("_", "-")
        texts.append(f' {key}="{escape(said)}"')
    content = "".join(str(escape(part)) for part in inside)
    texts.append(f">{content}</{name}>" if inside else "/>")
    return Markup("".join(texts))


def short(value: float) -> str:
    """A coordinate, to a tenth.

    Examples
    --------
    >>> short(3.0), short(3.14), short(-0.01)
    ('3', '3.1', '0')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


class Scale:
    """From values to places: linear, or logarithmic where `log`."""

    def __init__(self, low: float, high: float, start: float, end: float, *, log: bool = False) -> None:
        if high <= low:
            low, high = low - 0.5, high + 0.5
        self.low, self.high, self.start, self.end, self.log = low, high, start, end, log

    def __call__(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        if self.log:
            part = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Round values within the range.

        Examples
        --------
        >>> Scale(0.0, 1.0, 0, 100).ticks()
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        >>> Scale(0.1, 30.0, 0, 100, log=True).ticks()
        [0.1, 1.0, 10.0]
        """
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            powers = [10.0**power for power in range(first, last + 1)]
            if len(powers) >= 2:
                return powers[:: math.ceil(len(powers) / (most + 1))]
            values = [digit * 10.0**power for power in range(first - 1, last + 1) for digit in (1, 2, 5)]
            return [value for value in values if self.low <= value <= self.high]
        raw = (self.high - self.low) / most
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(step for step in (size, 2 * size, 2.5 * size, 5 * size, 10 * size) if step >= raw - 1e-12)
        first = math.ceil(self.low / step - 1e-9)
        count = math.floor(self.high / step + 1e-9) - first + 1
        return [round((first + i) * step, 12) for i in range(count)]


def said(value: float) -> str:
    """A value beside an axis.

    Examples
    --------
    >>> said(0.25), said(20_000), said(1.0), said(2_500_000), said(0.0)
    ('0.25', '20k', '1', '2.5M', '0')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            unit = 1e3 if letter == "k" else size
            return f"{value / unit:g}{letter}"
    return f"{value:,g}" if abs(value) >= 1000 else f"{value:g}"


def line(xs: Iterable[float], ys: Iterable[float]) -> str:
    """The path through points; a value that is nan breaks it."""
    parts: list[str] = []
    broken = True
    for x, y in zip(xs, ys, strict=True):
        if math.isnan(y):
            broken = True
            continue
        parts.append(f"{'M' if broken else 'L'}{short(x)} {short(y)}")
        broken = False
    return "".join(parts)


def band(xs: Sequence[float], lows: Sequence[float], highs: Sequence[float]) -> str:
    """The outline of an area between two lines."""
    there = "L".join(f"{short(x)} {short(y)}" for x, y in zip(xs, highs, strict=True))
    back = "L".join(f"{short(x)} {short(y)}" for x, y in reversed(list(zip(xs, lows, strict=True))))
    return f"M{there}L{back}Z"
