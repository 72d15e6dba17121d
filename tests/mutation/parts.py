"""Which modules are changed, and which tests judge each."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PARTS", "Part"]


@dataclass(frozen=True)
class Part:
    """Modules, and the tests that judge their mutants: what pytest is given."""

    files: tuple[str, ...]
    tests: tuple[str, ...]
    seconds: float = 60
    """After so long a mutant counts as killed: it hangs."""
    as_python: bool = False
    """Whether Numba's functions run as plain Python."""


_JUDGE = "tests/mutation/judge_engines.py"
_H200 = "tests/silicon/test_h200.py"
_PARTNERS = "tests/unit/law/test_counting.py::test_phases_fuse_by_any_partner"
_NOT_COMPILED = ("-k", "not numba")  # Numba would compile anew for each mutant
_COUNTERS = f"{_H200}::test_wavefronts_and_conflicts_equal_the_counters"

PARTS: dict[str, Part] = {
    "specification": Part(
        ("simulator/law/specification.py",),
        (
            f"{_COUNTERS}[h200_atomics-520-python]",
            _JUDGE,
            f"{_H200}::test_ideal_equals_the_source_view_wherever_its_wavefronts_equal_the_law",
            f"{_H200}::test_measured_cycles_lie_within_half_a_cycle_of_the_model",
            "tests/unit/law/test_specification.py",
            "tests/unit/law/test_explaining.py",
            "tests/unit/law/test_instructions.py",
            *_NOT_COMPILED,
            *(f"{_PARTNERS}[{partner}-python]" for partner in (1, 3, 31)),
        ),
    ),
    "numpy": Part(
        ("simulator/law/numpy_engine.py",),
        (
            *(f"{_PARTNERS}[{partner}-numpy]" for partner in (1, 3, 4, 6, 31)),
            "tests/unit/law/test_counting.py::test_phases_that_fuse_may_be_unequal[numpy]",
            _JUDGE,
            f"{_COUNTERS}[h200_accesses-6080-numpy]",
        ),
    ),
    "tables": Part(
        ("simulator/law/instructions.py",),
        (
            "tests/unit/law/test_instructions.py",
            *_NOT_COMPILED,
            f"{_COUNTERS}[h200_accesses-6080-numpy]",
            f"{_COUNTERS}[h200_atomics-520-numpy]",
            f"{_H200}::test_ideal_equals_the_source_view_wherever_its_wavefronts_equal_the_law",
            f"{_H200}::test_measured_cycles_lie_within_half_a_cycle_of_the_model",
            "tests/silicon/test_recorded_campaign.py::test_every_counted_access_is_equal",
            "tests/silicon/test_recorded_campaign.py::test_residues_are_what_repeats",
            "tests/unit/law/test_capabilities.py",
            _JUDGE,
            "simulator/law/instructions.py",
        ),
        seconds=240,
    ),
    "turns": Part(
        (
            "simulator/law/copies.py",
            "simulator/law/loops.py",
            "simulator/law/numpy_turns.py",
            "simulator/law/turns.py",
        ),
        (
            "tests/unit/law/test_turns.py",
            "tests/unit/law/test_copies.py",
            "tests/unit/law/test_loops.py",
            f"{_JUDGE}::test_copies_from_anywhere",
            f"{_JUDGE}::test_loops_of_atomics",
            "simulator/law/copies.py",
        ),
    ),
    "neighbours": Part(
        ("simulator/law/neighbours.py", "simulator/law/neighbour_atomics.py"),
        (
            "tests/unit/law/test_neighbours.py",
            "tests/unit/law/test_neighbour_atomics.py",
            "simulator/law/neighbours.py",
            "tests/silicon/test_hopper_units.py",
        ),
    ),
    "learnt": Part(
        ("simulator/law/tables.py", "simulator/law/chip_files.py"),
        (
            "tests/unit/law/test_chip_files.py",
            "simulator/law/chip_files.py",
        ),
    ),
    "masks": Part(
        ("simulator/law/masks.py",), ("tests/unit/law/test_masks.py", "simulator/law/masks.py")
    ),
    "closed-forms": Part(
        ("simulator/law/closed_form.py",),
        (
            "simulator/law/closed_form.py",
            f"{_JUDGE}::test_closed_forms",
            f"{_H200}::test_closed_forms_equal_the_counters[python]",
            "tests/property/test_closed_form.py::test_refusals",
            "tests/property/test_closed_form.py::test_refusals_of_layouts_and_their_addresses",
            "tests/property/test_closed_form.py::test_the_compiled_engine_answers_if_it_is_named",
            "tests/property/test_closed_form.py::test_whether_columns_are_strides_is_named",
            "tests/property/test_closed_form.py::test_columns_come_back",
            "tests/property/test_closed_form.py::test_one_lane_off_is_not_linear",
            "tests/property/test_closed_form.py::test_few_layouts_need_no_compiler",
        ),
    ),
    "compiled": Part(
        (
            "simulator/law/numba_engine.py",
            "simulator/law/linear_engine.py",
            "simulator/law/numba_turns.py",
        ),
        ("tests/mutation/judge_compiled.py",),
        seconds=120,
        as_python=True,
    ),
    "pipes": Part(
        ("simulator/timing/pipes.py",),
        (
            "tests/unit/timing/test_demands.py",
            "tests/unit/timing/test_pipes.py",
            "simulator/timing/pipes.py",
        ),
    ),
    "fixing": Part(
        (
            "simulator/fixing/said.py",
            "simulator/fixing/triton_layouts.py",
            "simulator/sass/run/moves.py",
        ),
        (
            "tests/unit/fixing/test_said.py",
            "tests/unit/fixing/test_triton_layouts.py",
            "tests/unit/fixing/test_edits.py",
            "tests/unit/fixing/test_runs.py",
            "simulator/fixing/triton_layouts.py",
        ),
    ),
}
