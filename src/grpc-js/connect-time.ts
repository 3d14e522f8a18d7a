import type { Socket } from 'node:net';
import { inNextTurn } from '../util/clock';
import { assertNever } from '../util/errors';
import { afterRunning, type RunningClock } from '../util/running-time';
import { subchannelAddressToString, type SecureConnector, type SubchannelAddress } from '.';
import { hasMethods } from './host-internals';

/** The longest that an attempt to connect to an endpoint takes: MIN_CONNECT_TIMEOUT of gRPC's connection backoff. */
export const CONNECT_TIMEOUT_MS = 20_000;

/** The `code` of the error with which the socket of an attempt that has taken too long is destroyed. */
export const LATE_CODE = 'TIMEOUT';

/** What an attempt waits for. */
type Step = 'credentials' | 'tcp' | 'security' | 'settings';

/** Returns why an attempt has ended that has taken too long. Texts are compared without the address. */
function describeLate(step: Step, address: string): string {
  switch (step) {
    case 'credentials':
      return 'the credentials of the channel were not ready within 20 s';
    case 'tcp':
      return `connect ETIMEDOUT ${address} (no answer within 20 s)`;
    case 'security':
      return `TLS handshake failed: ${address} timed out after 20 s`;
    case 'settings':
      return `the server ${address} sent no HTTP/2 SETTINGS within 20 s`;
    default:
      return assertNever(step);
  }
}

/** Makes the connections of one subchannel, as grpc-js calls it. */
interface HostConnector {
  connect(address: SubchannelAddress, security: SecureConnector, options: object): Promise<unknown>;
}

const limited = new WeakSet<object>();

/**
 * Limits the time of each attempt of a subchannel to connect, from its credentials to the SETTINGS of the server; grpc-js waits
 * for ever (https://github.com/grpc/grpc-node/issues/2785). It keeps what connects in a private member
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/subchannel.ts, `connector`). Where that is
 * missing, there is no limit.
 *
 * @param subchannel The real subchannel. One that is limited already stays so.
 */
export function limitConnectTime(subchannel: object, clock: RunningClock): void {
  const connector: unknown = Reflect.get(subchannel, 'connector');
  if (!hasMethods<HostConnector>(connector, 'connect') || limited.has(connector)) return;
  limited.add(connector);
  const connect = connector.connect.bind(connector);
  connector.connect = (address, security, options) => {
    const attempt = new ConnectAttempt(subchannelAddressToString(address), security, clock);
    return attempt.run((limits) => connect({ ...address, ...limits }, attempt, options));
  };
}

/** One attempt, which is the connector that the host secures its connection by. */
class ConnectAttempt implements SecureConnector {
  private step: Step = 'credentials';
  private socket: Socket | undefined;
  private hasEnded = false;
  private readonly tcp = new AbortController();

  constructor(
    private readonly address: string,
    private readonly security: SecureConnector,
    private readonly clock: RunningClock,
  ) {}

  /** @param connect Connects, with a signal that destroys a socket that is not connected yet. */
  run(connect: (limits: { readonly signal: AbortSignal }) => Promise<unknown>): Promise<unknown> {
    const { signal } = this.tcp;
    return new Promise((resolve, reject) => {
      const timer = afterRunning(this.clock, () => this.end(reject), CONNECT_TIMEOUT_MS);
      connect({ signal })
        .finally(() => timer.release())
        .then(resolve, reject);
    });
  }

  async waitForReady(): Promise<void> {
    await this.security.waitForReady();
    this.step = 'tcp';
  }

  async connect(socket: Socket): ReturnType<SecureConnector['connect']> {
    this.step = 'security';
    this.socket = socket;
    const secured = await this.security.connect(socket);
    this.step = 'settings';
    this.socket = secured.socket;
    if (!this.hasEnded) return secured;
    secured.socket.destroy();
    throw new Error('the attempt to connect had ended');
  }

  getCallCredentials(): ReturnType<SecureConnector['getCallCredentials']> {
    return this.security.getCallCredentials();
  }

  destroy(): void {
    this.security.destroy();
  }

  private end(reject: (error: Error) => void): void {
    const late = Object.assign(new Error(describeLate(this.step, this.address)), {
      code: LATE_CODE,
    });
    this.hasEnded = true;
    // A signal destroys a socket with an error of its own, so it is only for one that is not connected yet.
    if (this.step === 'tcp') reject(late);
    if (this.socket === undefined) this.tcp.abort();
    else this.socket.destroy(late);
    // What secures the connection may say more about what it has waited for.
    inNextTurn(this.clock, () => reject(late));
  }
}
