import { containedUnaryHandler, type HostedService } from 'grpc-xds/internal';
import type { sendUnaryData as UnaryCallback, ServerUnaryCall } from '@grpc/grpc-js';
import type { Clock } from '../../../src/util/clock';
import { RELAY_INSPECT_PATH } from '../../../src/util/relay-names';
import { IDENTITY_REQUEST, type RelayIdentity } from './relay-identity';
import type { RelayReport } from './relay-report';

/** Clients of a report, with a discovery stream and with a stream of load reports. */
const MAX_CLIENTS = 1000;
/** How long a report is handed to further callers, which are not authenticated. */
const REPORT_AGE_MS = 500;

const isSame = (bytes: Buffer) => bytes;

/**
 * Answers with the state of the relay, for `grpc-xds relay --admin` and `grpc-xds watch --admin`; or with its identity alone, for the processes
 * that look for a relay.
 */
export function createInspectService(
  relay: { readonly describe: () => RelayReport; readonly identify: () => RelayIdentity },
  clock: Pick<Clock, 'now' | 'monotonicMs'>,
): HostedService {
  let latest: { readonly bytes: Buffer; readonly atMs: number } | undefined;
  const answer = (): Buffer => {
    const atMs = clock.monotonicMs();
    if (latest === undefined || atMs - latest.atMs >= REPORT_AGE_MS) {
      latest = { bytes: encodeReport(relay.describe(), clock.now()), atMs };
    }
    return latest.bytes;
  };
  const Inspect = (
    { request }: ServerUnaryCall<Buffer, Buffer>,
    callback: UnaryCallback<Buffer>,
  ) => {
    const isShort = request.length > 0 && request.toString('utf8') === IDENTITY_REQUEST;
    callback(null, isShort ? encode(relay.identify(), clock.now()) : answer());
  };
  return {
    methods: [
      {
        addTo(server) {
          const method = {
            path: RELAY_INSPECT_PATH,
            requestStream: false,
            responseStream: false,
            requestSerialize: isSame,
            requestDeserialize: isSame,
            responseSerialize: isSame,
            responseDeserialize: isSame,
          };
          const handler = containedUnaryHandler('the report of a relay', Inspect);
          server.addService({ Inspect: method }, { Inspect: handler });
        },
      },
    ],
    // A call has ended when it has begun.
    endStreams: () => {},
  };
}

function encodeReport(report: RelayReport, nowMs: number): Buffer {
  const clients = report.clients.slice(0, MAX_CLIENTS);
  const loadClients = report.loadClients.slice(0, MAX_CLIENTS);
  const shown = { ...report, clients, loadClients, clientCount: report.clients.length };
  return encode(shown, nowMs);
}

function encode(relay: RelayIdentity, nowMs: number): Buffer {
  const time = new Date(nowMs).toISOString();
  return Buffer.from(JSON.stringify({ schema: 1, time, pid: relay.pid, relay }));
}
