"""``python -m pi_nb.cli``."""

import sys

from pi_nb.cli import main

if __name__ == "__main__":
    sys.exit(main())
