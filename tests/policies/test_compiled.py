"""Compiled code is cached, and never served where it would be another rule than the one that was asked for."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
import uuid
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

import satisfice as sf
from satisfice.errors import InvalidPolicy
from satisfice.policies import get_policy
from satisfice.policies.cache import _hold, cache_dir, private
from satisfice.policies.compiled import compile_native, dispatcher, link, uncounted
from satisfice.policies.contract import Policy, Problem, State, registered, registry
from satisfice.policies.fingerprint import fingerprint
from satisfice.policies.pairwise import gap_squared

INSTANCE = sf.Instance([1, 2, 3], [0.5, 0.6, 0.7])


def python(code: str, cache: Path | None, *, stdin: bool = False, extra: Path | None = None) -> str:
    """The output of a new process, with a cache of its own or that of this one."""
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    if cache is not None:
        environment["SATISFICE_CACHE"] = str(cache)
    if extra is not None:
        environment["PYTHONPATH"] = os.pathsep.join([str(extra), environment.get("PYTHONPATH", "")])
    command = [sys.executable] if stdin else [sys.executable, "-c", code]
    done = subprocess.run(
        command, input=code if stdin else None, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# Every way by which a function may read something that is not in its own lines.
RULES = """
import enum
import numpy as np
import consts, lazy, lab.inner
from helper import helper, theirs, Point
from lab.relative import relative

class Level(enum.IntEnum):
    HIGH = {v}

FACTOR, PAIR, TABLE = {v}, ({v}, 0), np.array([{v}, 0])
point = Point({v}, 0)
def make(c, f):
    def inner(x): return f(x) + c
    return inner
def other(x): return {v} * x

def by_global(x): return FACTOR * x
def by_tuple(x): return PAIR[0] * x
def by_array(x): return TABLE[0] * x
def by_named_tuple(x): return point.left * x
def by_module(x): return consts.X * x
def by_function_in_module(x): return consts.times(x)
def by_attribute_made_up(x): return lazy.X * x
def by_function(x): return helper(x)
def by_function_compiled_by_somebody_else(x): return theirs(x)
def by_default(x, c={v}): return c * x
def by_function_that_is_a_default(x, f=theirs): return f(x)
def by_tuple_of_functions(x): return PARTS[0](x)
def by_named_tuple_of_functions(x): return parts.left(x)
def by_enum(x): return Level.HIGH * x
def by_record(x): return RECORD["a"] * x
def by_relative_import(x): return relative(x)
def by_module_in_a_package(x): return lab.inner.times(x)
def by_module_in_a_package_compiled_by_somebody_else(x): return lab.inner.theirs(x)
def by_module_in_a_variable(x):
    module = lab.inner
    return module.theirs(x)
def by_choice(x):
    chosen = helper if x > 0 else other
    return chosen(x)
def by_nested(x):
    def inside(y): return FACTOR * y
    return inside(x)
by_closure = make({v}, other)
PARTS, parts = (helper, theirs), Point(theirs, 0)
RECORD = np.array([({v}, 0)], dtype=[("a", "i8"), ("b", "i8")])[0]
def over(module):
    def inner(x): return module.theirs(x)
    return lambda x: inner(x)
by_module_in_a_closure = over(lab.inner)

from satisfice.policies.compiled import dispatcher
for name, rule in sorted(globals().items()):
    if name.startswith("by_"):
        function = dispatcher(rule)
        print(name, function(1), sum(function.stats.cache_hits.values()))
"""


def test_whatever_a_rule_reads_is_part_of_its_key(tmp_path: Path) -> None:
    code, cache = tmp_path / "code", tmp_path / "cache"
    code.mkdir()

    def answers(value: int) -> dict[str, tuple[int, int]]:
        (code / "consts.py").write_text(f"X = {value}\n\ndef times(x):\n    return X * x\n")
        (code / "helper.py").write_text(
            f"from typing import NamedTuple\nFACTOR = {value}\n\ndef helper(x):\n    return FACTOR * x\n\n"
            "class Point(NamedTuple):\n    left: int\n    right: int\n\n"
            # Numba's own cache looks at this file, and not at what it reads.
            "import consts\nfrom numba import njit\n\n@njit(cache=True)\ndef theirs(x):\n    return consts.X * x\n"
        )
        (code / "lazy.py").write_text(
            f"def __getattr__(name):\n    if name != 'X':\n        raise AttributeError(name)\n    return {value}\n"
        )
        lab = code / "lab"
        lab.mkdir(exist_ok=True)
        (lab / "__init__.py").write_text("")
        (lab / "inner.py").write_text(
            "import consts\nfrom numba import njit\nfrom helper import helper\ndef times(x):\n    return helper(x)\n"
            "@njit(cache=True)\ndef theirs(x):\n    return consts.X * x\n"
        )
        (lab / "relative.py").write_text("from . import inner\ndef relative(x):\n    return inner.times(x)\n")
        (code / "rules.py").write_text(RULES.format(v=value))
        lines = python("import rules", cache, extra=code).split("\n")
        return {name: (int(out), int(hits)) for name, out, hits in (line.split() for line in lines if line)}

    cold = answers(3)
    assert len(cold) == 23
    assert {out for name, (out, _) in cold.items() if name != "by_closure"} == {3}
    assert cold["by_closure"][0] == 6
    assert {hits for _, hits in cold.values()} == {0}
    warm = answers(3)
    # The type of a function that is handed over is not the same in two processes.
    assert warm == {n: (out, int(n != "by_function_that_is_a_default")) for n, (out, _) in cold.items()}
    edited = answers(5)
    assert edited == {name: (10 if name == "by_closure" else 5, 0) for name in cold}


MAKE = """
import satisfice as sf
from dataclasses import dataclass
from satisfice.policies.contract import Policy

def make(c):
    @dataclass(frozen=True)
    class Constant(Policy):
        id = f"constant-{c}"
        settings = (sf.BestReward,)
        summary = "always the same arm"
        @staticmethod
        def decide(problem, state, t, rng):
            return c, PULLS
    return Constant

result = sf.simulate(sf.Instance([1, 2, 3], [0.5, 0.6, 0.7]), sf.BestReward(0.1), [make(0), make(1), make(2)], 5)
print([int(r.pulls.argmax()) for r in result.values()])
"""


def test_rules_that_differ_in_their_closure_only(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    rules = MAKE.replace("PULLS", str(uuid.uuid4().int >> 68))  # that nobody has compiled before
    script.write_text(rules)
    for _ in range(2):  # they are compiled, and then loaded
        assert python(f"import runpy; runpy.run_path({str(script)!r})", None) == "[0, 1, 2]\n"
    # Typed into standard input: there is no file to look at.
    assert python(rules.replace("make(0), make(1), ", ""), None, stdin=True) == "[2]\n"


def test_a_value_that_changes_within_a_process() -> None:
    scope: dict[str, object] = {"FACTOR": 2, "TABLE": np.array([1.0, 5.0])}
    exec("def rule(x):\n    return FACTOR * TABLE[1] * x", scope)
    rule = scope["rule"]
    assert callable(rule)
    assert compile_native(rule)(1) == 10
    scope["FACTOR"] = 3
    assert compile_native(rule)(1) == 15
    table = scope["TABLE"]
    assert isinstance(table, np.ndarray)
    table[1] = 7.0
    assert compile_native(rule)(1) == 21


def test_a_helper_that_somebody_compiled_before() -> None:
    scope: dict[str, Any] = {"FACTOR": 2}
    exec("def helper(x):\n    return FACTOR * x\ndef rule(x):\n    return helper(x)", scope)
    scope["helper"] = njit(scope["helper"])
    assert scope["helper"](1) == compile_native(scope["rule"])(1) == 2
    scope["FACTOR"] = 3
    assert compile_native(scope["rule"])(1) == 3


@pytest.mark.filterwarnings("ignore:First-class")
def test_helpers_that_somebody_compiled_before_in_a_tuple() -> None:
    scope: dict[str, Any] = {"FACTOR": 2}
    exec("def helper(x):\n    return FACTOR * x\ndef rule(x):\n    return PARTS[0](x)", scope)
    scope["PARTS"] = (njit(scope["helper"]),)
    assert scope["PARTS"][0](1) == compile_native(scope["rule"])(1) == 2
    scope["FACTOR"] = 3
    assert compile_native(scope["rule"])(1) == 3


def test_a_record_that_changes_within_a_process() -> None:
    scope: dict[str, Any] = {"RECORD": np.array([(3, 0)], dtype=[("a", "i8"), ("b", "i8")])[0]}
    exec("def rule(x):\n    return RECORD['a'] * x", scope)
    assert compile_native(scope["rule"])(1) == 3
    scope["RECORD"]["a"] = 5
    assert compile_native(scope["rule"])(1) == 5


def test_a_module_that_is_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "loaded_twice.py"
    file.write_text("FACTOR = 3\ndef times(x):\n    return FACTOR * x\n")
    module = importlib.import_module("loaded_twice")
    scope = {"module": module, "times": module.times}
    exec("def by_module(x):\n    return module.times(x)\ndef by_name(x):\n    return times(x)", scope)
    assert [compile_native(scope[name])(1) for name in ("by_module", "by_name")] == [3, 3]
    file.write_text("FACTOR = 55\ndef times(x):\n    return FACTOR * x + 1\n")
    importlib.reload(module)
    # The name still stands for the old function, which reads the new number.
    assert [compile_native(scope[name])(1) for name in ("by_module", "by_name")] == [56, 55]
    monkeypatch.delitem(sys.modules, "loaded_twice")


def test_python_in_the_midst_of_compiled_code_may_call_what_the_rule_calls() -> None:
    # In a process of its own, since what may happen is that it crashes.
    code = (
        "from numba import objmode as aside\nfrom satisfice.policies.compiled import compile_native\n"
        "def helper(x):\n    return 3 * x\n"
        "def rule(x):\n    with aside(y='int64'):\n        y = helper(x)\n    return y\n"
        "print(compile_native(rule)(1))"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


NAMED = """
from typing import NamedTuple
from satisfice.policies.compiled import dispatcher

class Pair(NamedTuple):
    {first}: int
    {second}: int

function = dispatcher(lambda pair: pair.left)
print(function(Pair({first}={first_value}, {second}={second_value})), sum(function.stats.cache_hits.values()))
"""


def test_named_tuples_whose_fields_have_changed_places(tmp_path: Path) -> None:
    left_first = {"first": "left", "second": "right", "first_value": 1, "second_value": 2}
    right_first = {"first": "right", "second": "left", "first_value": 2, "second_value": 1}
    (tmp_path / "code").mkdir()
    answers = []
    for fields in (left_first, left_first, right_first, right_first):
        (tmp_path / "code" / "pairs.py").write_text(NAMED.format(**fields))
        answers.append(python("import pairs", tmp_path / "cache", extra=tmp_path / "code"))
    assert answers == ["1 0\n", "1 1\n", "1 0\n", "1 1\n"]


def test_an_attribute_by_a_name_that_is_a_value(tmp_path: Path) -> None:
    module = ModuleType("unknown")
    scope: dict[str, Any] = {"module": module, "NAME": "X"}
    exec("def rule(x):\n    return getattr(module, NAME) * x", scope)
    for value in (3, 5):
        module.X = value  # type: ignore[attr-defined]
        assert compile_native(scope["rule"])(1) == value
    assert not fingerprint(scope["rule"], {})[1]


def test_what_changes_between_its_key_and_its_compilation_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATISFICE_CACHE", str(tmp_path))
    scope: dict[str, Any] = {"TABLE": np.array([3])}
    exec("def rule(x):\n    return TABLE[0] * x", scope)
    made = dispatcher(scope["rule"])
    scope["TABLE"][0] = 5
    assert made(1) == 5
    folder = cache_dir()
    assert folder is not None and not list(folder.glob("*.nbc"))
    scope["TABLE"][0] = 3  # as it was for the key
    assert dispatcher(scope["rule"])(1) == 3


def test_every_kind_of_change_is_seen() -> None:
    module, scope = ModuleType("unknown"), dict[str, object]()
    scope["module"] = module
    code = """
def outer(a):
    def put(b):
        nonlocal a
        a = b
    def rule(x, c=1):
        return part(x) + module.Y + a + c
    return rule, put
def part(x):
    return x
"""
    exec(code, scope)
    module.Y = 0  # type: ignore[attr-defined]
    rule, put = scope["outer"](0)  # type: ignore[operator]
    keys = [fingerprint(rule, {})]

    def changed() -> bool:
        assert fingerprint(rule, {}) == fingerprint(rule, {})
        keys.append(fingerprint(rule, {}))
        return len(set(keys)) == len(keys)

    module.Y = 1  # type: ignore[attr-defined]
    assert changed()
    put(5)
    assert changed()
    rule.__defaults__ = (2,)
    assert changed()
    scope["part"] = lambda x: x + 1
    assert changed()
    scope["x"] = 3  # not a name that the rule reads as a global
    assert not changed()


def test_a_function_may_call_itself() -> None:
    scope: dict[str, object] = {}
    exec("def factorial(n):\n    return 1 if n <= 1 else n * factorial(n - 1)", scope)
    factorial = scope["factorial"]
    assert callable(factorial)
    assert compile_native(factorial)(5) == 120


def test_keys_tell_values_apart() -> None:
    def key(value: object) -> tuple[str, bool]:
        def rule() -> object:
            return value

        return fingerprint(rule, {})  # type: ignore[arg-type]

    module = ModuleType("unknown")
    values: list[object] = [
        1, 1.0, True, None, "1", b"1", (1,), (1, 2), ((1, 2),), [1], np.float64(1), np.float32(1), np.ones(1),
        np.ones((1, 1)), np.zeros(1), np.dtype("f8"), math_like, np.sqrt, np.exp, len, float, module, sf.SatisficeError,
        Policy.decide, np.asfortranarray(np.ones((2, 2))), np.ones((2, 2)),
    ]  # fmt: skip
    keys = [key(value) for value in values]
    assert len(set(keys)) == len(values)
    assert keys == [key(value) for value in values]
    assert all(lasting for _, lasting in keys)
    # What other processes cannot compare theirs with has no key that lasts.
    for value in (object(), {1: 2}, {1}, np.array([None])):
        assert key(value) == key(value)
        assert not key(value)[1]
    assert key(object()) != key(object())


def math_like(x: float) -> float:
    return x


class Stuck(Policy, register=False):
    """A rule that Numba does not understand."""

    id = "stuck-for-tests"
    settings = (sf.BestReward,)
    summary = "a mistake"

    @staticmethod
    def decide(problem, state, t, rng):  # type: ignore[no-untyped-def]
        cheapest = 0
        return problem.costs.tolist()[cheapest], 1  # this line: arrays have no tolist() in compiled code


def test_what_cannot_be_compiled_is_an_error_with_a_line() -> None:
    line = next(n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "# this line" in text)
    with pytest.raises(InvalidPolicy, match=rf"Stuck.decide cannot be compiled: .*test_compiled.py, line {line}: "):
        sf.simulate(INSTANCE, sf.BestReward(0.1), Stuck, 10)
    with pytest.raises(InvalidPolicy, match="compiled=False"):
        sf.simulate(INSTANCE, sf.BestReward(0.1), Stuck, 10)


def test_what_is_no_plain_function_is_an_error_that_offers_the_plain_way() -> None:
    def always(arm: int, problem: Problem, state: State, t: int, rng: np.random.Generator) -> tuple[int, int]:
        return arm, 1000

    class Partial(Policy, register=False):
        id = "partial-for-tests"
        settings = (sf.BestReward,)
        summary = "a rule that was made of another one"
        decide = staticmethod(partial(always, 1))

    with pytest.raises(InvalidPolicy, match=r"is not a plain function.*compiled=False"):
        sf.simulate(INSTANCE, sf.BestReward(0.1), Partial, 10)
    (result,) = sf.simulate(INSTANCE, sf.BestReward(0.1), [Partial], 10, compiled=False).values()
    assert result.pulls.argmax() == 1


def test_the_line_that_is_named_is_that_of_the_mistake() -> None:
    def rule(x: float) -> float:
        y = x
        import math  # here

        return math.floor(y)

    line = next(n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith("math  # here"))
    with pytest.raises(InvalidPolicy, match=rf"test_compiled.py, line {line}: "):
        compile_native(rule)(1.0)
    scope: dict[str, Any] = {"view": memoryview(b"1"), "table": {1: 2}}  # typed in: there is no file
    exec("def by_view(x):\n    return view[0] * x\n\ndef by_table(x):\n    return table[1] * x", scope)
    for name, number in (("by_view", 2), ("by_table", 5)):
        with pytest.raises(InvalidPolicy, match=rf"{name} cannot be compiled: <string>, line {number}"):
            compile_native(scope[name])(1)


def test_with_numba_switched_off_rules_run_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import config

    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    scope: dict[str, Any] = {}
    exec("def part(x):\n    return x + 1\ndef rule(x):\n    return part(x) * 2", scope)
    assert compile_native(scope["rule"])(1) == 4


def test_no_setting_of_numba_is_touched_and_threads_get_one_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from numba.core import config

    monkeypatch.setenv("SATISFICE_CACHE", str(tmp_path))
    seen, made = set(), []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            seen.add(vars(config)["CACHE_DIR"])

    watcher = threading.Thread(target=watch)
    watcher.start()
    scope: dict[str, object] = {}
    exec("def part(x):\n    return x + 1\ndef rule(x):\n    return part(x) * 2", scope)
    threads = [threading.Thread(target=lambda: made.append(dispatcher(scope["rule"]))) for _ in range(8)]  # type: ignore[arg-type]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {function(1) for function in made} == {4}
    stop.set()
    watcher.join()
    assert seen == {vars(config)["CACHE_DIR"]}
    assert len({id(function) for function in made}) == 1


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files")
class TestFolder:
    """Compiled code is run, so that it must come from nobody else."""

    def test_made_for_the_user_alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SATISFICE_CACHE", str(tmp_path / "cache"))
        folder = cache_dir()
        assert folder is not None
        assert folder.stat().st_mode & 0o777 == 0o700
        folder.chmod(0o777)  # opened to others: closed again before it is used
        assert cache_dir() == folder
        assert folder.stat().st_mode & 0o777 == 0o700

    def test_not_that_of_somebody_else(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SATISFICE_CACHE", str(tmp_path))
        folder = cache_dir()
        assert folder is not None
        link = tmp_path / "link"
        link.symlink_to(folder)
        assert not private(link)
        (tmp_path / "file").write_text("")
        assert not private(tmp_path / "file")
        assert not private(tmp_path / "file" / "below")
        me = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: me + 1)
        assert cache_dir() is None

    def test_no_fallback_to_a_folder_that_others_made(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("SATISFICE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("HOME", str(tmp_path / "file"))  # no cache folder can be made here
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        folder = cache_dir()
        assert folder == tmp_path / f"satisfice-{os.getuid()}"
        assert folder.stat().st_mode & 0o777 == 0o700
        folder.rmdir()
        (tmp_path / "trap").mkdir()
        folder.symlink_to(tmp_path / "trap")
        assert cache_dir() is None

    def test_a_file_that_others_may_write_is_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SATISFICE_CACHE", str(tmp_path))

        def answer() -> tuple[float, int]:
            """What a process says that has compiled nothing yet, and whether it found the code."""
            monkeypatch.setattr("satisfice.policies.compiled._dispatchers", {})
            made = dispatcher(gap_squared)
            return made(1), sum(made.stats.cache_hits.values())

        assert answer() == (0.25, 0)
        assert answer() == (0.25, 1)
        (file,) = (tmp_path / "compiled").glob("*.nbc")
        assert file.stat().st_mode & 0o777 == 0o600
        file.chmod(0o666)
        assert answer() == (0.25, 0)
        file.write_bytes(file.read_bytes()[:100])  # cut short by a full disk
        assert answer() == (0.25, 0)
        assert answer() == (0.25, 1)


def test_one_process_compiles_and_the_others_wait_for_it(tmp_path: Path) -> None:
    script = (
        "import numpy as np\nfrom satisfice.policies.compiled import dispatcher\n"
        "def rule(x):\n    return np.sort(np.full(3, x)).sum()\n"
        "function = dispatcher(rule)\nprint('ready', flush=True)\ninput()\n"
        "print(function(2.0), sum(function.stats.cache_hits.values()), flush=True)"
    )
    (tmp_path / "same.py").write_text(script)
    environment = os.environ | {
        "SATISFICE_CACHE": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
    }
    command = [sys.executable, "-c", "import same"]
    together = [
        subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    assert {process.stdout.readline() for process in together if process.stdout} == {"ready\n"}
    for process in together:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert sorted(process.communicate()[0] for process in together) == ["6.0 0\n", "6.0 1\n", "6.0 1\n"]


def test_a_process_that_does_not_go_on_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fcntl")
    monkeypatch.setattr("satisfice.policies.cache.PATIENCE", 0.1)
    code = (
        "from pathlib import Path\nimport sys\nfrom satisfice.policies.cache import _hold\n"
        "print(_hold(Path(sys.argv[1])) is not None, flush=True)\ninput()"
    )
    wanted = str(tmp_path / "code.nbc")
    with subprocess.Popen(
        [sys.executable, "-c", code, wanted], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None and other.stdin is not None and other.stdout.readline() == "True\n"
        assert _hold(Path(wanted)) is None
        assert _hold(tmp_path / "another.nbc") is not None
        other.kill()
        other.wait()
    assert _hold(Path(wanted)) is not None


def test_without_a_folder_rules_are_compiled_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    script = "from satisfice.policies.compiled import compile_native\nprint(compile_native(lambda x: x + 1)(1))"
    assert python(script, tmp_path / "file") == "2\n"


def test_an_id_belongs_to_one_policy() -> None:
    before = dict(registry())
    with registered():

        class First(Policy):
            id = "first-for-tests"

        assert registry()["first-for-tests"] is First
        with pytest.raises(InvalidPolicy, match=r"Second: the id 'first-for-tests' belongs to .*First"):

            class Second(Policy):
                id = "first-for-tests"

        with pytest.raises(InvalidPolicy, match=r"'glr' belongs to satisfice\.policies\.glr\.GLR"):

            class Glr(Policy):
                id = "glr"

        # One that inherits its id would be stored by it, and opened as the other one.
        with pytest.raises(InvalidPolicy, match=r"Heir: the id 'glr' belongs to satisfice\.policies\.glr\.GLR"):

            class Heir(sf.GLR):
                pass

        old = First

        # The same class once more, as when a cell of a notebook is run again.
        class First(Policy):  # type: ignore[no-redef]
            id = "first-for-tests"

        assert registry()["first-for-tests"] is First is not old
    assert registry() == before
    with registered(Stuck):
        assert get_policy("stuck-for-tests") == Stuck()
    with pytest.raises(InvalidPolicy, match="no policy 'stuck-for-tests'"):
        get_policy("stuck-for-tests")


def rule(numbers: NDArray[np.float64]) -> float:
    raise NotImplementedError


@uncounted
def engine(numbers: NDArray[np.float64]) -> float:
    return rule(numbers)


@uncounted
def first(numbers: NDArray[np.float64]) -> float:
    return float(numbers[:1][0])


def copied(numbers: NDArray[np.float64]) -> float:
    return float(np.zeros(3)[0] + numbers[0])


def test_references_are_counted_only_where_an_array_may_be_made() -> None:
    numbers = np.array([2.0, 3.0])
    for chosen, counted in ((first, False), (copied, True)):
        made = dispatcher(engine, rule=chosen)
        assert made.targetoptions["_nrt"] is counted and made(numbers) == 2.0
        assert bool(link(engine, rule=chosen).__dict__) is not counted


MERGED = """
import numpy as np
from typing import NamedTuple
from satisfice.policies.compiled import compile_native, uncounted

class Parts(NamedTuple):
    head: object
    rest: object

def parts_of(numbers):
    return Parts(numbers[:1], numbers[1:])

@uncounted
def rule(numbers):
    parts = parts_of(numbers)
    parts.head[0] += 1.0
    return parts.rest[0]

def engine(numbers):
    made = np.zeros(1)
    for _ in range(100):
        made[0] += rule(numbers)
    return made[0]

run = compile_native(engine, rule=rule)
for size in range(2, 102):
    total = run(np.ones(size))
    kept = [np.zeros(other) for other in range(50)]
print(total)
"""


def test_a_part_that_counts_no_references_is_not_merged_into_one_that_does(tmp_path: Path) -> None:
    # In a process of its own, since what may happen is that memory is freed twice.
    assert python(MERGED, tmp_path) == "100.0\n"
