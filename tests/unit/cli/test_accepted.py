"""What is refused says what would be taken."""

import pytest

from simulator.cli import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--layout", "(64,64):(64,1)", "--op", "LDS", "lane, 0"],
         "bankwise 'lane, 0' --layout '(64,64):(64,1)' --op LDS)"),
        (["float s[32]; s[lane]", "--chip", "sm_61"], "which is older than Volta (sm_70)"),
        ([""], "the question is empty (accepted: a question in C"),
        (["src/a.cu"], "'src/a.cu': to replay a file: bankwise sass src/a.cu"),
        (["k.py"], "to replay a file: bankwise sass --triton k.py"),
        (["compare", "a.cu", "b.cubin"], "'a.cu' is a file (accepted: the command that replays it,"
         " in one pair of quotes: 'sass a.cu'; in Python the result of replay_compiled)"),
        (["compare", "4x8", "simulate --both-rules"],
         "has 2 results (accepted: one; leave out --both-rules)"),
        (["compare", "4x8", "float s[32]; s[lane]"],
         "4x8 is a geometry, float s[32]; s[lane] is an access: they have no common scale"),
        (["explore", "--compare"], "No such option '--compare'.\n"),
        (["unsigned long long s[32]; atomicMax(&s[lane], 1)"],
         "atomicMax of unsigned long long compiles to is not known here (accepted: int, unsigned;"),
        (["float s[32]; s[threadIdx.w]"], "threadIdx has no member w (accepted: threadIdx.x,"),
        (["(64,64):(64,1)"],
         "bankwise explain 'lane%16, lane/16*8' --layout '(64,64):(64,1)' --op ldmatrix.x4"),
    ],
)  # fmt: skip
def test_a_refusal_names_what_is_taken(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err
