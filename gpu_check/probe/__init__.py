"""The kernel that makes one access at a time on a GPU, and how it is built, run and checked."""
