# SPDX-License-Identifier: Apache-2.0
"""`launchrig runs`: what the store holds, as tables for a person."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from controller.store.records import RunData, unobserved
from controller.store.store import Store, load_runs

SAFE = {"confirmed": "off, confirmed", "not confirmed": "NOT CONFIRMED SAFE", "": ""}


def list_runs(store_name: str, console: Console) -> None:
    """Every run, oldest first, a line each."""
    with Store.open(store_name, create=False) as store:
        found = store.runs()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "started (UTC)", "kind", "launcher", "drive", "device", "rig", "status", "outputs"):
        table.add_column(name, overflow="fold")
    for run in found:
        table.add_row(
            str(run.id),
            f"{run.started_at:%Y-%m-%d %H:%M:%S}",
            run.kind,
            run.launcher,
            run.drive,
            escape(run.dut),
            escape(run.rig_url),
            run.status,
            SAFE[run.safe_state],
        )
    console.print(table)
    if not found:
        console.print(f"{store_name}: no runs yet; launchrig demo makes one", markup=False, highlight=False)


def _rounds(data: RunData) -> dict[str, str]:
    """A row about the rounds and how they ended, where there are any."""
    ended = Counter(event.data["ended"] for event in data.events if event.kind == "round")
    return {"rounds": f"{ended.total()}, ended by " + ", ".join(f"{why} {n}" for why, n in ended.most_common())} if ended else {}


def show_run(store_name: str, ref: str, console: Console) -> None:
    """One run: how it ended, its verdicts, the ledger of its fills, losses on the link, provenance."""
    (data,) = load_runs(store_name, [ref])
    run = data.run
    facts = Table(box=None, pad_edge=False, show_header=False)
    rows = {
        "run": f"{run.id}, {run.kind}, {run.status}" + (f" ({run.note})" if run.note else ""),
        "device": run.dut,
        "rig": run.rig_url,
        "launcher": f"{run.launcher}, drive {run.drive}",
        "started": f"{run.started_at:%Y-%m-%d %H:%M:%S} UTC",
        "ended": f"{run.ended_at:%Y-%m-%d %H:%M:%S} UTC" if run.ended_at else "not yet",
        "outputs at the end": SAFE[run.safe_state] or "not known",
        "trials": ", ".join(f"{name} {n}" for name, n in Counter(t.verdict for t in data.trials).most_common()) or "none",
        "cards": f"{sum(t.dealt for t in data.trials)} dealt, {sum(t.sticking for t in data.trials)} of them sticking",
        **_rounds(data),
        "losses": ", ".join(f"{name} {n}" for name, n in run.counters.items() if n and name != "round_trip_us") or "none",
        "unobserved": "{} times, {:.1f} s in all".format(*unobserved(data)) if unobserved(data)[0] else "never",
        "round trip": f"{run.counters.get('round_trip_us', 0) / 1000:.1f} ms",
        "firmware": ", ".join(f"{name} {value}" for name, value in run.firmware.items()),
        "raw data SHA-256": run.raw_sha256 or "not yet",
    }
    for name, value in rows.items():
        facts.add_row(name, escape(value))
    console.print(facts)
    ledger = Table(title="cards by fill", title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in ("fill", "loaded", "remaining", "dealt", "jammed", "difference"):
        ledger.add_column(name, justify="right")
    for fill in data.fills:
        values = (fill.number, fill.loaded, fill.remaining, fill.dealt, fill.jammed, fill.difference)
        style = "bold red" if fill.difference else ""
        ledger.add_row(*("open" if value is None else str(value) for value in values), style=style)
    console.print(ledger)
