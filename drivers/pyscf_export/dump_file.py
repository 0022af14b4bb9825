# mypy: ignore-errors
"""The file of a dump: which file it may replace, its attributes and arrays, and its name. Needs no PySCF."""

import contextlib
import errno
import math
import os
import re
import resource
import secrets
import stat

import h5py
import numpy as np

from .checksums import BlockSums, seal, seal_block
from .errors import ExportError


def _not_written(filename, reason):
    return OSError(f"{filename}: this dump cannot be written ({reason}); see whether the disk is full, or choose another folder.")


class Dump:
    """A dump during writing: the file, and the checksums of its datasets so far."""

    def __init__(self, file, filename):
        """`filename`: the name that the complete file will have."""
        self.file, self.attrs, self.filename, self.sums, self.block, self.bytes = file, file.attrs, filename, {}, None, 0

    def begin(self, reference, kind, omega2, largest, strings, version=1):
        """Writes the attributes of every dump. `largest`: elements of its largest array; `strings`: optional attributes."""
        self.block = seal_block(largest)
        self.attrs["version"] = version
        for name, text in {"format": "trifuse-dump", "reference": reference, "amplitudes": kind, **strings}.items():
            self.set_string(name, text)
        if omega2 is not None:
            self.attrs["omega2"] = omega2

    def _require_room(self, size):
        """Raises OSError if `size` more bytes do not fit. HDF5 2.0 crashes when a dataset is closed that it could not write."""
        self.bytes += size
        limit, disk = resource.getrlimit(resource.RLIMIT_FSIZE)[0], os.statvfs(os.path.dirname(self.filename))
        if limit != resource.RLIM_INFINITY and self.bytes > limit:
            raise _not_written(self.filename, os.strerror(errno.EFBIG))
        if size > disk.f_bavail * disk.f_frsize:
            raise _not_written(self.filename, os.strerror(errno.ENOSPC))

    def set_string(self, name, text):
        """Sets a string attribute of fixed length. HDF5 stores strings of variable length in a heap without a checksum."""
        value = text.encode()
        self.attrs.create(name, value, dtype=h5py.string_dtype("utf-8", max(1, len(value))))

    def write(self, name, shape, dtype, rows):
        """Writes a dataset from its rows, one after another along the first axis."""
        self._require_room(math.prod(shape) * np.dtype(dtype).itemsize)
        dataset = self.file.create_dataset(name, shape, dtype)
        sums = BlockSums(self.block)
        if 0 not in shape:
            for n, row in enumerate(rows):
                dataset[n] = row
                sums.add(np.asarray(row))
        self.sums[name] = sums.result()

    def write_array(self, name, array):
        """Writes a dataset from an array in memory."""
        self.write(name, array.shape, array.dtype, array)

    def seal(self):
        """Adds the checksums of the datasets written so far, and of the attributes."""
        seal(self.file, self.sums, self.block)


def _is_earlier_dump(filename, kind, program):
    """True if this exporter wrote this file for this program and with this kind of amplitudes."""
    try:
        with h5py.File(filename, "r") as file:
            expected = {"format": "trifuse-dump", "amplitudes": kind}
            found = {name: file.attrs.get(name, b"") for name in ("program", *expected)}
    except (OSError, RuntimeError, ValueError, TypeError, KeyError):
        return False
    found = {name: value.decode(errors="replace") if isinstance(value, bytes) else value for name, value in found.items()}
    return str(found.pop("program")).startswith(program) and found == expected


def may_take(filename, kind, overwrite, program="PySCF "):
    """True if the file exists and may be replaced. Raises ExportError if it must not be replaced."""
    try:
        mode = os.lstat(filename).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    name = os.fsdecode(filename)
    if stat.S_ISLNK(mode):
        if not overwrite:
            raise ExportError(f"{name}: this is a symbolic link, and dumps do not follow links; name the file itself, "
                              "or replace the link with overwrite (overwrite=True, --overwrite).")
    elif not stat.S_ISREG(mode):
        raise ExportError(f"{name}: this is not a regular file; give the dump another name.")
    elif not overwrite and not _is_earlier_dump(filename, kind, program):
        raise ExportError(f"{name}: this file exists already and is not an earlier {kind} dump of this exporter; "
                          "give the dump another name, or allow replacing it (overwrite=True, --overwrite).")
    return True


def check_target(filename, kind, overwrite, program="PySCF "):
    """Raises ExportError if a dump of this name cannot be written: its folder is missing or full, or the file must be kept.

    To be called before a long calculation. It makes a file in the folder and removes it again.
    """
    filename = os.path.abspath(os.fsdecode(filename))
    existed = may_take(filename, kind, overwrite, program)
    partial, descriptor = _create_beside(filename)
    os.close(descriptor)
    os.remove(partial)
    return existed


def _create_beside(filename):
    """A new, empty file in the same directory: its name and descriptor. Links are never followed."""
    directory, name = os.path.split(filename)
    stem = os.fsdecode(os.fsencode(name)[:200])  # file systems allow names of 255 bytes
    while True:
        partial = os.path.join(directory, f"{stem}.partial-{secrets.token_hex(8)}")
        try:
            return partial, os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            continue
        except OSError as error:
            cure = "make it, or name another one" if isinstance(error, (FileNotFoundError, NotADirectoryError)) else \
                "name another folder, or make this one writable"
            raise ExportError(f"{filename}: no file can be made in the folder {directory} ({error.strerror}); {cure}.") from error


def _take_name(partial, filename, existed, kind, overwrite, program):
    """Gives a complete file its name, unless another file has taken the name meanwhile."""
    exists = may_take(filename, kind, overwrite, program)
    if not overwrite and not existed:
        appeared = ExportError(f"{filename}: another program made this file meanwhile, and it is kept.")
        if exists:
            raise appeared
        try:
            os.link(partial, filename)  # never replaces a file
            return
        except FileExistsError:
            raise appeared from None
        except OSError:  # a file system without hard links
            pass
    os.replace(partial, filename)


@contextlib.contextmanager
def new_dump(filename, kind, overwrite, program="PySCF "):
    """A dump that takes its name when it is complete, sealed and on the disk. An exception removes it.

    It may replace an earlier dump of the same kind whose attribute `program` begins with this text.
    """
    filename = os.path.abspath(os.fsdecode(filename))
    existed = may_take(filename, kind, overwrite, program)
    partial, descriptor = _create_beside(filename)
    try:
        # The format of HDF5 1.10 has checksums of all metadata. Older formats have none.
        with h5py.File(partial, "w", libver=("v110", "v110")) as file:
            dump = Dump(file, filename)
            yield dump
            dump.seal()
        os.fsync(descriptor)
        _take_name(partial, filename, existed, kind, overwrite, program)
    except (OSError, RuntimeError) as error:  # h5py raises both, with the name of the temporary file
        if partial not in str(error):
            raise
        reason = re.search(r"error message = '([^']*)'", str(error))
        raise _not_written(filename, reason[1] if reason else "error of HDF5") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)
        os.close(descriptor)
    with contextlib.suppress(OSError):  # some file systems cannot flush the name
        directory = os.open(os.path.dirname(filename), os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
