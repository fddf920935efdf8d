"""The status of a study with segments: a verdict for each, and what they come to together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from satisfice.studies.machine import Machine
from satisfice.studies.status import SegmentStatus, Verdict, moment
from satisfice.words import shorten

# So many segments are named in a sentence at most.
NAMED = 5


def make_segment(part: Machine, verdict: Verdict, whole: str) -> SegmentStatus:
    """The status of a segment, in a study most of whose traffic is served with the arm `whole`."""
    name = part.name or ""
    arms = [arm.name for arm in part.arms]
    follows = verdict.leader == whole
    where = f"{shorten(name, 60)!r}"
    if verdict.state == "none":
        text = f"{where}: {verdict.sentence}"
    elif follows:
        text = f"{where} follows the whole, with {verdict.leader!r}"
    else:
        text = f"{where} has its own winner, {verdict.leader!r}"
    if verdict.state == "certified":
        since = "" if verdict.certified_at is None else moment(verdict.certified_at, ", certified since ")
        text += since or ", certified"
    elif verdict.state != "none":
        text += ", not proved yet" if verdict.rewards else ", without a reward of its own yet"
    return SegmentStatus(
        name=name,
        decisions=part.decisions,
        rewards=verdict.rewards,
        share=part.decisions / part.whole.decisions if part.whole.decisions else math.nan,
        means={
            name: part.config.unscale(arm.mean) if arm.seen else math.nan
            for name, arm in zip(arms, part.arms, strict=True)
        },
        pulls={name: arm.pulls for name, arm in zip(arms, part.arms, strict=True)},
        pending=sum(arm.pending for arm in part.arms),
        verdict=verdict,
        follows=follows,
        sentence=text + ".",
    )


def commonest(machine: Machine, verdicts: Sequence[Verdict]) -> str:
    """The arm that leads where most of the traffic is."""
    weights = {arm.name: 0 for arm in machine.arms}
    for part, verdict in zip(machine.parts, verdicts, strict=True):
        weights[verdict.leader] += part.decisions
    if not any(weights.values()):
        return verdicts[0].leader
    return max(weights, key=weights.__getitem__)


def overall(machine: Machine, verdicts: Sequence[Verdict]) -> Verdict:
    """What the segments come to together: the leader is that of most of the traffic, and the state that of the segment
    that is furthest behind, of those that have any rewards."""
    leader = commonest(machine, verdicts)
    known = [(part, verdict) for part, verdict in zip(machine.parts, verdicts, strict=True) if verdict.rewards]
    states = {verdict.state for _, verdict in known} or {"exploring"}
    state = next(state for state in ("exploring", "settled", "certified", "none") if state in states)
    dates = [verdict.certified_at for _, verdict in known if verdict.certified_at is not None]
    decided = state in ("certified", "none")
    return Verdict(
        state=state,
        leader=leader,
        sure=min((verdict.sure for _, verdict in known), default=0.0),
        belief=None,
        rewards=sum(verdict.rewards for _, verdict in known),
        threshold=machine.config.setting.mu0,
        refuted=(),
        certified_at=max(dates) if decided and dates else None,
        certified_after=None,
        sentence=_sentence(machine, leader, known),
        costs=min(
            (verdict.costs for _, verdict in known), default="known", key=("open", "believed", "proved", "known").index
        ),
    )


def _sentence(machine: Machine, leader: str, known: list[tuple[Machine, Verdict]]) -> str:
    if not known:
        return "No rewards yet: every arm may be the one, in every segment."
    rewards = sum(verdict.rewards for _, verdict in known)
    proved = sum(verdict.state in ("certified", "none") for _, verdict in known)
    count = len(machine.parts)
    others = [(part.name or "", verdict) for part, verdict in known if verdict.leader != leader]
    text = f"After {rewards:,} reward{'s' if rewards != 1 else ''} in {len(known):,} of {count:,} segments, {leader!r} "
    text += "would win in every one of them" if not others else "would win where most of the traffic is"
    if others:
        others.sort(key=lambda item: (item[1].state != "certified", item[0]))
        named = [
            f"{verdict.leader!r} in {shorten(name, 60)!r}{' (certified)' if verdict.state == 'certified' else ''}"
            for name, verdict in others[:NAMED]
        ]
        more = f" and in {len(others) - NAMED} more" if len(others) > NAMED else ""
        text += f"; others have their own winner: {', '.join(named)}{more}"
    return f"{text}. {proved:,} of {len(known):,} verdicts are proved, all together with the study's confidence."
