"""Pages of the documentation that follow from the code: MkDocs calls this while it builds the site (`make docs`)."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import satisfice

ROOT = Path(__file__).parents[1]
# Files of the repository that pages link to, and the page that each is on the site.
ELSEWHERE = {"CHANGELOG.md": "reference/changelog.md", "examples": "howto/examples.md"}


def generated() -> dict[str, str]:
    """Every page that is made, by its path."""
    return {path: make() for path, make in MADE.items()}


def commands() -> str:
    """Every command with every option, from the command line itself."""
    import typer

    from satisfice.cli import make_app

    lines = ["# Commands", "", "`satisfice --help` and `satisfice COMMAND --help` say the same in the terminal.", ""]
    root = typer.main.get_command(make_app())
    for path, command in _walk("satisfice", root):
        lines += [f"{'#' * min(len(path.split()), 3)}# `{path}`", "", (command.help or "").strip(), ""]
        lines += _parameters(command)
    return "\n".join(lines) + "\n"


def _walk(path: str, command: Any) -> list[tuple[str, Any]]:
    found = [(path, command)]
    for name, child in sorted(getattr(command, "commands", {}).items()):
        if not child.hidden:
            found += _walk(f"{path} {name}", child)
    return found


def _parameters(command: Any) -> list[str]:
    shown = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
    if not shown:
        return []
    rows = ["| option | what it is | default |", "|---|---|---|"]
    for parameter in shown:
        words = ", ".join(f"`{word}`" for word in (*parameter.opts, *parameter.secondary_opts))
        if parameter.param_type_name == "argument":
            words = f"`{parameter.metavar or parameter.name.upper()}`"
        default = parameter.default
        said = (
            "required"
            if parameter.required
            else ""
            if default in (None, (), []) or callable(default)
            else f"`{default}`"
        )
        text = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|").replace("<", "&lt;")
        rows.append(f"| {words} | {text} | {said} |")
    return [*rows, ""]


def python() -> str:
    """Every public name, by the module that it comes from; one without a docstring is an error."""
    lines = ["# Python", "", "`import satisfice as sf`: every name below is `sf.NAME`.", ""]
    titles = {
        "problem": "The problem",
        "instances": "Instances",
        "policies": "Policies",
        "simulation": "Simulation",
        "bounds": "Bounds",
        "planning": "Planning",
        "analysis": "Analysis of a log",
        "paper": "The paper",
        "studies": "Live studies",
        "client": "The client of the service",
        "errors": "Errors",
    }
    groups: dict[str, list[tuple[str, str]]] = {}
    for module, names in vars(satisfice)["_NAMES"].items():
        top = module.partition(".")[0]
        groups.setdefault(top, []).extend((name, module) for name in names)
    for top in sorted(groups, key=lambda name: list(titles).index(name) if name in titles else len(titles)):
        lines += [f"## {titles.get(top, top.capitalize())}", ""]
        for name, _ in sorted(groups[top]):
            value = getattr(satisfice, name)
            if not (value.__doc__ or "").strip():
                raise SystemExit(f"satisfice.{name} has no docstring")
            lines += [f"::: {value.__module__}.{getattr(value, '__qualname__', name)}", ""]
    lines += [
        "## Modules",
        "",
        "::: satisfice.bounds",
        "    options: {members: [upper, lower, regret, order_optimal]}",
        "",
    ]
    lines += ["::: satisfice.instances", "    options: {members: [from_logs, from_movielens, from_goodreads]}", ""]
    return "\n".join(lines)


def http() -> str:
    """Every call of the service, from its description."""
    from satisfice.service.openapi import describe
    from satisfice.service.routes import OPERATIONS

    document = describe(OPERATIONS)
    lines = [
        "# HTTP",
        "",
        "The calls of [the service](../service.md), from the description that it serves at `/openapi.json`. Errors are",
        "`application/problem+json` (RFC 9457).",
        "",
    ]
    for path, calls in document["paths"].items():
        for method, call in calls.items():
            if method not in ("get", "post", "put", "patch", "delete"):
                continue
            lines += [f"## `{method.upper()} {path}`", "", call.get("summary", ""), "", call.get("description", ""), ""]
            asked = [p for p in call.get("parameters", []) if "name" in p]
            if asked:
                lines += ["| parameter | in | what it is |", "|---|---|---|"]
                lines += [f"| `{p['name']}` | {p['in']} | {p.get('description', '')} |" for p in asked]
                lines.append("")
            lines += ["Answers: " + ", ".join(f"`{code}`" for code in call.get("responses", {})), ""]
    lines += ["## Types", ""]
    for name, type_ in sorted(document["components"]["schemas"].items()):
        lines += [f"### {name}", "", type_.get("description", ""), ""]
        fields = type_.get("properties", {})
        if fields:
            lines += ["| field | type | what it is |", "|---|---|---|"]
            for field, kind in fields.items():
                lines.append(f"| `{field}` | {_kind(kind)} | {' '.join(kind.get('description', '').split())} |")
            lines.append("")
    return "\n".join(lines) + "\n"


def _kind(kind: dict[str, Any]) -> str:
    if "$ref" in kind:
        return str(kind["$ref"]).rpartition("/")[2]
    if "anyOf" in kind:
        return " or ".join(_kind(part) for part in kind["anyOf"])
    text = str(kind.get("type", kind.get("const", "any")))
    return f"list of {_kind(kind['items'])}" if text == "array" and "items" in kind else text


def schema() -> str:
    """The tables of a database of studies."""
    from sqlalchemy.dialects import postgresql
    from sqlalchemy.schema import CreateTable

    from satisfice.studies.storages import schema as tables

    text = [
        "# Database",
        "",
        "What a storage of studies has in PostgreSQL; SQLite has the same tables and columns. The log is the truth:",
        "rows of events, decisions and entries are added and never changed; archives delete what is settled.",
        "",
        (tables.__doc__ or "").strip(),
        "",
    ]
    for table in tables.METADATA.sorted_tables:
        dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
        made = str(CreateTable(table).compile(dialect=dialect)).strip()
        text += [f"## {table.name}", "", "```sql", re.sub(r"[ \t]+\n", "\n", made), "```", ""]
    return "\n".join(text)


def glossary() -> str:
    """The words of CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    start = text.index("## Words")
    part = text[start : text.index("## ", start + 5)]
    return "# Words\n" + part.removeprefix("## Words")


def changelog() -> str:
    """CHANGELOG.md, with links that work here."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    there = {path.name for path in (ROOT / "docs").glob("*.md")}
    linked = re.sub(r"\]\(docs/", "](../", text)
    return re.sub(r"\[([^\]]*)\]\(\.\./([\w-]+\.md)\)", lambda m: m[0] if m[2] in there else f"`{m[1]}`", linked)


def own_policy() -> str:
    """The part of CONTRIBUTING.md on policies."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    start = text.index("## Add a policy in one file")
    part = text[start : text.index("## Habits")]
    return "# Write a policy of your own\n" + part.removeprefix("## Add a policy in one file")


def examples() -> str:
    """The scripts of examples/, with the first line of each."""
    lines = [
        "# Examples",
        "",
        "Small programs in `examples/`, all run by the suite.",
        "",
        "| script | what it shows |",
        "|---|---|",
    ]
    for path in sorted((ROOT / "examples").glob("*.py")):
        doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        lines.append(f"| `{path.name}` | {doc.splitlines()[0] if doc else ''} |")
    return "\n".join(lines) + "\n"


# The pages that are made, by their paths.
MADE = {
    "reference/commands.md": commands,
    "reference/python.md": python,
    "reference/http.md": http,
    "reference/schema.md": schema,
    "reference/glossary.md": glossary,
    "reference/changelog.md": changelog,
    "howto/own-policy.md": own_policy,
    "howto/examples.md": examples,
}


def on_config(config: Any) -> Any:
    """MkDocs: a page that nobody has put into the navigation comes at the end of the how-tos."""
    text = json.dumps(config["nav"])
    pages = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))
    missing = [page for page in pages if f'"{page}"' not in text]
    for part in config["nav"]:
        part.get("How to", []).extend(missing)
    return config


def on_files(files: Any, config: Any) -> Any:
    """MkDocs: put the pages that are made beside those that are written."""
    from mkdocs.structure.files import File

    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """MkDocs: links out of docs/ lead to the page that the file is on the site."""
    depth = page.file.src_uri.count("/")
    for name, target in ELSEWHERE.items():
        markdown = re.sub(rf"\]\((?:\.\./)+{re.escape(name)}[^)]*\)", f"]({'../' * depth}{target})", markdown)
    return markdown


if __name__ == "__main__":
    print(json.dumps({path: len(text) for path, text in generated().items()}, indent=1))
