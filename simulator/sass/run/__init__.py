"""Running lifted machine code: the scheduler of a block's warps, launches, what they counted.

Beside the instructions run tensor maps, bulk copies, mbarriers and wgmma.
"""
