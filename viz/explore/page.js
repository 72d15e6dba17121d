// The page itself: reads the controls into a state, asks, shows the answer.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const { node } = BankMap;
  const root = document.documentElement;
  const TYPES = ["char", "uint8_t", "half", "__nv_bfloat16", "short", "float", "int", "half2", "double", "float2", "float4"];
  const FAMILIES = [["Loads", /^LDS(\.|$)/], ["Stores", /^STS(\.|$)/], ["Matrices", /^(LDSM|STSM)/],
    ["Atomics", /^ATOMS(?!\.CAST)/], ["Loops of atomics", /^(add\.|ATOMS\.CAST)/],
    ["Asynchronous copies", /^LDGSTS/]];
  const EXAMPLES = [
    ["column", { text: "float s[32][32];\ns[threadIdx.x][threadIdx.y]" }],
    ["transposed store", { text: "half2 t[128][32];\nt[tid % 32][tid / 32] = x;" }],
    ["float4 column", { text: "float s[64][32];\n*(float4*)&s[lane][warp * 4]" }],
    ["ldmatrix", { text: "half t[64][64];\n&t[lane % 16][lane / 16 * 8]", op: "LDSM.16.M88.4" }],
    ["perfect float4", { text: "float4 s[32];\ns[lane]" }],
    ["free conflicts", { text: "float4 s[16];\ns[lane / 2 % 8 * 2]" }],
    ["histogram", { text: "int bins[64];\nbins[lane * lane % 64]", op: "ATOMS.ADD" }],
  ];
  const MASKS = [["all", 0xffffffff], ["half", 0xffff], ["even", 0x55555555], ["none", 0]];

  let state = State.read(location.hash);
  let asked = null;
  let waiting = 0;
  let linking = 0;

  function options() {
    $("type").append(...TYPES.map((name) => new Option(name)));
    $("op").append(new Option("", ""));
    for (const [family, pattern] of FAMILIES) {
      const group = document.createElement("optgroup");
      group.label = family;
      for (const { name, aliases } of Law.INSTRUCTIONS.values()) {
        if (pattern.test(name)) group.append(new Option([name, ...aliases].join(" \u00b7 "), name));
      }
      $("op").append(group);
    }
    for (let lane = 0; lane < 32; lane++) {
      const made = node("button", "", String(lane));
      made.type = "button";
      made.tabIndex = lane ? -1 : 0;
      made.dataset.lane = lane;
      made.dataset.lanes = ` ${lane} `;
      made.setAttribute("aria-label", `Lane ${lane}`);
      $("lanes").append(made);
    }
    const chip = (text, act) => {
      const made = node("button", "", text);
      made.type = "button";
      made.addEventListener("click", act);
      return made;
    };
    $("examples").append(...EXAMPLES.map(([name, given]) => chip(name, () =>
      set({ ...State.EMPTY, rule: state.rule, ...given }, true))));
    $("masks").append(...MASKS.map(([name, mask]) => chip(name, () => set({ mask }))));
  }

  // Changes the state, asks anew, and shows all.
  function set(changes, rewrite = "text" in changes) {
    state = { ...state, ...changes };
    if (rewrite && $("text").value !== state.text) $("text").value = state.text;
    clearTimeout(linking); // browsers limit how often an address may change
    linking = setTimeout(() => history.replaceState(null, "", State.write(state)), 250);
    show();
  }

  function show() {
    let problem = null;
    let found = null;
    try { found = Ask.ask(state); } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problem = error;
    }
    asked = found ?? asked;
    showProblem(problem);
    showControls(found);
    $("pictures").classList.toggle("stale", Boolean(problem));
    $("pictures").classList.toggle("empty", !asked);
    clearTimeout(waiting);
    if (problem) {
      Answer.showFigures(null);
      return;
    }
    Answer.show(found, state);
    // The search takes up to half a second: not before the map, and not at each key.
    $("cures").classList.add("stale");
    waiting = setTimeout(() => {
      Cures.show(found, {
        apply: ({ pad, swizzle }) => set({ pad, swizzle }),
        copy,
      });
      root.dataset.shown = String(Number(root.dataset.shown ?? 0) + 1);
    }, 120);
  }

  function showProblem(problem) {
    const caret = $("verdict").querySelector("pre");
    caret.hidden = !problem || problem.start === null;
    $("text").setAttribute("aria-invalid", String(!caret.hidden));
    if (!problem) return;
    root.dataset.shown = String(Number(root.dataset.shown ?? 0) + 1);
    const title = "This cannot be counted yet";
    if (problem.start === null) {
      Answer.showVerdict({ level: "problem", text: title }, `Here is ${problem.message}.`);
      return;
    }
    const before = state.text.slice(0, problem.start);
    const from = before.lastIndexOf("\n") + 1;
    const line = state.text.slice(from).split("\n")[0].replace(/\t/g, " ");
    const column = problem.start - from;
    const under = "^".repeat(Math.max(1, Math.min(problem.end - problem.start, line.length - column)));
    caret.textContent = `${line}\n${" ".repeat(column)}${under}`;
    const row = before.split("\n").length;
    const where = `${row > 1 ? `Line ${row}, column` : "Column"} ${column + 1}`;
    Answer.showVerdict({ level: "problem", text: title }, `${where}: ${problem.message}.`);
  }

  function showControls(found) {
    const { swizzle, pad, mask } = state;
    if (found) {
      const { question, block, instruction, assumedBlock } = found;
      ["bx", "by", "bz"].forEach((id, k) => { if (document.activeElement !== $(id) || assumedBlock) $(id).value = block[k]; });
      const type = question.array.type.name;
      if (![...$("type").options].some(({ value }) => value === type)) $("type").append(new Option(type));
      $("type").value = type;
      if (!state.op) $("op").options[0].text = `${instruction.name} (follows from the access)`;
      else $("op").options[0].text = "follow from the access";
    } else if (!asked) {
      ["bx", "by", "bz"].forEach((id, k) => { $(id).value = state.block?.[k] ?? ""; });
      $("type").selectedIndex = -1;
      $("op").options[0].text = "follow from the access";
    }
    $("op").value = state.op ?? "";
    if (found) $("from").hidden = !Ask.takesSource(found.instruction);
    if ($("source").value !== state.source) $("source").value = state.source;
    $("block-auto").hidden = !state.block;
    $("layout-reset").hidden = !pad && !swizzle.bits;
    $("pad").value = pad;
    $("pad").disabled = Boolean(found) && found.question.array.dims.length < 2;
    $("pad-out").textContent = pad ? Words.plural(pad, "column") : "none";
    for (const field of ["bits", "base", "shift"]) $(field).value = swizzle[field];
    $("swizzle-out").textContent = swizzle.bits ? `Sw<${swizzle.bits},${swizzle.base},${swizzle.shift}>` : "none";
    $("refused").hidden = !found?.refused;
    $("refused").textContent = found?.refused ? `Not applied: ${found.refused}.` : "";
    for (const each of document.querySelectorAll("input[name=rule]")) each.checked = each.value === state.rule;
    const whole = Boolean(found?.instruction.is_matrix);
    for (const each of $("lanes").children) {
      each.disabled = whole;
      each.setAttribute("aria-pressed", String(whole || Boolean(Law.isActive(mask, Number(each.dataset.lane)))));
    }
    for (const each of $("masks").children) each.disabled = whole;
    showSummary(found);
    $("mask-out").textContent = whole ? "all: it is a matrix" : `0x${mask.toString(16).padStart(8, "0")}`;
  }

  // What the folded settings say, where the window is narrow.
  function showSummary(found) {
    if (!found) return;
    const { block, question, instruction, now } = found;
    const lanes = Law.span(0, 32).filter((lane) => Law.isActive(state.mask, lane)).length;
    $("settings").querySelector("summary").textContent = [block.join("\u00d7"), question.array.type.name,
      instruction.name, state.rule, Answer.layoutName(now) || "as written",
      lanes < 32 ? Words.plural(lanes, "lane") : ""].filter(Boolean).join(" \u00b7 ");
  }

  // Writes another element type into the declaration.
  function retype(name) {
    if (!asked) return;
    const { text, array } = asked.question;
    const { start, end } = array.type;
    set({ text: array.assumed ? `${name} ${array.name}[]; ${text}` : text.slice(0, start) + name + text.slice(end) });
  }

  // The text with the layout of the sliders written into it, as far as C can say it.
  function written() {
    if (!asked) return state.text;
    const { pad, swizzle } = asked.now;
    return Cure.write(asked.question, pad, swizzle)
      ?? `${Cure.write(asked.question, pad, Ask.NO_SWIZZLE)} // laid out by ${Answer.layoutName({ pad: 0, swizzle })}`;
  }

  // Copies a text; where the clipboard is not to be had, through a selection.
  async function copy(text, button) {
    const said = button.textContent;
    try { await navigator.clipboard.writeText(text); } catch {
      const area = node("textarea", "", text);
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = said; }, 1200);
  }

  function theme(chosen) {
    const dark = chosen ?? matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "dark" : "light";
    $("theme").textContent = dark ? "Light" : "Dark";
  }

  const ARROWS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

  // Arrows move within a row of buttons.
  function roving(place, act, down = 1) {
    place.addEventListener("keydown", (event) => {
      const all = [...place.querySelectorAll("button")];
      const by = (ARROWS[event.key] ?? 0) * (/Up|Down/.test(event.key) ? down : 1);
      const to = event.key === "Home" ? 0 : event.key === "End" ? all.length - 1
        : (all.indexOf(document.activeElement) + by + all.length) % all.length;
      if (!by && event.key !== "Home" && event.key !== "End") return;
      event.preventDefault();
      all.forEach((each, k) => { each.tabIndex = k === to ? 0 : -1; });
      all[to].focus();
      act(all[to]);
    });
  }

  function pointAt(target) {
    const chip = target.closest("#lanes button");
    const cell = target.closest("[data-tell]");
    if (chip && asked?.view) {
      Answer.mark([chip.dataset.lane]);
      Answer.tell(Answer.tellLane(asked, Number(chip.dataset.lane)));
    } else if (cell || target.closest("[data-lanes]")) {
      const lanes = target.closest("[data-lanes]").dataset.lanes.trim().split(" ");
      Answer.mark(lanes);
      if (!cell) return;
      const more = lanes.length === 1 ? ` ${Answer.tellLane(asked, Number(lanes[0]))}` : "";
      Answer.tell(more ? more.trim() : cell.dataset.tell);
    } else Answer.mark([]);
  }

  function wire() {
    $("text").addEventListener("input", () => set({ text: $("text").value }, false));
    for (const id of ["bx", "by", "bz"]) {
      $(id).addEventListener("input", () => {
        const sizes = ["bx", "by", "bz"].map((each) => Number($(each).value));
        if (sizes.every((size) => Number.isInteger(size) && size > 0)) set({ block: sizes, warp: null });
      });
    }
    $("block-auto").addEventListener("click", () => { set({ block: null, warp: null }); $("bx").focus(); });
    $("type").addEventListener("change", () => retype($("type").value));
    $("op").addEventListener("change", () => set({ op: $("op").value || null }));
    $("source").addEventListener("input", () => set({ source: $("source").value }));
    $("pad").addEventListener("input", () => set({ pad: Number($("pad").value) }));
    for (const field of ["bits", "base", "shift"]) {
      $(field).addEventListener("input", () => {
        const swizzle = { ...state.swizzle, [field]: Number($(field).value) };
        if (field === "bits") swizzle.shift = Math.max(swizzle.shift, swizzle.bits);
        if (field === "shift") swizzle.bits = Math.min(swizzle.bits, swizzle.shift);
        set({ swizzle });
      });
    }
    $("layout-reset").addEventListener("click", () => { set({ pad: 0, swizzle: Ask.NO_SWIZZLE }); $("pad").focus(); });
    for (const each of document.querySelectorAll("input[name=rule]")) {
      each.addEventListener("change", () => set({ rule: each.value }));
    }
    $("lanes").addEventListener("click", ({ target }) => {
      const lane = target.closest("button")?.dataset.lane;
      if (lane !== undefined) set({ mask: (state.mask ^ (1 << lane)) >>> 0 });
    });
    roving($("lanes"), () => {}, 16);
    const choose = (button) => Answer.go({ phase: button.value === "" ? null : Number(button.value), row: null });
    const warp = (button) => set({ warp: Number(button.value) });
    for (const [id, act] of [["phases", choose], ["warps", warp]]) {
      $(id).addEventListener("click", ({ target }) => { if (target.closest("button")) act(target.closest("button")); });
      roving($(id), act);
    }
    $("map").addEventListener("keydown", (event) => {
      const by = ARROWS[event.key];
      if (by) Answer.move(/Left|Right/.test(event.key) ? "phase" : "row", by);
      else if (event.key === "Escape") Answer.go({ phase: null, row: null });
      else return;
      event.preventDefault();
    });
    for (const kind of ["mouseover", "focusin", "click"]) document.addEventListener(kind, ({ target }) => pointAt(target));
    $("copy").addEventListener("click", () => copy(written(), $("copy")));
    $("link").addEventListener("click", () => copy(location.href.split("#")[0] + State.write(state), $("link")));
    $("theme").addEventListener("click", () => theme(root.dataset.theme !== "dark"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme());
    // What the address was changed to: by now it may be rewritten to the state before.
    window.addEventListener("hashchange", ({ newURL }) => set(State.read(new URL(newURL).hash), true));
  }

  // Where the window is narrow, the answer comes first: the settings are folded.
  const narrow = matchMedia("(max-width: 980px)");
  const fold = () => { $("settings").open = !narrow.matches; };
  narrow.addEventListener("change", fold);

  options();
  wire();
  fold();
  theme();
  $("text").value = state.text;
  show();
})();
