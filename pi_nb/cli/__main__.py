"""``python -m pi_nb.cli``."""

import sys

from pi_nb.cli import main

sys.exit(main())
