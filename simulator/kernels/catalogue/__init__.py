"""Kernels of published tutorials: each module here describes those of one document."""
