import {
  formatRelayIdentifier,
  parseRelayIdentifier,
  type RelayHop,
} from '../../src/xds-client/relay-hop';

const open = (serverUri: string, relay?: RelayHop) => ({ serverUri, state: 'open', relay });

/** Returns the hop that a client sees of a relay above others. */
function chainOf(length: number, uri = 'unix:/run/a.sock'): RelayHop | undefined {
  let hop: RelayHop | undefined;
  for (let pid = length; pid > 0; pid--) {
    const servers = [hop === undefined ? open('istiod:15010') : open(uri, hop)];
    hop = parseRelayIdentifier(formatRelayIdentifier({ pid, version: `1.0.${pid}`, servers }));
  }
  return hop;
}

const depthOf = (hop: RelayHop | undefined): number =>
  hop === undefined ? 0 : 1 + Math.max(0, ...hop.servers.map(({ relay }) => depthOf(relay)));

describe('the identifier of a relay', () => {
  it.each([
    [1, 'relay (pid 1) → istiod:15010'],
    [2, 'relay (pid 1) → unix:/run/a.sock: relay (pid 2) → istiod:15010'],
  ])('has the relays above it: %i in all', (length, text) => {
    expect(chainOf(length)?.text).toBe(text);
  });

  it('names each server of a relay, and its state', () => {
    const hop = chainOf(1);
    const servers = [open('unix:/run/a.sock', hop), { ...open('cp:18000'), state: 'idle' }];
    expect(
      parseRelayIdentifier(formatRelayIdentifier({ pid: 7, version: '1.0.7', servers }))?.text,
    ).toBe('relay (pid 7) → unix:/run/a.sock: relay (pid 1) → istiod:15010, cp:18000 (idle)');
  });

  it('has the version of each relay', () => {
    expect(chainOf(2)?.version).toBe('1.0.1');
    expect(chainOf(2)?.servers[0]?.relay?.version).toBe('1.0.2');
  });

  it('has no version of a relay that does not say it, and 64 characters of a long one', () => {
    const of = (version: unknown) =>
      parseRelayIdentifier(JSON.stringify({ component: 'grpc-xds relay', pid: 1, version }));
    expect(of(undefined)?.version).toBeUndefined();
    expect(of(7)?.version).toBeUndefined();
    expect(of('9'.repeat(100))?.version).toBe(`${'9'.repeat(64)}…`);
  });

  it('has at most 16 relays', () => {
    expect(depthOf(chainOf(16))).toBe(16);
    expect(depthOf(chainOf(40))).toBe(16);
  });

  it('has no relay above it if it would be too long', () => {
    const hop = chainOf(16, `unix:/${'a'.repeat(2000)}`);
    expect(hop?.pid).toBe(1);
    expect(depthOf(hop)).toBeLessThan(16);
    expect(depthOf(hop)).toBeGreaterThan(0);
  });

  it('ignores what is no relay above it', () => {
    const json = { component: 'grpc-xds relay', pid: 1 };
    const of = (relay: unknown) =>
      parseRelayIdentifier(
        JSON.stringify({ ...json, servers: [{ serverUri: 'a', state: 'open', relay }] }),
      )?.servers[0]?.relay;
    for (const other of [1, 'x', [], {}, { pid: 'x' }, null]) expect(of(other)).toBeUndefined();
    expect(of({ pid: 3 })).toEqual({ pid: 3, servers: [], text: 'relay (pid 3)' });
  });
});
