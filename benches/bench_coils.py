# SPDX-License-Identifier: Apache-2.0
"""10^5 random sequences of commands to the real firmware: what the bench counted at the pins against the limits.

Takes some minutes. `tests/system/coils.py` says what a sequence is.
"""

from __future__ import annotations

import pytest

from tests.system.coils import LIMITS, MS, faults_of, torment

SEEDS = range(20)
SEQUENCES = 5_000


@pytest.mark.nightly
def test_no_coil_beyond_its_limits_in_100_000_sequences() -> None:
    answered = 0
    longest = dict.fromkeys(LIMITS, 0)
    times = dict.fromkeys(LIMITS, 0)
    for seed in SEEDS:
        coils, commands, _ = torment(seed, SEQUENCES)
        answered += commands
        assert not faults_of(coils)
        for name in LIMITS:
            longest[name] = max(longest[name], coils.longest(name))
            times[name] += len(coils.spans.get(name, ()))
    print(f"\n{len(SEEDS) * SEQUENCES} sequences, {answered} commands answered; never two coils at once")
    for name, limit in LIMITS.items():
        print(f"  {name}: on {times[name]} times, {longest[name] / MS:.1f} ms at the most, {limit.on} allowed")
