"""Files whole or not at all, and places that are refused before the work for them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpu_check.errors import RecordingError
from gpu_check.recordings import save as save_recording
from simulator.cli import main
from simulator.errors import OutputError
from simulator.results.files import check_target, save

BOTH: list[Callable[[Any], object]] = [
    check_target,
    lambda path: save(path, lambda file: file.write_bytes(b"whole")),
]


@pytest.mark.parametrize("name", ["n" * 246, "n" * 255, "ü" * 127, "p"])
def test_names_may_be_as_long_as_the_file_system_lets_them(name: str, tmp_path: Path) -> None:
    for path in (tmp_path / name, os.fsencode(tmp_path / name)):
        assert check_target(path) == tmp_path / name  # type: ignore[arg-type]
        assert os.listdir(tmp_path) == []
        save(path, lambda file: file.write_bytes(b"whole"))  # type: ignore[arg-type]
        assert os.listdir(tmp_path) == [name]
        assert (tmp_path / name).read_bytes() == b"whole"
        (tmp_path / name).unlink()


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"")
    (tmp_path / "mine").chmod(0o600)
    save(tmp_path / "mine", lambda file: file.write_bytes(b"whole"))
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("function", BOTH)
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("{}/missing/rows", r"rows cannot be written: there is no folder '.*missing'$"),
        ("{}/file/rows", r"rows cannot be written: there is no folder '.*file'$"),
        ("{}/" + "n" * 256, r"cannot be written: File name too long$"),
        ("/proc/rows", r"cannot be written: "),
        ("{}", r"is not a file to write \(accepted: a file's path\)$"),
        ("", r"^'' is not a file to write"),
        ("/dev/null", r"^'/dev/null' is not a file to write"),
        ("/dev/full", r"^'/dev/full' is not a file to write"),
        ("{}/a\0b", r"is not a file to write"),
        ("{}/\udfff\ud800", r"is not a file to write"),
        (7, r"^7 is not a file to write"),
    ],
)
def test_places_that_are_refused(
    function: Callable[[Any], object], place: Any, said: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match=said):
        function(place.replace("{}", str(tmp_path)) if isinstance(place, str) else place)
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "mine"


def test_a_full_disk_is_found_before_the_work(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")  # a limit on file sizes stands for the disk's
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(OutputError, match="rows cannot be written: File too large"):
            check_target(tmp_path / "rows")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir(tmp_path) == []


def test_a_file_or_a_folder_without_the_right_to_write_is_refused() -> None:
    with tempfile.TemporaryDirectory() as folder:  # below one that everybody may enter
        file = Path(folder) / "rows"
        file.write_text("mine")
        file.chmod(0o444)
        Path(folder).chmod(0o777)
        root = os.geteuid() == 0  # who may write anywhere
        if root:
            os.seteuid(65534)
        try:
            with pytest.raises(OutputError, match="rows cannot be written: Permission denied"):
                check_target(file)
            check_target(Path(folder) / "other")
        finally:
            if root:
                os.seteuid(0)
        Path(folder).chmod(0o555)
        if root:
            os.seteuid(65534)
        try:
            with pytest.raises(OutputError, match="other cannot be written: Permission denied"):
                check_target(Path(folder) / "other")
        finally:
            if root:
                os.seteuid(0)
            Path(folder).chmod(0o777)
        assert file.read_text() == "mine"


@pytest.mark.parametrize(
    "command",
    [
        ["sweep", "simulate", "--pad", "0", "--csv", "{}"],
        ["sweep", "simulate", "--pad", "0", "--parquet", "{}"],
        ["sweep", "simulate", "--pad", "0", "--html", "{}"],
        ["simulate", "--html", "{}"],
        ["report", "{}", "simulate"],
        ["sass", "no-such.cubin", "--html", "{}"],
        ["gpu-check", "--save", "{}"],
    ],
)
@pytest.mark.parametrize("place", ["missing/file", "folder", ""])
def test_every_command_refuses_such_a_place_before_its_work(
    command: list[str], place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    given = str(tmp_path / place) if place else ""
    if "--save" in command and not place:
        given = "."  # what click makes of it
    assert main([word.replace("{}", given) for word in command]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""  # nothing was counted
    said = (
        "cannot be written: there is no folder" if "missing" in place else "is not a file to write"
    )
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert os.listdir(tmp_path) == ["folder"]


def test_a_recording_is_whole_or_not_at_all(tmp_path: Path) -> None:
    from gpu_check import packaged

    measured = packaged("h200_accesses").measurements[0][:4]
    place = tmp_path / ("n" * 251 + ".npz")
    save_recording(place, [measured], {})
    assert os.listdir(tmp_path) == [place.name]
    with pytest.raises(RecordingError, match=r"cannot be written: there is no folder .*--save\)$"):
        save_recording(tmp_path / "missing" / "kept.npz", [measured], {})
