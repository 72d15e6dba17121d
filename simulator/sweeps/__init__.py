"""Every combination of some parameters, counted on all processors and kept where asked."""
