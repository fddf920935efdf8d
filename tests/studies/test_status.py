"""Verdicts, intervals, money and explanations, with numbers that can be checked by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.image import imread

import satisfice as sf
from satisfice.errors import UnknownDecision
from satisfice.statistics import kl, penalty
from satisfice.studies import Study, create_study, load_study
from satisfice.studies.evidence import Evidence
from satisfice.studies.picture import shortened, shown_arms
from satisfice.studies.storages import Storage
from satisfice.words import amount

# The error that a study of confidence 0.95 allows for the arms that it begins with.
ALLOWED = 0.05 * (1 - 0.05)


def feed(study: Study, rewards: dict[str, list[float]]) -> None:
    """Give every arm its rewards, whatever the policy wants."""
    names = list(rewards)
    for name, values in rewards.items():
        others = [other for other in names if other != name]
        decisions = study.ask_many(len(values), exclude=others)
        study.tell_many([(decision.id, value) for decision, value in zip(decisions, values, strict=True)])


def fixed(**terms: object) -> Study:
    return create_study("s", {"a": 1.0, "b": 5.0}, sf.FixedThreshold(0.5), "ft-ucb", seed=1, **terms)  # type: ignore[arg-type]


def test_an_interval_by_hand() -> None:
    """40 zeros, 2 arms, confidence 0.95, of whose error a twentieth is kept for arms that come later: 0.0475 is left.

    The mixture's likelihood of 40 zeros is Gamma(1/2) Gamma(40.5) / (Gamma(41) pi), the largest likelihood is 1, so the
    penalty is -log of it: 2.4199. The upper end solves -40 log(1 - q) = log(2 / 0.0475) + 2.4199 = 6.1601:
    q = 1 - exp(-6.1601 / 40) = 0.1427.
    """
    study = fixed()
    feed(study, {"b": [0.0] * 40, "a": []})
    cost = -(math.lgamma(0.5) + math.lgamma(40.5) - math.lgamma(41) - math.log(math.pi))
    assert cost == pytest.approx(2.4199, abs=1e-4)
    low, high = study.status().arms[1].interval
    assert low == 0.0
    assert high == pytest.approx(1 - math.exp(-(math.log(2 / ALLOWED) + cost) / 40), abs=1e-12)
    assert high == pytest.approx(0.1427, abs=1e-4)
    assert study.status().arms[0].interval == (0.0, 1.0)


def test_refuted_by_the_threshold_and_certified() -> None:
    """a: 40 zeros against 0.5 are 40 log 2 = 27.7 nats, less the penalty 25.3: error 2 exp(-25.3) / 0.95 = 2e-11.

    n rewards that are alike are proof when 2 exp(-(n log 2 - penalty)) <= 0.0475, from n = 8 on. The first look is at 8
    rewards, the next ones when there are a tenth more: after 40 rewards at 44, at 49 (n = 9), ...
    """
    study = fixed()
    for _ in range(40):
        feed(study, {"a": [0.0], "b": []})
    verdict = study.verdict()
    assert (verdict.state, verdict.leader) == ("exploring", "b")
    (refuted,) = verdict.refuted
    assert (refuted.arm, refuted.by) == ("a", None)
    assert refuted.rewards == 8
    assert verdict.sure == 0.0  # nothing is known of b
    for _ in range(40):
        feed(study, {"b": [1.0], "a": []})
    verdict = study.verdict()
    assert (verdict.state, verdict.leader) == ("certified", "b")
    assert 1 - verdict.sure == pytest.approx(2 / 0.95 * math.exp(-(40 * math.log(2) - penalty(40, 0.0))))
    errors = [2 * math.exp(-(n * math.log(2) - penalty(n, 1.0))) for n in (7, 8)]
    assert errors[0] > ALLOWED >= errors[1]
    assert verdict.certified_after is not None and 48 <= verdict.certified_after <= 52
    assert verdict.sentence.startswith(
        "'b' is the cheapest arm that is good enough (at least 0.5): more than 99.9% sure"
    )
    assert [arm.verdict for arm in study.status().arms] == ["refuted", "certified"]
    assert "'a' was refuted by the threshold after" in str(study.status())


def test_no_arm_is_good_enough() -> None:
    study = fixed()
    feed(study, {"a": [0.0] * 60, "b": [0.0] * 55 + [1.0] * 5})
    verdict = study.verdict()
    assert (verdict.state, verdict.leader) == ("none", "b")
    assert verdict.sentence.startswith("No arm reaches 0.5 (more than 99.9% sure")


def test_no_arm_seems_good_enough() -> None:
    study = create_study("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.8), "glr", None, 200, seed=1)
    feed(study, {"a": [0.0, 1.0] * 6, "b": [0.0, 1.0] * 13})
    verdict = study.verdict()
    assert (verdict.state, verdict.belief) == ("exploring", None)  # nobody believes in the leader
    assert "no arm seems to reach 0.8, believed with 9" in verdict.sentence


def test_refuted_by_the_best_arm() -> None:
    study = create_study("s", {"a": 1.0, "b": 4.0, "c": 5.0}, sf.BestReward(0.1), "ucb-cs", None, 10_000, seed=1)
    feed(study, {"a": [0.0] * 50, "b": [1.0] * 200, "c": [1.0] * 200})
    verdict = study.verdict()
    assert (verdict.state, verdict.leader) == ("certified", "b")
    assert [(r.arm, r.by) for r in verdict.refuted] == [("a", "b")]
    # The weakest proof is that b (all ones) reaches 0.9 x c (all ones): Z = 200 log(1 / 0.9) = 21.07 nats, at x = 1.
    # Two penalties are paid, and three arms make three pairs: the error is 3 exp(-(21.07 - 2 x 3.22)) / 0.95 = 1.4e-6.
    assert penalty(200, 1.0) == pytest.approx(3.22, abs=0.01)
    assert 1 - verdict.sure == pytest.approx(
        3 / 0.95 * math.exp(-(200 * math.log(1 / 0.9) - 2 * penalty(200, 1.0))), rel=1e-6
    )
    assert verdict.threshold == pytest.approx(0.9)
    assert "95" in f"{study.status().confidence:.2f}"
    study.retire_arm("b")  # what a was refuted by is gone; c refutes it too
    assert [(r.arm, r.by) for r in study.verdict().refuted] == [("a", "c")]
    assert study.verdict().leader == "c"


def test_the_reference_arm() -> None:
    study = create_study(
        "s", {"a": 1.0, "ref": 4.0, "dear": 9.0}, sf.ReferenceArm("ref", 0.2), "pe", None, 10_000, drift=None
    )
    feed(study, {"a": [1.0] * 60, "ref": [1.0] * 30 + [0.0] * 30, "dear": [1.0]})
    status = study.status()
    assert (status.verdict.state, status.leader) == ("certified", "a")
    assert status.verdict.threshold == pytest.approx(0.8 * 0.5)
    assert [arm.verdict for arm in status.arms] == ["certified", "open", "dearer"]
    assert status.spending.reference == pytest.approx(4.0 * 121)
    assert "75.0% less per decision than 'ref', the reference arm" in status.verdict.sentence


def test_settled_by_the_horizon() -> None:
    study = create_study("s", {"a": 1.0, "b": 1.5}, sf.BestReward(0.1), "etc-cs(c=0.1)", None, 40, seed=1)
    for _ in range(6):
        study.tell(study.ask().id, 1.0)
    study.ask()
    verdict = study.verdict()
    assert (verdict.state, verdict.leader) == ("settled", "a")
    assert verdict.sentence.startswith("The study has settled on 'a' after 6 rewards, believed with ")


def test_a_belief_is_not_a_proof() -> None:
    study = create_study("s", {"a": 1.0, "b": 5.0}, sf.BestReward(0.1), "pe-cs", None, 10_000, seed=1)
    feed(study, {"a": [1.0] * 8 + [0.0] * 2, "b": [1.0] * 6 + [0.0] * 4})
    verdict = study.verdict()
    assert (verdict.state, verdict.leader, verdict.sure) == ("exploring", "a", 0.0)
    assert verdict.belief is not None and 0.6 < verdict.belief < 0.99
    assert f"'a' would win now, believed with {math.floor(100 * verdict.belief)}%, not proved yet" in verdict.sentence
    feed(study, {"a": [1.0] * 400, "b": [1.0] * 200 + [0.0] * 200})
    assert study.verdict().belief is None  # it is proved


def test_every_arm_reaches_the_lowest_reward() -> None:
    study = create_study("s", {"a": 1.0, "b": 5.0}, sf.FixedThreshold(0.0), "ft-ucb", seed=1)
    feed(study, {"a": [0.0] * 10, "b": []})
    assert (study.verdict().state, study.verdict().leader) == ("certified", "a")


def test_money() -> None:
    """10 decisions on a at 1, 5 on b at 5: 35 spent; all on b 75."""
    study = fixed()
    feed(study, {"a": [1.0] * 10, "b": [0.0] * 5})
    spending = study.status().spending
    assert (spending.total, spending.dearest, spending.best, spending.leader) == (35.0, 75.0, 15.0, 15.0)
    assert spending.reference is None
    assert "spent 35 on 15 decisions; 75 on the dearest arm alone, 15 on the best" in str(study.status())


def test_an_amount_is_written_out() -> None:
    study = create_study("s", {"a": 9999.6, "b": 20000.0}, sf.FixedThreshold(0.5), "ft-ucb", seed=1)
    feed(study, {"a": [1.0], "b": []})
    assert "spent 10,000 on 1 decision; 20,000 on the dearest arm alone" in str(study.status())


def test_a_study_of_one_arm() -> None:
    study = create_study("s", {"only": 2.0}, sf.BestReward(0.1), "glr", seed=1)
    for _ in range(20):
        study.tell(study.ask().id, 0.5)
    assert study.verdict().leader == "only"
    assert study.check().agrees


def test_plain_data_is_json() -> None:
    study = fixed()
    text = json.dumps(study.status().to_dict(), allow_nan=False)
    assert json.loads(text)["arms"][0]["mean"] is None
    assert study.verdict().sentence == "No rewards yet: every arm may be the one."


def test_verdicts_are_right_with_the_promised_confidence() -> None:
    """The hardest truth: the cheap arm is good enough by a hair, 0.451 against 0.9 x 0.5. Looked at all the time, 200
    studies of confidence 0.9 refute it in at most a tenth: P(Binomial(200, 0.1) > 40) < 1e-5."""
    rng = np.random.default_rng(8)
    means = {"cheap": 0.451, "dear": 0.5}
    wrong = 0
    for seed in range(200):
        study = create_study(
            "s", {"cheap": 1.0, "dear": 2.0}, sf.BestReward(0.1), "etc-cs(c=100)", None, 600, 0.9, seed=seed
        )
        for _ in range(6):
            study.tell_many({d.id: float(rng.random() < means[d.arm]) for d in study.ask_many(100)})
        wrong += bool(study.verdict().refuted)
    assert wrong <= 40


def test_many_arms_are_judged_by_the_best_of_them() -> None:
    """600 arms: pairs alone would be 180,000 tests. The cheap half is bad, the other half is perfect."""
    arms = {f"arm-{i}": 1.0 + i for i in range(600)}
    study = create_study("s", arms, sf.BestReward(0.2), "etc-cs(c=200)", None, 600, seed=1)
    for _ in range(40):
        block = study.ask_many(600)
        study.tell_many({d.id: float(int(d.arm[4:]) >= 300) for d in block})
    verdict = study.verdict()
    assert len(verdict.refuted) == 300
    assert verdict.leader == "arm-300"


def test_intervals_hold_at_all_times() -> None:
    """Of 400 sequences of 300 coin tosses, looked at after every toss, at most a tenth ever leave the interval of
    confidence 0.9. A count above 66 would have probability P(Binomial(400, 0.1) > 66) < 3e-5."""
    rng = np.random.default_rng(4)
    missed = 0
    for _ in range(400):
        heads = np.cumsum(rng.random(300) < 0.3)
        missed += any(
            n * kl(h / n, 0.3) > math.log(1 / 0.1) + penalty(n, h / n) for n, h in enumerate(heads.tolist(), 1)
        )
    assert missed <= 66


def test_the_interval_is_where_the_divergence_reaches_the_level() -> None:
    study = fixed()
    feed(study, {"a": [1.0] * 32 + [0.0] * 8, "b": []})
    low, high = study._ledger.look(lambda view: Evidence(view.machine).interval(0))
    level = math.log(2 / ALLOWED) + penalty(40, 0.8)
    assert 40 * kl(0.8, low) == pytest.approx(level, rel=1e-6)
    assert 40 * kl(0.8, high) == pytest.approx(level, rel=1e-6)


def test_explanations() -> None:
    study = create_study("s", {"a": 1.0, "b": 2.0}, sf.BestReward(0.1), "ucb-cs", None, 1000, seed=1)
    for _ in range(2):
        study.ask()
    study.tell(1, 1.0)
    study.ask()
    study.ask(exclude=["a"])
    first = study.explain(1)
    assert (first.arm, first.lease, first.lease_arm, first.lease_pulls, first.place) == ("a", 1, None, 1, 1)
    assert "With 0 rewards known, ucb-cs wants every arm in turn 1 time; this is pull 1." in first.sentence
    assert [arm.pulls for arm in study.explain(2).status.arms] == [0, 0]
    third = study.explain(3)
    assert third.reason == "interim" and "if they came as expected" in str(third)
    assert [arm.pulls for arm in third.status.arms] == [1, 0]
    assert "which was excluded" in study.explain(4).sentence
    assert json.dumps(third.to_dict())
    with pytest.raises(UnknownDecision):
        study.explain(5)


def test_a_picture(tmp_path: Path) -> None:
    study = create_study(
        "s", {f"arm {i}": 1.0 + i for i in range(45)}, sf.BestReward(0.1), "etc-cs", None, 1000, seed=1
    )
    study.tell_many([(d.id, 1.0) for d in study.ask_many(100)])
    study.plot(tmp_path / "many.png")
    assert imread(tmp_path / "many.png").shape[0] > 1000
    fixed().plot(tmp_path / "empty.svg")
    assert "good enough" in (tmp_path / "empty.svg").read_text()


@pytest.mark.parametrize("together", [True, False])
def test_corrections_undo_verdicts(reopen: Callable[[], Storage], together: bool) -> None:
    """A grader that had two arms the wrong way round: what its rewards proved goes with them, what they prove comes."""
    terms = (sf.BestReward(0.1), "ucb-cs", reopen(), 1000)
    study = create_study("s", {"a": 1.0, "b": 5.0, "c": 9.0}, *terms, seed=1)
    feed(study, {"a": [0.0] * 60, "b": [1.0] * 60, "c": [0.0] * 60})
    study.tell(study.ask().id, 1.0)
    assert (study.verdict().state, study.verdict().leader) == ("certified", "b")
    before = {fact.arm: fact for fact in study.verdict().refuted}
    log = study.log().filter(pl.col("id") <= 180)
    right = {number: float(arm == "a") for number, arm in log.select("id", "arm").iter_rows() if arm != "c"}
    if together:
        study.tell_many(right, correct=True)
    else:
        for number, reward in right.items():
            study.tell(number, reward, correct=True)
    verdict = load_study("s", reopen()).verdict()
    assert (verdict.state, verdict.leader) == ("certified", "a")
    assert {(fact.arm, fact.by) for fact in verdict.refuted} == {("b", "a"), ("c", "a")}
    assert all(fact.rewards > before["c"].rewards for fact in verdict.refuted)
    assert study.check().agrees
    feed(study, {"a": [1.0] * 60, "b": [], "c": []})  # now it is looked at again, and kept
    assert {(fact.arm, fact.by) for fact in study.verdict().refuted} == {("b", "a"), ("c", "a")}
    assert study.verdict().state == "certified"
    assert study.check().agrees


def test_a_verdict_that_a_correction_leaves_standing_keeps_its_date() -> None:
    study = create_study("s", {"a": 1.0, "b": 5.0}, sf.BestReward(0.1), "ucb-cs", None, 1000, seed=1)
    feed(study, {"a": [0.0] * 60, "b": [1.0] * 60})
    before = study.verdict()
    assert before.state == "certified"
    study.tell(1, 1.0, correct=True)
    after = study.verdict()
    assert (after.refuted, after.certified_after) == (before.refuted, before.certified_after)
    assert study.check().agrees


def test_a_correction_undoes_the_refutation_of_a_retired_arm() -> None:
    study = fixed()
    feed(study, {"a": [0.0] * 40, "b": [1.0] * 40})
    assert [fact.arm for fact in study.verdict().refuted] == ["a"]
    study.retire_arm("a")
    study.tell_many(dict.fromkeys(range(1, 41), 1.0), correct=True)
    study.add_arm("a", 1.0)
    assert (study.verdict().state, study.verdict().leader, study.verdict().refuted) == ("certified", "a", ())
    assert study.check().agrees


def test_a_reward_after_an_expiry_that_counted_undoes_verdicts() -> None:
    now = [0.0]
    study = fixed(expire_after=60.0, expire_as=0.0, clock=lambda: now[0])
    late = study.ask_many(40, exclude=["b"])
    now[0] = 100.0
    feed(study, {"b": [1.0] * 40, "a": []})
    assert (study.verdict().state, study.verdict().leader) == ("certified", "b")
    study.tell_many({decision.id: 1.0 for decision in late})
    assert (study.verdict().state, study.verdict().leader) == ("certified", "a")
    assert study.check().agrees


def test_a_policy_that_has_chosen_for_good_chooses_again_after_a_correction() -> None:
    study = create_study("s", {"a": 1.0, "b": 5.0}, sf.BestReward(0.1), "pe-cs", None, 5000, seed=1)
    for _ in range(20):
        block = study.ask_many(100)
        study.tell_many({decision.id: float(decision.arm == "b") for decision in block})
    assert study._ledger.look(lambda view: view.machine.committed)
    assert study.ask().arm == "b"
    log = study.log().filter(pl.col("reward").is_not_null())
    study.tell_many(dict.fromkeys(log["id"], 1.0), correct=True)
    assert study.ask().arm == "a"
    assert study.check().agrees


def test_a_picture_of_many_arms_has_the_ones_that_matter() -> None:
    study = create_study("s", {f"m{k}": 1.0 + k for k in range(60)}, sf.FixedThreshold(0.5), "ft-ucb", seed=1)
    feed(study, {f"m{k}": [0.0] * 3 if k < 51 else [1.0 if k == 59 else 0.6] for k in range(60)})
    arms = shown_arms(study.status())
    assert len(arms) == 40
    assert study.status().leader == "m51"
    assert {"m51", "m59"} <= {arm.name for arm in arms} <= {"m51", "m59", *(f"m{k}" for k in range(51))}
    assert [arm.cost for arm in arms] == sorted(arm.cost for arm in arms)
    left, middle, _ = study.plot().axes
    assert [label.get_text() for label in left.get_yticklabels()][-1] == "and 20 more arms"
    assert len(middle.get_yticks()) == 41
    few = fixed().plot().axes[0]
    assert [label.get_text() for label in few.get_yticklabels()] == ["a  (1)", "b  (5)"]


def test_long_names_are_shortened_and_can_be_told_apart() -> None:
    dated = [f"provider/very-long-model-name-of-2026-11-{k:02d}-instruct-preview" for k in range(30)]
    hard = ["x" * 60 + letter + "y" * 60 + letter + "z" * 60 for letter in "ab"]
    names = ["short", "a-long-name-with-its-end-at-the-end", *dated, *hard]
    short = shortened(names)
    assert short[:2] == ["short", "a-long-name-\N{HORIZONTAL ELLIPSIS}nd-at-the-end"]
    assert short[2] == "provid\N{HORIZONTAL ELLIPSIS}-11-00-ins\N{HORIZONTAL ELLIPSIS}"
    assert len(set(short)) == len(names) and max(map(len, short)) <= 26


def test_axes_of_a_picture_begin_at_0() -> None:
    nothing = fixed()
    free = create_study("s", {"a": 0.0, "b": 0.0}, sf.FixedThreshold(0.5), "ft-ucb", seed=1)
    feed(free, {"a": [1.0], "b": [0.0]})
    assert [ax.get_xlim() for ax in nothing.plot().axes[1:]] == [(0.0, 10.0), (0.0, 1.0)]
    _, middle, right = free.plot().axes
    assert middle.get_xlim() == (0.0, 1.05) and right.get_xlim() == (0.0, 1.0)


def test_amounts_on_an_axis() -> None:
    assert [amount(value) for value in (0.0, 0.0002, 0.5, 20.0, 1500.0, 3e6, 2e9)] == [
        "0", "0.0002", "0.5", "20", "1.5k", "3M", "2G",
    ]  # fmt: skip
