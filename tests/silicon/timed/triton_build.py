"""Compile kernels of Triton for launches that are timed, and write a set of them.

For an H100, as Triton's own launches compile them: for the types of the arguments, and for what 16
divides.
"""

from __future__ import annotations

import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from math import prod
from typing import Any

from tests.silicon.timed.build import HERE, case
from tests.silicon.timed.third import zeros

KINDS = {"f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64", "f8e4m3": "fp8e4nv"}


def launch(
    name: str, kernel: str, grid: int | list[int], args: list[str], *, warps: int = 4,
    stages: int = 3, kinds: dict[str, str] | None = None, pair: str = "", **constants: Any,
) -> dict[str, Any]:  # fmt: skip
    """A launch of `file.kernel`; `kinds` are types that the arguments do not say."""
    return {
        "name": name, "kernel": kernel, "grid": [grid] if isinstance(grid, int) else grid,
        "args": args, "warps": warps, "stages": stages, "kinds": kinds or {},
        "pair": pair, "constants": constants,
    }  # fmt: skip


def half(*shape: int) -> str:
    return f"random:f16[{','.join(map(str, shape))}]"


def _module(of: str, name: str) -> Any:
    spec = spec_from_file_location(f"{of}_{name}", HERE / of / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _kind(text: str) -> str:
    """Return the type that Triton gives an argument; a 1 is part of the code."""
    if found := re.match(r"(?:random|zeros):(\w+)\[", text):
        return "*" + KINDS.get(found[1], found[1])
    kind, value = text.split("=")
    return "constexpr" if (kind, value) == ("i32", "1") else KINDS.get(kind, kind)


def _passed(text: str) -> list[str]:
    """Return what a launch passes of an argument: behind a map come its sizes and strides."""
    if not text.startswith("tma:"):
        return [] if text == "i32=1" else [text]
    sizes = [int(each) for each in re.findall(r"\d+", text.split("[")[1].split("]")[0])]
    strides = [sizes[1], 1]
    return [text, *(f"i32={each}" for each in sizes), *(f"i64={each}" for each in strides)]


def _divided(text: str) -> bool:
    return text.endswith("]") if "[" in text else text[:4] == "i32=" and int(text[4:]) % 16 == 0


def compiled(what: dict[str, Any], function: Any) -> Any:
    """Return what Triton makes of a kernel for a launch."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon import GluonASTSource

    given = iter(what["args"])
    signature, attributes, constants = {}, {}, dict(what["constants"])
    for place, name in enumerate(function.arg_names):
        if name in constants:
            signature[name] = "constexpr"
            continue
        text = next(given)
        signature[name] = what["kinds"].get(name) or _kind(text)
        if signature[name] == "constexpr":
            constants[name] = 1
        elif _divided(text):
            attributes[(place,)] = [["tt.divisibility", 16]]
    if "KIND" in constants:
        constants["KIND"] = getattr(triton.language, constants["KIND"])
    triton.knobs.compilation.disable_line_info = True  # so that no cubin names our folders
    kind_of_source = GluonASTSource if function.is_gluon() else triton.compiler.ASTSource
    source = kind_of_source(function, signature, constants, attributes)
    options = {
        "num_warps": what["warps"], "num_stages": what["stages"], "enable_fp_fusion": True,
    }  # fmt: skip
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


def written(what: dict[str, Any], of: str) -> dict[str, Any]:
    """Write the cubin of a set's launch, and return it as the device's reader takes it."""
    from simulator.sass.code.cubin import read_cubin

    file, kernel = what["kernel"].split(".")
    found = compiled(what, getattr(_module(of, file), kernel))
    image, about = found.asm["cubin"], found.metadata
    path = HERE / "cubins" / f"{of}_{what['name'].replace(' ', '_')}.cubin"
    path.write_bytes(image)
    blocks = prod(what["grid"])
    args = [passed for text in what["args"] for passed in _passed(text)]
    hidden = (about.global_scratch_size, about.profile_scratch_size)
    args += [zeros(size * blocks, "u8") if size else "u64=0" for size in hidden]
    takes = len(read_cubin(image).kernel(about.name).parameters)
    assert takes == len(args), (what["name"], takes, args)
    return case(
        what["name"], f"cubins/{path.name}", about.name, what["grid"], [32 * about.num_warps], args,
        what["pair"], about.shared,
    )  # fmt: skip


def write_launches(of: str, sets: dict[str, list[dict[str, Any]]]) -> None:
    """Write a set's cubins, and its lists of launches by the ends of their names."""
    for end, launches in sets.items():
        cases = [written(each, of) for each in launches]
        (HERE / f"{of}{end}.json").write_text(json.dumps(cases, indent=1) + "\n")
