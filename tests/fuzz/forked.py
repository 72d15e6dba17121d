"""PTX assembled in forks of this process, which has the library loaded: ten times as fast."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from unittest import mock

from simulator.errors import CompileError

__all__ = ["as_ptx", "in_forks"]

_HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"

_READY: set[str] = set()
"""Modules whose libraries are loaded."""


def as_ptx(text: str) -> str:
    """Return PTX of any text: what has no version would be read as CUDA source, which is slow."""
    from simulator.sass.code.ptx import is_ptx

    return f"{'' if is_ptx(text) else _HEAD}{text}\n"


@contextmanager
def in_forks() -> Iterator[None]:
    """Let a fork stand for the process that `compiling.child` starts, within the same limits."""
    import simulator.sass.code.compiling as compiling
    import simulator.sass.code.ptx as ptx

    def child(module: str, request: str, name: str) -> str:
        if module != ptx.__name__:
            return real(module, request, name)
        if module not in _READY:  # in this process, so that forks have it
            ptx._run({"ptx": ".version 8.0\n.target sm_90\n", "arch": "sm_90"})
            _READY.add(module)
        return _asked(module, request, name)

    real = compiling.child
    with mock.patch.object(compiling, "child", child):
        yield


def _asked(module: str, request: str, name: str) -> str:
    """Return what a fork answers. Raises CompileError where it dies, as `compiling.child` does."""
    answers, told = os.pipe()
    fork = os.fork()
    if fork == 0:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            os.close(answers)
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            import_module("simulator.sass.code.nvrtc").limit_memory()
            answer = json.dumps(import_module(module)._run(json.loads(request))).encode()
            with os.fdopen(told, "wb") as file:
                file.write(answer)
        finally:
            os._exit(0)
    os.close(told)
    try:
        with os.fdopen(answers, "rb") as file:
            answer = file.read()
    except BaseException:
        os.kill(fork, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(fork, 0)
    if not answer:
        code = os.waitstatus_to_exitcode(status)
        raise CompileError(f"{name}: the compiler ended with {code}")
    return answer.decode()
