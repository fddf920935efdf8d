"""The simulator: leases carried out exactly, many runs on many processes, results."""

from satisfice.simulate.results import Result, Results, load_results
from satisfice.simulate.runner import simulate

__all__ = ["Result", "Results", "load_results", "simulate"]
