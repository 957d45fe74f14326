# SPDX-License-Identifier: Apache-2.0
"""The blaster's words: what verdicts, rules, rivals and states mean, and what nobody has verified of the toy."""

from __future__ import annotations

INSERTED = {
    "blast": "the latch was driven, every loaded card flew",
    "held": "taken by the toy, the latch stayed still: a normal zero",
    "partial": "the latch was driven, fewer cards flew than were loaded",
    "latch_fault": "the latch was driven, nothing flew",
    "jam": "a card stayed in the mouth, or the current stayed high",
    "rejected": "no sound: the toy did not take the card (asleep?), or a precondition failed",
    "aborted": "ended from outside",
    "fault": "spoiled by the rig; kept, never counted",
}

WAS_RESET = {
    "ok": "it was awake: everything loaded was ejected",
    "held": "it was asleep: only woken, the cards stay",
    "partial": "it was awake: fewer cards came than were loaded",
    "latch_fault": "the latch was driven, nothing came though the books had cards; one may have flown unseen before",
    "jam": INSERTED["jam"],
    "rejected": "no sound: the toy did not take it, or a precondition failed",
    "aborted": INSERTED["aborted"],
    "fault": INSERTED["fault"],
}

RULES = {
    "spoiled": "spoiled by the link or the board",
    "rejected": "not taken, so no trial of the toy",
    "aborted": "ended from outside",
    "fault": "spoiled by the rig",
    "late_card": "a card flew after the trial was over, so when the toy let go is not known",
    "after_unsure": "later in a round of which nobody knows whether it was over before",
    "unseen_card": "no hazard: a card lies in a slot that the toy did not notice",
}

RIVALS = {
    "constant": ("constant", "the same chance at every insert"),
    "hidden_slot": ("hidden slot", "one of the slots sets it off, drawn anew for each round"),
    "free": ("free", "a chance of its own for each insert of a round"),
}
"""Name and meaning of each rival explanation."""

DEPENDENCE = {
    "independent": "none found: each round is played anew",
    "dependent": "yes: a round depends on those before it, which no rule here knows of",
    "undecided": "undecided",
}
"""What the verdict on the dependence of rounds means."""

RESIDUALS_NOTE = (
    "Residual of a round: releases seen minus those that the measured hazard expects. Lag 1: one round with the next. Runs: above "
    "and below the median. Drift: a change on the way. Trigger slots: the slot of a release with that of the round before. Called "
    "dependent when the smallest p-value times the number of tests is below 0.01."
)

STATES = ("awake", "asleep", "unknown")

STATES_NOTE = (
    "Inferred, since no sensor tells. Awake: it took an insert, drove its latch, or was active a short while ago. Asleep: a reset "
    "only woke it, or it was left alone for longer than it stays awake. An insert into a sleeping toy is not taken, though its "
    "card is in the slot."
)

CENSORED = {
    "full": "every slot was full and nothing had been released",
    "loader_empty": "no card was left to insert and nothing had been released",
    "reset": "the reset button ejected its cards",
    "jam": "a card stayed in the mouth",
    "rejected": "an insert was not taken",
    "fault": "the rig spoiled an insert",
    "aborted": "an insert was ended from outside",
    "late_card": "a card flew after an insert's trial was over",
    "toy_unknown": "what the toy remembered was not known",
    "gap": "the board was lost for a while",
    "operator": "a person ended it",
    "rig": "the rig failed",
    "end": "the run was over first",
}
"""What censored a round, by the name that its event gives."""

UNVERIFIED = (
    "Not verified of this toy: how many slots it has, the current by which a driven latch is told from the rest, how soon cards "
    "follow each other, whether and how it notices a card, and how exactly it keeps its time until sleep. What is in the slots is "
    "bookkeeping: no sensor looks into them."
)
