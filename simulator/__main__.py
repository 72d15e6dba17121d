"""`python -m simulator` is the command `bankwise`."""

import sys

from simulator.cli import main

sys.exit(main())
