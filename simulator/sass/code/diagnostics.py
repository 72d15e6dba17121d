"""A compiler's messages for a reader: first the cause and the way out, then what it said.

Messages about files that are neither the source's nor the compiler's own are left out: a source
may name any file of this machine, and an error must not print it. Of headers that lie in folders
which only a build's database names, messages have the place alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from simulator.law.chips import CHIPS, Chip
from simulator.sass.code.headers import headers_folders, is_standard
from simulator.sass.code.translation import Translation

__all__ = ["explain", "warned"]

_MOST = 12  # messages that are shown
_REDEFINED = re.compile(  # as cudafe and NVRTC say it, and as g++ does
    r"^(.+?)(?:\((\d+)\)|:(\d+)(?::\d+)?): warning(?: #\d+-D: incompatible redefinition of macro)?"
    r":? \"(\w+)\"(?: redefined)?\s*$",
    re.MULTILINE,
)
_NO_REGISTERS = re.compile(r"'setmaxnreg' ignored;? (.*?)\.?$", re.M)
_FEATURE = re.compile(r"^ptxas .*error\s*: Feature '(.+)' requires \.target sm_(\d+)", re.M)
_CLOSING = re.compile(r"ptxas fatal|Remark: The warnings can be suppressed")
_COPY = re.compile(r"cp\.async(?!\.bulk|\.mbarrier)")
_HEAD = re.compile(
    r"(?P<file>[^\n]+?)(?:\(\d+\)|:\d+:\d+): (?P<kind>[\w\- ]*?(?:error|warning|remark|note))\b"
)


def explain(log: str, name: str, source: str, translation: Translation, arch: str = "") -> str:
    """Return the text of a CompileError: the cause, the way out, the compiler's messages.

    `arch`: what the source was compiled for.
    """
    full = str(Path(name).absolute())
    lacks, log = _lacks(log, arch)
    messages = _messages(log)
    errors = [each for each in messages if each[1].endswith(("error", "note")) or not each[0]]
    secret = _secret(translation)
    shown, hidden, quiet = [], 0, False
    for file, kind, text in errors:
        if file in translation.unquoted:
            place = _HEAD.match(text)
            shown.append(f"{text[: place.start('kind')] if place else file}{kind}")
            quiet = True
        elif file and not _allowed(file, full, translation):
            hidden += 1
        else:
            shown.append(_masked(text, secret).replace(full, name))
    said = [f"{name} does not compile:", *lacks]
    everything = "\n".join(text for _, _, text in errors)
    said += _causes(everything, "\n".join(shown), name, translation)
    said += shown[:_MOST]
    if len(shown) > _MOST:
        said.append(f"and {len(shown) - _MOST} more")
    if hidden:
        said.append(
            f"{hidden} messages are about files outside the source's folder and its include"
            " folders, and are not shown"
        )
    if quiet:
        said.append(
            "Only the lines are shown of headers outside the project, in folders that"
            " compile_commands.json names: pass -I FOLDER for what the compiler says of them"
        )
    return "\n".join(said)


def _lacks(log: str, arch: str) -> tuple[list[str], str]:
    """Say which instructions an architecture does not have, and return the rest of what was said.

    `ptxas` names lines of its own input, which nobody has.
    """
    found = list(dict.fromkeys(_FEATURE.findall(log)))
    said, known = [], [Chip.of(name) for name in CHIPS]
    for since in sorted({int(each) for _, each in found}):
        named = [name for name, each in found if int(each) == since]
        short = [each for each in named if not any(each.startswith(f"{one}.") for one in named)]
        chips = [each for each in known if each.capability >= since]
        chip = f"--chip {min(chips, key=lambda each: each.capability).name}, or " if chips else ""
        said.append(
            f"  {arch or 'this architecture'} has no {', '.join(short)} (sm_{since} was the first;"
            f" next: {chip}--arch sm_{since}). For older chips write another way within"
            f" #if __CUDA_ARCH__ < {10 * since}."
        )
        if any(_COPY.match(each) for each in named):
            said.append(
                "  __pipeline_memcpy_async of <cuda_pipeline.h> needs no other way: there it copies"
                " through registers."
            )
    rest = [line for line in log.splitlines() if not _FEATURE.match(line)]
    others = [line for line in rest if not _CLOSING.match(line)]
    is_all = found and not any("error" in line for line in others)
    return said, "\n".join(others if is_all else rest)


def warned(log: str, defined: Sequence[str]) -> tuple[str, ...]:
    """Return a note for each thing that the compiler left out, by what it said.

    Those are macros of -D that the source defines once more, and so decides, and `setmaxnreg`.

    >>> log = 'gemm.cu(3): warning #47-D: incompatible redefinition of macro "LDA"'
    >>> warned(log, ["LDA=72"])
    ('-D LDA=72 has no effect behind gemm.cu:3, which defines LDA (to choose it with -D, put \
#ifndef LDA and #endif around that line)',)
    >>> log = "Potential Performance Loss: 'setmaxnreg' ignored to allow debugging."
    >>> warned(log, [])
    ('setmaxnreg has no effect: the compiler left it out, "to allow debugging" (it needs \
__launch_bounds__(threads, blocks) or __maxnreg__ at the kernel)',)
    """
    given = {each.partition("=")[0]: each for each in defined}
    registers = tuple(
        f'setmaxnreg has no effect: the compiler left it out, "{why}" (it needs'
        " __launch_bounds__(threads, blocks) or __maxnreg__ at the kernel)"
        for why in dict.fromkeys(_NO_REGISTERS.findall(log))
    )
    return registers + tuple(
        f"-D {given[name]} has no effect behind {Path(file).name}:{row or line}, which defines"
        f" {name} (to choose it with -D, put #ifndef {name} and #endif around that line)"
        for file, row, line, name in dict.fromkeys(_REDEFINED.findall(log))
        if name in given
    )


def _secret(translation: Translation) -> set[str]:
    """Return the words that only headers have which may not be quoted."""
    if not translation.unquoted:
        return set()
    texts: dict[bool, list[str]] = {True: [], False: [translation.source]}
    for name, text in translation.headers.items():
        texts[name in translation.unquoted].append(text)
    return _words(texts[True]) - _words(texts[False])


def _words(texts: list[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"\w+", text)}


def _masked(text: str, secret: set[str]) -> str:
    """Return a message without the quotes that have such a word: macros bring them along."""
    if not secret:
        return text
    return re.sub(r"\".*\"", lambda at: '"…"' if _words([at[0]]) & secret else at[0], text)


def _messages(log: str) -> list[tuple[str, str, str]]:
    """Return file, kind and text of each message."""
    found: list[tuple[str, str, str]] = []
    for line in log.strip().splitlines():
        if re.match(r"\d+ errors? detected", line):
            continue
        if head := _HEAD.match(line):
            found.append((head["file"].strip(), head["kind"], line))
        elif found and (line.startswith((" ", "\t")) or not line.strip()):
            file, kind, text = found[-1]
            found[-1] = (file, kind, f"{text}\n{line}".rstrip())
        elif line.strip():
            found.append(("", "error", line))
    return found


def _allowed(file: str, full: str, translation: Translation) -> bool:
    if file == full or file in translation.headers:
        return True
    if not Path(file).is_absolute():
        return Path(file).name == Path(full).name
    place = Path(file).resolve()
    return any(place.is_relative_to(folder.resolve()) for folder in headers_folders())


def _causes(log: str, shown: str, name: str, translation: Translation) -> list[str]:
    """Say what is behind the messages, where that is known, and what to do.

    `log` has all of them, `shown` those that are quoted.
    """
    causes = []
    missing = [each for each in translation.missing if not is_standard(each)]
    unknown = re.search(
        r"undefined|not a (?:class|template|type)|has no member|could not open|must be a name", log
    )
    if missing and unknown:
        causes.append(
            f"  Not found: {', '.join(missing[:8])}{' …' if len(missing) > 8 else ''}. Pass"
            f" -I FOLDER with the folder of each: bankwise sass {shlex.quote(name)} -I FOLDER"
        )
    if found := re.search(r"identifier \"([A-Z][A-Z0-9_]+)\" is undefined", shown):
        causes.append(f"  If {found[1]} is set by the build, pass -D {found[1]}=VALUE.")
    if "-std" in log or "requires C++" in log or "c++20" in log.lower():
        causes.append("  It may need a newer language: pass -std c++20.")
    if opened := re.search(r"(?:could not|cannot) open source file \"([^\"]*)\"", shown):
        causes.append(
            f"  {opened[1]} is not in the source's folder, nor in a folder of -I: pass -I FOLDER."
        )
    return causes
