import { ConnectivityState } from '../../../src/grpc-js';
import { ChildSubchannels } from '../../../src/lb/override-host/session-hosts';
import { LbHarness } from '../../support/lb-harness';

const { IDLE } = ConnectivityState;

function scene() {
  const { host } = new LbHarness();
  const subchannels = new ChildSubchannels();
  const open = (last: number, port = 80) => {
    const subchannel = host.createSubchannel({ host: `127.0.0.${last}`, port }, {});
    subchannels.add(subchannel, {});
    subchannel.ref();
    return subchannel;
  };
  return { subchannels, open };
}

describe('the subchannels of a child', () => {
  it('are forgotten when they have been released, however many there were', () => {
    const { subchannels, open } = scene();
    const kept = open(255);
    for (let port = 1; port <= 1000; port++) open(1, port).unref();
    expect(subchannels.size).toBeLessThan(130);
    expect(kept.refs).toBe(1);
    expect(subchannels.stateOf('127.0.0.255:80')).toBe(IDLE);
  });
});
