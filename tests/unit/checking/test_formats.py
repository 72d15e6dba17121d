"""Each format says the same, and nothing that somebody wrote can end what it stands in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from junitparser import Error, Failure, JUnitXml
from markdown_it import MarkdownIt

from simulator.checking.config import Entry
from simulator.checking.figures import Figures
from simulator.checking.github import workflow_commands
from simulator.checking.judging import Finding, Outcome
from simulator.checking.junit import as_junit
from simulator.checking.markdown import as_markdown
from simulator.checking.measured import Measured, SourcePlace
from simulator.checking.printing import relative, root_of
from simulator.checking.report import CheckReport
from simulator.checking.sarif import as_sarif

ROOT = Path("/root/of it")
EVIL = [
    "::error::x", "a\n::error::b", "a%0Ab,line=1::", "|", "a|b\\|c", "<script>x</script>",
    "&lt;b&gt;", "]]>", "`a`|`", "[x](http://e)", "![x](y)", "https://e.example", "www.e.example",
    "\x00\x1b[2K", "\ud800", "\ufffe", "*b* _i_ ~~s~~", "{0} [a](1)", "\\", "\r\n\r\n# x", "@me",
]  # fmt: skip
TEXTS = st.sampled_from(EVIL) | st.text(max_size=20) | st.lists(st.sampled_from(EVIL)).map("".join)


def report_of(name: str, file: str, message: str, error: str = "", line: int = 3) -> CheckReport:
    """Make a report of two entries: one breaks a limit; one holds, or is in error."""
    place = SourcePlace(str(ROOT / file) if file and "\0" not in file else "x", line)
    entry = Entry("access", name, 1, {}, {"conflicts": 0})
    broken = Measured(name, entry, place, own=Figures(31, 31, 32, 32.0), notes=(message,))
    finding = Finding("entry", "conflicts", message, place)
    good = Measured(f"{name} 2", entry, place, own=Figures(0, 0, 1, 1.0))
    outcomes = (Outcome(broken, (finding,)), Outcome(good, error=error))
    return CheckReport(ROOT / "bankwise.toml", outcomes)


@given(name=TEXTS, file=TEXTS, message=TEXTS, error=TEXTS)
def test_annotations_are_one_command_each(name: str, file: str, message: str, error: str) -> None:
    """What the runner's toolkit would read from a line is what was meant, and no more."""
    report = report_of(name, file, message, error)
    commands = workflow_commands(report, ROOT)
    assert len(commands) == 1 + bool(error)
    for line in commands:
        assert line.isprintable()
        found = re.fullmatch(r"::error file=([^,:]*),line=3,title=([^,:]*)::(.*)", line)
        assert found is not None
        assert unquoted(found[3]).startswith(name if name.isprintable() else "")
        assert unquoted(found[2]) in ("bankwise: bank conflicts", "bankwise: cannot be checked")


def unquoted(text: str) -> str:
    """Undo what the toolkit escapes; a percent sign is escaped last."""
    for code, char in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, char)
    return text


def test_limits_that_one_line_breaks_are_one_annotation() -> None:
    report = report_of("a", "k.cu", "first")
    (outcome, other) = report.outcomes
    second = Finding("line", "ways", "second", outcome.findings[0].place)
    both = Outcome(outcome.measured, (*outcome.findings, second))
    (line,) = workflow_commands(CheckReport(report.config, (both, other)), ROOT)
    assert line == (
        "::error file=k.cu,line=3,title=bankwise%3A bank conflicts::a: first%0Aa: second"
    )


@given(name=TEXTS, file=TEXTS, message=TEXTS, error=TEXTS)
@example("`", "::error::xwww.e.example", "x", "x")
def test_markdown_is_one_table_and_a_list(name: str, file: str, message: str, error: str) -> None:
    """A reader of GitHub's dialect sees two rows of six cells, and no mark-up of anybody's."""
    text = as_markdown(report_of(name, file, message, error), ROOT)
    tokens = MarkdownIt("gfm-like", {"html": True}).disable("linkify").parse(text)
    kinds = [token.type for token in tokens]
    assert kinds.count("table_open") == 1
    assert kinds.count("tr_open") == 3
    assert kinds.count("td_open") == 12
    assert kinds.count("heading_open") == 1
    assert kinds.count("list_item_open") == 1 + bool(error)
    inside = {child.type for token in tokens for child in token.children or ()}
    assert inside <= {"text", "text_special", "strong_open", "strong_close", "code_inline"}
    bare = re.sub(r"(?<!\\)`[^`]*`", "", text)  # without code, which no escaped back-tick begins
    assert not re.search(r"(?<!\\)(?:://|www\.)", bare)


@given(name=TEXTS, file=TEXTS, message=TEXTS, error=TEXTS)
def test_junit_is_read_as_it_was_meant(name: str, file: str, message: str, error: str) -> None:
    text = as_junit(report_of(name, file, message, error), ROOT)
    assert text.encode() == text.encode("utf-8", "strict")
    (suite,) = JUnitXml.fromstring(text.encode())
    first, second = list(suite)
    assert (suite.tests, suite.failures, suite.errors) == (2, 1, int(bool(error)))
    assert [type(each) for each in first.result] == [Failure]
    assert [type(each) for each in second.result] == [Error] * bool(error)
    if name.isprintable():
        assert first.name == name
    assert {each.tag for each in ElementTree.fromstring(text).iter()} <= {  # noqa: S314
        "testsuites", "testsuite", "testcase", "failure", "error", "system-out",
    }  # fmt: skip


def objects(required: str, **properties: object) -> dict[str, object]:
    """Return the schema of an object that has these members and no others."""
    return {
        "type": "object", "required": required.split(), "properties": properties,
        "additionalProperties": False,
    }  # fmt: skip


TEXT = {"type": "string", "minLength": 1}
MESSAGE = objects("text", text=TEXT)
URI = {"type": "string", "pattern": r"^[A-Za-z0-9._~!$&'()*+,;=:@%/-]+$"}
LOCATION = objects(
    "physicalLocation",
    physicalLocation=objects(
        "artifactLocation region",
        artifactLocation=objects("uri", uri=URI, uriBaseId={"const": "%SRCROOT%"}),
        region=objects("startLine", startLine={"type": "integer", "minimum": 1}),
    ),
)
# The members of SARIF 2.1.0 that are written: sections 3.13, 3.14, 3.19, 3.20, 3.27, 3.49, 3.58.
SARIF = objects(
    "$schema version runs",
    **{"$schema": TEXT},
    version={"const": "2.1.0"},
    runs={
        "type": "array", "minItems": 1, "maxItems": 1,
        "items": objects(
            "tool invocations columnKind results",
            tool=objects(
                "driver",
                driver=objects(
                    "name version rules", name=TEXT, version=TEXT,
                    rules={"type": "array", "uniqueItems": True, "items": objects(
                        "id shortDescription defaultConfiguration", id=TEXT,
                        shortDescription=MESSAGE,
                        defaultConfiguration=objects("level", level={"const": "error"}),
                    )},
                ),
            ),
            invocations={"type": "array", "items": objects(
                "executionSuccessful exitCode toolExecutionNotifications",
                executionSuccessful={"type": "boolean"}, exitCode={"enum": [0, 1, 2]},
                toolExecutionNotifications={"type": "array", "items": objects(
                    "level message locations", level={"const": "error"}, message=MESSAGE,
                    locations={"type": "array", "items": LOCATION},
                )},
            )},
            columnKind={"const": "unicodeCodePoints"},
            results={"type": "array", "items": objects(
                "ruleId ruleIndex level message locations partialFingerprints",
                ruleId=TEXT, ruleIndex={"type": "integer", "minimum": 0}, level={"const": "error"},
                message=MESSAGE, locations={"type": "array", "items": LOCATION, "minItems": 1},
                partialFingerprints={"type": "object", "additionalProperties": TEXT},
            )},
        ),
    },
)  # fmt: skip


@given(name=TEXTS, file=TEXTS, message=TEXTS, error=TEXTS)
def test_sarif_has_the_members_that_the_standard_has(
    name: str, file: str, message: str, error: str
) -> None:
    log = json.loads(as_sarif(report_of(name, file, message, error), ROOT))
    Draft202012Validator(SARIF).validate(log)
    (run,) = log["runs"]
    (result,) = run["results"]
    rules = run["tool"]["driver"]["rules"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "bankwise/conflicts"
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == bool(error)
    said = result["message"]["text"]
    # No placeholder, and no link: 3.11.5 and 3.11.6 of the standard.
    assert not re.search(r"[{}]", said.replace("{{", "").replace("}}", ""))
    assert not re.search(r"[\[\]]", re.sub(r"\\.", "", said))


def test_sarif_names_files_from_the_root() -> None:
    log = json.loads(as_sarif(report_of("a", "my kernels/k#1.cu", "m"), ROOT))
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert unquote(place["uri"]) == "my kernels/k#1.cu"
    assert place["uri"] == "my%20kernels/k%231.cu"


def test_the_fingerprint_of_a_result_is_not_its_line_number() -> None:
    first, second = (
        json.loads(as_sarif(report_of("a", "k.cu", "m", line=line), ROOT))["runs"][0]["results"][0]
        for line in (3, 4)
    )
    assert first["partialFingerprints"] == second["partialFingerprints"]
    assert first["locations"] != second["locations"]


def test_the_root_is_the_workspace_or_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a").mkdir()
    config = tmp_path / "a" / "bankwise.toml"
    assert root_of(config) == tmp_path
    assert root_of(config, str(tmp_path / "a")) == tmp_path / "a"
    assert root_of(config, "/elsewhere") == tmp_path
    assert relative(str(tmp_path / "a" / ".." / "k.cu"), tmp_path) == "k.cu"
    assert relative("/outside/k.cu", tmp_path) == "/outside/k.cu"


@pytest.mark.parametrize("text", EVIL)
def test_the_table_moves_no_cursor(text: str) -> None:
    said = str(report_of(text, "k.cu", text, text))
    assert all(char.isprintable() or char == "\n" for char in said)
