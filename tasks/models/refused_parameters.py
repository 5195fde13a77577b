"""What a server's refusal names: a parameter, a schema or a message's role, in whatever words and quotes."""

import re
from collections.abc import Sequence
from dataclasses import replace

from basic_control.data.records import Message

# As in: unsupported parameter, does not support, extra inputs are not permitted, only the default (1) value is
# supported, only 1 is allowed for this model, `temperature` is deprecated for this model, may only be set to 1 when
# thinking is enabled, must be unset
_UNSUPPORTED = re.compile(
    r"unsupported|unknown|unrecogni[sz]ed|unexpected|unimplemented|deprecated|extra_forbidden|cannot find field"
    r"|(?:not|n't|no longer) (?:\w+ ){0,2}(?:support|permit|allow|accept|available|implement|enabled|recogni)"
    r"|only (?:the default|be set|\S{1,9} is allowed)|\bunset\b|cannot (?:both )?be (?:set|used|specified|combined)"
    r"|invalid (?:parameter|argument)"
)
# As in: response_format is not supported, failed to compile grammar (xgrammar), JSON schema conversion failed
# (llama.cpp), Unimplemented keys: ["uniqueItems"] (guidance), invalid format (Ollama)
_STRUCTURED = re.compile(
    r"response_?format|text\.format|json_object|'json'|json mode|schema|grammar|guided|guidance|outlines|structured"
    r"|unimplemented keys|(?:invalid|unsupported) format|\bformat\b.{0,40}not support"
)
# As in: System role not supported, 'messages[0].role' does not support 'system', Developer instruction is not
# enabled, Conversation roles must alternate, Only user and assistant roles are supported!
_SYSTEM = re.compile(
    r"\bsystem\b.{0,80}\b(?:role|message|prompt|instruction)|\b(?:role|messages?)\b.{0,80}\bsystem\b"
    r"|developer instruction|roles must alternate|only user,? (?:and )?(?:assistant|model)",
    re.DOTALL,
)


def is_unsupported(text: str) -> bool:
    """Return whether a refusal, in lower case, says that something is not supported at all."""
    return bool(_UNSUPPORTED.search(text))


def names_structure(text: str) -> bool:
    """Return whether a refusal, in lower case, is about how JSON was asked for."""
    return bool(_STRUCTURED.search(text))


def names_system(text: str) -> bool:
    """Return whether a refusal, in lower case, is about the system message."""
    is_alternating = "must alternate" in text or "only user" in text
    return bool(_SYSTEM.search(text)) and (is_alternating or is_unsupported(text) or "invalid" in text)


def names_parameter(name: str, param: str, text: str) -> bool:
    """Return whether a refusal names a parameter: in its field, or in its words, whatever the quotes.

    `reasoning.effort` is a flat one. What stands in a longer name, such as `seed` in `seeded`, is not it.
    """
    if param and name in {param, param.replace(".", "_"), param.partition(".")[0]}:
        return True
    spelled = re.escape(name.lower()).replace("_", "[_ -]")
    return bool(re.search(rf"(?<![\w-]){spelled}(?![\w-])", text))


def merge_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return messages with the system's put at the beginning of the user's first."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    remaining = [message for message in messages if message.role != "system"]
    for number, message in enumerate(remaining):
        if message.role == "user":
            remaining[number] = replace(message, content=f"{system}\n\n{message.content}")
            return tuple(remaining)
    return (Message("user", system), *remaining)
