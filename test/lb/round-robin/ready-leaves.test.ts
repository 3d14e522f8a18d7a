import { EndpointLeaf } from '../../../src/lb/endpoint-leaf';
import { ReadyLeaves } from '../../../src/lb/round-robin/ready-leaves';
import { LbHarness, makeEndpoint } from '../../support/lb-harness';

const { host, options } = new LbHarness();
const [a, b, c] = ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80'].map(
  (address) =>
    new EndpointLeaf({
      host,
      endpoint: makeEndpoint(address),
      channelOptions: options,
      onChanged: () => {},
    }),
) as [EndpointLeaf, EndpointLeaf, EndpointLeaf];

function list(leaves: ReadyLeaves): unknown[] {
  return Array.from({ length: leaves.size }, (_, i) => leaves.at(i));
}

describe('ReadyLeaves', () => {
  it('holds each leaf once', () => {
    const leaves = new ReadyLeaves();
    for (const leaf of [a, b, a]) leaves.add(leaf);
    expect(list(leaves)).toEqual([a, b]);
    expect(leaves.at(2)).toBeUndefined();
  });

  it.each([
    ['the first', a, [c, b]],
    ['one in the middle', b, [a, c]],
    ['the last', c, [a, b]],
  ])('removes %s', (_case, leaf, left) => {
    const leaves = new ReadyLeaves();
    for (const each of [a, b, c]) leaves.add(each);
    leaves.remove(leaf);
    leaves.remove(leaf);
    expect(list(leaves)).toEqual(left);
    leaves.add(leaf);
    expect(list(leaves)).toEqual([...left, leaf]);
    for (const each of [a, b, c]) leaves.remove(each);
    expect(leaves.size).toBe(0);
  });
});
