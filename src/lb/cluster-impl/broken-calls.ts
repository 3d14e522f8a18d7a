import type { StatusObject } from '../../grpc-js';
import type { Clock } from '../../util/clock';
import { toIso } from '../../util/since';
import { quoteName } from '../../util/text';

/** What the host library says of a call whose stream or connection ended without a status, and what to check. */
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

/** Counts the calls of one endpoint that ended without a status of its server, for their texts. */
export class BrokenCalls {
  private count = 0;
  private firstMs = 0;

  /** @param address That of the endpoint. */
  constructor(
    private readonly cluster: string,
    private readonly address: string,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** Returns a status with its endpoint and what to check, if the stream or the connection has ended. */
  explain(status: StatusObject): StatusObject {
    const { details } = status;
    // The host library adds how a stream was reset, which it does not to a status of the server.
    const isBroken = Reflect.get(status, 'rstCode') !== undefined || OF_CONNECTION.test(details);
    if (!isBroken) return status;
    const [, advice = CHECK_LOG] = ADVICE.find(([text]) => text.test(details)) ?? [];
    this.count++;
    if (this.count === 1) this.firstMs = this.clock.now();
    const { cluster, address, count, firstMs } = this;
    const often = count === 1 ? '' : `, ${count} times since ${toIso(firstMs)}`;
    return {
      ...status,
      details: `${details}: Cluster ${quoteName(cluster)}: ${address}${often}: ${advice}`,
    };
  }
}
