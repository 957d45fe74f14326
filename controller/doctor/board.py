# SPDX-License-Identifier: Apache-2.0
"""A board under examination: a table of checks, each with what it found and what mends it. None energises anything.

They run in the table's order. When the board is lost on the way, the rest is skipped with that as the reason.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from controller.bench import described, words
from controller.doctor.checks import Check, Finding, fail, of_error, ok, skipped, warn
from rig import flash
from rig.errors import ControllerResetError, LinkLostError, RigError, StopAskedError
from rig.firmware import flash_image, packaged
from rig.links.faults import PREFIX
from rig.linktest import RATES, RateResult, built, damage, error_of, sweep
from rig.rig import Rig
from rig.selfcheck import Bench, wire_us
from rig.wire.messages import Boot, Cause, Channel, Launcher, ResetFlag, Status, Wiring
from rig.wired import WIRED

CONNECT = "connect"
LISTEN_S = 2.0  # for beams that flicker
ROUND_TRIPS = 50
SLOW_US = 5_000  # above the wire's own time: a USB bridge at its best takes 1 to 2 ms each way, an FTDI as delivered 16
LOW_V, NO_PACK_V = 3.3, 1.0  # 1.1 V a cell, of three; a suggestion, as no one has told when the toy gives up
OFFSET_A = 0.050
STACK_BYTES = 128

MEND_CAUSE: dict[Cause, str] = {
    Cause.interlock_open: "put the catch bin back and release the emergency stop; if both are in place, the loop at A3 is broken",
    Cause.lease_lapsed: "the host hung, was suspended or lost the line: look at the host's load, the cable and the link's counters",
    Cause.stop_received: "nothing is wrong if you asked for it; otherwise the line was broken or shorted, "
    "or another program opened the port",
    Cause.max_on: "the loop did not switch the output off when it should have: keep the run's store and report it",
    Cause.watchdog: "the board has reset itself: keep the run's store and report it; if it comes again: {flash}",
    Cause.silence: "nothing is wrong: nobody spoke to the board for that long, so it took the toy's power away",
}
"""What to do about a latched fault, as `docs/faults.md` tells it at length."""

MEND_LINE = "use a short USB cable of good make and no hub; keep it away from motor and coils"
ASKED_FOR = f"faults were asked for by {PREFIX} in the rig's URL: leave it away to see the line as it is"

LOSSES = {
    "damaged": ("crc", "host_bad", "host_malformed"),
    "lost": ("overrun", "ring_full"),
    "sent again": ("resent", "host_resent"),
}
"""What a person is told of the counters of both ends. The others only tell of what follows from these."""
FOLLOWING = "out of step"

BEAM = {
    "beam_a": "beam A (D8) at the mouth",
    "beam_b": "beam B (D2) downstream",
}


@dataclass(slots=True)
class Patient:
    """What the checks share: the board, its status at the beginning, the edges that came while nothing moved."""

    bench: Bench
    flash: str
    status: Status
    frames: int
    faulty: bool
    _edges: dict[str, int] | None = None

    @property
    def edges(self) -> dict[str, int]:
        """Edges that came by channel while nothing moved; listened to once."""
        if self._edges is None:
            self._edges = self.bench.listen_for_edges(LISTEN_S)
        return self._edges

    @property
    def boot(self) -> Boot:
        """What the board said of itself."""
        return self.bench.board.boot

    def mend_line(self, remedy: str = MEND_LINE) -> str:
        """What mends a bad line: `remedy`, unless its faults were asked for."""
        return ASKED_FOR if self.faulty else remedy

    def level(self, channel: Channel) -> bool:
        """The level of an input now; true is the state that the channel is named for."""
        return bool(self.status.inputs >> channel & 1)


def flash_command(rig: Rig) -> str:
    """The command that puts the right firmware on the board behind `rig`."""
    url = rig.url.removeprefix(PREFIX)
    if url.startswith("twin:"):
        return "leave elf= away, or build the firmware: ./dev firmware"
    return flash.flash_command(url.partition("?")[0])


# ---------------------------------------------------------------------- the checks


def _firmware(patient: Patient) -> Finding:
    boot = patient.boot
    version = f"{boot.version_major}.{boot.version_minor}.{boot.version_patch}"
    facts = {
        "version": version,
        "build_id": f"{boot.build_id:08x}",
        "protocol_hash": f"{boot.protocol_hash:08x}",
        "uuid": boot.uuid.hex(),
    }
    said = f"{version}, build {boot.build_id:08x}, board {boot.uuid.hex()}"
    try:
        ours = zlib.crc32(flash_image(packaged("elf")))
    except RigError as error:
        return warn(f"{said}; the packaged firmware is not there to compare ({error})", "./dev firmware", **facts)
    if boot.build_id != ours:
        return warn(f"{said}: not the packaged build, which is {ours:08x}", patient.flash, **facts)
    return ok(f"{said}: the packaged one", **facts)


def _bench(patient: Patient) -> Finding:
    told = described(patient.bench.board.settings())
    said = "; ".join(words(told).values())
    wired = WIRED[Launcher[told["launcher"]]]
    if Wiring[told["wiring"]] not in wired.wirings:
        remedy = f"launchrig bench --rig {patient.bench.rig.url} --wiring {wired.wirings[0].name}, or any run"
        return warn(said, remedy, **told)
    return ok(said, **told)


def _boot(patient: Patient) -> Finding:
    cause, count = patient.boot.reset_cause, patient.boot.boot_count
    names = [flag.name or "" for flag in ResetFlag if cause & flag]
    said = f"boot {count}, reset by {' and '.join(names).replace('_', ' ')}" if names else f"boot {count}, reset cause not known"
    facts = {"boot_count": count, "reset_cause": names}
    if cause & ResetFlag.watchdog:
        return warn(f"{said}: the program hung", f"if it comes again: {patient.flash}", **facts)
    if cause & ResetFlag.brown_out and not cause & ResetFlag.power_on:
        return warn(f"{said}: its supply broke down", "use another USB port or cable; feed no coil from the board", **facts)
    return ok(said if names else f"{said}: the bootloader clears it, which does no harm", **facts)


def _fault(patient: Patient) -> Finding:
    cause = Cause(patient.status.cause)
    if cause is Cause.none:
        return ok("none latched", cause=None)
    remedy = MEND_CAUSE[cause].format(flash=patient.flash)
    return warn(f"latched: {cause.value}, {cause.name} (the next run clears it)", remedy, cause=cause.name)


def _stack(patient: Patient) -> Finding:
    free = patient.status.stack_free
    if free < STACK_BYTES:
        return warn(f"{free} bytes of stack were never used", "keep this output and report it", free=free)
    return ok(f"{free} bytes of stack never used", free=free)


def _interlock(patient: Patient) -> Finding:
    edges = patient.edges.get("interlock", 0)
    if not patient.level(Channel.interlock):
        return fail("open (A3): every output is refused", MEND_CAUSE[Cause.interlock_open], closed=False, edges=edges)
    if edges:
        return fail(
            f"closed, but {edges} edges within {LISTEN_S:.0f} s", "a contact or a wire of the loop at A3 is loose", edges=edges
        )
    return ok("closed", closed=True, edges=0)


def _lid(patient: Patient) -> Finding:
    edges = patient.edges.get("lid", 0)
    if not patient.level(Channel.lid):
        return warn("open (A4): every press is rejected", "close the lid until it snaps; if it is closed, its switch is not")
    if edges:
        return warn(f"closed, but {edges} edges within {LISTEN_S:.0f} s", "the lid's switch (A4) is loose", edges=edges)
    return ok("closed", edges=0)


def _beam(channel: Channel) -> Callable[[Patient], Finding]:
    def look(patient: Patient) -> Finding:
        edges, name = patient.edges.get(channel.name, 0), BEAM[channel.name]
        if edges:
            remedy = f"nothing moved: align emitter and receiver of {name}, shade it from lamps, check its supply"
            return fail(f"flickers: {edges} edges within {LISTEN_S:.0f} s", remedy, blocked=None, edges=edges)
        if patient.level(channel):
            remedy = f"take out what stands in {name}; if nothing does, align it and check its emitter's current and its wire"
            return fail("blocked while nothing moves: every trial is rejected", remedy, blocked=True, edges=0)
        return ok("clear and quiet", blocked=False, edges=0)

    return look


def _sound(patient: Patient) -> Finding:
    edges = patient.edges.get("sound", 0)
    if edges:
        remedy = "raise the threshold of the envelope comparator (D13) above the toy's idle noise"
        return fail(f"{edges} edges within {LISTEN_S:.0f} s while the toy is silent", remedy, edges=edges)
    if patient.level(Channel.sound):
        remedy = "the envelope comparator (D13) is stuck high: check its supply and its threshold"
        return fail("sounding while the toy has no power: no trial is judged rightly", remedy, edges=0)
    return ok("quiet", edges=0)


def _pack(patient: Patient) -> Finding:
    if patient.status.cause:
        return skipped("a latched fault forbids a trial", "mend what `fault` names; clear it with: launchrig selftest")
    pack = patient.bench.pack()
    if pack.pack_V is None or pack.offset_A is None:
        return skipped(f"the board took no sample: {pack.reason}", "mend that first")
    facts = {"pack_V": round(pack.pack_V, 3), "offset_A": round(pack.offset_A, 4)}
    said = f"{pack.pack_V:.2f} V, current sensor at {pack.offset_A * 1000:.0f} mA with nothing driven"
    if pack.pack_V < NO_PACK_V:
        return fail(said, "no pack at the divider (A1): put in three fresh cells, check the fuse and the divider", **facts)
    if abs(pack.offset_A) > OFFSET_A:
        return fail(said, "trim the current amplifier's offset (A0); check that nothing else draws from the pack", **facts)
    if pack.pack_V < LOW_V:
        return warn(f"{said}: nearly empty", "put in three fresh alkaline C cells", **facts)
    return ok(said, **facts)


def _pack_untold(patient: Patient) -> Finding:
    """The toy of the blaster moves in each of its trials, so none can be made only to sample."""
    return skipped("a blaster's pack is sampled only while its toy is at work", "launchrig selftest --press tells, or any trial")


def _round_trip(patient: Patient) -> Finding:
    bench = patient.bench
    median, wire = bench.round_trip_us(ROUND_TRIPS), wire_us(bench.baud)
    facts = {"median_us": median, "wire_us": wire, "count": ROUND_TRIPS}
    said = f"{median / 1000:.1f} ms, of which the wire takes {wire / 1000:.1f} ms (median of {ROUND_TRIPS} empty commands)"
    if median > wire + SLOW_US:
        remedy = "an FTDI bridge waits for 16 ms unless told otherwise: install the udev rule (launchrig doctor --udev)"
        return warn(said, patient.mend_line(remedy), **facts)
    return ok(said, **facts)


def _losses(patient: Patient) -> Finding:
    losses = {name: count for name, count in patient.bench.board.counters().items() if count}
    if not damage(losses):
        return ok("none so far", losses=losses)
    return warn(f"{told(losses)} so far", patient.mend_line(), losses=losses)


def _link(patient: Patient) -> Finding:
    if not patient.frames:
        return skipped("not asked for (--frames 0)")
    result = built(patient.bench, patient.frames)
    facts = _figures(result)
    if result.clean:
        return ok(f"{patient.frames} frames echoed at {result.baud} baud, nothing lost or damaged", **facts)
    if not damage(result.losses) and result.echoes.returned == result.echoes.sent:
        remedy = patient.mend_line("close what keeps this machine busy; use no hub")
        return warn(f"{_words(result)}: answers are late", remedy, **facts)
    remedy = patient.mend_line()
    if result.echoes.returned < result.echoes.sent or result.echoes.wrong:
        return fail(_words(result), remedy, **facts)
    return warn(f"{_words(result)}, all mended", remedy, **facts)


def _rates(patient: Patient) -> Finding:
    if not patient.frames:
        return skipped("not asked for (--frames 0)")
    results = list(sweep(patient.bench, patient.frames, [rate for rate in RATES if rate != patient.bench.baud]))
    figures: list[dict[str, object]] = [_figures(result) for result in results]
    return ok(f"{_grouped(results)} (launchrig itself uses {patient.bench.baud} baud)", rates=figures)


def _words(result: RateResult) -> str:
    echoes = result.echoes
    if echoes.returned < echoes.sent:
        return f"{echoes.returned} of {echoes.sent} frames came back at {result.baud} baud"
    wrong = f", {echoes.wrong} of them wrong" if echoes.wrong else ""
    return f"{echoes.sent} frames echoed at {result.baud} baud{wrong}; {told(result.losses)}"


def told(losses: Mapping[str, int]) -> str:
    """What was lost on a line, for a person."""
    sums = {words: sum(losses.get(name, 0) for name in names) for words, names in LOSSES.items()}
    parts = [f"{words} {count}" for words, count in sums.items() if count]
    following = sum(losses.values())
    return ", ".join(parts) or (f"{FOLLOWING} {following}" if following else "no loss was counted")


def _grouped(results: Sequence[RateResult]) -> str:
    """Which rates are clean, which lose something that is mended, and which fail."""
    fates: dict[str, list[str]] = {"clean": [], "with losses that were mended": [], "failing": []}
    for result in results:
        lossy = result.echoes.returned == result.echoes.sent and result.returned
        fates["clean" if result.clean else "with losses that were mended" if lossy else "failing"].append(str(result.baud))
    return "; ".join(f"{fate}: {', '.join(rates)}" for fate, rates in fates.items() if rates)


def _figures(result: RateResult) -> dict[str, object]:
    echoes = result.echoes
    return {
        "baud": result.baud,
        "off": round(error_of(result.baud), 4),
        "clean": result.clean,
        "sent": echoes.sent,
        "echoed": echoes.returned,
        "wrong": echoes.wrong,
        "seconds": round(echoes.seconds, 3),
        "losses": result.losses,
    }


Look = Callable[[Patient], Finding]

CHECKS: dict[str, Look] = {
    "firmware": _firmware,
    "bench": _bench,
    "boot": _boot,
    "fault": _fault,
    "stack": _stack,
    "interlock": _interlock,
    "lid": _lid,
    "beam_a": _beam(Channel.beam_a),
    "beam_b": _beam(Channel.beam_b),
    "sound": _sound,
    "pack": _pack,
    "round_trip": _round_trip,
    "losses": _losses,
    "link": _link,
    "rates": _rates,
}
"""Every check of a board that answers, in order."""

OTHERWISE: dict[Launcher, dict[str, Look | None]] = {
    Launcher.roller: {},
    Launcher.blast: {
        "lid": None,  # it covers stored cards, and nothing depends on it
        "pack": _pack_untold,
    },
}
"""By launcher, what is looked at otherwise than in `CHECKS`; None: not at all."""


def checks_for(launcher: Launcher) -> dict[str, Look]:
    """Every check of a board that is set up for `launcher`, in order."""
    chosen = CHECKS | OTHERWISE[launcher]
    return {name: look for name, look in chosen.items() if look is not None}


# ---------------------------------------------------------------------- the examination


def examine(rig: Rig, where: str, frames: int, stop_asked: Callable[[], bool]) -> Iterator[Check]:
    """Examine the board behind `rig`, named `where`, a check at a time; `frames` per rate of the link test, 0 leaves it out.

    The last check tells whether the outputs were read back as off, whatever happened before. Raises `StopAskedError` after it.
    """
    try:
        bench = Bench(rig, stop_asked)
    except RigError as error:
        yield Check(where, CONNECT, of_error(error))
        return
    stopped: StopAskedError | None = None
    try:
        wiring = Wiring(bench.board.boot.wiring).name
        yield Check(where, CONNECT, ok(f"a launchrig board, wiring {wiring}", wiring=wiring))
        yield from _look(bench, Patient(bench, flash_command(rig), bench.board.status(), frames, rig.url.startswith(PREFIX)), where)
    except StopAskedError as error:
        stopped = error
    except RigError as error:
        yield Check(where, "status", of_error(error))
    finally:
        safe = bench.safe_state()
    yield Check(where, "outputs", ok("off, confirmed") if safe else fail("NOT CONFIRMED SAFE", "cut the power by hand"))
    if stopped:
        raise stopped


def _look(bench: Bench, patient: Patient, where: str) -> Iterator[Check]:
    lost = ""
    for name, look in checks_for(Launcher(patient.boot.launcher)).items():
        if lost:
            yield Check(where, name, skipped(f"{lost} failed"))
            continue
        try:
            finding = look(patient)
        except (LinkLostError, ControllerResetError) as error:
            lost = name
            finding = of_error(bench.restarting(error))
        except RigError as error:
            finding = of_error(error)
        yield Check(where, name, finding)
