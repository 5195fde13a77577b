"""What of a package no call uses is not imported with it, and there as soon as somebody asks for it."""

import subprocess
import sys

from tests.conftest import TOP

TOLD = """
import sys
import tasks.models.openai, tasks.runtime.storage
def known(start):
    return [name for name in sys.modules if name.startswith(start)]
assert not known("sqlalchemy.dialects.postgresql"), known("sqlalchemy.dialects.postgresql")
assert not known("openai.resources"), known("openai.resources")
assert len(before := known("openai.types.")) < 150, len(before)
import openai
from openai.types.responses import Response
assert openai.types.responses.Response is Response
assert openai.types.Model.__module__ == "openai.types.model"
assert openai.types.chat.ChatCompletion.__name__ == "ChatCompletion"
assert not hasattr(openai.types, "nosuch")
assert len(known("openai.types.")) > 300
"""


def test_a_client_imports_no_types_that_it_never_reads() -> None:
    done = subprocess.run([sys.executable, "-c", TOLD], cwd=TOP, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
