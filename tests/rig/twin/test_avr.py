# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from intelhex import IntelHex

from rig.errors import BadRigError, LinkLostError
from rig.twin.avr import CYCLE_HZ, EEPROM_BYTES, Avr, Output, Step

MS = CYCLE_HZ // 1000
BYTE = 1360
BEAM_A, ROLLER, LAUNCH, POWER = 8, 3, 16, 19


def collect(avr: Avr, until: int) -> tuple[bytes, list[Output]]:
    tx, outputs = b"", []
    while avr.cycle < until:
        step = avr.run(until)
        tx += step.tx
        outputs += step.outputs
    return tx, outputs


def test_a_sleeping_avr_stands_exactly_where_it_was_asked_to(echo: Avr) -> None:
    assert echo.run(MS) == Step(MS, (), b"", (), (), False)
    assert echo.cycle == MS


def test_a_run_ends_with_a_finished_frame(echo: Avr) -> None:
    echo.run(MS)
    echo.write(b"x")
    step = echo.run(100 * MS)
    assert step.tx == b"x\0"
    assert 3 * BYTE <= step.cycle - MS < 3 * BYTE + 400


def test_bytes_come_at_wire_rate(echo: Avr) -> None:
    echo.run(MS)
    echo.write(b"abcdef")
    # The board sends two bytes for each that it gets, and so it falls behind and drops some: none was fed faster.
    assert collect(echo, MS + 40 * BYTE)[0].startswith(b"a\0b\0")
    assert echo.stats().rx_overruns == 0


def test_pwm_is_reported_as_duty_and_only_when_it_changes(echo: Avr) -> None:
    echo.run(MS)
    echo.write(b"r")
    outputs = collect(echo, 50 * MS)[1]
    echo.write(b"s")
    outputs += collect(echo, 100 * MS)[1]
    assert [(output.pin, output.value) for output in outputs] == [(ROLLER, 0.25), (ROLLER, 0.0)]


def test_a_run_ends_where_an_output_changes(echo: Avr) -> None:
    echo.run(MS)
    echo.write(b"l")
    step = echo.run(100 * MS)
    (down,) = step.outputs
    assert (down.pin, down.value) == (LAUNCH, 1.0)
    assert 0 <= step.cycle - down.cycle <= 4
    (up,) = echo.run(100 * MS).outputs
    assert (up.pin, up.value) == (LAUNCH, 0.0)
    assert abs(up.cycle - down.cycle - 10 * MS) < 100


def test_scheduled_edges_happen_and_cancelled_ones_do_not(echo: Avr) -> None:
    echo.edges([(0, BEAM_A, 1), (2 * MS, BEAM_A, 0), (3 * MS, BEAM_A, 1), (4 * MS, BEAM_A, 0)])
    echo.cancel_after(3 * MS)
    assert collect(echo, 10 * MS)[0] == b"A\0a\0"


def test_edges_given_out_of_order_happen_in_order(echo: Avr) -> None:
    echo.edge(5 * MS, BEAM_A, 1)
    echo.edge(2 * MS, BEAM_A, 0)
    echo.edge(0, BEAM_A, 1)
    assert collect(echo, 10 * MS)[0] == b"A\0a\0"


def test_memory_can_be_read_and_written(echo: Avr) -> None:
    echo.run(MS)
    marker = echo.symbol("marker")
    assert echo.peek(marker, 4) == bytes.fromhex("78563412")
    echo.poke(marker, b"\1\2")
    assert echo.peek(marker, 4) == bytes.fromhex("01023412")
    with pytest.raises(KeyError):
        echo.symbol("no_such_symbol")


def test_the_eeprom_starts_as_given(echo_elf: Path) -> None:
    with Avr(echo_elf, eeprom=b"\1\2\3") as avr:
        assert avr.eeprom() == b"\1\2\3" + b"\xff" * (EEPROM_BYTES - 3)


def test_power_on_loses_the_memory_and_a_reset_keeps_it(echo: Avr) -> None:
    echo.run(MS)
    echo.poke(0x700, b"\x5a")
    echo.reset()
    echo.run(2 * MS)
    assert echo.peek(0x700, 1) == b"\x5a"
    echo.reset(power_on=True)
    echo.run(3 * MS)
    assert echo.peek(0x700, 1) == b"\0"


def test_flash_written_from_outside_runs(echo: Avr) -> None:
    echo.run(MS)
    echo.poke_flash(0, bytes.fromhex("ffcf"))  # rjmp to itself
    echo.reset()
    echo.write(b"x")
    assert collect(echo, 50 * MS)[0] == b""


def test_a_hex_in_the_boot_section_takes_the_reset(echo_elf: Path, tmp_path: Path) -> None:
    image = IntelHex()
    image.puts(0x7E00, bytes.fromhex("259a2d9affcf"))  # sbi DDRB,5; sbi PORTB,5; rjmp to itself
    image.write_hex_file(str(tmp_path / "boot.hex"))
    with Avr(echo_elf, flash_hex=tmp_path / "boot.hex") as avr:
        (output,) = avr.run(MS).outputs
        assert (output.pin, output.value) == (13, 1.0)


def test_a_line_break_is_a_zero_with_a_framing_error(echo: Avr) -> None:
    echo.run(MS)
    echo.line_break()
    step = echo.run(100 * MS)
    assert step.tx[:1] == b"\0"


def test_the_same_calls_give_the_same_answers(echo_elf: Path) -> None:
    def run() -> tuple[object, ...]:
        with Avr(echo_elf) as avr:
            avr.edges([(0, BEAM_A, 1)] + [(i * 7_919, BEAM_A, i & 1) for i in range(1, 300)])
            avr.write(b"rlsp")
            steps = [avr.run(50 * MS) for _ in range(400)]
            return (*steps, avr.stats())

    assert run() == run()


def test_stack_and_awake_time_are_measured(echo: Avr) -> None:
    echo.run(1000 * MS)
    stats = echo.stats()
    assert stats.cycles == 1000 * MS
    assert stats.awake < 1000
    assert 0x8C0 < stats.min_sp < 0x8FF
    assert stats.exchanges == 2


# ------------------------------------------------------------------ what is no firmware


@pytest.mark.parametrize("content", [b"", b"hello", b"\x7fELF" + bytes(60)])
def test_a_file_that_is_no_firmware_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.elf"
    path.write_bytes(content)
    with pytest.raises(BadRigError, match=r"bad\.elf") as caught:
        Avr(path)
    assert "\n" not in str(caught.value)


def test_a_missing_firmware_and_one_for_another_machine_are_refused() -> None:
    with pytest.raises(BadRigError, match="No such file"):
        Avr(Path("/nonexistent.elf"))
    with pytest.raises(BadRigError, match="not for an AVR"):
        Avr(Path(sys.executable).resolve())


def test_a_vcd_that_cannot_be_written_is_refused(echo_elf: Path, tmp_path: Path) -> None:
    with pytest.raises(BadRigError, match="cannot write"):
        Avr(echo_elf, vcd=tmp_path / "no" / "such" / "directory.vcd")


# ------------------------------------------------------------------ the life of the process


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition: object, what: str) -> None:
    assert callable(condition)
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(what)


def test_closing_ends_the_process_and_twice_does_no_harm(echo_elf: Path) -> None:
    avr = Avr(echo_elf)
    pid = avr.pid
    avr.close()
    avr.close()
    assert not is_alive(pid)
    with pytest.raises(LinkLostError):
        avr.run(1)


def test_a_killed_process_is_told(echo: Avr) -> None:
    os.kill(echo.pid, signal.SIGKILL)
    with pytest.raises(LinkLostError):
        echo.run(MS)


def test_an_interrupt_from_the_terminal_is_left_to_the_parent(echo: Avr) -> None:
    os.kill(echo.pid, signal.SIGINT)
    assert echo.run(MS).cycle == MS


def test_a_run_that_a_signal_cut_short_is_not_lost(echo: Avr) -> None:
    class AskedToStopError(Exception):
        pass

    def handler(number: int, frame: object) -> None:
        raise AskedToStopError

    echo.edges([(0, BEAM_A, 1), (10_000 * CYCLE_HZ, BEAM_A, 0)])
    before = signal.signal(signal.SIGALRM, handler)
    try:
        os.kill(echo.pid, signal.SIGSTOP)  # the answer cannot come before the signal
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(AskedToStopError):
            echo.run(5 * MS)
    finally:
        signal.signal(signal.SIGALRM, before)
        os.kill(echo.pid, signal.SIGCONT)
    assert echo.peek(echo.symbol("marker"), 1) == b"\x78"
    assert echo.run(99 * MS).cycle == 5 * MS
    assert echo.run(7 * MS).cycle == 7 * MS


@pytest.mark.parametrize("busy", [False, True])
def test_no_orphan_is_left_when_python_dies(echo_elf: Path, busy: bool) -> None:
    script = (
        "import sys; from pathlib import Path; from rig.twin.avr import Avr\n"
        f"avr = Avr(Path({str(echo_elf)!r}))\n"
        "print(avr.pid, flush=True)\n"
        + ("avr.poke_flash(0, bytes.fromhex('ffcf')); avr.reset(); avr.run(1 << 62)\n" if busy else "sys.stdin.read()\n")
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdin and parent.stdout
    pid = int(parent.stdout.readline())
    assert is_alive(pid)
    if busy:
        time.sleep(0.2)
    parent.kill()
    parent.wait()
    wait_for(lambda: not is_alive(pid), "avrtwin outlived its parent")
    parent.stdin.close()
    parent.stdout.close()
