# SPDX-License-Identifier: Apache-2.0
"""One AVR in a process of its own: the client of `avrtwin`.

Time is counted in cycles of 62.5 ns. Whatever is scheduled between two runs travels with the next request, so one
exchange is one write and one read.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from elftools.elf.sections import SymbolTableSection
from intelhex import HexReaderError, IntelHex

from rig.errors import BadRigError, LinkLostError, TwinUnavailableError
from rig.firmware import open_avr_elf
from rig.twin.build import avrtwin_path
from rig.twin.lockstep import OneProcessor

CYCLE_HZ = 16_000_000
FOREVER = 1 << 62
"""A cycle that never comes."""

EEPROM_BYTES = 1024
BOOT_SECTION = 0x7000  # lowest address at which a bootloader of this part can begin
VECTORS = 26
RAM_OFFSET = 0x800000  # where AVR ELF files keep the data space

STATS_DIRECTORY = "LAUNCHRIG_AVR_STATS"
"""Environment: the directory where every AVR leaves its `Stats`, as a line of JSON, when it is closed; it is then audited."""

_EDGES, _ANALOG, _CANCEL, _RX, _RESET, _POKE, _FLASH, _EEPROM_SET, _RESET_PC = range(1, 10)
_RUN, _PEEK, _EEPROM_GET, _STATS, _LINE = range(0x80, 0x85)

_LENGTH = struct.Struct("<I")
_CYCLE_OP = struct.Struct("<BQ")
_RUN_HEAD = struct.Struct("<QBHHHI")
_OUTPUT = struct.Struct("<QBd")
_RESET_REPORT = struct.Struct("<QB")
_LINE_REPLY = struct.Struct("<II")
_STATS_REPLY = struct.Struct(f"<QQQQQQIIIH{VECTORS}I{VECTORS}I")


@dataclass(frozen=True, slots=True)
class Output:
    """One change of an MCU output: `value` is 0.0 off, low or undriven, 1.0 on, between = PWM duty."""

    cycle: int
    pin: int
    value: float


@dataclass(frozen=True, slots=True)
class Step:
    """What happened in one run.

    `cycle` is where the AVR stands now; `tx` are the bytes whose last bit has left; `resets` are (cycle, MCUSR) of
    resets that the AVR made itself; `unmodelled` names what the firmware relies on and the simulator does not model,
    each once in the life of the process; `crashed` means that the AVR has stopped for good.
    """

    cycle: int
    outputs: tuple[Output, ...]
    tx: bytes
    resets: tuple[tuple[int, int], ...]
    unmodelled: tuple[str, ...]
    crashed: bool


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts since the process began; durations in cycles.

    `isr_longest` and `isr_runs` are by vector number (1 = INT0 ...). `longest_off` is the longest stretch with
    interrupts off, after they were first switched on; without `audit` it knows only interrupt routines, and that of
    Timer1's capture (vector 10), which has a limit of its own, is left to `isr_longest`. `min_sp` is the least stack
    pointer ever seen. `turns` are rounds of the simulator's own loop, which is what it spends its time on; `naps` and
    `echoes` are how often libsimavr would have slept, and what it would have printed of the AVR's output.
    """

    cycles: int
    awake: int
    exchanges: int
    turns: int
    naps: int
    echoes: int
    longest_off: int
    rx_overruns: int
    eeprom_writes: int
    min_sp: int
    isr_longest: tuple[int, ...]
    isr_runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """The serial line: bytes that the AVR has yet to receive, and the cycles that one takes now (0 = its USART is off)."""

    waiting: int
    byte_cycles: int


class Avr:
    """An ATmega328P at 16 MHz that runs `elf` from power-on.

    `eeprom` is the content from address 0 on (the rest is erased). `flash_hex` is loaded over the ELF; when it reaches
    into the boot section, resets lead to it, as with the boot fuse of an Uno, and only code there can write the flash. `vcd`
    is written as it runs. `audit` (None: as the environment asks) runs one instruction at a time, which busy code pays for
    with half its speed, and makes `Stats.longest_off` exact. `quiet` keeps what the simulator has to say of a foreign
    firmware off the terminal. `raw` is for the conformance suite alone: libsimavr with every fault that it has, edges and
    bytes raised as any host would raise them. `Output.value` is then what the pin's IRQ was raised with; analog points,
    resets in `Step`, `vcd`, `audit` and all of `Stats` but `cycles`, `turns`, `naps` and `echoes` do not exist there.

    Raises `TwinUnavailableError` when avrtwin cannot be built or started, `BadRigError` for a file that is no AVR
    firmware or cannot be written.
    """

    def __init__(
        self,
        elf: Path,
        *,
        eeprom: bytes = b"",
        flash_hex: Path | None = None,
        vcd: Path | None = None,
        audit: bool | None = None,
        raw: bool = False,
        quiet: bool = False,
    ) -> None:
        self.elf = Path(elf)
        self.cycle = 0
        self._pending = bytearray(_LENGTH.size)
        self._owed = 0  # operation whose answer has not been read: a signal handler may raise while the AVR runs
        self._gone = False
        self._stats_to = None if raw or audit is False else os.environ.get(STATS_DIRECTORY)
        self._reprogrammed = False
        self._kept: bytes | None = None  # answer to a run that was read in place of another
        with open_avr_elf(self.elf):  # libsimavr would take any file
            pass
        options = [
            *(["--raw"] if raw else []),
            *(["--audit"] if audit or self._stats_to else []),
            *(["--vcd", str(vcd)] if vcd else []),
        ]
        program = avrtwin_path()
        command = [str(program), *options, str(self.elf)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if quiet else None,
                bufsize=0,
                start_new_session=True,  # signals are the parent's
            )
        except OSError as error:
            raise TwinUnavailableError(f"cannot start {command[0]}: {error.strerror}") from error
        self._processor = OneProcessor(self._process.pid, program.parent)
        assert self._process.stdin and self._process.stdout
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        trouble = self._receive().decode()
        if trouble:
            self.close()
            raise BadRigError(trouble)
        if eeprom:
            self._add(struct.pack("<BI", _EEPROM_SET, len(eeprom)) + eeprom)
        if flash_hex is not None:
            self._load_hex(flash_hex)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_process"):
            self.close()

    # ------------------------------------------------------------------ the future

    def edge(self, cycle: int, pin: int, level: int) -> None:
        """Schedule one input edge at an exact cycle; one that lies in the past happens at once."""
        self._add(struct.pack("<BIQBB", _EDGES, 1, cycle, pin, level))

    def edges(self, edges: Sequence[tuple[int, int, int]]) -> None:
        """Schedule many edges, each (cycle, pin, level)."""
        if edges:
            flat = [number for edge in edges for number in edge]
            self._add(struct.pack("<BI" + "QBB" * len(edges), _EDGES, len(edges), *flat))

    def analog(self, channel: int, points: Sequence[tuple[int, float]]) -> None:
        """Voltage at an ADC channel from the first point on: straight between the (cycle, volts), then level."""
        if points:
            flat = [number for point in points for number in point]
            self._add(struct.pack("<BBI" + "Qd" * len(points), _ANALOG, channel, len(points), *flat))

    def cancel_after(self, cycle: int) -> None:
        """Forget scheduled edges and analog points later than `cycle`; voltages stay as they are then."""
        self._add(_CYCLE_OP.pack(_CANCEL, cycle))

    def write(self, data: bytes, *, broken: bool = False) -> None:
        """Put bytes on the receive line, back to back at wire rate, after those that are still on it.

        `broken` ones have no stop bit: a framing error each.
        """
        if data:
            self._add(struct.pack("<BBI", _RX, broken, len(data)) + data)

    def line_break(self) -> None:
        """Hold the receive line low for one character: a zero byte with a framing error."""
        self.write(b"\0", broken=True)

    def reset(self, *, power_on: bool = False) -> None:
        """Reset as by DTR (EXTRF) or by power-on (RAM lost): outputs go off at once."""
        self._add(struct.pack("<BB", _RESET, power_on))

    def poke(self, address: int, data: bytes) -> None:
        """Write into the data space, past all register logic."""
        self._add(struct.pack("<BHI", _POKE, _data_address(address), len(data)) + data)

    def poke_flash(self, address: int, data: bytes) -> None:
        """Write into the flash (byte address)."""
        self._reprogrammed |= address == 0
        self._add(struct.pack("<BII", _FLASH, address, len(data)) + data)

    def boot_from(self, start: int, code: bytes) -> None:
        """Put `code` at `start` in the boot section, lead resets there, as the boot fuse does, and switch on anew."""
        self.poke_flash(start, code)
        self._add(struct.pack("<BI", _RESET_PC, start))
        self.reset(power_on=True)

    # ------------------------------------------------------------------ exchanges

    def run(self, until: int) -> Step:
        """Run to `until`, or less: to an output change, a finished frame with the line idle after it, or a reset.

        Raises `LinkLostError` when the process has died.
        """
        if self._owed == _RUN:
            self._collect()
        reply, self._kept = self._kept, None
        if reply is None:
            reply = self._exchange(_CYCLE_OP.pack(_RUN, until))
        cycle, crashed, output_n, reset_n, unmodelled_n, tx_n = _RUN_HEAD.unpack_from(reply)
        self.cycle = cycle
        at = _RUN_HEAD.size
        outputs: tuple[Output, ...] = ()
        if output_n:
            end = at + output_n * _OUTPUT.size
            outputs = tuple(Output(*fields) for fields in _OUTPUT.iter_unpack(reply[at:end]))
            at = end
        resets: tuple[tuple[int, int], ...] = ()
        if reset_n:
            end = at + reset_n * _RESET_REPORT.size
            resets = tuple((when, mcusr) for when, mcusr in _RESET_REPORT.iter_unpack(reply[at:end]))
            at = end
        tx = reply[at : at + tx_n]
        unmodelled = tuple(_texts(reply, at + tx_n)) if unmodelled_n else ()
        return Step(cycle, outputs, tx, resets, unmodelled, bool(crashed))

    def peek(self, address: int, size: int) -> bytes:
        """Read the data space, past all register logic."""
        return self._exchange(struct.pack("<BHH", _PEEK, _data_address(address), size))

    def eeprom(self) -> bytes:
        """The whole EEPROM, 1024 bytes."""
        return self._exchange(bytes([_EEPROM_GET]))

    def stats(self) -> Stats:
        """Counts and longest durations so far."""
        counts = _STATS_REPLY.unpack(self._exchange(bytes([_STATS])))
        cycles, awake, exchanges, turns, naps, echoes, longest_off, overruns, writes, min_sp, *by_vector = counts
        longest, runs = tuple(by_vector[:VECTORS]), tuple(by_vector[VECTORS:])
        return Stats(cycles, awake, exchanges, turns, naps, echoes, longest_off, overruns, writes, min_sp, longest, runs)

    def line(self) -> Line:
        """What is on the receive line, and how fast the AVR's USART takes it."""
        return Line(*_LINE_REPLY.unpack(self._exchange(bytes([_LINE]))))

    @property
    def alive(self) -> bool:
        """Whether avrtwin still runs."""
        return not self._gone and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id of avrtwin."""
        return self._process.pid

    def symbol(self, name: str) -> int:
        """Address of a symbol of the ELF: of a variable in the data space, of a function in bytes of flash.

        Raises `KeyError` when the firmware has no such symbol.
        """
        return self._symbols[name]

    @cached_property
    def _symbols(self) -> dict[str, int]:
        return symbols(self.elf)

    def close(self) -> None:
        """End the process; closing twice does no harm."""
        if self._stats_to and self._to >= 0 and not self._owed:
            with suppress(LinkLostError):
                self._leave_stats(Path(self._stats_to))
        self._stats_to = None
        process = self._process
        self._processor.release()
        self._to = self._from = -1  # the numbers will be those of other files
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()
        try:
            process.wait(10.0)  # it may have a waveform to write
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _leave_stats(self, directory: Path) -> None:
        told = {"elf": str(self.elf.resolve()), "reprogrammed": self._reprogrammed} | asdict(self.stats())
        with (directory / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(told) + "\n")

    # ------------------------------------------------------------------ plumbing

    def _add(self, operation: bytes) -> None:
        self._pending += operation

    def _exchange(self, last: bytes) -> bytes:
        request = self._pending
        request += last
        if self._owed:
            self._collect()
        _LENGTH.pack_into(request, 0, len(request) - _LENGTH.size)
        self._pending = bytearray(_LENGTH.size)
        self._owed = last[0]
        try:
            sent = os.write(self._to, request)
            while sent < len(request):
                sent += os.write(self._to, memoryview(request)[sent:])
        except OSError as error:
            self._gone = True
            raise LinkLostError("the simulated AVR is gone") from error
        reply = self._receive()
        self._owed = 0
        return reply

    def _collect(self) -> None:
        reply = self._receive()
        if self._owed == _RUN:
            self._kept = reply
        self._owed = 0

    def _receive(self) -> bytes:
        data = b""
        try:
            while len(data) < _LENGTH.size or len(data) < _LENGTH.size + _LENGTH.unpack_from(data)[0]:
                more = os.read(self._from, 65536)
                if not more:
                    self._gone = True
                    raise LinkLostError("the simulated AVR is gone: avrtwin ended by itself")
                data += more
        except OSError as error:
            self._gone = True
            raise LinkLostError("the simulated AVR is gone") from error
        return data[_LENGTH.size :]

    def _load_hex(self, path: Path) -> None:
        try:
            image = IntelHex(str(path))
        except (OSError, HexReaderError) as error:
            raise BadRigError(f"{path} is no Intel hex file: {error}") from error
        segments = image.segments()
        for start, end in segments:
            self.poke_flash(start, bytes(image.tobinarray(start=start, size=end - start)))
        if boot := [start for start, _ in segments if start >= BOOT_SECTION]:
            self.boot_from(min(boot), b"")


def _texts(reply: bytes, at: int) -> Iterable[str]:
    while at < len(reply):
        (length,) = struct.unpack_from("<H", reply, at)
        yield reply[at + 2 : at + 2 + length].decode()
        at += 2 + length


def _data_address(address: int) -> int:
    return address - RAM_OFFSET if address >= RAM_OFFSET else address


def symbols(elf: Path) -> dict[str, int]:
    """Every named symbol of an AVR ELF; data addresses without the ELF's offset. Raises `BadRigError` as `Avr` does."""
    with open_avr_elf(elf) as program:
        return {
            symbol.name: _data_address(symbol["st_value"])
            for section in program.iter_sections()
            if isinstance(section, SymbolTableSection)
            for symbol in section.iter_symbols()
            if symbol.name
        }
