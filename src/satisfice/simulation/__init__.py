"""The simulator: leases carried out exactly, many runs on many processes, results."""

from satisfice.simulation.results import Result, Results, load_results
from satisfice.simulation.runner import simulate

__all__ = ["Result", "Results", "load_results", "simulate"]
