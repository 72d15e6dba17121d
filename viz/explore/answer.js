// The right side of the page: verdict, figures, map, cures.
"use strict";
const Answer = (() => {
  const { node } = BankMap;
  const $ = (id) => document.getElementById(id);
  const FIGURES = [
    ["phases", "phases", "groups of lanes served one after the other, once fused"],
    ["wavefronts", "wavefronts", "what the access costs: deliveries by all banks at once"],
    ["ideal", "ideal", "wavefronts that Nsight Compute's source view calls ideal"],
    ["excessive", "excessive", "wavefronts beyond the ideal"],
    ["bank_conflicts", "bank conflicts", "wavefronts beyond one per phase: the hardware counter"],
    ["cycles", "cycles", "how long the shared-memory pipe is busy"],
  ];
  let step = { phase: null, row: null }; // null: all
  let stepsOf = [];

  // What the page shows of one warp under a layout.
  function seen(asked, laid, warp) {
    const { instruction, rule, warps } = asked;
    const { mask } = warps[warp];
    const addresses = laid.laid[warp];
    const sources = asked.sources?.[warp];
    const phases = Words.apart(instruction, addresses, mask, rule, sources);
    const figures = laid.figures[warp];
    return { addresses, mask, phases, figures, verdict: Words.verdict(instruction, figures, phases, addresses) };
  }

  function showVerdict({ level, text }, more) {
    $("verdict").dataset.level = level;
    $("verdict").querySelector("h2").textContent = text;
    $("verdict").classList.toggle("long", text.length > 75);
    $("verdict").querySelector("p").textContent = more;
    $("answer").classList.toggle("refused", level === "problem");
  }

  function showFigures(figures) {
    $("figures").replaceChildren(...FIGURES.map(([key, name, meaning]) => {
      const box = node("div", figures && (key === "bank_conflicts" || key === "excessive")
        && figures[key] ? "bad" : "");
      box.title = meaning;
      box.append(node("dt", "", name), node("dd", "", figures ? Words.number(figures[key]) : "\u2013"));
      return box;
    }));
  }

  const harmless = ({ verdict, figures }) => (verdict.level === "harmless"
    ? `${Words.plural(figures.wavefronts, "wavefront")}, as many as the bytes of its lanes fill.` : "");

  const layoutName = ({ pad, swizzle: { bits, base, shift } }) => [
    pad ? `${Words.plural(pad, "column")} of padding` : "", bits ? `Sw<${bits},${base},${shift}>` : "",
  ].filter(Boolean).join(" and ");

  function show(asked, state) {
    const warp = state.warp !== null && state.warp < asked.warps.length ? state.warp
      : Ask.worst(asked.now);
    const view = seen(asked, asked.now, warp);
    const { instruction } = asked;
    const cause = Words.cause(instruction, view.addresses, view.mask, asked.rule, view.phases,
      asked.sources);
    showVerdict(view.verdict, view.verdict.more || [cause, harmless(view)].filter(Boolean).join(" "));
    showFigures(view.figures);
    const name = layoutName(asked.now);
    $("before").querySelector("h3").textContent = `${instruction.name}, ${name ? `with ${name}` : "as written"}`;
    BankMap.draw($("map"), view.phases, tellCell);
    BankMap.drawMemory($("memory"), view.phases, { numbers: true, tell: tellCell });
    $("place").hidden = !view.figures.wavefronts;
    $("memory").setAttribute("aria-label", `Map of the words in memory, 32 per row, with the lanes`
      + ` that access them: ${view.verdict.text}.`);
    $("map").setAttribute("aria-label", `Map of 32 banks, a row per wavefront: ${view.verdict.text}.`
      + " Arrow keys step through phases and wavefronts.");
    stepsOf = view.phases.filter(({ depth }) => depth);
    step = { phase: null, row: null };
    showSteps();
    tell("Point at a cell or a lane to follow it. On the map, arrow keys step through phases and wavefronts.");
    showLegend(view.phases);
    showWarps(asked, warp, state.warp !== null);
    showAssumed(asked);
    asked.view = { ...view, warp };
  }

  function tellCell({ bank, banks, word, lanes }, phase, k) {
    const wait = k ? `waits for ${Words.plural(k, "wavefront")}` : "served at once";
    return `${lanes.length > 1 ? "Lanes" : "Lane"} ${Words.ranges(lanes)}: bank${banks > 1 ? "s" : ""}`
      + ` ${Words.ranges(Law.span(bank, banks))}, word${banks > 1 ? "s" : ""}`
      + ` ${Words.ranges(Law.span(word, banks))}; phase ${phase.index}, wavefront ${k}: ${wait}.`;
  }

  // What is known of one lane.
  function tellLane(asked, lane) {
    const { warp, addresses, phases } = asked.view;
    const known = asked.warps[warp].lanes[lane];
    const thread = asked.warps[warp].warp * 32 + lane;
    if (!known || lane >= asked.instruction.lanes) return `Lane ${lane} (thread ${thread}) plays no part.`;
    const address = addresses[lane];
    const word = Math.floor(address / Law.WORD);
    const phase = phases.find(({ active }) => active.includes(lane));
    const k = phase?.queues.get(word % Law.BANKS).findIndex((entry) => entry?.lanes.includes(lane));
    const { tx, ty, tz } = known.values;
    const served = phase ? `; phase ${phase.index}, wavefront ${k}` : "";
    return `Lane ${lane} is thread (${tx}, ${ty}, ${tz}): ${Words.element(asked, known)}, byte`
      + ` ${Words.number(address)}, word ${Words.number(word)}, bank ${word % Law.BANKS}${served}.`;
  }

  function showLegend(phases) {
    const depth = Math.max(0, ...phases.map((phase) => phase.depth));
    const texts = ["served at once", "waits for 1", "for 2\u20133", "for 4\u20137", "for 8\u201315", "for 16\u201331"];
    const most = depth ? BankMap.heat(depth - 1) : -1;
    $("legend").replaceChildren(...texts.slice(0, most + 1).map((text, k) => {
      const entry = node("span");
      entry.append(node("i", `heat-${k}`), text);
      return entry;
    }));
    if (document.querySelector("#map .shared")) {
      const entry = node("span");
      entry.append(node("u", "", "3"), "lane 3 and others on the same word");
      $("legend").append(entry);
    }
  }

  // Buttons of one choice: arrows move it, Tab passes it by.
  function choices(place, entries, chosen) {
    const had = place.contains(document.activeElement);
    place.querySelectorAll("button").forEach((old) => old.remove());
    entries.forEach(({ text, label, value }) => {
      const made = node("button", "", text);
      made.type = "button";
      made.setAttribute("role", "radio");
      made.setAttribute("aria-label", label);
      made.setAttribute("aria-checked", String(value === chosen));
      made.tabIndex = value === chosen ? 0 : -1;
      made.value = value === null ? "" : value;
      place.append(made);
    });
    if (had) place.querySelector("[aria-checked=true]")?.focus();
  }

  function showSteps() {
    const { phase, row } = step;
    const entries = stepsOf.length > 1 ? [{ text: "All", label: "All phases", value: null },
      ...stepsOf.map(({ index }) => ({ text: String(index), label: `Phase ${index}`, value: index }))] : [];
    choices($("phases"), entries, phase);
    for (const group of $("map").querySelectorAll(".phase")) {
      const other = phase !== null && Number(group.dataset.phase) !== phase;
      group.classList.toggle("dimmed", other);
      for (const each of group.querySelectorAll(".row")) {
        each.classList.toggle("dimmed", !other && row !== null && Number(each.dataset.wavefront) !== row);
      }
    }
  }

  // Moves to the next phase, or row of it; beyond the ends stands "all".
  function move(kind, by) {
    const stops = kind === "phase" ? stepsOf.map(({ index }) => ({ phase: index, row: null }))
      : stepsOf.flatMap(({ index, depth }) => Law.span(0, depth).map((row) => ({ phase: index, row })));
    const at = stops.findIndex(({ phase, row }) => phase === step.phase && (kind === "phase" || row === step.row));
    const next = (at + 1 + by + stops.length + 1) % (stops.length + 1);
    go(next ? stops[next - 1] : { phase: null, row: null });
  }

  function go(to) {
    step = to;
    showSteps();
    const phase = stepsOf.find(({ index }) => index === step.phase);
    if (!phase) tell("All phases.");
    else if (step.row === null) {
      tell(`Phase ${phase.index}, lanes ${Words.ranges(phase.active)}: ${Words.plural(phase.depth, "wavefront")}.`);
    } else {
      const lanes = [...phase.queues.values()].flatMap((queue) => queue[step.row]?.lanes ?? []);
      const sorted = [...new Set(lanes)].sort((a, b) => a - b);
      tell(`Phase ${phase.index}, wavefront ${step.row}: lanes ${Words.ranges(sorted)}.`);
    }
  }

  function showWarps(asked, shown, chosen) {
    const { figures, wavefronts, conflicts } = asked.now;
    const place = $("warps");
    place.hidden = figures.length < 2;
    if (place.hidden) return;
    const alike = new Set(figures.map((each) => Object.values(each).join())).size === 1;
    const total = `${Words.plural(wavefronts, "wavefront")} and ${Words.plural(conflicts, "bank conflict")} in all`;
    const which = chosen ? `warp ${shown} is shown` : alike ? `all alike; warp ${shown} is shown`
      : `the worst, warp ${shown}, is shown`;
    place.querySelector("span")?.remove();
    place.prepend(node("span", "", `${figures.length} warps, ${total}; ${which}.`));
    choices(place, figures.map((each, warp) => ({
      text: String(warp), value: warp,
      label: `Warp ${warp}: ${each.wavefronts} wavefronts, ${each.bank_conflicts} conflicts`,
    })), shown);
    [...place.querySelectorAll("button")].forEach((button, warp) => {
      const { bank_conflicts: bad, phases } = figures[warp];
      button.classList.add(`heat-${BankMap.heat(Math.ceil(bad / Math.max(phases, 1)))}`);
      button.title = button.getAttribute("aria-label");
    });
  }

  function showAssumed({ question, block, assumedBlock, instruction, now }) {
    const { array } = question;
    const said = [];
    if (array.assumed) said.push(`${array.name} is an array of float`);
    if (assumedBlock) said.push(`a block of ${block.join("\u00d7")} threads`);
    const bytes = now.bytes === null ? "" : ` ${array.name} takes ${Words.number(now.bytes)} bytes.`;
    const does = instruction.is_matrix ? `gives ${instruction.name} a row of ${instruction.width} bytes`
      : `${instruction.verb}s ${Words.plural(instruction.width, "byte")} by ${instruction.name}`;
    $("assumed").textContent = `${said.length ? `Assumed: ${said.join(", ")}. ` : ""}Each lane ${does}.${bytes}`;
  }

  const tell = (text) => { $("tell").textContent = text; };

  function mark(lanes) {
    for (const each of document.querySelectorAll(".marked")) each.classList.remove("marked");
    for (const lane of lanes) {
      for (const each of document.querySelectorAll(`[data-lanes*=" ${lane} "]`)) each.classList.add("marked");
    }
  }

  return { choices, go, layoutName, mark, move, seen, show, showFigures, showVerdict, tell, tellLane };
})();
