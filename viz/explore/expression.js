// C index expressions, by the rules of layouts/expression.py: values are C's 32-bit integers,
// division goes towards zero, and what C leaves undefined is refused at its column, if evaluated.
"use strict";

// Something that cannot be read or evaluated, and where in the text; null: not in the text.
class Problem extends Error {
  constructor(message, start, end = start + 1) {
    super(message);
    this.start = start;
    this.end = Math.max(end, start + 1);
  }
}

const Expression = (() => {
  const LONGEST = 4096;
  const LEAST = -(2 ** 31);
  const MOST = 2 ** 31 - 1;
  const TOKEN = new RegExp([
    String.raw`(?<blank>\s+|//[^\n]*|/\*[^]*?\*/)`,
    String.raw`(?<number>0[xX][0-9a-fA-F]+[uUlL]{0,3}(?!\w)|0[bB][01]+[uUlL]{0,3}(?!\w)|(?:0|[1-9][0-9]*)[uUlL]{0,3}(?!\w))`,
    String.raw`(?<name>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)`,
    String.raw`(?<sign>\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:()[\],;.])`,
  ].join("|"), "y");

  function tokens(text) {
    if (text.length > LONGEST) {
      throw new Problem(`${text.length} characters (accepted: up to ${LONGEST})`, LONGEST);
    }
    const found = [];
    for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length;) {
      const start = TOKEN.lastIndex;
      const match = TOKEN.exec(text);
      if (!match || (match[0] === "/" && text[start + 1] === "*")) {
        const word = /[\w.]+|[^]/uy;
        word.lastIndex = start;
        const [odd] = word.exec(text);
        throw new Problem(text.startsWith("/*", start) ? "a comment that does not end"
          : /^\d/.test(odd) ? `${odd} is not an integer as C writes it (accepted: 33, 33u, 0x21)`
            : `unexpected '${odd}'`, start, start + odd.length);
      }
      const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
      if (kind !== "blank") found.push({ kind, text: match[0], start, end: TOKEN.lastIndex });
    }
    return found;
  }

  // Reads tokens one after the other; `end` stands behind the last.
  class Reader {
    constructor(text) {
      this.text = text;
      this.list = tokens(text);
      this.at = 0;
      const last = this.list.at(-1)?.end ?? 0;
      this.end = { kind: "end", text: "", start: last, end: last };
    }

    peek(ahead = 0) { return this.list[this.at + ahead] ?? this.end; }

    is(...texts) { return this.peek().kind !== "end" && texts.includes(this.peek().text); }

    next() { return this.at < this.list.length ? this.list[this.at++] : this.end; }

    take(text) { return this.is(text) ? this.next() : null; }

    need(text, why = "") {
      return this.take(text) ?? this.fail(`expected '${text}'${why && ` ${why}`}`);
    }

    fail(expected) {
      const token = this.peek();
      const what = token.kind === "end" ? "the text ends too early" : `unexpected '${token.text}'`;
      throw new Problem(expected ? `${what}: ${expected}` : what, token.start, token.end);
    }
  }

  function fit(value, token) {
    if (value < LEAST || value > MOST) {
      throw new Problem(`${value} does not fit a 32-bit int`, token.start, token.end);
    }
    return Number(value) + 0; // no -0
  }

  // Exact where a double is not, for the message alone.
  const exact = (a, b, number, big) =>
    (Number.isSafeInteger(number) ? number : big(BigInt(a), BigInt(b)));

  function shifted(b, token) {
    if (b < 0 || b > 31) {
      throw new Problem(`shift by ${b} (accepted: 0 to 31)`, token.start, token.end);
    }
  }

  function divisor(b, token) {
    if (b === 0) throw new Problem("division by zero", token.start, token.end);
  }

  const BINARY = {
    "*": (a, b) => exact(a, b, a * b, (x, y) => x * y),
    "/": (a, b, token) => (divisor(b, token), Math.trunc(a / b)),
    "%": (a, b, token) => (divisor(b, token), a % b),
    "+": (a, b) => a + b,
    "-": (a, b) => a - b,
    "<<": (a, b, token) => (shifted(b, token), exact(a, b, a * 2 ** b, (x, y) => x << y)),
    ">>": (a, b, token) => (shifted(b, token), a >> b),
    "<": (a, b) => Number(a < b),
    "<=": (a, b) => Number(a <= b),
    ">": (a, b) => Number(a > b),
    ">=": (a, b) => Number(a >= b),
    "==": (a, b) => Number(a === b),
    "!=": (a, b) => Number(a !== b),
    "&": (a, b) => a & b,
    "^": (a, b) => a ^ b,
    "|": (a, b) => a | b,
  };
  const UNARY = {
    "+": (a) => a,
    "-": (a) => -a,
    "~": (a) => ~a,
    "!": (a) => Number(a === 0),
  };
  // From the loosest to the tightest.
  const LEVELS = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", "<=", ">", ">="],
    ["<<", ">>"], ["+", "-"], ["*", "/", "%"]];
  const BITS = { 8: "char uchar int8_t uint8_t", 16: "short ushort int16_t uint16_t",
    32: "int unsigned signed long size_t ptrdiff_t uint int32_t uint32_t int64_t uint64_t" };
  const INTEGERS = new Map(Object.entries(BITS).flatMap(([bits, names]) =>
    names.split(" ").flatMap((name) => [[name, Number(bits)], [`std::${name}`, Number(bits)]])));
  // Their value depends on whether a number below 0 wraps around.
  const ORDERED = ["/", "%", ">>", "<", "<=", ">", ">="];
  const COMPARED = ["<", "<=", ">", ">=", "==", "!="];
  const UNSIGNED = /^(threadIdx|blockDim)\./;

  // An expression that C gives the type `unsigned`.
  const unsigned = (node, is = true) => Object.assign(node, { unsigned: is });

  // An operator for unsigned numbers, whose 32 bits are read as an int.
  const wrapped = (apply) => (a, b, token) => {
    const found = apply(a < 0 ? a + 2 ** 32 : a, b < 0 ? b + 2 ** 32 : b, token);
    return found > MOST ? found - 2 ** 32 : found;
  };

  const isPositive = (word) => /^(u|size_t)/.test(word);

  // What becomes of a number in a type narrower than `int`; null for other types.
  function narrowed(words) {
    if (words.includes("bool")) return (value) => Number(value !== 0);
    const bits = Math.min(...words.map((word) => INTEGERS.get(word) ?? 32));
    if (bits === 32) return null;
    const low = words.some(isPositive) ? 0 : 2 ** (bits - 1);
    return (value) => ((value + low) & (2 ** bits - 1)) - low;
  }

  // Reads an expression; gives a function of the values of names. `names` remembers what it uses:
  // each name with its first token. `locals` are functions of names that the text itself defines.
  function read(reader, names, locals = new Map()) {
    let depth = 0;

    function ternary() {
      if (++depth > 200) reader.fail("nested too deeply");
      const condition = binary(0);
      let node = condition;
      if (reader.take("?")) {
        const yes = ternary();
        reader.need(":", "of ?:");
        const no = ternary();
        node = unsigned((values) => (condition(values) ? yes(values) : no(values)),
          Boolean(yes.unsigned || no.unsigned));
      }
      depth--;
      return node;
    }

    function binary(level) {
      if (level === LEVELS.length) return unary();
      let node = binary(level + 1);
      while (reader.peek().kind === "sign" && LEVELS[level].includes(reader.peek().text)) {
        const token = reader.next();
        const [first, second] = [node, binary(level + 1)];
        if (token.text === "||") node = (v) => Number(first(v) !== 0 || second(v) !== 0);
        else if (token.text === "&&") node = (v) => Number(first(v) !== 0 && second(v) !== 0);
        else {
          const shifts = token.text === "<<" || token.text === ">>";
          const wraps = Boolean(first.unsigned || (!shifts && second.unsigned));
          const plain = token.text === ">>" && wraps ? (a, b, at) => (shifted(b, at), a >>> b)
            : BINARY[token.text];
          const apply = wraps && ORDERED.includes(token.text) ? wrapped(plain) : plain;
          node = unsigned((v) => fit(apply(first(v), second(v), token), token),
            wraps && !COMPARED.includes(token.text));
        }
      }
      return node;
    }

    function unary() {
      if (!reader.is("+", "-", "~", "!")) return atom();
      if (++depth > 200) reader.fail("nested too deeply");
      const token = reader.next();
      const argument = unary();
      depth--;
      return unsigned((values) => fit(UNARY[token.text](argument(values)), token),
        Boolean(token.text !== "!" && argument.unsigned));
    }

    // `(int)`, `(const unsigned char)`: where the words of the type end; 0 if there are none.
    function castEnds() {
      const first = reader.peek(1).text === "const" ? 2 : 1;
      let ahead = first;
      while (INTEGERS.has(reader.peek(ahead).text)) ahead++;
      return ahead > first && reader.peek(ahead).text === ")" ? ahead + 1 : 0;
    }

    function parenthesised() {
      reader.need("(");
      const inside = ternary();
      reader.need(")");
      return inside;
    }

    // A cast by these words: narrow types cut, and a number below 0 does not become unsigned.
    function converted(tokens, inner) {
      const words = tokens.map(({ text }) => text.replace("std::", ""));
      const narrow = narrowed(words);
      if (narrow) return (values) => narrow(inner(values));
      if (!words.some(isPositive)) return unsigned((values) => inner(values), false);
      return unsigned((values) => {
        const value = inner(values);
        if (value < 0) {
          const [first, last] = [tokens[0], tokens.at(-1)];
          throw new Problem(`${value} as unsigned wraps around`, first.start, last.end);
        }
        return value;
      });
    }

    function atom() {
      const token = reader.peek();
      if (token.text === "(") {
        const ends = castEnds();
        if (!ends) return parenthesised();
        const words = reader.list.slice(reader.at + 1, reader.at + ends - 1);
        reader.at += ends;
        return converted(words, unary());
      }
      if (token.kind === "number") {
        reader.next();
        const value = fit(BigInt(token.text.replace(/[uUlL]+$/, "")), token);
        return unsigned(() => value, /[uU][lL]*$/.test(token.text));
      }
      if (token.kind !== "name") return reader.fail("expected a number, a name or '('");
      reader.next();
      if (token.text === "static_cast") {
        reader.need("<");
        const first = reader.peek();
        const words = [];
        while (INTEGERS.has(reader.peek().text)) words.push(reader.next());
        if (!words.length) {
          throw new Problem(`cast to ${first.text} in an index (accepted: int, unsigned)`,
            first.start, first.end);
        }
        reader.need(">");
        return converted(words, parenthesised());
      }
      if (INTEGERS.has(token.text) && reader.is("(")) return converted([token], parenthesised());
      if (/^(std::)?(min|max)$/.test(token.text) && reader.take("(")) {
        const one = ternary();
        reader.need(",");
        const other = ternary();
        reader.need(")");
        const wraps = Boolean(one.unsigned || other.unsigned);
        const choose = token.text.endsWith("min") ? (a, b) => Math.min(a, b)
          : (a, b) => Math.max(a, b);
        const apply = wraps ? wrapped(choose) : choose;
        return unsigned((values) => apply(one(values), other(values)), wraps);
      }
      let name = token.text;
      let end = token.end;
      if (reader.is(".")) {
        reader.next();
        const member = reader.next();
        name += `.${member.text}`;
        end = member.end;
      }
      if (locals.has(name)) return locals.get(name);
      if (reader.is("[")) {
        reader.fail(`the elements of ${name} are not known here (accepted: an index made of`
          + " threadIdx and numbers)");
      }
      if (reader.is("(")) reader.fail(`${name}() cannot be called in an index`);
      if (!names.has(name)) names.set(name, { text: name, start: token.start, end });
      return unsigned((values) => values[name], UNSIGNED.test(name));
    }

    return ternary();
  }

  return { Reader, narrowed, read };
})();
