"""The outcome as JUnit's XML: a test case per access or launch.

https://github.com/testmoapp/junitxml describes the format that CI services read.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from simulator.checking.printing import printable, relative
from simulator.checking.report import CheckReport

__all__ = ["as_junit"]


def as_junit(report: CheckReport, root: Path) -> str:
    """Return a document with one suite; a broken limit is a failure, bad input an error."""
    counts = {
        "tests": len(report.outcomes),
        "failures": report.count("broken"),
        "errors": report.count("error"),
    }
    numbers = {name: str(count) for name, count in counts.items()}
    suites = ElementTree.Element("testsuites", numbers)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "bankwise", **numbers})
    for outcome in report.outcomes:
        one = outcome.measured
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {
                "name": printable(one.name),
                "classname": f"bankwise.{one.entry.kind}",
                "file": printable(relative(one.place.file, root)),
                "line": str(one.place.line),
            },
        )
        messages = [
            f"{relative(each.place.file, root)}:{each.place.line}: {each.message}"
            for each in outcome.findings
        ]
        if outcome.error:
            _problem(case, "error", "input", [outcome.error])
        elif messages:
            _problem(case, "failure", outcome.findings[0].limit, messages)
        if one.notes:
            out = ElementTree.SubElement(case, "system-out")
            out.text = printable("\n".join(one.notes), lines=True)
    ElementTree.indent(suites)
    text: str = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _problem(case: ElementTree.Element, tag: str, kind: str, messages: list[str]) -> None:
    first = printable(messages[0])
    problem = ElementTree.SubElement(case, tag, {"message": first, "type": kind})
    problem.text = printable("\n".join(messages), lines=True)
