// The best padding and the best swizzle, drawn beside the access as it was written.
"use strict";
const Cures = (() => {
  const { node } = BankMap;
  const place = document.getElementById("cures");

  function show(asked, uses) {
    const { written } = asked;
    place.classList.remove("stale");
    if (asked.instruction.loop || asked.sources) {
      const card = node("section", "cure");
      card.append(node("h3", "", "Not searched"), node("p", "caveat", asked.sources
        ? "What a copy from anywhere costs depends on where it reads from, too."
        : "Cures are not searched for loops of atomics."));
      place.replaceChildren(card);
      return;
    }
    if (!written.conflicts) {
      const card = node("section", "cure");
      card.append(node("h3", "", "Nothing to cure"), node("p", "caveat",
        written.wavefronts ? "No phase of any warp takes more than one wavefront as written."
          : "This access takes no wavefront."));
      place.replaceChildren(card);
      return;
    }
    const pad = Ask.bestPad(asked);
    const swizzle = Ask.bestSwizzle(asked);
    place.replaceChildren(
      card(asked, pad, "Padding", pad ? `no padding of up to ${Ask.MOST_PAD} columns costs less`
        : `${asked.question.array.name} has no rows that can be padded here`, uses),
      card(asked, swizzle, "Swizzle", "no swizzle Sw<B,M,S> costs less", uses),
      node("p", "caveat", "Only this access is counted: other accesses to the array may get bank conflicts, so"
        + " ask for that, too."),
    );
  }

  function card(asked, cured, title, without, uses) {
    const made = node("section", "cure");
    const head = node("header");
    made.append(head);
    const changes = cured && cured.wavefronts < asked.written.wavefronts;
    if (!changes) {
      head.append(node("h3", "", title));
      made.append(node("p", "caveat", `Does not help: ${without}.`));
      return made;
    }
    const more = cured.bytes === null ? "" : `${Words.number(cured.bytes)} bytes`
      + ` (${cured.bytes > asked.written.bytes ? `+${Words.number(cured.bytes - asked.written.bytes)}` : "no more"})`;
    head.append(node("h3", "", `${title}: ${name(cured)}`), node("span", "", more));
    const warp = Ask.worst(cured);
    const view = Answer.seen(asked, cured, warp);
    const map = node("div", "map");
    map.setAttribute("role", "img");
    map.setAttribute("aria-label", `The words in memory with ${Answer.layoutName(cured)}: ${view.verdict.text}`);
    BankMap.drawMemory(map, view.phases, { numbers: false });
    const said = cured.conflicts ? `Leaves ${view.verdict.text.toLowerCase()}` : short(view);
    made.append(map, node("p", `said${cured.conflicts ? " still" : ""}`, said));
    const text = Cure.write(asked.question, cured.pad, cured.swizzle);
    if (text) made.append(node("code", "", text));
    const does = node("div", "does");
    does.append(button("Try it", `Try ${Answer.layoutName(cured)}`, () => uses.apply(cured)));
    if (text) does.append(button("Copy", `Copy the C text of ${Answer.layoutName(cured)}`, (me) => uses.copy(text, me)));
    made.append(does);
    return made;
  }

  const name = ({ pad, swizzle: { bits, base, shift } }) =>
    (pad ? `+${Words.plural(pad, "column")}` : `Sw<${bits},${base},${shift}>`);

  const short = ({ figures }) => `Conflict-free: ${Words.plural(figures.wavefronts, "wavefront")}`
    + `${figures.phases > 1 ? `, one per phase` : ""}`;

  function button(text, label, act) {
    const made = node("button", "", text);
    made.type = "button";
    made.setAttribute("aria-label", label);
    made.addEventListener("click", () => act(made));
    return made;
  }

  return { show };
})();
