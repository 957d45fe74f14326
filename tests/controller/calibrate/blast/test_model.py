# SPDX-License-Identifier: Apache-2.0
"""What a game plays: whose hazard it is, and how long a release lets itself be waited for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import geom

from controller.calibrate.blast.model import make_model, waiting_times
from controller.calibrate.blast.rivals import FOLDS, compare, points
from tests.controller.calibrate.blast.simulate import CREEPING


def test_a_constant_hazard_waits_geometrically() -> None:
    waits, p_none = waiting_times([0.3] * 5)
    assert [wait.p for wait in waits] == pytest.approx(geom.pmf(np.arange(1, 6), 0.3).tolist())
    assert [wait.p_by for wait in waits] == pytest.approx(geom.cdf(np.arange(1, 6), 0.3).tolist())
    assert p_none == pytest.approx(geom.sf(5, 0.3))


@pytest.mark.parametrize("slots", [1, 2, 4, 6])
def test_a_hidden_slot_is_found_at_every_insert_equally_often(slots: int) -> None:
    waits, p_none = waiting_times([1 / (slots - k) for k in range(slots)])
    assert [wait.p for wait in waits] == pytest.approx([1 / slots] * slots)
    assert p_none == pytest.approx(0)


def test_waiting_times_agree_with_playing_the_hazard() -> None:
    uniform = np.random.default_rng(1).random((200_000, 4))
    released = uniform < np.array(CREEPING)
    first = np.where(released.any(axis=1), released.argmax(axis=1) + 1, 0)
    waits, p_none = waiting_times(CREEPING)
    for wait in waits:
        assert wait.p == pytest.approx(float(np.mean(first == wait.insert)), abs=0.004)
    assert p_none == pytest.approx(float(np.mean(first == 0)), abs=0.004)


def test_from_the_first_unknown_on_nothing_is_known() -> None:
    waits, p_none = waiting_times([0.5, None, 1.0])
    assert [(wait.p, wait.p_by) for wait in waits] == [(0.5, 0.5), (None, None), (None, None)]
    assert p_none is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_the_chances_sum_to_one(hazard: list[float]) -> None:
    waits, p_none = waiting_times(hazard)
    assert p_none is not None
    assert sum(wait.p or 0 for wait in waits) + p_none == pytest.approx(1)


HIDDEN = np.array([400, 300, 200, 100]), np.array([100, 100, 100, 100])
CONSTANT = np.array([400, 280, 196, 137]), np.array([120, 84, 59, 41])
FEW = np.array([4, 3, 2, 0]), np.array([1, 1, 2, 0])


@pytest.mark.parametrize(
    ("counts", "rounds", "rival", "mean"),
    [(HIDDEN, 400, "hidden_slot", 2.5), (CONSTANT, 400, "constant", None), (FEW, 4, "free", None), (HIDDEN, 99, "free", None)],
)
def test_the_exported_hazard_is_the_winners_or_the_free_one(
    counts: tuple[np.ndarray, np.ndarray], rounds: int, rival: str, mean: float | None
) -> None:
    at_risk, fired = counts
    parts = [np.vstack([each, np.zeros((FOLDS - 1, 4), dtype=np.int64)]) for each in counts]
    rivals = compare(parts[0], parts[1], rounds)
    model = make_model(rivals, at_risk, fired)
    assert model.rival == rival == (rivals.winner or "free")
    assert model.hazard == points(rival, at_risk, fired)
    assert mean is None or model.mean == pytest.approx(mean)


def test_the_mean_is_given_that_a_release_comes() -> None:
    at_risk, fired = CONSTANT
    rivals = compare(*(np.vstack([each, np.zeros((FOLDS - 1, 4), dtype=np.int64)]) for each in CONSTANT), 400)
    model = make_model(rivals, at_risk, fired)
    p = (304 + 1) / (1013 + 2)
    chances = geom.pmf(np.arange(1, 5), p)
    assert model.mean == pytest.approx(float(np.arange(1, 5) @ chances / chances.sum()))


def test_no_mean_is_made_up_where_the_hazard_is_unknown_to_the_end() -> None:
    rivals = compare(*(np.vstack([each, np.zeros((FOLDS - 1, 4), dtype=np.int64)]) for each in FEW), 4)
    model = make_model(rivals, *FEW)
    assert (model.hazard[3].p, model.p_none, model.mean) == (None, None, None)


def test_with_one_slot_a_release_comes_at_the_first_insert_whatever_the_rounding() -> None:
    for n in range(1, 60):
        for released in range(1, n + 1):
            at_risk, fired = np.zeros((FOLDS, 1), dtype=np.int64), np.zeros((FOLDS, 1), dtype=np.int64)
            at_risk[0, 0], fired[0, 0] = n, released
            model = make_model(compare(at_risk, fired, n), at_risk.sum(axis=0), fired.sum(axis=0))
            assert model.mean is not None and 1 <= model.mean < 1.000001
