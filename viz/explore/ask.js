// From a question to accesses: threads, addresses under a padding and a swizzle, counts, cures.
"use strict";
const Ask = (() => {
  const { ALL_LANES, SHARED_BYTES, countAccess, isActive, span } = Law;
  const MOST_THREADS = 1024;
  const MOST_PAD = 32;
  const NO_SWIZZLE = { bits: 0, base: 0, shift: 0 };
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

  // The block that a text is asked for when nobody says one.
  function assumedBlock({ names }) {
    const uses = (...any) => any.some((name) => names.has(name));
    if (uses("threadIdx.z", "tz")) return [8, 8, 8];
    return uses("threadIdx.y", "ty") ? [32, 32, 1] : [32, 1, 1];
  }

  // The instruction of a type and a direction.
  function assumedInstruction({ type, store }) {
    const kinds = { 1: type.signed && !store ? "S8" : "U8", 2: type.signed && !store ? "S16" : "U16",
      4: "", 8: "64", 16: "128" };
    const kind = kinds[type.bytes];
    if (kind === undefined) {
      throw new Problem(`no instruction moves the ${type.bytes} bytes of a ${type.name} at once`
        + " (accepted: types of 1, 2, 4, 8 or 16 bytes)", type.start ?? 0, type.end ?? 1);
    }
    return Law.INSTRUCTIONS.get(`${store ? "STS" : "LDS"}${kind && `.${kind}`}`);
  }

  function thread(number, [x, y, z]) {
    const tx = number % x;
    const ty = Math.floor(number / x) % y;
    const tz = Math.floor(number / (x * y));
    const [lane, warp] = [number % 32, Math.floor(number / 32)];
    return {
      tx, ty, tz, tid: number, lane, warp, laneid: lane, lane_id: lane, laneId: lane,
      warpid: warp, warp_id: warp, warpId: warp, warpSize: 32,
      "threadIdx.x": tx, "threadIdx.y": ty, "threadIdx.z": tz,
      "blockDim.x": x, "blockDim.y": y, "blockDim.z": z,
    };
  }

  const named = ({ tx, ty, tz, warp, lane }) => `thread (${tx}, ${ty}, ${tz}), warp ${warp} lane ${lane}`;

  // Subscripts and offset of every active thread, warp by warp: what no layout changes.
  function evaluate(question, block, mask) {
    const { array, subscripts, offsets } = question;
    const threads = block[0] * block[1] * block[2];
    return span(0, Math.ceil(threads / 32)).map((warp) => {
      let active = 0;
      const lanes = span(0, 32).map((lane) => {
        const number = 32 * warp + lane;
        if (number >= threads || !isActive(mask, lane)) return null;
        active |= 1 << lane;
        const values = thread(number, block);
        const indices = subscripts.map(({ node, start, end }, k) => {
          const index = value(node, values);
          const { size } = array.dims[k];
          if (index < 0 || (size !== null && index >= size)) {
            throw new Problem(`${index} is outside of ${array.name}[${size ?? ""}], for`
              + ` ${named(values)}`, start, end);
          }
          return index;
        });
        const moved = sum(offsets.map(({ node, unit }) => value(node, values) * unit));
        return { values, indices, moved };
      });
      return { warp, mask: active >>> 0, lanes };
    });
  }

  function value(node, values) {
    try { return node(values); } catch (problem) {
      if (problem instanceof Problem) problem.message += `, for ${named(values)}`;
      throw problem;
    }
  }

  function swizzled(offset, { bits, base, shift }) {
    return offset ^ ((offset >> shift) & (((1 << bits) - 1) << base)); // as layouts/swizzle.py
  }

  // Elements of an array, padded and swizzled; null for an array of unknown size.
  function elements({ dims }, pad, { bits, base }) {
    if (dims.some(({ size }) => size === null)) return null;
    const sizes = dims.map(({ size }) => size);
    const count = sizes.reduce((product, size) => product * size, 1);
    const padded = sizes.length > 1 ? count / sizes.at(-1) * (sizes.at(-1) + pad) : count;
    const whole = bits ? 1 << (base + bits) : 1; // within such blocks elements change places
    return Math.ceil(padded / whole) * whole;
  }

  // Why a layout cannot be, or null. `width` is the instruction's.
  function refusal(question, width, pad, swizzle) {
    const { array, offsets } = question;
    const bytes = (elements(array, pad, swizzle) ?? 0) * array.type.bytes;
    if (bytes > SHARED_BYTES) return `${bytes} bytes are more than the ${SHARED_BYTES} of a block`;
    if (pad && array.dims.length < 2) {
      return `${array.name} has one dimension: there are no rows to pad`;
    }
    if (pad && offsets.length && !question.withinRow) {
      return "this access runs over the ends of rows: padding would come in between";
    }
    if (!swizzle.bits) return null;
    const whole = width / array.type.bytes;
    if (swizzle.shift < swizzle.bits) {
      return `S is at least B: Sw<B,M,S> moves ${swizzle.bits} bits by ${swizzle.shift}`;
    }
    if (1 << swizzle.base < whole) {
      return `M is at least ${Math.log2(whole)}: one lane needs ${whole} elements side by side`;
    }
    return null;
  }

  // Addresses of a warp's lanes, in bytes; of inactive lanes 0.
  function addresses({ array }, { lanes }, pad, swizzle) {
    const { bytes } = array.type;
    const sizes = array.dims.map(({ size }) => size);
    if (sizes.length > 1) sizes[sizes.length - 1] += pad;
    return lanes.map((lane) => {
      if (!lane) return 0;
      const index = lane.indices.reduce((total, each, k) => total * (k ? sizes[k] : 1) + each, 0);
      const place = index * bytes + lane.moved;
      if (!swizzle.bits || place < 0) return place;
      return swizzled(Math.floor(place / bytes), swizzle) * bytes + place % bytes;
    });
  }

  // Refuses addresses that are misaligned or outside of the array, as simulator/law/accesses.py.
  function check(question, instruction, warps, laid, total) {
    const most = Math.min(total ?? Infinity, SHARED_BYTES);
    const { start, end } = question.offsets[0] ?? question.subscripts.at(-1);
    warps.forEach(({ mask, lanes }, k) => {
      for (const lane of Law.activeLanes(instruction, mask)) {
        const address = laid[k][lane];
        const who = named(lanes[lane].values);
        if (address < 0 || address + instruction.width > most) {
          throw new Problem(`byte ${address} of ${who} is outside of the ${most} bytes of`
            + ` ${question.array.name}`, start, end);
        }
        if (address % instruction.width) {
          throw new Problem(`byte ${address} of ${who} is misaligned: ${instruction.name} needs`
            + ` multiples of ${instruction.width} bytes, and the chip traps on others`, start, end);
        }
      }
    });
  }

  const takesSource = ({ name }) => /^LDGSTS/.test(name) && !/BYPASS/.test(name);

  // The byte of global memory that each lane of a copy reads from, warp by warp; null where
  // nothing is said, and lanes read side by side.
  function sourcesOf(text, instruction, warps) {
    if (!text.trim() || !takesSource(instruction)) return null;
    let node;
    try {
      const reader = new Expression.Reader(text);
      node = Expression.read(reader, new Map());
      if (reader.peek().kind !== "end") throw new Problem(`unexpected '${reader.peek().text}'`, 0);
    } catch (problem) {
      if (problem instanceof Problem) throw new Problem(`what lanes read from: ${problem.message}`, null);
      throw problem;
    }
    return warps.map(({ lanes }) => lanes.map((lane) => {
      if (!lane) return 0;
      let from;
      try { from = value(node, lane.values); } catch (problem) {
        if (problem instanceof Problem) throw new Problem(`what lanes read from: ${problem.message}`, null);
        throw problem;
      }
      if (from < 0 || from % instruction.width) {
        throw new Problem(`byte ${from} of global memory, from which ${named(lane.values)} reads`
          + ` (accepted: multiples of ${instruction.width}, from 0)`, null);
      }
      return from;
    }));
  }

  // The whole answer to a state of the page; throws a Problem.
  function ask({ text, block: given, op, pad, swizzle, mask, rule, source = "" }) {
    const question = Question.parse(text);
    const block = given ?? assumedBlock(question);
    const threads = block[0] * block[1] * block[2];
    if (!(threads >= 1 && threads <= MOST_THREADS)) {
      throw new Problem(`a block of ${threads} threads (accepted: 1 to ${MOST_THREADS})`, null);
    }
    const instruction = op ? Law.INSTRUCTIONS.get(op) : assumedInstruction(question);
    const lanes = instruction.is_matrix ? ALL_LANES : mask;
    const warps = evaluate(question, block, lanes);
    if (instruction.is_matrix && threads % 32) {
      throw new Problem(`a block of ${threads} threads, which leaves lanes of ${instruction.name} inactive (accepted:`
        + " whole warps)", null);
    }
    const { array } = question;
    const row = array.dims.at(-1).size * array.type.bytes;
    question.withinRow = warps.every(({ lanes: each }) => each.every((lane) => !lane
      || (lane.moved >= 0 && lane.indices.at(-1) * array.type.bytes + lane.moved
        + instruction.width <= row)));
    const sources = sourcesOf(source, instruction, warps);
    const asked = { question, block, assumedBlock: !given, instruction, warps, rule, sources };
    asked.written = counted(asked, 0, NO_SWIZZLE);
    asked.refused = refusal(question, instruction.width, pad, swizzle);
    asked.now = asked.refused || (!pad && !swizzle.bits) ? asked.written : counted(asked, pad, swizzle);
    return asked;
  }

  // Counts all warps under a layout; throws a Problem where it misaligns a lane.
  function counted(asked, pad, swizzle) {
    const { question, instruction, warps, rule, sources } = asked;
    const laid = warps.map((warp) => addresses(question, warp, pad, swizzle));
    const count = elements(question.array, pad, swizzle);
    const bytes = count === null ? null : count * question.array.type.bytes;
    check(question, instruction, warps, laid, bytes);
    const figures = warps.map(({ mask }, k) =>
      countAccess(instruction, laid[k], mask, rule, sources?.[k]));
    return { pad, swizzle, laid, figures, bytes, wavefronts: sum(figures.map((f) => f.wavefronts)),
      conflicts: sum(figures.map((f) => f.bank_conflicts)) };
  }

  // The warp that is explained: most conflicts, then most wavefronts, then the first.
  function worst({ figures }) {
    const worse = (a, b) => a.bank_conflicts - b.bank_conflicts || a.wavefronts - b.wavefronts;
    return figures.reduce((found, each, k) => (worse(each, figures[found]) > 0 ? k : found), 0);
  }

  // The wavefronts of all warps under a layout, or Infinity once they exceed `limit` or where the
  // layout misaligns a lane.
  function price({ question, instruction, warps, rule }, pad, swizzle, limit) {
    if (refusal(question, instruction.width, pad, swizzle)) return Infinity;
    let total = 0;
    for (const warp of warps) {
      const laid = addresses(question, warp, pad, swizzle);
      const bad = Law.activeLanes(instruction, warp.mask).some((lane) => laid[lane] % instruction.width
        || laid[lane] + instruction.width > SHARED_BYTES);
      if (bad) return Infinity;
      total += countAccess(instruction, laid, warp.mask, rule).wavefronts;
      if (total > limit) return Infinity;
    }
    return total;
  }

  // The least padding, of 0 to 32 columns, with the fewest wavefronts; null if rows cannot be padded.
  function bestPad(asked) {
    if (refusal(asked.question, asked.instruction.width, 1, NO_SWIZZLE)) return null;
    let best = { pad: 0, price: asked.written.wavefronts };
    for (let pad = 1; pad <= MOST_PAD; pad++) {
      const found = price(asked, pad, NO_SWIZZLE, best.price - 1);
      if (found < best.price) best = { pad, price: found };
    }
    return layout(asked, best.pad, NO_SWIZZLE);
  }

  // The simplest swizzle with the fewest wavefronts: few bits, then what can be written as an XOR
  // of the last subscript, then small M and S. Bits beyond the array move nothing.
  function bestSwizzle(asked) {
    const { question, instruction } = asked;
    const { array } = question;
    const count = elements(array, 0, NO_SWIZZLE)
      ?? 1 + Math.max(...asked.written.laid.flat()) / array.type.bytes;
    const top = Math.ceil(Math.log2(Math.max(count, 2)));
    const least = Math.max(0, Math.log2(instruction.width / array.type.bytes));
    const bound = asked.written.wavefronts - instruction.passes * asked.written.conflicts;
    let best = { swizzle: NO_SWIZZLE, price: asked.written.wavefronts };
    for (let bits = 1; bits <= 5 && best.price > bound; bits++) {
      const able = [];
      for (let base = least; base + bits <= top; base++) {
        for (let shift = bits; base + shift < top; shift++) able.push({ bits, base, shift });
      }
      const plain = (swizzle) => Number(!Cure.inColumns(array, swizzle));
      able.sort((a, b) => plain(a) - plain(b));
      for (const swizzle of able) {
        if (best.price === bound) break;
        const found = price(asked, 0, swizzle, best.price - 1);
        if (found < best.price) best = { swizzle, price: found };
      }
    }
    return layout(asked, 0, best.swizzle);
  }

  const layout = (asked, pad, swizzle) =>
    (pad || swizzle.bits ? counted(asked, pad, swizzle) : asked.written);

  return { MOST_PAD, NO_SWIZZLE, takesSource, ask, bestPad, bestSwizzle, counted, swizzled, worst };
})();
