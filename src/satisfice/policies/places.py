"""Policies of others: in a file of their own (`mypolicy.py:Sampler`), in a module, or in an installed package.

A package names its policies in the entry points of the group `satisfice.policies`; they are known by their ids then, as
those of this package are. Where neither will do, the environment variable `SATISFICE_POLICIES` names places that are
looked at before anything is said to be unknown, with commas between them.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
import warnings
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType

from satisfice.errors import InvalidPolicy
from satisfice.policies.contract import Policy, known_by_id
from satisfice.words import listed

GROUP = "satisfice.policies"
VARIABLE = "SATISFICE_POLICIES"


def load_policies(place: str) -> list[type[Policy]]:
    """The policy classes at a place: `file.py`, `file.py:Class`, `package.module` or `package.module:Class`.

    Loading runs the file. The classes are known by their ids from then on.

    Raises
    ------
    InvalidPolicy
        There is no such file, module or class, or it cannot be loaded; the message says why.
    """
    where, name = _parts(place)
    module = _module(where, place)
    found = [
        cls
        for cls in vars(module).values()
        if isinstance(cls, type) and issubclass(cls, Policy) and cls is not Policy and hasattr(cls, "id")
    ]
    own = [cls for cls in found if cls.__module__ == module.__name__]
    for cls in own:
        known_by_id(cls)  # again, for a file that was loaded before
    if not name:
        if not own:
            raise InvalidPolicy(f"{where} defines no policy: a class that inherits from satisfice.Policy and has an id")
        return own
    chosen = [cls for cls in found if cls.__name__ == name]
    if not chosen:
        there = listed([cls.__name__ for cls in own]) or "none"
        raise InvalidPolicy(f"{where} has no policy {name!r}; its policies are {there}")
    return chosen


def is_place(text: str) -> bool:
    """Whether a policy is named by where it is, and not by its id.

    Examples
    --------
    >>> is_place("mine.py:Sampler"), is_place("lab/mine.py"), is_place("lab.mine:Sampler"), is_place("pe-cs(kappa=5)")
    (True, True, True, False)
    """
    return ":" in text or text.partition("(")[0].strip().endswith(".py")


@cache
def load_installed() -> None:
    """Load the policies of installed packages and of `SATISFICE_POLICIES`, once."""
    for entry in metadata.entry_points(group=GROUP):
        try:
            entry.load()
        except Exception as error:
            # Somebody else's package must not break everything else.
            warnings.warn(f"the policy {entry.name!r} ({entry.value}) cannot be loaded: {error!r}", stacklevel=2)
    for place in filter(None, (part.strip() for part in os.environ.get(VARIABLE, "").split(","))):
        load_policies(place)


def _parts(place: str) -> tuple[str, str]:
    where, colon, name = place.rpartition(":")
    # The colon of C:\lab\mine.py is none that names a class.
    if not colon or name.endswith(".py") or "/" in name or "\\" in name:
        return place, ""
    return where, name


def _module(where: str, place: str) -> ModuleType:
    try:
        return _from_file(Path(where).resolve()) if where.endswith(".py") else importlib.import_module(where)
    except InvalidPolicy as error:
        raise InvalidPolicy(f"{place}: {error}") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidPolicy(f"{place} cannot be loaded: {reason}") from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InvalidPolicy(f"there is no file {path}")
    content = path.read_bytes()
    digest = hashlib.sha256(str(path).encode() + content).hexdigest()[:12]
    name = f"satisfice_policies_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        # Not by the loader, which takes bytecode of the same second and length for that of this file.
        exec(compile(content, str(path), "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    # Other processes and machines do not have this module: its classes go there by value.
    import cloudpickle

    cloudpickle.register_pickle_by_value(module)
    return module
