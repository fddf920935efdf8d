"""`sf.analyse`: from a log to a decision, on logs of every kind."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import satisfice as sf
from satisfice.errors import Hint, InvalidData, InvalidSetting, SatisficeError

RATES = {"mail": 0.30, "text": 0.29, "phone": 0.32}
COSTS = {"mail": 0.1, "text": 0.5, "phone": 4.0}


def campaign(rows: int = 3000, seed: int = 0) -> pl.DataFrame:
    """Three channels over 60 days, a third of the rows each."""
    rng = np.random.default_rng(seed)
    arm = np.array(list(RATES))[np.arange(rows) % 3]
    won = rng.random(rows) < np.array([RATES[name] for name in arm])
    moments = np.datetime64("2026-01-01", "ms") + (np.arange(rows) * (60 * 86400_000 // rows)).astype("timedelta64[ms]")
    return pl.DataFrame(
        {
            "sent_at": moments,
            "channel": arm,
            "converted": won.astype(int),
            "cost": [COSTS[name] for name in arm],
            "id": np.arange(rows),
        }
    )


def test_the_choice_and_what_it_saves() -> None:
    found = sf.analyse(campaign(), setting=sf.BestReward(alpha=0.2), plan=False)
    assert (found.choice, found.state) == ("mail", "clear")
    assert found.sure > 0.95
    assert found.columns["arm"] == "channel" and found.columns["time"] == "sent_at"
    assert "arm = 'channel'" in found.guessed
    mail = found.arms[0]
    assert mail.rows == 1000 and mail.interval[0] < mail.mean < mail.interval[1]
    assert mail.anytime[0] < mail.interval[0] and mail.interval[1] < mail.anytime[1]
    best, mix = found.savings
    # Against phone: 4 - 0.1 a row; 3,000 rows in 60 days are 1,521.9 in a month of 30.4375 days.
    assert best.per_row == pytest.approx(3.9)
    assert best.per_month == pytest.approx(3.9 * 3000 / 60 * 30.4375, rel=0.001)
    assert mix.per_row == pytest.approx(4.6 / 3 - 0.1)
    assert found.sentence.startswith("Use mail: it is the cheapest option that is good enough (at least 80% of")
    assert sum(arm.belief for arm in found.arms) == pytest.approx(1.0)


def test_every_source_says_the_same(tmp_path: Path) -> None:
    log = campaign(600)
    log.write_csv(tmp_path / "x.csv")
    log.write_csv(tmp_path / "y.csv", separator=";", datetime_format="%d.%m.%Y %H:%M:%S")
    log.write_parquet(tmp_path / "x.parquet")
    log.write_ndjson(tmp_path / "x.jsonl")
    log.write_excel(tmp_path / "x.xlsx")
    with sqlite3.connect(tmp_path / "x.db") as base:
        base.execute("create table calls (sent_at text, channel text, converted integer, cost real, id integer)")
        rows = log.with_columns(pl.col("sent_at").dt.to_string("%Y-%m-%d %H:%M:%S")).rows()
        base.executemany("insert into calls values (?, ?, ?, ?, ?)", rows)
    base.close()
    frame = pd.DataFrame({name: log[name].to_list() for name in log.columns})
    expected = sf.analyse(log, plan=False).to_dict()
    names = ("x.csv", "y.csv", "x.parquet", "x.jsonl", "x.xlsx")
    sources = [*(tmp_path / name for name in names), f"sqlite:///{tmp_path}/x.db", log.lazy(), frame]
    for source in sources:
        found = sf.analyse(source, plan=False).to_dict()
        for key in ("arms", "choice", "sure", "state", "threshold", "rows", "columns"):
            assert found[key] == expected[key], (source, key)
        assert found["days"] == pytest.approx(expected["days"], abs=1e-4)


def test_revenue_and_rare_conversions_need_no_options() -> None:
    """One row in a thousand buys, for 5 to 500: nothing is dropped, and profit is a number."""
    rng = np.random.default_rng(3)
    rows = 40_000
    arm = np.where(np.arange(rows) % 2, "banner", "mail")
    bought = rng.random(rows) < 0.001 * np.where(arm == "mail", 2, 1)
    revenue = np.where(bought, rng.uniform(5, 500, rows), 0.0)
    log = pl.DataFrame({"channel": arm, "revenue": revenue, "cost": np.where(arm == "mail", 0.05, 0.2)})
    found = sf.analyse(log, plan=False)
    assert found.choice == "mail"
    mail = next(arm for arm in found.arms if arm.name == "mail")
    assert mail.mean == pytest.approx(revenue[arm == "mail"].mean())
    assert mail.profit is not None and mail.profit == pytest.approx(mail.mean - 0.05)
    assert mail.profit_per_cost == pytest.approx((mail.mean - 0.05) / 0.05)
    assert mail.profit_interval is not None and mail.profit_interval[0] < mail.profit < mail.profit_interval[1]
    assert found.limits == (0.0, revenue.max())
    assert sum(arm.rows for arm in found.arms) == rows


def test_how_sure_is_what_resampling_says() -> None:
    """The belief in an arm is the share of resampled logs in which it is the right one; 400 of them, so that a
    difference of 0.1 has a probability below 1e-4."""
    log = campaign(900, seed=4)
    found = sf.analyse(log, setting=sf.BestReward(0.1), plan=False)
    rng = np.random.default_rng(0)
    parts = {name: log.filter(pl.col("channel") == name)["converted"].to_numpy() for name in RATES}
    wins = dict.fromkeys(RATES, 0)
    for _ in range(400):
        means = {name: rng.choice(part, len(part)).mean() for name, part in parts.items()}
        bar = 0.9 * max(means.values())
        wins[min((name for name in RATES if means[name] >= bar), key=COSTS.__getitem__)] += 1
    for arm in found.arms:
        assert arm.belief == pytest.approx(wins[arm.name] / 400, abs=0.1)


def test_more_rows_settle_it_and_a_study_needs_fewer_that_cost() -> None:
    log = campaign(600, seed=1)
    found = sf.analyse(log, setting=sf.BestReward(0.2))
    assert found.state == "open"
    assert found.more.rows is not None and found.more.rows > 0 and found.more.cost is not None
    assert found.more.cost == pytest.approx(found.more.rows * 4.6 / 3)
    assert found.more.study_rows is not None and found.more.study_cost is not None
    assert found.more.study_cost < found.more.cost
    again = campaign(600 + found.more.rows, seed=1)
    assert sf.analyse(again, setting=sf.BestReward(0.2), plan=False).rows == 600 + found.more.rows


def test_what_is_proved_at_any_time_is_called_proved() -> None:
    log = campaign(60_000)
    assert sf.analyse(log, setting=sf.BestReward(0.2)).state == "proved"
    none = sf.analyse(log, setting=sf.FixedThreshold(0.9), plan=False)
    assert (none.choice, none.state) == (None, "none") and none.sentence.startswith("No option is good enough")
    reference = sf.analyse(log, setting=sf.ReferenceArm("phone", alpha=0.2), plan=False)
    assert reference.choice == "mail" and reference.savings[0].against.startswith("always phone, the reference")


def test_simpsons_paradox_is_shown_with_its_numbers() -> None:
    """The kidney stones of Charig et al. (1986): open surgery is better for small stones (81 of 87 to 234 of 270) and
    for large ones (192 of 263 to 55 of 80), and looks worse in all (273 of 350 to 289 of 350)."""
    cells = [
        ("open", "small", 81, 87),
        ("open", "large", 192, 263),
        ("needle", "small", 234, 270),
        ("needle", "large", 55, 80),
    ]
    rows = [
        {"treatment": arm, "size": size, "success": int(i < wins), "cost": 2.0 if arm == "open" else 1.0}
        for arm, size, wins, all_ in cells
        for i in range(all_)
    ]
    found = sf.analyse(pl.DataFrame(rows), segment="size", setting=sf.BestReward(0.0), plan=False)
    assert found.choice == "needle"
    (concern,) = (c for c in found.concerns if c.kind == "segments")
    assert "Simpson's paradox by 'size': needle is better than open in all rows (0.8257 to 0.78)" in concern.sentence
    assert "open would be the cheapest that is good enough" in concern.sentence
    assert concern.table[0] == ("arm", "all rows", "large", "small", "with equal shares")
    shown = {row[0]: row for row in concern.table}
    assert shown["open"][2:4] == ("0.73 (263)", "0.931 (87)")
    assert shown["needle"][2:4] == ("0.6875 (80)", "0.8667 (270)")


@pytest.mark.parametrize("with_time", [True, False])
def test_a_mean_that_changes_along_the_log_is_said(with_time: bool) -> None:
    """A false alarm in the log that does not change has a probability below 0.05; this one has a fixed seed."""
    log = campaign(6000)
    late = (pl.col("channel") == "phone") & (pl.col("id") >= 4000)
    changed = log.with_columns(pl.when(late).then(0).otherwise(pl.col("converted")).alias("converted"))
    if not with_time:
        log, changed = log.drop("sent_at"), changed.drop("sent_at")
    assert not [c for c in sf.analyse(log, plan=False).concerns if c.kind == "drift"]
    (concern,) = (c for c in sf.analyse(changed, plan=False).concerns if c.kind == "drift")
    assert concern.sentence.startswith("The mean of phone changed along the log")
    ((name, when, before, since),) = concern.table[1:]
    assert name == "phone" and float(since.split()[0]) < 0.02 and 0.28 < float(before.split()[0]) < 0.36
    assert when == ("2026-02-10" if with_time else "row 4,001")


def test_segments_that_were_used_alike_are_no_concern() -> None:
    log = campaign(3000).with_columns(pl.Series("country", np.random.default_rng(0).choice(["DE", "FR", "IT"], 3000)))
    found = sf.analyse(log, plan=False)
    assert found.columns["segments"] == ("country",)
    assert not [c for c in found.concerns if c.kind == "segments"]


def test_repeats_costs_that_vary_few_rows_and_missing_rewards_are_said() -> None:
    log = campaign(1000)
    kinds = [c.kind for c in sf.analyse(pl.concat([log, log.head(20)]), plan=False).concerns]
    assert kinds == ["repeats"]
    # Days and no number of the order: nearly all rows are the same as another, which says nothing.
    coarse = log.drop("id").with_columns(pl.lit("2026-09-01").alias("day"))
    assert "repeats" not in [c.kind for c in sf.analyse(coarse, plan=False).concerns]
    vary = log.with_columns(pl.col("cost") * (1 + 0.1 * (pl.col("id") // 3 % 3)))
    (concern,) = sf.analyse(vary, plan=False).concerns
    assert concern.kind == "costs" and "Which is cheaper" not in concern.sentence
    few = pl.concat([log, log.head(1).with_columns(pl.lit("new").alias("channel"))])
    assert "Fewer than 30 rows: new." in sf.analyse(few, plan=False).concerns[0].sentence
    gone = log.with_columns(pl.when(pl.col("id") % 4 > 0).then(pl.col("converted")).alias("converted"))
    found = sf.analyse(gone, plan=False)
    assert found.rows == 750 and "250 rows (25.0%) have no reward" in found.concerns[0].sentence


def test_files_have_every_number(tmp_path: Path) -> None:
    found = sf.analyse(campaign(), setting=sf.BestReward(0.2), plan=False)
    paths = {path.suffix: path for path in found.save(tmp_path / "out", "x")}
    assert set(paths) == {".html", ".json", ".csv", ".xlsx"}
    data = json.loads(paths[".json"].read_text())
    assert data["choice"] == "mail" and data["arms"][0]["interval"] == list(found.arms[0].interval)
    table = pl.read_csv(paths[".csv"])
    assert table["name"].to_list() == ["mail", "text", "phone"]
    assert table["anytime_low"].to_list() == [arm.anytime[0] for arm in found.arms]
    assert pl.read_excel(paths[".xlsx"], sheet_name="options")["mean"].to_list() == [arm.mean for arm in found.arms]
    with zipfile.ZipFile(paths[".xlsx"]) as book:  # the same analysis is the same file, so that it need not be numbered
        assert b"2000-01-01T00:00:00Z</dcterms:created>" in book.read("docProps/core.xml")
    page = paths[".html"].read_text()
    assert page.count("<img ") == 4 and "http://" not in page and "https://" not in page
    assert page.index(found.sentence[:40]) < page.index("<img ")
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arm": "nothing"}, "the frame has no column 'nothing'"),
        ({"cost": None, "drop": "cost"}, "the frame has no column of costs; give one of these"),
        ({"cost": "cost", "random_costs": 0}, "the costs come from more than one place"),
        ({"drop": "channel"}, "which column is the arm"),
        ({"drop": "converted"}, "which column is the reward"),
        ({"confidence": 1.5}, "confidence = 1.5; it must be"),
        ({"rewards": (0, 0.5)}, "the log has rewards from 0 to 1"),
        ({"setting": sf.ReferenceArm("letter")}, "there is no arm 'letter'"),
        ({"costs": {"mail": 1}}, "2 of 3 arms have no cost: 'phone', 'text'"),
    ],
)
def test_wrong_input(change: dict[str, object], message: str) -> None:
    log = campaign(60).drop(str(change.pop("drop", "id")))
    with pytest.raises(SatisficeError, match=message):
        sf.analyse(log, plan=False, **change)  # type: ignore[arg-type]


def test_one_option_is_no_choice_and_missing_costs_have_a_hint() -> None:
    with pytest.raises(InvalidData, match="there is nothing to choose from"):
        sf.analyse(campaign(60).with_columns(pl.lit("x").alias("channel")), "channel", plan=False)
    with pytest.raises(InvalidData) as caught:
        sf.analyse(campaign(60).drop("cost"), plan=False)
    assert caught.value.hint is Hint.COSTS
    assert issubclass(InvalidSetting, ValueError)
