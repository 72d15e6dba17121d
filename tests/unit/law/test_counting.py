"""`count`: what it accepts, what it refuses and in which words."""

from __future__ import annotations

import copy
import pickle
import threading
import time
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any, Literal, get_args, get_type_hints

import numpy as np
import pytest

from simulator import (
    AddressError,
    BankwiseError,
    InstructionError,
    MaskError,
    OptionError,
    WarpAccess,
    count,
    count_affine,
    count_linear,
    count_stream,
    explain,
)
from simulator.law import chunks, counting, numba_engine
from simulator.law.accesses import ALL_LANES
from simulator.law.counting import ENGINES, Engine
from simulator.law.instructions import RULES, Instruction, Rule

LINEAR = [4 * lane for lane in range(32)]


def nested(depth: int) -> list[Any]:
    wrapped: list[Any] = LINEAR
    for _ in range(depth):
        wrapped = [wrapped]
    return wrapped


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


def with_lane(lane: int, byte: Any) -> list[Any]:
    return [byte if index == lane else good for index, good in enumerate(LINEAR)]


def test_lists_tuples_and_arrays_of_any_width() -> None:
    given: list[Any] = [LINEAR, tuple(LINEAR), np.array(LINEAR, dtype=object)]
    given += [np.array(LINEAR, dtype=kind) for kind in ("u1", "i2", "u2", "i4", "u4", "i8", "u8")]
    for addresses in given:
        assert count("LDS", addresses).wavefronts == 1


def test_a_warp_access_is_taken_as_it_is() -> None:
    access = WarpAccess("LDS.64", tuple(8 * lane for lane in range(32)), 0xFFFF)
    assert count(*access).wavefronts == 1
    assert explain(*access).wavefronts == 1


def test_lists_of_31_dimensions() -> None:
    for engine in ("python", "numpy", "numba"):
        assert count("LDS", nested(30), engine=engine).wavefronts.shape == (1,) * 30


def test_one_mask_serves_all_accesses_or_each_has_its_own() -> None:
    conflict = [[128 * lane for lane in range(32)]] * 3
    assert count("LDS", conflict, 0x7).wavefronts.tolist() == [3, 3, 3]
    assert count("LDS", conflict, [0x1, 0x7, 0]).wavefronts.tolist() == [1, 3, 0]
    assert count("LDS", conflict, np.array([1, 7, 0], dtype="u1")).cycles.tolist() == [1, 3, 0]


@pytest.mark.parametrize(("accesses", "engine"), [(1, "python"), (3, "numpy"), (200_001, "numba")])
def test_the_engine_is_chosen_by_the_number_of_accesses(accesses: int, engine: str) -> None:
    assert counting.engine_for(accesses) == engine


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_many_accesses_keep_their_own_masks(engine: str) -> None:
    # More than the NumPy engine works on at a time, each with another number of active lanes.
    many = 40_000
    masks = (1 << np.arange(many, dtype=np.int64) % 33) - 1
    addresses = np.broadcast_to(128 * np.arange(32), (many, 32))
    counts = count("LDS", addresses, masks, engine=engine)
    np.testing.assert_array_equal(counts.wavefronts, np.arange(many) % 33)


def test_counts_are_frozen() -> None:
    counts = count("LDS", LINEAR)
    with pytest.raises(FrozenInstanceError):
        counts.cycles = counts.phases  # type: ignore[misc]
    many = count("LDS", [LINEAR] * 9)
    with pytest.raises(ValueError, match="read-only"):
        many.wavefronts[0] = 7


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda counts: pickle.loads(pickle.dumps(counts))],  # noqa: S301
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_are_as_small_and_as_frozen(copied: Callable[[counting.Counts], Any]) -> None:
    counts = count("LDS.128", [[16 * lane for lane in range(32)]] * 1000)
    assert counts.wavefronts.sum() == 4000  # widened now, which no copy need be
    twin = copied(counts)
    assert twin.to_dict() == counts.to_dict()
    assert len(pickle.dumps(counts)) < 7000
    for array in (twin.figures, twin.wavefronts):
        with pytest.raises(ValueError, match="read-only"):
            array[..., 0] = 7


@pytest.mark.parametrize("where", ["the calling thread", "another thread"])
def test_an_interrupted_count_stops_soon(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    caller, counts = threading.current_thread(), []

    def counted(addresses: Any, *_: Any) -> int:
        counts.append(len(addresses))
        time.sleep(0.001)
        if (threading.current_thread() is caller) == (where == "the calling thread"):
            raise KeyboardInterrupt
        return -1

    monkeypatch.setattr(chunks, "_CHUNK", 1)
    monkeypatch.setattr(numba_engine, "_count", counted)
    with pytest.raises(KeyboardInterrupt):
        count("LDS", [LINEAR] * 1000, engine="numba", threads=2)
    assert len(counts) < 500


def test_counts_as_columns() -> None:
    counts = count("LDS", [LINEAR, [128 * lane for lane in range(32)]], [0xFFFFFFFF, 0b11])
    assert counts.to_dict() == {
        "accesses": {
            "phases": [1, 1],
            "wavefronts": [1, 2],
            "ideal": [1, 1],
            "excessive": [0, 1],
            "bank_conflicts": [0, 1],
            "cycles": [1, 2],
        },
        "totals": {
            "requests": 2,
            "wavefronts": 3,
            "ideal": 2,
            "excessive": 1,
            "bank_conflicts": 1,
            "cycles": 3,
            "n_way": 1.5,
        },
    }
    assert counts[1].wavefronts == 2
    assert counts.to_dataframe()["wavefronts"].tolist() == [1, 2]
    assert counts._repr_html_().count("<tr>") == 4  # names, two accesses, their total
    assert count("LDS", LINEAR, 0).totals()["n_way"] == 0


def test_showing_counts_keeps_nothing() -> None:
    counts = count("LDS", [LINEAR, LINEAR])
    assert "wavefronts=array([1, 1], dtype=int32)" in repr(counts)
    assert set(vars(counts)) == {"figures"}
    assert counts.cycles is counts.cycles  # what is asked for is kept


@pytest.mark.parametrize(
    ("op", "addresses", "mask", "error", "message"),
    [
        # misaligned addresses, of any width
        ("LDS", with_lane(3, 6), None, AddressError,
         "address 6 of lane 3 is misaligned (accepted for LDS: multiples of 4 bytes; the chip"
         " traps on others)"),
        ("LDS.64", [8 * lane + 4 for lane in range(32)], None, AddressError,
         "address 4 of lane 0 is misaligned (accepted for LDS.64: multiples of 8 bytes"),
        ("LDS.128", LINEAR, None, AddressError,
         "address 4 of lane 1 is misaligned (accepted for LDS.128: multiples of 16 bytes"),
        ("STS.U16", with_lane(9, 7), None, AddressError,
         "address 7 of lane 9 is misaligned (accepted for STS.U16: multiples of 2 bytes"),
        ("ldmatrix.x4", LINEAR, None, AddressError,
         "address 4 of lane 1 is misaligned (accepted for LDSM.16.M88.4: multiples of 16"),
        ("LDS", [[LINEAR] * 2, [LINEAR, with_lane(5, 2)]], None, AddressError,
         "address 2 of lane 5 of access 1, 1 is misaligned"),
        # outside shared memory
        ("LDS", with_lane(0, -4), None, AddressError,
         "address -4 of lane 0 is outside shared memory (accepted for LDS: 0 to 232444; a block"
         " has at most 227 KiB)"),
        ("LDS", with_lane(31, 232448), None, AddressError,
         "address 232448 of lane 31 is outside shared memory"),
        ("LDS", with_lane(2, 2**80), None, AddressError,
         f"address {2**80} of lane 2 is outside shared memory"),
        ("LDS", np.array(with_lane(2, 2**64 - 4), dtype="u8"), None, AddressError,
         f"address {2**64 - 4} of lane 2 is outside shared memory"),
        ("LDS.U8", np.array(with_lane(1, -1), dtype="i1"), None, AddressError,
         "address -1 of lane 1 is outside shared memory"),
        # not 32 lanes
        ("LDS", LINEAR[:31], None, AddressError, "have shape (31,) (accepted: (..., 32), one byte"),
        ("LDS", 4, None, AddressError, "addresses 4 have shape ()"),
        ("LDS", [LINEAR, LINEAR[:5]], None, AddressError, "are ragged (accepted: a regular array)"),
        ("LDS", [np.zeros((2, 32), int), np.zeros((2, 5), int)], None, AddressError, "are ragged"),
        # too deep
        ("LDS", nested(31), None, AddressError,
         "have more than 31 dimensions (accepted: at most 31)"),
        ("LDS", nested(40), None, AddressError, "have more than 31 dimensions"),
        ("LDS", nested(5000), None, AddressError, "have more than 31 dimensions"),
        ("LDS", np.zeros((1,) * 31 + (32,), int), None, AddressError, "have more than 31 dimens"),
        ("LDS", CIRCLE, None, AddressError, "addresses [[...]] have more than 31 dimensions"),
        ("LDS", LINEAR, CIRCLE, MaskError, "masks [[...]] have more than 31 dimensions"),
        # not integers
        ("LDS", np.arange(32.0), None, AddressError,
         "have type float64 (accepted: integers; floats and booleans are not converted)"),
        ("LDS", with_lane(4, float("nan")), None, AddressError,
         "addresses hold nan, which is not an integer (accepted: integers)"),
        ("LDS", with_lane(4, 4.0), None, AddressError, "addresses hold 4.0, which is not an int"),
        ("LDS", with_lane(4, True), None, AddressError, "addresses hold True, which is not an int"),
        ("LDS", with_lane(4, None), None, AddressError, "addresses hold None, which is not an int"),
        ("LDS", ["0 4 8"], None, AddressError, "addresses hold '0 4 8', which is not an integer"),
        ("LDS", np.zeros(32, dtype=bool), None, AddressError, "have type bool (accepted: integers"),
        ("LDS", np.array(["4"] * 32), None, AddressError, "have type <U1 (accepted: integers"),
        ("LDS", np.ma.array(LINEAR, mask=[1] + [0] * 31), None, AddressError,
         "addresses are a masked array (accepted: a plain one, and lanes in `mask`)"),
        ("LDS", with_lane(4, "x" * 1000), None, AddressError, "addresses hold 'xxx"),
        # empty
        ("LDS", [], None, AddressError,
         "addresses are empty, shape (0,) (accepted: at least one access)"),
        ("LDS", np.zeros((0, 32), dtype=int), None, AddressError,
         "addresses are empty, shape (0, 32)"),
        # masks
        ("LDS", LINEAR, 2**32, MaskError,
         "mask 0x100000000 is not 32 bits (accepted: 0 to 0xffffffff, bit l for lane l)"),
        ("LDS", LINEAR, -1, MaskError, "mask -0x1 is not 32 bits"),
        ("LDS", LINEAR, 1.0, MaskError, "masks hold 1.0, which is not an integer"),
        ("LDS", LINEAR, True, MaskError, "masks hold True, which is not an integer"),
        ("LDS", LINEAR, np.ones(32, dtype=bool), MaskError, "have type bool"),
        ("LDS", LINEAR, [1] * 32, MaskError,
         "masks have shape (32,) for addresses of shape (32,) (accepted: one integer, or shape"),
        ("LDS", [LINEAR, LINEAR], [1, 2, 3], MaskError,
         "masks have shape (3,) for addresses of shape (2, 32) (accepted: one integer, or shape"
         " (2,))"),
        ("LDS", LINEAR, [], MaskError, "masks are empty"),
        ("LDSM.16.M88.4", [16 * lane for lane in range(32)], 0xFFFF, MaskError,
         "mask 0x0000ffff leaves lanes of LDSM.16.M88.4 inactive (accepted: 0xffffffff; all lanes"
         " of a warp take part in a matrix access)"),
        # names
        ("LDZ", LINEAR, None, InstructionError,
         "unknown instruction 'LDZ' (accepted, nearest first: LDS, "),
        ("ldmatrix.x8", LINEAR, None, InstructionError, "nearest first: ldmatrix.x4, ldmatrix.x2"),
        (17, LINEAR, None, InstructionError, "unknown instruction 17 (accepted"),
    ],
)  # fmt: skip
def test_refusals_repeat_the_input_and_say_what_is_accepted(
    op: Any, addresses: Any, mask: Any, error: type[BankwiseError], message: str
) -> None:
    for engine in ("auto", "python", "numpy", "numba"):
        with pytest.raises(error) as caught:
            count(op, addresses, mask, engine=engine)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400
    assert issubclass(error, BankwiseError)


def test_unknown_rules_and_engines() -> None:
    with pytest.raises(OptionError, match=r"unknown rule 'silicn': did you mean silicon\?"):
        count("LDS", LINEAR, rule="silicn")
    with pytest.raises(OptionError, match="unknown engine 'gpu': accepted: auto, python, numpy"):
        count("LDS", LINEAR, engine="gpu")


@pytest.mark.parametrize("counted", [count, count_stream, count_linear, count_affine, explain])
def test_type_checkers_know_the_rules_and_engines(counted: Callable[..., Any]) -> None:
    hints = get_type_hints(counted)
    assert hints["rule"] == Rule == Literal["silicon", "documented"]
    assert hints.get("engine", Engine) == Engine == Literal["auto", "python", "numpy", "numba"]
    assert (get_args(Rule), get_args(Engine)) == (RULES, ENGINES)


def test_the_last_address_of_each_width_is_accepted() -> None:
    for op, width in (("LDS.U8", 1), ("LDS.U16", 2), ("LDS", 4), ("LDS.64", 8), ("LDS.128", 16)):
        assert count(op, [227 * 1024 - width] * 32).wavefronts >= 1
        with pytest.raises(AddressError):
            count(op, [227 * 1024] * 32)


def test_lanes_past_the_matrices_play_no_part() -> None:
    rows = [16 * lane for lane in range(8)] + [-1] * 24
    assert count("ldmatrix.x1", rows).wavefronts == 1
    with pytest.raises(AddressError, match="address -1 of lane 8 "):
        count("ldmatrix.x2", rows)


def test_explain_takes_one_access() -> None:
    with pytest.raises(AddressError, match=r"explain takes one access, and addresses have shape"):
        explain("LDS", [LINEAR])
    with pytest.raises(MaskError, match=r"masks have shape \(1,\)"):
        explain("LDS", LINEAR, [1])  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["python", "numpy", "numba"])
@pytest.mark.parametrize("partner", [1, 3, 4, 6, 31])
def test_phases_fuse_by_any_partner(partner: int, engine: Engine) -> None:
    """Of two lanes with different addresses either may be the greater, or inactive."""
    own = Instruction("OWN", 8, 2, fuses=True, partners=(partner,))
    paired = np.array([8 * min(lane, lane ^ partner) for lane in range(32)])
    lanes = (0, partner)
    rows, masks = [paired], [ALL_LANES]
    for lane in lanes:
        for idle in (None, *lanes):
            rows.append(paired + 512 * (np.arange(32) == lane))
            masks.append(ALL_LANES if idle is None else ALL_LANES & ~(1 << idle))
    counts = count(own, np.array(rows), masks, engine=engine)
    assert counts.phases.tolist() == [1, 2, 1, 1, 2, 1, 1]


@pytest.mark.parametrize("engine", ["python", "numpy", "numba"])
def test_phases_that_fuse_may_be_unequal(engine: Engine) -> None:
    """Eight lanes on one bank's word, then twelve pairs on as many words of another bank."""
    groups = (range(4), range(4, 8), range(8, 20), range(20, 32))
    own = Instruction("OWN", 8, 4, fuses=True, groups=groups)
    row = np.array([8] * 8 + [128 * (lane // 2) for lane in range(8, 32)])
    counts = count(own, row, engine=engine)
    assert (int(counts.phases), int(counts.wavefronts)) == (2, 13)


def test_a_figure_of_one_access_is_a_number():
    one, several = count("LDS", [0] * 32), count("LDS", [[0] * 32])
    assert isinstance(one.wavefronts, np.int32)
    assert f"{one.wavefronts:,}" == "1"  # which an array without a shape does not do
    assert several.wavefronts.shape == (1,)
