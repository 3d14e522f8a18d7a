import { Client, credentials } from '@grpc/grpc-js';
import { inspect, ready, register, shutdown } from '../../src';
import { errorMessage } from '../../src/util/errors';
import { eventually } from '../support/eventually';
import { freePort } from '../support/free-port';
import { bootstrapFor, SERVICE, simpleResources, registerAnew, useMesh } from '../support/mesh';
import { XdsError } from '../../src/util/xds-error';

const TARGET = `xds:///${SERVICE}`;
const soon = () => Date.now() + 300;
const later = () => Date.now() + 20_000;

describe('ready() before register()', () => {
  // The first two in this file.
  it('is rejected at once, also after a call of register() that threw', async () => {
    expect(() => register({ requireBootstrap: true })).toThrow(XdsError);
    await expect(ready(TARGET, later())).rejects.toMatchObject({ code: 'XDS_NOT_REGISTERED' });
  });

  it('is rejected at once', async () => {
    await expect(ready(TARGET, later())).rejects.toThrow(
      'grpc-xds: ready(): register() of grpc-xds has not been called in this process',
    );
  });
});

describe('ready()', () => {
  const mesh = useMesh();
  afterEach(async () => {
    await shutdown();
  });

  it.each(['a target', 'a client', 'a channel'])(
    'is resolved once calls of %s can be sent',
    async (kind) => {
      const client = new Client(TARGET, credentials.createInsecure());
      const subject =
        kind === 'a target' ? TARGET : kind === 'a client' ? client : client.getChannel();
      const waiting = ready(subject, later());
      mesh.serve(simpleResources([(await mesh.backend('b1')).port]));
      await waiting;
      await ready(subject, new Date(later()));
      expect(await mesh.client().say()).toBe('b1');
      client.close();
    },
  );

  it('says which resource the channel waits for', async () => {
    await expect(ready(TARGET, soon())).rejects.toThrow(
      /^grpc-xds: ready\(\): xds:\/\/\/echo\.test:50051 is not ready: Listener "echo\.test:50051": waiting for /,
    );
  });

  it('says why the endpoints cannot be reached', async () => {
    mesh.serve(simpleResources([await freePort()]));
    const client = new Client(TARGET, credentials.createInsecure());
    const failure = () => ready(client, Date.now() + 100).catch(errorMessage);
    const expected =
      'grpc-xds: ready(): xds:///echo.test:50051 is not ready: Cluster "echo": No connection established. Last error: connect ECONNREFUSED ';
    await eventually(failure, (text) => String(text).startsWith(expected));
    client.close();
  });

  it.each(['a target', 'a client'])(
    'ends with the reason of a signal that is aborted, and leaves nothing: %s',
    async (kind) => {
      const client = new Client(TARGET, credentials.createInsecure());
      const controller = new AbortController();
      const { signal } = controller;
      const removed = jest.spyOn(signal, 'removeEventListener');
      const waiting = ready(kind === 'a target' ? TARGET : client, later(), { signal });
      const reason = new Error('the application ends');
      setTimeout(() => controller.abort(reason), 20);
      const startMs = performance.now();
      await expect(waiting).rejects.toBe(reason);
      expect(performance.now() - startMs).toBeLessThan(1000);
      // The last watch of grpc-js ends a second later, and with it the listener.
      await eventually(() => removed.mock.calls.length > 0, true);
      if (kind === 'a target') expect(inspect().targets).toEqual([]);
      client.close();
      await expect(ready(TARGET, later(), { signal })).rejects.toBe(reason);
    },
  );

  it('waits until the deadline while a signal is not aborted, longer than one watch', async () => {
    const { signal } = new AbortController();
    const startMs = performance.now();
    const deadline = Date.now() + 1500;
    await expect(ready(TARGET, deadline, { signal })).rejects.toThrow('is not ready: Listener');
    expect(performance.now() - startMs).toBeGreaterThan(1400);
  });

  it('is rejected when shutdown() is called, and at once after it', async () => {
    const ended = { code: 'XDS_NOT_REGISTERED', message: expect.stringMatching('call register') };
    const waiting = ready(TARGET, later());
    await shutdown();
    await expect(waiting).rejects.toMatchObject(ended);
    await expect(ready(TARGET, later())).rejects.toMatchObject(ended);
  });

  it('says that the bootstrap is wrong, and what is', async () => {
    registerAnew({ bootstrap: { xds_servers: [] } });
    await expect(ready('xds:///x', soon())).rejects.toThrow(
      'xds:///x is not ready: xDS bootstrap given to register({ bootstrap }) is invalid: xds_servers: must not be empty',
    );
  });

  it('says that the channel is closed', async () => {
    const client = new Client(TARGET, credentials.createInsecure());
    client.close();
    await expect(ready(client, later())).rejects.toThrow(
      `${TARGET} is not ready: its channel is closed`,
    );
  });

  it('is rejected for a target that is not xds:, and a deadline that is a duration', async () => {
    await expect(ready('echo:50051', later())).rejects.toThrow(
      new XdsError(
        'XDS_OPTION_INVALID',
        'target of ready() must be a target such as "xds:///shop", a client or a channel, not "echo:50051"',
      ),
    );
    await expect(ready(TARGET, 5000)).rejects.toThrow(
      new XdsError(
        'XDS_OPTION_INVALID',
        'deadline of ready() must be a Date or milliseconds since 1970, such as Date.now() + 5000, not 5000',
      ),
    );
  });
});

describe('register({ requireBootstrap: true })', () => {
  it('throws with what is wrong in the bootstrap', () => {
    expect(() => registerAnew({ requireBootstrap: true, bootstrap: { xds_servers: [] } })).toThrow(
      'grpc-xds: register(): xDS bootstrap given to register({ bootstrap }) is invalid: xds_servers: must not be empty',
    );
    expect(() => registerAnew({ requireBootstrap: true })).toThrow(
      'grpc-xds: register(): xDS bootstrap is missing: set GRPC_XDS_BOOTSTRAP',
    );
    expect(() =>
      registerAnew({ requireBootstrap: true, bootstrap: bootstrapFor('127.0.0.1:9') }),
    ).not.toThrow();
  });
});
