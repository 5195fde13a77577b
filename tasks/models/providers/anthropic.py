"""Claude, by Anthropic's Messages API."""

from importlib.util import find_spec
from typing import Any

from basic_control.data.decorators import provider
from basic_control.data.extras import format_install


def _find_lack(model: Any) -> str:
    """Return what keeps an entry from answering: the extra that is not installed."""
    del model
    if find_spec("anthropic") is None:
        return f"the extra `anthropic` is not installed; run: {format_install('anthropic')}"
    return ""


@provider(unready=_find_lack)
def anthropic(model: Any) -> Any:
    """Return a client of Anthropic's messages."""
    from basic_control.tasks.models.anthropic import AnthropicClient

    return AnthropicClient(model)
