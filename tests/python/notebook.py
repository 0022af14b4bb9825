#!/usr/bin/env python3
"""Notebooks of scripts whose cells begin with `# %%` (code) or `# %% [markdown]`.

    python3 tests/python/notebook.py inputs/pyscf/tutorial.py       # writes inputs/pyscf/tutorial.ipynb, without outputs
"""

import json
import pathlib
import re
import sys


def cells_of(script):
    """The cells of a script as (kind, text)."""
    parts = re.split(r"^# %%( \[markdown\])?\n", script, flags=re.MULTILINE)[1:]
    for marker, text in zip(parts[::2], parts[1::2]):
        text = text.strip("\n")
        yield ("markdown", re.sub(r"^# ?", "", text, flags=re.MULTILINE)) if marker else ("code", text)


def notebook_of(script):
    """The text of the notebook of a script."""
    cells = []
    for number, (kind, text) in enumerate(cells_of(script)):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
        cells.append({**cell, "execution_count": None, "outputs": []} if kind == "code" else cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps({"cells": cells, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
                       "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


def main():
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        path.with_suffix(".ipynb").write_text(notebook_of(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
