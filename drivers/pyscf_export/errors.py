# mypy: ignore-errors
"""The exceptions of this package."""


class ExportError(Exception):
    """One sentence that says what cannot be exported."""


class NotSupported(ExportError):
    """The calculation may be right, but its amplitudes cannot be exported."""
