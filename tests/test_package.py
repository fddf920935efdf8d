"""The package as a whole: what it costs to import, what it promises, and the worked example of CONTRIBUTING.md."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import pkgutil
import pydoc
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import satisfice as sf

ROOT = Path(__file__).parent.parent
HEAVY = ("numba", "scipy", "polars", "matplotlib", "rich", "typer", "sqlalchemy", "pandas")


def test_importing_loads_nothing_heavy() -> None:
    code = f"import sys, satisfice; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_importing_is_quick_because_it_loads_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import satisfice; print(sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'satisfice'" in loaded and "satisfice." not in loaded and "numpy" not in loaded


def test_the_command_line_explains_itself_without_loading_anything_heavy() -> None:
    heavy = {*HEAVY, "numpy"} - {"typer"}
    code = (
        "import sys; from satisfice.cli import make_app; make_app()(['--help'], standalone_mode=False); "
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "Usage:" in shown and shown.splitlines()[-1] == "[]"


def test_there_is_one_list_of_public_names() -> None:
    homes: dict[str, str] = vars(sf)["_HOME"]
    modules: tuple[str, ...] = vars(sf)["_MODULES"]
    assert sf.__all__ == sorted((*homes, *modules)) and len(set(sf.__all__)) == len(sf.__all__)
    assert set(sf.__all__) < set(dir(sf)) and "__version__" in dir(sf)
    stub = subprocess.run([sys.executable, str(ROOT / "tools" / "stub.py"), "--check"], capture_output=True, text=True)
    assert stub.returncode == 0, stub.stderr
    names: dict[str, object] = {}
    exec("from satisfice import *", names)
    assert set(sf.__all__) < set(names)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sf.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_the_version_is_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"] and project["project"]["dynamic"] == ["version"]
    assert f"\n## {sf.__version__.removesuffix('.dev0')}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_error_is_public() -> None:
    mine = {
        name
        for name, value in vars(sf.errors).items()
        if inspect.isclass(value) and value.__module__ == "satisfice.errors"
    }
    assert mine <= set(sf.__all__)


@pytest.mark.parametrize("name", sf.__all__)
def test_help_and_signature_are_those_of_the_name(name: str) -> None:
    value = getattr(sf, name)
    if inspect.ismodule(value):
        assert value.__name__ == f"satisfice.{name}" and value.__doc__
        return
    assert value.__name__ == name and value.__module__.startswith("satisfice.") and inspect.getdoc(value)
    text = pydoc.plain(pydoc.render_doc(value))
    assert text.splitlines()[0].startswith(
        f"Python Library Documentation: {'class' if inspect.isclass(value) else 'function'} {name} in module"
    )
    if inspect.isfunction(value):
        assert all(f"{word}" in text for word in inspect.signature(value).parameters)
        assert ">>> " in text, "a public function has a runnable example"


def test_the_signatures_that_are_fixed() -> None:
    def words(value: Callable[..., object]) -> list[str]:
        return list(inspect.signature(value).parameters)

    assert words(sf.simulate)[:4] == ["instance", "setting", "policies", "horizon"]
    assert words(sf.Instance)[:4] == ["costs", "means", "names", "reward"]
    assert words(sf.create_study)[:7] == ["name", "arms", "setting", "policy", "storage", "horizon", "confidence"]
    assert words(sf.load_study)[:2] == ["name", "storage"]
    assert words(sf.bounds.upper)[:4] == ["policy", "instance", "setting", "horizon"]


# What was public before the rule, and so fixed: how many parameters may be given by their place, and why so many.
PROBLEM = "the problem and its numbers, in the order of the paper"
BY_PLACE = {
    "Instance": (4, "fixed since the first release"),
    "create_study": (7, "fixed since the first release"),
    "simulate": (9, "fixed since the first release"),
    "Instance.walking": (4, "fixed since it was released"),
    "ChangingInstance.walking": (4, "inherits it"),
    "Client.create_study": (4, "as `create_study` begins"),
    "AsyncClient.create_study": (4, "as `create_study` begins"),
    "Results.compare": (4, "fixed since it was released"),
    "plan": (4, PROBLEM),
    "sweep": (5, "as `simulate` begins"),
    "bounds.d_inf": (4, PROBLEM),
    "bounds.d_inf_twin": (4, PROBLEM),
    "bounds.lower": (4, PROBLEM),
    "bounds.regret": (4, PROBLEM),
    "bounds.upper": (4, PROBLEM),
}


def callables() -> Iterator[tuple[str, Callable[..., object]]]:
    """Every public function and method, and how every public object is made that people make themselves."""
    for name in sf.__all__:
        value = getattr(sf, name)
        if inspect.ismodule(value):
            inside = {word: getattr(value, word) for word in getattr(value, "__all__", ()) if word not in sf.__all__}
            yield from ((f"{name}.{word}", made) for word, made in inside.items() if inspect.isfunction(made))
        elif inspect.isfunction(value):
            yield name, value
        else:
            record = dataclasses.is_dataclass(value) or hasattr(value, "_fields")  # made by the package
            if not record and inspect.isfunction(value.__init__):
                yield name, value.__init__
            for word, method in inspect.getmembers(value, inspect.isroutine):
                rule = issubclass(value, sf.Policy) and word in ("decide", "learn")  # called by the engine alone
                if not word.startswith("_") and not rule and inspect.isfunction(method):
                    yield f"{name}.{word}", method


def test_more_than_three_parameters_are_given_by_name() -> None:
    found = {}
    for name, value in callables():
        parameters = inspect.signature(value).parameters.values()
        by_place = [word for word in parameters if word.kind in (word.POSITIONAL_ONLY, word.POSITIONAL_OR_KEYWORD)]
        count = sum(word.name != "self" for word in by_place)
        if count > 3:
            found[name] = count
    assert found == {name: count for name, (count, _) in BY_PLACE.items()}


def modules() -> list[ModuleType]:
    """Every module of the package but those that need LiteLLM, which is not installed here."""
    elsewhere = "satisfice.integrations.litellm"
    found = pkgutil.walk_packages(sf.__path__, "satisfice.", onerror=lambda name: None)
    names = [module.name for module in found if not module.name.startswith(elsewhere)]
    return [importlib.import_module(name) for name in names if not name.endswith("__main__")]


def test_no_name_of_a_package_hides_a_module_in_it() -> None:
    for package in (sf, *modules()):
        for inside in pkgutil.iter_modules(getattr(package, "__path__", ())):
            value = getattr(package, inside.name, None)
            assert value is None or inspect.ismodule(value), f"{package.__name__}.{inside.name} is no module"


def test_every_example_in_the_package_runs_with_the_suite() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert options["testpaths"] == ["tests", "src"]
    words = options["addopts"].split()
    assert "--doctest-modules" in words
    # What needs LiteLLM has a run of its own.
    elsewhere = {"src/satisfice/integrations/litellm", "tests/with_litellm"}
    assert {word.partition("=")[2] for word in words if word.startswith("--ignore")} == elsewhere
    (litellm,) = re.findall(r"^test-litellm:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert elsewhere | {"--doctest-modules"} <= set(litellm.split())


def held() -> set[type]:
    """Every class of the package that public functions and classes say they answer with or have as a field."""
    known = {
        kind.__name__: kind
        for module in modules()
        for kind in vars(module).values()
        if inspect.isclass(kind) and kind.__module__ == module.__name__ and not kind.__name__.startswith("_")
    }
    found: set[type] = set()
    todo = [getattr(sf, name) for name in sf.__all__ if not inspect.ismodule(getattr(sf, name))]
    while todo:
        value = todo.pop()
        # What a storage is made of is the business of those who write one.
        if value in found or value is sf.Storage:
            continue
        texts = [value.__annotations__.get("return")] if inspect.isfunction(value) else []
        if inspect.isclass(value):
            found.add(value)
            for name, member in vars(value).items():
                member = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
                if not name.startswith("_") and inspect.isfunction(member):
                    texts.append(member.__annotations__.get("return"))
            texts += [text for name, text in vars(value).get("__annotations__", {}).items() if not name.startswith("_")]
        scope = vars(sys.modules[value.__module__])
        words = {word for text in texts for word in re.findall(r"\w+", str(text))}
        kinds = [scope.get(word, known.get(word)) for word in words]
        todo += [kind for kind in kinds if inspect.isclass(kind) and kind.__module__.startswith("satisfice")]
    return found


def test_every_type_that_somebody_can_hold_can_be_named() -> None:
    public = {
        getattr(module, name)
        for module in (sf, *modules())
        for name in getattr(module, "__all__", ())
        if inspect.isclass(getattr(module, name))
    }
    assert {f"{kind.__module__}.{kind.__name__}" for kind in held() - public} == set()


def test_the_example_of_contributing_works_word_for_word(tmp_path: Path) -> None:
    """The file of the worked example, put where it says, into a copy of the package: the commands run."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    path, code = re.search(r"<!-- example: src/(\S+) -->\n```python\n(.*?)```", text, re.DOTALL).groups()  # type: ignore[union-attr]
    (commands,) = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "src" / path).write_text(code)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    outputs = []
    for command in commands.strip().splitlines():
        line = command.replace("satisfice", f"{sys.executable} -m satisfice", 1)
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert "sampler" in outputs[0]
    assert "sampler(samples=50)" in outputs[1] and "results/movielens-best-0.25.png" in outputs[1]
    lint = ["check", "--config", str(ROOT / "pyproject.toml"), str(tmp_path / "src" / path)]
    assert subprocess.run([sys.executable, "-m", "ruff", *lint], capture_output=True).returncode == 0
