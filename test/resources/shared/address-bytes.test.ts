import { addressBytes } from '../../../src/resources/shared/address-parser';

describe('the bytes of the address of a connection', () => {
  it.each<[string, string | undefined]>([
    ['10.0.0.1', '0a000001'],
    ['::ffff:10.0.0.1', '0a000001'],
    ['::FFFF:10.0.0.1', '0a000001'],
    ['::ffff:a00:1', '0a000001'],
    ['0:0:0:0:0:ffff:10.0.0.1', '0a000001'],
    ['::ffff:10.0.0.1%eth0', '0a000001'],
    ['::10.0.0.1', '0000000000000000000000000a000001'],
    ['2001:db8::1%eth0', '20010db8000000000000000000000001'],
    ['::ffff:::ffff:10.0.0.1', undefined],
    ['::ffff:10.0.0', undefined],
    ['::ffff:', undefined],
    ['/tmp/socket', undefined],
    ['', undefined],
  ])('%s: %s', (text, hex) => {
    const bytes = addressBytes(text);
    expect(bytes && Buffer.from(bytes).toString('hex')).toBe(hex);
  });
});
