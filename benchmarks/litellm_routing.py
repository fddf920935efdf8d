"""LLM routing in LiteLLM: what calls cost and how good they are, and what the callback adds to a call.

    make bench-llm                              # both parts, in the environment of LiteLLM
    python benchmarks/litellm_routing.py [--quick] [--only table overhead] [--calls 5000] [--out FILE.json]

table: the same calls of five made-up models (examples/fake_openai.py, on loopback) by each strategy, through the real
router of LiteLLM's SDK: always the best model, LiteLLM's own strategies that need no network, and satisfice at alpha
0.1. Quality is the share of right answers; dollars are what the models charged. About 12 ms of processor time per call.

overhead: two proxies of LiteLLM, with the callback and without, one model behind both, asked in turn by one client: the
difference of the two latencies at p50 and p99, and how long the hook itself takes. About 2 minutes for 2,000 calls of
each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ.setdefault("LITELLM_LOG", "ERROR")
ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "examples"))

import litellm  # noqa: E402
import numpy as np  # noqa: E402
from fake_openai import FakeOpenAI  # noqa: E402

import satisfice as sf  # noqa: E402
from satisfice.integrations.litellm import Satisfice  # noqa: E402

litellm.suppress_debug_info = True
for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
    logging.getLogger(name).setLevel(logging.CRITICAL)
ALPHA = 0.1
AT_ONCE = 8
TIERS = {"tiny": 1, "small": 1, "medium": 2, "large": 3, "huge": 3}


def right(kwargs: object, response: Any) -> float:
    """The reward of an answer."""
    return float(response.choices[0].message.content.startswith("yes"))


def reset() -> None:
    litellm.callbacks = []
    litellm.success_callback, litellm._async_success_callback = [], []
    litellm.failure_callback, litellm._async_failure_callback = [], []


# The table


def by_satisfice(fake: FakeOpenAI, folder: Path) -> tuple[Any, Satisfice]:
    # The five lines of the README.
    route = Satisfice(
        "answers", storage=f"sqlite:///{folder}/answers.db", alpha=ALPHA, reward=right, seed=1, patience=60.0
    )
    litellm.callbacks = [route]
    router = litellm.Router(model_list=fake.deployments("answers"))
    return router, route


def adaptive(fake: FakeOpenAI) -> Any:
    models = []
    for name in fake.models:
        (deployment,) = fake.deployments(name, [name])
        deployment["model_info"] |= {
            "input_cost_per_token": fake.models[name].price_in,
            "adaptive_router_preferences": {"quality_tier": TIERS[name], "strengths": []},
        }
        models.append(deployment)
    config = {"available_models": list(fake.models), "weights": {"quality": 0.7, "cost": 0.3}}
    params = {
        "model": "auto_router/adaptive_router",
        "adaptive_router_default_model": "medium",
        "adaptive_router_config": config,
    }
    return litellm.Router(model_list=[*models, {"model_name": "answers", "litellm_params": params}])


async def calls(router: Any, count: int, *, metadata: dict[str, Any] | None = None) -> float:
    """So many calls, a few at a time; answers with the processor time of one, in milliseconds."""
    questions = iter(range(count))
    began = time.process_time()

    async def one_after_the_other() -> None:
        for i in questions:
            said = [{"role": "user", "content": f"Question {i}: is this a number?"}]
            await router.acompletion(model="answers", messages=said, **({"metadata": metadata} if metadata else {}))

    await asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))
    await asyncio.sleep(1.0)
    return 1e3 * (time.process_time() - began) / count


def measure(strategy: str, count: int) -> dict[str, Any]:
    with FakeOpenAI() as fake, tempfile.TemporaryDirectory() as folder:
        reset()
        route = None
        if strategy == "satisfice":
            router, route = by_satisfice(fake, Path(folder))
        elif strategy == "always the best":
            router = litellm.Router(model_list=fake.deployments("answers", ["huge"]))
        elif strategy == "adaptive":
            router = adaptive(fake)
        else:
            router = litellm.Router(model_list=fake.deployments("answers"), routing_strategy=strategy)
        took = asyncio.run(calls(router, count))
        made = {name: model.calls for name, model in fake.models.items()}
        total = sum(made.values())
        line = {
            "strategy": strategy,
            "calls": total,
            "dollars": sum(model.charged for model in fake.models.values()),
            "quality": sum(model.correct for model in fake.models.values()) / total,
            "share": {name: calls / total for name, calls in made.items()},
            "ms of processor per call": took,
        }
        if route is not None:
            route.close()
            with sf.load_study("answers", f"sqlite:///{folder}/answers.db") as study:
                status = study.status()
                line["booked"] = status.spending.total
                line["verdict"] = status.verdict.sentence
                line["counts"] = route.counts
        return line


def table(count: int) -> list[dict[str, Any]]:
    """Every strategy on the same questions."""
    lines = []
    print(f"{count:,} calls of five models, alpha = {ALPHA:g}:", flush=True)
    print(f"| strategy | calls | dollars | quality | {' | '.join(TIERS)} |\n|---|---|---|---|{'---|' * len(TIERS)}")
    for strategy in ("always the best", "simple-shuffle", "cost-based-routing", "adaptive", "satisfice"):
        try:
            line = measure(strategy, count)
        except Exception as error:
            if strategy == "satisfice":
                raise
            print(f"| {strategy} | does not run here: {type(error).__name__}: {str(error)[:80]} |", flush=True)
            continue
        lines.append(line)
        shares = " | ".join(f"{share:.1%}" for share in line["share"].values())
        print(
            f"| {strategy} | {line['calls']:,} | {line['dollars']:.2f} | {line['quality']:.3f} | {shares} |", flush=True
        )
    mine = lines[-1]
    print(f"\n{mine['verdict']}\nBooked by the study: ${mine['booked']:.6f}; charged: ${mine['dollars']:.6f}.")
    return lines


# The overhead

CONFIG = """
model_list:
  - model_name: answers
    litellm_params: {{model: openai/small, api_base: "{url}", api_key: none, input_cost_per_token: 0.0000003, output_cost_per_token: 0.0000012}}
  - model_name: answers
    litellm_params: {{model: openai/medium, api_base: "{url}", api_key: none, input_cost_per_token: 0.0000008, output_cost_per_token: 0.0000032}}
general_settings: {{master_key: sk-bench}}
"""  # noqa: E501
OURS = """
litellm_settings: {callbacks: [satisfice.integrations.litellm.proxy]}
satisfice: {answers: {storage: "sqlite:///answers.db", alpha: 0.1}}
"""


def overhead(count: int) -> dict[str, Any]:
    """Latency of a call through a proxy with the callback, and through one without, in turn."""
    import httpx

    with FakeOpenAI() as fake, tempfile.TemporaryDirectory() as folder:
        ports, proxies, clients = [], [], []
        for which in ("without", "with"):
            place = Path(folder, which)
            place.mkdir()
            (place / "config.yaml").write_text(CONFIG.format(url=fake.url) + (OURS if which == "with" else ""))
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                ports.append(free.getsockname()[1])
            command = [
                str(Path(sys.executable).parent / "litellm"),
                "--config",
                "config.yaml",
                "--port",
                str(ports[-1]),
            ]
            with (place / "log").open("w") as log:
                proxies.append(subprocess.Popen(command, cwd=place, stdout=log, stderr=log))
        try:
            for port in ports:
                clients.append(
                    httpx.Client(
                        base_url=f"http://127.0.0.1:{port}", headers={"Authorization": "Bearer sk-bench"}, timeout=120.0
                    )
                )
                for _ in range(1_500):
                    try:
                        if clients[-1].get("/health/liveliness").status_code == 200:
                            break
                    except httpx.TransportError:
                        time.sleep(0.2)
            times: list[list[float]] = [[], []]
            for i in range(count + 50):
                for k in (0, 1) if i % 2 else (1, 0):
                    said = {"model": "answers", "messages": [{"role": "user", "content": f"Question {i}?"}]}
                    began = time.perf_counter()
                    answer = clients[k].post("/v1/chat/completions", json=said)
                    took = time.perf_counter() - began
                    assert answer.status_code == 200, answer.text
                    decision = answer.headers.get("x-satisfice-decision")
                    if decision is not None:  # rewards come outside of what is measured
                        clients[k].post("/satisfice/reward", json={"decision": decision, "reward": 1.0})
                    if i >= 50:
                        times[k].append(1e3 * took)
            counts = clients[1].get("/satisfice/status").json()["answers"]["here"]["counts"]
        finally:
            for proxy in proxies:
                proxy.send_signal(signal.SIGINT)
            for proxy in proxies:
                try:
                    proxy.wait(30.0)
                except subprocess.TimeoutExpired:
                    proxy.kill()
    plain, ours = (np.percentile(each, [50, 99]) for each in times)
    hook = asyncio.run(hook_alone(2_000))
    line = {
        "calls": count,
        "without": plain.tolist(),
        "with": ours.tolist(),
        "hook": hook,
        "counts": counts,
    }
    print(f"\n{count:,} calls of each proxy, in turn (ms):\n| | p50 | p99 |\n|---|---|---|")
    print(f"| without | {plain[0]:.2f} | {plain[1]:.2f} |\n| with | {ours[0]:.2f} | {ours[1]:.2f} |")
    print(f"| difference | {ours[0] - plain[0]:.2f} | {ours[1] - plain[1]:.2f} |")
    print(f"| the hook alone | {hook[0]:.3f} | {hook[1]:.3f} |\n{counts}")
    return line


async def hook_alone(count: int) -> list[float]:
    """How long the hook itself takes while decisions are in stock, in milliseconds, p50 and p99."""
    with FakeOpenAI() as fake, tempfile.TemporaryDirectory() as folder:
        reset()
        router, route = by_satisfice(fake, Path(folder))
        healthy = router.get_model_list(model_name="answers")
        times = []
        for i in range(count):
            request = {"metadata": {"model_group": "answers"}, "litellm_trace_id": str(i)}
            said = [{"role": "user", "content": f"Question {i}?"}]
            began = time.perf_counter()
            await route.async_filter_deployments("answers", healthy, said, request)
            times.append(1e3 * (time.perf_counter() - began))
            route.tell(request["metadata"]["satisfice"]["decision"], 1.0)  # type: ignore[index]
            route.route.ended(route.route.tickets.find(request["metadata"]["satisfice"]["decision"]), 0.001)  # type: ignore
            await asyncio.sleep(0.002)
        route.close()
    return [float(value) for value in np.percentile(times[50:], [50, 99])]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="a tenth of the calls")
    options.add_argument("--only", nargs="+", choices=("table", "overhead"), default=("table", "overhead"))
    options.add_argument("--calls", type=int, default=5_000)
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    count = given.calls // (10 if given.quick else 1)
    found: dict[str, Any] = {"litellm": __import__("importlib.metadata").metadata.version("litellm")}
    if "table" in given.only:
        found["table"] = table(count)
    if "overhead" in given.only:
        found["overhead"] = overhead(max(count * 2 // 5, 50))
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=1) + "\n")
        print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
