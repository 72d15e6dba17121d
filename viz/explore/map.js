// The map: 32 banks side by side, a row per wavefront, in a cell the lanes that are served there.
"use strict";
const BankMap = (() => {
  const { BANKS } = Law;

  function node(kind, className, text) {
    const made = document.createElement(kind);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // Heat of the k-th wavefront of a phase: 0 is calm, 5 hottest.
  const heat = (wait) => (wait === 0 ? 0 : Math.min(5, Math.floor(Math.log2(wait)) + 1));

  // Cells of the k-th wavefront of a phase: neighbouring banks with the same lanes in one.
  function cells(queues, k) {
    const found = [];
    for (let bank = 0; bank < BANKS; bank++) {
      const entry = queues.get(bank)?.[k];
      if (!entry) continue;
      const last = found.at(-1);
      if (last && last.bank + last.banks === bank && last.word + last.banks === entry.word
        && String(last.lanes) === String(entry.lanes)) last.banks++;
      else found.push({ bank, banks: 1, word: entry.word, lanes: entry.lanes });
    }
    return found;
  }

  // Short text of a cell: all its lanes where they fit, else the first and a sign for more.
  function label({ lanes, banks }) {
    const text = Words.ranges(lanes);
    if (text.length <= 2 * banks + (banks > 1 ? banks : 0)) return text;
    return banks > 1 || lanes[0] < 10 ? `${lanes[0]}+` : String(lanes[0]);
  }

  function axis(every) {
    const row = node("div", "axis");
    row.setAttribute("aria-hidden", "true");
    row.append(node("i", "", "bank"));
    for (let bank = 0; bank < BANKS; bank += every) {
      const tick = node("span", "", bank);
      tick.style.gridColumn = `${bank + 1} / span ${every}`;
      row.append(tick);
    }
    return row;
  }

  // Draws the phases of an access into `place`. `tell` names a cell for those who point at it.
  function draw(place, instruction, phases, { numbers, tell, passes = 1 }) {
    const shown = phases.filter(({ depth }) => depth);
    const rows = shown.reduce((total, { depth }) => total + depth, 0);
    place.replaceChildren();
    place.classList.toggle("numbered", numbers);
    place.dataset.size = rows <= 4 ? "large" : rows <= 8 ? "medium" : rows <= 16 ? "small" : "tiny";
    if (numbers) place.append(axis(1));
    for (const phase of shown) {
      const group = node("div", "phase");
      group.dataset.phase = phase.index;
      if (numbers) group.append(gutter(phase, phases.length));
      const body = node("div", "rows");
      for (let k = 0; k < phase.depth; k++) {
        const row = node("div", "row");
        row.dataset.wavefront = k;
        for (const cell of cells(phase.queues, k)) {
          const made = node("div", `cell heat-${heat(k)}`, numbers ? label(cell) : "");
          made.style.gridColumn = `${cell.bank + 1} / span ${cell.banks}`;
          made.dataset.lanes = ` ${cell.lanes.join(" ")} `;
          if (tell) made.dataset.tell = tell(cell, phase, k, passes);
          if (cell.lanes.length > 1) made.classList.add("shared");
          row.append(made);
        }
        body.append(row);
      }
      group.append(body);
      place.append(group);
    }
    if (!shown.length) place.append(node("p", "nothing", "no wavefront"));
    return rows;
  }

  function gutter(phase, count) {
    const gut = node("div", "gutter");
    gut.append(count > 1 ? node("b", "", `phase ${phase.index}`)
      : node("span", "", phase.depth > 1 ? "wavefront \u2193" : "wavefront"));
    if (count > 1 && phase.depth > 1) {
      gut.append(node("span", "", `lanes ${Words.ranges(phase.lanes)}`));
    }
    return gut;
  }

  return { draw, heat, node };
})();
