"""`satisfice demo`: the service with a simulated fleet of LLM calls, to look at."""

from __future__ import annotations

import typer


def demo(
    port: int = typer.Option(8000, "--port", help="The port to listen on; 0 takes a free one."),
    rate: float = typer.Option(30.0, "--rate", help="Simulated calls a second.", min=0.1, max=1000.0),
) -> None:
    """Show the dashboard with a simulated fleet of LLM calls, in memory, on this machine alone.

    Thirteen models with their prices and accuracies on GPQA, answers that are judged late or never. The provider of one
    model is down; 45 seconds after the start a price is cut, after 150 seconds a model gets worse. Smaller studies
    beside it are proved, paused, or just begun. Nothing is kept.
    """
    from satisfice.service import create_app, server
    from satisfice.service.demo import Fleet
    from satisfice.studies import get_storage

    place = server.listen(server.Settings("memory", port=port))
    storage = get_storage(None)
    app = create_app(storage, auth=False)
    address = f"http://127.0.0.1:{place.getsockname()[1]}"
    typer.echo(f"the dashboard: {address}")
    typer.echo(
        "A simulated fleet calls 13 models. In 45 s a price is cut, in 150 s a model gets worse. Ctrl-C ends it."
    )
    import uvicorn  # after the service, which says what to install

    fleet = Fleet(storage, rate=rate)
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=2)
    fleet.start()
    try:
        uvicorn.Server(config).run(sockets=[place])
    finally:
        fleet.stop()
