"""The policies, one file each. A new file in this folder is a new policy; nothing else needs to know."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import pkgutil
import re

from satisfice.errors import InvalidPolicy
from satisfice.policies.contract import Policy, registry
from satisfice.policies.places import is_place, load_installed, load_policies

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["Policy", "all_policies", "get_policy"]


def all_policies() -> dict[str, type[Policy]]:
    """Every policy class by id, in alphabetical order: those of this package, of installed ones, and of loaded files.

    Examples
    --------
    >>> all_policies()["pe-cs"].__name__
    'PECS'
    """
    load_installed()
    return dict(sorted(registry().items()))


def get_policy(policy: str | Policy | type[Policy]) -> Policy:
    """A policy from an id (`"pe-cs"`), a label (`"pe-cs(kappa=5)"`), a place (`"mine.py:Sampler(samples=50)"`), a class
    or an object.

    Examples
    --------
    >>> get_policy("pe-cs(kappa=5)").kappa
    5
    """
    if isinstance(policy, Policy):
        policy.check_numbers()
        return policy
    if isinstance(policy, type) and issubclass(policy, Policy):
        return policy()
    text = str(policy)
    if is_place(text):
        place, bracket, rest = text.partition("(")
        classes = load_policies(place.strip())
        if len(classes) > 1:
            names = ", ".join(f"{place.strip()}:{cls.__name__}" for cls in classes)
            raise InvalidPolicy(f"{place.strip()} defines {len(classes)} policies; name one: {names}")
        text = f"{classes[0].id}{bracket}{rest}"
        known = {classes[0].id: classes[0]}
    else:
        known = all_policies()
    match = re.fullmatch(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", text)
    if match is None or match[1] not in known:
        near = difflib.get_close_matches(str(policy), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidPolicy(f"there is no policy {policy!r}; the policies are {', '.join(known)}.{hint}")
    cls = known[match[1]]
    accepted = [field.name for field in dataclasses.fields(cls)]
    params: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in (match[2] or "").split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in accepted:
            raise InvalidPolicy(f"{cls.id} has no parameter {name!r}; it has {', '.join(accepted) or 'none'}")
        try:
            number = float(value)
        except ValueError:
            raise InvalidPolicy(f"{cls.id}: {name}={value!r} is not a number") from None
        params[name] = int(number) if number.is_integer() else number
    return cls(**params)
