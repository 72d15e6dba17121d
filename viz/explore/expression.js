// C index expressions, by the rules of layouts/expression.py: values are C's 32-bit int,
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
    String.raw`(?<number>0[xX][0-9a-fA-F]+[uUlL]{0,3}(?!\w)|(?:0|[1-9][0-9]*)[uUlL]{0,3}(?!\w))`,
    String.raw`(?<name>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)`,
    String.raw`(?<sign><<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:()[\],;.])`,
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

    next() { return this.list[this.at++] ?? this.end; }

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
  const INTEGERS = new Set(["int", "unsigned", "signed", "size_t", "int32_t", "uint32_t"]);

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
        node = (values) => (condition(values) ? yes(values) : no(values));
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
          const apply = BINARY[token.text];
          node = (v) => fit(apply(first(v), second(v), token), token);
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
      return (values) => fit(UNARY[token.text](argument(values)), token);
    }

    // `(int)`, `(unsigned int)`: an integer of 32 bits stays what it is.
    function castEnds() {
      let ahead = 1;
      while (INTEGERS.has(reader.peek(ahead).text)) ahead++;
      return ahead > 1 && reader.peek(ahead).text === ")" ? ahead + 1 : 0;
    }

    function parenthesised() {
      reader.need("(");
      const inside = ternary();
      reader.need(")");
      return inside;
    }

    function converted(token, inner) {
      const unsigned = /^(u|size_t)/.test(token.text);
      return (values) => {
        const value = inner(values);
        if (unsigned && value < 0) {
          throw new Problem(`${value} as unsigned wraps around`, token.start, token.end);
        }
        return value;
      };
    }

    function atom() {
      const token = reader.peek();
      if (token.text === "(") {
        const ends = castEnds();
        if (!ends) return parenthesised();
        const type = reader.peek(1);
        reader.at += ends;
        return converted(type, unary());
      }
      if (token.kind === "number") {
        reader.next();
        const value = fit(BigInt(token.text.replace(/[uUlL]+$/, "")), token);
        return () => value;
      }
      if (token.kind !== "name") return reader.fail("expected a number, a name or '('");
      reader.next();
      if (token.text === "static_cast") {
        reader.need("<");
        const type = reader.next();
        while (INTEGERS.has(reader.peek().text)) reader.next();
        if (!INTEGERS.has(type.text)) {
          throw new Problem(`cast to ${type.text} in an index (accepted: int, unsigned)`,
            type.start, type.end);
        }
        reader.need(">");
        return converted(type, parenthesised());
      }
      if (INTEGERS.has(token.text) && reader.is("(")) return converted(token, parenthesised());
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
        reader.fail(`what ${name} holds is not known here (accepted: an index of thread numbers)`);
      }
      if (reader.is("(")) reader.fail(`${name}() cannot be called in an index`);
      if (!names.has(name)) names.set(name, { text: name, start: token.start, end });
      return (values) => values[name];
    }

    return ternary();
  }

  return { Reader, read };
})();
