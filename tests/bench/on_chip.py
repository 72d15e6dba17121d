"""Launches kept by `tests.bench.launches`, launched on a GPU: what it leaves in every array.

`python -m tests.bench.on_chip KEPT OUT` needs NumPy and a driver, no compiler: KEPT has the machine
code and the arguments of each launch. Each is launched twice, from the same inputs. OUT gets a row
per launch (chip.jsonl) and, for arrays that changed, their elements (chip_0.npz, …): all of a small
one, of others a sample and 256 sums. A launch that fails is noted, and the rest goes on in a new
process.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.sass.arguments import argument

__all__ = ["ROWS", "digest", "read"]

MOST = 1 << 15
"""Elements of an array that are kept; of larger ones so many, drawn by chance."""
_SUMS = 256
ROWS, ARRAYS = "chip.jsonl", "arrays"
_PART = 12 << 20  # bytes of a file
_LOST = 3
_SECONDS = 20
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def digest(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array's hash, and the elements and sums by which it is compared."""
    flat = np.ascontiguousarray(array).reshape(-1)
    found: dict[str, Any] = {"sha": hashlib.sha256(flat.view(np.uint8)).hexdigest()}
    if flat.size <= MOST:
        return found | {"elements": flat, "sums": np.zeros(0)}
    places = np.sort(np.random.default_rng(flat.size).choice(flat.size, MOST, replace=False))
    sums = [float(part.sum(dtype=np.float64)) if part.dtype.kind in "fiub" else 0.0
            for part in np.array_split(flat, _SUMS)]  # fmt: skip
    return found | {"elements": flat[places], "sums": np.array(sums)}


def read(path: Path) -> tuple[dict[str, Any], NDArray[np.uint8], list[NDArray[Any]]]:
    """Return what a kept launch is: its description, its machine code, its arrays."""
    kept = np.load(path, allow_pickle=False)
    said = json.loads(bytes(kept["said"]))
    arrays = []
    for number, each in enumerate(said["arrays"]):
        if "same" in each:
            arrays.append(arrays[each["same"]])
        elif each["text"] is None:
            arrays.append(kept[f"array_{number}"])
        else:
            arrays.append(argument(each["text"], each["position"]))
    return said, kept["cubin"], arrays


class _Driver:
    """The CUDA driver; a call that fails raises OSError with the error's name."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)
        context = ctypes.c_void_p()
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self("cuCtxSetCurrent", context)

    def __call__(self, name: str, *given: Any) -> None:
        status = getattr(self._cuda, name)(*given)
        if status:
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorName(status, ctypes.byref(text))
            raise OSError(f"{name}: {(text.value or b'?').decode()}")

    def allocated(self, size: int) -> int:
        """Return the address of so many bytes."""
        address = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 16)))
        return address.value

    def write(self, address: int, data: bytes) -> None:
        """Copy bytes to the device."""
        if data:
            self("cuMemcpyHtoD_v2", ctypes.c_uint64(address), data, ctypes.c_size_t(len(data)))

    def bytes_at(self, address: int, size: int) -> bytes:
        """Return bytes of the device."""
        data = ctypes.create_string_buffer(max(size, 1))
        if size:
            self("cuMemcpyDtoH_v2", data, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return data.raw[:size]


def launched(
    driver: _Driver, said: dict[str, Any], code: NDArray[np.uint8], arrays: list[NDArray[Any]]
) -> list[NDArray[Any]]:
    """Launch what was kept; return its arrays as the kernel left them."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    driver("cuModuleLoadData", ctypes.byref(module), code.tobytes())
    driver("cuModuleGetFunction", ctypes.byref(function), module, said["symbol"].encode())
    for name, data in said["variables"].items():
        place, size = ctypes.c_uint64(), ctypes.c_size_t()
        driver("cuModuleGetGlobal_v2", ctypes.byref(place), ctypes.byref(size), module,
               name.encode())  # fmt: skip
        driver.write(place.value, bytes.fromhex(data))
    if said["shared_bytes"] > 48 * 1024:
        driver("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, said["shared_bytes"])
    places: dict[int, int] = {}  # an array may be passed twice
    for array in arrays:
        if id(array) not in places:
            places[id(array)] = driver.allocated(array.nbytes)
            driver.write(places[id(array)], np.ascontiguousarray(array).tobytes())
    addresses = [places[id(each)] for each in arrays]
    parameters = [bytearray.fromhex(each) for each in said["parameters"]]
    for parameter, offset, number, inside in said["pointers"]:
        value = (addresses[number] + inside).to_bytes(8, "little")
        parameters[parameter][offset : offset + 8] = value
    held = [ctypes.create_string_buffer(bytes(each), len(each)) for each in parameters]
    pointers = (ctypes.c_void_p * max(len(held), 1))(*(ctypes.addressof(each) for each in held))
    sizes = [ctypes.c_uint(each) for each in (*said["grid"], *said["block"], said["shared_bytes"])]
    if said["cooperative"]:
        driver("cuLaunchCooperativeKernel", function, *sizes, None, pointers)
    else:
        driver("cuLaunchKernel", function, *sizes, None, pointers, None)
    driver("cuCtxSynchronize")
    found = [
        np.frombuffer(driver.bytes_at(address, array.nbytes), array.dtype).reshape(array.shape)
        for address, array in zip(addresses, arrays, strict=True)
    ]
    for address in places.values():
        driver("cuMemFree_v2", ctypes.c_uint64(address))
    driver("cuModuleUnload", module)
    return found


def _row(driver: _Driver, path: Path, arrays: Path) -> dict[str, Any]:
    """Launch twice; return what became of each array, and keep those that changed."""
    kept_launch = read(path)
    before = [digest(each)["sha"] for each in kept_launch[2]]
    first, again = ([digest(each) for each in launched(driver, *kept_launch)] for _ in range(2))
    found = [
        {"sha": a["sha"], "again": b["sha"], "changed": a["sha"] != sha}
        for a, b, sha in zip(first, again, before, strict=True)
    ]
    kept = {}
    for number, (each, new) in enumerate(zip(first, found, strict=True)):
        if new["changed"]:
            kept[f"{path.stem}.{number}"] = each["elements"].view(np.uint8)
            kept[f"{path.stem}.{number}.sums"] = each["sums"]
    np.savez_compressed(arrays / path.name, **kept)
    return {"arrays": found}


def _work(kept: list[Path], out: Path) -> int:
    """Launch what has no row yet; give the exit status."""
    rows = out / ROWS
    done = _done(rows)
    driver = _Driver()
    for path in kept:
        if path.stem in done:
            continue
        start = time.monotonic()
        signal.alarm(_SECONDS)  # ends this process, where the kernel does not end
        row: dict[str, Any] = {"name": path.stem, "error": None}
        try:
            row |= _row(driver, path, out / ARRAYS)
        except (OSError, ValueError, KeyError) as error:
            row["error"] = str(error)
        signal.alarm(0)
        row["seconds"] = round(time.monotonic() - start, 2)
        _add(rows, row)
        if row["error"]:
            return _LOST
    return 0


def _done(rows: Path) -> set[str]:
    return {json.loads(line)["name"] for line in rows.read_text().splitlines()}


def _add(rows: Path, row: dict[str, Any]) -> None:
    with rows.open("a") as file:
        file.write(json.dumps(row) + "\n")


def _pack(out: Path) -> None:
    """Put the arrays of all launches into a few files."""
    part: dict[str, NDArray[Any]] = {}
    size = number = 0
    files = sorted((out / ARRAYS).glob("*.npz"))
    for path in files:
        part |= dict(np.load(path, allow_pickle=False))
        size += path.stat().st_size
        if size > _PART or path == files[-1]:
            np.savez_compressed(out / f"chip_{number}.npz", **part)
            part, size, number = {}, 0, number + 1
        path.unlink()


def main() -> None:
    """Launch everything, in as many processes as contexts are lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kept", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--work", action="store_true", help="launch in this process")
    parser.add_argument("--seconds", type=int, default=90, help="of all launches")
    asked = parser.parse_args()
    kept = sorted(asked.kept.glob("*.npz"))
    if asked.work:
        sys.exit(_work(kept, asked.out))
    (asked.out / ARRAYS).mkdir(parents=True, exist_ok=True)
    rows = asked.out / ROWS
    rows.touch()
    end = time.monotonic() + asked.seconds
    again = [sys.executable, __file__, str(asked.kept), str(asked.out), "--work"]
    while (left := end - time.monotonic()) > 0:
        try:
            status = subprocess.run(again, check=False, timeout=left).returncode
        except subprocess.TimeoutExpired:
            break
        missing = [path.stem for path in kept if path.stem not in _done(rows)]
        if not missing:
            break
        if status != _LOST:
            _add(rows, {"name": missing[0], "error": f"the process ended with {status}"})
    _pack(asked.out)


if __name__ == "__main__":
    main()
