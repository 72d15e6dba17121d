"""A warp's reads of a GEMM's tiles: `simulate`, its geometry; occupancy; estimates."""
