"""What bankwise.toml may hold; whatever is wrong is named by file, entry and key."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.checking.config import find_config, read_config
from simulator.errors import CheckError
from tests.unit.checking.conftest import FREE, Write


def test_an_entry_has_its_limits_and_the_defaults(write: Write) -> None:
    path = write(
        'baseline = "base.json"\nchip = "A100"\nrule = "documented"\n[limits]\nconflicts = 3\n'
        "excessive = 4\n\n[[access]]\nask = 'float s[4]; s[0]'\n\n[[kernel]]\nfile = 'k.cu'\n"
        "conflicts = 0\nchip = 'H100'\n[kernel.per_line]\nwavefronts = 9\n"
        "[kernel.arrays.tile]\nways = 1.5\n"
    )
    file = read_config(path)
    access, kernel = file.entries
    assert file.baseline == path.parent / "base.json"
    assert (access.name, access.line, access.kind) == ("float s[4]; s[0]", 8, "access")
    assert access.limits == {"conflicts": 3, "excessive": 4}
    assert access.given["rule"] == "documented"
    assert access.given["chip"] == "A100"
    assert (kernel.name, kernel.line) == ("k.cu", 11)
    assert kernel.limits == {"conflicts": 0, "excessive": 4}
    assert kernel.given["chip"] == "H100"
    assert kernel.per_line == {"wavefronts": 9}
    assert kernel.arrays == {"tile": {"ways": 1.5}}


def test_pyproject_has_the_same(write: Write) -> None:
    path = write(f"[project]\nname = 'x'\n[[tool.bankwise.access]]\n{FREE}\n", "pyproject.toml")
    (entry,) = read_config(path).entries
    assert entry.line == 3
    assert find_config(path.parent) == path


def test_the_nearest_file_counts_up_to_the_repository(tmp_path: Path, write: Write) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    path = write(f"[[access]]\n{FREE}\n")
    assert find_config(deep) == path
    (tmp_path / "a" / ".git").mkdir()
    with pytest.raises(
        CheckError, match=r"no bankwise\.toml in .* or in a folder above it \(accepted: "
    ):
        find_config(deep)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = [", "is not TOML: Invalid value"),
        ("", "there is nothing to check (accepted: [[access]], [[layout]], [[kernel]], [[triton]]"),
        ("limit = 3", "unknown key 'limit': did you mean limits? (accepted: baseline, "),
        ("baseline = 3", "key baseline: 3 (accepted: a text)"),
        ("rule = 'slicon'", "key rule: 'slicon' (accepted: 'silicon' or 'documented')"),
        ("limits = 0", "key limits: 0 (accepted: a table, such as {conflicts = 0})"),
        ("limits.conflict = 0", "key limits: unknown key 'conflict': did you mean conflicts?"),
        ("limits.conflicts = -1", "key limits, key conflicts: -1 (accepted: an integer of 0 or"),
        ("limits.conflicts = true", "key conflicts: True (accepted: an integer of 0 or more)"),
        ("limits.conflicts = 0.5", "key conflicts: 0.5 (accepted: an integer of 0 or more)"),
        ("limits.ways = 0", "key ways: 0 (accepted: a number of 1 or more)"),
        ("limits.ways = nan", "key ways: nan (accepted: a number of 1 or more)"),
        ("limits.ways = inf", "key ways: inf (accepted: a number of 1 or more)"),
        ("limits.time = 3", "key limits: unknown key 'time': a limit on time is cycles"),
        ("access = 3", "key access: 3 (accepted: tables, [[access]])"),
        ("[access]\nask = 'x'", "(accepted: tables, [[access]])"),
        ("[[access]]\nname = 'a'", "access 'a': the key ask is missing (accepted: a question in C"),
        ("[[access]]", "access 1: the key ask is missing"),
        ("[[access]]\nask = ''", "access 1, key ask: '' (accepted: a question in C"),
        ("[[access]]\nask = 'a'\nfile = 'k.cu'", "access 1: unknown key 'file': accepted: name, "),
        ("[[access]]\nask = 'a'\nper_line = {}", "access 1: unknown key 'per_line'"),
        ("[[access]]\nask = 'a'\nblock = 'x'", "key block: 'x' (accepted: 256, '32x8' or [32, 8])"),
        ("[[access]]\nask = 'a'\nblock = [1,2,3,4]", "key block: [1, 2, 3, 4] (accepted: 256"),
        ("[[access]]\nask = 'a'\nat = 'k.cu'", "key at: 'k.cu' (accepted: a file and a line"),
        ("[[access]]\nask = 'a'\nnames.ld = 'x'", "key names: {'ld': 'x'} (accepted: a table of i"),
        ("[[access]]\nask = 'a'\nname = \"a\\nb\"", "(accepted: a text of up to 200 printable ch"),
        ("[[access]]\nask = 'a'\n[[access]]\nask = 'a'", "access 'a': two entries have this name"),
        ("[[layout]]\nlayout = '(1):(1)'\naccesses = []", "key accesses: [] (accepted: a list of "),
        ("[[kernel]]\nkernel = 'k'", "kernel 1: the key file is missing"),
        ("[[kernel]]\nfile = 'k'\ngrids = 1", "kernel 1: unknown key 'grids': did you mean grid?"),
        ("[[kernel]]\nfile = 'k'\narrays = 1", "kernel 1, key arrays: 1 (accepted: a table per ar"),
        ("[[kernel]]\nfile = 'k'\narrays.a = 1", "kernel 1, key arrays.a: 1 (accepted: a table, "),
        ("[[kernel]]\nfile = 'k'\narrays.a.conflict = 1", "key arrays.a: unknown key 'conflict'"),
        ("[[kernel]]\nfile = 'k'\nargs = 'x'", "key args: 'x' (accepted: a list of texts"),
        ("[[triton]]\nsignature = '*fp32'", "triton 1: the key kernel is missing"),
        ("[[triton]]\nkernel = 'k'\nsignature='a'\nwarps = 3", "key warps: 3 (accepted: 1, 2, 4, "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(write: Write, text: str, said: str) -> None:
    path = write(text)
    with pytest.raises(CheckError) as caught:
        read_config(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="none cannot be read: No such file"):
        read_config(tmp_path / "none")
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(CheckError, match="it is not UTF-8 text"):
        read_config(tmp_path / "x.toml")
    (tmp_path / "pyproject.toml").write_text("tool = 3")
    with pytest.raises(CheckError, match=r"has no table \[tool.bankwise\]"):
        read_config(tmp_path / "pyproject.toml")


_KEYS = st.sampled_from(
    ["ask", "name", "conflicts", "file", "arrays", "per_line", "block", "args", "names", "at", "x"]
)
_VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(["baseline", "limits", "access", "layout", "kernel", "triton", "y"]),
        _VALUES | st.lists(st.dictionaries(_KEYS, _VALUES, max_size=4), max_size=2),
        max_size=4,
    )
)
def test_no_table_is_accepted_or_refused_in_another_way(data: dict[str, object]) -> None:
    """Whatever TOML holds, it is read, or refused as this file is."""
    from simulator.checking.config import _Reader

    reader = _Reader(Path("bankwise.toml"), "", "")
    with suppress(CheckError):
        assert reader.file(data).entries
