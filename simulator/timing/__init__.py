"""From executed instructions to time: what a chip's pipes can do, and how long a kernel takes.

`rates` is what instructions cost, `pipes` a lower bound of the time from the work of each pipe.
"""
