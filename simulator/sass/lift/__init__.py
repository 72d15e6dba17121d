"""Machine code to LLVM IR: what an opcode does, written once, for all lanes of a warp.

`values` gives LLVM's values Python's operators. `line` reads an instruction's operands; `opcodes`
holds a short function for each opcode; `program` decodes a kernel with them; `block` lifts a
straight run of it to one LLVM function; `memory` and `subwarps` are the functions that such
blocks call; `layout` says where the state lies; `engine` compiles and links.
"""

import simulator.sass.lift.opcodes  # noqa: F401  fills the table of opcodes
