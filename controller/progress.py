# SPDX-License-Identifier: Apache-2.0
"""How long work shows itself: a live bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from controller.campaigns.shared import Progress
from controller.durations import show
from rig.clock import Clock, WallClock

PLAIN_LINES = 10


@contextmanager
def shown(console: Console, total: int, clock: Clock | None = None) -> Iterator[Callable[[Progress], None]]:
    """A function to call after each trial; what it shows depends on whether `console` is a terminal."""
    clock = clock or WallClock()
    verdicts: Counter[str] = Counter()
    if console.is_terminal:
        bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[facts]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
        )
        task = bar.add_task("", total=total, facts="")

        def update(progress: Progress) -> None:
            verdicts[progress.trial.verdict] += 1
            rate = f"{bar.tasks[0].speed or 0:.0f}/s"
            facts = f"{_facts(progress, verdicts)}, {rate}"
            bar.update(task, completed=progress.done, description=progress.words.trials, facts=facts)

        with bar:
            yield update
        return

    started = clock.now()
    every = max(1, total // PLAIN_LINES)

    def line(progress: Progress) -> None:
        verdicts[progress.trial.verdict] += 1
        if progress.done % every and progress.done != total:
            return
        elapsed = clock.now() - started
        left = elapsed / progress.done * (total - progress.done)
        rate = progress.done / elapsed if elapsed > 0 else 0.0
        console.print(
            f"{progress.done} of {total} {progress.words.trials}, {_facts(progress, verdicts)}; {rate:.0f}/s, {show(left)} left",
            highlight=False,
            soft_wrap=True,
        )

    yield line


def _facts(progress: Progress, verdicts: Counter[str]) -> str:
    troubles = ", ".join(f"{name} {verdicts[name]}" for name in progress.words.troubles if verdicts[name])
    return f"{progress.dealt} cards" + (f" ({troubles})" if troubles else "")
