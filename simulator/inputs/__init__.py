"""What a caller writes, read once for Python, the command line and pytest: C expressions, files."""
