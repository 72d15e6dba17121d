// Marks lanes and phases in all pictures of the page, copies cures, and colours by lane on demand.
"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const NONE = "Point at a cell or a lane: it is marked in every picture.";
  const tells = all(".tell").map((place) => ({ place, said: JSON.parse(place.dataset.tells) }));
  const rows = all(".banks tbody tr");
  const choices = all("#phases button");
  const phases = [...new Set(rows.map((row) => row.dataset.phase))].sort((a, b) => a - b);
  let phase = "";
  let wavefront = "";

  // Every element of a lane, whatever it stands in.
  const of = new Map();
  for (const place of all("[data-lanes]")) {
    for (const lane of place.dataset.lanes.split(" ")) {
      if (!of.has(lane)) of.set(lane, []);
      of.get(lane).push(place);
    }
  }

  let marked = [];
  function mark(lanes) {
    for (const place of marked) place.classList.remove("marked");
    marked = lanes.flatMap((lane) => of.get(lane) ?? []);
    for (const place of marked) place.classList.add("marked");
    tells.forEach(({ place, said }, number) => {
      const text = lanes.map((lane) => said[lane]).filter(Boolean);
      const more = text.length > 1 ? ` (and ${text.length - 1} more)` : "";
      place.textContent = text.length ? text[0] + more : number ? "" : NONE;
    });
  }

  const lanesOf = (target) => target.closest?.("[data-lanes]")?.dataset.lanes.split(" ");
  document.addEventListener("pointerover", (event) => {
    const lanes = lanesOf(event.target);
    if (lanes) mark(lanes);
    else if (marked.length && !lanesOf(document.activeElement)) mark([]);
  });
  document.addEventListener("focusin", (event) => mark(lanesOf(event.target) ?? []));

  // What is not of the chosen phase and wavefront is dimmed.
  function step(toPhase, toWavefront) {
    phase = toPhase;
    wavefront = toWavefront;
    const off = ({ dataset }) => (phase !== "" && dataset.phase !== phase)
      || (wavefront !== "" && dataset.wavefront !== wavefront);
    for (const row of rows) {
      row.classList.toggle("dim", off(row));
      row.classList.toggle("step", !off(row) && (phase !== "" || wavefront !== ""));
    }
    for (const cell of all(".memory td[data-phase]")) cell.classList.toggle("dim", off(cell));
    for (const button of choices) {
      const chosen = button.dataset.phase === phase;
      button.setAttribute("aria-checked", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    }
  }

  function moved(list, now, by) {
    const place = list.indexOf(now);
    return list[Math.max(0, Math.min(list.length - 1, place + by))];
  }

  function arrows(event) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const across = event.key === "ArrowRight" || event.key === "ArrowLeft";
    if (!by || event.ctrlKey || event.altKey || event.metaKey) {
      if (event.key === "Escape") { step("", ""); mark([]); }
      return;
    }
    const group = event.target.closest("#lanes, #phases");
    if (group) {
      const next = moved([...group.querySelectorAll("button")], event.target, by);
      for (const each of group.querySelectorAll("button")) each.tabIndex = each === next ? 0 : -1;
      next.focus();
      if (group.id === "phases") step(next.dataset.phase, "");
    } else if (event.target.classList.contains("steps")) {
      if (across) step(moved(["", ...phases], phase, by), "");
      else {
        const seen = rows.filter((row) => !phase || row.dataset.phase === phase);
        const numbers = [...new Set(seen.map((row) => row.dataset.wavefront))];
        step(phase, moved(["", ...numbers], wavefront, by));
      }
    } else return;
    event.preventDefault();
  }
  document.addEventListener("keydown", arrows);

  async function copy(button) {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch { // where a file may not write to the clipboard
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.classList.contains("copy")) copy(button);
    else if (choices.includes(button)) step(button.dataset.phase, "");
    else if (button.id === "hue") {
      const on = root.classList.toggle("hue");
      button.setAttribute("aria-pressed", String(on));
    }
  });
  mark([]);
})();
