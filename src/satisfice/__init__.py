"""satisfice: the cheapest option that is good enough, while the options are in use.

Multi-armed bandits with cost subsidy. Names are loaded when they are first used, so that importing the
package costs little.
"""

from __future__ import annotations

import importlib

__version__ = "0.2.0.dev0"

# The one list of public names, by the module they come from; `__all__`, `dir` and the type stub follow from it.
# After a change: `make format`.
_NAMES: dict[str, tuple[str, ...]] = {
    "errors": (
        *("Hint", "InvalidData", "InvalidInstance", "InvalidPolicy", "InvalidReward", "InvalidRun", "InvalidSetting"),
        *("InvalidStudy", "MissingExtra", "NoFeasibleArm", "OutcomeUnknown", "RewardConflict", "SatisficeError"),
        *("StorageBusy", "StorageError", "StudyClosed", "StudyExists", "UnknownDecision", "UnknownStudy"),
    ),
    "problem": ("BestReward", "FixedThreshold", "Instance", "ReferenceArm", "Setting"),
    "changing": ("ChangingInstance",),
    "instances": ("DataWarning", "load_instance", "save_instance"),
    "policies": ("Policy", "all_policies", "get_policy"),
    "policies.asymmetric_pe": ("AsymmetricPE",),
    "policies.cof": ("COF",),
    "policies.discounted_ts_cs": ("DiscountedTSCS",),
    "policies.etc_cs": ("ETCCS",),
    "policies.ft_ucb": ("FTUCB",),
    "policies.glr": ("GLR",),
    "policies.glr_drift": ("GLRDrift",),
    "policies.graves_lai": ("GravesLai",),
    "policies.pe": ("PE",),
    "policies.pe_cs": ("PECS",),
    "policies.ts_cs": ("TSCS",),
    "policies.ucb_cs": ("UCBCS",),
    "policies.window_ts_cs": ("WindowTSCS",),
    "simulation": ("Result", "Results", "load_results", "simulate"),
    "simulation.segments": ("SegmentedResult", "simulate_segments"),
    "segments": ("SegmentedInstance", "load_segments"),
    "simulation.comparing": ("Comparison",),
    "simulation.sweeping": ("Sweep", "SweepPoint", "sweep"),
    "simulation.results": ("Terms",),
    "bounds": ("LowerBound", "OrderOptimality", "UpperBound"),
    "bounds.terms": ("Term",),
    "planning": ("Outlook", "Plan", "plan"),
    "paper": ("reproduce",),
    "analysis": ("AnalysedArm", "Analysis", "analyse"),
    "studies": (
        *("ArmStatus", "Decision", "Replay", "Status", "Storage", "Study", "Verdict"),
        *("create_study", "delete_study", "list_studies", "load_study", "replay"),
    ),
    "client": ("connect", "connect_async"),
    "client.asynchronous": ("AsyncClient", "AsyncRemoteStudy"),
    "client.waiting": ("Client", "RemoteStudy"),
    "client.wire": ("RemoteDecision",),
    "studies.asynchronous": ("AsyncStudy",),
    "studies.audit": ("Audit",),
    "studies.config": ("Config",),
    "studies.explain": ("Explanation",),
    "studies.leased": ("LeasedDecision", "LeasedStudy"),
    "studies.status": ("Control", "Drift", "Refutation", "SegmentStatus", "Spending"),
}
_MODULES = (
    "analysis",
    "bounds",
    "errors",
    "instances",
    "paper",
    "planning",
    "plots",
    "policies",
    "problem",
    "simulation",
    "studies",
)
_HOME = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted((*_HOME, *_MODULES))


def __getattr__(name: str) -> object:
    if name in _HOME:
        value: object = getattr(importlib.import_module(f"satisfice.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"satisfice.{name}")
    raise AttributeError(f"module 'satisfice' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
