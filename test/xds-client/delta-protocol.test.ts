import { DeltaDiscoveryRequest } from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { type AdsResponse } from '../../src/xds-client/ads/ads-response';
import type { RequestedResource } from '../../src/xds-client/ads/subscriptions';
import { DeltaSubscriptions } from '../../src/xds-client/ads/delta-subscriptions';
import { createNode } from '../../src/xds-client/management-servers';
import { bootstrap } from './harness';
import { NO_ITEMS } from './test-resource';

const TYPE = 'type.googleapis.com/test.T';

function response(nonce: string): AdsResponse {
  const nothing = { version: '', items: NO_ITEMS, removed: [], errors: [] };
  return { typeUrl: TYPE, nonce, ...nothing, isComplete: false };
}

class Wanted {
  readonly held = new Map<string, string>();
  /** How often all names were gone through. */
  walks = 0;
  private readonly names = new Set<string>();

  readonly requests = new DeltaSubscriptions(
    {
      typeUrls: () => [TYPE],
      resources: () => {
        this.walks++;
        return new Map([...this.names].map((name) => [name, this.requested(name)]));
      },
    },
    createNode(bootstrap().node, { name: 'a', version: '1' }),
  );

  constructor() {
    this.requests.begin();
  }

  private requested(name: string): RequestedResource {
    return { accepted: undefined, heldVersion: this.held.get(name) };
  }

  reconnect(): void {
    this.requests.begin();
  }

  add(...names: string[]): void {
    for (const name of names) {
      this.names.add(name);
      this.requests.addName(TYPE, name);
    }
  }

  drop(...names: string[]): void {
    for (const name of names) {
      this.names.delete(name);
      this.requests.removeName(TYPE, name);
    }
  }

  /** Every request that is due. */
  drain(): DeltaDiscoveryRequest[] {
    const all: DeltaDiscoveryRequest[] = [];
    for (let next = this.requests.next(); next !== undefined; next = this.requests.next()) {
      all.push(DeltaDiscoveryRequest.decode(next.bytes));
    }
    return all;
  }

  /** Their names: `+a` for what is asked for, `-a` for what is given up. */
  spell(): string[][] {
    return this.drain().map(({ resourceNamesSubscribe, resourceNamesUnsubscribe }) => [
      ...resourceNamesSubscribe.map((name) => `+${name}`),
      ...resourceNamesUnsubscribe.map((name) => `-${name}`),
    ]);
  }
}

describe('the incremental variant', () => {
  it.each<[string, (wanted: Wanted) => void, string[][]]>([
    ['what comes', (w) => w.add('c'), [['+c']]],
    ['what goes', (w) => w.drop('a'), [['-a']]],
    [
      'what comes and what goes in one request',
      (w) => {
        w.add('c');
        w.drop('a', 'b');
      },
      [['+c', '-a', '-b']],
    ],
    [
      'nothing of what comes and goes between two requests',
      (w) => {
        w.add('c');
        w.drop('c');
      },
      [],
    ],
    [
      'what goes and comes back, once more, because its value is lost',
      (w) => {
        w.drop('a');
        w.add('a');
      },
      [['+a']],
    ],
    [
      'what goes, comes back and goes for good',
      (w) => {
        w.drop('a');
        w.add('a');
        w.drop('a');
      },
      [['-a']],
    ],
    ['nothing of what was never asked for', (w) => w.drop('x'), []],
    [
      'nothing of what was given up before, and comes and goes',
      (w) => {
        w.drop('a');
        w.drain();
        w.add('a');
        w.drop('a');
      },
      [],
    ],
  ])('says %s', (_what, change, expected) => {
    const wanted = new Wanted();
    wanted.add('a', 'b');
    wanted.drain();
    change(wanted);
    expect(wanted.spell()).toEqual(expected);
  });

  it('answers every response on its own, and requests new names in another request', () => {
    const wanted = new Wanted();
    wanted.add('a');
    wanted.drain();
    wanted.requests.answer(response('n1'), undefined);
    wanted.requests.answer(response('n2'), 'bad');
    wanted.requests.answer(response('n3'), undefined);
    wanted.add('b');
    const requests = wanted.drain();
    expect(requests.map(({ responseNonce }) => responseNonce)).toEqual(['n1', 'n2', 'n3', '']);
    expect(requests.map(({ errorDetail }) => errorDetail)).toEqual([
      undefined,
      { code: 3, message: 'bad', details: [] },
      undefined,
      undefined,
    ]);
    expect(requests.map((request) => request.resourceNamesSubscribe)).toEqual([[], [], [], ['b']]);
  });

  it('sends the cached versions once on a new stream', () => {
    const wanted = new Wanted();
    wanted.add('a', 'b');
    expect(wanted.drain()).toMatchObject([{ initialResourceVersions: new Map() }]);
    wanted.held.set('a', '7');
    wanted.reconnect();
    expect(wanted.drain()).toMatchObject([
      { resourceNamesSubscribe: ['a', 'b'], initialResourceVersions: new Map([['a', '7']]) },
    ]);
    wanted.add('c');
    expect(wanted.drain()).toMatchObject([{ initialResourceVersions: new Map() }]);
  });

  it('hides what there is from a server whose answer is needed, until it has come', () => {
    const wanted = new Wanted();
    wanted.add('a');
    wanted.held.set('a', '7');
    wanted.requests.forgetVersions();
    for (let round = 0; round < 2; round++) {
      wanted.reconnect();
      expect(wanted.drain()).toMatchObject([{ initialResourceVersions: new Map() }]);
    }
    wanted.requests.answer(response('n1'), undefined);
    wanted.reconnect();
    expect(wanted.drain()).toMatchObject([{ initialResourceVersions: new Map([['a', '7']]) }]);
  });

  it('goes through all names once per stream, whatever happens on it', () => {
    const wanted = new Wanted();
    wanted.add('a', 'b', 'c');
    wanted.reconnect();
    wanted.drain();
    const { walks } = wanted;
    for (let round = 0; round < 10; round++) {
      wanted.add(`x${round}`);
      wanted.requests.answer(response(`n${round}`), round % 2 === 0 ? 'bad' : undefined);
      wanted.drop(`x${round - 1}`);
      wanted.drain();
    }
    expect(wanted.walks).toBe(walks);
  });
});
