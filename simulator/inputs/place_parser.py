"""Trees of accesses in C: an index expression's, and what leads to an element of an array."""

from __future__ import annotations

from layouts.c_parser import Parser, Token, Tree

__all__ = ["PlaceParser"]


class PlaceParser(Parser):
    """Reads expressions with subscripts, members, addresses and casts, and commas between them.

    >>> PlaceParser("*(float4*)&s[ty][4*tx], 0").whole().parts[0].kind
    'follow'
    """

    TOKENS = (
        ("sizeof", r"sizeof\s*\(\s*(?:\*\s*)?[A-Za-z_][\w:\s]*(?:\[[^\[\]]*\]\s*)*\)"),
        ("member", r"(?:\.|->)\s*[A-Za-z_]\w*"),
        ("least", r"(?:std::)?(?:min|max)(?=\s*\()"),
        ("retype", r"\(\s*[A-Za-z_][\w:\s]*[*&]\s*(?:(?:const|volatile|__restrict__)\s*)*\)"),
        ("retyped", r"(?:reinterpret|static|const)_cast\s*<[\w:\s]*[*&]\s*>"),
        *Parser.TOKENS,
        ("bracket", r"[\[\],]"),
    )

    def whole(self) -> Tree:
        """Return the `indices` of the text, with the commas between them."""
        parts: list[Tree | Token] = [self.expression()]
        while self.next == ",":
            parts += [self.take(), self.expression()]
        if self.next.kind != "end":
            raise self.unexpected()
        return Tree("indices", parts)

    def unary(self) -> Tree:
        """Read an operand, with what stands before it."""
        if self.next == "&":
            return Tree("address", [self.take(), self.unary()])
        if self.next == "*":
            return Tree("follow", [self.take(), self.unary()])
        if self.next.kind == "retype":
            return Tree("retype", [self.take(), self.unary()])
        return super().unary()

    def operand(self) -> Tree:
        """Read an operand, with the subscripts and members that follow it."""
        tree = self._start()
        while True:
            if self.next == "[":
                opening = self.take()
                inner = self.expression()
                tree = Tree("subscript", [tree, opening, inner, self.need("]")])
            elif self.next.kind == "member":
                tree = Tree("member", [tree, self.take()])
            else:
                return tree

    def _start(self) -> Tree:
        if self.next.kind == "sizeof":
            return Tree("sizeof", [self.take()])
        if self.next.kind == "retyped":
            return Tree("retype", [self.take(), self.enclosed()])
        if self.next.kind == "least":
            name = self.take()
            self.need("(")
            first = self.expression()
            parts = [name, first, self.need(","), self.expression()]
            self.need(")")
            return Tree("least", parts)
        return super().operand()
