import { StatusCode } from '../../src/util/status-code';
import { Harness, serverConfig } from './harness';

const SERVER = 'management server xds.test:1 (node "node-1")';

function harness(...features: string[]): Harness {
  return new Harness({
    servers: [serverConfig('xds.test:1', features)],
    dataErrorHandling: true,
  });
}

function sendError(h: Harness, name: string, code: number, message: string): void {
  h.stream.respond({
    typeUrl: h.endpoints.typeUrl,
    versionInfo: '1',
    resourceErrors: [{ resourceName: { name }, errorDetail: { code, message, details: [] } }],
  });
}

describe('with data error handling (gRFC A88)', () => {
  it('a resource that is left out stays in use with an ambient error, until it is sent again', () => {
    const h = harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    h.send(h.listener, '2', {});
    expect(h.client.snapshot().resources[0]).toMatchObject({
      status: 'DOES_NOT_EXIST',
      accepted: { version: '1' },
    });
    h.send(h.listener, '3', { a: 'one' });
    expect(watcher.told).toEqual([
      'value one',
      `ambient Listener "a": no such resource: ${SERVER} has removed it: add it there, or change what refers to it`,
      'ambient over',
    ]);
    expect(h.client.snapshot().resources[0]).toMatchObject({
      status: 'ACKED',
      accepted: { version: '3' },
    });
  });

  it('ignore_resource_deletion means nothing', () => {
    const h = harness('ignore_resource_deletion');
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    h.send(h.listener, '2', {});
    expect(watcher.told.at(-1)).toBe(
      `ambient Listener "a": no such resource: ${SERVER} has removed it: add it there, or change what refers to it`,
    );
  });

  it('fail_on_data_errors drops what is left out and what is rejected', () => {
    const h = harness('fail_on_data_errors');
    const deleted = h.watch(h.listener, 'deleted');
    const rejected = h.watch(h.listener, 'rejected');
    h.send(h.listener, '1', { deleted: 'one', rejected: 'two' });
    h.send(h.listener, '2', { rejected: '!bad' });
    expect(deleted.told.at(-1)).toBe(
      `error Listener "deleted": no such resource: ${SERVER} has removed it: add it there, or change what refers to it`,
    );
    expect(rejected.told.at(-1)).toBe(
      `error Listener "rejected": update from ${SERVER} rejected (NACK): bad`,
    );
    expect(h.client.snapshot().resources.map(({ accepted }) => accepted)).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('an error about a resource ends the wait for it at once', () => {
    const h = harness();
    const watcher = h.watch(h.endpoints, 'a');
    sendError(h, 'a', StatusCode.PERMISSION_DENIED, 'not for you');
    expect(watcher.told).toEqual([
      `error Endpoints "a": ${SERVER} reports PERMISSION_DENIED: not for you`,
    ]);
    expect(watcher.errors[0]?.kind).toBe('server-error');
    expect(h.clock.pendingTimers).toBe(0);
    expect(h.client.snapshot().resources[0]?.status).toBe('RECEIVED_ERROR');
    expect(h.stream.request).toMatchObject({ versionInfo: '1', errorDetail: undefined });
  });

  it.each([
    [StatusCode.NOT_FOUND, 'NOT_FOUND', [], 'ambient'],
    [StatusCode.NOT_FOUND, 'NOT_FOUND', ['fail_on_data_errors'], 'error'],
    [StatusCode.PERMISSION_DENIED, 'PERMISSION_DENIED', ['fail_on_data_errors'], 'error'],
    [StatusCode.UNAVAILABLE, 'UNAVAILABLE', ['fail_on_data_errors'], 'ambient'],
    [99, 'code 99', ['fail_on_data_errors'], 'ambient'],
  ])(
    'an error %i (%s) about a cached resource, with features %j, is %s',
    (code, name, features, told) => {
      const h = harness(...features);
      const watcher = h.watch(h.endpoints, 'a');
      h.send(h.endpoints, '1', { a: 'one' });
      sendError(h, 'a', code, 'sorry');
      expect(watcher.told).toEqual([
        'value one',
        `${told} Endpoints "a": ${SERVER} reports ${name}: sorry`,
      ]);
    },
  );

  it('an error about a resource that is not watched is ignored', () => {
    const h = harness();
    const watcher = h.watch(h.endpoints, 'a');
    sendError(h, 'b', StatusCode.NOT_FOUND, 'sorry');
    expect(watcher.told).toEqual([]);
  });
});
