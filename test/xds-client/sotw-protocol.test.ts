import { DiscoveryRequest } from '../../src/generated/envoy/service/discovery/v3/discovery';
import type { AdsResponse } from '../../src/xds-client/ads-protocol';
import { createNode } from '../../src/xds-client/node';
import { SotwProtocol } from '../../src/xds-client/sotw-protocol';
import { bootstrap } from './harness';

const TYPE = 'type.googleapis.com/test.T';

function response(nonce: string, version = ''): AdsResponse {
  const nothing = { items: [], removed: [], errors: [] };
  return { typeUrl: TYPE, nonce, version, ...nothing, isComplete: true };
}

class Wanted {
  readonly list: string[] = [];

  private readonly protocol = new SotwProtocol(
    { names: () => [...this.list], typeUrls: () => [TYPE], heldVersions: () => new Map() },
    createNode(bootstrap().node, { name: 'a', version: '1' }),
  );

  readonly requests = this.protocol.begin();

  add(name: string): void {
    this.list.push(name);
    this.requests.addName(TYPE, name);
  }

  drop(name: string): void {
    this.list.splice(this.list.indexOf(name), 1);
    this.requests.dropName(TYPE, name);
  }

  next(): DiscoveryRequest | undefined {
    const next = this.requests.next();
    return next && DiscoveryRequest.decode(next.bytes);
  }

  /** The names of each request that is due, with those that are new. */
  drain(): [string[], readonly string[]][] {
    const all: [string[], readonly string[]][] = [];
    for (let next = this.requests.next(); next !== undefined; next = this.requests.next()) {
      all.push([DiscoveryRequest.decode(next.bytes).resourceNames, next.newNames]);
    }
    return all;
  }
}

describe('SotwProtocol', () => {
  it('has nothing to say at first', () => {
    expect(new Wanted().drain()).toEqual([]);
  });

  it('tells which names of a request are asked for the first time', () => {
    const wanted = new Wanted();
    wanted.add('a');
    expect(wanted.drain()).toEqual([[['a'], ['a']]]);
    wanted.add('b');
    expect(wanted.drain()).toEqual([[['a', 'b'], ['b']]]);
  });

  it('says nothing when a name comes and goes between two requests', () => {
    const wanted = new Wanted();
    wanted.add('a');
    wanted.drain();
    wanted.add('b');
    wanted.drop('b');
    expect(wanted.drain()).toEqual([]);
  });

  it('asks once for a name that comes, goes and comes between two requests', () => {
    const wanted = new Wanted();
    wanted.add('a');
    wanted.drop('a');
    wanted.add('a');
    expect(wanted.drain()).toEqual([[['a'], ['a']]]);
  });

  it('lets a name go before it asks for it again', () => {
    const wanted = new Wanted();
    wanted.add('a');
    wanted.add('b');
    wanted.drain();
    wanted.drop('a');
    wanted.add('a');
    expect(wanted.drain()).toEqual([
      [['b'], []],
      [['b', 'a'], ['a']],
    ]);
  });

  it('lets the only name go with an empty list before it asks for it again', () => {
    const wanted = new Wanted();
    wanted.add('a');
    wanted.drain();
    wanted.drop('a');
    wanted.add('a');
    expect(wanted.drain()).toEqual([
      [[], []],
      [['a'], ['a']],
    ]);
  });

  it('answers a response even if nothing is wanted any more', () => {
    const wanted = new Wanted();
    wanted.add('a');
    wanted.drain();
    wanted.drop('a');
    wanted.drain();
    wanted.requests.answer(response('n1'), undefined);
    expect(wanted.drain()).toEqual([[[], []]]);
  });

  it('keeps silent about a response to which the answer would be a wildcard', () => {
    const wanted = new Wanted();
    wanted.requests.answer(response('n1'), undefined);
    expect(wanted.drain()).toEqual([]);
    wanted.add('a');
    expect(wanted.next()?.responseNonce).toBe('n1');
  });

  it('carries the newest nonce and the error of the newest response only', () => {
    const wanted = new Wanted();
    wanted.add('a');
    wanted.drain();
    wanted.requests.answer(response('n1'), 'bad');
    wanted.requests.answer(response('n2', '2'), undefined);
    expect(wanted.next()).toMatchObject({
      responseNonce: 'n2',
      versionInfo: '2',
      errorDetail: undefined,
    });
    wanted.requests.answer(response('n3'), 'bad');
    expect(wanted.next()?.errorDetail?.message).toBe('bad');
    wanted.add('b');
    expect(wanted.next()).toMatchObject({
      responseNonce: 'n3',
      errorDetail: undefined,
    });
  });
});
