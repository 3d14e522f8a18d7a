import {
  AddressHashes,
  AddressSet,
  HashBag,
} from '../../src/resources/endpoints/endpoint-addresses';
import { processHash } from '../../src/util/hashes';
import { endpoints } from '../support/xds-builders';

const address = (i: number) => ({ host: `10.0.${i >> 8}.${i & 255}`, port: 80 });

/** @returns The number of steps of the preparation, and whether the address was added. */
function add(set: AddressSet, i: number): readonly [number, boolean] {
  let count = 0;
  if (set.mustPrepare(address(i))) count = [...set.prepare()].length;
  return [count, set.add(address(i))];
}

describe('a set of addresses', () => {
  const count = 5000;

  it('takes a step for each of the first searches, then prepares for all others in steps of a bounded number of addresses', () => {
    const set = new AddressSet();
    for (let i = 0; i < count; i++) set.add(address(i));
    const results = Array.from({ length: 40 }, (_, i) => add(set, i));
    expect(results.map(([, isNew]) => isNew)).not.toContain(true);
    const steps = results.map(([each]) => each);
    expect(Math.max(...steps)).toBe(steps.find((each) => each > 1));
    expect(Math.max(...steps)).toBeGreaterThan(count / 300);
    expect(steps.filter((each) => each > 1)).toHaveLength(1);
    // Of the others, each search is a step of its own while there are few; afterwards nothing is searched.
    expect(steps.filter((each) => each === 1).length).toBeLessThanOrEqual(16);
    expect(steps.at(-1)).toBe(0);
    expect(add(set, count)[1]).toBe(true);
    expect(add(set, count)).toEqual([0, false]);
  });
});

/** A hash of an IPv4 address that no other has. */
function distinctHash(host: string): number {
  const number = host.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
  return Math.imul(number, 2654435761) >>> 0;
}

describe('the hashes of the addresses of an assignment', () => {
  afterEach(() => jest.restoreAllMocks());

  const count = 20_000;
  const hosts = (offset: number) =>
    Array.from({ length: count }, (_, i) => `10.${offset}.${i >> 8}.${i & 255}`);
  const localityOf = (offset: number) => {
    const [locality] = endpoints('c', ...hosts(offset)).priorities[0]?.localities ?? [];
    if (locality === undefined) throw new Error('there is no locality');
    return locality;
  };

  it('follow a version with other addresses in steps of a bounded number of addresses', () => {
    const { locality, endpoints: before } = localityOf(0);
    const { endpoints: after } = localityOf(1);
    // With the key of the process, two of so many addresses have equal hashes in one of twenty processes.
    jest.spyOn(processHash, 'hashText').mockImplementation(distinctHash);
    let hashes = new AddressHashes(new HashBag());
    for (const difference of [
      { locality, added: [...before], removed: [] },
      { locality, added: [...after], removed: [...before] },
    ]) {
      const steps = hashes.next([difference]);
      let taken = 1;
      let step = steps.next();
      for (; step.done !== true; step = steps.next()) taken++;
      // Each address is hashed, and then added or removed.
      const changes = difference.added.length + difference.removed.length;
      expect(taken).toBeGreaterThan((2 * changes) / 300);
      if (step.value === undefined) throw new Error('no address is in it twice');
      hashes = step.value;
    }
    const again = hashes.next([{ locality, added: after.slice(0, 1), removed: [] }]).next();
    expect(again).toEqual({ done: true, value: undefined });
  });
});
