import { ConnectivityState } from '../../../src/grpc-js';
import { ConnectivityTally } from '../../../src/lb/connectivity';
import { chooseConnectivity } from '../../../src/lb/ring-hash/connections';

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
