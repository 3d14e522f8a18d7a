import type { StatusObject, Subchannel } from '../../grpc-js';
import type { Clock } from '../../util/clock';
import { toIso } from '../../util/since';
import { quoteName } from '../../util/text';

/** What grpc-js says of a call whose stream or connection ended without a status, and what to check. */
const ADVICE: readonly (readonly [text: RegExp, advice: string])[] = [
  [
    /^Stream refused by server$/,
    'it shuts down (GOAWAY) or limits its concurrent streams (REFUSED_STREAM): see its log',
  ],
  [/^Connection dropped$/, 'the connection ended during the call: see its log, and the network'],
  [/^Received HTTP status code /, 'this is not the answer of a gRPC server: see what serves there'],
  [
    /^Bandwidth exhausted or memory limit exceeded$/,
    'it limits pings or resets (ENHANCE_YOUR_CALM): see its log',
  ],
];
/** What to check after any other end of a stream. */
const CHECK_LOG = 'see its log, and the network';

/** The texts of ends that are not of a stream. */
const OF_CONNECTION = /^Connection dropped$|^Received HTTP status code \d+$/;

/** Endpoints with broken calls that are counted. The one that broke a call longest ago is forgotten. */
const MAX_ENDPOINTS = 1000;

/** The broken calls of an endpoint. */
interface Broken {
  count: number;
  readonly firstMs: number;
}

/**
 * Counts the calls of a cluster that ended without a status of their server, for their texts: by the address of the endpoint, since each
 * connection may have a subchannel of its own.
 */
export class BrokenCalls {
  private readonly byAddress = new Map<string, Broken>();

  constructor(
    private readonly cluster: string,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** Returns a status with its endpoint and what to check, if the stream or the connection has ended. */
  explain(status: StatusObject, subchannel: Pick<Subchannel, 'getAddress'>): StatusObject {
    const { details } = status;
    // grpc-js adds how a stream was reset, which it does not to a status of the server.
    const isBroken = Reflect.get(status, 'rstCode') !== undefined || OF_CONNECTION.test(details);
    if (!isBroken) return status;
    const [, advice = CHECK_LOG] = ADVICE.find(([text]) => text.test(details)) ?? [];
    const address = subchannel.getAddress();
    const { count, firstMs } = this.add(address);
    const often = count === 1 ? '' : `, ${count} times since ${toIso(firstMs)}`;
    return {
      ...status,
      details: `${details}: Cluster ${quoteName(this.cluster)}: ${address}${often}: ${advice}`,
    };
  }

  private add(address: string): Broken {
    const { byAddress } = this;
    const broken = byAddress.get(address) ?? { count: 0, firstMs: this.clock.now() };
    broken.count++;
    byAddress.delete(address);
    byAddress.set(address, broken);
    const [oldest] = byAddress.keys();
    if (byAddress.size > MAX_ENDPOINTS && oldest !== undefined) byAddress.delete(oldest);
    return broken;
  }
}
