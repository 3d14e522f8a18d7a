import type { Random } from '../../src/util/random';

/** Changes JSON, as a value and as text. */
export class JsonMutations {
  constructor(private readonly random: Random) {}

  /** A copy of the value with a few changes anywhere in it. */
  mutate(json: unknown): unknown {
    const copy: { value: unknown } = { value: structuredClone(json) };
    for (let left = 1 + this.below(3); left > 0; left--) {
      const places: Place[] = [];
      collect(copy, places);
      const place = this.pick(places);
      if (place !== undefined) this.change(place);
    }
    return copy.value;
  }

  /** The value as text, with mistakes in it now and then, and up to so many levels that it did not have. */
  text(json: unknown, maxDepth: number): string {
    const written = JSON.stringify(this.mutate(json)) ?? '';
    const text = written.replace(JSON.stringify(DEEP), () => this.deep(maxDepth));
    if (this.below(3) > 0) return text;
    const at = this.below(text.length + 1);
    switch (this.below(4)) {
      case 0:
        return text.slice(0, at);
      case 1:
        return text.slice(0, at) + text.slice(at + 1 + this.below(5));
      case 2:
        return text.slice(0, at) + (this.pick(pieces) ?? '') + text.slice(at);
      default:
        return (this.pick(['\uFEFF', ' ', '// x\n', '[', '']) ?? '') + text;
    }
  }

  private deep(maxDepth: number): string {
    const depth = Math.floor(maxDepth / (this.pick([1, 10, 100]) ?? 1));
    const [start = '', end = ''] = this.below(2) === 0 ? ['[', ']'] : ['{"a":', '}'];
    return `${start.repeat(depth)}1${end.repeat(depth)}`;
  }

  private change({ holder, key }: Place): void {
    const value = holder[key];
    switch (this.below(6)) {
      case 0:
        Reflect.deleteProperty(holder, key);
        break;
      case 1:
        if (!Array.isArray(holder)) holder[this.pick(keys) ?? 'x'] = value;
        break;
      case 2:
        holder[key] = this.below(2) === 0 ? [value] : { a: value };
        break;
      case 3:
        if (Array.isArray(value)) value.push(...value.slice(0, 5));
        else holder[key] = [value, value];
        break;
      default:
        holder[key] = structuredClone(this.pick(values));
    }
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  private pick<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length)];
  }
}

interface Place {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

/** Stands for something nested deeply, which has to be written as text. */
const DEEP = '<deep>';
const keys = ['constructor', 'toString', 'x', '', '@type', 'hasOwnProperty', '0'];
const pieces = ['\0', '\\u', '"', '{', ']', ',', '1e999', '\n\t', '- a: &b\n', '*b', 'é'];
const values: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  '',
  'a',
  '%s',
  '__proto__',
  'x'.repeat(2000),
  '3s',
  '-1s',
  '9999999999999s',
  'type.googleapis.com/nothing.Known',
  [],
  {},
  [[]],
  [null],
  { constructor: 1 },
  DEEP,
  JSON.parse('{"__proto__": {"a": 1}}'),
];

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function collect(holder: Record<string, unknown>, places: Place[], depth = 0): void {
  for (const [key, value] of Object.entries(holder)) {
    places.push({ holder, key });
    if (isObject(value) && depth < 40) collect(value, places, depth + 1);
  }
}
