import { status } from '@grpc/grpc-js';
import { ScriptedControlPlane } from '../support/scripted-control-plane';
import { AdsClient } from './ads-client';

describe('ScriptedControlPlane', () => {
  const server = new ScriptedControlPlane();
  afterEach(() => server.stop());

  it('sends scripted responses, and counts streams and connections', async () => {
    const client = new AdsClient(await server.start());
    const first = client.open();
    first.subscribe('type', ['a'], { node: { id: 'test' } });
    const stream = await server.nextStream();
    expect(await stream.nextRequest()).toMatchObject({ typeUrl: 'type', resourceNames: ['a'] });
    stream.send({ versionInfo: '7', typeUrl: 'type', nonce: 'n' });
    expect(await first.next()).toMatchObject({ version_info: '7', nonce: 'n', resources: [] });
    stream.fail(status.RESOURCE_EXHAUSTED, 'enough');
    expect(await first.ended).toEqual({ code: 8, details: 'enough' });

    const second = client.open();
    second.send({});
    const next = await server.nextStream();
    next.sendBytes(Buffer.from([0xff]));
    expect((await second.ended).code).toBe(status.INTERNAL);
    await next.closed;
    expect([stream.open, next.open]).toEqual([false, false]);
    expect(server.streams).toEqual([stream, next]);
    expect([server.connections, server.openConnections]).toEqual([1, 1]);
    client.close();
  });

  it('closes connections on stop, and restarts', async () => {
    const before = server.connections;
    const address = await server.start();
    const client = new AdsClient(address);
    const stream = client.open();
    stream.send({});
    await (await server.nextStream()).nextRequest();
    await server.stop();
    expect((await stream.ended).code).toBe(status.UNAVAILABLE);
    expect(server.openConnections).toBe(0);
    client.close();

    expect(await server.start(Number(address.split(':')[1]))).toBe(address);
    const again = new AdsClient(address);
    again.open().send({});
    await server.nextStream();
    expect(server.connections).toBe(before + 2);
    again.close();
  });
});
