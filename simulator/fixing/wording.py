"""What a fix writes, part by part: nothing takes the text apart that is made of them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Wording"]


@dataclass(frozen=True)
class Wording:
    """A layout in the words of a source.

    >>> said = Wording("s[index + index / 32]", "s[index]", "s[264]", " (index counted in 8 bytes)")
    >>> said.text
    's[index + index / 32] in s[264] (index counted in 8 bytes)'
    >>> said.everywhere
    's[index + index / 32] for each s[index] in s[264] (index counted in 8 bytes)'
    """

    written: str = ""
    """The access with its new index, or the declaration with its padding."""
    place: str = ""
    """The access that `written` stands for; "": it is a declaration."""
    declared: str = ""
    """The array as it must be declared for that access; "": as it is."""
    unit: str = ""
    """What the index counts, as the text's end; "": elements."""

    @property
    def text(self) -> str:
        """What to write."""
        return f"{self.written}{self._rest}"

    @property
    def everywhere(self) -> str:
        """What to write, and for which accesses."""
        each = f" for each {self.place}" if self.place else ""
        return f"{self.written}{each}{self._rest}"

    @property
    def _rest(self) -> str:
        return f"{f' in {self.declared}' if self.declared else ''}{self.unit}"
