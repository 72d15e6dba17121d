"""What instructions, memory and launches cost in time: the source of a chip's timing data.

`python -m gpu_check.timing FOLDER PREFIX` runs all microbenchmarks in a few minutes, beside a GPU.
"""
