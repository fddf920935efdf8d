"""`satisfice serve`: decisions over HTTP."""

from __future__ import annotations

import typer

STORAGE = "sqlite:///satisfice.db"


def _option(default: object, name: str, words: str, metavar: str | None = None) -> object:
    variable = f"SATISFICE_{name.removeprefix('--').replace('-', '_').upper()}"
    return typer.Option(default, name, envvar=variable, help=words, metavar=metavar)


def serve(
    storage: str = _option(STORAGE, "--storage", "Where studies and keys live: SQLite or PostgreSQL.", "URL"),  # type: ignore[assignment]
    host: str = _option("127.0.0.1", "--host", "The address to listen on."),  # type: ignore[assignment]
    port: int = _option(8000, "--port", "The port to listen on; 0 takes a free one."),  # type: ignore[assignment]
    workers: int = _option(1, "--workers", "Processes that answer."),  # type: ignore[assignment]
    root_path: str = _option("", "--root-path", "The path under which a proxy serves it.", "PATH"),  # type: ignore[assignment]
    log_level: str = _option("info", "--log-level", "critical, error, warning, info or debug.", "LEVEL"),  # type: ignore[assignment]
    log_json: bool = typer.Option(False, "--log-json", envvar="SATISFICE_LOG_JSON", help="Write the log as JSON."),
    no_auth: bool = typer.Option(
        False, "--no-auth", envvar="SATISFICE_NO_AUTH", help="Ask for no key; on a loopback address only."
    ),
    rate: str = _option("", "--rate", "How often a key may call a worker, such as 100/second.", "RATE"),  # type: ignore[assignment]
    body_limit: int = _option(1_000_000, "--body-limit", "The largest body, in bytes.", "BYTES"),  # type: ignore[assignment]
    cors: str = _option("", "--cors", "Origins whose pages may call, with commas between.", "ORIGINS"),  # type: ignore[assignment]
) -> None:
    """Serve decisions over HTTP, with keys, metrics and a description of the API."""
    from satisfice.service import server
    from satisfice.studies import get_storage

    settings = server.Settings(
        storage=storage,
        host=host,
        port=port,
        workers=workers,
        root_path=root_path.rstrip("/"),
        log_level=log_level.lower(),
        log_json=log_json,
        auth=not no_auth,
        rate=rate or None,
        body_limit=body_limit,
        cors=tuple(origin.strip() for origin in cors.split(",") if origin.strip()),
    )
    server.check(settings)
    place = server.listen(settings)
    opened = get_storage(storage)
    key = server.first_key(opened) if settings.auth else None
    opened.close()
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{place.getsockname()[1]}{settings.root_path}"
    typer.echo(f"satisfice serves at {address} (a dashboard there, the API: {address}/openapi.json)")
    if key is not None:
        typer.echo(f"the first admin key, shown this once: {key}")
    elif not settings.auth:
        typer.echo("no key is asked for (--no-auth)")
    server.serve(settings, place)
