import { existsSync } from 'node:fs';
import type { ServerConfig } from '../../../bootstrap/bootstrap';
import { serverProtocol } from '../../../bootstrap/server-uri';
import { assertNever } from '../../../util/assert-never';
import { StatusCode, statusName } from '../../../util/status-code';
import { probeAds, type AdsReaction } from './ads-probe';
import { checkTokens } from './token-checks';
import { checkTls } from './tls-checks';
import type { DoctorContext } from './doctor-context';
import { probeSocket, probeTls, resolveName, type SocketTarget } from './probe-net';
import { addressOf } from './server-address';

/** The Listener that is requested of a server. */
export interface RequestedListener {
  readonly name: string;
  /** Whether it is that of a target. Servers may be silent about others. */
  readonly isOfTarget: boolean;
}

/** Checks the way to one management server, up to its first response. @returns whether it has responded. */
export async function checkServer(
  server: ServerConfig,
  listener: RequestedListener,
  context: DoctorContext,
): Promise<boolean> {
  const check = new ServerCheck(server, context);
  return check.run(listener);
}

const count = (addresses: readonly string[], family: string) => `${addresses.length} ${family}`;

class ServerCheck {
  private readonly subject: string;
  /** A few words about each step that has passed. */
  private readonly passed: string[] = [];

  constructor(
    private readonly server: ServerConfig,
    private readonly context: DoctorContext,
  ) {
    this.subject = server.serverUri;
  }

  async run(listener: RequestedListener): Promise<boolean> {
    const { findings, clock } = this.context;
    const before = findings.count('fail');
    const tokens = checkTokens(this.subject, this.server, clock, findings);
    const target = await this.reach();
    if (target !== undefined) await this.handshake(target);
    for (const token of tokens) this.passed.push(token);
    if (findings.count('fail') > before) {
      findings.skip('ads', this.subject, 'no request was sent, because of the errors above');
      return false;
    }
    return this.request(listener, target);
  }

  /** Resolves the address and connects to it. @returns the address; `undefined` if there is none to connect to. */
  private async reach(): Promise<SocketTarget | undefined> {
    const address = addressOf(this.server.serverUri);
    switch (address.kind) {
      case 'other':
        return undefined;
      case 'file':
        this.checkFile(address.path);
        return undefined;
      case 'unix':
        return this.connect({ path: address.path }, 'socket');
      case 'tcp':
        return (await this.resolve(address.host))
          ? this.connect({ host: address.host, port: address.port }, 'tcp')
          : undefined;
      default:
        return assertNever(address);
    }
  }

  private checkFile(path: string): void {
    if (existsSync(path)) return;
    const remedy = 'check the path; a file: URI has an absolute one';
    this.context.findings.fail('file', this.subject, 'the file does not exist', remedy);
  }

  private async resolve(host: string): Promise<boolean> {
    const { clock, stepMs, findings } = this.context;
    const resolved = await resolveName(host, clock, stepMs);
    if (!resolved.ok) {
      const remedy = 'check the name, the search domains and the resolver of this machine';
      findings.fail('dns', this.subject, `${host} cannot be resolved: ${resolved.error}`, remedy);
      return false;
    }
    const { v4, v6 } = resolved.value.value;
    const families = `${count(v4, 'v4')}, ${count(v6, 'v6')}`;
    this.passed.push(`dns ${inMs(resolved.value.ms)} (${families})`);
    return true;
  }

  private async connect(target: SocketTarget, word: string): Promise<SocketTarget | undefined> {
    const { clock, stepMs, findings } = this.context;
    const connected = await probeSocket(target, clock, stepMs);
    if (!connected.ok) {
      const remedy =
        word === 'socket'
          ? 'start the agent that serves the socket, and mount it where this process sees it'
          : 'check that the server runs, its port, and network policies on the way';
      findings.fail(word, this.subject, `no connection: ${connected.error}`, remedy);
      return undefined;
    }
    this.passed.push(`${word} ${inMs(connected.value.ms)}`);
    return target;
  }

  private async handshake(target: SocketTarget): Promise<void> {
    const isTls = ['tls', 'google_default'].includes(this.server.channelCreds.type);
    if (!isTls) return;
    const words = await checkTls({ server: this.server, target }, this.context);
    if (words !== undefined) this.passed.push(words);
  }

  private async request(
    listener: RequestedListener,
    target: SocketTarget | undefined,
  ): Promise<boolean> {
    const { findings } = this.context;
    const probed = await probeAds(this.server, listener.name, this.context);
    if (!probed.ok) {
      this.reportSilence(listener, probed.error);
      return false;
    }
    const { value: reaction, ms } = probed.value;
    if (reaction.kind === 'closed') {
      await this.reportClosed(reaction, target);
      return false;
    }
    this.passed.push(`ads ${inMs(ms)}`);
    findings.ok('server', this.subject, this.passed.join(', '));
    return true;
  }

  private reportSilence({ name, isOfTarget }: RequestedListener, error: string): void {
    const { findings, bootstrap } = this.context;
    const id = JSON.stringify(bootstrap.node.id);
    const text = `connected, but ${error} to the request of Listener ${JSON.stringify(name)}`;
    if (isOfTarget) {
      const remedy = `check that the control plane knows node id ${id}: many are silent to others`;
      findings.fail('ads-silent', this.subject, text, remedy);
    } else {
      const remedy = 'give --target: many control planes are silent about names they do not know';
      findings.warn('ads-silent', this.subject, text, remedy);
    }
  }

  private async reportClosed(
    { status }: Extract<AdsReaction, { kind: 'closed' }>,
    target: SocketTarget | undefined,
  ): Promise<void> {
    const { findings } = this.context;
    if (target !== undefined && (await this.speaksTls(target))) {
      const text = 'the server speaks TLS, and the bootstrap has insecure channel credentials';
      findings.fail('tls-expected', this.subject, text, 'use channel_creds of type tls');
      return;
    }
    const { check, remedy } = adviceFor(status.code);
    const text = `the stream ended with ${statusName(status.code)}: ${status.details}`;
    findings.fail(check, this.subject, text, remedy);
  }

  /** Whether a server that is reached without TLS answers a TLS handshake. */
  private async speaksTls(target: SocketTarget): Promise<boolean> {
    const { server, context } = this;
    const isPlain =
      server.channelCreds.type === 'insecure' && serverProtocol(server.serverUri) !== 'file';
    if (!isPlain) return false;
    const options = { serverName: '' };
    return (await probeTls(target, options, context.clock, context.stepMs)).ok;
  }
}

function adviceFor(code: number): { readonly check: string; readonly remedy: string } {
  switch (code) {
    case StatusCode.UNAUTHENTICATED:
    case StatusCode.PERMISSION_DENIED:
      return {
        check: 'ads-denied',
        remedy: 'check the token or client certificate, and what the control plane allows the node',
      };
    case StatusCode.UNIMPLEMENTED:
      return {
        check: 'ads-unimplemented',
        remedy:
          'check the port: a gRPC server without ADS, or of another protocol variant, is there',
      };
    default:
      return { check: 'ads', remedy: 'check the log of the control plane for this node' };
  }
}

function inMs(ms: number): string {
  return `${Math.round(ms)} ms`;
}
