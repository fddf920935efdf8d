"""A small server that speaks OpenAI's protocol on loopback, with made-up models: how often their answers are right,
what a token costs, how long they take, how often they fail. The examples, tests and benchmarks call it in place of real
models, so nothing here needs a network, a key or money.

    python fake_openai.py --port 8099

It answers `/v1/chat/completions` (streams, too) and `/v1/responses`, and keeps books: `/books` says what every model
was asked and what it charged, in dollars. The answer to a question is "yes" where the model is right and "no" where it
is not; a message whose system prompt asks for a grade gets one. `/fail?model=small&next=3` makes the next three calls
of a model fail, `/quality?model=small&right=0.5` changes how often it is right.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass
class Model:
    """A model: the share of right answers, dollars per token in and out, tokens of an answer, seconds, share of
    failures."""

    right: float
    price_in: float
    price_out: float
    tokens: int = 100
    seconds: float = 0.0
    failing: float = 0.0
    fail_next: int = 0
    calls: int = 0
    failed: int = 0
    correct: int = 0
    charged: float = 0.0
    last: list[str] = field(default_factory=list)


# Five models: `medium` is the cheapest that keeps nine tenths of the best one's quality.
MODELS = {
    "tiny": Model(0.42, 0.1e-6, 0.4e-6, 80),
    "small": Model(0.66, 0.3e-6, 1.2e-6, 100),
    "medium": Model(0.88, 0.8e-6, 3.2e-6, 120),
    "large": Model(0.91, 3.0e-6, 15e-6, 150),
    "huge": Model(0.93, 10e-6, 40e-6, 200),
}


class FakeOpenAI:
    """The server, in a thread of its own. `with FakeOpenAI() as fake: fake.url`."""

    def __init__(self, models: dict[str, Model] | None = None, port: int = 0, seed: int = 0) -> None:
        self.models = {name: Model(**vars(model)) for name, model in (models or MODELS).items()}
        self.port, self.seed = port, seed
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="fake-openai", daemon=True)

    @property
    def url(self) -> str:
        """What clients call `api_base`."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> FakeOpenAI:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def deployments(self, group: str, names: list[str] | None = None) -> list[dict[str, Any]]:
        """A `model_list` of LiteLLM's router: all models in one group, with the prices that the server charges."""
        return [
            {
                "model_name": group,
                "litellm_params": {
                    "model": f"openai/{name}",
                    "api_base": self.url,
                    "api_key": "none",
                    "input_cost_per_token": self.models[name].price_in,
                    "output_cost_per_token": self.models[name].price_out,
                },
                "model_info": {"id": f"{group}-{name}"},
            }
            for name in names or self.models
        ]

    def right(self, name: str, question: str) -> bool:
        """Whether a model answers a question rightly: the same question gets the same answer, in any order of calls."""
        digest = hashlib.blake2b(f"{self.seed}/{name}/{question}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") / 2**64 < self.models[name].right

    # The server

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", self.port))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                _method, target, _ = head[0].split(" ", 2)
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                await self._answer(target, body, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, target: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        place = urlsplit(target)
        asked = dict(parse_qsl(place.query))
        if place.path == "/books":
            books = {
                name: {"calls": m.calls, "failed": m.failed, "right": m.correct, "charged": m.charged}
                for name, m in self.models.items()
            }
            return _json(writer, 200, books)
        if place.path == "/fail":
            self.models[asked["model"]].fail_next = int(asked["next"])
            return _json(writer, 200, asked)
        if place.path == "/quality":
            self.models[asked["model"]].right = float(asked["right"])
            return _json(writer, 200, asked)
        try:
            call = json.loads(body)
        except ValueError:  # a look whether anybody is here
            return _json(writer, 404, {"error": {"message": f"nothing is at {place.path}", "type": "not_found"}})
        name = str(call.get("model")).rpartition("/")[2]
        model = self.models.get(name)
        if model is None:
            return _json(writer, 404, {"error": {"message": f"there is no model {name!r}", "type": "not_found"}})
        if model.seconds:
            await asyncio.sleep(model.seconds)
        if model.fail_next or _share(f"{self.seed}/fail/{name}/{model.calls + model.failed}") < model.failing:
            model.fail_next = max(model.fail_next - 1, 0)
            model.failed += 1
            return _json(writer, 500, {"error": {"message": f"{name} is out of order", "type": "server_error"}})
        question, system = _question(call)
        text, used_in = self._text(name, model, question, system), 20 + len(question) // 4
        model.calls += 1
        model.charged += used_in * model.price_in + model.tokens * model.price_out
        usage = {
            "prompt_tokens": used_in,
            "completion_tokens": model.tokens,
            "total_tokens": used_in + model.tokens,
        }
        ident = f"fake-{name}-{model.calls}"
        if place.path.endswith("/responses"):
            return _json(writer, 200, _response(ident, name, text, used_in, model.tokens))
        if call.get("stream"):
            return await _stream(writer, ident, name, text, usage)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        return _json(
            writer,
            200,
            {
                "id": ident,
                "object": "chat.completion",
                "created": 0,
                "model": name,
                "choices": [choice],
                "usage": usage,
            },
        )

    def _text(self, name: str, model: Model, question: str, system: str) -> str:
        if "grade" in system.lower():
            return json.dumps({"grade": 10 if "yes" in question.rpartition("ANSWER")[2] else 1})
        right = self.right(name, question)
        model.correct += right
        return f"{'yes' if right else 'no'}, says {name}"


def _share(text: str) -> float:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") / 2**64


def _question(call: dict[str, Any]) -> tuple[str, str]:
    """The last thing the user said, and the system's words."""
    messages = call.get("messages")
    if messages is None:
        given = call.get("input", "")
        return (given if isinstance(given, str) else json.dumps(given)), str(call.get("instructions") or "")
    said = [_words(message) for message in messages if message.get("role") == "user"]
    system = " ".join(_words(message) for message in messages if message.get("role") == "system")
    return (said[-1] if said else ""), system


def _words(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else " ".join(str(part.get("text", "")) for part in content)


def _response(ident: str, name: str, text: str, used_in: int, used_out: int) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    message = {"type": "message", "id": f"msg-{ident}", "role": "assistant", "status": "completed", "content": content}
    return {
        "id": ident,
        "object": "response",
        "created_at": 0,
        "model": name,
        "status": "completed",
        "output": [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": used_in,
            "output_tokens": used_out,
            "total_tokens": used_in + used_out,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _json(writer: asyncio.StreamWriter, status: int, body: object) -> None:
    data = json.dumps(body).encode()
    words = {200: "OK", 404: "Not Found", 500: "Internal Server Error"}[status]
    head = f"HTTP/1.1 {status} {words}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)


async def _stream(writer: asyncio.StreamWriter, ident: str, name: str, text: str, usage: dict[str, int]) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    async for event in _events(ident, name, text, usage):
        line = f"data: {event}\n\n".encode()
        writer.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        await writer.drain()
    writer.write(b"0\r\n\r\n")


async def _events(ident: str, name: str, text: str, usage: dict[str, int]) -> AsyncIterator[str]:
    head = {"id": ident, "object": "chat.completion.chunk", "created": 0, "model": name}
    for word in text.split(" "):
        delta = {"index": 0, "delta": {"role": "assistant", "content": f"{word} "}, "finish_reason": None}
        yield json.dumps({**head, "choices": [delta]})
        await asyncio.sleep(0)
    yield json.dumps({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    yield json.dumps({**head, "choices": [], "usage": usage})
    yield "[DONE]"


if __name__ == "__main__":
    options = argparse.ArgumentParser(description="Made-up models behind OpenAI's protocol, on loopback.")
    options.add_argument("--port", type=int, default=8099)
    with FakeOpenAI(port=options.parse_args().port) as fake:
        print(f"{', '.join(fake.models)} at {fake.url}; ^C ends it", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()
