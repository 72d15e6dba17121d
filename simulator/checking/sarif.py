"""The outcome as SARIF 2.1.0, which code scanning services and editors read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from simulator.checking.judging import Finding, Outcome
from simulator.checking.measured import SourcePlace
from simulator.checking.printing import printable, relative
from simulator.checking.report import CheckReport

__all__ = ["as_sarif"]

_RULES = {
    "conflicts": "More bank conflicts than the limit allows",
    "excessive": "More excessive wavefronts than the limit allows",
    "wavefronts": "More wavefronts than the limit allows",
    "ways": "Bank conflicts of more ways than the limit allows",
    "cycles": "More cycles than the limit allows, as estimated",
    "speedup_without_conflicts": "Bank conflicts cost more time than the limit allows",
    "baseline": "Not in the baseline",
}
_NAMES = list(_RULES)


def as_sarif(report: CheckReport, root: Path) -> str:
    """Return a log with one run: a result per broken limit, a notification per entry in error."""
    results = [
        _result(outcome, each, root) for outcome in report.outcomes for each in outcome.findings
    ]
    errors = [each for each in report.outcomes if each.error]
    run = {
        "tool": {
            "driver": {
                "name": "bankwise",
                "version": version("bankwise"),
                "rules": [
                    {
                        "id": f"bankwise/{name}",
                        "shortDescription": {"text": text},
                        "defaultConfiguration": {"level": "error"},
                    }
                    for name, text in _RULES.items()
                ],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not errors,
                "exitCode": report.code,
                "toolExecutionNotifications": [
                    {
                        "level": "error",
                        "message": {"text": _text(f"{each.measured.name}: {each.error}")},
                        "locations": [_location(each.measured.place, root)],
                    }
                    for each in errors
                ],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(log, indent=2) + "\n"


def _result(outcome: Outcome, finding: Finding, root: Path) -> dict[str, Any]:
    name = outcome.measured.name
    line = _line(outcome, finding.place)
    print_ = sha256(_bytes("\0".join([name, finding.scope, finding.limit, line]))).hexdigest()
    return {
        "ruleId": f"bankwise/{finding.limit}",
        "ruleIndex": _NAMES.index(finding.limit),
        "level": "error",
        "message": {"text": _text(f"{name}: {finding.message}")},
        "locations": [_location(finding.place, root)],
        "partialFingerprints": {"bankwise/v1": print_},
    }


def _bytes(text: str) -> bytes:
    """Encode names of files, too, which may hold bytes that are not characters."""
    return text.encode("utf-8", "surrogatepass")


def _line(outcome: Outcome, place: SourcePlace) -> str:
    """Return the text of a line, which stays the same while its number changes."""
    return next((each.text for each in outcome.measured.lines if each.place == place), "")


def _text(text: str) -> str:
    """Return a message as plain text: SARIF has a meaning for braces and brackets in it."""
    safe = printable(text, lines=True).replace("\\", "\\\\")
    return safe.replace("[", "\\[").replace("]", "\\]").replace("{", "{{").replace("}", "}}")


def _location(place: SourcePlace, root: Path) -> dict[str, Any]:
    file = relative(place.file, root)
    artifact: dict[str, Any] = {"uri": quote(_bytes(file))}
    if Path(file).is_absolute():
        artifact["uri"] = f"file://{'' if file[0] == '/' else '/'}{artifact['uri']}"
    else:
        artifact["uriBaseId"] = "%SRCROOT%"
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": place.line}}}
