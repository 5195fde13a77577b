"""A case of JUnit XML: for a gate, with its outcome as a build takes it, and its text, which may be a model's."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

from basic_control.data.characters import make_visible

# What XML 1.0 cannot hold even escaped, such as U+0000 or U+FFFE.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Part = tuple[str, str, str]
"""A suite, a model, and the metric that decides; '' where several do together."""


def strip_forbidden(text: object) -> str:
    """Return text with characters that XML 1.0 forbids written as U+XXXX: it may come from a model."""
    return make_visible(_FORBIDDEN.sub(lambda sign: f"<U+{ord(sign[0]):04X}>", str(text)))


def open_case(name: str, class_name: str, seconds: float = 0.0) -> ET.Element:
    """Return a case that passes until something is added to it."""
    names = {"name": strip_forbidden(name), "classname": strip_forbidden(class_name)}
    return ET.Element("testcase", **names, time=f"{seconds:.3f}")


@dataclass(frozen=True, slots=True)
class Gate:
    """A decision that a build reads as a test, with its text; `parts` are the scores whose rows it is about."""

    name: str
    class_name: str
    outcome: str
    text: str
    decides_exit: bool = True
    undecided_passes: bool = False
    parts: Collection[Part] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    warnings: Sequence[str] = ()

    @property
    def is_failing(self) -> bool:
        """Whether it fails a build: an error does in any case, the rest if it affects the exit code."""
        failing = {"fail", "regressed"} if self.undecided_passes else {"fail", "regressed", "undecided"}
        return self.outcome == "error" or (self.decides_exit and self.outcome in failing)

    def build_case(self) -> ET.Element:
        """Return its test case."""
        case, text = open_case(self.name, self.class_name), strip_forbidden(self.text)
        if self.outcome == "error":
            ET.SubElement(case, "error", type="error", message=text)
        elif self.is_failing:
            ET.SubElement(case, "failure", type=self.outcome, message=text).text = text
        elif self.outcome == "undecided" and self.decides_exit:
            ET.SubElement(case, "skipped", message=f"undecided: {text}")
        elif self.outcome not in {"none", "pass", "held"}:
            ET.SubElement(case, "skipped", message=f"{self.outcome}, and the gate is off: {text}")
        ET.SubElement(case, "system-out").text = text
        if self.properties:
            properties = ET.SubElement(case, "properties")
            for title, value in self.properties.items():
                ET.SubElement(properties, "property", name=strip_forbidden(title), value=strip_forbidden(value))
        if self.warnings:
            ET.SubElement(case, "system-err").text = strip_forbidden("\n".join(self.warnings))
        return case
