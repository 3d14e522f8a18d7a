import { AwaitedTransport } from '../../../packages/relay/src/share/awaited-transport';
import type { RelayState } from '../../../packages/relay/src/share/relay-election';
import { createHandle } from '../../../src/util/handle';
import type { StreamStatus } from '../../../src/xds-client/transport';
import { FakeClock } from '../../support/fake-clock';
import { FakeNetwork } from '../../support/fake-transport';
import { serverConfig } from '../../xds-client/harness';

const server = serverConfig('unix:/run/xds.sock');
const ready: RelayState = {
  kind: 'ready',
  relay: { pid: 12, upstream: undefined, startedAtMs: undefined },
};

describe('the streams of a process to a relay', () => {
  const clock = new FakeClock();
  const network = new FakeNetwork(clock);
  const watchers = new Set<() => void>();
  let state: RelayState = { kind: 'electing' };
  const relay = {
    get state() {
      return state;
    },
    watch(onChanged: () => void) {
      watchers.add(onChanged);
      return createHandle(() => watchers.delete(onChanged));
    },
  };
  const become = (next: RelayState) => {
    state = next;
    for (const onChanged of [...watchers]) onChanged();
    clock.flush();
  };
  const transport = new AwaitedTransport({ relay, clock, connect: () => network.create(server) });
  const open = (method: string) => {
    const statuses: StreamStatus[] = [];
    transport.openStream(method, {
      onSent() {},
      onMessage() {},
      onClosed: (status) => statuses.push(status),
    });
    clock.flush();
    return statuses;
  };

  it('fail each by itself when it cannot be used, and are opened again once there is one', () => {
    const streams = ['/lrs', '/ads', '/ads'].map(open);
    expect(streams.flat()).toEqual([]);
    become({ kind: 'unavailable', reason: 'no relay' });
    // Also those that are opened after others have failed.
    const all = [...streams, open('/ads'), open('/lrs')];
    let notified = 0;
    for (const [status] of all) {
      expect(status).toMatchObject({ code: 14, details: 'no relay', isSucceeded: false });
      status?.retryWhen?.(() => notified++);
    }
    become({ kind: 'unavailable', reason: 'another reason' });
    expect(notified).toBe(0);
    become(ready);
    expect(notified).toBe(all.length);
    expect(open('/ads')).toEqual([]);
    expect(network.server(server.serverUri).streams).toHaveLength(1);
  });
});
