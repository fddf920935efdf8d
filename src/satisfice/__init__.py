"""satisfice: the cheapest option that is good enough, while the options are in use."""

from satisfice.problem import BestReward, FixedThreshold, Instance, ReferenceArm, Setting

__version__ = "0.1.0"
__all__ = ["BestReward", "FixedThreshold", "Instance", "ReferenceArm", "Setting"]
