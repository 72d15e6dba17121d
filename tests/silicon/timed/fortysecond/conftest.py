"""Triton's kernels here have no examples, and Triton is not everywhere: they are not collected."""

collect_ignore_glob = ["*.py"]
