# SPDX-License-Identifier: Apache-2.0
"""A run as a table for spreadsheets: one row per trial, everything but edges and samples."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from controller.store.records import RunData

_PLAIN = (
    *("trial", "kind", "drive", "t_s", "verdict", "cleared", "sticking", "dealt", "roller_ms", "pack_V", "peak_A"),
    *("fill", "hopper", "burst", "since_power_on", "since_lid_close", "since_fire", "gap_s", "burst_index", "reason"),
    *("mcu_verdict", "accepted", "run_ms", "duty", "pack_open_V", "spoiled"),
)

COLUMNS: Mapping[str, tuple[str, ...]] = {"roller": _PLAIN, "blast": (*_PLAIN, "slot", "loaded", "toy", "round", "insert")}
"""By launcher, names of `records.Trial`'s fields, but for `trial`, which is its number."""


def trials_csv(data: RunData) -> str:
    """Return the trials as CSV (RFC 4180 but for line feeds alone), UTF-8, a header first.

    Numbers are written with as many digits as tell them apart; booleans as 0 and 1; what is not known is empty.
    """
    text, names = io.StringIO(), COLUMNS[data.run.launcher]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for trial in data.trials:
        writer.writerow(_cell(getattr(trial, "number" if name == "trial" else name)) for name in names)
    return text.getvalue()


def _cell(value: object) -> object:
    return int(value) if isinstance(value, bool) else value
