import { parseRingHashConfig, RingHashConfig } from '../../../src/lb/ring-hash/config';
import { parseWith } from '../../support/lb-config-parser';

const defaults = { minRingSize: 1024, maxRingSize: 4096, requestHashHeader: '' };

function parse(json: unknown) {
  return parseWith(parseRingHashConfig, json);
}

describe('the config of ring_hash', () => {
  it.each([
    [{}, {}],
    [{ minRingSize: 1 }, { minRingSize: 1 }],
    [
      { minRingSize: '5', maxRingSize: '7' },
      { minRingSize: 5, maxRingSize: 7 },
    ],
    [{ maxRingSize: 8_388_608 }, { maxRingSize: 8_388_608 }],
    [{ minRingSize: null, requestHashHeader: null }, {}],
    [{ requestHashHeader: 'User-ID' }, { requestHashHeader: 'user-id' }],
    [{ requestHashHeader: '' }, {}],
  ])('takes %j', (json, expected) => {
    const { config, violations } = parse(json);
    expect(violations).toEqual([]);
    expect(config).toEqual(new RingHashConfig({ ...defaults, ...expected }));
  });

  it.each([
    ['text', 'must be an object'],
    [{ minRingSize: 0 }, 'minRingSize: must be a whole number from 1 to 8388608'],
    [{ minRingSize: 1.5 }, 'minRingSize: must be a whole number from 1 to 8388608'],
    [{ maxRingSize: 8_388_609 }, 'maxRingSize: must be a whole number from 1 to 8388608'],
    [{ minRingSize: 4097 }, 'minRingSize: must not exceed maxRingSize, which is 4096'],
    [{ minRingSize: 9, maxRingSize: 8 }, 'minRingSize: must not exceed maxRingSize, which is 8'],
    [{ requestHashHeader: 5 }, 'requestHashHeader: must be a string'],
    [{ requestHashHeader: 'a b' }, 'requestHashHeader: must be the name of a header, not "a b"'],
    [
      { requestHashHeader: ':path' },
      'requestHashHeader: must be the name of a header, not ":path"',
    ],
    [
      { requestHashHeader: 'user-BIN' },
      'requestHashHeader: must not be the name of a binary header',
    ],
  ])('refuses %j', (json, violation) => {
    expect(parse(json)).toEqual({ config: undefined, violations: [violation] });
  });
});
