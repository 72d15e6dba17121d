"""Names of files that compilers can write down."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

__all__ = ["plain_path"]

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
