// The law, as simulator/law/specification.py has it: the same functions in the same order; then
// that of atomic loops, as loops.py has it, and of copies from anywhere, as copies.py has it.
// tests/browser/test_explore_law.py holds them equal, and these to every recorded access.
// The instructions and the numbers of the banks come from Python, as JSON in the page.
"use strict";
const FACTS = JSON.parse(document.getElementById("facts").textContent);
const Law = (() => {
  const { banks: BANKS, word: WORD, shared_bytes: SHARED_BYTES, copies: COPIES } = FACTS;
  const ALL_LANES = 0xffffffff;
  const INSTRUCTIONS = new Map(FACTS.instructions.map((known) => [known.name, known]));
  const span = (first, count) => Array.from({ length: count }, (_, k) => first + k);
  const isActive = (mask, lane) => (mask >>> lane) & 1;

  // Lanes whose address means something.
  function activeLanes(instruction, mask) {
    return span(0, instruction.lanes).filter((lane) => isActive(mask, lane));
  }

  // Pairs of active partners (i, i^partner) that have different addresses.
  function brokenPairs(addresses, mask, partner) {
    return span(0, 32)
      .filter((lane) => lane < (lane ^ partner) && isActive(mask, lane) && isActive(mask, lane ^ partner)
        && addresses[lane] !== addresses[lane ^ partner])
      .map((lane) => [lane, lane ^ partner]);
  }

  // Partners for which the pair condition holds; one is enough to fuse phases. It is judged over
  // the whole warp. An inactive partner breaks nothing.
  function holdingPartners(instruction, addresses, mask, rule) {
    if (rule === "documented" || !instruction.fuses) return [];
    return instruction.partners.filter((partner) => !brokenPairs(addresses, mask, partner).length);
  }

  // Lanes served together, phase after phase, once fused.
  function phases(instruction, addresses, mask, rule) {
    return holdingPartners(instruction, addresses, mask, rule).length
      ? instruction.fused_lanes : instruction.phase_lanes;
  }

  // What each bank must serve for the active `lanes` of one phase: entries of a word and the lanes
  // on it, in lane order. A bank serves one entry per wavefront. Lanes on the same word share an
  // entry where the instruction merges them.
  function bankQueues(instruction, addresses, lanes) {
    const queues = new Map();
    for (const lane of lanes) {
      const first = Math.floor(addresses[lane] / WORD);
      const last = Math.floor((addresses[lane] + instruction.width - 1) / WORD);
      for (let word = first; word <= last; word++) {
        const bank = word % BANKS;
        if (!queues.has(bank)) queues.set(bank, []);
        const queue = queues.get(bank);
        const shared = instruction.merges && queue.find((entry) => entry.word === word);
        if (shared) shared.lanes.push(lane);
        else queue.push({ word, lanes: [lane] });
      }
    }
    return queues;
  }

  // The longest queue of each phase that has an active lane, in order.
  function served(instruction, addresses, groups, mask) {
    return groups
      .map((group) => group.filter((lane) => isActive(mask, lane)))
      .filter((lanes) => lanes.length)
      .map((lanes) => Math.max(...[...bankQueues(instruction, addresses, lanes).values()]
        .map((queue) => queue.length)));
  }

  // Count one access: 32 byte addresses, and a mask with bit l set for an active lane l; a copy
  // with the sources of its lanes, where they are known.
  function countAccess(instruction, addresses, mask, rule, sources = null) {
    const active = activeLanes(instruction, mask);
    if (!active.length) {
      return { phases: 0, wavefronts: 0, ideal: 0, excessive: 0, bank_conflicts: 0, cycles: 0 };
    }
    if (instruction.loop) return countLoop(instruction, addresses, mask);
    if (sources) return countCopy(instruction, addresses, sources, mask);
    const groups = phases(instruction, addresses, mask, rule);
    return figures(instruction, groups, served(instruction, addresses, groups, mask), active);
  }

  // The figures of phases that took so many wavefronts each, before they are repeated.
  function figures(instruction, groups, depths, active) {
    const sum = depths.reduce((total, depth) => total + depth, 0);
    const wavefronts = instruction.passes * sum;
    const full = BANKS * WORD; // bytes that one wavefront can carry
    const ideal = instruction.fixed_ideal
      ?? Math.min(wavefronts, Math.ceil(active.length * instruction.width / full));
    return {
      phases: groups.length,
      wavefronts,
      ideal,
      excessive: wavefronts - ideal,
      bank_conflicts: sum - depths.length, // a phase costs one without conflict
      cycles: cycles(instruction, wavefronts, groups.length),
    };
  }

  // Cycles of an access with an active lane; empty phases take theirs, too.
  function cycles(instruction, wavefronts, phases) {
    const least = wavefronts > 0 ? instruction.least_cycles[wavefronts - 1] ?? 0 : 0;
    return Math.max(wavefronts, instruction.phase_cycles * phases, least);
  }

  // The rounds of a loop until every active lane has won; of a round, that one. In each phase the
  // lowest pending lane of each bank tries. It wins, unless an earlier phase won its word in this
  // round. A round is for each phase the lanes that have not won yet, and those that win now.
  function play(instruction, addresses, mask) {
    const left = new Set(activeLanes(instruction, mask));
    const slots = 128 / instruction.width;
    const rounds = [];
    while (left.size && !(instruction.round && rounds.length)) {
      const changed = new Set();
      const round = instruction.phase_lanes.map((group) => {
        const pending = group.filter((lane) => left.has(lane));
        const trying = new Map();
        for (const lane of pending) {
          const bank = Math.floor(addresses[lane] / instruction.width) % slots;
          if (!trying.has(bank)) trying.set(bank, lane);
        }
        const won = [...trying.values()].filter((lane) => !changed.has(addresses[lane]));
        for (const lane of won) changed.add(addresses[lane]);
        return { pending, won: won.sort((a, b) => a - b) };
      });
      for (const { won } of round) for (const lane of won) left.delete(lane);
      rounds.push(round);
    }
    return rounds;
  }

  // A round takes two wavefronts for each phase that has a pending lane, and no bank conflict.
  function countLoop(instruction, addresses, mask) {
    const ones = play(instruction, addresses, mask).flat().filter(({ pending }) => pending.length);
    return figures(instruction, instruction.phase_lanes, ones.map(() => 1),
      activeLanes(instruction, mask));
  }

  const words = (address, width) => span(Math.floor(address / WORD),
    Math.floor((address + width - 1) / WORD) - Math.floor(address / WORD) + 1);

  // The turns of a copy's active `lanes`, in lane order: a lane is served one turn after the last
  // earlier lane that shares a bank with it, where they read from or where they write to. Equal
  // words are not merged. A lane that writes zeros has no source.
  function turns(instruction, destinations, sources, lanes) {
    const last = new Map();
    return lanes.map((lane) => {
      const sides = [["read", sources[lane]], ["write", destinations[lane]]];
      const banks = sides.filter(([, address]) => address !== COPIES.no_source)
        .flatMap(([side, address]) => words(address, instruction.width)
          .map((word) => `${side} ${word % BANKS}`));
      const number = 1 + Math.max(0, ...banks.map((bank) => last.get(bank) ?? 0));
      for (const bank of banks) last.set(bank, number);
      return { lane, number };
    });
  }

  const parity = (bits) => { let odd = 0; for (; bits; bits &= bits - 1) odd ^= 1; return odd; };

  // Which of the four tag banks of the L1 cache looks a line up.
  const tagBank = (line) => COPIES.tag_parities.reduce((bank, bits, k) =>
    bank + (parity(line & bits) << k), 0);

  const fullest = (banks) => Math.max(...span(0, 4).map((bank) =>
    banks.filter((each) => each === bank).length));

  // Cycles that a copy's lookups take: lines of its sources, and pieces of shared memory.
  function lookups(destinations, sources, lanes) {
    const read = lanes.filter((lane) => sources[lane] !== COPIES.no_source);
    const lines = new Set(read.map((lane) => Math.floor(sources[lane] / COPIES.line)));
    const pieces = new Set(lanes.map((lane) => Math.floor(destinations[lane] / COPIES.piece)));
    return fullest([...lines].map(tagBank))
      + Math.min(COPIES.most_pieces, fullest([...pieces].map((piece) => piece % 4)));
  }

  function countCopy(instruction, destinations, sources, mask) {
    const active = activeLanes(instruction, mask);
    const depths = instruction.phase_lanes
      .map((group) => group.filter((lane) => isActive(mask, lane)))
      .filter((lanes) => lanes.length)
      .map((lanes) => Math.max(...turns(instruction, destinations, sources, lanes)
        .map(({ number }) => number)));
    const found = figures(instruction, instruction.phase_lanes, depths, active);
    return { ...found, cycles: Math.max(found.cycles, lookups(destinations, sources, active)) };
  }

  // What each bank serves for the active `lanes` of a phase, wavefront by wavefront; where lanes
  // take turns, a bank may pause.
  function servedBy(instruction, addresses, phase, lanes, sources, rounds) {
    if (!sources && !instruction.loop) return bankQueues(instruction, addresses, lanes);
    const queues = new Map();
    const put = (lane, wavefront) => {
      for (const word of words(addresses[lane], instruction.width)) {
        const bank = word % BANKS;
        if (!queues.has(bank)) queues.set(bank, []);
        queues.get(bank)[wavefront] = { word, lanes: [lane] };
      }
    };
    if (sources) {
      for (const { lane, number } of turns(instruction, addresses, sources, lanes)) put(lane, number - 1);
    } else {
      rounds.forEach((round, k) => {
        for (const lane of round[phase].won) {
          for (const pass of span(0, instruction.passes)) put(lane, k * instruction.passes + pass);
        }
      });
    }
    return queues;
  }

  return {
    ALL_LANES, BANKS, INSTRUCTIONS, SHARED_BYTES, WORD,
    activeLanes, bankQueues, brokenPairs, countAccess, cycles, holdingPartners, isActive, phases,
    play, served, servedBy, span, turns,
  };
})();
