"""LiteLLM: each call goes to the cheapest model of its group that is good enough.

    litellm.callbacks = [Satisfice("answers", storage="sqlite:///answers.db")]

The deployments of the group `answers` are the arms of a study. The hook that LiteLLM asks before every attempt, retries
and fallbacks included, narrows the healthy deployments down to those of one arm; when the call has ended, what it has
cost goes to the study together with its reward. On any error of ours the router's own choice stands.
"""

from __future__ import annotations

from satisfice.errors import MissingExtra

try:
    import litellm as _litellm  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtra(f"routing in LiteLLM needs {error.name}; pip install 'satisfice[litellm]'") from error

from satisfice.integrations.litellm.callback import Satisfice
from satisfice.integrations.litellm.reading import decision_of
from satisfice.integrations.litellm.strategy import SatisficeStrategy
from satisfice.integrations.routing.judge import Judge

__all__ = ["Judge", "Satisfice", "SatisficeStrategy", "decision_of"]


def __getattr__(name: str) -> object:
    """`proxy`: the callback that the proxy's YAML names, made of its section `satisfice`."""
    if name == "proxy":
        from satisfice.integrations.litellm.serving import from_config

        return from_config()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
