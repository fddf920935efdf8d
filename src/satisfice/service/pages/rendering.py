"""Pages from templates, and the files that they need, all from inside the package."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from satisfice import __version__
from satisfice.words import count, date_of, number

HOME = Path(__file__).parent
TYPES = {".js": b"text/javascript; charset=utf-8", ".css": b"text/css; charset=utf-8", ".svg": b"image/svg+xml"}


@cache
def static_files() -> Mapping[str, tuple[bytes, bytes]]:
    """The files that pages ask for, by name: their content and its type."""
    found = sorted(path for path in (HOME / "static").iterdir() if path.suffix in TYPES)
    return {path.name: (path.read_bytes(), TYPES[path.suffix]) for path in found}


@cache
def stamp() -> str:
    """What changes when any of the files does, so that browsers may keep them for good."""
    whole = hashlib.sha256()
    for name, (content, _) in static_files().items():
        whole.update(name.encode() + content)
    return whole.hexdigest()[:12]


def amount(value: float | None) -> str:
    """An amount of money, or of anything that is not counted.

    Examples
    --------
    >>> amount(12345.6), amount(0.04217), amount(3.0), amount(None), amount(0.000012)
    ('12,346', '0.04217', '3', '–', '1.2e-05')
    """
    return "–" if value is None or math.isnan(value) else number(value)


def mean(value: float | None) -> str:
    """A mean reward.

    Examples
    --------
    >>> mean(0.87654), mean(12.3456), mean(float("nan"))
    ('0.877', '12.35', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"


def share(value: float | None) -> str:
    """A share as a percentage.

    Examples
    --------
    >>> share(0.5), share(0.00234), share(1.0), share(None), share(0.00001)
    ('50%', '0.2%', '100%', '–', '<0.1%')
    """
    if value is None or math.isnan(value):
        return "–"
    if 0 < value < 0.001:
        return "<0.1%"
    return f"{100 * value:.1f}".rstrip("0").rstrip(".") + "%"


def when(at: float | None) -> Markup:
    """A time, as people and browsers read it."""
    if at is None or not math.isfinite(at):
        return Markup("–")
    moment = date_of(at)
    return Markup('<time datetime="{}" title="{} UTC">{} UTC</time>').format(
        moment.isoformat(timespec="seconds"),
        moment.strftime("%Y-%m-%d %H:%M:%S"),
        moment.strftime("%d %b %H:%M:%S" if moment.year == datetime.now(UTC).year else "%d %b %Y %H:%M"),
    )


def duration(seconds: float | None) -> str:
    """How long something takes.

    Examples
    --------
    >>> duration(0.25), duration(7.4), duration(90), duration(7200), duration(200_000), duration(None)
    ('250 ms', '7.4 s', '90 s', '2 h', '2.3 days', '–')
    """
    if seconds is None or math.isnan(seconds):
        return "–"
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    for size, word in ((86_400.0, "days"), (3600.0, "h"), (120.0, "min"), (0.0, "s")):
        if seconds >= (size if word != "days" else 2 * size):
            unit = {"days": 86_400.0, "h": 3600.0, "min": 60.0, "s": 1.0}[word]
            text = f"{seconds / unit:.2g}" if seconds / unit < 10 else f"{seconds / unit:.0f}"
            return f"{text} {word}"
    return "–"


def ago(at: float | None) -> str:
    """How long ago something was."""
    if at is None or not math.isfinite(at):
        return "never"
    seconds = max(time.time() - at, 0.0)
    return "just now" if seconds < 2 else f"{duration(seconds)} ago"


@cache
def environment() -> Environment:
    """The templates. What is put into them is escaped, always."""
    made = Environment(
        loader=FileSystemLoader(HOME / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        amount=amount, mean=mean, share=share, when=when, duration=duration, ago=ago, number=lambda value: f"{value:,}"
    )
    made.globals.update(version=__version__, stamp=stamp, things=count, now=time.time, isnan=math.isnan)
    return made


def render(template: str, **values: object) -> str:
    """A page."""
    return environment().get_template(template).render(**values)
