"""Hardware counters, with a made-up `ncu` in Nsight Compute's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_check import (
    CountersError,
    count_on_gpu,
)
from gpu_check import counters as counters_module
from gpu_check.probe.ops import probe_op
from tests.gpu_samples import CHIP, LANES


class TestCounters:
    def watched(self, monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
        """Put an `ncu` on the PATH that runs `script` with its log file as $log."""
        ncu = folder / "ncu"
        find = 'while [ "$1" != "--log-file" ]; do shift; done; log="$2"'
        ncu.write_text(f"#!/bin/sh\n{find}\n{script}\n", encoding="utf-8")
        ncu.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
        monkeypatch.setattr(counters_module, "open_gpu", lambda device: CHIP)

    def test_without_ncu(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.watched(monkeypatch, tmp_path, "")
        monkeypatch.setenv("PATH", "")
        with pytest.raises(CountersError, match=r"ncu is not on the PATH.*--counters off"):
            count_on_gpu("LDS", [4 * LANES])

    def test_forbidden(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.watched(
            monkeypatch,
            tmp_path,
            'echo "==ERROR== ERR_NVGPUCTRPERM - no permission" > "$log"; exit 1',
        )
        with pytest.raises(CountersError, match="RestrictProfilingToAdminUsers=0"):
            count_on_gpu("LDS", [4 * LANES])

    def test_failing(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.watched(monkeypatch, tmp_path, "echo broken; exit 9")
        with pytest.raises(CountersError, match=r"exit code 9\): broken .next: try `ncu"):
            count_on_gpu("LDS", [4 * LANES])

    def table(self, counts: list[tuple[int, int]]) -> str:
        names = ",".join(f'"{name}"' for name in probe_op("LDS").metrics)
        rows = [f'"{i}","{w:,}","{c:,}"' for i, (w, c) in enumerate(counts)]
        units = '"","",""'
        return "\n".join(["==PROF== watched", f'"ID",{names}', units, *rows])

    def test_the_kernels_own_cost_is_taken_off(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        # The kernel costs 5 wavefronts itself; the accesses 100 and 32, with 99 and 0 conflicts.
        text = self.table([(805, 792), (1605, 1584), (1605, 1584), (517, 0)])
        self.watched(monkeypatch, tmp_path, f"cat > \"$log\" <<'EOF'\n{text}\nEOF")
        found = count_on_gpu("LDS", [4 * LANES, 128 * LANES])
        assert found.to_dict()["accesses"]["wavefronts"] == [100, 32]
        assert found.to_dict()["accesses"]["bank_conflicts"] == [99, 0]

    def test_a_count_that_is_no_multiple_is_refused(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        text = self.table([(13, 0), (21, 0), (22, 0)])
        self.watched(monkeypatch, tmp_path, f"cat > \"$log\" <<'EOF'\n{text}\nEOF")
        with pytest.raises(CountersError, match="are not a multiple of 16 executions"):
            count_on_gpu("LDS", [4 * LANES])

    def test_missing_launches_are_noticed(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        text = self.table([(13, 0), (21, 0)])
        self.watched(monkeypatch, tmp_path, f"cat > \"$log\" <<'EOF'\n{text}\nEOF")
        with pytest.raises(CountersError, match="ncu saw 2 launches, and 3 were made"):
            count_on_gpu("LDS", [4 * LANES])
