// A padding and a swizzle written in C, in the user's own names.
"use strict";
const Cure = (() => {
  const SHORT = 16; // characters of an index that still reads well twice
  const SIMPLE = /^[\w.]+$/;
  const log2 = (size) => (size > 0 && (size & (size - 1)) === 0 ? Math.log2(size) : null);

  // Whether a swizzle moves elements within their rows only: an XOR of the last subscript with
  // bits of the one before.
  function inColumns({ dims }, { bits, base, shift }) {
    const columns = dims.length > 1 ? log2(dims.at(-1).size) : null;
    return columns !== null && base + bits <= columns && base + shift >= columns
      && base + shift + bits <= columns + rowBits(dims);
  }

  // Bits of the subscript before the last: its own, if others stand before it, as many as fit.
  function rowBits(dims) {
    const { size } = dims.at(-2);
    if (dims.length === 2) return Infinity;
    return log2(size) ?? 0;
  }

  const inside = (text) => (SIMPLE.test(text) || /^\([^()]*\)$/.test(text) ? text : `(${text})`);

  // The bits of `text` that a swizzle takes, moved to where it puts them.
  function term(text, down, { bits, base }, most) {
    let shown = inside(text);
    const all = most !== null && most <= 2 ** (bits + down); // nothing lies above these bits
    if (down) shown = `${shown} >> ${down}`;
    if (!all) shown = `${down ? `(${shown})` : shown} & ${2 ** bits - 1}`;
    if (base) shown = `(${shown}) << ${base}`;
    return SIMPLE.test(shown) || shown === inside(text) ? shown : `(${shown})`;
  }

  // Edits of a text: [start, end, replacement], applied from the right, what is put in at last.
  function edited(text, edits) {
    return [...edits].sort((a, b) => b[0] - a[0] || b[1] - a[1])
      .reduce((now, [start, end, into]) => now.slice(0, start) + into + now.slice(end), text);
  }

  // An index as a swizzle has it, which writes it twice: a long one gets a name before the access.
  function named({ text, from }, index, edits) {
    if (index.length <= SHORT) return inside(index);
    const words = new Set(text.match(/\w+/g));
    const name = ["i", "at", "index"].find((each) => !words.has(each)) ?? "swizzled_index";
    edits.push([from, from, `int ${name} = ${index}; `]);
    return name;
  }

  // The text with the layout written into it: the same accesses, to be copied.
  function write(question, pad, swizzle) {
    const { text, array, subscripts, offsets } = question;
    const edits = [];
    if (pad && array.dims.length > 1) {
      const { start, end, size } = array.dims.at(-1);
      const own = text.slice(start, end);
      edits.push([start, end, /^\d+$/.test(own) ? String(size + pad) : `${own} + ${pad}`]);
    }
    if (!swizzle.bits) return edited(text, edits);
    const [last, before] = [subscripts.at(-1), subscripts.at(-2)];
    const written = (part) => text.slice(part.start, part.end);
    if (!offsets.length && !pad && array.dims.length > 1 && inColumns(array, swizzle)) {
      const down = swizzle.base + swizzle.shift - log2(array.dims.at(-1).size);
      const mixed = term(written(before), down, swizzle, array.dims.at(-2).size);
      edits.push([last.start, last.end, `${inside(written(last))} ^ ${mixed}`]);
      return edited(text, edits);
    }
    if (offsets.length) return null; // only as a layout: its Sw<B,M,S> says all
    if (array.dims.length === 1) {
      const own = named(question, written(last), edits);
      const mixed = term(own, swizzle.base + swizzle.shift, swizzle, array.dims[0].size);
      edits.push([last.start, last.end, `${own} ^ ${mixed}`]);
      return edited(text, edits);
    }
    if (!question.end || question.led) return null; // no array is indexed here
    const sizes = array.dims.map(({ size }, k) => size + (k + 1 === array.dims.length ? pad : 0));
    const flat = named(question, subscripts.map(written).reduce((whole, each, k) =>
      `${k ? `${inside(whole)} * ${sizes[k]} + ` : ""}${k ? inside(each) : each}`, ""), edits);
    const mixed = term(flat, swizzle.base + swizzle.shift, swizzle, null);
    edits.push([question.start, question.end,
      `((${array.type.name}*)${array.name})[${flat} ^ ${mixed}]`]);
    return edited(text, edits);
  }

  return { inColumns, write };
})();
