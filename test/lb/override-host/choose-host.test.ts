import { ConnectivityState } from '../../../src/grpc-js';
import { chooseHost } from '../../../src/lb/override-host/balancer';

type State = keyof typeof ConnectivityState;

/**
 * One letter for each address, in order: R, I, C, F for the state, N for one without a subchannel, - for an address that
 * cannot be used.
 */
function choose(states: string): number | undefined {
  const names: Record<string, State> = {
    R: 'READY',
    I: 'IDLE',
    C: 'CONNECTING',
    F: 'TRANSIENT_FAILURE',
  };
  const hosts = states.split('').map((letter, position) => {
    if (letter === 'N') return { position, state: undefined };
    const name = names[letter];
    return name && { position, state: ConnectivityState[name] };
  });
  const addresses = hosts.map((_, i) => String(i));
  return chooseHost(addresses, (address) => hosts[Number(address)])?.position;
}

describe('chooseHost', () => {
  it.each([
    ['', undefined],
    ['-', undefined],
    ['F', undefined],
    ['-F-', undefined],
    ['R', 0],
    ['RR', 0],
    ['ICFR', 3],
    ['I', 0],
    ['CII', 1],
    ['FIC', 1],
    ['C', 0],
    ['-FCC', 2],
    ['N', 0],
    ['NN', 0],
    ['FN-', 1],
    ['NR', 1],
    ['NI', 1],
    ['NC', 1],
    ['NCI', 2],
    ['NFR', 2],
  ])('among %j chooses %s', (states, expected) => {
    expect(choose(states)).toBe(expected);
  });
});
