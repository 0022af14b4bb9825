"""The command `python3 -m trifuse`, the same as `trifuse`."""

from ._program import main

if __name__ == "__main__":
    main()
