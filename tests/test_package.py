# SPDX-License-Identifier: Apache-2.0
"""What is shipped: a wheel that works where there is no checkout, and a command that knows its own `rig`.

That the hex is what the Arduino engine makes of the sketch anywhere is shown in `tests/firmware/test_build.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from email import message_from_bytes
from io import StringIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from intelhex import IntelHex

from rig.firmware import flash_image

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "firmware_arduino" / "build"
FIRMWARE = "rig/firmware/firmware_arduino.ino"


def environment(**more: str) -> dict[str, str]:
    """The environment without what leads to the checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | more


def checked(*command: str | Path, **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# ---------------------------------------------------------------------- the wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    checked(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT)
    (path,) = out.glob("launchrig-*.whl")
    return path


@pytest.fixture(scope="module")
def inside(wheel: Path) -> dict[str, bytes]:
    """Content of the wheel, by name."""
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_carries_every_file_of_both_packages(inside: dict[str, bytes]) -> None:
    ours = {
        path.relative_to(ROOT).as_posix()
        for package in ("rig", "controller")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert ours <= set(inside)
    assert {
        "rig/py.typed",
        "controller/py.typed",
        "rig/60-launchrig.rules",
        "rig/twin/avrtwin.c",
        "controller/odds/schema/odds.schema.json",
        "controller/report/templates/report.html.j2",
        "controller/report/templates/report.css",
    } <= ours
    assert not [name for name in inside if name.startswith(("tests/", "benches/", "docs/"))]


def test_the_wheel_names_both_licenses_and_carries_them(inside: dict[str, bytes]) -> None:
    (info,) = {name.split("/")[0] for name in inside if ".dist-info/" in name}
    metadata = message_from_bytes(inside[f"{info}/METADATA"])
    assert metadata["License-Expression"] == "Apache-2.0 AND GPL-3.0-or-later"
    for name in ("LICENSE", "LICENSES/GPL-3.0-or-later.txt"):
        assert name in metadata.get_all("License-File", [])
        assert inside[f"{info}/licenses/{name}"] == (ROOT / name).read_bytes()


def test_one_file_is_under_the_gpl_and_every_other_source_says_apache(inside: dict[str, bytes]) -> None:
    said = {
        name: content.decode().splitlines()[0].split("SPDX-License-Identifier: ")[-1]
        for name, content in inside.items()
        if name.endswith((".py", ".c"))
    }
    assert said.pop("rig/twin/avrtwin.c") == "GPL-3.0-or-later"
    assert set(said.values()) == {"Apache-2.0"}


def test_the_firmware_in_the_wheel_is_the_one_that_was_built(inside: dict[str, bytes]) -> None:
    for suffix in ("elf", "hex"):
        assert inside[f"{FIRMWARE}.{suffix}"] == (BUILD / f"firmware_arduino.ino.{suffix}").read_bytes()


def test_the_hex_is_the_flash_image_of_the_elf(inside: dict[str, bytes], tmp_path: Path) -> None:
    elf = tmp_path / "firmware.elf"
    elf.write_bytes(inside[f"{FIRMWARE}.elf"])
    flash = IntelHex(StringIO(inside[f"{FIRMWARE}.hex"].decode()))
    assert flash.minaddr() == 0
    assert bytes(flash.tobinarray()) == flash_image(elf)


def test_an_installed_wheel_presses_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    checked(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel, env=environment())
    # The dependencies come from this environment, as a plain folder: what it has installed editable does not come along.
    (site,) = place.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    away = tmp_path / "away"
    away.mkdir()
    clean = environment(XDG_CACHE_HOME=str(tmp_path / "cache"))
    where = checked(python, "-c", "import rig, controller; print(rig.__file__, controller.__file__)", cwd=away, env=clean)
    assert all(Path(file).is_relative_to(site) for file in where.split())
    said = checked(place / "bin" / "launchrig", "press", "1", "--seed", "1", cwd=away, env=clean)
    assert said.startswith("1: ")
    assert "outputs off, confirmed" in said
    assert (away / "runs.sqlite").exists()
    assert list((tmp_path / "cache" / "launchrig").glob("avrtwin-*")), "the simulator is built from the package's source"


# ---------------------------------------------------------------------- somebody else's rig


def install_other_rig(folder: Path, name: str) -> None:
    """What pip leaves behind of an unrelated package `name` with a top-level `rig`."""
    (folder / "rig").mkdir(parents=True, exist_ok=True)
    (folder / "rig" / "__init__.py").write_text('__version__ = "2.4.1"\n', encoding="utf-8")
    info = folder / f"{name}-2.4.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.4.1\n", encoding="utf-8")
    (info / "RECORD").write_text(f"rig/__init__.py,,\n{info.name}/METADATA,,\n", encoding="utf-8")


def refused(path: Path, cwd: Path) -> str:
    """The one line that the command says when `path` comes first."""
    done = subprocess.run(
        [sys.executable, "-m", "controller", "--version"],
        cwd=cwd,
        env=environment(PYTHONPATH=str(path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (5, "")
    (line,) = done.stderr.splitlines()
    return line


def test_another_rig_before_ours_is_named_with_what_mends_it(tmp_path: Path) -> None:
    install_other_rig(tmp_path / "site", "other-rig")
    line = refused(tmp_path / "site", tmp_path)
    assert str(tmp_path / "site" / "rig") in line
    assert "pip uninstall -y other-rig" in line


def test_another_rig_that_was_installed_over_ours_is_named_too(tmp_path: Path) -> None:
    for package in ("rig", "controller"):
        shutil.copytree(ROOT / package, tmp_path / "site" / package, ignore=shutil.ignore_patterns("__pycache__"))
    install_other_rig(tmp_path / "site", "other-rig")
    assert "pip uninstall -y other-rig" in refused(tmp_path / "site", tmp_path)


def test_a_folder_that_happens_to_be_called_rig_is_named_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "site" / "rig").mkdir(parents=True)
    (tmp_path / "site" / "rig" / "__init__.py").write_text("raise RuntimeError\n", encoding="utf-8")
    line = refused(tmp_path / "site", tmp_path)
    assert f"({tmp_path / 'site' / 'rig'}), not from launchrig; remove or rename that" in line


def test_our_own_rig_is_no_stranger(tmp_path: Path) -> None:
    assert checked(sys.executable, "-m", "controller", "--version", cwd=tmp_path, env=environment()).startswith("launchrig ")
