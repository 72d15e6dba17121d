"""Triton kernels launched by Triton's own path and replayed; skipped without Triton."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("elftools")

from triton.tools.tensor_descriptor import TensorDescriptor

from bankwise import LaunchError, MemoryAccessError, OptionError
from bankwise import triton as replaying
from simulator.sass.triton import context
from tests import triton_kernels as kernels

RANDOM = np.random.default_rng(5)


def floats(*shape: int, kind: Any = np.float32) -> np.ndarray[Any, Any]:
    return RANDOM.standard_normal(shape).astype(kind)


HALF = (70, 96, 72)  # M, K, N of a product whose sizes are not all divisible by 16


# ---- What is compiled: Triton's own launch path, with another driver and plain tensors. ----------
class PlainTensor:
    """All that Triton's launch path needs of a tensor on a GPU."""

    def __init__(self, array: np.ndarray[Any, Any], address: int) -> None:
        self.dtype, self.shape, self.address = array.dtype, array.shape, address

    def data_ptr(self) -> int:
        return self.address

    def stride(self) -> tuple[int, ...]:
        return tuple(int(np.prod(self.shape[axis + 1 :])) for axis in range(len(self.shape)))


class _Stop(Exception):  # noqa: N818
    pass


@contextmanager
def stub_driver(capability: int) -> Iterator[list[bytes]]:
    """Let Triton compile for a GPU that is not there; gives the cubins that it wants to load."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    images: list[bytes] = []

    class Utilities:
        def get_device_properties(self, _device: Any) -> dict[str, int]:
            return {"max_shared_mem": 232448}

        def load_binary(self, _name: str, kernel: bytes, *_: Any) -> Any:
            images.append(bytes(kernel))
            raise _Stop

    class Stub:
        utils = Utilities()

        def get_current_device(self) -> int:
            return capability  # what is compiled is kept by device

        def get_current_stream(self, _device: Any) -> int:
            return 0

        def get_current_target(self) -> Any:
            return GPUTarget("cuda", capability, 32)

        def launcher_cls(self, *_: Any) -> None:
            return None

    driver.set_active(Stub())
    try:
        yield images
    finally:
        driver._active = None


def text_section(image: bytes) -> bytes:
    from elftools.elf.elffile import ELFFile

    found = [
        each.data()
        for each in ELFFile(io.BytesIO(image)).iter_sections()
        if each.name.startswith(".text.")
    ]
    assert len(found) == 1
    return bytes(found[0])


M, K, N = HALF
LAUNCHES: dict[str, tuple[Any, list[Any], dict[str, Any]]] = {
    "transpose": (kernels.transpose, [floats(64, 64), floats(64, 64), 64], {"BLOCK": 64}),
    "add, odd size": (kernels.add, [floats(99), floats(99), floats(99), 99], {"BLOCK": 128}),
    "softmax": (kernels.softmax, [floats(4, 100), floats(4, 100), 100, 100],
                {"BLOCK": 128, "num_warps": 8}),
    "layer_norm": (kernels.layer_norm, [floats(4, 96, kind=np.float16), floats(4, 96), floats(96),
                                        floats(96), 96, 1e-5], {}),
    "activated": (kernels.activated, [floats(64), floats(64), 64, 0.5],
                  {"ACTIVATION": "leaky_relu", "MORE": None, "BLOCK": 64}),
    "matmul": (kernels.matmul,
               [floats(M, K, kind=np.float16), floats(K, N, kind=np.float16),
                floats(M, N, kind=np.float16), M, N, K, K, 1, N, 1, N, 1],
               {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32, "num_stages": 4}),
    "matmul, sizes divisible": (kernels.matmul,
               [floats(64, 64, kind=np.float16)] * 3 + [64, 64, 64, 64, 1, 64, 1, 64, 1],
               {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 4, "num_stages": 3}),
    "attention": (kernels.attention, [floats(64, 64, kind=np.float16) for _ in range(3)]
                  + [floats(64, 64), 64, 0.125], {"BLOCK": 64, "HEAD": 64}),
    "own_maps": (kernels.own_maps, [floats(64, 64, kind=np.float16)] * 2 + [floats(64, 64)]
                 + [64, 64, 64], {"BM": 64, "BN": 64, "BK": 64}),
    "pairs, of integers": (kernels.pairs, [(np.arange(64, dtype=np.int32),) * 2,
                                           np.zeros(64, np.int64), 1], {"BLOCK": 64}),
}  # fmt: skip


@pytest.mark.parametrize("arch", [pytest.param("sm_80", marks=pytest.mark.slow), "sm_90"])
@pytest.mark.parametrize("name", LAUNCHES)
def test_the_machine_code_is_that_of_tritons_own_launch(
    name: str, arch: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel, arguments, options = LAUNCHES[name]
    if name == "own_maps" and arch == "sm_80":
        options = {**options, "num_stages": 1}

    def plain(value: Any, place: int) -> Any:
        if isinstance(value, tuple):
            return tuple(plain(each, place + i) for i, each in enumerate(value))
        is_array = isinstance(value, np.ndarray)
        return PlainTensor(value, 0x7F3A00000200 + 4096 * place) if is_array else value

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "theirs"))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    given = [plain(value, place) for place, value in enumerate(arguments)]
    with stub_driver(int(arch[3:])) as images, pytest.raises(_Stop):
        kernel[1,](*given, **options)
    replayed: list[bytes] = []

    def keep(cubin: bytes, **_: Any) -> None:
        replayed.append(cubin)
        raise _Stop

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "ours"))
    monkeypatch.setattr(context, "replay_compiled", keep)
    with pytest.raises(_Stop), replaying(arch=arch):
        kernel[1,](*arguments, **options)
    assert len(images) == len(replayed) == 1
    assert text_section(images[0]) == text_section(replayed[0])


def test_what_is_compiled_depends_on_the_arguments() -> None:
    x = floats(4096)
    notes = []
    for given, n in ((x, 4096), (x[1:], 4095), (x, 1)):
        with replaying() as launches:
            kernels.add[1,](given, given, np.zeros_like(given), n, BLOCK=128)
        notes.append(launches[0].notes[-1])
    assert "x *fp32:16, y *fp32:16, out *fp32:16, n i32:16, BLOCK=128" in notes[0]
    assert "x *fp32, y *fp32, out *fp32:16, n i32, BLOCK=128" in notes[1]
    assert "n=1, BLOCK=128" in notes[2]
    assert [each["opcode"] for each in _rows(launches[0])] != []


def _rows(report: Any) -> list[dict[str, Any]]:
    found = report.instructions
    return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]


# ---- What it does. -------------------------------------------------------------------------------
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_transpose_is_executed_and_counted(arch: Any) -> None:
    data = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    out = np.zeros_like(data)
    with replaying(arch=arch) as launches:
        kernels.transpose[1, 1](data, out, 64, BLOCK=64)
    (report,) = launches
    np.testing.assert_array_equal(out, data.T)
    np.testing.assert_array_equal(report.outputs[1], data.T)
    assert report.outputs[2] == 64
    assert report.arch == arch
    assert report.totals()["all"]["wavefronts"] >= 2 * 64 * 64 * 4 // 128
    assert any("tl.store" in line for lines in report.sources.values() for line in lines)


def test_a_product_of_its_own_tensor_maps_runs_on_the_default_target() -> None:
    a, b = floats(128, 192, kind=np.float16), floats(192, 64, kind=np.float16)
    c = np.zeros((128, 64), np.float32)
    with replaying() as launches:
        kernels.own_maps[2, 1](a, b, c, 128, 64, 192, BM=64, BN=64, BK=64)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(c - wanted).max() <= 1e-4
    totals = launches[0].totals()
    assert totals["gmma"]["wavefronts"] == 2 * (192 // 16) * (16 + 16)
    assert totals["tma"]["bytes"] == 2 * 2 * 64 * 192 * 2


def test_descriptors_of_the_host_become_tensor_maps() -> None:
    a = floats(128, 64)
    c = np.zeros_like(a)
    with replaying() as launches:
        maps = [TensorDescriptor.from_tensor(launches.tensor(x), [64, 32]) for x in (a, c)]
        kernels.given_maps[2, 2](*maps, 2.0, BM=64, BN=32)
    np.testing.assert_array_equal(c, 2 * a)
    assert launches[0].totals()["tma"]["bytes"] == 2 * a.nbytes


def test_a_product_on_two_blocks_of_a_cluster_is_right() -> None:
    a, b = floats(128, 64, kind=np.float16), floats(64, 64, kind=np.float16)
    c = np.zeros((128, 64), np.float32)
    with replaying() as launches:
        kernels.matmul[1, 1](a, b, c, 128, 64, 64, 64, 1, 64, 1, 64, 1, BLOCK_M=128, BLOCK_N=64,
                             BLOCK_K=32, num_ctas=2)  # fmt: skip
    assert np.abs(c - a.astype(np.float64) @ b.astype(np.float64)).max() <= 1e-4
    assert launches[0].grid == (2, 1, 1)


def product_grid(meta: Any) -> tuple[int, int]:
    return -(-meta["M"] // meta["BLOCK_M"]), -(-meta["N"] // meta["BLOCK_N"])


def test_each_configuration_of_a_tuned_kernel_is_replayed() -> None:
    m, k, n = HALF
    a, b = floats(m, k, kind=np.float16), floats(k, n, kind=np.float16)
    c = np.zeros((m, n), np.float16)
    sizes = (m, n, k, k, 1, n, 1, n, 1)
    with replaying(arch="sm_80") as launches:
        kernels.tuned_matmul[product_grid](a, b, c, *sizes)
    assert np.abs(c - a.astype(np.float64) @ b.astype(np.float64)).max() <= 0.05
    assert [report.grid[:2] for report in launches] == [(2, 3), (3, 2), (3, 3)]
    assert ["num_stages=2" in report.notes[-1] for report in launches] == [True, False, False]
    for config in (1, "BLOCK_N=64, num_warps=2", {"num_stages": 3}):
        with replaying(arch="sm_80", config=config) as one:  # type: ignore[arg-type]
            kernels.tuned_matmul[product_grid](a, b, c, *sizes)
        assert [report.grid[:2] for report in one] == [(3, 2)]
        assert one[0].totals() == launches[1].totals()
    assert kernels.tuned_matmul.configs == kernels.CONFIGS
    assert kernels.tuned_matmul.cache == {}
    with (
        pytest.raises(LaunchError, match=r"no configuration of matmul is 'num_warps=16'"),
        replaying(arch="sm_80", config="num_warps=16"),
    ):
        kernels.tuned_matmul[product_grid](a, b, c, *sizes)


def test_what_tuning_resets_is_reset_for_the_result() -> None:
    x, total = floats(1000), np.full(1, 7, np.float32)
    with replaying() as launches:
        kernels.tuned_sum[lambda meta: (-(-1000 // meta["BLOCK"]),)](x, total, 1000)
    assert abs(total[0] - x.sum(dtype=np.float64)) <= 1e-3
    assert len(launches) == 2


def test_heuristics_tuples_and_none() -> None:
    x, y = floats(2, 100, kind=np.float16), np.zeros((2, 100), np.float32)
    ones, zeros = np.ones(100, np.float32), np.zeros(100, np.float32)
    a, b, c = floats(64), floats(64), np.zeros(64, np.float32)
    with replaying() as launches:
        kernels.layer_norm[2,](x, y, ones, zeros, 100, 1e-5)
        kernels.pairs[1,]((a, b), c, 64, BLOCK=64)
        assert (c == a - b).all()
        kernels.activated[1,](a, c, 64, np.float32(0.5), "leaky_relu", None, BLOCK=64)
        assert (c == np.where(a >= 0, a, np.float32(0.5) * a)).all()
        kernels.activated[1,](a, c, 64, 0.5, "no", 2.0, BLOCK=64)
        assert (c == a + 2).all()
    assert len(launches) == 4
    assert abs(y.mean()) <= 1e-5
    assert abs(y.std() - 1) <= 1e-3
    assert "BLOCK=128" in launches[0].notes[-1]


def test_views_lie_in_the_arrays_they_are_views_of() -> None:
    whole = np.zeros((64, 128), np.float32)
    half = whole[:, 64:]  # a view with the pitch of the whole
    source = floats(64, 64)
    with replaying():
        kernels.matmul[1, 1](source, np.eye(64, dtype=np.float32), half, 64, 64, 64, 64, 1, 64, 1,
                             128, 1, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)  # fmt: skip
    assert np.abs(half - source).max() <= 1e-2  # tf32
    assert not whole[:, :64].any()


# ---- What goes wrong. ----------------------------------------------------------------------------
def test_an_access_outside_an_array_is_an_error_with_a_line() -> None:
    short = floats(100)
    with (
        pytest.raises(MemoryAccessError, match=r"out of bounds.*triton_kernels\.py"),
        replaying(),
    ):
        kernels.add[1,](short, short, floats(128), 128, BLOCK=128)


def test_options_and_nesting_are_checked() -> None:
    with pytest.raises(OptionError, match="unknown blocks 'some'"), replaying(blocks="some"):  # type: ignore[arg-type]
        pass
    with replaying(), pytest.raises(OptionError, match="one `with` at a time"), replaying():
        pass
    x = floats(64)
    x.flags.writeable = False
    with pytest.raises(LaunchError, match="cannot be written"), replaying():
        kernels.add[1,](x, x, x, 64, BLOCK=64)
    with pytest.raises(OptionError, match="accepted: all, a number"), replaying(config="fast"):
        kernels.tuned_sum[1,](floats(8), floats(1), 8)


def test_triton_is_as_before_when_it_is_over() -> None:
    from triton.runtime import driver
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import KernelInterface

    def state() -> tuple[Callable[..., Any], ...]:
        return KernelInterface.__getitem__, Autotuner.run, driver._active

    before = state()
    with replaying():
        assert state() != before
    assert state() == before
    x = floats(8)
    with pytest.raises(TypeError), replaying():
        kernels.add[1,](x, x)
    assert state() == before


def test_torch_tensors_are_written_in_place() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(128 * 64, dtype=torch.float32).reshape(128, 64)
    out = torch.zeros(64, 128)
    with replaying():
        kernels.transpose[1, 1](x[64:], out[:, 64:], 64, BLOCK=64)
        small = torch.ones(64, dtype=torch.bfloat16)
        twice = torch.zeros(64, dtype=torch.bfloat16)
        kernels.add[1,](small, small, twice, 64, BLOCK=64)
    assert bool((twice == 2).all())
    assert bool(out.flatten()[64 : 64 + 4096].any())


def test_arrays_behind_pointers_in_an_array_are_read_and_written() -> None:
    arrays = [np.ones(64, np.float32), np.ones(9, np.float32), np.ones(20, np.float32)]
    sizes = np.array([64, 9, 10], np.int32)
    with replaying(arch="sm_80") as launches:
        own = [launches.tensor(each).data_ptr() for each in (*arrays[:2], arrays[2][10:])]
        pointers = np.array(own)
        kernels.pointed_to[3,](pointers, sizes, 2.0, BLOCK=64)
        assert pointers.tolist() == own
    assert [each.sum() for each in arrays] == [128, 18, 30]
    assert arrays[2][:10].sum() == 10


def test_a_script_for_a_gpu_runs_on_the_cpu(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from simulator.sass.triton.files import run_script

    script = tmp_path / "script.py"
    script.write_text(
        "import torch, triton\n"
        "from tests.triton_kernels import add, pointed_to\n"
        "assert torch.cuda.get_device_capability() == (8, 0) and torch.cuda.is_available()\n"
        "x = torch.ones(64, device='cuda').cuda(); y = torch.zeros_like(x, pin_memory=False)\n"
        "assert x.is_cuda and x.to('cuda:0').to(torch.device('cuda')) is x\n"
        "add[1,](x, x, y, 64, BLOCK=64)\n"
        "assert bool((y == 2).all())\n"
        "assert triton.testing.do_bench(lambda: None) != 0\n"
        "pointers = torch.tensor([y[10:].data_ptr(), x.data_ptr()], device='cuda')\n"
        "pointed_to[2,](pointers, torch.full((2,), 9, dtype=torch.int32), 3.0, BLOCK=64)\n"
        "assert y.sum() == 2 * 64 + 4 * 9 and x.sum() == 64 + 2 * 9, (y, x)\n"
    )
    assert len(run_script(str(script), arch="sm_80")) == 2
