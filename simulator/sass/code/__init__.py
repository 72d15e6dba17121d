"""From a file to machine code: compilers, cubins, and the text of their instructions."""
