import { describeJson } from '../../src/wire/proto-json/explain-json';
import { describeLocality, localityName } from '../../src/resources/endpoints/endpoints';

describe('a text of 10 MB in a message', () => {
  const long = 'a\n'.repeat(5_000_000);

  it('is cut before it is quoted: a value of a file', () => {
    expect(describeJson(long)).toBe(JSON.stringify(`${'a\n'.repeat(128)}…`));
  });

  it('is cut before it is quoted: a locality, whose name stays unique', () => {
    const locality = { region: long, zone: long, subZone: '' };
    expect(describeLocality(locality).length).toBeLessThan(2000);
    expect(localityName(locality)).not.toBe(localityName({ ...locality, zone: `${long}b` }));
    const short = { region: 'r', zone: 'z', subZone: '' };
    expect(describeLocality(short)).toBe(localityName(short));
  });
});
