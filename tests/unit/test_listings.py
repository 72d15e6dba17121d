"""What stands for the processes that compile and disassemble does what they do."""

from __future__ import annotations

import io
import json
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from simulator.errors import CompileError
from simulator.sass.code.options import CompilerOptions
from tests import forks, listings
from tests.sass_kernels import cubin, has_compiler, needs_compiler, needs_tools

if has_compiler():
    from simulator.sass.code import compiling, nvdisasm
    from simulator.sass.code.compiling import compile_source
    from simulator.sass.code.ptx import assemble

HEADER = "__device__ inline float twice(float x) {\n  return x * 2;\n}\n"
KERNEL = '#include "twice.h"\n__global__ void k(float *a) {\n  a[0] = twice(a[1]);\n}\n'
PTX = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"


@needs_compiler
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])  # their tables of lines differ
def test_a_listing_differs_in_its_files_names_alone(
    tmp_path: Path, arch: str, afresh: None
) -> None:
    images = []
    for name in ("a", "a much longer/name"):
        folder = tmp_path / name.replace(" ", "_")
        folder.mkdir(parents=True)
        (folder / "twice.h").write_text(HEADER)
        compiled = compile_source(KERNEL, arch, str(folder / "k.cu"), folder=folder)
        images.append(compiled.cubin)
    (digest, files), (other, others) = map(listings.digest_and_files, images)  # type: ignore[misc]
    assert digest == other
    assert len(files) == len(others) == len({*files, *others}) / 2
    one, two = map(nvdisasm._listing, images)
    assert one != two
    text = listings.without_names(one, files)
    assert str(tmp_path) not in text
    assert listings.with_names(text, files) == one
    assert listings.with_names(text, others) == two


@needs_tools
@pytest.mark.parametrize("section", [".text.", ".debug_line", ".symtab"])
def test_all_else_in_a_cubin_tells_it_from_others(section: str) -> None:
    from elftools.elf.elffile import ELFFile

    image = bytearray(cubin("softmax"))
    found = listings.digest_and_files(bytes(image))
    elf = ELFFile(io.BytesIO(image))
    part = next(each for each in elf.iter_sections() if each.name.startswith(section))
    image[part["sh_offset"] + part["sh_size"] - 8] ^= 1
    changed = listings.digest_and_files(bytes(image))
    assert found is not None
    assert changed is not None
    assert changed[0] != found[0]
    assert changed[1] == found[1]
    assert listings.digest_and_files(b"\x7fELF, but no more") is None


def test_what_is_recorded_are_listings_without_a_place_of_a_machine() -> None:
    with zipfile.ZipFile(listings.ARCHIVE) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names == sorted(set(names))
        for name in names:
            text = archive.read(name).decode()
            assert re.fullmatch("[0-9a-f]{32}", name)
            assert ".text." in text
            assert "\0" not in text
            assert not listings.FOREIGN.search(text)
    assert listings.ARCHIVE.stat().st_size < 4_000_000


@needs_compiler
@pytest.mark.parametrize("source", ["__global__ void k() {}", "__global__ void k() { nothing; }"])
def test_a_fork_answers_as_a_process_does(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer() -> object:
        compiling.child.cache_clear()
        try:
            return compile_source(source, "sm_90", "k.cu", options=CompilerOptions())
        except CompileError as error:
            return str(error)

    forks.start(monkeypatch)
    forked = answer()
    monkeypatch.setattr(compiling, "subprocess", subprocess)
    assert forked == answer()


@needs_compiler
def test_a_fork_that_dies_or_takes_too_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    forks.start(monkeypatch)
    assert assemble(PTX, "sm_90", "a.ptx")[:4] == b"\x7fELF"
    asked = json.dumps({"ptx": PTX + "\n", "arch": "sm_90"})
    with pytest.raises(CompileError, match="the compiler did not finish in 0 s"):
        compiling.child("ptx", asked, "a.ptx", 1e-6)
    with pytest.raises(CompileError, match="the compiler ended with 1: KeyError: 'headers'"):
        compiling.child("nvrtc", "{}", "k.cu")
    assert assemble(PTX + "\n\n", "sm_90", "a.ptx")[:4] == b"\x7fELF"
