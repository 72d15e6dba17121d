"""`optimize`: the layout with the least cost over all accesses to a tile, and the proof.

Three kinds of question, one answer:

    optimize([Access(…), …], tile="64x64", element=2)            a tile and who touches it
    optimize(kernel="leimao.v07", space={"pad_m": range(33)})    a kernel's own parameters
    optimize(fragment={"thread_tile": "8x8"}, space={…})         the fragment reads of a GEMM

Costs are compared first, then bytes of shared memory, then the operations of the index, then
occupancy. The winner is counted again by the law in pure Python, whatever found it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from layouts.errors import accepted
from layouts.shapes import Shape, is_integer, parse_shape
from simulator.errors import SearchError
from simulator.law.chips import Chip, ChipLike, optional_chip
from simulator.law.counting import check_rule
from simulator.law.indices import RESERVED
from simulator.law.instructions import Rule
from simulator.search.accesses import Access
from simulator.search.pricing import OBJECTIVES, Objective, check_objective
from simulator.search.swizzles import read_swizzles

# What a search needs is imported when one is run: an answer prices layouts, and needs less.
if TYPE_CHECKING:
    from simulator.kernels.replay import Form
    from simulator.kernels.sites import Kernel
    from simulator.search.cases import Case
    from simulator.search.optimum import Optimum
    from simulator.search.run import Problem, Values
    from simulator.sweeps.grid import Grid

__all__ = ["OBJECTIVES", "optimize"]


def optimize(
    accesses: str | Iterable[Access | str] | None = None,
    *,
    kernel: str | Kernel | None = None,
    fragment: Mapping[str, Any] | None = None,
    space: Mapping[str, Any] | None = None,
    objective: Objective = "cycles",
    rule: Rule = "silicon",
    chip: ChipLike | None = None,
    tile: Shape | None = None,
    element: int = 4,
    names: Mapping[str, int] | None = None,
    block: Any = None,
    loops: Mapping[str, int] | None = None,
    array: str | None = None,
    m: int = 4096,
    n: int = 4096,
    k: int = 4096,
    form: Form = "compiled",
    limit: int = 10_000_000,
    trials: int = 500,
) -> Optimum:
    """Find the layout with the least total cost of all accesses, each by its weight.

    Give one of `accesses`, `kernel` and `fragment`.

    Parameters
    ----------
    accesses
        What touches a tile, or, without a `tile`, memory at flat indices. Or questions in C, such
        as `"float s[32][32]; s[threadIdx.x][0]"` or `"8*STS: float s[32][32]; s[lane][0]"`, a text
        or several: then the array that they declare is the tile.
    kernel
        A kernel, or its name: all of its shared-memory accesses, or those of one `array`.
    fragment
        Fixed parameters of `simulate`, whose other ones are searched.
    space
        What is free. "pad": paddings of the tile. "swizzle": "xor" (without padding any XOR of
        upper onto lower bits, with padding one term of it), "cute" (one Sw<B,M,S>), "none", or a
        list of swizzles. Any other name that the accesses use, or a parameter of the kernel or of
        `simulate`: its values, or "all". By default paddings of 0 to 32 and "xor"; for a fragment
        warp shape, lane order and fragment.
    objective
        What is minimised.
    rule, chip
        Those of `count`.
    tile
        Rows×columns of the tile that is searched, in elements.
    element
        Bytes of an element of it: 1, 2, 4, 8 or 16.
    names
        Values of further names that the accesses use.
    block
        Threads of the block that questions are of, as for `count`.
    loops
        Trip counts of names in questions: an access of each warp for each turn.
    array
        The kernel's array that is the `tile`.
    m, n, k
        The kernel's matrix sizes.
    form
        The kernel's form, as for `replay`.
    limit
        At most so many warp accesses are counted to enumerate, each once for every layout. A few
        choices tell what all would take.
    trials
        Beyond the limit optuna makes so many trials, and the result is not proved.

    Returns
    -------
    Optimum
        The layout, its cost, and how it is known that none is better.

    Raises
    ------
    SearchError
        For a bad space, or accesses outside of the tile.
    BankwiseError
        What `simulate`, `replay` and `count` raise.

    Examples
    --------
    >>> column = Access("LDS", "lane, i", loops={"i": 32})
    >>> row = Access("STS", "i, lane", loops={"i": 32})
    >>> found = optimize([column, row], tile="32x32")
    >>> found.before, found.cost, found.expression
    (1056, 64, 'row*32 + (col ^ row)')
    >>> optimize([column, row], tile="32x32", space={"pad": range(33)}).expression
    'row*33 + col'
    >>> optimize("float s[32][32]; s[threadIdx.x][threadIdx.y]").expression
    'row*32 + (col ^ row)'
    """
    from simulator.search.run import Search

    check_objective(objective)
    check_rule(rule)
    chosen = optional_chip(chip)
    for name, value in (("limit", limit), ("trials", trials)):
        if not is_integer(value) or value < 1:
            raise SearchError(f"{name} {value!r} is not a count (accepted: 1, 2, 3, ...)")
    if sum(each is not None for each in (accesses, kernel, fragment)) != 1:
        raise SearchError(
            "give exactly one of accesses, kernel and fragment (on the command line --access,"
            " --kernel or --fragment)"
        )
    for what, mapping in (("space", space), ("fragment", fragment), ("names", names)):
        if not (mapping is None or isinstance(mapping, Mapping)):
            raise SearchError(f"{what} {mapping!r} is not a mapping (accepted: {{name: ...}})")
    asked = "accesses" if accesses is not None else "a kernel" if kernel else "a fragment"
    for what, extra, used, home in (
        ("tile", tile, fragment is None, "accesses or a kernel"),
        ("array", array, kernel is not None, "a kernel"),
        ("names", names or None, accesses is not None, "accesses"),
        ("block", block, accesses is not None, "accesses"),
        ("loops", loops or None, accesses is not None, "accesses"),
        ("element", None if element == 4 else element, accesses is not None, "accesses"),
    ):
        if extra is not None and not used:
            raise SearchError(
                f"{what} {extra!r} has no effect on {asked} (accepted: {what} beside"
                f" {home}; else leave it out)"
            )
    shape = None if tile is None else parse_shape(tile, "RC", "tile")
    if not is_integer(element) or element not in (1, 2, 4, 8, 16):
        raise SearchError(f"element {element!r} is not a size (accepted: 1, 2, 4, 8, 16 bytes)")
    if fragment is not None:
        problem = _of_fragment(fragment, space, rule, chosen)
    elif kernel is not None:
        known = _kernel(kernel, form)
        problem = _of_kernel(known, space, (m, n, k), form, array, shape, chosen)
    else:
        given = _listed(accesses)
        if any(isinstance(each, str) for each in given):
            size = None if element == 4 and shape is None else element
            given, shape, element = _asked(
                given, loops=loops, names=names, block=block, element=size, tile=shape, chip=chosen
            )
            names = None
        elif block is not None or loops:
            raise SearchError(
                "block and loops are for questions in C (accepted: Access(..., loops={'i': 32}))"
            )
        problem = _of_accesses(given, space, shape, element, names or {}, chosen)
    return Search(problem, objective, rule, limit, trials).optimum()


def _kernel(kernel: str | Kernel, form: Form) -> Kernel:
    from simulator.kernels import get
    from simulator.kernels.replay import FORMS
    from simulator.kernels.sites import Kernel

    known = kernel if isinstance(kernel, Kernel) else get(kernel)
    if form not in FORMS:
        raise SearchError(f"unknown form {form!r}: {accepted(form, FORMS)}")
    return known


def _listed(given: Any) -> list[Any]:
    """Return the accesses, each an Access or a question in C."""
    listed = [given] if isinstance(given, str) else given
    accesses = list(listed) if isinstance(listed, Iterable) else []
    if not accesses or not all(map(_is_access, accesses)):
        raise SearchError(
            f"{given!r} is not a list of accesses (accepted: a list of Access, or of questions in"
            " C, such as 'float s[32][32]; s[threadIdx.x][threadIdx.y]')"
        )
    return accesses


def _is_access(given: object) -> bool:
    if isinstance(given, str):
        return re.fullmatch(r"\s*[\w.]*\s*", given) is None  # more than an instruction
    return isinstance(given, Access)


def _asked(
    given: Sequence[Any], **options: Any
) -> tuple[list[Access], tuple[int, ...] | None, int]:
    """Return questions as accesses, with the array's rows and columns and bytes of an element."""
    from simulator.search.touching import touches

    if not all(isinstance(each, str) for each in given):
        raise SearchError("some accesses are questions in C, some are not (accepted: all alike)")
    found = touches(given, **options)
    tile = found[0].tile
    shape = None if tile is None else (tile.rows, tile.cols)
    return [each.access for each in found], shape, found[0].element


def _of_accesses(
    accesses: Sequence[Access],
    space: Mapping[str, Any] | None,
    shape: tuple[int, ...] | None,
    element: int,
    names: Mapping[str, int],
    chip: Chip | None,
) -> Problem:
    from simulator.search.cases import tile_case
    from simulator.search.run import Problem

    used = set().union(*(each.free for each in accesses))
    if space is None:
        space = {"pad": range(33), "swizzle": "xor"} if shape else {"swizzle": "xor"}
    wrong = sorted(set(names) & {*space, *RESERVED})
    if wrong:
        raise SearchError(
            f"names fixes {', '.join(wrong)}, which is free in the space or has its own meaning"
            " (accepted: another name, or a name in one of the two)"
        )
    own = {"swizzle"} if "pad" in used else {"swizzle", "pad"}
    padded = "pad" in space and "pad" in own
    if padded and shape is None:
        raise SearchError(
            "pad is free, but no access names it and there is no tile (accepted: a tile such as"
            " '64x64', or an index that names pad)"
        )
    free = _free(space, used, own)
    needed = set().union(*(each.needed for each in accesses))
    missing = sorted(needed - set(free.axes) - set(names))
    if missing:
        raise SearchError(
            f"no value for {', '.join(missing)} (accepted: a loop, as loops={{'k': 4}} or --loop"
            " k=4; a free name of the space; a number, as names={'k': 4} or -D k=4)"
        )
    swizzles = read_swizzles(space.get("swizzle", "none"))
    tile = None if shape is None else (shape[0], shape[1])

    def case(values: Values) -> Case:
        named = {**names, **values}
        return tile_case(accesses, named, tile, element, swizzled=swizzles != "none", chip=chip)

    def start() -> Case:
        named = {**names, **free.between(0, 1)[0]}
        return tile_case(accesses, named, tile, element, swizzled=False, chip=chip)

    pads = _pads(space["pad"]) if padded else (0,)
    return Problem(case, start, free, pads, swizzles, tiled=True, flat=tile is None, chip=chip)


def _of_kernel(
    kernel: Kernel,
    space: Mapping[str, Any] | None,
    sizes: tuple[int, int, int],
    form: Form,
    array: str | None,
    shape: tuple[int, ...] | None,
    chip: Chip | None,
) -> Problem:
    from simulator.search.cases import kernel_case
    from simulator.search.run import Problem

    for name, size in zip("mnk", sizes, strict=True):
        if not is_integer(size) or not 1 <= size < 2**31:
            raise SearchError(
                f"{name} = {size!r} is not a matrix size (accepted: 1 to {2**31 - 1})"
            )
    named = isinstance(array, str) and array.isidentifier()
    if (array is None) != (shape is None) or not (array is None or named):
        raise SearchError(
            "an array of a kernel is searched as a tile (accepted: both, such as array='As',"
            " tile='8x64', or neither: then the kernel's own parameters are searched)"
        )
    own = kernel.parameters
    if space is None and array is not None:
        space = {"pad": range(33), "swizzle": "xor"}
    if not space:
        raise SearchError(
            f"no parameter of {kernel.name} is free (accepted: a space over {', '.join(own)})"
        )
    reserved = {"pad", "swizzle"} if array else set()
    free = _free(space, set(own) - reserved, reserved)
    tile = None if shape is None else (shape[0], shape[1])

    def case(values: Values) -> Case:
        return kernel_case(kernel, values, sizes, form, array, tile, chip)

    return Problem(
        case,
        lambda: case({}),
        free,
        _pads(space.get("pad", (0,))) if array else (0,),
        read_swizzles(space.get("swizzle", "none")) if array else "none",
        tiled=array is not None,
        chip=chip,
    )


def _of_fragment(
    fixed: Mapping[str, Any], space: Mapping[str, Any] | None, rule: Rule, chip: Chip | None
) -> Problem:
    from simulator.gemm.geometry import PARAMETERS
    from simulator.search.cases import fragment_case
    from simulator.search.run import Problem

    known = set(PARAMETERS) - {"rule", "chip"}
    if space is None:
        space = {
            name: "all" for name in ("warp_shape", "lane_order", "fragment") if name not in fixed
        }
    strange = sorted(set(fixed) - known)
    if strange:
        raise SearchError(f"fragment has {strange[0]!r}: {accepted(strange[0], sorted(known))}")
    free = _free(space, known - set(fixed), set())
    if not free.axes:
        raise SearchError(f"nothing is free (accepted: a space over {', '.join(sorted(known))})")
    per_block = bool({"thread_tile", "block_tile"} & set(free.axes))

    def case(values: Values) -> Case:
        return fragment_case({**fixed, **values}, rule, per_block=per_block, chip=chip)

    return Problem(case, lambda: case({}), free, chip=chip)


def _free(space: Mapping[str, Any], names: set[str], reserved: set[str]) -> Grid:
    """Read the free values that are not the tile's own."""
    from simulator.sweeps.grid import Grid

    wanted = {name: values for name, values in space.items() if name not in reserved}
    if not wanted:
        return Grid({})
    if any(isinstance(values, str) and values == "all" for values in wanted.values()):
        from simulator.gemm.geometry import CHOICES

        wanted = {
            name: CHOICES.get(name, each) if isinstance(each, str) and each == "all" else each
            for name, each in wanted.items()
        }
    grid = Grid.of(wanted, accepted_names=sorted(names | reserved), target="the search")
    if grid.size >= 1 << 62:
        raise SearchError(f"the space has {grid.size:,} combinations (accepted: below 2^62)")
    return grid


def _pads(given: Any) -> Sequence[int]:
    pads = given if isinstance(given, Sequence) and not isinstance(given, str) else ()
    if not pads or len(pads) > 4096 or not all(is_integer(pad) and pad >= 0 for pad in pads):
        raise SearchError(
            f"pad has the values {given!r} (accepted: a range or a list of 1 to 4096 paddings, in"
            " elements: 0, 1, 2, ...)"
        )
    return tuple(dict.fromkeys(int(pad) for pad in pads))
