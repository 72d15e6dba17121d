"""What opening a GPU says where there is none."""

from __future__ import annotations

import sys
import types

import pytest

from gpu_check import (
    DeviceError,
    NoGpuError,
    measure,
)
from gpu_check.device import open_gpu
from gpu_check.gemm import run_gemm
from simulator.cli import main
from tests.gpu_samples import LANES


def fake_cupy(monkeypatch: pytest.MonkeyPatch, devices: int | Exception) -> None:
    """A CuPy that finds so many devices, or fails to look."""

    class CUDARuntimeError(RuntimeError):
        pass

    def get_device_count() -> int:
        if isinstance(devices, Exception):
            raise CUDARuntimeError(str(devices))
        return devices

    runtime = types.SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError, getDeviceCount=get_device_count
    )
    cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime))
    monkeypatch.setitem(sys.modules, "cupy", cupy)  # type: ignore[arg-type]


class TestNoGpu:
    def test_without_cupy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "cupy", None)
        with pytest.raises(NoGpuError, match=r"CuPy cannot be imported.*'\.\[gpu\]'.*--recorded"):
            measure("LDS", [4 * LANES])

    def test_with_cupy_and_no_device(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fake_cupy(monkeypatch, RuntimeError("cudaErrorNoDevice: no CUDA-capable device"))
        with pytest.raises(NoGpuError, match=r"no CUDA device: cudaErrorNoDevice.*nvidia-smi"):
            run_gemm("smem")

    def test_with_cupy_that_counts_no_device(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fake_cupy(monkeypatch, 0)
        with pytest.raises(NoGpuError, match=r"no CUDA device: CuPy finds none.*--recorded"):
            open_gpu()

    def test_with_cupy_of_another_cuda(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fake_cupy(monkeypatch, RuntimeError("cudaErrorInsufficientDriver: CUDA driver version"))
        with pytest.raises(NoGpuError, match="install the CuPy of the driver's CUDA"):
            open_gpu()

    def test_with_a_device_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fake_cupy(monkeypatch, 2)
        with pytest.raises(DeviceError, match=r"no device 2 \(accepted: 0 to 1\)"):
            open_gpu(2)

    def test_the_command_says_so_in_one_line(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setitem(sys.modules, "cupy", None)
        assert main(["gpu-check"]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1
        assert "bankwise gpu-check --recorded" in said.err
