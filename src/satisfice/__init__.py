"""satisfice: the cheapest option that is good enough, while the options are in use.

Multi-armed bandits with cost subsidy. Names are loaded when they are first used, so that importing the
package costs little.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from satisfice.errors import SatisficeError
from satisfice.problem import BestReward, FixedThreshold, Instance, ReferenceArm, Setting

if TYPE_CHECKING:
    from satisfice import bounds as bounds
    from satisfice import instances as instances
    from satisfice import plots as plots
    from satisfice.instances import load_instance as load_instance
    from satisfice.policies import Policy as Policy
    from satisfice.policies import all_policies as all_policies
    from satisfice.policies.asymmetric_pe import AsymmetricPE as AsymmetricPE
    from satisfice.policies.etc_cs import ETCCS as ETCCS
    from satisfice.policies.ft_ucb import FTUCB as FTUCB
    from satisfice.policies.glr import GLR as GLR
    from satisfice.policies.pe import PE as PE
    from satisfice.policies.pe_cs import PECS as PECS
    from satisfice.policies.ts_cs import TSCS as TSCS
    from satisfice.policies.ucb_cs import UCBCS as UCBCS
    from satisfice.simulate import Result as Result
    from satisfice.simulate import Results as Results
    from satisfice.simulate import load_results as load_results
    from satisfice.simulate import simulate as simulate
    from satisfice.studies import create_study as create_study
    from satisfice.studies import load_study as load_study
    from satisfice.studies import replay as replay

__version__ = "0.1.0"

_LAZY = {
    "Policy": "policies",
    "all_policies": "policies",
    "AsymmetricPE": "policies.asymmetric_pe",
    "ETCCS": "policies.etc_cs",
    "FTUCB": "policies.ft_ucb",
    "PE": "policies.pe",
    "PECS": "policies.pe_cs",
    "UCBCS": "policies.ucb_cs",
    "TSCS": "policies.ts_cs",
    "GLR": "policies.glr",
    "Result": "simulate",
    "Results": "simulate",
    "load_results": "simulate",
    "simulate": "simulate",
    "load_instance": "instances",
    "create_study": "studies",
    "load_study": "studies",
    "replay": "studies",
}
_MODULES = ("bounds", "instances", "paper", "policies", "plots", "studies")
__all__ = [
    "ETCCS",
    "FTUCB",
    "GLR",
    "PE",
    "PECS",
    "TSCS",
    "UCBCS",
    "AsymmetricPE",
    "BestReward",
    "FixedThreshold",
    "Instance",
    "Policy",
    "ReferenceArm",
    "Result",
    "Results",
    "SatisficeError",
    "Setting",
    "all_policies",
    "bounds",
    "create_study",
    "instances",
    "load_instance",
    "load_results",
    "load_study",
    "plots",
    "replay",
    "simulate",
]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        value: object = getattr(importlib.import_module(f"satisfice.{_LAZY[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"satisfice.{name}")
    raise AttributeError(f"module 'satisfice' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
