"""The texts of a log's rows, kept in a file without a name until they are shown: they may be gigabytes."""

import struct
from tempfile import SpooledTemporaryFile

from data.errors import InputError

_IN_MEMORY = 8 << 20
"""Bytes up to which there is no file."""
_LENGTHS = struct.Struct("<3q")


class Texts:
    """Of each row its question, what is expected and the response; gone with the object."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - it lives as long as its texts
        self._end = 0

    def keep(self, *texts: str | None) -> int:
        """Keep a row's texts, and return what they are read by.

        Raises:
            InputError: the disk is full.
        """
        parts = [None if text is None else text.encode() for text in texts]
        lengths = _LENGTHS.pack(*(-1 if part is None else len(part) for part in parts))
        whole = lengths + b"".join(filter(None, parts))
        try:
            self._file.write(whole)
        except OSError as error:
            raise InputError(
                f"the texts of a file cannot be kept in the temporary folder ({error.strerror}); name another by "
                "TMPDIR."
            ) from error
        at, self._end = self._end, self._end + len(whole)
        return at

    def read(self, at: int) -> list[str | None]:
        """Return the question, answer and response of a row; None stands for a response that was never written."""
        self._file.seek(at)
        lengths = _LENGTHS.unpack(self._file.read(_LENGTHS.size))
        return [None if n < 0 else self._file.read(n).decode() for n in lengths]
