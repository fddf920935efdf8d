"""Plain functions, compiled: a rule and every plain function that it calls, with Numba.

A rule calls other functions by their names, so compiling it means compiling those and handing it a set of globals in
which the names stand for compiled functions; the same for functions in a closure or a tuple, or reached through
modules. Compiled code is kept under a key of everything that it was made of (`fingerprint`), in memory and, where that
key means the same in another process, on disk (`cache`): an edited rule, or one with another constant, is never served
from an old cache.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CellType, FunctionType, ModuleType
from typing import Any, TypeVar

from satisfice.errors import InvalidPolicy
from satisfice.policies.cache import DiskCache, cache_dir
from satisfice.policies.fingerprint import (
    BY_VALUE,
    INLINE,
    MADE,
    MISSING,
    UNCOUNTED,
    attribute,
    content,
    fingerprint,
    known,
    names_of,
    plain_of,
)

F = TypeVar("F", bound=Callable[..., Any])

_dispatchers: dict[str, Any] = {}
_lock = threading.RLock()


def link(function: Callable[..., Any], **names: object) -> Callable[..., Any]:
    """`function` as plain Python, with some of the global names that it uses standing for other things.

    Examples
    --------
    >>> def area(r): return circle * r * r
    >>> link(area, circle=3)(2)
    12
    """
    copy = _rebuilt(_plain(function), dict(names), "")
    if _makes_no_arrays(_plain(function), names):
        uncounted(copy)
    return copy


def inline(function: F) -> F:
    """Mark a function whose compiled code is put into its callers: worth it where it is handed many arrays."""
    function.__dict__[INLINE] = True
    return function


def uncounted(function: F) -> F:
    """Mark a function that makes no arrays, nor does any function that it calls: views of those it is given at most.

    Nobody then has to count the references to its arrays, which is half the time of a short decision: it, and what it
    calls, are compiled without. An engine that is linked to rules is, too, where it and they are so marked.
    """
    function.__dict__[UNCOUNTED] = True
    return function


def compile_native(function: Callable[..., Any], **names: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, linked to `names` as by `link`, compiled when it is first called.

    That call raises `InvalidPolicy` if Numba cannot compile it, with the file, the line and the reason.

    Examples
    --------
    >>> def twice(x): return 2 * x
    >>> compile_native(twice)(21)
    42
    """
    from numba.core.errors import NumbaError

    made = dispatcher(function, **names)

    def compiled(*arguments: object) -> Any:
        try:
            return made(*arguments)
        except Exception as error:
            # Numba has errors of its own, but may also stumble; what it has compiled may raise anything.
            if isinstance(error, NumbaError) or not getattr(made, "signatures", True):
                raise _uncompilable(names.get("decide", function), function, error) from error
            raise

    return compiled


def dispatcher(function: Callable[..., Any], **names: Callable[..., Any]) -> Any:
    """As `compile_native`, but Numba's own object, which compiled functions may call. Equal keys give one object."""
    with _lock:
        return _dispatcher(function, names, (), True)


def compiled_before(function: Callable[..., Any], **names: Callable[..., Any]) -> bool:
    """Whether `compile_native` has its code, in this process or on disk; also where it could not be kept there.

    Examples
    --------
    >>> def thrice(x): return 3 * x
    >>> tripled = compile_native(thrice)
    >>> tripled(14), compiled_before(thrice)
    (42, True)
    """
    made = dispatcher(function, **names)
    return bool(getattr(made, "signatures", True)) or made._cache.kept()


def _plain(function: Callable[..., Any]) -> FunctionType:
    plain = plain_of(function)
    if plain is None:
        raise InvalidPolicy(
            f"{function!r} is not a plain function, and cannot be compiled; "
            "compiled=False runs it as it is, slowly and with the same results"
        )
    return plain


def _makes_no_arrays(function: FunctionType, names: Mapping[str, object]) -> bool:
    return all(map(_marked, (function, *names.values())))


def _marked(part: object) -> bool:
    return UNCOUNTED in getattr(plain_of(part), "__dict__", {})


def _dispatcher(
    called: Callable[..., Any],
    names: dict[str, Callable[..., Any]],
    above: tuple[FunctionType, ...],
    outer: bool = False,
    plainly: bool = False,
    merged: bool = False,
) -> Any:
    """What Numba makes of a function. `above` are the functions that are being made, which cannot be asked for;
    `plainly`: without counting references, as whoever calls it; `merged`: as a part of whoever calls it, so that the
    same code is not compiled twice, by itself and there.

    Only an `outer` one is called by Python, and has the code for that, which is most of the code of a small function
    that is handed many arrays."""
    function = _plain(called)
    given = {} if called is function else _options(called)
    bare, lasting = fingerprint(function, names)
    plainly = plainly or _makes_no_arrays(function, names)
    key = bare + ("o" if outer else "m" if merged else "i") + ("u" if plainly else "")
    if given:
        key += hashlib.sha256(repr(sorted(given.items())).encode()).hexdigest()[:8]
    if key not in _dispatchers:
        from numba import njit
        from numba.core import config

        above = (*above, function)
        # Code that Python runs in the midst of it calls what it calls from Python.
        from_python = _has_blocks_of_python(function)

        def compiled(part: Callable[..., Any], merged: bool = False) -> Any:
            if plain_of(part) in above:
                return part
            # One that does not count references gets arrays uncounted from those it calls: to merge it into one that
            # does would have that one give back what nobody took.
            return _dispatcher(part, {}, above, from_python, plainly, merged and (plainly or not _marked(part)))

        parts = {name: compiled(part, merged=outer and not from_python) for name, part in names.items()}
        # The key in the name: code of another process with the same names must not be taken for this one.
        copy = _rebuilt(function, parts, "_" + key, compiled)
        if vars(config)["DISABLE_JIT"]:  # somebody looks for a mistake with a debugger
            return copy
        copy.__dict__[MADE] = True
        options: dict[str, Any] = {"no_cpython_wrapper": not outer, "no_cfunc_wrapper": True, "_nrt": not plainly}
        if merged:
            options["inline"] = "always"
        made: Any = njit(copy, forceinline=INLINE in function.__dict__, **(given | options))
        for name, value in function.__globals__.items():
            if plain_of(value) is function:  # it calls itself
                copy.__globals__[name] = made
        _once_for_all_numbers(made)

        def current() -> bool:
            """Whether the function is still the one of the key; if not, what was just compiled is not that one."""
            if fingerprint(function, names)[0] == bare:
                return True
            _dispatchers.pop(key, None)
            return False

        made._cache = DiskCache(cache_dir() if lasting else None, key, current)
        _once_for_all_processes(made)
        _dispatchers[key] = made
    return _dispatchers[key]


def _options(dispatcher: Any) -> dict[str, Any]:
    """What somebody said to `numba.njit`; that it was `njit` is said again."""
    given = {name: value for name, value in dispatcher.targetoptions.items() if value is not None}
    return {name: value for name, value in given.items() if name != "nopython"}


def _once_for_all_numbers(made: Any) -> None:
    """Compile a function that is called with a constant once, for every number, and not for the constant, too."""
    from numba.core import types
    from numba.core.errors import NumbaError

    as_it_is = made.get_call_template
    plain: Callable[[Any], Any] = types.unliteral

    def get_call_template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        try:
            return as_it_is(tuple(map(plain, args)), {name: plain(value) for name, value in kws.items()})
        except NumbaError:  # one that needs the constant itself
            return as_it_is(args, kws)

    made.get_call_template = get_call_template


def _once_for_all_processes(made: Any) -> None:
    """Compile where no other process does: that one's code is waited for, and loaded."""
    as_it_is = made.compile

    def compile(signature: Any) -> Any:
        with made._cache.alone(signature, made.targetctx.codegen()):
            return as_it_is(signature)

    made.compile = compile


def _has_blocks_of_python(function: FunctionType) -> bool:
    from numba import objmode

    names = names_of(function.__code__)
    return "objmode" in names or any(function.__globals__.get(name) is objmode for name in names)


def _rebuilt(
    function: FunctionType, parts: dict[str, Any], suffix: str, compiled: Callable[..., Any] | None = None
) -> FunctionType:
    """A copy of a function in which the global names `parts` stand for other things.

    Every other function that it may reach, by a global name, in its closure or among its defaults, is what `compiled`
    makes of it.
    """
    names = names_of(function.__code__)
    scope, closure, defaults = dict(function.__globals__), function.__closure__, function.__defaults__
    if compiled is not None:
        copies: dict[int, ModuleType] = {}
        for name in sorted(names & scope.keys() - parts.keys()):
            scope[name] = _exchanged(scope[name], names, compiled, copies)
        closure = closure and tuple(CellType(_exchanged(content(c), names, compiled, copies)) for c in closure)
        defaults = defaults and _exchanged(defaults, names, compiled, copies)
    copy = FunctionType(function.__code__, scope | parts, function.__name__, defaults, closure)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__ = function.__qualname__ + suffix
    copy.__module__ = function.__module__
    return copy


def _exchanged(value: Any, names: frozenset[str], compiled: Callable[..., Any], copies: dict[int, ModuleType]) -> Any:
    """A value in which functions are exchanged for compiled ones: in tuples, and in modules, by names, however deep."""
    if plain_of(value) is not None:
        return compiled(value)
    if isinstance(value, tuple):
        items = [_exchanged(item, names, compiled, copies) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if not isinstance(value, ModuleType) or known(value):
        return value
    if id(value) not in copies:
        if not names & BY_VALUE and not any(_functions(value, names, set())):  # Numba remembers what `getattr` found
            return value
        copies[id(value)] = copy = ModuleType(value.__name__)
        copy.__dict__.update(value.__dict__)
        for name in sorted(names):
            if (thing := attribute(value, name)) is not MISSING:
                setattr(copy, name, _exchanged(thing, names, compiled, copies))
    return copies[id(value)]


def _functions(value: object, names: frozenset[str], seen: set[int]) -> Iterator[object]:
    """The functions to compile that may be reached in a value, by names."""
    if plain_of(value) is not None:
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _functions(item, names, seen)
    elif isinstance(value, ModuleType) and not known(value) and id(value) not in seen:
        seen.add(id(value))
        for name in sorted(names):
            yield from _functions(attribute(value, name), names, seen)


def _uncompilable(rule: Callable[..., Any], engine: Callable[..., Any], error: Exception) -> InvalidPolicy:
    """What to raise where Numba gives up on a rule that `engine` calls: the innermost place that it names, and why."""
    rule = _plain(rule)
    text, code = str(error), rule.__code__
    place = code.co_filename, code.co_firstlineno
    for found in re.finditer(r'\b(?:at|from) (?!0x)(\S.*?) \((\d+)\)|File "(.+?)", line (\d+)', text):
        file, line = found[1] or found[3], int(found[2] or found[4])
        if not file.startswith("<"):  # as it does where there is none
            file = str(Path(file).resolve())
        if rule is engine or file != str(Path(engine.__code__.co_filename).resolve()):
            place = file, line
            break
    lines = (line.strip() for line in text.splitlines())
    reason = next((line for line in lines if line and not line.startswith("Failed in ")), type(error).__name__)
    return InvalidPolicy(
        f"{rule.__qualname__} cannot be compiled: {place[0]}, line {place[1]}: {reason.rstrip('.')}; "
        "compiled=False runs it as it is, slowly and with the same results"
    )
