import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { ListenSocket } from '../../../src/server/connections/listen-socket';
import { eventually } from '../../support/eventually';
import { FakeClock } from '../../support/fake-clock';

const RETRY_MS = 60_000;

/** A listening socket with what it has reported. */
function listen(port: number) {
  const clock = new FakeClock();
  const reports: string[] = [];
  const socket = new ListenSocket({
    address: { host: '127.0.0.1', port },
    clock,
    onConnection: (accepted) => {
      reports.push('connection');
      accepted.destroy();
    },
    onListening: () => reports.push('listening'),
    onFailed: (reason) => reports.push(reason),
    onAcceptFailed: (reason) => reports.push(`accept: ${reason}`),
  });
  return { socket, clock, reports };
}

it('tries a port again every minute that another process uses', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { socket, clock, reports } = listen(port);
  await eventually(() => reports.length, 1);
  expect(reports[0]).toContain('EADDRINUSE');
  clock.advance(RETRY_MS);
  await eventually(() => reports.length, 2);
  other.close();
  await once(other, 'close');
  clock.advance(RETRY_MS);
  await eventually(() => reports.length, 3);
  expect(reports[2]).toBe('listening');
  const client = connect(port, '127.0.0.1');
  client.on('error', () => undefined);
  await once(client, 'close');
  expect(reports[3]).toBe('connection');
  socket.release();
});

it('listens no more after its release, nor while it waits for the port', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { socket, clock, reports } = listen(port);
  await eventually(() => reports.length, 1);
  socket.release();
  other.close();
  await once(other, 'close');
  clock.advance(RETRY_MS);
  const client = connect(port, '127.0.0.1');
  await expect(once(client, 'connect')).rejects.toThrow('ECONNREFUSED');
  expect(reports).toHaveLength(1);
});
