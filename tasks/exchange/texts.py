"""The texts of a log's rows, kept in a file without a name until they are shown: they may be gigabytes."""

import marshal
from tempfile import SpooledTemporaryFile

from data.errors import InputError

_IN_MEMORY = 8 << 20
"""Bytes up to which there is no file."""


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
        whole = marshal.dumps(texts)
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
        return [*marshal.load(self._file)]  # noqa: S302 - of what was written above
