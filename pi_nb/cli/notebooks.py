"""The notebooks that come with the package."""

from __future__ import annotations

from pathlib import Path

import pi_nb
from pi_nb.errors import UserError

__all__ = ["QUICKSTART", "notebook_folder", "quickstart"]

QUICKSTART = "01_quickstart.ipynb"


def notebook_folder() -> Path:
    """Return the folder with the notebooks: inside an installed package, beside it in a checkout.

    Raises:
        UserError: The package was installed without them.
    """
    package = Path(pi_nb.__file__).parent
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if (folder / QUICKSTART).is_file():
            return folder
    raise UserError(f"{QUICKSTART} is not there.", hint="Install pi-nb again; its wheel carries the notebooks.")


def quickstart() -> Path:
    """Return the notebook to begin with.

    Raises:
        UserError: The package was installed without it.
    """
    return notebook_folder() / QUICKSTART
