"""Measure the cases of cases.json on a GPU with Nsight Compute; see README.md.

    python3 tests/silicon/sass/measure.py OUT [NAME …]

CHIP, which begins the files' names, is `h200` unless the variable CHIP says otherwise. With
CASES=hopper those of hopper.json are measured, and the names say `hopper` for `sass`.

It needs Python's own library, the NVIDIA driver, and ncu with the right to read counters: no
NumPy, no CuPy, no compiler. In OUT it leaves

    CHIP_sass_instructions.csv   a row per SASS instruction that touches shared memory
    CHIP_sass_global.csv         a row per SASS instruction that touches global memory
    CHIP_hopper_units.csv        a row per SASS instruction of Hopper's units
    CHIP_sass_source.csv         a row per SASS instruction: how often warps and threads execute it
    CHIP_sass_outputs.json.gz    what the kernels left in the arrays that were zeros
    CHIP_sass_kernels.csv        a row per kernel: the profiler's totals and the hardware counters
    source.csv, raw.csv          what ncu itself prints of the same report

`measure.py --launch` is the process that ncu watches: it launches every case once, in order.
"""

from __future__ import annotations

import base64
import csv
import ctypes
import glob
import gzip
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PER_INSTRUCTION = (
    "inst_executed",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "smsp__sass_inst_executed_op_shared",
)
PER_GLOBAL = (
    "inst_executed",
    "thread_inst_executed",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
    "memory_l1_tag_requests_global",
)
PER_KERNEL = (
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "smsp__sass_inst_executed_op_ldsm.sum",
    "smsp__sass_inst_executed_op_ldgsts.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
)
CHIP = os.environ.get("CHIP", "h200")
CASES = os.environ.get("CASES", "cases")
SET = "sass" if CASES == "cases" else CASES
PER_HOPPER = (
    "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
    "l1tex__lsuin_requests_op_gmma.sum",
)
TABLES = {
    "instructions": (
        re.compile(r"\b(LDS|STS|LDSM|STSM|ATOMS|LDGSTS|[HQIB]GMMA)\b"),
        PER_INSTRUCTION,
    ),
    "units": (
        re.compile(r"\b(UTMA\w+|UBLK\w+|SYNCS|ARRIVES|STAS|REDAS|LD|ST|ATOM|UCGABAR\w*)\b"),
        (
            "inst_executed",
            "memory_l1_wavefronts_shared",
            "memory_l1_wavefronts_shared_ideal",
            "memory_l2_theoretical_sectors_global",
        ),
    ),
    "source": (re.compile(r"^"), ("inst_executed", "thread_inst_executed")),
    "global": (re.compile(r"\b(LDG|STG|LDGSTS|RED|REDG|ATOM|ATOMG|LD|ST)\b"), PER_GLOBAL),
}


def hashed(index: int, position: int) -> int:
    """The bits of element `index` of a random array, argument number `position`."""
    bits = ((index + 1) * 2654435761 + position * 40503) & 0xFFFFFFFF
    bits ^= bits >> 15
    bits = bits * 2246822519 & 0xFFFFFFFF
    return bits ^ bits >> 13


def element(kind: str, bits: int) -> bytes:
    if kind == "f32":
        return struct.pack("<f", (bits >> 8) / 2**23 - 1)
    if kind == "f16":
        return struct.pack("<e", (bits >> 22) / 2**9 - 1)
    if kind == "i32":
        return struct.pack("<i", bits % 1000)
    if kind == "bf16":
        return struct.pack("<f", (bits >> 24) / 2**7 - 1)[2:]
    if kind == "f8e4m3":
        return bytes([e4m3((bits >> 28) / 2**3 - 1)])
    return {
        "u8": struct.pack("<B", bits & 255), "i8": struct.pack("<B", bits & 255),
        "u32": struct.pack("<I", bits),
    }[kind]  # fmt: skip


def e4m3(value: float) -> int:
    """The byte of a small multiple of 1/8."""
    fraction, exponent = math.frexp(abs(value))
    if not value:
        return 0
    return (0x80 if value < 0 else 0) | (exponent + 6) << 3 | int((2 * fraction - 1) * 8)


def array(spec: str, position: int) -> bytes:
    how, kind, shape = re.fullmatch(r"(random|zeros):(\w+)\[([\d,]+)\]", spec).groups()
    count = 1
    for size in shape.split(","):
        count *= int(size)
    if how == "zeros":
        return bytes(count * len(element(kind, 0)))
    return b"".join(element(kind, hashed(index, position)) for index in range(count))


# Number in the driver's CUtensorMapDataType, and bytes.
MAPPED = {
    "f8e4m3": (0, 1), "i8": (0, 1), "u8": (0, 1), "i32": (3, 4), "f16": (6, 2), "f32": (7, 4),
    "bf16": (9, 2),
}  # fmt: skip


def tensor_map(cuda: ctypes.CDLL, spec: str, address: int) -> ctypes.Array:
    """The 128 bytes of a map over an array, in a buffer at a multiple of 64."""
    kind, shape = re.search(r"(\w+)\[([\d,]+)\]", spec).groups()
    options = dict(re.findall(r":(\w+)=(\w+)", spec))
    sizes = [int(size) for size in shape.split(",")][::-1]
    box = [int(size) for size in options["box"].split("x")][::-1]
    number, size = MAPPED[kind]
    strides = [size * math.prod(sizes[: axis + 1]) for axis in range(len(sizes) - 1)]
    room = (ctypes.c_uint8 * 256)()
    start = -ctypes.addressof(room) % 64
    image = (ctypes.c_uint8 * 128).from_buffer(room, start)
    rank = len(sizes)
    swizzle = (0, 32, 64, 128).index(int(options.get("swizzle", 0)))
    status = cuda.cuTensorMapEncodeTiled(
        image, number, rank, ctypes.c_void_p(address), (ctypes.c_uint64 * rank)(*sizes),
        (ctypes.c_uint64 * max(rank - 1, 1))(*strides), (ctypes.c_uint32 * rank)(*box),
        (ctypes.c_uint32 * rank)(*[1] * rank), 0, swizzle, 0, 0,
    )  # fmt: skip
    if status:
        raise SystemExit(f"cuTensorMapEncodeTiled failed with {status} for {spec}")
    return image


def launch(names: list[str]) -> None:
    """Launch every case once through the driver's own interface."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(function: str, *arguments: object) -> None:
        status = getattr(cuda, function)(*arguments)
        if status:
            raise SystemExit(f"{function} failed with {status}")

    call("cuInit", 0)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    outputs: dict[str, dict[int, str]] = {}
    for case in cases(names):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        image = (HERE / "cubins" / case["cubin"]).read_bytes()
        call("cuModuleLoadData", ctypes.byref(module), image)
        name = case["kernel"].encode()
        call("cuModuleGetFunction", ctypes.byref(function), module, name)
        if case["shared"] > 48 << 10:
            call("cuFuncSetAttribute", function, 8, case["shared"])
        values, buffers, left = [], [], {}
        for position, spec in enumerate(case["args"]):
            if spec.startswith("i32="):
                values.append(ctypes.c_int(int(spec[4:])))
                continue
            data = array(re.sub(r"^tma:(\w+:\w+\[[\d,]+\]).*", r"\1", spec), position)
            pointer = ctypes.c_uint64()
            call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(len(data)))
            call("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(len(data)))
            is_map = spec.startswith("tma:")
            values.append(tensor_map(cuda, spec, pointer.value) if is_map else pointer)
            buffers.append(pointer)
            if "zeros:" in spec:
                left[position] = (pointer, len(data))
        pointers = (ctypes.c_void_p * len(values))(
            *(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values)
        )
        call(
            "cuLaunchKernel", function, *case["grid"], *case["block"], case["shared"], None,
            pointers, None,
        )  # fmt: skip
        call("cuCtxSynchronize")
        outputs[case["name"]] = {}
        for position, (pointer, size) in left.items():
            room = ctypes.create_string_buffer(size)
            call("cuMemcpyDtoH_v2", room, pointer, ctypes.c_size_t(size))
            outputs[case["name"]][position] = base64.b64encode(room.raw).decode()
        for pointer in buffers:
            call("cuMemFree_v2", pointer)
        print(case["name"], "ran", flush=True)
    if "OUTPUTS" in os.environ:
        with gzip.open(os.environ["OUTPUTS"], "wt") as file:
            json.dump(outputs, file)


def cases(names: list[str]) -> list[dict]:
    every = json.loads((HERE / f"{CASES}.json").read_text())
    return [case for case in every if not names or case["name"] in names]


def per_kernel() -> tuple[str, ...]:
    return (*PER_KERNEL, *PER_HOPPER) if CASES in ("hopper", "stranger") else PER_KERNEL


def report_module():
    """Nsight Compute's own Python module for reports, or None."""
    ncu = os.path.realpath(shutil.which("ncu") or "")
    places = [str(Path(ncu).parents[up] / "extras" / "python") for up in range(3)] if ncu else []
    for pattern in (
        "/opt/nvidia/nsight-compute/*/extras/python",
        "/usr/local/cuda*/nsight-compute*/extras/python",
        "/usr/local/NVIDIA-Nsight-Compute*/extras/python",
    ):
        places += sorted(glob.glob(pattern), reverse=True)
    for place in places:
        if (Path(place) / "ncu_report.py").is_file():
            sys.path.insert(0, place)
            try:
                import ncu_report

                return ncu_report
            except Exception as error:  # another Python than its own
                print(f"{place}: {error}")
                sys.path.pop(0)
    return None


def read_report(path: Path, out: Path, chosen: list[dict]) -> None:
    """Write the two tables from the report."""
    module = report_module()
    if module is None:
        print("no ncu_report module: source.csv and raw.csv hold the figures")
        return
    tables: dict[str, list[dict]] = {name: [] for name in TABLES}
    kernels = []
    context = module.load_report(str(path))
    actions = [
        each.action_by_idx(index)
        for each in (context.range_by_idx(number) for number in range(context.num_ranges()))
        for index in range(each.num_actions())
    ]
    for case, action in zip(chosen, actions, strict=False):
        available = set(action.metric_names())
        totals = {
            name: action.metric_by_name(name).as_uint64() if name in available else ""
            for name in per_kernel()
        }
        kernels.append({"case": case["name"], "kernel": case["kernel"], **totals})
        found: dict[int, dict[str, object]] = {}
        for name in {*PER_INSTRUCTION, *PER_GLOBAL, *TABLES["units"][1]} & available:
            metric = action.metric_by_name(name)
            addresses = metric.correlation_ids()
            for index in range(metric.num_instances()):
                address = addresses.as_uint64(index)
                found.setdefault(address, {})[name] = metric.as_uint64(index)
        base = min(found, default=0)
        for address in sorted(found):
            text = action.sass_by_pc(address)
            for table, (opcodes, names) in TABLES.items():
                if opcodes.search(text):
                    tables[table].append(
                        {"case": case["name"], "address": address - base, "sass": text.strip(),
                         **{name: found[address].get(name, 0) for name in names}}
                    )  # fmt: skip
    for table, rows in tables.items():
        if rows:
            write(out / f"{CHIP}_{SET}_{table}.csv", rows)
    write(out / f"{CHIP}_{SET}_kernels.csv", kernels)


def write(path: Path, rows: list[dict]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(path, len(rows), "rows")


def main() -> None:
    if sys.argv[1:2] == ["--launch"]:
        launch(sys.argv[2:])
        return
    out, names = Path(sys.argv[1]), sys.argv[2:]
    out.mkdir(parents=True, exist_ok=True)
    report = out / f"{SET}.ncu-rep"
    os.environ["OUTPUTS"] = str((out / f"{CHIP}_{SET}_outputs.json.gz").resolve())
    # A metric that this version of ncu does not know ends it at once: ask for fewer then.
    sure = [name for name in PER_KERNEL if not name.startswith("smsp__sass")]
    likely = [name for name in PER_KERNEL if "ldsm" not in name and "ldgsts" not in name]
    source = sorted({*PER_INSTRUCTION, *PER_GLOBAL})
    for metrics in ([*per_kernel(), *source], [*PER_KERNEL, *source], PER_KERNEL, likely, sure, []):
        asked = ["--metrics", ",".join(metrics)] if metrics else []
        done = subprocess.run(
            ["ncu", "--force-overwrite", "--export", str(report.with_suffix("")),
             "--section", "SourceCounters", *asked, "--clock-control", "none",
             sys.executable, __file__, "--launch", *names],
            check=False,
        )  # fmt: skip
        if done.returncode == 0 and report.is_file():
            break
        print(f"ncu ended with {done.returncode} for {len(metrics)} metrics", flush=True)
    for page in ("source", "raw"):
        with (out / f"{page}.csv").open("w") as file:
            subprocess.run(
                ["ncu", "--import", str(report), "--page", page, "--csv"], stdout=file, check=False
            )
    read_report(report, out, cases(names))


if __name__ == "__main__":
    main()
