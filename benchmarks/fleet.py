"""Regret of a fleet of leased clients, against one caller without leases: `python benchmarks/fleet.py`.

50 clients hand out decisions from blocks that they take as the service gives them; every reward comes some decisions
later (exponential, 200 in the mean). MovieLens, alpha 0.25, costs divided by the largest. One caller with the same
delays asks one by one, and one whose rewards come at once.

    python benchmarks/fleet.py [--decisions 100000] [--clients 50] [--delay 200] [--runs 4]
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
from collections import deque

import satisfice as sf
from satisfice.service.leases import block_size
from satisfice.studies import create_study
from satisfice.studies.blocks import take_block

SETTING = sf.BestReward(0.25)


def regret(clients: int, decisions: int, delay: float, seed: int) -> tuple[float, int]:
    """Cost and quality regret together, and the most that were outstanding; 0 clients: one caller without leases."""
    instance = sf.load_instance("movielens").scaled_costs()
    gaps = SETTING.cost_gaps(instance) + SETTING.quality_gaps(instance)
    place = {name: i for i, name in enumerate(instance.names)}
    arms = dict(zip(instance.names, instance.costs.tolist(), strict=True))
    study = create_study("fleet", arms, SETTING, seed=seed, binary=True)
    rng = random.Random(seed)
    stocks: list[deque[tuple[int, str]]] = [deque() for _ in range(clients)]
    due: list[tuple[float, int, float]] = []
    total, most, settled = 0.0, 0, False
    for now in range(decisions):
        while due and due[0][0] <= now:
            _, number, reward = heapq.heappop(due)
            study.tell(number, reward)
        if not clients:
            decision = study.ask()
            number, arm = decision.id, decision.arm
        else:
            stock = stocks[rng.randrange(clients)]
            if now % 1000 == 0:
                settled = study.verdict().state == "certified"
            if not stock:
                taken = take_block(study, lambda rewards, out: block_size(1_000, rewards, out, settled))  # noqa: B023
                most = max(most, taken.outstanding)
                stock.extend((decision.id, decision.arm) for decision in taken.decisions)
            number, arm = stock.popleft()
        total += float(gaps[place[arm]])
        value = float(rng.random() < instance.means[place[arm]])
        heapq.heappush(due, (now + (rng.expovariate(1.0 / delay) if delay else 0.0), number, value))
    return total, most


def main() -> None:
    """Measure, and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--delay", type=float, default=200.0)
    parser.add_argument("--runs", type=int, default=4)
    given = parser.parse_args()
    sums = {"at_once": 0.0, "delayed": 0.0, "fleet": 0.0}
    for seed in range(given.runs):
        row = {
            "at_once": regret(0, given.decisions, 0.0, seed),
            "delayed": regret(0, given.decisions, given.delay, seed),
            "fleet": regret(given.clients, given.decisions, given.delay, seed),
        }
        for name, (total, _) in row.items():
            sums[name] += total
        shown = {name: round(total, 1) for name, (total, _) in row.items()}
        print(json.dumps({"seed": seed, **shown, "outstanding": row["fleet"][1]}), flush=True)
    for name in ("delayed", "at_once"):
        print(f"fleet against one caller, {name}: {sums['fleet'] / sums[name]:.3f}")


if __name__ == "__main__":
    main()
