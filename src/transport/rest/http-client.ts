import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type {
  CaCertificateListener,
  CertificateProvider,
  IdentityCertificateListener,
} from '../../grpc-js';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/error-message';
import { createHandle, type Handle } from '../../util/handle';
import { err, ok, type Result } from '../../util/result';

/** What a server said. */
export interface HttpAnswer {
  readonly status: number;
  readonly etag: string | undefined;
  readonly body: string;
}

/** What is asked. */
export interface HttpPost {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a client needs. */
export interface HttpClientOptions {
  readonly clock: Clock;
  /** Milliseconds in which the whole answer must have come. */
  readonly timeoutMs: number;
  /** Whom to trust and who we are; `undefined` without TLS. */
  readonly certificates: CertificateProvider | undefined;
}

type TlsOptions = Pick<
  RequestOptions & { ca?: Buffer; cert?: Buffer; key?: Buffer },
  'ca' | 'cert' | 'key'
>;

const MAX_BODY_BYTES = 256 * 1024 * 1024;
/** A connection that was not used for so long is closed: one with certificates that were replaced is never used again. */
const IDLE_TIMEOUT_MS = 120_000;

/** Posts to one server over connections that are kept. */
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
    const agentOptions = { keepAlive: true, timeout: IDLE_TIMEOUT_MS };
    this.agent =
      certificates === undefined ? new HttpAgent(agentOptions) : new HttpsAgent(agentOptions);
    certificates?.addCaCertificateListener(this.onCa);
    certificates?.addIdentityCertificateListener(this.onIdentity);
  }

  /** Asks. @returns a handle that gives up without a call back. */
  post(
    { url, headers, body }: HttpPost,
    callback: (answer: Result<HttpAnswer, string>) => void,
  ): Handle {
    const send = this.options.certificates === undefined ? httpRequest : httpsRequest;
    const { agent, tls } = this;
    const request = send(url, { method: 'POST', headers, agent, ...tls });
    let isDone = false;
    const finish = (answer: Result<HttpAnswer, string> | undefined): void => {
      if (isDone) return;
      isDone = true;
      timer.release();
      if (answer?.ok !== true) request.destroy();
      if (answer !== undefined) callback(answer);
    };
    const { clock, timeoutMs } = this.options;
    const timer = clock.setTimer(
      () => finish(err(`no answer within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    request.on('error', (error) => finish(err(errorMessage(error))));
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_BODY_BYTES) finish(err(`an answer of more than ${MAX_BODY_BYTES} bytes`));
        else if (!isDone) chunks.push(chunk);
      });
      response.on('error', (error) => finish(err(errorMessage(error))));
      response.on('end', () => {
        const { statusCode = 0, headers: answerHeaders } = response;
        const text = Buffer.concat(chunks).toString('utf8');
        finish(ok({ status: statusCode, etag: answerHeaders.etag, body: text }));
      });
    });
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
