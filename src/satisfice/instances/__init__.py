"""Instances: the built-in ones, instance files, and readers of raw rating files and logs."""

from satisfice.instances.builtin import builtin_instances, load_instance, save_instance

__all__ = ["builtin_instances", "load_instance", "save_instance"]
