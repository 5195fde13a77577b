"""A case of JUnit XML: for a gate, with its outcome as a build takes it, and its text, which may be a model's."""

import re
from xml.etree import ElementTree as ET

from basic_control.data.characters import make_visible

# What XML 1.0 cannot hold even escaped, such as U+0000 or U+FFFE.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def strip_forbidden(text: object) -> str:
    """Return text with characters that XML 1.0 forbids written as U+XXXX: it may come from a model."""
    return make_visible(_FORBIDDEN.sub(lambda sign: f"<U+{ord(sign[0]):04X}>", str(text)))


def open_case(name: str, class_name: str) -> ET.Element:
    """Return a case that passes until something is added to it."""
    return ET.Element("testcase", name=strip_forbidden(name), classname=strip_forbidden(class_name), time="0.000")


def is_failing(outcome: str, *, decides_exit: bool, undecided_passes: bool) -> bool:
    """Return whether an outcome fails a build: an error does in any case, the rest if it decides the exit code."""
    if outcome == "error":
        return True
    is_failed = outcome in {"fail", "regressed"} or (outcome == "undecided" and not undecided_passes)
    return decides_exit and is_failed


def build_case(
    name: str, class_name: str, outcome: str, text: str, *, decides_exit: bool, undecided_passes: bool
) -> ET.Element:
    """Return a gate's test case, which fails only if the gate affects the exit code (`decides_exit`)."""
    case = open_case(name, class_name)
    text = strip_forbidden(text)
    if outcome == "error":
        ET.SubElement(case, "error", type=outcome, message=text)
    elif is_failing(outcome, decides_exit=decides_exit, undecided_passes=undecided_passes):
        ET.SubElement(case, "failure", type=outcome, message=text).text = text
    elif outcome == "undecided" and decides_exit:
        ET.SubElement(case, "skipped", message=f"undecided: {text}")
    elif outcome not in {"none", "pass", "held"}:
        ET.SubElement(case, "skipped", message=f"{outcome}, and the gate is off: {text}")
    ET.SubElement(case, "system-out").text = text
    return case
