"""Instructions as PTX and people write them, turned into the aliases of their table.

Source: PTX ISA 8.7, "Data Movement and Conversion Instructions" and "Parallel Synchronization".
"""

from __future__ import annotations

import re

__all__ = ["respelled", "uncounted"]

_SHARED = r"\.shared(?:::cta)?"
_ORDER = r"(?:\.(?:weak|volatile|relaxed|acquire|release|sys|gpu|cta|cluster))*"
_SCOPE = r"(?:\.(?:relaxed|acquire|release|acq_rel|cta|cluster|gpu|sys))*"

_MOVE = re.compile(rf"(ld|st){_ORDER}{_SHARED}(?:\.v([24]))?\.([busf])(8|16|32|64|128)")
_MATRIX = re.compile(rf"(ld|st)matrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?(?:{_SHARED})?\.b16")
_COPY = re.compile(
    rf"cp\.async\.(ca|cg){_SHARED}\.global(?:\.L2::\w+)*(?:[\s,]+(4|8|16))?", re.IGNORECASE
)
_ATOM = re.compile(
    rf"(?:atom|red){_SCOPE}{_SHARED}{_SCOPE}\.(add|min|max|and|or|xor|inc|dec|exch|cas)"
    r"\.[bus](32|64)"
)
_LOOSE = (
    (re.compile(r"(LDS|STS)(64|128)", re.IGNORECASE), r"\1.\2"),
    (re.compile(r"LDSM\.x([124])(\.trans)?", re.IGNORECASE), r"ldmatrix.x\1\2"),
    (re.compile(r"STSM\.x([124])(\.trans)?", re.IGNORECASE), r"stmatrix.x\1\2"),
    (re.compile(r"LDGSTS(\.64|\.128)?", re.IGNORECASE), r"LDGSTS.E\1"),
    (re.compile(r"LDGSTS\.BYPASS\.128", re.IGNORECASE), r"LDGSTS.E.BYPASS.128"),
)

# What kernels have beside accesses to shared memory by lanes' addresses, and where it is counted.
_TILES = (
    "moves whole tiles by a descriptor, and has no bank conflicts;"
    " the STS, STSM, LDS and LDSM around it can conflict"
)
_ELSEWHERE = (
    (re.compile(r"(?:h|q|i|b)?gmma|wgmma|warpgroup|tcgen05|utc"), _TILES),
    (re.compile(r"tma|utma|ublk|cp\.async\.bulk|cp\.reduce\.async\.bulk"), _TILES),
    (
        re.compile(r"ldg|stg|atomg|red$|red\.global|(?:ld|st|atom)\.global"),
        "reads or writes global memory",
    ),
    (re.compile(r"ldl|stl|(?:ld|st)\.local"), "reads or writes local memory"),
    (re.compile(r"ldc|uldc|(?:ld)\.(?:const|param)"), "reads constant memory"),
    (re.compile(r"shfl|vote|match|redux|bar"), "has no addresses"),
    (
        re.compile(
            r"(?:__)?(?:float|double|half|nv_bfloat16|u?int|u?char|u?short|u?long|bf16)\d?"
            r"(?:_t|x\d)?\b"
        ),
        "is a type, which a declaration says, such as 'float4 s[64]; s[lane]'",
    ),
)


def uncounted(op: str) -> str | None:
    """Return what an instruction does that is not an access to shared memory, or None.

    >>> uncounted("LDG.E.128")
    'reads or writes global memory'
    """
    text = op.strip().lower()
    return next((does for known, does in _ELSEWHERE if known.match(text)), None)


def respelled(op: str) -> str:
    """Return the SASS name or alias that a spelling stands for; others come back as they are.

    >>> respelled("ld.shared.v4.f32"), respelled("st.volatile.shared::cta.u8")
    ('LDS.128', 'STS.U8')
    >>> respelled("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"), respelled("LDS128")
    ('ldmatrix.x4.trans', 'LDS.128')
    >>> respelled("cp.async.cg.shared.global"), respelled("atom.shared.add.u32")
    ('cp.async.cg.16', 'ATOMS.ADD')
    """
    text = op.strip().rstrip(";").strip()
    lower = text.lower()
    if found := _MOVE.fullmatch(lower):
        return _move(*found.groups()) or op
    if found := _MATRIX.fullmatch(lower):
        return f"{found[1]}matrix.x{found[2]}{found[3] or ''}"
    if found := _COPY.fullmatch(text):
        kind, size = found[1].lower(), found[2]
        if kind == "cg":  # only 16 bytes bypass L1
            return op if size in ("4", "8") else "cp.async.cg.16"
        return f"cp.async.ca.{size}" if size else op
    if found := _ATOM.fullmatch(lower):
        return f"ATOMS.{found[1].upper()}{'.64' if found[2] == '64' else ''}"
    for pattern, name in _LOOSE:
        if pattern.fullmatch(text):
            return pattern.sub(name, text)
    return op


def _move(which: str, vector: str | None, kind: str, bits: str) -> str | None:
    """Return the load or store of a vector of values; None where it is wider than any."""
    width = int(vector or 1) * int(bits)
    if width > 128:
        return None
    name = "LDS" if which == "ld" else "STS"
    if width >= 32:
        return name + ("" if width == 32 else f".{width}")
    sign = "S" if kind == "s" and which == "ld" and vector is None else "U"
    return f"{name}.{sign}{width}"
