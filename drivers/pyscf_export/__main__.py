# mypy: ignore-errors
"""The exporter as a program: `python3 -m pyscf_export`, or `python3 FOLDER` with this folder."""

import os
import sys

if __package__:
    from .command import main
else:
    # Python was given the folder itself, and looks there for modules first. The package is in the folder above.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from pyscf_export.command import main

if __name__ == "__main__":
    sys.exit(main())
