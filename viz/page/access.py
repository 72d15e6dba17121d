"""What a page shows of one access: before and after side by side, the cure, memory, lanes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from simulator.asking.answer import Answer
from simulator.asking.pictures import Picture, lane_sentences
from simulator.asking.words import cause, verdict
from simulator.law.counting import n_way
from simulator.law.explaining import Explanation
from simulator.results.columns import law_columns
from simulator.results.html import heat, memory_table
from viz.page.section import Section, copied, details, table
from viz.word_map import word_map

__all__ = ["WAITS", "beside", "legend", "memories", "numbers_of", "of_access", "shown_picture"]

WAITS = ("served at once", "waits for 1", "for 2-3", "for 4-7", "for 8-15", "for 16 or more")
"""What the colours of `simulator.results.html.HEAT` say."""


def of_access(one: Explanation) -> Section:
    """Return the section of an access; an `Answer` has its question, cures and warps."""
    found = verdict(one)
    drawn = one.pictures() if isinstance(one, Answer) else [Picture("As given", (("", one),))]
    answer = one if isinstance(one, Answer) else None
    law = law_columns(one.rule, one.chip)
    about = [one.op, *_block(answer), *(f"{value} {name}" for name, value in law.items())]
    folded = [("Why: what each phase does", _sentences(one))] if one.sentences[1:] else []
    if one.wavefronts:
        folded.append(("Lanes: where each goes, and how long it waits", _lanes(one)))
        folded.append(("What each wavefront serves", table(one.groups())))
    return Section(
        found.text,
        level=found.level,
        asked="" if answer is None else answer.text,
        about=about,
        cause=[cause(one)] if found.level != "nothing" else [],
        first=[beside(drawn, _uncured(answer), answer.caveat if answer and answer.cures else "")]
        if one.wavefronts
        else [],
        numbers=numbers_of(one),
        after=[
            *_warps(answer),
            *([memories(drawn)] if one.wavefronts else []),
            *(details(said, markup) for said, markup in folded),
        ],
        pictures=drawn if one.wavefronts else (),
        figures=[word_map(one)] if one.tile is not None else (),
        cure="; or ".join(picture.code for picture in drawn if picture.code) or _uncured(answer),
    )


def numbers_of(one: Explanation) -> dict[str, Any]:
    """Return the figures of an access, by the names of their columns."""
    requests = int(bool(one.phases))
    return {
        "phases": len(one.phases),
        "wavefronts": one.wavefronts,
        "ideal": one.ideal,
        "excessive": one.excessive,
        "bank_conflicts": one.bank_conflicts,
        "cycles": one.cycles,
        "n_way": n_way(one.wavefronts, requests),
    }


def beside(drawn: Sequence[Picture], instead: str = "", caveat: str = "", more: str = "") -> str:
    """Return pictures side by side: the first, and beside it the others with what they cost.

    Where there is one alone, `instead` says why there is no cure. `more` is HTML, safe already,
    below the others.
    """
    first, *others = drawn
    if not others and not more:
        said = f'<p class="caveat">{escape(_sentence(instead))}</p>' if instead else ""
        return f'<div class="pictures one">{shown_picture(first)}</div>{said}{legend(drawn)}'
    cards = "".join(f'<div class="card">{shown_picture(each)}</div>' for each in others)
    caveat = caveat if others else instead
    said = f'<p class="caveat">{escape(_sentence(caveat))}</p>' if caveat else ""
    return (
        f'<div class="pictures"><div class="before">{shown_picture(first)}{legend(drawn)}</div>'
        f'<div class="cures">{cards}{said}{more}</div></div>'
    )


def shown_picture(picture: Picture) -> str:
    """Return a picture with what to write for it, and lines that tell of the marked lane."""
    notes = "".join(
        f"<span{' class=free' if note == 'conflict-free' else ''}>{escape(note)}</span>"
        for note in picture.notes
    )
    code = copied(picture.code, _inline(picture.heading)) if picture.code else ""
    tables = "".join(
        f"{f'<h4>{escape(name)}</h4>' if name else ''}"
        f'<div class="steps" tabindex="0" role="group" aria-label="Banks: arrows step through'
        f' phases and wavefronts">{table}</div>'
        f'<p class="tell" data-tells="{escape(json.dumps(lane_sentences(one)))}"></p>'
        for name, one, table in picture.tables()
    )
    return (
        f'<figure class="access"><figcaption><h3>{escape(picture.heading)}</h3>'
        f"<span>{escape(picture.cost)}</span>{notes}</figcaption>{code}{tables}</figure>"
    )


def legend(drawn: Sequence[Picture]) -> str:
    """Return what the colours say, as far as they occur in the pictures."""
    most = max(
        (
            heat((len(phase.wavefronts) - 1) // one.instruction.passes)
            for picture in drawn
            for _, one in picture.parts
            for phase in one.phases
            if phase.wavefronts
        ),
        default=0,
    )
    steps = "".join(
        f'<span><i style="background:var(--h{step})"></i>{WAITS[step]}</span>'
        for step in range(most + 1)
    )
    return f'<p class="legend" aria-hidden="true">{steps}</p>'


def _block(answer: Answer | None) -> list[str]:
    if answer is None or answer.block is None:
        return []
    x, y, z = answer.block
    threads = "×".join(map(str, (x, y, z) if z > 1 else (x, y) if y > 1 else (x,)))
    return [f"block of {threads} threads"]


def _uncured(answer: Answer | None) -> str:
    return "" if answer is None else answer.uncured


def _sentence(text: str) -> str:
    """Begin with a capital and end with a full stop."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _warps(answer: Answer | None) -> list[str]:
    """Return the price of the block, its warps and what was assumed."""
    if answer is None:
        return []
    lines = [line.text.split(maxsplit=1) for line in answer.lines()]
    said = [f"{rest[0]}." for word, *rest in filter(None, lines) if word == "Price"]
    said += [f"Assumed: {text}." for text in answer.assumed]
    markup = "".join(f"<p>{escape(text)}</p>" for text in said)
    counts = answer.warps.wavefronts.tolist()
    if len(set(counts)) > 1:
        least = max(min(counts), 1)
        boxes = "".join(
            f'<span style="background:var(--h{heat(max(count // least - 1, 0))});'
            f'color:var(--t{heat(max(count // least - 1, 0))})"'
            f' title="warp {number}: {count} wavefronts">{count}</span>'
            for number, count in enumerate(counts)
        )
        markup += f'<p class="warps"><b>wavefronts per warp</b>{boxes}</p>'
    return [f'<div class="price">{markup}</div>'] if markup else []


def memories(drawn: Sequence[Picture]) -> str:
    """Return the words in memory of each picture, side by side."""
    figures = []
    for picture in drawn:
        heading = f"In memory{f', {_inline(picture.heading)}' if len(drawn) > 1 else ''}"
        tables = "".join(
            f"{f'<h4>{escape(name)}</h4>' if name else ''}"
            + memory_table(
                one.to_dict()["served"],
                passes=one.instruction.passes,
                label=f"{heading} {name}".strip(),
            )
            for name, one in picture.parts
        )
        figures.append(
            f'<figure class="access"><figcaption><h3>{escape(heading)}</h3>'
            f"<span>32 words per row</span></figcaption>{tables}</figure>"
        )
    return f'<div class="memories n{min(len(figures), 3)}">{"".join(figures)}</div>'


def _sentences(one: Explanation) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in one.sentences[1:])
    return f"<ul>{items}</ul>"


def _lanes(one: Explanation) -> str:
    rows = "".join(
        f'<li data-lanes="{lane}">{escape(said)}</li>'
        for lane, said in enumerate(lane_sentences(one))
    )
    return f'<ul class="lanes">{rows}</ul>'


def _inline(heading: str) -> str:
    """Return a heading as it stands within a sentence: code, such as Sw<2,3,3>, stays as it is."""
    return heading if re.search(r"[^\w\s]|\d", heading) else heading.lower()
