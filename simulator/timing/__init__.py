"""From executed instructions to cycles: bounds by pipes, and one SM cycle by cycle."""
