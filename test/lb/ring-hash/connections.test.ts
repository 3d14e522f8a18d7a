import { ConnectivityState } from '../../../src/grpc-js';
import { ConnectivityTally } from '../../../src/lb/connectivity';
import { chooseConnectivity, RingConnections } from '../../../src/lb/ring-hash/connections';
import type { Member } from '../../../src/lb/ring-hash/members';
import { endpointKey } from '../../../src/lb/endpoints/endpoint-key';
import { BuiltRing } from '../../support/built-ring';
import { LbHarness, singleLocality } from '../../support/lb-harness';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

/** Connections to endpoints whose places on the ring are in the order of their numbers, with two entries each. */
class Subject {
  readonly harness = new LbHarness();
  readonly connections = new RingConnections({
    host: this.harness.host,
    onConnecting: () => {},
    onChanged: () => {},
    onReleased: () => {},
  });
  private readonly built = new BuiltRing({
    hash: (text) => {
      const [address = '', ordinal = ''] = text.split('_');
      return BigInt(address.split('.')[3]?.split(':')[0] ?? 0) * 10n + BigInt(ordinal);
    },
  });

  update(...numbers: readonly number[]): void {
    const set = singleLocality(...numbers.map((number) => `127.0.0.${number}:80`));
    const size = 2 * numbers.length;
    this.built.update(set, { min: size, max: size });
    this.connections.useRing(this.built.ring);
  }

  member(number: number): Member {
    const found = [...this.built.members.inListOrder].find(
      ({ endpoint }) => endpointKey(endpoint) === `127.0.0.${number}:80`,
    );
    if (found === undefined) throw new Error(`There is no endpoint ${number}`);
    return found;
  }

  request(number: number): void {
    this.connections.request(this.member(number));
    this.harness.clock.flush();
  }

  subchannel(number: number) {
    return this.harness.subchannel(`127.0.0.${number}:80`);
  }

  counts(): number[] {
    const states = [IDLE, CONNECTING, READY, TRANSIENT_FAILURE];
    return states.map((state) => this.connections.count(state));
  }
}

describe('RingConnections', () => {
  it('has no endpoints at first', () => {
    const { connections } = new Subject();
    expect(connections.ring.size).toBe(0);
    expect(connections.connectivity).toBe(TRANSIENT_FAILURE);
    expect(connections.isConnecting).toBe(false);
    connections.connectAny();
    expect([...connections.leaves()]).toEqual([]);
  });

  it('counts endpoints, however many entries they have', () => {
    const subject = new Subject();
    subject.update(1, 2, 3);
    expect(subject.connections.ring.size).toBe(6);
    expect(subject.counts()).toEqual([3, 0, 0, 0]);
    for (const number of [1, 1, 2]) subject.request(number);
    expect(subject.counts()).toEqual([1, 2, 0, 0]);
    for (const number of [1, 2]) subject.subchannel(number).connect();
    expect(subject.counts()).toEqual([1, 0, 2, 0]);
    expect(subject.connections.connectivity).toBe(READY);
  });

  it.each([
    [0, [1, 2, 3]],
    [0.4, [2, 3, 1]],
    [0.9, [3, 1, 2]],
  ])(
    'connects to the next endpoint that is IDLE from a random entry on, going round: %s',
    (random, order) => {
      const subject = new Subject();
      subject.update(1, 2, 3);
      subject.harness.random = random;
      for (let i = 0; i < 4; i++) subject.harness.batch.run(() => subject.connections.connectAny());
      const attempted = subject.harness.host.subchannels.map((each) => each.getAddress());
      expect(attempted).toEqual(order.map((number) => `127.0.0.${number}:80`));
    },
  );

  it('keeps the states of endpoints when the ring is replaced', () => {
    const subject = new Subject();
    subject.update(1, 2, 3);
    for (const number of [1, 2]) subject.request(number);
    subject.subchannel(1).connect();
    subject.subchannel(2).fail('refused');
    expect(subject.counts()).toEqual([1, 0, 1, 1]);
    subject.update(1, 17);
    expect(subject.counts()).toEqual([1, 0, 1, 0]);
    expect(subject.subchannel(2).closed).toBe(true);
    // The endpoint that comes back is not the one that failed.
    subject.update(2, 1);
    expect(subject.member(2).state).toBe(IDLE);
    expect(subject.counts()).toEqual([1, 0, 1, 0]);
    expect([...subject.connections.leaves()]).toEqual([subject.member(1).leaf]);
  });
});

const STATES = {
  I: ConnectivityState.IDLE,
  C: ConnectivityState.CONNECTING,
  R: ConnectivityState.READY,
  F: ConnectivityState.TRANSIENT_FAILURE,
} as const;

function isLetter(letter: string): letter is keyof typeof STATES {
  return letter in STATES;
}

describe('the state of a ring', () => {
  // Each letter is an endpoint.
  it.each([
    ['R', 'READY'],
    ['RFF', 'READY'],
    ['ICR', 'READY'],
    ['FF', 'TRANSIENT_FAILURE'],
    ['FFC', 'TRANSIENT_FAILURE'],
    ['FFIIII', 'TRANSIENT_FAILURE'],
    ['C', 'CONNECTING'],
    ['CII', 'CONNECTING'],
    ['FC', 'CONNECTING'],
    ['FCI', 'CONNECTING'],
    ['FI', 'CONNECTING'],
    ['FII', 'CONNECTING'],
    ['I', 'IDLE'],
    ['II', 'IDLE'],
    ['F', 'TRANSIENT_FAILURE'],
    ['', 'TRANSIENT_FAILURE'],
  ])('of %j is %s', (letters, expected) => {
    const tally = new ConnectivityTally();
    for (const letter of letters) if (isLetter(letter)) tally.add(STATES[letter]);
    expect(ConnectivityState[chooseConnectivity(tally, letters.length)]).toBe(expected);
  });
});
