"""From a log to a decision: `analyse`."""

from satisfice.analysis.analyser import analyse
from satisfice.analysis.result import AnalysedArm, Analysis, Concern, More, Saving

__all__ = ["AnalysedArm", "Analysis", "Concern", "More", "Saving", "analyse"]
