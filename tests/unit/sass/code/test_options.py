"""Options of the compiler, from a command line and from compile_commands.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulator.errors import CompileError
from simulator.sass.code.options import (
    CompilerOptions,
    from_database,
    make_options,
    parse_options,
)


def test_nvccs_spellings_become_nvrtcs() -> None:
    given = ["-Iinc", "-I", "more", "-DA", "-D", "B=2", "-UC", "-std=c++20", "--use_fast_math",
             "-maxrregcount", "32", "-default-device", "-Xptxas", "-v", "-O3", "-o", "x.o", "-c",
             "-gencode", "arch=compute_90,code=sm_90", "-Xcompiler=-Wall", "-lineinfo",
             "-lcublas"]  # fmt: skip
    assert parse_options(given) == CompilerOptions(
        ("inc", "more"), ("A", "B=2"), ("C",),
        ("--std=c++20", "--use_fast_math", "--maxrregcount=32",
         "--device-as-default-execution-space", "--ptxas-options=-v"),
    )  # fmt: skip


def test_what_is_not_known_goes_to_the_compiler_unless_a_build_wrote_it() -> None:
    assert parse_options(["--odd=1"]).other == ("--odd=1",)
    assert parse_options(["--odd=1", "file.cu"], known_only=True).other == ()


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(CompileError, match="-I has no value"):
        parse_options(["-I"])


def test_a_language_is_given_where_nobody_says_one() -> None:
    assert "--std=c++17" in CompilerOptions().arguments()
    assert "--std=c++17" not in parse_options(["-std=c++20"]).arguments()


def test_python_gives_the_same() -> None:
    found = make_options(["inc"], {"N": 4, "FLAG": True, "BARE": None}, ["-std=c++20"])
    assert found == CompilerOptions(("inc",), ("N=4", "FLAG=1", "BARE"), (), ("--std=c++20",))
    with pytest.raises(CompileError, match="'a b' is not a valid name of a macro"):
        make_options([], {"a b": 1}, [])


def test_a_builds_database_is_read(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    source = tmp_path / "src" / "k.cu"
    source.parent.mkdir()
    source.write_text("")
    command = "nvcc -Iinc -Igone -DN=3 -std=c++20 --weird -Xcompiler -fPIC -o k.o -c src/k.cu"
    (tmp_path / "compile_commands.json").write_text(
        json.dumps([{"directory": str(tmp_path), "file": "src/k.cu", "command": command}])
    )
    assert from_database(source) == CompilerOptions(
        (str(tmp_path / "inc"),), ("N=3",), (), ("--std=c++20",)
    )
    assert from_database(tmp_path / "src" / "other.cu") == CompilerOptions()


def test_a_database_forces_no_header_from_elsewhere(tmp_path: Path) -> None:
    for name in ("other.h", "project/src/k.cu", "project/own.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    project = tmp_path / "project"
    (project / "build").mkdir()
    command = "nvcc -include ../own.h -include ../../other.h -include gone.h -c ../src/k.cu"
    (project / "build" / "compile_commands.json").write_text(
        json.dumps([{"directory": f"{project}/build", "file": "../src/k.cu", "command": command}])
    )
    assert from_database(project / "src" / "k.cu").forced == (str(project / "own.h"),)
    assert parse_options(["-include", "a.h", "--pre-include=b.h"]).forced == ("a.h", "b.h")


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"file": 3}]', '{"a": 1}', "null"])
def test_a_broken_database_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "compile_commands.json").write_text(text)
    (tmp_path / "k.cu").write_text("")
    assert from_database(tmp_path / "k.cu") == CompilerOptions()


def test_the_time_of_the_compiler_is_bounded() -> None:
    assert parse_options([]).seconds == 600
    given = parse_options(["--compile-timeout", "60"])
    assert given.seconds == (given + CompilerOptions()).seconds == 60
    assert (CompilerOptions(seconds=5) + parse_options(["--compile-timeout=7"])).seconds == 7
    for text in ("x", "0", "-1", "nan", "inf", "1e9"):
        with pytest.raises(CompileError, match=r"--compile-timeout .*accepted: seconds, from 1"):
            parse_options(["--compile-timeout", text])
