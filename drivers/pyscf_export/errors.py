# mypy: ignore-errors
"""The exception of this package."""


class ExportError(Exception):
    """One sentence that says what cannot be exported."""
