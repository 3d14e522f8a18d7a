import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { combinedWeigher } from '../../../src/lb/endpoints/endpoint-weights';
import { Ring } from '../../../src/lb/ring-hash/ring';
import { finish } from './built-table';
import { SharedTables } from '../../../src/lb/ring-hash/shared-tables';
import {
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  singleLocality,
} from '../../support/lb-harness';

const LIMITS = { min: 1024, max: 4096 };

/** Tables of a process, with a hash that counts. */
class Subject {
  hashed = 0;
  error: Error | undefined;
  readonly tables: SharedTables;

  constructor() {
    const hash = (text: string) => {
      if (this.error !== undefined) throw this.error;
      this.hashed++;
      return BigInt(text.length) ** 15n % 2n ** 64n;
    };
    this.tables = new SharedTables({
      hash: { hash },
      usesHashKeys: true,
      weigher: combinedWeigher,
    });
  }

  start(set: EndpointSet, limits = LIMITS) {
    return this.tables.find(Ring.empty, set, limits);
  }
}

const many = Array.from({ length: 2000 }, (_, i) => makeEndpoint(`127.1.${i >> 8}.${i & 255}:80`));

describe('tables that policies share', () => {
  it('are created once for sets with the same localities', () => {
    const subject = new Subject();
    const locality = makeLocality('x', many);
    const table = finish(subject.start(makeEndpointSet(locality)));
    expect(finish(subject.start(makeEndpointSet(locality)))).toBe(table);
    expect(subject.hashed).toBe(table.size);
  });

  it.each<[string, (subject: Subject) => ReturnType<Subject['start']>]>([
    ['other limits', (subject) => subject.start(singleLocality(...many), { min: 1, max: 9 })],
    [
      'a locality more',
      (subject) =>
        subject.start(
          makeEndpointSet(makeLocality('x', many), makeLocality('y', ['127.0.0.1:80'])),
        ),
    ],
  ])('are others with %s', (_what, start) => {
    const subject = new Subject();
    const table = finish(subject.start(singleLocality(...many)));
    expect(finish(start(subject)).size).not.toBe(table.size);
    expect(finish(subject.start(singleLocality(...many))).size).toBe(table.size);
  });

  it('are created by all that wait for them', () => {
    const subject = new Subject();
    const set = makeEndpointSet(makeLocality('x', many));
    const [first, second, third] = [subject.start(set), subject.start(set), subject.start(set)];
    for (const each of [first, second, third, first]) expect(each.advance()).toBeUndefined();
    // The first one waits no longer.
    const table = finish(second);
    expect(finish(third)).toBe(table);
    expect(subject.hashed).toBe(table.size);
  });

  it('fail for all that wait for them, and are tried again for other localities', () => {
    const subject = new Subject();
    const set = makeEndpointSet(makeLocality('x', many));
    const [first, second] = [subject.start(set), subject.start(set)];
    first.advance();
    second.advance();
    subject.error = new Error('no memory');
    expect(() => finish(second)).toThrow('no memory');
    expect(() => finish(first)).toThrow('no memory');
    subject.error = undefined;
    expect(finish(subject.start(singleLocality(...many))).size).toBe(2000);
  });
});
