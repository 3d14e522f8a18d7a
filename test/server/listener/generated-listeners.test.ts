import { findFilterChain } from '../../../src/server/listener/find-filter-chain';
import type { Random } from '../../../src/util/random';
import { seededRandom } from '../../support/seeded-random';
import { listenerOf, type ShortMatch } from './listeners';

const LISTENERS = 200;
const CONNECTIONS = 20;

/** An address of IP as a number. */
interface Ip {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

interface Range {
  readonly ip: Ip;
  readonly length: number;
}

/** A chain before it is written as a listener. */
interface Sample {
  readonly to: readonly Range[];
  readonly raw: boolean;
  readonly source: 'any' | 'same-ip-or-loopback' | 'external';
  readonly from: readonly Range[];
  readonly ports: readonly number[];
}

/** One combination of the criteria of a chain; what is not set is `undefined`. */
interface Combination {
  readonly chain: string;
  readonly to: Range | undefined;
  readonly raw: true | undefined;
  readonly source: 'same-ip-or-loopback' | 'external' | undefined;
  readonly from: Range | undefined;
  readonly port: number | undefined;
}

const format = ({ bits, value }: Ip, random: Random): string => {
  if (bits === 128) {
    const groups = Array.from({ length: 8 }, (_, i) =>
      ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16),
    );
    return groups.join(':');
  }
  const text = [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.');
  return random() < 0.2 ? `::ffff:${text}` : text;
};

const isIn = (ip: Ip, { ip: { bits, value }, length }: Range) =>
  ip.bits === bits && (ip.value ^ value) >> BigInt(bits - length) === 0n;

/** Few values, so that ranges contain and meet one another, and some addresses are loopback. */
class Samples {
  constructor(private readonly random: Random) {}

  one<T>(...choices: readonly T[]): T {
    const choice = choices[Math.floor(this.random() * choices.length)];
    if (choice === undefined) throw new Error('there is no choice');
    return choice;
  }

  some<T>(make: () => T): readonly T[] {
    return Array.from({ length: this.one(0, 0, 1, 1, 2, 3) }, make);
  }

  ip(): Ip {
    if (this.random() < 0.7) {
      const bytes = [this.one(10, 10, 127, 128), this.one(0, 1), this.one(0, 128), this.one(0, 1)];
      return { bits: 32, value: bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n) };
    }
    const first = this.one(0n, 0x2001n << 112n, 0xfe80n << 112n);
    return { bits: 128, value: first + this.one(0n, 1n << 64n) + this.one(0n, 1n, 1n) };
  }

  range(): Range {
    const ip = this.ip();
    const lengths = ip.bits === 32 ? [0, 1, 7, 8, 9, 16, 17, 24, 31, 32] : [0, 3, 16, 63, 64, 128];
    return { ip, length: this.one(...lengths) };
  }

  chain(): Sample {
    return {
      to: this.some(() => this.range()),
      raw: this.random() < 0.3,
      source: this.one('any', 'any', 'same-ip-or-loopback', 'external'),
      from: this.some(() => this.range()),
      ports: this.random() < 0.5 ? [] : [this.one(1, 2, 3), this.one(1, 4)],
    };
  }
}

function combine(chain: string, { to, raw, source, from, ports }: Sample): Combination[] {
  const orUnset = <T>(list: readonly T[]) => (list.length === 0 ? [undefined] : list);
  return orUnset(to).flatMap((destination) =>
    orUnset(from).flatMap((origin) =>
      orUnset(ports).map((port) => ({
        ...{ chain, to: destination, from: origin, port },
        raw: raw ? true : undefined,
        source: source === 'any' ? undefined : source,
      })),
    ),
  );
}

/** A text that is equal for equal combinations, whatever the bits after the prefixes are. */
function keyOf({ to, raw, source, from, port }: Combination): string {
  const text = (range: Range | undefined) =>
    range &&
    `${range.ip.bits}:${range.ip.value >> BigInt(range.ip.bits - range.length)}/${range.length}`;
  return [text(to), raw, source, text(from), port].join(' ');
}

/** Chooses by all combinations: of those that match one criterion, those that do so best go on to the next. */
function choose(
  combinations: readonly Combination[],
  local: Ip,
  remote: Ip,
  port: number,
): string | undefined {
  const isLoopback = remote.bits === 32 ? remote.value >> 24n === 127n : remote.value === 1n;
  const isSame = remote.bits === local.bits && remote.value === local.value;
  const kind = isLoopback || isSame ? 'same-ip-or-loopback' : 'external';
  const rangeScore = (range: Range | undefined, ip: Ip) =>
    range === undefined ? 0 : isIn(ip, range) ? 1 + range.length : NaN;
  const scores: readonly ((combination: Combination) => number)[] = [
    ({ to }) => rangeScore(to, local),
    ({ raw }) => (raw ? 1 : 0),
    ({ source }) => (source === undefined ? 0 : source === kind ? 1 : NaN),
    ({ from }) => rangeScore(from, remote),
    (one) => (one.port === undefined ? 0 : one.port === port ? 1 : NaN),
  ];
  let left = combinations;
  for (const score of scores) {
    const scored = left.map((one) => ({ one, value: score(one) }));
    const matching = scored.filter(({ value }) => !Number.isNaN(value));
    matching.sort((a, b) => b.value - a.value);
    left = matching.filter(({ value }) => value === matching[0]?.value).map(({ one }) => one);
  }
  const [first] = left;
  if (left.some(({ chain }) => chain !== first?.chain)) throw new Error('two chains are equal');
  return first?.chain;
}

it('finds what a second matcher finds, which tries all combinations of criteria', () => {
  const random = seededRandom(36);
  const samples = new Samples(random);
  const counts = new Map<string | undefined, number>();
  const rangeText = ({ ip, length }: Range) => `${format(ip, () => 1)}/${length}`;
  for (let i = 0; i < LISTENERS; i++) {
    const combinations: Combination[] = [];
    const matches: Record<string, ShortMatch> = {};
    for (let j = 0; j < 12; j++) {
      const chain = samples.chain();
      const own = combine(`c${j}`, chain);
      const keys = new Set(combinations.map(keyOf));
      // The parser rejects these.
      if (own.some((one) => keys.has(keyOf(one)))) continue;
      combinations.push(...own);
      const { to, from } = chain;
      matches[`c${j}`] = { ...chain, to: to.map(rangeText), from: from.map(rangeText) };
    }
    const listener = listenerOf(matches, samples.one(true, false));
    for (let k = 0; k < CONNECTIONS; k++) {
      const [local, remote, port] = [samples.ip(), samples.ip(), samples.one(1, 2, 3, 4, 5)];
      const ends = [
        { address: format(local, random), port: 8080 },
        { address: format(remote, random), port },
      ] as const;
      const chosen = choose(combinations, local, remote, port);
      const expected = chosen ?? listener.defaultFilterChain?.name;
      const found = findFilterChain(listener, ...ends)?.name;
      counts.set(chosen, (counts.get(chosen) ?? 0) + 1);
      if (found === expected) continue;
      throw new Error(`${found}, not ${expected}: ${JSON.stringify({ matches, ends })}`);
    }
  }
  // Each outcome is frequent, or this would not say much.
  expect(counts.get(undefined)).toBeGreaterThan(400);
  for (let j = 0; j < 12; j++) expect(counts.get(`c${j}`)).toBeGreaterThan(20);
});
