// What is asked, in C: declarations of arrays, and one access to one of them.
//
//     float s[32][33]; s[threadIdx.x][threadIdx.y]
//     half2 t[128][33]; t[tid / 4][tid % 4] = x;
//     float s[64][64]; *(float4*)&s[tid / 16][tid % 16 * 4]
"use strict";
const Question = (() => {
  const { Reader, narrowed, read } = Expression;

  const BYTES = new Map(Object.entries(FACTS.types)); // of C's and CUDA's types
  const SIGNED = new Set(FACTS.signed);
  const SIGNS = ["unsigned", "signed"];
  const LENGTHS = ["char", "short", "int", "long"];
  const QUALIFIERS = ["extern", "static", "volatile", "const", "constexpr", "__shared__",
    "__restrict__", "__restrict"];
  const STATEMENTS = ["if", "for", "while", "do", "return", "switch", "else"];
  const AXES = ["threadIdx", "blockDim"].flatMap((name) => ["x", "y", "z"].map((a) => `${name}.${a}`));
  const NAMES = [...AXES, "tx", "ty", "tz", "tid", "lane", "warp", "laneid", "lane_id", "laneId",
    "warpid", "warp_id", "warpId", "warpSize"];

  // What only the command line reads: it needs a compiler's first steps.
  const BEYOND = FACTS.beyond.map(([pattern, what]) => [new RegExp(pattern), what]);
  const UNSIGNED = /^(?!.*\b(char|short)\b).*\b(unsigned|uint32_t|uint64_t|uint|size_t)\b/;

  const bare = (name) => name.split("::").at(-1);

  // Whether a type starts `ahead` tokens from here, after qualifiers.
  function typeStarts(reader, ahead = 0) {
    let at = ahead;
    while (QUALIFIERS.includes(reader.peek(at).text)) at++;
    const { kind, text } = reader.peek(at);
    return kind === "name" && (SIGNS.includes(text) || BYTES.has(bare(text)));
  }

  function qualifiers(reader) {
    const found = [];
    for (;;) {
      if (reader.is("alignas", "__align__")) {
        reader.next();
        reader.need("(");
        read(reader, new Map());
        reader.need(")");
      } else if (reader.is(...QUALIFIERS)) found.push(reader.next().text);
      else return found;
    }
  }

  // Reads a type: {name, bytes, signed, start, end}.
  function typeOf(reader) {
    qualifiers(reader);
    const first = reader.peek();
    const words = [];
    while (reader.is(...SIGNS, ...LENGTHS)) words.push(reader.next().text);
    if (!words.length) {
      reader.next();
      const bytes = first.kind === "name" ? BYTES.get(bare(first.text)) : undefined;
      if (!bytes) {
        throw new Problem(`${first.text || "nothing"} is not a type known here (accepted: float,`
          + " half, int, double, float4, half2, int8_t, ...)", first.start, first.end);
      }
      words.push(bare(first.text));
    }
    const last = reader.list[reader.at - 1];
    const size = words.find((word) => word !== "int" && !SIGNS.includes(word)) ?? words.at(-1);
    const type = {
      name: words.join(" "), bytes: BYTES.get(size === "signed" ? "int" : size),
      signed: SIGNED.has(size) && !words.includes("unsigned"), start: first.start, end: last.end,
    };
    qualifiers(reader); // float const
    return type;
  }

  // Reads `type name[rows][columns], other[...]`: arrays by name.
  function declaration(reader, arrays, locals) {
    const type = typeOf(reader);
    do {
      const name = reader.next();
      if (name.kind !== "name") throw new Problem("expected a name", name.start, name.end);
      if (!reader.is("[")) reader.fail(`expected '[' and the size of ${name.text}`);
      const dims = [];
      while (reader.take("[")) {
        const { start } = reader.peek();
        if (reader.is("]") && !dims.length) dims.push({ size: null, start, end: start });
        else dims.push(dimension(reader, start, locals));
        reader.need("]");
      }
      const bytes = dims.reduce((product, { size }) => product * (size ?? 1), type.bytes);
      if (bytes > Law.SHARED_BYTES) {
        throw new Problem(`${name.text} takes ${bytes} bytes (accepted: up to ${Law.SHARED_BYTES},`
          + " which a block can have)", name.start, name.end);
      }
      arrays.set(name.text, { name: name.text, type, dims });
    } while (reader.take(","));
  }

  function dimension(reader, start, locals) {
    const names = new Map();
    const node = read(reader, names, locals);
    const { end } = reader.list[reader.at - 1];
    for (const used of names.values()) {
      throw new Problem(`a dimension must be a number, and ${used.text} is not one`, used.start,
        used.end);
    }
    let size;
    try { size = node({}); } catch (problem) {
      if (problem instanceof Problem) throw problem;
      size = 0;
    }
    if (size < 1 || size > Law.SHARED_BYTES) {
      throw new Problem(`a dimension of ${size} (accepted: 1 to ${Law.SHARED_BYTES})`, start, end);
    }
    return { size, start, end };
  }

  // The place that is accessed. `subscripts` index the array; `offsets` are added, each in units
  // of its own bytes; `pointer` says that this is still an address.
  class Place {
    constructor(array) {
      Object.assign(this, { array, type: array.type, subscripts: [], offsets: [], pointer: true });
    }
  }

  class Access {
    constructor(reader, { arrays, names, locals, pointers }) {
      Object.assign(this, { reader, arrays, names, locals, pointers });
    }

    expression() {
      const { start } = this.reader.peek();
      const node = read(this.reader, this.names, this.locals);
      return { node, start, end: this.reader.list[this.reader.at - 1].end };
    }

    // A place, or the address of one.
    place() {
      const { reader } = this;
      const token = reader.peek();
      if (reader.take("*")) {
        const place = this.place();
        if (!place.pointer) {
          throw new Problem("* needs an address (accepted: *(float4*)&s[...], *(s + ...))",
            token.start, token.end);
        }
        place.pointer = false;
        return place;
      }
      if (reader.take("&")) {
        const place = this.place();
        if (place.pointer) throw new Problem("& of an address", token.start, token.end);
        place.pointer = true;
        return place;
      }
      if (reader.is("reinterpret_cast")) return this.postfix(this.reinterpreted());
      if (reader.is("(")) {
        if (typeStarts(reader, 1)) {
          reader.next();
          const cast = this.castType();
          reader.need(")");
          return this.retyped(this.place(), cast);
        }
        reader.next();
        const place = this.sum(this.place());
        reader.need(")");
        return this.postfix(place);
      }
      const name = reader.next();
      if (name.kind !== "name") {
        throw new Problem(name.text ? `unexpected '${name.text}': expected an access such as s[lane]`
          : "an access is missing, such as s[threadIdx.x]", name.start, name.end);
      }
      const led = this.pointers.get(name.text);
      if (led) { // once more, for its name may stand twice in a text
        const { subscripts, offsets } = led;
        return this.postfix(Object.assign(new Place(led.array), led,
          { subscripts: [...subscripts], offsets: [...offsets], led: true }));
      }
      if (!this.arrays.has(name.text)) this.assume(name);
      const place = new Place(this.arrays.get(name.text));
      place.start = name.start;
      return this.postfix(place);
    }

    assume(name) {
      if (STATEMENTS.includes(name.text)) {
        throw new Problem(`'${name.text}' is not accepted here (accepted: the access alone; choose its lanes`
          + " by the mask)", name.start, name.end);
      }
      let depth = 0;
      let subscripts = 0;
      for (const token of this.reader.list.slice(this.reader.at)) {
        if (token.text === "[" && depth++ === 0) subscripts++;
        else if (token.text === "]") depth--;
        else if (depth === 0) break;
      }
      if (subscripts !== 1) {
        throw new Problem(`${name.text} is not declared (accepted: float ${name.text}[32][32];`
          + ` before it)`, name.start, name.end);
      }
      this.arrays.set(name.text, assumed(name.text));
    }

    castType() {
      const type = typeOf(this.reader);
      const how = this.reader.next();
      if (how.text !== "*" && how.text !== "&") {
        throw new Problem(`expected ${type.name}* or ${type.name}&`, how.start, how.end);
      }
      qualifiers(this.reader);
      return { type, reference: how.text === "&" };
    }

    reinterpreted() {
      const { reader } = this;
      reader.next();
      reader.need("<");
      const cast = this.castType();
      reader.need(">");
      reader.need("(");
      const place = this.sum(this.place());
      reader.need(")");
      return this.retyped(place, cast);
    }

    retyped(place, { type, reference }) {
      if (place.pointer === reference) {
        const want = reference ? "an element" : "an address";
        throw new Problem(`a cast to ${type.name}${reference ? "&" : "*"} is of ${want}`
          + ` (accepted: *(${type.name}*)&s[...], reinterpret_cast<${type.name}&>(s[...]))`,
          type.start, type.end);
      }
      place.type = type;
      place.cast = true;
      return place;
    }

    // s + 4 * tid, of an address.
    sum(place) {
      const { reader } = this;
      while (place.pointer && reader.is("+", "-")) {
        if (!place.cast && place.array.dims.length - place.subscripts.length > 1) {
          reader.fail(`${place.array.name} + ... moves by rows (accepted: &${place.array.name}`
            + `${"[0]".repeat(place.array.dims.length)} + ...)`);
        }
        const sign = reader.is("-") ? -1 : 1;
        if (sign > 0) reader.next(); // a minus is the expression's own
        const rest = this.expression();
        place.offsets.push({ ...rest, unit: place.type.bytes });
        place.moved = true;
      }
      return place;
    }

    postfix(place) {
      const { reader } = this;
      while (reader.is("[")) {
        const whole = !place.moved && !place.cast && place.subscripts.length < place.array.dims.length;
        if (!whole && !place.pointer) reader.fail(`${place.array.name} has no more dimensions`);
        reader.next();
        const index = this.expression();
        reader.need("]");
        if (whole) {
          place.subscripts.push(index);
          place.end = reader.list[reader.at - 1].end;
          place.pointer = place.subscripts.length < place.array.dims.length;
        } else {
          place.offsets.push({ ...index, unit: place.type.bytes });
          place.pointer = false;
        }
      }
      if (reader.is(".")) this.member(place);
      return place;
    }

    // float4's .x, .y, .z, .w
    member(place) {
      const { reader } = this;
      const [, of, count] = /^(?:\w+::)*(\w+)([1-4])$/.exec(place.type.name) ?? [];
      const bytes = BYTES.get(of);
      if (place.pointer || !bytes || bytes * count !== place.type.bytes) {
        reader.fail("a member alone is not accepted (accepted: the whole element, or a cast)");
      }
      reader.next();
      const name = reader.next();
      const at = name.text.length === 1 ? "xyzw".indexOf(name.text) : -1;
      if (at < 0 || at >= count) {
        throw new Problem(`${place.type.name} has no member ${name.text} (accepted:`
          + ` ${[..."xyzw"].slice(0, count).join(", ")})`, name.start, name.end);
      }
      if (at) place.offsets.push({ node: () => at * bytes, start: name.start, end: name.end, unit: 1 });
      Object.assign(place, { cast: true,
        type: { ...place.type, name: of, bytes, signed: SIGNED.has(of) } });
    }
  }

  const assumed = (name) => ({
    name, dims: [{ size: null }], assumed: true,
    type: { name: "float", bytes: 4, signed: false },
  });

  // Tokens of the statement from here on.
  function statement(reader) {
    const rest = reader.list.slice(reader.at);
    const end = rest.findIndex((token) => token.text === ";");
    return end < 0 ? rest : rest.slice(0, end);
  }

  // A question of a text. Throws a Problem that says where the text is not understood.
  //
  // {array, type, subscripts, offsets, store, names, locals}
  function parse(text) {
    for (const [pattern, what] of BEYOND) {
      const found = pattern.exec(text.replace(/\/\*[^]*?\*\/|\/\/[^\n]*/g, (said) => " ".repeat(said.length)));
      if (found) {
        throw new Problem(`${what} is read by the command line alone: bankwise 'QUESTION'`,
          found.index, found.index + found[0].length);
      }
    }
    const reader = new Reader(text);
    const arrays = new Map();
    const scope = { arrays, locals: new Map(), names: new Map(), pointers: new Map() };
    let found = null;
    for (;;) {
      while (reader.take(";"));
      const token = reader.peek();
      if (token.kind === "end") break;
      if (found) {
        throw new Problem("one access at a time: this is the second", token.start, token.end);
      }
      found = readStatement(reader, scope);
      if (reader.peek().kind !== "end") reader.need(";");
    }
    if (!found) {
      const sole = [...arrays.values()].at(-1);
      const example = sole ? `${sole.name}${"[threadIdx.x]".repeat(sole.dims.length)}`
        : "float s[32][32]; s[threadIdx.x][threadIdx.y]";
      throw new Problem(`an access is missing, such as ${example}`, reader.end.start);
    }
    for (const used of scope.names.values()) {
      if (!NAMES.includes(used.text)) {
        throw new Problem(`unknown name ${used.text} (accepted: threadIdx.x, .y, .z, blockDim.x, tx,`
          + " ty, tid, lane, warp, or int NAME = ...; before it)", used.start, used.end);
      }
    }
    return { ...found, names: new Set(scope.names.keys()), text };
  }

  // A value under the type of the name that gets it.
  function typed(node, { name }) {
    const narrow = narrowed(name.split(" ")) ?? ((value) => value);
    return Object.assign((values) => narrow(node(values)), { unsigned: UNSIGNED.test(name) });
  }

  // Reads a statement: an access, or null for a declaration.
  function readStatement(reader, scope) {
    const { arrays, locals, names, pointers } = scope;
    const own = statement(reader);
    const accesses = (tokens) => tokens.some(({ text }, k) =>
      arrays.has(text) || pointers.has(text) || text === "reinterpret_cast"
      || (tokens[k].kind === "name" && tokens[k + 1]?.text === "["));
    const set = own.findIndex(({ text }) => /^([-+*/%&|^]|<<|>>)?=$/.test(text));
    qualifiers(reader);
    const [first, second] = [reader.peek(), reader.peek(1)];
    if (first.kind === "name" && second.kind === "name" && !STATEMENTS.includes(first.text)) {
      if (!typeStarts(reader)) typeOf(reader); // says which types there are
    }
    if (typeStarts(reader)) {
      if (set < 0) {
        declaration(reader, arrays, locals);
        return null;
      }
      const type = typeOf(reader);
      if (reader.is("*", "&")) {
        pointer(reader, scope);
        return null;
      }
      do {
        const name = reader.next();
        reader.need("=", `and the value of ${name.text}`);
        if (accesses(own.slice(set + 1))) break; // float v = s[...]
        locals.set(name.text, typed(read(reader, names, locals), type));
      } while (reader.take(","));
      if (!accesses(own.slice(set + 1))) return null;
    } else if (set >= 0 && accesses(own.slice(set + 1))
      && !own.slice(0, set).some(({ text }) => arrays.has(text) || pointers.has(text))) {
      reader.at += set + 1; // value = s[...], sum += s[...], out[i] = s[...]
    }
    if (!accesses(own) && !own.some(({ text }, k) => k === 0 && text === "*")) {
      return indices(reader, scope);
    }
    const place = new Access(reader, scope).place();
    const decays = place.moved || place.cast; // s[row] + column, (float4*)s
    if (!decays && place.subscripts.length && place.subscripts.length < place.array.dims.length) {
      const { name, dims } = place.array;
      const last = place.subscripts.at(-1);
      throw new Problem(`${name} has ${dims.length} dimensions, of which ${place.subscripts.length}`
        + ` ${place.subscripts.length > 1 ? "are" : "is"} indexed (accepted:`
        + ` ${name}${"[...]".repeat(dims.length)})`, last.start, last.end);
    }
    if (!decays && place.pointer && !place.subscripts.length) {
      throw new Problem(`${place.array.name} is an array: which element? (accepted:`
        + ` ${place.array.name}${"[...]".repeat(place.array.dims.length)})`, own[0].start, own[0].end);
    }
    const { dims } = place.array;
    for (let k = place.subscripts.length; k < dims.length; k++) {
      place.subscripts.push({ node: () => 0, start: own[0].start, end: own[0].end, omitted: true });
    }
    const store = reader.is("=");
    if (/^.+=$/.test(reader.peek().text) && !reader.is("==", "!=", "<=", ">=")) {
      reader.fail(`a load and a store at once (accepted: s[...] for the load, s[...] = x for the`
        + " store)");
    }
    if (store) reader.at += statement(reader).length;
    return { ...place, store, from: own[0].start };
  }

  // Reads `* p = s[row], * q = (half*)t`, whose names lead to an address, or an element after &.
  function pointer(reader, scope) {
    do {
      const reference = reader.next().text === "&";
      qualifiers(reader);
      const name = reader.next();
      reader.need("=", `and the address that ${name.text} holds`);
      const access = new Access(reader, scope);
      const place = access.sum(access.place());
      if (place.pointer === reference) {
        throw new Problem(reference ? `${name.text} needs an element (accepted: s[...])`
          : `${name.text} needs an address (accepted: s, s[row], &s[...], (float4*)s)`,
          name.start, name.end);
      }
      scope.pointers.set(name.text, place);
    } while (reader.take(","));
  }

  // `lane * 33`, or `row, column`: subscripts of the array declared last.
  function indices(reader, scope) {
    const { start } = reader.peek();
    const access = new Access(reader, scope);
    const subscripts = [];
    do subscripts.push(access.expression()); while (reader.take(","));
    const array = [...scope.arrays.values()].at(-1) ?? assumed("s");
    if (subscripts.length !== array.dims.length) {
      throw new Problem(array.assumed
        ? "a row and a column need a declaration (accepted: float s[32][32]; before them)"
        : `${array.name} has ${array.dims.length} dimensions, and ${subscripts.length} indices are`
          + " given", start, reader.list[reader.at - 1].end);
    }
    return { ...new Place(array), subscripts, store: false, from: start };
  }

  return { NAMES, parse };
})();
