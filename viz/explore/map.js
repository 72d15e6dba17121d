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

  // Text of a cell: all its lanes where they fit; else the first, underlined, for the others.
  function write(place, { lanes, banks }) {
    const text = Words.ranges(lanes);
    const fits = text.length <= 2 * banks + (banks > 1 ? banks : 0);
    place.textContent = fits ? text : String(lanes[0]);
    place.classList.toggle("shared", !fits);
  }

  function cellOf({ bank, banks, lanes }, wait, numbers) {
    const made = node("div", `cell heat-${heat(wait)}`);
    if (numbers) write(made, { lanes, banks });
    made.style.gridColumn = `${bank + 1} / span ${banks}`;
    made.dataset.lanes = ` ${lanes.join(" ")} `;
    return made;
  }

  function axis(every, label = "bank") {
    const row = node("div", "axis");
    row.setAttribute("aria-hidden", "true");
    row.append(node("i", "", label));
    for (let bank = 0; bank < BANKS; bank += every) {
      const tick = node("span", "", bank);
      tick.style.gridColumn = `${bank + 1} / span ${every}`;
      row.append(tick);
    }
    return row;
  }

  // Draws the phases of an access into `place`. `tell` names a cell for those who point at it.
  function draw(place, phases, tell) {
    const shown = phases.filter(({ depth }) => depth);
    const rows = shown.reduce((total, { depth }) => total + depth, 0);
    place.replaceChildren();
    place.dataset.size = rows <= 4 ? "large" : rows <= 8 ? "medium" : rows <= 16 ? "small" : "tiny";
    place.append(axis(1));
    for (const phase of shown) {
      const group = node("div", "phase");
      group.dataset.phase = phase.index;
      group.append(gutter(phase, phases.length));
      const body = node("div", "rows");
      for (let k = 0; k < phase.depth; k++) {
        const row = node("div", "row");
        row.dataset.wavefront = k;
        for (const cell of cells(phase.queues, k)) {
          const made = cellOf(cell, k, true);
          made.dataset.tell = tell(cell, phase, k);
          row.append(made);
        }
        body.append(row);
      }
      group.append(body);
      place.append(group);
    }
    if (!shown.length) place.append(node("p", "nothing", "no wavefront"));
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

  // Draws memory itself: 32 words per row, those that are accessed with their lanes. Rows between
  // are left out.
  function drawMemory(place, phases, { numbers, tell }) {
    const words = new Map();
    for (const phase of phases) {
      for (const queue of phase.queues.values()) {
        queue.forEach(({ word, lanes }, k) => {
          const known = words.get(word);
          if (!known) words.set(word, { lanes: [...lanes], wait: k, phase });
          else {
            known.lanes.push(...lanes.filter((lane) => !known.lanes.includes(lane)));
            if (k > known.wait) Object.assign(known, { wait: k, phase });
          }
        });
      }
    }
    const rows = [...new Set([...words.keys()].map((word) => Math.floor(word / BANKS)))]
      .sort((a, b) => a - b);
    place.replaceChildren(...(numbers ? [axis(1, "byte")] : []));
    place.dataset.size = rows.length <= 8 ? "medium" : rows.length <= 16 ? "small" : "tiny";
    rows.forEach((number, k) => {
      const group = node("div", `memory${k && number > rows[k - 1] + 1 ? " skips" : ""}`);
      if (numbers) group.append(node("span", "gutter", Words.number(number * BANKS * Law.WORD)));
      const row = node("div", "row");
      for (let bank = 0; bank < BANKS; bank++) {
        const found = words.get(number * BANKS + bank);
        if (!found) continue;
        const last = Law.span(bank, BANKS - bank).findIndex((next) =>
          String(words.get(number * BANKS + next)?.lanes) !== String(found.lanes));
        const cell = { bank, banks: last < 0 ? BANKS - bank : last, lanes: found.lanes };
        const made = cellOf(cell, found.wait, numbers);
        if (tell) made.dataset.tell = tell({ ...cell, word: number * BANKS + bank }, found.phase, found.wait);
        row.append(made);
        bank += cell.banks - 1;
      }
      const body = node("div", "rows");
      body.append(row);
      group.append(body);
      place.append(group);
    });
  }

  return { draw, drawMemory, heat, node };
})();
