import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { Server, status, type ServiceError } from '@grpc/grpc-js';
import { addStatusService } from '../../../src/observe/admin/csds';
import { MAX_UNREAD_MS } from '../../../src/observe/admin/status-queue';
import { MAX_WAITING_REQUESTS } from '../../../src/util/limits';
import { eventually } from '../../support/eventually';
import { FakeClock } from '../../support/fake-clock';
import { observedClient } from '../../support/observed-client';
import { StatusClient } from '../../support/status-client';
import { bind } from '../../support/listen';

const METHOD = '/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus';
/** More than the buffers of sockets and HTTP/2 windows take. */
const LARGE = observedClient('a', 12, 1024 * 1024);

describe('CSDS and callers that do not read', () => {
  const clock = new FakeClock();
  const observe = jest.fn(() => [LARGE]);
  let server: Server;
  let port: number;
  let csds: StatusClient;
  let session: ClientHttp2Session;

  beforeEach(async () => {
    server = new Server();
    addStatusService(server, observe, clock);
    port = await bind(server);
    csds = new StatusClient(`127.0.0.1:${port}`);
    session = connect(`http://127.0.0.1:${port}`);
    observe.mockClear();
  });
  afterEach(() => {
    session.destroy();
    csds.close();
    server.forceShutdown();
  });

  /** Starts a call and reads nothing of its response. */
  function callWithoutReading(): ClientHttp2Stream {
    const headers = { ':method': 'POST', ':path': METHOD, te: 'trailers' };
    const stream = session.request({ ...headers, 'content-type': 'application/grpc' });
    stream.on('error', () => {});
    stream.end(Buffer.alloc(5));
    return stream;
  }

  const turn = (untilTrue: () => boolean) =>
    eventually(
      () => {
        clock.advance(1);
        return untilTrue();
      },
      (isTrue) => isTrue,
    );

  // 1. A caller requests the status and reads none of it. 2. Another one requests it. 3. The first is out of time.
  it('resets the call of one that keeps another one waiting', async () => {
    const stuck = callWithoutReading();
    await turn(() => observe.mock.calls.length === 1);
    const failure = csds.fetch().then(
      () => undefined,
      (error: ServiceError) => error,
    );
    await turn(() => {
      clock.advance(MAX_UNREAD_MS);
      return stuck.rstCode !== 0;
    });
    expect(stuck.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    await turn(() => observe.mock.calls.length === 2);
    // The response is larger than what the client of grpc-js takes by default: it has been sent.
    expect(await failure).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      details: expect.stringContaining('Received message larger than max'),
    });
  });

  it('refuses callers beyond those that may wait', async () => {
    const stuck = callWithoutReading();
    await turn(() => observe.mock.calls.length === 1);
    const waiting = Array.from({ length: MAX_WAITING_REQUESTS + 1 }, () =>
      csds.fetch().then(
        () => undefined,
        (error: ServiceError) => error,
      ),
    );
    expect(await Promise.any(waiting)).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      details: `xds: CSDS: ${MAX_WAITING_REQUESTS} requests are waiting already`,
    });
    stuck.close();
    csds.close();
    server.forceShutdown();
    await Promise.all(waiting);
  });
});
