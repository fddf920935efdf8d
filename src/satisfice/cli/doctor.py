"""`satisfice doctor`: versions, the cache, the storage, and what is missing."""

from __future__ import annotations

import importlib
import importlib.util
import platform
import sys
from importlib import metadata
from pathlib import Path

import typer

from satisfice.cli import options, output
from satisfice.cli.live import STORAGE

# The packages that come with an installation, and those of every extra, by the name that they are imported by.
BASE = {
    **{name: name for name in ("numpy", "numba", "polars", "matplotlib", "rich", "typer", "cloudpickle", "isal")},
}
EXTRAS = {
    "live": {"sqlalchemy": "sqlalchemy", "psycopg": "psycopg"},
    "serve": {
        **{name: name for name in ("starlette", "msgspec", "uvicorn", "httptools", "jinja2", "httpx", "limits")},
        "prometheus-client": "prometheus_client",
    },
    "excel": {"fastexcel": "fastexcel", "xlsxwriter": "xlsxwriter"},
    "cluster": {"distributed": "distributed"},
}


def doctor(
    storage: str | None = STORAGE,
    as_json: bool = typer.Option(False, "--json", help="Print as JSON, for machines."),
) -> None:
    """Say which versions there are, where compiled rules are kept, whether the storage answers, and what is missing.

    Exits with 1 if something that was asked for does not work.
    """
    import satisfice
    from satisfice.policies.cache import cache_dir

    found = {"base": _versions(BASE), **{extra: _versions(names) for extra, names in EXTRAS.items()}}
    missing = {extra: [n for n, v in names.items() if v is None] for extra, names in found.items()}
    kept, reason = _storage(storage) if storage else (None, None)
    folder = cache_dir()
    cache = _cache(folder)
    document: dict[str, object] = {
        "satisfice": satisfice.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "executable": sys.executable,
        "packages": found,
        "missing": {extra: names for extra, names in missing.items() if names},
        "cache": cache,
        "storage": None if storage is None else {"works": reason is None, "studies": kept, "problem": reason},
    }
    if as_json:
        output.print_json(document)
    else:
        _show(document, found, missing)
        options.say(
            f"cache: {cache['folder']} ({cache['files']} files, {cache['megabytes']} MB{cache['problem'] or ''})"
        )
        if storage is None:
            options.say("storage: none given (--storage URL, or SATISFICE_STORAGE)")
        else:
            options.say(f"storage: {reason}" if reason else f"storage: answers, {len(kept or [])} studies")
    if missing["base"] or reason is not None:
        raise typer.Exit(1)


def _versions(names: dict[str, str]) -> dict[str, str | None]:
    result: dict[str, str | None] = {}
    for package, module in names.items():
        try:
            there = importlib.util.find_spec(module) is not None
            result[package] = metadata.version(package) if there else None
        except (metadata.PackageNotFoundError, ValueError):
            result[package] = None
    return result


def _cache(folder: Path | None) -> dict[str, object]:
    if folder is None:
        return {"folder": None, "files": 0, "megabytes": 0, "problem": ", switched off"}
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    size = round(sum(path.stat().st_size for path in files) / 1e6, 1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        problem = None
    except OSError as error:
        problem = f", cannot be written: {error.strerror}"
    return {"folder": str(folder), "files": len(files), "megabytes": size, "problem": problem}


def _storage(url: str) -> tuple[list[str] | None, str | None]:
    from satisfice.errors import SatisficeError
    from satisfice.studies import list_studies

    try:
        return list_studies(url), None
    except SatisficeError as error:
        return None, str(error)


def _show(document: dict[str, object], found: dict[str, dict[str, str | None]], missing: dict[str, list[str]]) -> None:
    options.say(f"satisfice {document['satisfice']}, Python {document['python']}, {document['platform']}")
    rows = [("part", "packages", "state")]
    for extra, names in found.items():
        there = ", ".join(f"{name} {version}" for name, version in names.items() if version is not None)
        lacks = missing[extra]
        advice = f"pip install 'satisfice[{extra}]'" if extra != "base" else "pip install satisfice"
        rows.append((extra, there or "none", f"missing: {', '.join(lacks)} ({advice})" if lacks else "complete"))
    options.print_table(rows, left=(0, 1, 2), breakable=(1, 2))
