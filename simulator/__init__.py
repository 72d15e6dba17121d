"""How many wavefronts shared-memory accesses cost, and why."""
