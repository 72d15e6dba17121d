// What the figures mean, in words: the verdict, its cause, and the name of a lane's place.
"use strict";
const Words = (() => {
  const NUMBERS = ["no", "one", "two", "three", "four"];
  const number = (count) => count.toLocaleString("en");
  const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
  const word = (count) => NUMBERS[count] ?? number(count);
  const listed = (parts) => (parts.length > 1
    ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : String(parts[0]));

  // Ascending integers with runs shortened: 0-3, 8, 10-11.
  function ranges(numbers) {
    const runs = [];
    for (const each of numbers) {
      const last = runs.at(-1);
      if (last && last[1] + 1 === each) last[1] = each;
      else runs.push([each, each]);
    }
    return runs.map(([first, last]) => (first === last ? `${first}` : `${first}\u2013${last}`))
      .join(", ");
  }

  // An access taken apart: its phases that have an active lane, and what each bank serves in them.
  function apart(instruction, addresses, mask, rule, sources = null) {
    const some = Law.activeLanes(instruction, mask).length;
    const turning = sources || instruction.loop; // such phases never fuse
    const groups = !some ? [] : turning ? instruction.phase_lanes
      : Law.phases(instruction, addresses, mask, rule);
    const rounds = some && instruction.loop ? Law.play(instruction, addresses, mask) : [];
    return groups.map((lanes, index) => {
      const active = lanes.filter((lane) => Law.isActive(mask, lane));
      const queues = Law.servedBy(instruction, addresses, index, active, sources, rounds);
      const depth = Math.max(0, ...[...queues.values()].map((queue) => queue.length));
      return { index, lanes, active, queues, depth };
    });
  }

  // {level, text, more}: level is free, harmless, conflict or nothing.
  function verdict(instruction, figures, phases, addresses) {
    const { name } = instruction;
    if (!instruction.phases) {
      return { level: "free", text: "Conflict-free: it does not pass through the shared-memory pipe",
        more: `${name} does not use the shared-memory pipe of wavefronts: no wavefronts, no conflicts.` };
    }
    if (!figures.wavefronts) {
      return { level: "nothing", text: "No lane is active: nothing is accessed", more: "" };
    }
    const { wavefronts, excessive, bank_conflicts: conflicts } = figures;
    const least = leastWavefronts(instruction, figures, phases, addresses);
    if (instruction.loop) return loop(instruction, wavefronts, least, phases, addresses);
    const depths = phases.filter(({ depth }) => depth).map(({ depth }) => depth);
    const fused = figures.phases < instruction.phases;
    const nsight = `Nsight calls that ${wavefronts}-way`;
    if (!conflicts) return { level: "free", text: free(instruction, wavefronts, depths, fused, nsight) };
    if (!excessive) {
      const alike = new Set(depths).size === 1;
      const each = alike
        ? `${word(depths.length)} ${fused ? "fused " : ""}phase${depths.length > 1 ? "s" : ""} of`
          + ` ${word(depths[0])} wavefronts`
        : `${fused ? "fused " : ""}phases of ${listed(depths.map(word))} wavefronts`;
      return { level: "harmless", text: `${plural(conflicts, "bank conflict")} that cost${
        conflicts === 1 ? "s" : ""} nothing: ${each}` };
    }
    if (least === wavefronts) return together(instruction, wavefronts, phases, addresses);
    const price = `${plural(wavefronts, "wavefront")} where ${number(least)} ${least === 1 ? "is" : "are"} enough`;
    const most = Math.max(...depths);
    if (depths.length === 1) {
      const beside = most === wavefronts ? "" : ` (${nsight})`;
      return { level: "conflict", text: `${most}-way bank conflict: ${price}${beside}` };
    }
    const where = new Set(depths).size === 1 ? `in each of its ${depths.length} phases`
      : `in the worst of its ${depths.length} phases`;
    return { level: "conflict", text: `${most}-way bank conflict ${where}: ${price} (${nsight})` };
  }

  // The most lanes that have one address: in every layout they have it.
  function mostAlike(lanes, addresses) {
    const alike = new Map();
    for (const lane of lanes) alike.set(addresses[lane], (alike.get(addresses[lane]) ?? 0) + 1);
    return Math.max(0, ...alike.values());
  }

  // The wavefronts without conflicts that cost something; lanes that update one word are served one
  // after the other.
  function leastWavefronts(instruction, figures, phases, addresses) {
    if (!figures.excessive) return figures.wavefronts;
    if (instruction.verb !== "update" || instruction.merges) {
      return figures.wavefronts - instruction.passes * figures.bank_conflicts;
    }
    return instruction.passes
      * phases.reduce((sum, { active }) => sum + mostAlike(active, addresses), 0);
  }

  function together({ verb }, wavefronts, phases, addresses) {
    const lanes = mostAlike(phases.flatMap(({ active }) => active), addresses);
    return { level: "conflict", text: `${plural(wavefronts, "wavefront")}: up to ${lanes} lanes ${verb}`
      + " one word, and no layout serves them at once" };
  }

  function loop(instruction, wavefronts, least, phases, addresses) {
    const active = phases.filter((phase) => phase.active.length).length;
    if (wavefronts === least && least > instruction.passes * active) {
      return together(instruction, wavefronts, phases, addresses);
    }
    return wavefronts === least
      ? { level: "free", text: `Conflict-free: one round of ${plural(least, "wavefront")}` }
      : { level: "conflict",
        text: `Lanes wait for each other: ${number(wavefronts)} wavefronts where ${least} ${least === 1 ? "is" : "are"} enough` };
  }

  function free(instruction, wavefronts, depths, fused, nsight) {
    const { name, passes } = instruction;
    if (wavefronts === 1) return "Conflict-free: 1 wavefront, the least possible";
    if (passes > 1) {
      return `Conflict-free: every ${name} takes its wavefronts ${passes === 2 ? "twice" : `${passes} times`}`
        + ` (${nsight})`;
    }
    const own = `Conflict-free: its ${wavefronts} wavefronts are`;
    if (fused) {
      const { fused_lanes: together, phases } = instruction;
      const unfused = 2 * together.length === phases ? `half of what ${name} takes`
        : `where ${name} takes ${phases}`;
      return `${own} ${word(depths.length)} fused phases, ${unfused} unfused (${nsight})`;
    }
    if (depths.length < instruction.phases) {
      return `${own} the ${depths.length} phases that have an active lane (${nsight})`;
    }
    return `${own} the ${depths.length} phases that every ${name} needs (${nsight})`;
  }

  // Why: the lanes that meet in the worst bank, and whether phases fused.
  function cause(instruction, addresses, mask, rule, phases, sources = null) {
    if (instruction.loop) {
      return "In a round, one lane of each bank adds; the others load and try again."
        + ` A round takes ${plural(instruction.passes, "wavefront")} per phase.`;
    }
    if (sources) {
      return "Lanes of a phase that share a bank, where they read from or where they write to, are"
        + " served one after the other.";
    }
    const worst = phases.reduce((most, each) => (each.depth > most.depth ? each : most),
      phases[0] ?? { depth: 0 });
    const said = [];
    if (worst.depth > 1) said.push(meeting(instruction, worst, phases.length > 1));
    else if (worst.depth === 1) {
      const shared = instruction.merges
        && [...worst.queues.values()].some((queue) => queue[0].lanes.length > 1);
      said.push(shared ? "No bank serves more than one word; lanes on the same word share it."
        : `No bank serves more than one ${instruction.merges ? "word" : "lane"} in a phase.`);
    }
    const note = fusing(instruction, addresses, mask, rule);
    return [...said, note].filter(Boolean).join(" ");
  }

  function meeting(instruction, { queues, depth, index }, several) {
    const full = [...queues].filter(([, queue]) => queue.length === depth).sort((a, b) => a[0] - b[0]);
    const heads = (queue) => queue.map(({ lanes }) => lanes[0]).join();
    const alike = full.filter(([, queue]) => heads(queue) === heads(full[0][1]));
    const banks = alike.map(([bank]) => bank);
    const [, queue] = full[0];
    const lanes = [...queue.map((entry) => entry.lanes[0])].sort((a, b) => a - b);
    const words = new Set(queue.map((entry) => entry.word)).size;
    const what = words === lanes.length ? `${words} different words of`
      : `${words === 1 ? "the same word" : `${words} words`} of`;
    const not = words === lanes.length ? "" : `, which ${instruction.name} does not merge`;
    const likewise = full.length - alike.length;
    return `${several ? `In phase ${index}, lanes` : "Lanes"} ${lanes.length < 5 ? listed(lanes)
      : ranges(lanes)} ${instruction.verb} ${what} bank${banks.length > 1 ? "s" : ""}`
      + ` ${ranges(banks)}${not}${likewise ? ` (${plural(likewise, "other bank")} likewise)` : ""}.`;
  }

  function fusing(instruction, addresses, mask, rule) {
    if (!instruction.fuses || !Law.activeLanes(instruction, mask).length) return "";
    const from = `${instruction.phases} phases`;
    if (rule === "documented") return `The documented rule never fuses its ${from}.`;
    const [partner] = Law.holdingPartners(instruction, addresses, mask, rule);
    if (partner) {
      const into = instruction.fused_lanes.length;
      return `Its ${from} fuse into ${into}: active lanes i and i^${partner} agree on their address.`;
    }
    const pairs = instruction.partners.map((each) => Law.brokenPairs(addresses, mask, each)[0]);
    const who = pairs.length > 1 ? "neighbouring lanes" : `lanes ${pairs[0].join(" and ")}`;
    return `The ${from} are not merged, because ${who} ${instruction.verb} different addresses.`;
  }

  // The access of a thread, with its own numbers: s[5][0].
  function element({ question }, lane) {
    if (!lane) return "";
    const { array, offsets } = question;
    const at = lane.indices.map((index) => `[${index}]`).join("");
    return offsets.length ? `${array.name} + ${lane.moved} bytes` : array.name + at;
  }

  return { apart, cause, element, number, plural, ranges, verdict };
})();
