import { DiscoveryRequest } from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import type { AdsResponse } from '../../src/xds-client/ads/ads-response';
import type { RequestedResource } from '../../src/xds-client/ads/subscriptions';
import { createNode } from '../../src/xds-client/management-servers';
import { SotwSubscriptions } from '../../src/xds-client/ads/sotw-subscriptions';
import { bootstrap } from './harness';
import { NO_ITEMS } from './test-resource';

const TYPE = 'type.googleapis.com/test.T';

function response(nonce: string, version = ''): AdsResponse {
  const nothing = { items: NO_ITEMS, removed: [], errors: [] };
  return { typeUrl: TYPE, nonce, version, ...nothing, isComplete: true };
}

function requested(names: readonly string[]): ReadonlyMap<string, RequestedResource> {
  return new Map(names.map((name) => [name, { accepted: undefined, heldVersion: undefined }]));
}

class Wanted {
  readonly list: string[] = [];

  readonly requests = new SotwSubscriptions(
    { typeUrls: () => [TYPE], resources: () => requested(this.list) },
    createNode(bootstrap().node, { name: 'a', version: '1' }),
  );

  constructor() {
    this.requests.begin();
  }

  add(name: string): void {
    this.list.push(name);
    this.requests.addName(TYPE, name);
  }

  drop(name: string): void {
    this.list.splice(this.list.indexOf(name), 1);
    this.requests.removeName(TYPE, name);
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

describe('SotwSubscriptions', () => {
  it('sends a request without a name before it requests it again', () => {
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

  // The response has crossed the request that left the name out, which the server then ignores as outdated.
  it('leaves a removed name out of the next acknowledgement before it requests it again', () => {
    const wanted = new Wanted();
    wanted.add('a');
    wanted.add('b');
    wanted.drain();
    wanted.drop('a');
    expect(wanted.drain()).toEqual([[['b'], []]]);
    wanted.requests.answer(response('n2', '2'), undefined);
    wanted.add('a');
    expect(wanted.drain()).toEqual([
      [['b'], []],
      [['b', 'a'], ['a']],
    ]);
    wanted.requests.confirmName(TYPE, 'a');
    wanted.requests.answer(response('n3', '3'), undefined);
    expect(wanted.drain()).toEqual([[['b', 'a'], []]]);
  });

  it('does the same if it was requested again before, unless the response contains it', () => {
    for (const isContained of [false, true]) {
      const wanted = new Wanted();
      wanted.add('a');
      wanted.add('b');
      wanted.drain();
      wanted.drop('a');
      wanted.drain();
      wanted.add('a');
      wanted.drain();
      if (isContained) wanted.requests.confirmName(TYPE, 'a');
      wanted.requests.answer(response('n2', '2'), undefined);
      const acknowledged = [[['b', 'a'], []]];
      const requestedAgain = [
        [['b'], []],
        [['b', 'a'], ['a']],
      ];
      expect(wanted.drain()).toEqual(isContained ? acknowledged : requestedAgain);
      // Three times at most: a server that responds to every request makes no loop of it.
      for (const [nonce, isLast] of [
        ['n3', false],
        ['n4', false],
        ['n5', true],
      ] as const) {
        wanted.requests.answer(response(nonce), undefined);
        expect(wanted.drain()).toEqual(isContained || isLast ? acknowledged : requestedAgain);
      }
    }
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

const REJECTED = { message: 'bad' };

describe('names around a NACK', () => {
  /** Requests `a`, and receives the response n1. */
  function afterFirstResponse(): Wanted {
    const wanted = new Wanted();
    wanted.add('a');
    wanted.drain();
    wanted.requests.confirmName(TYPE, 'a');
    wanted.requests.answer(response('n1', '1'), undefined);
    wanted.drain();
    return wanted;
  }

  /** All requests that are due, as `<nonce> <names>`, with `!` for a NACK. */
  function spell(wanted: Wanted): string[] {
    const all: string[] = [];
    for (let next = wanted.next(); next !== undefined; next = wanted.next()) {
      const { responseNonce, resourceNames, errorDetail } = next;
      all.push(`${errorDetail === undefined ? '' : '!'}${responseNonce} ${resourceNames.join()}`);
    }
    return all;
  }

  it.each<[string, (wanted: Wanted) => void, string[]]>([
    [
      'a NACK alone when no name has changed',
      ({ requests }) => requests.answer(response('n2'), 'bad'),
      ['!n2 a'],
    ],
    [
      'a NACK with the names of before, and then the new name',
      (wanted) => {
        wanted.requests.answer(response('n2'), 'bad');
        wanted.add('b');
      },
      ['!n2 a', 'n2 a,b'],
    ],
    [
      'a NACK with the names of before, and then the names that are left',
      (wanted) => {
        wanted.add('b');
        wanted.drain();
        wanted.requests.confirmName(TYPE, 'b');
        wanted.requests.answer(response('n2'), 'bad');
        wanted.drop('a');
      },
      ['!n2 a,b', 'n2 b'],
    ],
    [
      'a NACK, and then a name that is let go and requested anew in two requests',
      (wanted) => {
        wanted.requests.answer(response('n2'), 'bad');
        wanted.drop('a');
        wanted.add('a');
      },
      ['!n2 a', 'n2 ', 'n2 a'],
    ],
    [
      'a NACK, and once more a name that the response may have crossed',
      (wanted) => {
        wanted.add('b');
        wanted.drain();
        wanted.requests.answer(response('n2'), 'bad');
      },
      ['!n2 a,b', 'n2 a,b'],
    ],
    [
      'a NACK, and once more names of which the response may have crossed the removal of one',
      (wanted) => {
        wanted.add('b');
        wanted.drain();
        wanted.requests.answer(response('n2'), undefined);
        wanted.requests.confirmName(TYPE, 'b');
        wanted.drain();
        wanted.drop('b');
        wanted.drain();
        wanted.requests.answer(response('n3'), 'bad');
      },
      ['!n3 a', 'n3 a'],
    ],
    [
      'a NACK alone when the response contains the resource requested last',
      (wanted) => {
        wanted.add('b');
        wanted.drain();
        wanted.requests.confirmName(TYPE, 'b');
        wanted.requests.answer(response('n2'), 'bad');
      },
      ['!n2 a,b'],
    ],
    [
      'at once, without the NACK, a new name while the NACK is held back',
      (wanted) => {
        wanted.requests.answer(response('n2'), 'bad', true);
        wanted.add('b');
      },
      ['n2 a,b'],
    ],
    [
      'at once, without the NACK, a name that the response may have crossed while the NACK is held back',
      (wanted) => {
        wanted.add('b');
        wanted.drain();
        wanted.requests.answer(response('n2'), 'bad', true);
      },
      ['n2 a,b'],
    ],
    [
      'nothing while a NACK is held back and no name has changed',
      ({ requests }) => requests.answer(response('n2'), 'bad', true),
      [],
    ],
  ])('sends %s', (_what, act, expected) => {
    const wanted = afterFirstResponse();
    act(wanted);
    expect(spell(wanted)).toEqual(expected);
  });

  it('sends a NACK with the error, the new nonce and the version accepted last', () => {
    const wanted = afterFirstResponse();
    wanted.requests.answer(response('n2', '2'), 'bad');
    wanted.add('b');
    const same = { versionInfo: '1', responseNonce: 'n2' };
    expect(wanted.next()).toMatchObject({ ...same, errorDetail: REJECTED, resourceNames: ['a'] });
    expect(wanted.next()).toMatchObject({
      ...same,
      errorDetail: undefined,
      resourceNames: ['a', 'b'],
    });
  });

  // A server that responds to every request would otherwise be asked as fast as both sides can run.
  it('repeats an unconfirmed name at once three times, and then with each NACK', () => {
    const wanted = afterFirstResponse();
    wanted.add('b');
    wanted.drain();
    for (const nonce of ['n2', 'n3', 'n4']) {
      wanted.requests.answer(response(nonce), 'bad', true);
      expect(spell(wanted)).toEqual([`${nonce} a,b`]);
    }
    for (const nonce of ['n5', 'n6', 'n7']) {
      wanted.requests.answer(response(nonce), 'bad', true);
      expect(spell(wanted)).toEqual([]);
    }
    wanted.requests.sendHeld(TYPE);
    expect(spell(wanted)).toEqual(['!n7 a,b', 'n7 a,b']);
  });
});
