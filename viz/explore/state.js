// What the page is asked: from the link's fragment, or else from what it was written with.
"use strict";
const State = (() => {
  const START = JSON.parse(document.getElementById("start").textContent);
  const EMPTY = {
    text: "float s[32][32];\ns[threadIdx.x][threadIdx.y]", block: null, op: null, pad: 0,
    swizzle: Ask.NO_SWIZZLE, mask: Law.ALL_LANES, rule: "silicon", warp: null,
    source: "",
  };

  const within = (text, least, most) => {
    const number = /^\d{1,4}$/.test(text) ? Number(text) : NaN;
    return number >= least && number <= most ? number : null;
  };

  function block(text) {
    const sizes = text.split("x").map((size) => within(size, 1, 1024));
    while (sizes.length < 3) sizes.push(1);
    return sizes.length === 3 && !sizes.includes(null) ? sizes : null;
  }

  // Each reads its text, or gives null for what cannot be.
  const READ = {
    text: (text) => text.slice(0, 4096),
    block,
    op: (text) => {
      const wanted = text.toUpperCase();
      const found = [...Law.INSTRUCTIONS.values()].find(({ name, aliases }) =>
        [name, ...aliases].some((spelling) => spelling.toUpperCase() === wanted));
      return found?.name ?? null;
    },
    pad: (text) => within(text, 0, Ask.MOST_PAD),
    swizzle: (text) => {
      const [bits, base, shift, ...more] = text.split(",");
      const [B, M, S] = [within(bits, 0, 5), within(base ?? "", 0, 7), within(shift ?? "", 0, 9)];
      return more.length || [B, M, S].includes(null) ? null : { bits: B, base: M, shift: S };
    },
    mask: (text) => (/^[0-9a-f]{1,8}$/i.test(text) ? parseInt(text, 16) : null),
    rule: (text) => (FACTS.rules.includes(text) ? text : null),
    warp: (text) => within(text, 0, 31),
    source: (text) => text.slice(0, 256),
  };
  const WRITE = {
    block: (sizes) => sizes.join("x"),
    swizzle: ({ bits, base, shift }) => [bits, base, shift].join(","),
    mask: (bits) => bits.toString(16),
  };

  function read(fragment) {
    const state = { ...EMPTY };
    const linked = new URLSearchParams(fragment.replace(/^#/, ""));
    const given = linked.has("text") ? linked : new URLSearchParams(START);
    for (const [name, known] of Object.entries(READ)) {
      const value = given.has(name) ? known(given.get(name)) : null;
      if (value !== null) state[name] = value;
    }
    return state;
  }

  function write(state) {
    const fragment = new URLSearchParams({ text: state.text });
    for (const name of Object.keys(READ).slice(1)) {
      const said = (value) => (value === null ? "" : (WRITE[name] ?? String)(value));
      if (said(state[name]) !== said(EMPTY[name])) fragment.set(name, said(state[name]));
    }
    return `#${fragment}`;
  }

  return { EMPTY, read, write };
})();
