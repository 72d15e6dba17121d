// Links a kernel's source lines to their instructions, jumps to hot lines, shows worst accesses.
"use strict";
(() => {
  for (const kernel of document.querySelectorAll(".part:has(.code-view)")) {
    const all = (selector) => [...kernel.querySelectorAll(selector)];
    const panes = all(".lines");
    const of = (key) => all(".line").filter((line) => line.dataset.line === key);
    let pinned = null;

    function show(key) {
      for (const line of all(".linked")) line.classList.remove("linked");
      for (const worst of all(".worst")) worst.classList.toggle("shown", worst.dataset.line === key);
      if (key) for (const line of of(key)) line.classList.add("linked");
    }

    // Brings a line to the middle of its pane; the page itself stays.
    function center(line) {
      const pane = line.closest(".lines");
      const fold = line.closest("details");
      if (fold) fold.open = true;
      const by = line.getBoundingClientRect().top - pane.getBoundingClientRect().top;
      pane.scrollTop += by - pane.clientHeight / 2;
    }

    function go(key, focus) {
      for (const pane of panes) {
        const line = of(key).find((each) => each.closest(".lines") === pane
          && (each.classList.contains("costs") || pane.classList.contains("source")))
          ?? of(key).find((each) => each.closest(".lines") === pane);
        if (line) center(line);
      }
      for (const line of all(".at")) line.classList.remove("at");
      const first = of(key)[0];
      first?.classList.add("at");
      pinned = key;
      show(key);
      if (focus && first) {
        kernel.querySelector(".code-view").scrollIntoView({ block: "nearest" });
        first.focus({ preventScroll: true });
      }
    }

    const keyOf = (target) => target.closest?.("[data-line]")?.dataset.line;
    kernel.addEventListener("pointerover", (event) => {
      if (!event.target.closest(".worst")) show(keyOf(event.target) ?? pinned);
    });
    kernel.addEventListener("pointerleave", () => show(pinned));
    kernel.addEventListener("focusin", (event) => {
      if (!event.target.closest(".worst")) show(keyOf(event.target) ?? pinned);
    });
    kernel.addEventListener("click", (event) => {
      if (event.target.closest(".worst")) return;
      const jump = event.target.dataset.jump ?? event.target.closest(".jump")?.dataset.line;
      const line = event.target.closest(".line[data-line]");
      if (jump) go(jump, true);
      else if (line) go(line.dataset.line, false);
      else if (event.target.closest(".lines")) { pinned = null; show(null); }
    });
    kernel.addEventListener("keydown", (event) => {
      const pane = event.target.closest(".lines");
      if (event.key === "Escape") { pinned = null; show(null); }
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!pane || !by) return;
      const costly = [...pane.querySelectorAll(".line.costs")];
      const now = costly.indexOf(event.target);
      const next = costly[now < 0 ? 0 : Math.max(0, Math.min(costly.length - 1, now + by))];
      if (!next) return;
      const fold = next.closest("details");
      if (fold) fold.open = true;
      next.focus({ preventScroll: true });
      center(next);
      event.preventDefault();
    });
    document.addEventListener("click", (event) => {
      if (!kernel.contains(event.target)) { pinned = null; show(null); }
    });

    const hottest = kernel.querySelector(".jump")?.dataset.line;
    if (hottest) for (const line of of(hottest)) center(line);
  }
})();
