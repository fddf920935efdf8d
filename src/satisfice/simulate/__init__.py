"""The simulator: leases carried out exactly, many runs on many processes, results."""

import sys
from types import ModuleType

from satisfice.simulate.results import Result, Results, load_results
from satisfice.simulate.runner import simulate

__all__ = ["Result", "Results", "load_results", "simulate"]


class _Package(ModuleType):
    # `satisfice.simulate` names this package and the function alike. Python puts the package in the function's place
    # as soon as anything in it is imported, so `sf.simulate(...)` has to work on the package too.
    __call__ = staticmethod(simulate)


sys.modules[__name__].__class__ = _Package
