"""The parameters of a policy as its rule reads them: a named tuple of numbers, `problem.params.delta`.

Compiled code that is kept on disk names the class of such a tuple, so another process must find it by that name. The
name says what the fields are (`Params5delta5sigma`: each after its length), and asking this module for it makes it.
"""

from __future__ import annotations

import keyword
import re
from collections import namedtuple
from collections.abc import Mapping

from satisfice.errors import InvalidPolicy


def make_params(values: Mapping[str, float]) -> tuple[float, ...]:
    """A named tuple of floating point numbers; its class depends on the names alone.

    Examples
    --------
    >>> params = make_params({"delta": 0.05, "sigma": 0})
    >>> params.delta, params.sigma
    (0.05, 0.0)
    """
    wrong = next((name for name in values if name.startswith("_") or keyword.iskeyword(name)), None)
    if wrong is not None:
        raise InvalidPolicy(f"{wrong!r} cannot be the name of a parameter")
    cls = globals().get(name := "Params" + "".join(f"{len(field)}{field}" for field in values)) or __getattr__(name)
    return cls(*(float(value) for value in values.values()))  # type: ignore[no-any-return, operator]


def __getattr__(name: str) -> object:
    """The class of parameters of this name; see `make_params`."""
    rest = name.removeprefix("Params")
    fields = []
    while found := re.match(r"([1-9]\d*)(?=[^\W\d])", rest):
        end = found.end() + int(found[1])
        fields.append(rest[found.end() : end])
        rest = rest[end:]
    if name != "Params" + "".join(f"{len(field)}{field}" for field in fields):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    cls = namedtuple(name, fields, module=__name__)  # type: ignore[misc]
    return globals().setdefault(name, cls)
