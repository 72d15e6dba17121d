"""Names of files that compilers can write down, and texts of files as compilers read them."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from hashlib import sha256
from pathlib import Path

from simulator.errors import CompileError

__all__ = ["check_length", "decoded", "encoding_of", "plain_path", "source_text"]

_LONGEST = 1 << 22  # characters of source
# PTX writes a file's name between quotes, unescaped, and listings write other bytes in octal.
_PLAIN = re.compile(r"[ !#-\[\]-~]+")


def plain_path(name: str) -> str:
    """Return the name under which a compiler sees a file: the file's own, where that is plain.

    >>> plain_path("src/gemm.cu")
    'src/gemm.cu'
    """
    full = Path(name).absolute()
    if _PLAIN.fullmatch(str(full)):
        return name
    folder = full.parent
    if not _PLAIN.fullmatch(str(folder)):
        folder = Path("/bankwise", sha256(str(folder).encode(errors="replace")).hexdigest()[:8])
    return str(folder / (full.name if _PLAIN.fullmatch(full.name) else "source-of-odd-name.cu"))


def decoded(data: bytes) -> str:
    r"""Return a source's text: UTF-8, with a byte order mark or without; any other is Latin-1.

    Compilers take whatever stands in comments, and so many bytes have no meaning in UTF-8.

    >>> decoded("é".encode("utf-8-sig")), decoded(b"\xe9")
    ('é', 'é')
    """
    data = data.removeprefix(BOM_UTF8)
    return data.decode(encoding_of(data))


def encoding_of(data: bytes) -> str:
    """Return how a source's text is encoded: as UTF-8, else as Latin-1."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def source_text(path: Path) -> str:
    """Return the text of a source file, lines ended as in Unix. Raises OSError."""
    return decoded(path.read_bytes()).replace("\r\n", "\n")


def check_length(source: str, name: str) -> None:
    """Refuse a source that is too long to be read. Raises CompileError."""
    if len(source) > _LONGEST:
        raise CompileError(
            f"{name} has {len(source)} characters of source (accepted: up to {_LONGEST})"
        )
