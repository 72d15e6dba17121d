"""What a compute capability limits, against the header that says it."""

from __future__ import annotations

import re
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import pytest

from simulator.law.capabilities import CAPABILITIES


def header() -> str | None:
    root = find_spec("nvidia")
    for place in root.submodule_search_locations or [] if root else []:
        for found in Path(place).glob("**/cuda/__device/arch_traits.h"):
            return found.read_text(encoding="utf-8")
    return None


COMMON = {
    "max_threads_per_block": 1024,
    "warp_size": 32,
    "max_registers_per_block": 64 * 1024,
    "max_registers_per_multiprocessor": 64 * 1024,
    "max_registers_per_thread": 255,
}
"""What `__common_arch_traits` sets for all; the test below finds each in the header."""


def traits_of(text: str) -> dict[str, dict[str, int]]:
    """Read what the header says of each architecture, by its name."""
    common, *parts = re.split(r"template <>\n", text)
    for name, value in COMMON.items():
        assert re.search(rf"{name}\s*= ({value}|{value // 1024} \* 1024);", common), name
    assert re.search(
        r"reserved_shared_memory_per_block = \(__cc >= compute_capability\{80\}\) \? 1024 : 0",
        common,
    )
    traits: dict[str, dict[str, int]] = {}
    for part in parts:
        (name,) = re.findall(r"constexpr arch_traits_t arch_traits<arch_id::(sm_\w+)>", part)
        like = re.search(r"= (?:::cuda::)?arch_traits<(?:::cuda::)?arch_id::(sm_\w+)>\(\)", part)
        newer = int(re.sub(r"\D", "", name)) >= 80
        start = {**COMMON, "reserved_shared_memory_per_block": 1024 if newer else 0}
        values = dict(traits[like[1]]) if like else start
        for field, said in re.findall(r"__traits\.(\w+)\s*=\s*([^;]+);", part):
            terms = re.findall(r"[\w.]+", said)
            numbers = [str(values.get(term.removeprefix("__traits."), term)) for term in terms]
            if not all(map(str.isdecimal, numbers)):
                continue  # the name of an architecture
            sign = "".join(re.findall(r"[*/-]", said)) or "none"
            one, other = int(numbers[0]), int(numbers[-1])
            values[field] = {
                "none": one, "*": one * other, "/": one // (other or 1), "-": one - other
            }[sign]  # fmt: skip
        traits[name] = values
    return traits


class TestCapabilities:
    def test_they_are_those_of_cccl(self) -> None:
        text = header()
        if text is None:
            pytest.skip("needs the wheel nvidia-cuda-cccl")
        traits = traits_of(text)
        named = {
            "shared_bytes": "max_shared_memory_per_block_optin",
            "shared_bytes_per_sm": "max_shared_memory_per_multiprocessor",
            "shared_reserved": "reserved_shared_memory_per_block",
            "threads_per_block": "max_threads_per_block",
            "threads_per_sm": "max_threads_per_multiprocessor",
            "warps_per_sm": "max_warps_per_multiprocessor",
            "blocks_per_sm": "max_blocks_per_multiprocessor",
            "registers_per_thread": "max_registers_per_thread",
            "registers_per_block": "max_registers_per_block",
            "registers_per_sm": "max_registers_per_multiprocessor",
        }
        unknown = [each for each in CAPABILITIES if f"sm_{each}" not in traits]
        assert unknown == [], (
            "not in the header of the installed nvidia-cuda-cccl: give a chip's limits as facts of"
            " its own file (docs/how-to/own-chip.md), or install a newer wheel"
        )
        for capability, limits in CAPABILITIES.items():
            said = traits[f"sm_{capability}"]
            assert asdict(limits) == {name: said[field] for name, field in named.items()}, (
                capability
            )
