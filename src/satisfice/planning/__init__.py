"""Planning with guessed means, by simulation: `plan`."""

from satisfice.planning.outlook import Outlook, Plan
from satisfice.planning.planner import plan, plan_instance

__all__ = ["Outlook", "Plan", "plan", "plan_instance"]
