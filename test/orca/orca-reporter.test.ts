import {
  Client,
  credentials,
  Metadata,
  Server,
  status,
  type ClientReadableStream,
  type sendUnaryData,
  type ServerUnaryCall,
  type StatusObject,
} from '@grpc/grpc-js';
import { OrcaLoadReport } from '../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { OrcaLoadReportRequest } from '../../src/wire/generated/xds/service/orca/v3/orca';
import {
  OrcaReporter,
  recordCallLoad,
  type BackendLoad,
  type OrcaReporterOptions,
} from '../../src/orca';
import { echoMethod } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { FakeClock } from '../support/fake-clock';
import { bind } from '../support/listen';

type Handler = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => void;

const same = (buffer: Buffer) => buffer;
const answer: Handler = (_call, callback) => callback(null, Buffer.from(''));
const TRAILER = 'endpoint-load-metrics-bin';

function reportIn(trailers: Metadata): OrcaLoadReport {
  const [bytes] = trailers.get(TRAILER);
  if (!(bytes instanceof Buffer)) throw new Error('the trailers contain no report');
  return OrcaLoadReport.decode(bytes);
}

describe('OrcaReporter (gRFC A51)', () => {
  const cleanUp: (() => void)[] = [];
  afterEach(() => {
    for (const task of cleanUp.splice(0).reverse()) task();
  });

  async function start(options: OrcaReporterOptions = {}, handler = answer, intercepts = true) {
    const clock = new FakeClock();
    const reporter = new OrcaReporter(options, { clock });
    const server = new Server(intercepts ? { interceptors: [reporter.interceptor] } : {});
    server.addService({ say: echoMethod }, { say: handler });
    reporter.addTo(server);
    const port = await bind(server);
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
    cleanUp.push(() => server.forceShutdown());
    cleanUp.push(() => client.close());
    const call = () =>
      new Promise<StatusObject>((resolve) => {
        client
          .makeUnaryRequest(echoMethod.path, same, same, Buffer.from(''), () => {})
          .on('status', resolve);
      });
    /** Opens an out-of-band stream; without an interval in the request if undefined. */
    const watch = (intervalMs: number | undefined) => {
      const seconds = BigInt(Math.floor((intervalMs ?? 0) / 1000));
      const request = OrcaLoadReportRequest.create(
        intervalMs === undefined
          ? {}
          : { reportInterval: { seconds, nanos: (intervalMs % 1000) * 1e6 } },
      );
      const reports: OrcaLoadReport[] = [];
      const ends: StatusObject[] = [];
      const stream: ClientReadableStream<Buffer> = client.makeServerStreamRequest(
        '/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics',
        same,
        same,
        Buffer.from(OrcaLoadReportRequest.encode(request).finish()),
      );
      stream.on('data', (bytes: Buffer) => reports.push(OrcaLoadReport.decode(bytes)));
      stream.on('status', (end: StatusObject) => ends.push(end));
      stream.on('error', () => undefined);
      const count = (expected: number) =>
        eventually(
          () => reports.length,
          (n) => n >= expected,
        );
      return { reports, ends, count, stream };
    };
    return { clock, reporter, server, client, call, watch };
  }

  describe('the report of each call', () => {
    it('contains the load that the application measures', async () => {
      let load = 0.25;
      const { call, clock } = await start({ measure: () => ({ applicationUtilization: load }) });
      expect(reportIn((await call()).metadata)).toMatchObject({ applicationUtilization: 0.25 });
      load = 0.5;
      clock.advance(100);
      expect(reportIn((await call()).metadata)).toMatchObject({ applicationUtilization: 0.5 });
    });

    it('contains the measured queries and errors per second', async () => {
      let isFailing = true;
      const failing: Handler = (...args) =>
        isFailing ? args[1]({ code: status.ABORTED, details: 'no' }) : answer(...args);
      const { call, clock } = await start({}, failing);
      await call();
      await call();
      isFailing = false;
      await call();
      clock.advance(1000);
      expect(reportIn((await call()).metadata)).toMatchObject({ rpsFractional: 4, eps: 2 });
    });

    it('passes the measured load to the application', async () => {
      const { call, clock } = await start({
        measure: ({ queriesPerSecond = 0 }) => ({ applicationUtilization: queriesPerSecond / 8 }),
      });
      await call();
      clock.advance(1000);
      expect(reportIn((await call()).metadata)).toMatchObject({
        rpsFractional: 2,
        applicationUtilization: 0.25,
      });
    });

    it('is measured at most ten times a second', async () => {
      let measured = 0;
      const { call, clock } = await start({ measure: () => ({ cpuUtilization: ++measured }) });
      for (let i = 0; i < 5; i++) await call();
      expect(measured).toBe(1);
      clock.advance(100);
      await call();
      expect(measured).toBe(2);
    });

    it('contains the load that the handler records', async () => {
      const recording: Handler = (call, callback) => {
        expect(recordCallLoad(call, { requestCost: { rows: 3 }, cpuUtilization: 0.75 })).toBe(true);
        recordCallLoad(call, { requestCost: { bytes: 10 } });
        answer(call, callback);
      };
      const { call } = await start({ measure: () => ({ cpuUtilization: 0.5 }) }, recording);
      expect(reportIn((await call()).metadata)).toMatchObject({
        cpuUtilization: 0.75,
        requestCost: new Map([
          ['rows', 3],
          ['bytes', 10],
        ]),
      });
    });

    it('is added to a copy of the trailers of the application', async () => {
      const trailers = new Metadata();
      trailers.set('x-mine', 'yes');
      const { call } = await start({}, (_call, callback) =>
        callback(null, Buffer.from(''), trailers),
      );
      const { metadata } = await call();
      expect(metadata.get('x-mine')).toEqual(['yes']);
      expect(metadata.get(TRAILER)).toHaveLength(1);
      expect(trailers.get(TRAILER)).toEqual([]);
    });

    const late = (): BackendLoad => {
      // What the type rules out, plain JavaScript does.
      return Promise.reject(new Error('late')) as unknown as BackendLoad;
    };

    it('is sent with the measured load, and one warning, if measure() returns a promise', async () => {
      const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
      cleanUp.push(() => warn.mockRestore());
      const { call, clock } = await start({ measure: late });
      expect((await call()).code).toBe(status.OK);
      clock.advance(1000);
      expect(reportIn((await call()).metadata)).toMatchObject({ rpsFractional: 2 });
      const rule = 'it must return the load, not a promise';
      expect(warn.mock.calls).toEqual([[`OrcaReporter: measure() threw: ${rule}`]]);
    });

    it('is sent with the measured load, and one warning, if measure() throws', async () => {
      const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
      cleanUp.push(() => warn.mockRestore());
      const { call, clock } = await start({
        measure: () => {
          throw new Error('no sensor');
        },
      });
      expect((await call()).code).toBe(status.OK);
      clock.advance(1000);
      expect(reportIn((await call()).metadata)).toMatchObject({ rpsFractional: 2 });
      expect(warn.mock.calls).toEqual([['OrcaReporter: measure() threw: no sensor']]);
    });
  });

  it('returns false from recordCallLoad without an interceptor', async () => {
    const answers: boolean[] = [];
    const recording: Handler = (call, callback) => {
      answers.push(recordCallLoad(call, { cpuUtilization: 1 }));
      answer(call, callback);
    };
    const { call } = await start({}, recording, false);
    expect((await call()).metadata.get(TRAILER)).toEqual([]);
    expect(answers).toEqual([false]);
  });

  describe('out-of-band reporting', () => {
    it('sends a report at once and then at the requested interval', async () => {
      let load = 0;
      const { watch, clock } = await start({
        measure: () => ({ cpuUtilization: ++load }),
        minReportIntervalMs: 100,
      });
      const { reports, count } = watch(2500);
      await count(1);
      clock.advance(2499);
      clock.advance(1);
      await count(2);
      clock.advance(2500);
      await count(3);
      expect(reports.map(({ cpuUtilization }) => cpuUtilization)).toEqual([1, 2, 3]);
    });

    it.each([[undefined], [0], [29_999]])(
      'applies the minimum interval if %s ms are requested',
      async (intervalMs) => {
        let seconds = 0;
        const { watch, clock } = await start({ measure: () => ({ cpuUtilization: seconds }) });
        const { reports, count } = watch(intervalMs);
        await count(1);
        clock.advance(29_999);
        seconds = 30;
        clock.advance(1);
        await count(2);
        expect(reports.map(({ cpuUtilization }) => cpuUtilization)).toEqual([0, 30]);
      },
    );

    it('does not count its streams as queries', async () => {
      const { watch, clock, reporter } = await start();
      await watch(undefined).count(1);
      clock.advance(1000);
      expect(reporter.load.queriesPerSecond).toBe(0);
    });

    it('rejects a request with more fields than are of use', async () => {
      const { client } = await start();
      const names = Buffer.alloc(20_002, Buffer.from([0x12, 0]));
      const path = '/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics';
      const stream = client.makeServerStreamRequest(path, same, same, names);
      stream.on('data', () => undefined);
      const error = await new Promise<Error>((resolve) => stream.on('error', resolve));
      expect(error.message).toContain('Error deserializing request');
    });

    it('stops when the client cancels', async () => {
      const { watch, clock } = await start();
      const { stream, count } = watch(undefined);
      await count(1);
      stream.cancel();
      await eventually(
        () => clock.pendingTimers,
        (timers) => timers === 0,
      );
    });

    it('stops on close, so that the server can be shut down', async () => {
      const { watch, reporter, server, clock } = await start();
      const { ends, count } = watch(undefined);
      await count(1);
      reporter.close();
      const late = watch(undefined);
      await eventually(
        () => late.ends.length,
        (n) => n === 1,
      );
      expect(late.ends[0]).toMatchObject({ code: status.UNAVAILABLE });
      await new Promise<void>((resolve, reject) => {
        server.tryShutdown((error) => (error === undefined ? resolve() : reject(error)));
      });
      expect(ends).toMatchObject([{ code: status.OK }]);
      expect(clock.pendingTimers).toBe(0);
    });
  });
});
