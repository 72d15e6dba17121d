"""The tables of rates: complete, never above what was measured, equal to what was measured."""

from dataclasses import replace

import pytest

from gpu_check.recordings import packaged_table
from simulator.errors import ChipError
from simulator.law.chips import Chip
from simulator.timing.rates import CAPABILITIES, SUB_PARTITIONS, rates_of, table

FREE = {
    "NOP", "DEPBAR", "LDGDEPBAR", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "CCTLL", "CCTLT",
    "PMTRIG", "FENCE", "ACQBULK", "PREEXIT", "ENDCOLLECTIVE", "UTMACMDFLUSH", "UTMACCTL", "KILL",
    "BPT", "WARPGROUP", "USETMAXREG", "UCGABAR_ARV", "UCGABAR_WAIT", "QSPC", "CREDUX", "FADD2",
    "FMUL2", "FFMA2", "UFADD", "UFMUL", "UFFMA", "UFMNMX", "UFSEL", "UFSETP", "UF2I", "UFRND",
    "UF2FP", "QMMA", "CS2UR",
}  # fmt: skip
"""Opcodes that are known to cost no more than an issue slot, or whose cost nobody published."""
SPLIT = {"IMAD.WIDE", "BAR"}  # their loops hold other instructions, or wait for other warps


def _recorded() -> dict[str, dict[str, float]]:
    return {
        row["op"]: {name: float(row[name]) for name in row if name != "op"}
        for row in packaged_table("h100_pipes")
    }


@pytest.mark.parametrize(
    ("name", "level", "along"),
    [("residency", "written", "share"), ("residency_shared", "sharers", "share"),
     ("local_near", "passes", "size"), ("local_far", "written", "share"),
     ("local_last", "", "size"), ("random_reads", "", "share")],
)  # fmt: skip
def test_rows_between_which_lines_are_drawn_stand_in_order(
    name: str, level: str, along: str
) -> None:
    places: dict[tuple[str, str], list[float]] = {}
    for row in table(name):
        place = row.get("chip", ""), row.get(level, "")
        places.setdefault(place, []).append(float(row[along]))
    assert all(each == sorted(set(each)) for each in places.values())


@pytest.mark.parametrize("row", packaged_table("h100_matrices"), ids=lambda row: row["op"])
def test_matrix_products_take_what_they_took(row: dict[str, str]) -> None:
    rate = rates_of("H100")[row["op"]]
    best = min(float(row[f"warps_{warps}"]) for warps in (4, 8))
    assert rate.pipes == ("tensor",)
    assert rate.interval == pytest.approx(best * SUB_PARTITIONS, rel=0.02)
    assert rate.latency == pytest.approx(float(row["latency"]), abs=0.05)
    assert rate.peak is not None
    assert rate.peak <= rate.interval


def test_every_opcode_of_the_machine_has_a_group() -> None:
    from simulator.sass.lift.table import OPCODES

    h100 = rates_of("H100")
    spelled = {"HMMA": ".16816.F32", "IMMA": ".16832.S8.S8", "DMMA": ".884"}
    spelled |= {f"{name}GMMA": ".64x64x32.F32" for name in "HQIB"}
    other = {name for name in OPCODES if h100[name + spelled.get(name, "")].group == "other"}
    assert other ^ FREE == set(), (
        "put it into a row of simulator/timing/data/instructions.csv, or else into FREE"
    )


def test_no_measured_interval_beats_the_published_peak() -> None:
    for chip in ("H100", "H200"):
        rates = rates_of(chip)
        for row in table("instructions"):
            rate = rates[row["opcodes"].split()[0]]
            if rate.interval is not None and rate.peak is not None:
                assert rate.interval >= rate.peak, row["group"]


def test_tables_equal_what_was_measured() -> None:
    """A loop adds an instruction to 64, and a full pipe some per cent."""
    recorded = _recorded()
    rates = rates_of("H100")
    compared = 0
    for row in table("instructions"):
        name = row["measured"]
        if not name or row["interval"] == "" or row["opcodes"].split()[0] in SPLIT:
            continue
        of_sm = not row["pipes"] or rates.pipes[row["pipes"].split()[-1]].is_shared
        best = min(recorded[name][f"warps_{warps}"] for warps in (4, 8, 16, 32))
        cycles = best * (1 if of_sm else SUB_PARTITIONS) / (1 + name.count("+"))
        wide = {"LDS.64": 2, "LDS.128": 4, "LDSM.4": 4}.get(name, 1)  # wavefronts
        assert cycles / wide == pytest.approx(float(row["interval"]), rel=0.16), row["group"]
        if row["latency"] and "+" not in name and name not in ("HFMA2",):
            assert recorded[name]["latency"] == pytest.approx(float(row["latency"]), abs=0.4)
        compared += 1
    assert compared >= 20


@pytest.mark.parametrize("opcode", ["HMMA.16816.F32", "HMMA.1688.F32", "IMMA.16832.S8.S8"])
def test_matrix_products_equal_what_was_measured(opcode: str) -> None:
    rate = rates_of("H100")[opcode]
    recorded = _recorded()[opcode]
    assert rate.interval == pytest.approx(recorded["warps_8"] * SUB_PARTITIONS, rel=0.01)
    assert rate.latency == pytest.approx(recorded["latency"], rel=0.01)


def test_a_pipe_is_held_no_longer_than_a_group_needs() -> None:
    """Where several pipes share a group, each holds an instruction for its own cycles."""
    for capability, chip in ((70, "V100"), (75, "T4"), (80, "A100"), (86, "RTX 3080"), (89, "L4")):
        assert capability in CAPABILITIES
        rates = rates_of(chip)
        assert not rates.is_measured
        assert rates["FFMA"].interval is None
        for row in table("instructions"):
            rate = rates[row["opcodes"].split()[0]]
            if rate.peak is None:
                continue
            assert rate.held is not None
            assert rate.held <= rate.peak * max(1, len(rate.pipes)), (chip, row["group"])
    assert rates_of("A100")["FFMA"].pipes == ("fmaheavy",)
    assert rates_of("A100")["FFMA"].peak == 2


def test_a_chip_without_tables_is_refused() -> None:
    newer = replace(Chip.of("H200"), name="Newer", capability=999)
    with pytest.raises(ChipError, match=r"Newer has compute capability 99\.9.*accepted"):
        rates_of(newer)


def test_no_wgmma_beats_its_peak() -> None:
    """Each of four warps has a quarter of a product, on a sub-partition of its own."""
    from simulator.timing.control import control
    from simulator.timing.products import operand_wavefronts
    from simulator.timing.work import WorkInstruction

    units = {"f16": "H", "bf16": "H", "tf32": "H", "s8": "I", "u8": "I", "b1": "B"}
    rates, exact = rates_of("H100"), 0
    for row in packaged_table("h100_wgmma"):
        unit = units.get(row["type"].split(".")[0], "Q")
        suffix = {"bf16": ".BF16", "tf32": ".TF32"}.get(row["type"], "")
        opcode = f"{unit}GMMA.64x{row['n']}x{row['k']}.{row['accumulator'].upper()}{suffix}"
        peak = rates[opcode].peak
        operands = "R24,gdesc[UR4],R24" if row["a"] == "SS" else "R24,R4,gdesc[UR4],R24"
        work = WorkInstruction(0, "", opcode, operands, control(0))
        reads = 4 * operand_wavefronts(work)
        assert reads == float(row["wavefronts"]), row
        assert peak is not None
        least = max(peak, reads)
        assert least <= float(row["cycles"]) + 0.25, row  # of few products, so to a quarter
        exact += least > 0.97 * float(row["cycles"])
    assert exact > 300


def test_a_sum_of_two_and_a_division_check_are_not_the_alus() -> None:
    rates = rates_of(Chip.of("H100"))
    assert rates["VIADD"].pipes == ("fmaheavy",)
    assert rates["FCHK"].pipes == ("xu",)
    assert rates["VIADDMNMX"].pipes == ("alu",)
