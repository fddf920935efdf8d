"""How often a key may call: so often in a window of time, counted in each worker."""

from __future__ import annotations

import math
import time

from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from satisfice.errors import InvalidData
from satisfice.service.keys import Key
from satisfice.service.problems import Problem


def read_rate(text: str) -> RateLimitItem:
    """A rate such as 100/second or 5000/minute.

    Examples
    --------
    >>> read_rate("100/second").amount
    100
    """
    try:
        return parse(text)
    except ValueError:
        raise InvalidData(f"the rate {text!r} is not one such as 100/second or 5000/minute", parameter="rate") from None


class Limiter:
    """The calls of every key against its rate, or the one that all have."""

    def __init__(self, rate: str | None) -> None:
        self._default = None if rate is None else read_rate(rate)
        self._rates: dict[str, RateLimitItem] = {}
        self._windows: FixedWindowRateLimiter | None = None

    def count(self, key: Key) -> None:
        """Count a call. Raises a `Problem` where it is one too many."""
        if key.rate is None:
            rate = self._default
        else:
            rate = self._rates.get(key.rate)
            if rate is None:
                rate = self._rates.setdefault(key.rate, read_rate(key.rate))
        if rate is None:
            return
        if self._windows is None:
            self._windows = FixedWindowRateLimiter(MemoryStorage())
        if not self._windows.hit(rate, key.prefix):
            reset = self._windows.get_window_stats(rate, key.prefix).reset_time
            wait = max(math.ceil(reset - time.time()), 1)
            raise Problem(
                "too-many",
                f"this key may call {rate.amount} times per {rate.multiples} {rate.GRANULARITY.name}; try again in "
                f"{wait} s",
                headers={"Retry-After": str(wait)},
            )
