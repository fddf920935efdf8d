"""Whether the mean of an arm has changed along a log, by the test of live studies."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from satisfice import changes
from satisfice.analysis.evidence import Evidence
from satisfice.analysis.reading import Rows, span
from satisfice.analysis.result import Concern
from satisfice.words import listed

# So many looks at an arm at most: several rewards are watched at once by their sum.
LOOKS = 2000


def changed(rows: Rows, evidence: Evidence, confidence: float) -> list[Concern]:
    """The arms whose mean has changed; a log in which none has is called changed with a probability of at most
    `1 - confidence`."""
    delta = (1.0 - confidence) / len(evidence.names)
    low, high = evidence.limits
    frame = rows.frame.with_row_index("place")
    timed = (span(rows) or 0.0) > 0
    found = []
    for name in evidence.names:
        part = frame.filter(frame["arm"] == name)
        reward = np.clip((part["reward"].to_numpy() - low) / (high - low), 0.0, 1.0)
        change = _change(reward, delta)
        if change is None:
            continue
        first = int(change.pulls_before)
        when = f"row {part['place'][first]:,}"
        if timed:
            when = datetime.fromtimestamp(part["time"][first], UTC).date().isoformat()
        means = (low + (high - low) * float(piece.mean()) for piece in (reward[:first], reward[first:]) if len(piece))
        sizes = (first, len(reward) - first)
        found.append((name, when, *(f"{mean:.4g} ({size:,})" for mean, size in zip(means, sizes, strict=True))))
    if not found:
        return []
    order = "" if timed else ", if its rows are in the order of time"
    text = (
        f"The mean of {listed([row[0] for row in found], 6)} changed along the log{order}. What is said of all rows "
        "may not hold now: look at the rows since then, and let a live study watch for it."
    )
    return [Concern("drift", text, (("arm", "since", "mean before", "mean since"), *found))]


def _change(reward: np.ndarray[tuple[int], np.dtype[np.float64]], delta: float) -> changes.Change | None:
    memory = changes.new_watch()
    step = max(len(reward) // LOOKS, 1)
    for first in range(0, len(reward), step):
        block = reward[first : first + step]
        if changes.watch(memory, len(block), float(block.sum()), first, delta):
            return changes.where(memory)
    return None
