"""Writing files whole or not at all: under another name first, then renamed."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from layouts.errors import short
from simulator.errors import OutputError

__all__ = ["check_target", "save"]

_PATH = (str, bytes, os.PathLike)
_PAGES = ("", ".html", ".htm")
_TRIAL = 4096  # bytes: on a full disk a file can still be made, but not filled


def check_target(
    path: str | os.PathLike[str], *, force: bool = True, page: bool = False, also: str = ""
) -> Path:
    """Return the file that `path` leads to, once a trial beside it could be written.

    For the beginning of long work whose end is `save`. Raises OutputError as that does; without
    `force`, also for a file that exists; for a `page`, which is HTML, also for a name that ends
    as other files do. `also` is an ending that the caller knows beside that of a page.
    """
    suffix = Path(os.fsdecode(path)).suffix if page and isinstance(path, _PATH) else ""
    if suffix.lower() not in _PAGES:
        raise OutputError(
            f"{str(path)!r} ends in {suffix}, and a page is HTML (accepted: a name that ends in"
            f" .html{also and f' or {also}'}; for text, --format md or csv of the command itself)"
        )
    target = _target(path)
    if target.exists() and not force:
        raise OutputError(
            f"{str(path)!r} exists already (accepted: another name, or --force / force=True)"
        )
    with _beside(target, path) as trial:
        trial.write_bytes(bytes(_TRIAL))
        if target.exists():
            os.close(os.open(target, os.O_WRONLY))
    return target


def save(path: str | os.PathLike[str], write: Callable[[Path], object]) -> None:
    """Let `write` make a file beside `path`, then put it in its place, with its permissions.

    Raises OutputError for what is not a file (a folder, a device, links that lead in a circle), and
    for whatever the operating system refuses: a full disk, a missing folder.
    """
    target = _target(path)
    with _beside(target, path) as temporary:
        write(temporary)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)


def _target(path: str | os.PathLike[str]) -> Path:
    try:
        given = Path(os.fsdecode(path))
        is_none = not given.name or (given.exists() and not given.is_file())
        target = given.resolve()  # a link stays, and what it points to is replaced
        circle = target.is_symlink()  # from Python 3.13 on, a circle is what it resolves to
    except RuntimeError:  # and before, it is this
        is_none, circle = False, True
    except OSError as error:
        raise _refused(path, error) from error
    except (TypeError, ValueError):  # no path; one with a NUL, or that has no bytes
        is_none, circle = True, False
    said = repr(os.fspath(path)) if isinstance(path, _PATH) else short(path)
    if is_none:
        raise OutputError(f"{said} is not a file to write (accepted: a file's path)")
    if circle:
        raise OutputError(f"{said} is a link that leads nowhere (accepted: a file's path)")
    if not target.parent.is_dir():
        raise OutputError(
            f"{os.fspath(path)} cannot be written: there is no folder {str(target.parent)!r}"
        )
    return target


@contextmanager
def _beside(target: Path, path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a name beside `target`, short even if that is as long as names may be."""
    temporary = target.with_name(f".bankwise-{secrets.token_hex(8)}")
    try:
        yield temporary
    except OSError as error:
        raise _refused(path, error) from error
    except UnicodeEncodeError as error:  # half of a surrogate pair, say
        raise OutputError(f"{os.fspath(path)} cannot be written: {error}") from error
    finally:
        with suppress(OSError):  # none was made, perhaps because none can be
            temporary.unlink()


def _refused(path: str | os.PathLike[str], error: OSError) -> OutputError:
    return OutputError(f"{os.fspath(path)} cannot be written: {error.strerror or error}")
