# SPDX-License-Identifier: Apache-2.0
"""The tables that the blaster's page has for itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from controller.report import tables
from controller.report.blast.rounds import RELEASED, rounds
from controller.report.blast.words import (
    CENSORED,
    DEPENDENCE,
    INSERTED,
    RESIDUALS_NOTE,
    RIVALS,
    RULES,
    STATES,
    STATES_NOTE,
    WAS_RESET,
)
from controller.report.tables import Cell, Odds, Table, row
from controller.report.words import NOTHING, interval, number, p_value, percent, plain, spread
from controller.store.records import Fill, RunData

FILLS_SHOWN = 12
"""So many fills are shown one by one; of more, those that balance are summed up."""

P = ("probability", True)
CI = ("95 % interval", True)


def part(odds: Odds | None, name: str) -> Mapping[str, Any]:
    """A part of the odds; empty when there are no odds, or when that part is null with a reason."""
    found = (odds or {}).get(name) or {}
    return {} if "reason" in found and "value" in found else found


def hazard(data: RunData, odds: Odds | None) -> Table | None:
    """The chance of a release at each insert of a round, as measured."""
    return _shares(part(odds, "hazard").get("by_insert"), "hazard", "Release by insert of the round, measured", "insert", "")


def slots(data: RunData, odds: Odds | None) -> Table | None:
    """The chance of a release by slot, and whether slots differ."""
    found = part(odds, "hazard")
    test = found.get("slot_test") or {}
    told = "No two slots can be compared: an insert of the same number is needed in both."
    if test.get("p_value") is not None:
        told = (
            f"{_sentence(test['test'])}: chi-square {number(test['statistic'])}, {test['df']} degrees of freedom, "
            f"p = {p_value(test['p_value'])}. "
            + ("Slots differ." if test["p_value"] < 0.05 else "No difference between slots is shown.")
        )
    return _shares(found.get("by_slot"), "slots", "Release by slot, over all inserts of a round", "slot", told)


def _shares(rows: Any, name: str, caption: str, place: str, note: str) -> Table | None:
    if not rows:
        return None
    columns = ((place, True), ("inserts", True), ("released", True), P, CI)
    cells = tuple(
        (
            Cell(str(each[place])),
            Cell(str(each["at_risk"])),
            Cell(str(each["released"])),
            Cell(percent(each["p"])),
            Cell(interval(each)),
        )
        for each in rows
    )
    return Table(name, caption, columns, cells, note)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def rule(data: RunData, odds: Odds | None) -> Table | None:
    """Which rule explains the releases, with what evidence; or that the data cannot tell."""
    found = part(odds, "rivals")
    if not found:
        return None
    winner = found.get("winner")
    factor = plain(found.get("log_bayes_factor"))
    rows = [
        row("winner", "none" if winner is None else f"{RIVALS[winner][0]}: {RIVALS[winner][1]}", "warn" if winner is None else ""),
        row("why none", str(found["reason"]))
        if winner is None
        else row("evidence", f"{found['evidence']} (Bayes factor, after Kass and Raftery)"),
        row("best", RIVALS[found["best"]][0]),
        row("next", RIVALS[found["runner_up"]][0]),
        row("log Bayes factor", "the next one is impossible" if factor is None else number(factor)),
        row("rounds", number(part(odds, "hazard").get("rounds"))),
        row("inserts, released", f"{number(part(odds, 'hazard').get('n'))}, {number(part(odds, 'hazard').get('released'))}"),
        row("a game plays", RIVALS[part(odds, "model")["rival"]][0] if part(odds, "model") else NOTHING),
        _verdict(part(odds, "dependence")),
    ]
    return Table("rule", "Which rule?", (("", False), ("", False)), tuple(rows))


def _verdict(found: Mapping[str, Any]) -> tuple[Cell, Cell]:
    """Whether rounds depend on each other, which would make every rule wrong."""
    winner = found.get("winner", "")
    why = f": {found['reason']}" if found.get("reason") else ""
    return row("dependence between rounds", DEPENDENCE.get(winner, NOTHING) + why, "warn" if winner == "dependent" else "")


def dependence(data: RunData, odds: Odds | None) -> Table | None:
    """The tests of rounds against the rounds before them."""
    found = part(odds, "dependence")
    if not found:
        return None
    measured, slot = found["residuals"], found["trigger_slots"]
    tests = (
        ("residuals, lag 1", "autocorrelation", measured["lag1"], "r"),
        ("residuals, runs", "z", measured["runs_test"], "z"),
        ("residuals, drift", "distance", measured["drift"], "distance"),
        ("trigger slots", f"chi-square of {slot['pairs']} pairs", slot, "statistic"),
    )
    rows = [
        (Cell(name), Cell(what, "dim"), Cell(number((test or {}).get(key))), Cell(p_value((test or {}).get("p_value"))))
        for name, what, test, key in tests
    ]
    together = (Cell("together"), Cell(f"{found['tests']} tests, Bonferroni", "dim"), Cell(""), Cell(p_value(found["p_value"])))
    columns = (("test", False), ("measure", False), ("value", True), ("p", True))
    note = f"Trigger slots not tested: {slot['reason']}. {RESIDUALS_NOTE}" if slot["reason"] else RESIDUALS_NOTE
    return Table("dependence", "Do rounds depend on each other?", columns, (*rows, together), note)


def rivals(data: RunData, odds: Odds | None) -> Table | None:
    """The rival rules beside each other; higher scores and lower criteria are better."""
    found = part(odds, "rivals")
    if not found:
        return None
    columns = (
        ("rule", False),
        ("AIC", True),
        ("BIC", True),
        ("log marginal", True),
        ("held-out score", True),
    )
    rows = []
    for each in found["rivals"]:
        numbers = [each[name] for name in ("aic", "bic", "log_marginal", "log_score")]
        cells = [Cell("impossible" if value is None else f"{value:.1f}", "dim" if value is None else "") for value in numbers]
        rows.append((Cell(f"{RIVALS[each['name']][0]} ({each['parameters']})"), *cells))
    note = (
        f"In brackets: numbers fitted. The marginal likelihood decides. Held-out score: {found['folds']} parts of the "
        "rounds, each predicted from the others. Impossible: the rule forbids something that was seen."
    )
    return Table("rivals", "Rival rules", columns, tuple(rows), note)


def survival(data: RunData, odds: Odds | None) -> Table | None:
    """How likely a round is still without a release after each insert, and what the winning rule makes of it."""
    rows = part(odds, "hazard").get("survival") or []
    if not rows:
        return None
    model = {each["insert"]: each for each in part(odds, "model").get("until_release") or []}
    cells = tuple(
        (
            Cell(str(each["insert"])),
            Cell(percent(each["p"])),
            Cell(interval(each)),
            Cell(percent(model.get(each["insert"], {}).get("p"))),
            Cell(percent(model.get(each["insert"], {}).get("p_by"))),
        )
        for each in rows
    )
    columns = (("insert", True), ("still none", True), CI, ("comes here, model", True), ("by now, model", True))
    fitted = part(odds, "model")
    note = ""
    if plain(fitted.get("mean")) is not None:
        mean, none = number(fitted.get("mean")), percent(plain(fitted.get("p_none")))
        note = (
            f"Model: {RIVALS[fitted['rival']][0]}; {mean} inserts to a release in the mean; none though every slot is full: {none}."
        )
    return Table("survival", "Inserts until a release", columns, cells, note)


def endings(data: RunData, odds: Odds | None) -> Table | None:
    """How the rounds of this run ended, by cause."""
    own = rounds(data)
    if not own:
        return None
    found = Counter(each.ending for each in own)
    rows = [(Cell(RELEASED), Cell(str(found[RELEASED])), Cell("an insert made the toy drive its latch", "dim"))]
    rows += [
        (Cell(f"censored: {cause.replace('_', ' ')}"), Cell(str(times)), Cell(CENSORED.get(cause, ""), "dim"))
        for cause, times in sorted(found.items())
        if cause != RELEASED
    ]
    rows.append((Cell("all rounds"), Cell(str(len(own))), Cell("")))
    note = "Of a censored round the inserts before its end count; how it would have gone on is not guessed."
    return Table("endings", "How rounds ended, in this run", (("end", False), ("rounds", True), ("", False)), tuple(rows), note)


def ejected(data: RunData, odds: Odds | None) -> Table | None:
    """Cards that flew, given a release, for each number of cards loaded."""
    parts = (odds or {}).get("ejected") or []
    if not parts:
        return None
    rows = []
    for each in parts:
        count, loaded = each["count"], each["loaded"]
        if not count.get("support"):
            rows.append((Cell(str(loaded)), Cell("0", "dim"), *(Cell(NOTHING) for _ in range(4))))
            continue
        at = count["support"].index(loaded)
        whole = {key: count[key][at] for key in ("p", "ci_low", "ci_high")}
        fewer = sum(p for k, p in zip(count["support"], count["p"], strict=True) if 0 < k < loaded)
        rows.append(
            (
                Cell(str(loaded)),
                Cell(str(count["n"])),
                Cell(percent(whole["p"])),
                Cell(interval(whole)),
                Cell(percent(fewer) if loaded > 1 else NOTHING),
                Cell(percent(count["p"][count["support"].index(0)])),
            )
        )
    columns = (("loaded", True), ("releases", True), ("all flew", True), CI, ("fewer flew", True), ("none flew", True))
    note = "Dirichlet posterior, prior 1/2 per count: what was never seen keeps a small probability. Loaded is bookkeeping."
    return Table("ejected", "Cards ejected given loaded", columns, tuple(rows), note)


def conditions(data: RunData, odds: Odds | None) -> Table | None:
    """Under which conditions the odds hold."""
    found: Mapping[str, Any] = (odds or {}).get("conditions") or {}
    if not found:
        return None
    books = found.get("ledger") or {}
    rows = (
        row("slots, as set; not verified", number((odds or {}).get("slots"))),
        row("order of slots", str(found.get("order") or NOTHING)),
        row("pace, planned (s)", number(found.get("pace_s"))),
        row("from trial to trial (s)", spread(found.get("gap_s"))),
        row("pack voltage, latch driven (V)", spread(found.get("pack_V"))),
        row("fills of the loader", number(found.get("fills"))),
        row("cards put in per fill", spread(found.get("loaded"))),
        row("fills counted, of them balanced", f"{number(books.get('fills'))}, {number(books.get('balanced'))}"),
        row("resets, kept out of everything above", number(found.get("resets"))),
    )
    return Table("conditions", "Conditions", (("", False), ("", False)), rows)


def verdicts(data: RunData, odds: Odds | None) -> Table:
    """What became of the inserts of this run, by verdict."""
    inserts = [trial for trial in data.trials if trial.kind == "insert"]
    return tables.verdicts("verdicts", "Verdicts of inserts", inserts, "inserts", INSERTED)


def resets(data: RunData, odds: Odds | None) -> Table | None:
    """What became of the resets. Their cards are told here and nowhere else."""
    own = [trial for trial in data.trials if trial.kind == "reset"]
    if not own:
        return None
    told = tables.verdicts("resets", "Resets", own, "resets", WAS_RESET)
    cards = sum(trial.cleared for trial in own)
    loaded = sum(trial.loaded or 0 for trial in own if trial.roller_ms)
    note = f"They ejected {cards} cards of {loaded} loaded. They enter no blast and no hazard; a round that one ends is censored."
    return Table(told.name, told.caption, told.columns, told.rows, note)


def states(data: RunData, odds: Odds | None) -> Table | None:
    """In which state the trials met the toy, as far as that can be inferred."""
    if not data.trials:
        return None
    rows = []
    for state in STATES:
        own = [trial for trial in data.trials if (trial.toy or "unknown") == state]
        inserted = [trial for trial in own if trial.kind == "insert"]
        were_reset = [trial for trial in own if trial.kind == "reset"]
        counts = (
            len(inserted),
            sum(not trial.accepted for trial in inserted),
            len(were_reset),
            sum(trial.accepted and not trial.roller_ms for trial in were_reset),
        )
        rows.append((Cell(state), *(Cell(str(count), "" if count else "dim") for count in counts)))
    columns = (("toy", False), ("inserts", True), ("not taken", True), ("resets", True), ("only woke it", True))
    return Table("states", "Asleep or awake", columns, tuple(rows), STATES_NOTE)


def excluded(data: RunData, odds: Odds | None) -> Table | None:
    """How many inserts each rule kept out of the statistics, beside the number that was left."""
    found = part(odds, "hazard")
    used = [f"hazard n = {found['n']} inserts in {found['rounds']} rounds"] if found else []
    return tables.excluded(odds, "inserts", RULES, used)


def faults(data: RunData, odds: Odds | None) -> Table | None:
    """Rates of what goes wrong, with intervals."""
    found: Mapping[str, Any] = (odds or {}).get("faults") or {}
    if not found:
        return None
    rows = []
    for name, rate in found.items():
        each, released = rate.get("per_insert") or {}, rate.get("per_release") or {}
        rows.append(
            (
                Cell(name, verdict=name),
                *(Cell(number(each.get(key))) for key in ("events", "n")),
                Cell(percent(each.get("p"))),
                Cell(interval(each)),
                Cell(percent(released.get("p"))),
                Cell(interval(released)),
            )
        )
    columns = (
        ("fault", False),
        ("events", True),
        ("of inserts", True),
        ("per insert", True),
        CI,
        ("per release", True),
        CI,
    )
    return Table("faults", "Fault rates", columns, tuple(rows))


def exceptions(data: RunData, odds: Odds | None) -> Table | None:
    """Trials that want a second look."""
    return tables.exceptions(data, "Trials to look at", _EXCEPTIONS)


_EXCEPTIONS: tuple[tables.Column, ...] = (
    ("trial", True, lambda trial: Cell(str(trial.number))),
    ("kind", False, lambda trial: Cell(trial.kind)),
    ("slot", True, lambda trial: Cell(number(trial.slot))),
    *tables.JUDGEMENT,
    ("loaded", True, lambda trial: Cell(number(trial.loaded))),
    ("cleared", True, lambda trial: Cell(str(trial.cleared))),
    ("round", True, lambda trial: Cell(number(trial.round))),
    ("fill", True, lambda trial: Cell(str(trial.fill))),
)


def ledger(data: RunData, odds: Odds | None) -> Table | None:
    """The cards of the fills: all of a few; of many, those that do not balance, and the others summed up."""
    shown = list(data.fills)
    rows = []
    if len(shown) > FILLS_SHOWN:
        even = [fill for fill in shown if fill.difference == 0]
        shown = [fill for fill in shown if fill.difference != 0]
        rows = [_sum_of(even)] if even else []
    return tables.ledger(data.fills, [*rows, *map(tables.ledger_row, shown)], "the toy")


def _sum_of(fills: list[Fill]) -> tuple[Cell, ...]:
    sums = [sum(getattr(fill, name) or 0 for fill in fills) for name in ("loaded", "dealt", "mouth", "jammed", "remaining")]
    return (Cell(f"{len(fills)} that balance"), *(Cell(str(value)) for value in sums), Cell("0"))
