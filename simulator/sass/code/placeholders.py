"""Arguments to edit, for a kernel that nothing launches: what is in brackets is to be filled in."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.sass.code.describing import MOST_MEMBERS, braced, padded
from simulator.sass.code.hostvalues import plain_type
from simulator.sass.code.records import Types, extents_of, holds_pointers, short_type
from simulator.sass.code.signatures import Signature

__all__ = ["placeholder"]

_DEEPEST = 8


def placeholder(signature: Signature, types: Types) -> tuple[str, ...]:
    """Return arguments to edit for a kernel; `types` are those of its source.

    >>> pair = {"Pair": [("float*", "in"), ("int", "n")]}
    >>> known = Types({}, pair, lambda extents: None)
    >>> placeholder(Signature("k", (("Pair", "p"), ("Pair*", "q"))), known)
    ('{random:f32[<elements of p.in>], i32=<p.n>}', '[{random:f32[<elements of q.in>], i32=<q.n>}]')
    """
    open_types = {each.split("=")[0].split()[-1] for each in signature.template}
    return tuple(
        _text(kind, name or f"argument {index}", types, open_types)
        for index, (kind, name) in enumerate(signature.parameters)
    )


def _text(kind: str, name: str, types: Types, open_types: set[str], depth: int = 0) -> str:
    """Return one value to edit, `depth` structures deep."""
    plain = plain_type(kind)
    if plain.endswith("*"):
        return _pointer(plain[:-1].strip(), name, types, open_types, depth)
    element, extents = extents_of(plain)
    if extents:
        count = types.elements(extents)
        if count is None or count > MOST_MEMBERS:
            return f"<{name}: {plain}>"
        each = (f"{name}[{i}]" for i in range(count))
        return braced(_text(element, own, types, open_types, depth + 1) for own in each)
    short = short_type(plain, types.aliases)
    if short and short[1] > 1:
        return braced(f"{short[0]}=<{name}.{axis}>" for axis in "xyzw"[: short[1]])
    if short:
        return f"{short[0]}=<{name}>"
    members = _members(plain, types)
    if not members or depth > _DEEPEST:
        return f"{{<{name}: {plain}>}}"
    texts = [_text(own, f"{name}.{each}", types, open_types, depth + 1) for own, each in members]
    return braced(padded(texts, types.plain(plain), types))


def _pointer(element: str, name: str, types: Types, open_types: set[str], depth: int) -> str:
    """Return an array to edit, or the structure with pointers that a pointer leads to."""
    short = short_type(element.rstrip("*"), types.aliases)
    if element.endswith("*"):
        return f"[random:{short[0] if short else 'u8'}[<elements of {name}[0]>], …]"
    if not short and depth < _DEEPEST and holds_pointers(element, types):
        return f"[{_text(element, name, types, open_types, depth + 1)}]"
    kind = short[0] if short else f"<{element}>" if element in open_types else "u8"
    return f"random:{kind}[<{'bytes' if kind == 'u8' else 'elements'} of {name}>]"


def _members(kind: str, types: Types) -> Sequence[tuple[str, str]]:
    return types.fields.get(types.plain(kind), ())
