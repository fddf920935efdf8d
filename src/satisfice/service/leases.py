"""Decisions in advance, for clients that decide without a trip.

A lease is a block of decisions that are in the log, each with its arm and its id, before the client has them. So what
is outstanding is known at all times, and proofs wait for it as for any other decision. It is bounded, too: while the
study explores, a block is at most half of what is left of a share of the rewards counted so far. So blocks are small
while evidence is scarce, the more clients there are the smaller, and one that finds nothing left gets a single
decision. When the choice is settled there is nothing left to learn from a short block, and a client gets what it
wants.
"""

from __future__ import annotations

import time
from itertools import groupby

import msgspec

from satisfice.service.core import Handle
from satisfice.service.decisions import key_of
from satisfice.service.endpoint import Answer, Call
from satisfice.service.schemas import Block, LeaseAnswer, LeaseAsk
from satisfice.studies.blocks import block_size, give_back, take_block

_encode = msgspec.json.Encoder().encode


async def lease(call: Call) -> Answer:
    """Give decisions in advance, and take back those that were not used."""
    wanted: LeaseAsk = call.body
    key = key_of(call, wanted.key)

    def work(handle: Handle) -> LeaseAnswer:
        study = handle.study
        if wanted.unused:
            give_back(study, [handle.number_of(text) for text in wanted.unused])
        leader, settled = handle.standings.of(wanted.segment)
        taken = take_block(
            study, lambda rewards, out: block_size(wanted.count, rewards, out, settled), key, wanted.segment
        )
        blocks = []
        for arm, group in groupby(taken.decisions, key=lambda decision: decision.arm):
            numbers = [decision.id for decision in group]
            blocks.append(Block(arm, handle.id(numbers[0]), len(numbers)))
        return LeaseAnswer(blocks, time.time() + wanted.seconds, leader, taken.outstanding, settled)

    answer = await call.service.on(call.study, call.key, work)
    for block in answer.blocks:
        call.service.metrics.decided(call.study, block.arm, block.count)
    return Answer(_encode(answer))
