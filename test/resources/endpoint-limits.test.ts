import { createResourceTypes } from '../../src/resources/resource-types';
import { countElements } from '../../src/resources/shared/count-elements';
import { endpointsJson } from '../support/xds-json';
import { decodeBytes, encode, extensions, valueOf, violationsOf } from './decode-json';

const { endpoints: type } = createResourceTypes({ ...extensions, maxEndpointsPerAssignment: 3 });
const ports = (...list: readonly number[]) => list;
const assignment = (a: readonly number[], b: readonly number[]) =>
  endpointsJson('c', [
    { zone: 'a', ports: a },
    { zone: 'b', ports: b },
  ]);
const TOO_MANY = 'endpoints: exceed the limit maxEndpointsPerAssignment of 3';

describe('an assignment', () => {
  it('may have as many endpoints as the limit, in all localities together', () => {
    expect(valueOf(type, assignment(ports(1, 2), ports(3))).priorities).toHaveLength(1);
  });

  it('is rejected with one more, at first and as an update', () => {
    const previous = valueOf(type, assignment(ports(1, 2), ports(3)));
    const more = assignment(ports(1, 2), ports(3, 4));
    expect(violationsOf(type, more)).toEqual([TOO_MANY]);
    expect(violationsOf(type, more, { previous })).toEqual([TOO_MANY]);
  });

  it('is rejected before it is decoded', () => {
    const bytes = encode(type, assignment(ports(1, 2), ports(3, 4)));
    // Decoding would find that the message ends within a field.
    const cut = Buffer.concat([bytes, Buffer.from([0x22, 0x05])]);
    expect(decodeBytes(type, cut).result).toEqual({ ok: false, error: [TOO_MANY] });
  });
});

describe('countElements', () => {
  it('stops soon after the maximum', () => {
    const bytes = encode(type, assignment(ports(1, 2, 3, 4, 5), ports(6, 7)));
    expect(countElements(bytes, [2, 2], 100)).toBe(7);
    expect(countElements(bytes, [2, 2], 3)).toBe(4);
  });

  it.each([[[0x12]], [[0x12, 0x7f]], [[0x12, 0x02, 0x12]], [[0xff]]])(
    'counts nothing in the malformed bytes %j',
    (bytes) => {
      expect(countElements(Uint8Array.from(bytes), [2, 2], 3)).toBe(0);
    },
  );
});
