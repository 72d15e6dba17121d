"""The strategies that users get, under the name by which the tests know them."""

from simulator.testing.strategies import accesses, addresses, instructions, masks, of

__all__ = ["accesses", "addresses", "instructions", "masks", "of"]
