# SPDX-License-Identifier: Apache-2.0
"""A million payload bytes each way, echoed under the session's window, at 115200 and at 500000: two builds of one source."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.system.echoes import built_for, echo

PAYLOAD = 1_000_000


@pytest.mark.nightly
@pytest.mark.parametrize("baud", [115_200, 500_000])
def test_a_million_bytes_come_back_as_they_went(baud: int, tmp_path: Path) -> None:
    begun = time.perf_counter()
    found = echo(PAYLOAD, built_for(baud, tmp_path))
    print(
        f"\n{baud} baud: {found.sent} payload bytes each way in {found.seconds:.1f} s of virtual time, "
        f"{found.baud:.0f} bit/s of payload each way, losses {found.losses or 'none'}, receive overruns {found.rx_overruns}; "
        f"{found.seconds / (time.perf_counter() - begun):.0f}x real time"
    )
    assert found.sent >= PAYLOAD
    assert found.is_same
    assert found.rx_overruns == 0
