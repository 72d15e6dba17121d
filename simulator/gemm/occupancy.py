"""How many blocks and warps one SM holds, and the registers that a thread's fragments take.

The sources in brackets are those of `simulator.gemm.estimates`, and

    [NVIDIA]     CUDA C++ Programming Guide, "Technical Specifications per Compute Capability",
                 https://docs.nvidia.com/cuda/cuda-c-programming-guide/, and the rounding rules
                 of the toolkit's header cuda_occupancy.h
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from layouts.errors import accepted
from layouts.warp import LANES
from simulator.errors import QuantityError
from simulator.gemm.quantities import Size, SizeOrZero, ceil_div, checked, size
from simulator.law.chips import CHIPS, Chip, ChipLike

__all__ = [
    "DEVICES",
    "Device",
    "Occupancy",
    "fragment_registers",
    "occupancy",
]


@dataclass(frozen=True)
class Device:
    """What limits the blocks on one SM. Sizes in bytes, registers of 32 bits.

    Raises QuantityError for a limit that is not a positive integer (`shared_reserved` may be 0).
    """

    name: str
    sms: int | None
    """None: not known."""
    warps_per_sm: int
    blocks_per_sm: int
    shared_per_sm: int
    shared_reserved: int = 1024
    """Taken from every block by the CUDA runtime, since compute capability 8.0."""
    shared_unit: int = 128
    """A block's shared memory is rounded up to this."""
    registers_per_sm: int = 65536
    register_unit: int = 256
    """A warp's registers are rounded up to this."""
    partitions: int = 4
    """Parts of an SM, each with its share of the registers."""
    threads_per_block: int = 1024
    registers_per_thread: int = 255

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "name" and not (field.name == "sms" and self.sms is None):
                size(field.name, getattr(self, field.name), int(field.name != "shared_reserved"))

    @classmethod
    def of(cls, chip: ChipLike) -> Device:
        """Return the limits of a chip.

        >>> Device.of("RTX 4090").blocks_per_sm
        24

        Raises ChipError for an unknown chip.
        """
        known = Chip.of(chip)
        return cls(
            known.name,
            known.multiprocessors,
            known.warps_per_sm,
            known.blocks_per_sm,
            known.shared_bytes_per_sm,
            shared_reserved=known.shared_reserved,
            shared_unit=128 if known.capability >= 80 else 256,
            registers_per_sm=known.registers_per_sm,
            threads_per_block=known.threads_per_block,
            registers_per_thread=known.registers_per_thread,
        )


DEVICES = {name: Device.of(name) for name in CHIPS}
"""The built-in chips, by name. The documents' are V100, RTX 3080 and RTX 4090.

[Bloonow] gives the V100's SMs, registers and warps, [junstar92] queries all of the RTX 3080 but
its 16 blocks, [ks] tabulates all of the RTX 4090.
"""


@dataclass(frozen=True)
class Occupancy:
    """How many blocks and warps one SM holds, and what each resource alone would allow."""

    blocks: int
    warps: int
    ratio: float
    """Active warps over the most that an SM can hold."""
    by_warps: int
    by_registers: int
    by_shared: int | None
    """None: neither the block nor the runtime takes any shared memory."""
    by_blocks: int

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources that allow no more blocks than there are.

        >>> occupancy(1024, 37, 8192, "RTX 3080").limited_by
        ('warps', 'registers')
        """
        resources = ("warps", "registers", "shared", "blocks")
        return tuple(name for name in resources if getattr(self, f"by_{name}") == self.blocks)


@checked
def fragment_registers(m_frag: Size, n_frag: Size, buffers: Size = 1) -> int:
    """Return the number of a thread's 32-bit registers for A, B and C.

    buffers·(m_frag + n_frag) + m_frag·n_frag, `buffers` being 2 with double buffering.

    >>> fragment_registers(8, 8)                       # [Bloonow] prints 8＋8＋64＝80
    80
    """
    return buffers * (m_frag + n_frag) + m_frag * n_frag


@checked
def occupancy(
    threads: Size, registers: Size, shared: SizeOrZero, device: Device | str
) -> Occupancy:
    """Return how many blocks fit an SM, with `registers` per thread and `shared` bytes per block.

    The least of four limits: whole warps; registers, rounded up for each warp and taken from the
    partition that the warp runs on; shared memory, rounded up, with what the runtime reserves;
    and the SM's number of blocks. A block too large to start gives 0 blocks, as CUDA's own
    occupancy functions do. More than 48 KB is taken to be opted into.

    >>> found = occupancy(1024, 37, 8192, "RTX 3080")
    >>> found.by_shared, found.by_warps, found.by_registers, f"{found.ratio:.0%}"
    (11, 1, 1, '67%')
    >>> occupancy(256, 128, 0, "V100").ratio
    0.25

    [junstar92] prints the first line, [Bloonow] the second. [ks]'s tables come out too, but for the
    shared-memory ones: they take 128 KB per SM and 32 blocks where its own device table (and the
    chip) says 100 KB and 24 blocks. They also leave out the reserved 1 KB per block.

    Raises QuantityError for a device that is neither a Device nor one of `DEVICES`.
    """
    known = DEVICES.get(device) if isinstance(device, str) else device
    if not isinstance(known, Device):
        raise QuantityError(f"unknown device {device!r}: {accepted(device, DEVICES)}, or a Device")
    warps = ceil_div(threads, LANES)
    by_warps = known.warps_per_sm // warps if threads <= known.threads_per_block else 0

    warp_registers = ceil_div(registers * LANES, known.register_unit) * known.register_unit
    by_registers = 0
    if registers <= known.registers_per_thread:
        per_partition = known.registers_per_sm // known.partitions // warp_registers
        by_registers = per_partition * known.partitions // warps

    taken = ceil_div(shared + known.shared_reserved, known.shared_unit) * known.shared_unit
    by_shared = known.shared_per_sm // taken if taken else None

    limits = (by_warps, by_registers, by_shared, known.blocks_per_sm)
    blocks = min(limit for limit in limits if limit is not None)
    return Occupancy(blocks, blocks * warps, blocks * warps / known.warps_per_sm, *limits)
