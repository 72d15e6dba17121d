// The law, as simulator/law/specification.py has it: the same functions in the same order.
// tests/browser/test_explore.py holds the two equal, and this one to every recorded access.
// The instructions and the numbers of the banks come from Python, as JSON in the page.
"use strict";
const FACTS = JSON.parse(document.getElementById("facts").textContent);
const Law = (() => {
  const { banks: BANKS, word: WORD, shared_bytes: SHARED_BYTES } = FACTS;
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

  // Count one access: 32 byte addresses, and a mask with bit l set for an active lane l.
  function countAccess(instruction, addresses, mask, rule) {
    const active = activeLanes(instruction, mask);
    if (!active.length) {
      return { phases: 0, wavefronts: 0, ideal: 0, excessive: 0, bank_conflicts: 0, cycles: 0 };
    }
    const groups = phases(instruction, addresses, mask, rule);
    const depths = served(instruction, addresses, groups, mask);
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

  return {
    ALL_LANES, BANKS, INSTRUCTIONS, SHARED_BYTES, WORD,
    activeLanes, bankQueues, brokenPairs, countAccess, cycles, holdingPartners, isActive, phases,
    served, span,
  };
})();
