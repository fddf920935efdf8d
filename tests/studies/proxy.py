"""A proxy before a PostgreSQL server, which loses answers and falls silent when it is told to."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, urlsplit


class Proxy:
    """Forwards connections on the loopback to the socket of a server.

    `lose`: so many of the next commits reach the server, and their answers are lost with the connection. `silent`: what
    is sent is taken, and nothing goes anywhere.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        query = parse_qs(parts.query)
        (folder,) = query["host"]
        self._server = next(str(path) for path in Path(folder).glob(".s.PGSQL.*") if not path.name.endswith(".lock"))
        self._listener = socket.create_server(("127.0.0.1", 0))
        options = f"&options={query['options'][0]}" if "options" in query else ""
        port = self._listener.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{port}{parts.path}?connect_timeout=5{options}"
        self.lose = 0
        self.silent = threading.Event()
        self.lost = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(self._server)
                except OSError:  # it is being restarted
                    client.close()
                    continue
                state = {"cut": False}
                for source, target, commits in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pump, args=(source, target, commits, state), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, commits: bool, state: dict[str, bool]) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                while self.silent.is_set():
                    threading.Event().wait(0.05)
                if commits and self.lose and b"COMMIT\0" in data:
                    self.lose -= 1
                    state["cut"] = True
                if not commits and state["cut"]:
                    self.lost += 1
                    break
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.silent.clear()
        self._listener.close()
