"""From the text of an instruction to what the machine executes."""
