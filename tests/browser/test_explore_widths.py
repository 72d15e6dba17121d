"""The page of `bankwise explore` on screens of all widths."""

from __future__ import annotations

from typing import Any

# Texts of cells wider than their cell, and labels of banks that touch their neighbour.
CROWDED = """() => {
  const seen = (each) => each.textContent && getComputedStyle(each).fontSize !== "0px";
  const all = (what) => [...document.querySelectorAll(what)].filter(seen).map((each) => {
    const range = document.createRange();
    range.selectNodeContents(each);
    const { left, right, width } = range.getBoundingClientRect();
    return { text: each.textContent, left, right, width, room: each.getBoundingClientRect().width };
  });
  const cut = all("#map .cell, #memory .cell, #warps button").filter((one) => one.width > one.room);
  const touching = ["#map", "#memory"].flatMap((map) => all(`${map} .axis span`)
    .filter((one, k, list) => list[k + 1] && one.right > list[k + 1].left - 1));
  return [...cut, ...touching].map((one) => one.text);
}"""


def test_numbers_of_cells_and_banks_have_room_at_every_width(explored: Any) -> None:
    page = explored()
    for width in (360, 400, 520, 620, 700, 800, 980, 1090, 1091, 1181, 1200, 1280, 1281, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(CROWDED) == [], width
        assert page.locator("#map .axis i").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
