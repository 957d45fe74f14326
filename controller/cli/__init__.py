# SPDX-License-Identifier: Apache-2.0
"""The command `launchrig`: options in, one clear line out, and the exit code that a shell can act on.

The only package that imports typer. What the commands do lives elsewhere; here is only how they are asked for.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from controller.cli.options import (
    MAX_TRIALS,
    BrainOption,
    BurstOption,
    DriveOption,
    DutOption,
    FillOption,
    OperatorOption,
    OrderOption,
    PaceOption,
    RigOption,
    RunArgument,
    SeedOption,
    SlotsOption,
    StoreOption,
    VcdOption,
    a_drive,
    a_launcher,
    a_run,
    new_console,
    refuse_beside,
    store_name,
    whole_number,
)
from controller.errors import RefusedError
from controller.streams import finish, make_lasting
from controller.verdict import Exit
from rig import __version__
from rig.errors import RigError, StopAskedError
from rig.slots import MOST_SLOTS

EXIT_CODES = """Exit codes: 0 pass; 1 limits failed; 2 usage or bad input; 3 inconclusive; 4 aborted; 5 rig fault."""
INTERRUPTED = 130  # what typer makes of KeyboardInterrupt

app = typer.Typer(
    name="launchrig",
    help="Hardware-in-the-loop rig for card launchers: real firmware, timed trials, calibrated odds.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
runs = typer.Typer(help="Runs in the store.", epilog=EXIT_CODES, no_args_is_help=True, rich_markup_mode=None)
app.add_typer(runs, name="runs")


def _version(asked: bool) -> None:
    if asked:
        print(f"launchrig {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    pass


# ---------------------------------------------------------------------- commands


@app.command(epilog=EXIT_CODES)
def demo(
    rig: RigOption = "twin:roller",
    trials: Annotated[
        int,
        typer.Option(
            "--trials",
            "--presses",
            parser=whole_number(1, MAX_TRIALS, "trials"),
            help="Trials to make: presses; of a blaster inserts and resets.",
        ),
    ] = 2000,
    seed: SeedOption = None,
    drive: DriveOption = "button",
    pace: PaceOption = 3.0,
    fill: FillOption = None,
    burst: BurstOption = None,
    order: OrderOption = None,
    slots: SlotsOption = None,
    dut: DutOption = "demo",
    out: Annotated[
        Path, typer.Option("--out", help="Folder for runs.sqlite, odds.json, report.html, trials.csv, truth.json.")
    ] = Path("launchrig-demo"),
    operator: OperatorOption = "auto",
    brain: BrainOption = None,
    vcd: VcdOption = None,
) -> None:
    """The whole main job: run, store, calibrate, export, report; on the simulated launcher unless --rig says otherwise."""
    from controller.campaigns.plan import Wanted
    from controller.demo import DemoRequest
    from controller.demo import demo as run_demo

    bursts = burst and tuple(0 if size == "fire" else int(size) for size in burst.split(","))
    wanted = Wanted("demo", trials, pace, drive, fill, bursts or None, brain, order, slots)
    raise typer.Exit(run_demo(DemoRequest(wanted, rig, seed, dut, out, operator, vcd), new_console()))


@app.command(epilog=EXIT_CODES)
def press(
    count: Annotated[int, typer.Argument(metavar="N", parser=whole_number(1, MAX_TRIALS, "presses"), help="Presses to make.")] = 1,
    rig: RigOption = "twin:roller",
    seed: SeedOption = None,
    drive: DriveOption = "button",
    pace: PaceOption = 3.0,
    fill: FillOption = None,
    dut: DutOption = "by hand",
    store: StoreOption = None,
    operator: OperatorOption = "auto",
    brain: BrainOption = None,
    vcd: VcdOption = None,
) -> None:
    """Try a roller launcher by hand: N presses, a line each, kept in the store."""
    from controller.campaigns.plan import Wanted
    from controller.demo import DemoRequest, by_hand

    wanted = Wanted("press", count, pace, drive, fill, brain=brain)
    raise typer.Exit(by_hand(DemoRequest(wanted, rig, seed, dut, Path(), operator, vcd), store_name(store), new_console()))


@app.command(epilog=EXIT_CODES)
def insert(
    slot: Annotated[
        list[int] | None,
        typer.Argument(
            metavar="[SLOT]...", parser=whole_number(1, MOST_SLOTS), help="Slots, one after the other; default the next one."
        ),
    ] = None,
    until_blast: Annotated[
        bool, typer.Option("--until-blast", help="Go on until the toy lets go, through all slots at most.")
    ] = False,
    rig: RigOption = "twin:blast",
    seed: SeedOption = None,
    pace: PaceOption = 3.0,
    fill: FillOption = None,
    dut: DutOption = "by hand",
    store: StoreOption = None,
    operator: OperatorOption = "auto",
    vcd: VcdOption = None,
) -> None:
    """Try a blaster by hand: push waiting cards into its slots, a line each, kept in the store.

    The loader is filled once, before the first. A slot that is not there, that holds a card by the bookkeeping, or for which no
    card waits, is refused (exit code 2), and nothing moves.
    """
    from controller.campaigns.plan import Wanted
    from controller.demo import DemoRequest, by_hand

    wanted = Wanted("insert", len(slot or ()) or 1, pace, fill=fill, into=tuple(slot or ()), until_blast=until_blast)
    raise typer.Exit(by_hand(DemoRequest(wanted, rig, seed, dut, Path(), operator, vcd), store_name(store), new_console()))


@app.command(epilog=EXIT_CODES)
def reset(
    count: Annotated[int, typer.Argument(metavar="N", parser=whole_number(1, MAX_TRIALS, "resets"), help="Resets to make.")] = 1,
    rig: RigOption = "twin:blast",
    seed: SeedOption = None,
    pace: PaceOption = 3.0,
    dut: DutOption = "by hand",
    store: StoreOption = None,
    operator: OperatorOption = "auto",
    vcd: VcdOption = None,
) -> None:
    """Try a blaster by hand: press its reset button N times, a line each, kept in the store.

    Asleep the toy only wakes (held); awake it ejects what is in its slots. Nobody is asked to fill the loader: take out by hand
    what is in the slots before, or see it fly as more cards than were loaded.
    """
    from controller.campaigns.plan import Wanted
    from controller.demo import DemoRequest, by_hand

    wanted = Wanted("reset", count, pace)
    raise typer.Exit(by_hand(DemoRequest(wanted, rig, seed, dut, Path(), operator, vcd), store_name(store), new_console()))


@runs.command("list", epilog=EXIT_CODES)
def runs_list(store: StoreOption = None) -> None:
    """Every run in the store, oldest first."""
    from controller.history import list_runs

    list_runs(store_name(store), new_console())


@runs.command("show", epilog=EXIT_CODES)
def runs_show(run: RunArgument = "last", store: StoreOption = None) -> None:
    """One run: verdicts, ledger, losses, provenance."""
    from controller.history import show_run

    show_run(store_name(store), run, new_console())


@app.command(epilog=EXIT_CODES)
def calibrate(
    run: Annotated[list[str], typer.Argument(metavar="RUN...", parser=a_run, help="Run ids, or last.")],
    out: Annotated[Path, typer.Option("-o", "--output", help="Where to write the odds.")],
    store: StoreOption = None,
) -> None:
    """Fit the probability model to one or more runs of the same launcher and write odds.json."""
    from controller.products import make_odds

    make_odds(store_name(store), run, out, new_console())


@app.command(epilog=EXIT_CODES)
def report(
    run: RunArgument = "last",
    out: Annotated[Path, typer.Option("-o", "--output", help="Where to write the page.")] = Path("report.html"),
    store: StoreOption = None,
) -> None:
    """Write one self-contained HTML page about a run."""
    from controller.products import make_report

    make_report(store_name(store), run, out, new_console())


@app.command(epilog=EXIT_CODES)
def twin(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="Which twin, with its parameters.")] = "twin:roller",
    listing: Annotated[bool, typer.Option("--list", help="Print every parameter with unit, default, source and tag.")] = False,
    pty: Annotated[
        bool, typer.Option("--pty", help="Run at real time behind a pseudo-terminal that any serial program can open.")
    ] = False,
    seed: SeedOption = None,
    vcd: VcdOption = None,
) -> None:
    """A rig with no board: what it can be set to, or the twin itself behind a pseudo-terminal."""
    from controller.twins import list_parameters, serve

    if listing == pty:
        raise RefusedError("twin: say one of --list and --pty")
    if listing:
        refuse_beside("--list", context, {"listing", "url"})
    console = new_console()
    if listing:
        list_parameters(url, console)
        return
    raise typer.Exit(serve(url, seed, vcd, console))


@app.command(epilog=EXIT_CODES)
def flash(
    port: Annotated[str | None, typer.Option("--port", help="The board's port; default the only USB port there is.")] = None,
    hex_file: Annotated[Path | None, typer.Option("--hex", help="Intel hex file; default the firmware of this launchrig.")] = None,
    foreign: Annotated[bool, typer.Option("--foreign", help="Write a --hex that is not firmware of this launchrig.")] = False,
) -> None:
    """Program a board with avrdude, verify it, and wait until it says what it runs."""
    from controller.flashing import flash_board

    flash_board(port, hex_file, foreign, new_console())


@app.command(epilog=EXIT_CODES)
def doctor(
    context: typer.Context,
    rig: Annotated[str | None, typer.Option("--rig", help="The rig to examine; default every board on this machine.")] = None,
    json_wanted: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
    frames: Annotated[
        int,
        typer.Option(
            "--frames", parser=whole_number(0, 10_000, "frames"), help="Frames echoed at each rate of the link test; 0: no test."
        ),
    ] = 20,
    udev: Annotated[bool, typer.Option("--udev", help="Print the udev rule, and how to install it, and do nothing else.")] = False,
) -> None:
    """Say what is wrong with machine, port and board, and what mends it. Energises nothing.

    Exit code 0: all is well; 3: something to look at, or no board was examined; 5: the rig cannot be used as it is.
    """
    from controller.doctor.visit import doctor as examine
    from rig.udev import rule

    if udev:
        refuse_beside("--udev", context, {"udev"})
        print(rule(), end="")
        return
    raise typer.Exit(examine(rig, frames, json_wanted, new_console()))


@app.command(epilog=EXIT_CODES)
def selftest(
    rig: RigOption,
    drive: Annotated[
        str | None, typer.Option("--drive", parser=a_drive, help="button or direct; default the wiring that the board has stored.")
    ] = None,
    operator: OperatorOption = "auto",
    press: Annotated[bool, typer.Option("--press", help="Press the toy's button, too; a blaster's reset. Cards may fly.")] = False,
    json_wanted: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> None:
    """Exercise every output and sensor of a bench at safe levels: what was done, seen and expected.

    Each output is on for 40 ms, the roller at its least duty; toy power for moments. In wiring direct the roller is driven
    for 100 ms at a quarter of its duty. Actuators click and a coil may move a card: keep hands and faces away from the mouth. Cards
    fly only with --press. A person is asked to pass a card through each beam and to work lid and interlock; with
    --operator none these are skipped, which is no pass (exit code 3). Ends with every output off, read back.
    """
    from controller.selftest import SelftestRequest
    from controller.selftest import selftest as exercise
    from rig.wire.messages import Wiring

    chosen = Wiring[drive] if drive else None
    raise typer.Exit(exercise(SelftestRequest(rig, chosen, operator, press, json_wanted), new_console()))


@app.command(epilog=EXIT_CODES)
def bench(
    rig: RigOption,
    launcher: Annotated[
        str | None, typer.Option("--launcher", parser=a_launcher, help="The machine on the bench: roller or blast.")
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option("--slots", parser=whole_number(1, MOST_SLOTS, "slots"), help="Slot solenoids that are wired, from slot 1 on."),
    ] = None,
    wiring: Annotated[
        str | None,
        typer.Option("--wiring", parser=a_drive, help="button: the toy decides; direct: the rig runs the roller."),
    ] = None,
    json_wanted: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> None:
    """Tell which launcher a board is set up for; with options, store it on the board. Energises nothing.

    A board keeps this in its EEPROM until it is set again. How many slots the toy has is not verified: count them.
    """
    from controller.bench import BenchRequest
    from controller.bench import bench as tell_or_set
    from rig.wire.messages import Launcher, Wiring

    machine = Launcher[launcher] if launcher else None
    wired = Wiring[wiring] if wiring else None
    raise typer.Exit(tell_or_set(BenchRequest(rig, machine, slots, wired, json_wanted), new_console()))


# ---------------------------------------------------------------------- errors


def main() -> int:
    """Run the command and return its exit code: every error is one line on standard error; a traceback is a bug.

    The signals raise KeyboardInterrupt by then.
    """
    make_lasting()
    code = run(sys.argv[1:])
    finish()
    if any(thread.daemon for thread in threading.enumerate()):
        os._exit(code)  # it waits for an answer at the terminal, and the interpreter's shutdown would abort over that
    return code


def run(arguments: list[str]) -> int:
    """Run the command with `arguments` and return its exit code; what it has printed is written out by then."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return _fail("aborted", Exit.aborted) if code == INTERRUPTED else code
    except RefusedError as error:
        return _fail(str(error), Exit.usage)
    except RigError as error:
        return _fail(str(error), error.exit_code)
    except (StopAskedError, KeyboardInterrupt, EOFError):
        return _fail("aborted", Exit.aborted)
    except OSError as error:
        return _fail(f"{error.filename or 'input or output'}: {error.strerror or error}", Exit.usage)
    except Exception as error:
        # typer and click keep their own classes of usage errors; they are known by what they offer.
        show = getattr(error, "format_message", None)
        if show is None:
            if os.environ.get("LAUNCHRIG_TRACEBACK"):
                raise
            text = f"a fault of launchrig itself: {type(error).__name__}: {error}; LAUNCHRIG_TRACEBACK=1 shows where"
            return _fail(text, Exit.rig_fault)
        return _fail(" ".join(show().split()), getattr(error, "exit_code", Exit.usage))


def _run(arguments: list[str]) -> int:
    try:
        return int(app(args=arguments, prog_name="launchrig", standalone_mode=False) or 0)
    except Exception as error:
        if type(error).__name__ != "NoArgsIsHelpError":
            raise
        print(error.format_message())  # type: ignore[attr-defined]
        return Exit.usage


def _fail(text: str, code: int) -> int:
    with suppress(OSError):  # the exit code tells what can be told no more
        print(f"launchrig: {text}", file=sys.stderr)
    return code
