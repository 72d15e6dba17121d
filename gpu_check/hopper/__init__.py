"""What Hopper's own units cost on a chip: wgmma, TMA, mbarriers, and a neighbour's shared memory.

`python -m gpu_check.hopper FOLDER PREFIX` measures everything in a few minutes, beside a GPU of
compute capability 9.0 or more; gpu_check/data/README.md describes the files.
"""
