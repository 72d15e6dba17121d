"""`viz.explore` and `bankwise explore`: what is written and served, before a browser opens it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from simulator.cli import explore as command
from simulator.cli.commands import cli, main
from simulator.errors import ChipError, InstructionError
from simulator.law.chips import Chip
from simulator.law.instructions import INSTRUCTIONS
from simulator.law.loops import LOOPS, is_loop, is_round
from viz.errors import ReportError
from viz.explore import page, server, write

EVIL = "</script><script>window.hacked=1</script><!-- & \u2028 ' \""


def data(html: str, name: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', html, re.S)
    assert found
    return json.loads(found[1])


def invoke(*words: str) -> Result:
    return CliRunner().invoke(cli, ["explore", *words], standalone_mode=False)


def test_instructions_are_emitted_from_the_table() -> None:
    emitted = data(page(), "facts")["instructions"]
    table = {**INSTRUCTIONS, **{loop.name: loop for loop in LOOPS.values()}}
    assert [each["name"] for each in emitted] == list(table)
    for each in emitted:
        known = table[each["name"]]
        assert each.pop("is_matrix") == known.is_matrix
        assert each.pop("loop") == is_loop(known)
        assert each.pop("round") == is_round(known)
        for name in ("phase_lanes", "fused_lanes"):
            assert each.pop(name) == [*map(list, getattr(known, name))]
        assert each == json.loads(json.dumps(asdict(known)))


def test_a_page_is_of_a_chip(tmp_path: Path) -> None:
    emitted = data(page(chip="A100"), "facts")
    table = [each["name"] for each in emitted["instructions"] if not each["loop"]]
    assert table == [*Chip.of("A100").instructions]
    loops = [each["name"] for each in emitted["instructions"] if each["loop"]]
    assert loops == [loop.name for loop in LOOPS.values() if loop.capability <= 80]
    assert emitted["shared_bytes"] == 163 * 1024
    assert "Its law is that of A100, assumed." in page(chip="A100")
    assert "Its law is the one measured on an H200." in page()
    path = tmp_path / "page.html"
    words = [str(path), "float s[32]; s[lane]"]
    assert invoke(*words, "--chip", "T4", "--op", "LDS").exception is None
    assert "Its law is that of T4, assumed." in path.read_text()
    assert invoke(*words, "--op", "ADD.F32", "--force").exception is None
    assert data(path.read_text(), "start")["op"] == "add.f32"
    with pytest.raises(InstructionError, match=r"V100 has no LDSM\.16\.M88\.4"):
        raise invoke(*words, "--chip", "V100", "--op", "ldmatrix.x4", "--force").exception or 0
    with pytest.raises(ChipError, match="unknown chip 'H300'"):
        page(chip="H300")


def test_the_page_is_one_small_file_that_asks_for_nothing() -> None:
    html = page()
    assert len(html.encode()) < 200_000
    assert "http://" not in html
    assert "https://" not in html
    assert "src=" not in html
    assert 'href="data:,"' in html
    assert not re.search(r"\son[a-z]+\s*=\s*[\"']", html)  # inline handlers
    assert not re.search(r"<[a-z]+[^>]*\sstyle=", html)
    assert "innerHTML" not in html


def test_the_policy_names_each_script_and_style() -> None:
    html = page("s[lane]")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    for content in re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", html, re.S):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1]


def test_what_a_user_types_is_data() -> None:
    html = page(EVIL, op="LDS", rule="documented", block="8x8x1")
    assert data(html, "start") == {
        "text": EVIL, "block": "8x8x1", "op": "LDS", "rule": "documented",
    }  # fmt: skip
    assert "window.hacked=1</script>" not in html
    assert html.count("<script") == page().count("<script")


def test_a_file_is_written_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "explore.html"
    done = invoke(str(path), "float s[32]; s[lane]", "--block", "64", "--op", "lds.32")
    assert done.exception is None
    assert done.stderr == f"Wrote {path}\n"
    assert done.stdout == ""
    html = path.read_text(encoding="utf-8")
    assert data(html, "start") == {"text": "float s[32]; s[lane]", "block": "64x1x1", "op": "LDS"}
    with pytest.raises(ReportError, match="exists already"):
        write(path)
    assert path.read_text(encoding="utf-8") == html
    assert invoke(str(path), "--force").exception is None
    assert data(path.read_text(encoding="utf-8"), "start") == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "where should the page be written?"),
        (["float s[32]; s[lane]"], "does not end in .html"),
        (["page.txt"], "'page.txt' does not end in .html (accepted: bankwise explore FILE.html"),
        (["page.html", "--op", "LDX"], "unknown instruction 'LDX'"),
        (["page.html", "--rule", "silcon"], "did you mean silicon"),
        (["page.html", "--block", "0"], "is not X, XxY or XxYxZ with 1 to 1024 threads"),
        (["page.html", "--block", "64x64"], "is not X, XxY or XxYxZ with 1 to 1024 threads"),
        (["page.html", "--block", "axb"], "'axb' is not X, XxY"),
        (["page.html", "s[lane]", "--serve", "0"], "'page.html': --serve writes no file"),
        (["--serve", "0", "--force"], "--force is for a FILE"),
        (["--serve", "70000"], "70000 is not in the range 0<=x<=65535"),
        (["no/such/folder/page.html"], "no/such/folder"),
    ],
)
def test_bad_input_is_refused_and_writes_nothing(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["explore", *words]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# Serving


@pytest.fixture
def served() -> Iterator[str]:
    running = server(page("s[lane]"), 0)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    thread.join()
    running.server_close()


def get(url: str, **headers: str) -> Any:
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10)  # noqa: S310


def test_one_page_is_served_to_this_machine(served: str) -> None:
    with get(served + "/") as answer:
        assert answer.read().decode() == page("s[lane]")
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    for path, headers, code in [
        ("/etc/passwd", {}, 404),
        ("/../explore.html", {}, 404),
        ("/", {"Host": "evil.example:80"}, 403),
        ("/", {"Host": "evil.example"}, 403),
    ]:
        with pytest.raises(urllib.error.HTTPError) as refused:
            get(served + path, **headers)
        assert refused.value.code == code
        refused.value.close()


def test_it_listens_on_no_other_address() -> None:
    with server("", 0) as running:
        assert running.server_address[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_refused(capsys: Any) -> None:
    with server("", 0) as running:
        port = running.server_port
        assert main(["explore", "--serve", str(port)]) == 2
    assert f"port {port} of 127.0.0.1 cannot be served" in capsys.readouterr().err


def test_the_command_serves_until_it_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []

    class Interrupted:
        server_port = 4711

        def __enter__(self) -> Interrupted:
            return self

        def __exit__(self, *_: object) -> None:
            shown.append("closed")

        def serve_forever(self) -> None:
            raise KeyboardInterrupt

    def fake(html: str, port: int) -> Interrupted:
        shown.append((data(html, "start"), port))
        return Interrupted()

    monkeypatch.setattr("viz.explore.server", fake)
    done = invoke("s[lane * 2]", "--serve", "4711")
    assert done.exception is None
    assert done.return_value == 0
    assert "Serving http://127.0.0.1:4711/ (Ctrl-C ends)" in done.stderr
    assert shown == [({"text": "s[lane * 2]"}, 4711), "closed"]


def test_the_command_is_registered() -> None:
    assert cli.commands["explore"] is command.explore


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("struct P {float x, y;}; P s[32]; s[lane].x", "a struct is read by the command line"),
        ("int h[32]; atomicAdd(&h[lane], 1)", "an atomic function is read by the command line"),
        ("#define N 32\nfloat s[N]; s[lane]", "a macro is read by the command line alone"),
    ],
)
def test_a_page_that_could_not_read_its_question_is_not_written(
    text: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was written, and said then that it cannot read it."""
    path = tmp_path / "x.html"
    assert main(["explore", str(path), text]) == 2
    said = capsys.readouterr().err
    assert what in said
    assert "(accepted: bankwise '" in said
    assert not path.exists()
    assert main(["explore", str(path), "float s[32]; // of a struct\ns[lane]"]) == 0
