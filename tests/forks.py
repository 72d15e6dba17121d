"""The compilers' processes as forks of one that has them loaded.

`simulator.sass.code.compiling` starts a process a kernel. Starting Python and loading the compiler
takes that process five times as long as compiling a small kernel. Here one process loads them, and
forks for each kernel: the fork runs the same file, in the same folder, within the same limits.

Run as a file, this is the process that forks: requests in JSON on standard input, a line each, and
answers on standard output. It imports nothing of ours but what it forks for.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

__all__ = ["start"]

_AT_THE_START = ("PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD")
"""Variables that are read when a process starts."""

_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
_WARM: dict[str, tuple[str, dict[str, Any]]] = {
    "nvrtc.py": (
        "run",
        {"source": "__global__ void k() {}", "name": "k.cu", "headers": {}, "expressions": [],
         "options": ["--gpu-architecture=sm_90", "--generate-line-info"]},
    ),
    "ptx.py": ("_run", {"ptx": f"{_HEAD}.visible .entry k() {{ ret; }}\n", "arch": "sm_90"}),
}  # fmt: skip
"""What loads a compiler: the function of its file, and a request."""


class _Forking:
    """The process that forks, started when it is first asked."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.started: dict[str, str | None] = {}
        self.pid = 0

    def run(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        """Do what `subprocess.run` does for `compiling.child`."""
        file, environment = Path(command[-1]), options["env"]
        variables = {name: environment.get(name) for name in _AT_THE_START}
        with self.lock:
            if self.process is None or self.pid != os.getpid():
                self.process = self._start(environment)
                self.started, self.pid = variables, os.getpid()
            if file.name not in _WARM or variables != self.started:
                return subprocess.run(command, **options)
            asked = {
                "file": str(file), "request": options["input"].decode(), "folder": options["cwd"],
                "seconds": options["timeout"], "environment": dict(environment),
            }  # fmt: skip
            answer = self._asked(self.process, asked)
        if answer["code"] == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(command, options["timeout"])
        said = (answer[name].encode(errors="surrogateescape") for name in ("out", "err"))
        return subprocess.CompletedProcess(command, answer["code"], *said)

    def _asked(self, process: subprocess.Popen[bytes], asked: dict[str, Any]) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
            answer: dict[str, Any] = json.loads(process.stdout.readline())
        except BaseException:  # Ctrl-C, say: the answer, when it comes, is nobody's
            process.kill()
            with process:
                self.process = None
            raise
        return answer

    def _start(self, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-P", __file__], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        atexit.register(self._end, os.getpid())
        return process

    def _end(self, pid: int) -> None:
        if self.process is not None and pid == os.getpid():
            with self.process as process:
                assert process.stdin is not None
                process.stdin.close()


_FORKING = _Forking()


def start(patch: pytest.MonkeyPatch) -> None:
    """Let `compiling` have its processes from here."""
    from simulator.sass.code import compiling

    ours = SimpleNamespace(run=_FORKING.run, TimeoutExpired=subprocess.TimeoutExpired)
    patch.setattr(compiling, "subprocess", ours)


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is not an answer
    loaded: set[str] = set()
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        file = Path(asked["file"])
        if file.name not in loaded:
            name, request = _WARM[file.name]
            runpy.run_path(str(file), run_name="loaded")[name](request)
            loaded.add(file.name)
        answers.write(json.dumps(_forked(**asked)).encode() + b"\n")
        answers.flush()


def _forked(
    file: str, request: str, folder: str, seconds: float, environment: dict[str, str]
) -> dict[str, Any]:
    """Run a file in a fork; its exit code and what it printed."""
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(request.encode())
        given.seek(0)
        fork = os.fork()
        if fork == 0:
            code = 1
            try:
                for number, stream in enumerate((given, out, err)):
                    os.dup2(stream.fileno(), number)
                signal.setitimer(signal.ITIMER_REAL, seconds)
                os.chdir(folder)
                os.environ.clear()
                os.environ.update(environment)
                code = _as_main(file)
            finally:
                os._exit(code)
        _, status = os.waitpid(fork, 0)
        said = []
        for stream in (out, err):
            stream.seek(0)
            said.append(stream.read().decode(errors="surrogateescape"))
    return {"code": os.waitstatus_to_exitcode(status), "out": said[0], "err": said[1]}


def _as_main(file: str) -> int:
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", closefd=False)
        for number, mode in enumerate(("r", "w", "w"))
    )
    try:
        runpy.run_path(file, run_name="__main__")
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    _serve()
