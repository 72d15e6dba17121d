"""Running lifted machine code: the scheduler of a block's warps, launches, what they counted."""
