"""Triton's kernels, launched by Triton itself and replayed: its driver is replaced, no more."""
