"""Exceptions and warnings of the package. Each message is one sentence that names the problem and a cure."""

from __future__ import annotations


class Error(Exception):
    """Base class of all exceptions of this package."""


class InputError(Error):
    """An array or a file is absent, unreadable or wrong, or a check of it failed."""


class UsageError(Error, ValueError):
    """An argument or a combination of arguments is not possible."""


class NotAvailable(UsageError):
    """This property of this object is not computed here; the own code of its program may compute it."""


class ResourceError(Error):
    """There is no memory or disk space, a file cannot be written, or a part of the installation is missing."""


class CancelledError(Error):
    """The function `progress` of the caller cancelled the run."""


class InternalError(Error):
    """An error of Trifuse itself. Please report it."""


class InputWarning(UserWarning):
    """A value of the input is possible but rare, or the input was trusted in spite of a failed check."""
