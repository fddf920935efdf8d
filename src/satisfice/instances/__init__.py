"""Instances: the built-in ones, instance files, and readers of raw rating files and logs."""

from satisfice.instances.builtin import builtin_instances, load_instance, save_instance
from satisfice.instances.goodreads import from_goodreads
from satisfice.instances.logs import from_logs
from satisfice.instances.movielens import from_movielens
from satisfice.instances.tally import DataWarning

__all__ = [
    "DataWarning",
    "builtin_instances",
    "from_goodreads",
    "from_logs",
    "from_movielens",
    "load_instance",
    "save_instance",
]
