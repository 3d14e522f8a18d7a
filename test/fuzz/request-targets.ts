import { csdsDefinition } from '../../src/observe/admin/csds';
import { ClientStatusRequest } from '../../src/wire/generated/envoy/service/status/v3/csds';
import { OrcaLoadReportRequest } from '../../src/wire/generated/xds/service/orca/v3/orca';
import {
  decodeSessionHost,
  encodeSessionHost,
  findCookie,
} from '../../src/http-filters/stateful-session/cookie';
import { correctPushback } from '../../src/lb/cluster-impl/cluster-calls';
import { Metadata, Status } from '../../src/grpc-js';
import { checkRequest, checkToken } from '../../packages/page/src/live-page/page-access';
import { parseViewRequests } from '../../packages/page/src/live-page/view';
import type { FuzzTarget } from './targets';
import type { WireMutations } from './wire-mutations';

/** What callers of the admin services and of the live page send, and the headers of calls and of backends. */
export function createRequestTargets(wire: WireMutations): readonly FuzzTarget[] {
  return [
    csdsTarget(wire),
    orcaTarget(wire),
    pageTarget(wire),
    cookieTarget(wire),
    pushbackTarget(wire),
  ];
}

const shared = { share: 2, maxMsPerKiB: 10 };

/** A request for the status of the clients: it is read, or refused with a reason. */
function csdsTarget(wire: WireMutations): FuzzTarget {
  const samples = [
    ClientStatusRequest.create({ excludeResourceContents: true }),
    ClientStatusRequest.create({ node: { id: 'a', cluster: 'b' }, nodeMatchers: [{}, {}] }),
  ].map((request) => ClientStatusRequest.encode(request).finish());
  const { requestDeserialize } = methodOf(csdsDefinition['FetchClientStatus']);
  let turn = 0;
  return {
    ...shared,
    name: 'CSDS request',
    make: () => wire.mutate(samples[turn++ % samples.length] ?? Buffer.of()),
    run(input) {
      const read: unknown = requestDeserialize(Buffer.from(input));
      return isRead(read) ? undefined : 'neither read nor refused with a reason';
    },
  };
}

type Deserializer = { readonly requestDeserialize: (bytes: Buffer) => unknown };

function methodOf(method: Deserializer | undefined): Deserializer {
  if (method === undefined) throw new Error('no such method');
  return method;
}

function isRead(read: unknown): boolean {
  if (typeof read !== 'object' || read === null || !('ok' in read)) return false;
  return (
    read.ok === true || ('error' in read && typeof read.error === 'string' && read.error !== '')
  );
}

/** A request for load reports out of band: what can be decoded is encoded the same again. */
function orcaTarget(wire: WireMutations): FuzzTarget {
  const sample = OrcaLoadReportRequest.encode(
    OrcaLoadReportRequest.create({
      reportInterval: { seconds: 30n, nanos: 500 },
      requestCostNames: ['cpu', 'memory'],
    }),
  ).finish();
  return {
    ...shared,
    name: 'load report request',
    make: () => wire.mutate(sample),
    run(input) {
      let request: OrcaLoadReportRequest;
      try {
        request = OrcaLoadReportRequest.decode(Buffer.from(input));
      } catch {
        return undefined;
      }
      const encoded = OrcaLoadReportRequest.encode(request).finish();
      const again = OrcaLoadReportRequest.encode(OrcaLoadReportRequest.decode(encoded)).finish();
      return Buffer.from(encoded).equals(again) ? undefined : 'not the same when encoded again';
    },
  };
}

/** The query and the headers of a request for the live page. */
function pageTarget(wire: WireMutations): FuzzTarget {
  const sample =
    'view=resources:0&view=routes:200&target=xds%3A%2F%2F%2Fa&filter=b&opened=1,2\n127.0.0.1:80\nBearer t\nsame-origin';
  const access = { host: '127.0.0.1', port: 0, token: 't', hosts: new Set(['localhost']) };
  return {
    ...shared,
    name: 'live page request',
    make: () => Buffer.from(wire.mutate(Buffer.from(sample))).toString(),
    run(input) {
      const [query = '', ...values] = Buffer.from(input).toString().split('\n');
      const [host, authorization, site] = values.map((value) => [value]);
      const headers = { host, authorization, 'sec-fetch-site': site };
      const checked = { method: 'GET', headers };
      const refusal = checkRequest(checked, access) ?? checkToken(checked, access);
      if (refusal === undefined && authorization?.[0] !== 'Bearer t') return 'taken without token';
      const requests = parseViewRequests(new URLSearchParams(query));
      const views = requests.ok ? requests.value : [];
      const isBounded = views.every(({ offset, filter }) => offset < 1e7 && filter.length <= 1024);
      return views.length <= 4 && isBounded ? undefined : 'more views than there may be';
    },
  };
}

/** The cookie of a session: what names a host is encoded the same again. */
function cookieTarget(wire: WireMutations): FuzzTarget {
  const host = { addresses: ['10.0.0.1:80', '[::1]:443'], cluster: 'cluster:a' };
  const sample = `a=b; session="${encodeSessionHost(host) ?? ''}"; c=d`;
  const plain = `${host.addresses.join(',')};${host.cluster}`;
  let turn = 0;
  return {
    ...shared,
    name: 'session cookie',
    make() {
      if (turn++ % 2 === 0) return Buffer.from(wire.mutate(Buffer.from(sample))).toString();
      return `session=${Buffer.from(wire.mutate(Buffer.from(plain))).toString('base64')}`;
    },
    run(input) {
      const text = Buffer.from(input).toString();
      const value = findCookie({ get: () => [text] }, 'session');
      const read = value === undefined ? undefined : decodeSessionHost(value);
      if (read === undefined) return undefined;
      const again = decodeSessionHost(encodeSessionHost(read) ?? '');
      const isSame =
        again?.cluster === read.cluster && again.addresses.join() === read.addresses.join();
      return isSame ? undefined : 'another host when encoded again';
    },
  };
}

/** The delay of a retry: a number that a timer takes, or no retry. */
function pushbackTarget(wire: WireMutations): FuzzTarget {
  return {
    ...shared,
    name: 'retry pushback',
    make: () => Buffer.from(wire.mutate(Buffer.from('2147483647'))).toString('latin1'),
    run(input) {
      const metadata = new Metadata();
      try {
        metadata.set('grpc-retry-pushback-ms', Buffer.from(input).toString('latin1'));
      } catch {
        // Not a header that HTTP/2 can carry.
        return undefined;
      }
      correctPushback({ code: Status.UNAVAILABLE, metadata });
      // As the host library reads it.
      const delay = parseInt(String(metadata.get('grpc-retry-pushback-ms')[0]), 10);
      return delay >= -1 && delay < 2 ** 31 ? undefined : `a delay of ${delay}`;
    },
  };
}
