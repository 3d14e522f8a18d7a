import {
  SharedTransports,
  type StreamStatus,
  type XdsStreamHandler,
  type XdsTransport,
} from '../../src/xds-client/transport';
import { FakeClock } from '../support/fake-clock';
import { FakeNetwork } from '../support/fake-transport';
import { serverConfig } from './harness';

const server = serverConfig('xds.test:1');

describe('shared transports', () => {
  const clock = new FakeClock();
  let network: FakeNetwork;
  let shared: SharedTransports;
  beforeEach(() => {
    network = new FakeNetwork(clock);
    shared = new SharedTransports(network);
  });

  function use(config = server): XdsTransport {
    const made = shared.create(config);
    if (!made.ok) throw new Error(made.error);
    return made.value;
  }

  const ended: StreamStatus[] = [];
  const handler: XdsStreamHandler = {
    onSent: () => undefined,
    onMessage: () => undefined,
    onClosed: (status) => ended.push(status),
  };

  it('are one connection for each server', () => {
    use();
    use();
    use(serverConfig('xds.test:1', ['xds_v3']));
    use(serverConfig('other.test:1'));
    expect(network.server('xds.test:1').openConnections).toBe(2);
    expect(network.server('other.test:1').openConnections).toBe(1);
  });

  it('are one connection for each set of options (gRFC A110)', () => {
    const optionsOf = (name: string) => ({
      name,
      equals: (other: unknown) => isNamed(other, name),
    });
    const useWith = (name: string) => {
      const made = shared.create(server, optionsOf(name));
      if (!made.ok) throw new Error(made.error);
      return made.value;
    };
    use();
    const [first] = [useWith('a'), useWith('a'), useWith('b')];
    expect(network.openConnections).toBe(3);
    first?.close();
    expect(network.openConnections).toBe(3);
    useWith('b');
    use();
    expect(network.openConnections).toBe(3);
  });

  it('close the connection after the last user', () => {
    const [ads, lrs] = [use(), use()];
    const adsStream = ads.openStream('/Ads', handler);
    lrs.openStream('/Lrs', handler);
    adsStream.close();
    ads.close();
    ads.close();
    expect(network.server('xds.test:1').streams[1]?.isOpen).toBe(true);
    expect(network.openConnections).toBe(1);
    lrs.close();
    expect(network.openConnections).toBe(0);
  });

  it('make a new connection for who comes after that', () => {
    use().close();
    use();
    expect(network.openConnections).toBe(1);
  });

  it('pass on why there is no connection, and what the server does', () => {
    network.server('xds.test:1').refusal = 'no such credentials';
    expect(shared.create(server)).toEqual({ ok: false, error: 'no such credentials' });
    network.server('xds.test:1').refusal = undefined;
    use().openStream('/Ads', handler);
    network.server('xds.test:1').stream.end(14, 'gone');
    expect(ended).toEqual([{ code: 14, details: 'gone' }]);
  });
});

function isNamed(options: unknown, name: string): boolean {
  return (
    typeof options === 'object' && options !== null && 'name' in options && options.name === name
  );
}
