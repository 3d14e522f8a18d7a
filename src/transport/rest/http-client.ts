import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type {
  CaCertificateListener,
  CertificateProvider,
  IdentityCertificateListener,
} from '../../grpc-js';
import { clientTlsOptions, type ClientTlsOptions } from '../../security/client/client-contexts';
import type { Clock } from '../../util/clock';
import { describeDuration } from '../../util/duration';
import { createHandle, type Handle } from '../../util/handle';
import type { Result } from '../../util/result';
import type { StreamStatus } from '../../xds-client/transport';
import {
  MAX_HEADER_BYTES,
  readAnswer,
  unavailable,
  type HttpCallback,
  type HttpResponse,
} from './http-answer';

/** A request. */
export interface HttpPost {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Constructor options of a client. */
export interface HttpClientOptions {
  readonly clock: Clock;
  /** Milliseconds in which the whole response must have been received. */
  readonly timeoutMs: number;
  /** The trusted certificates and the client's own; `undefined` without TLS. */
  readonly certificates: CertificateProvider | undefined;
  /** See `Limits`. Applies to the body of a response. */
  readonly maxMessageBytes: number;
}

interface TlsOptions extends Partial<ClientTlsOptions> {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** Idle connections are closed after this: one with certificates that were replaced is never used again. */
const IDLE_TIMEOUT_MS = 120_000;

/** Sends POST requests to one server over persistent connections. */
export class HttpClient {
  private readonly agent: HttpAgent;
  private tls: TlsOptions = {};
  private readonly onCa: CaCertificateListener = (update) => {
    if (update !== null) this.tls = { ...this.tls, ca: update.caCertificate };
  };
  private readonly onIdentity: IdentityCertificateListener = (update) => {
    if (update !== null)
      this.tls = { ...this.tls, cert: update.certificate, key: update.privateKey };
  };

  constructor(private readonly options: HttpClientOptions) {
    const { certificates } = options;
    if (certificates !== undefined) this.tls = clientTlsOptions();
    const agentOptions = { keepAlive: true, timeout: IDLE_TIMEOUT_MS };
    this.agent =
      certificates === undefined ? new HttpAgent(agentOptions) : new HttpsAgent(agentOptions);
    certificates?.addCaCertificateListener(this.onCa);
    certificates?.addIdentityCertificateListener(this.onIdentity);
  }

  /** Sends a request. @returns a handle that cancels it without calling back. */
  post({ url, headers, body }: HttpPost, callback: HttpCallback): Handle {
    const send = this.options.certificates === undefined ? httpRequest : httpsRequest;
    const { agent, tls } = this;
    const maxHeaderSize = MAX_HEADER_BYTES;
    const request = send(url, { method: 'POST', headers, agent, maxHeaderSize, ...tls });
    // A poll must not keep the process alive. The agent calls ref() on a reused socket before this event
    // (https://github.com/nodejs/node/blob/v20.20.2/lib/_http_agent.js, `reuseSocket`).
    request.on('socket', (socket) => socket.unref());
    let isDone = false;
    const finish = (answer: Result<HttpResponse, StreamStatus> | undefined): void => {
      if (isDone) return;
      isDone = true;
      timer.release();
      if (answer?.ok !== true) request.destroy();
      if (answer !== undefined) callback(answer);
    };
    const { clock, timeoutMs, maxMessageBytes } = this.options;
    const timer = clock.setTimer(
      () => finish(unavailable(`no answer within ${describeDuration(timeoutMs)}`)),
      timeoutMs,
    );
    readAnswer(request, maxMessageBytes, finish);
    request.end(body);
    return createHandle(() => finish(undefined));
  }

  /** Closes all connections. */
  close(): void {
    this.options.certificates?.removeCaCertificateListener(this.onCa);
    this.options.certificates?.removeIdentityCertificateListener(this.onIdentity);
    this.agent.destroy();
  }
}
