"""A suite of tests as JUnit XML, as CI servers read it."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from backends.results.escaping import one_line


def junit_document(suite: ET.Element, notes: Sequence[str]) -> str:
    """``notes``: as what the suite has printed, behind its tests, where the format has it: servers
    show that, and judge nothing by it."""
    if notes:
        ET.SubElement(suite, "system-out").text = "\n".join(map(one_line, notes))
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'
