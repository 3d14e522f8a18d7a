import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import { type ServerConfig, type StreamStatus, requestListener } from 'grpc-xds/internal';
import { RELAY_FEATURE } from '../../../../../src/util/relay-names';
import { assertNever, errorMessage } from '../../../../../src/util/errors';
import { channelTarget, serverProtocol, socketPathOf } from '../../../../../src/util/server-uri';
import { readSocket } from '../../../../../src/util/unix-socket';
import { StatusCode, statusName } from '../../../../../src/util/status-code';
import {
  checkTokens,
  checkCertificateFiles,
  checkExpiry,
  type CertificateFilesContent,
} from './credential-checks';
import type { DoctorContext } from './finding';
import { checkAccess, describeSocketProblem } from './socket-checks';
import {
  probeSocket,
  probeTls,
  resolveName,
  runStep,
  type SocketTarget,
  type TlsProbe,
  type Timed,
} from './probes';
import type { Handle } from '../../../../../src/util/handle';
import { ok, type Result } from '../../../../../src/util/result';

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
    // Before the connection: files are examined also if the server cannot be reached.
    const { type, config } = this.server.channelCreds;
    const files =
      type === 'tls' ? checkCertificateFiles(this.subject, config, clock, findings) : undefined;
    const isUsable = findings.count('fail') === before;
    const target = await this.reach();
    if (target !== undefined && isUsable) await this.handshake(target, files);
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
        return this.isOfRelay && !this.checkOwner(address.path)
          ? undefined
          : this.connect({ path: address.path }, 'socket');
      case 'tcp':
        return (await this.resolve(address.host))
          ? this.connect({ host: address.host, port: address.port }, 'tcp')
          : undefined;
      default:
        return assertNever(address);
    }
  }

  /** Whether the configuration says that the server is a relay of this host. */
  private get isOfRelay(): boolean {
    return this.server.features.has(RELAY_FEATURE);
  }

  private checkOwner(path: string): boolean {
    try {
      readSocket(path, 'relay');
      return true;
    } catch (error) {
      const remedy = 'the relay is not used until then, and the servers after it are';
      this.context.findings.fail('relay-socket', this.subject, errorMessage(error), remedy);
      return false;
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
      const { text, remedy } =
        'path' in target
          ? describeSocketProblem(target.path, connected.error)
          : {
              text: `no connection: ${connected.error}`,
              remedy: 'check that the server runs, its port, and network policies on the way',
            };
      findings.fail(word, this.subject, text, remedy);
      return undefined;
    }
    this.passed.push(`${word} ${inMs(connected.value.ms)}`);
    return target;
  }

  private async handshake(target: SocketTarget, files: TlsServer['files']): Promise<void> {
    const isTls = ['tls', 'google_default'].includes(this.server.channelCreds.type);
    if (!isTls) return;
    const words = await checkTls({ server: this.server, target, files }, this.context);
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
    const path = target !== undefined && 'path' in target ? target.path : undefined;
    if (path !== undefined && this.isOfRelay) checkAccess(this.subject, path, findings);
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

/** A server that is reached over TLS. */
interface TlsServer {
  readonly server: ServerConfig;
  readonly target: SocketTarget;
  /** Those of its channel credentials; `undefined` if it has none. */
  readonly files: CertificateFilesContent | undefined;
}

/** Makes a TLS handshake with a server, and checks its certificate. @returns a few words if there was one. */
async function checkTls(
  { server, target, files }: TlsServer,
  context: DoctorContext,
): Promise<string | undefined> {
  const { clock, stepMs, findings } = context;
  const subject = server.serverUri;
  const address = addressOf(server.serverUri);
  const serverName = address.kind === 'tcp' ? address.host : 'localhost';
  const { isByBundle = false, ...content } = files ?? {};
  const probed = await probeTls(target, { serverName, ...content }, clock, stepMs);
  if (!probed.ok) {
    const isPlain = /wrong version number|packet length too long/i.test(probed.error);
    const text = isPlain
      ? 'the server does not speak TLS, and the bootstrap has TLS channel credentials'
      : `TLS handshake: ${probed.error}`;
    const remedy = isPlain
      ? 'use channel_creds of type insecure, or the TLS port of the server'
      : 'check what TLS the server requires, such as a client certificate';
    findings.fail(isPlain ? 'plaintext-expected' : 'tls', subject, text, remedy);
    return undefined;
  }
  const { value, ms } = probed.value;
  judge(subject, { probe: value, serverName, isByBundle }, context);
  const left = checkExpiry(
    subject,
    { what: 'the certificate of the server', ...value, nowMs: clock.now() },
    findings,
  );
  return `${value.protocol} ${Math.round(ms)} ms (${left})`;
}

/** @param judged.isByBundle Whether the certificate is verified by a trust bundle map instead (gRFC A87). */
function judge(
  subject: string,
  judged: { readonly probe: TlsProbe; readonly serverName: string; readonly isByBundle: boolean },
  { findings }: DoctorContext,
): void {
  const { probe, serverName, isByBundle } = judged;
  const { problem, isHttp2, names } = probe;
  if (!isHttp2) {
    const text = 'the server does not choose h2 by ALPN: gRPC needs HTTP/2';
    findings.fail('tls-alpn', subject, text, 'enable HTTP/2 (ALPN h2) at the server or its proxy');
  }
  // Expiry is reported with its date.
  if (problem === undefined || isByBundle || problem === 'CERT_HAS_EXPIRED') return;
  if (problem === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const text = `the certificate is not for ${serverName}; it is for ${names || 'no name'}`;
    const remedy = 'use a name of the certificate in server_uri, or add the name to it';
    findings.fail('tls-name', subject, text, remedy);
    return;
  }
  const text = `the certificate is not trusted: ${problem}`;
  const remedy = 'set ca_certificate_file to the authority that has signed it';
  findings.fail('tls-chain', subject, text, remedy);
}

/** How a server reacted to the first request. */
export type AdsReaction =
  { readonly kind: 'answered' } | { readonly kind: 'closed'; readonly status: StreamStatus };

/** Milliseconds that a message is read for, until it counts as a response that cannot be read. */
const READ_MS = 500;

/**
 * Requests a Listener from one server and waits for the first message, whatever it contains.
 *
 * @param adsMs Milliseconds until the server counts as silent.
 * @returns the reaction; an error if there was none.
 */
function probeAds(
  server: ServerConfig,
  listenerName: string,
  context: DoctorContext,
): Promise<Result<Timed<AdsReaction>, string>> {
  const { clock, adsMs } = context;
  return runStep<AdsReaction>(clock, adsMs, (done) => {
    let timer: Handle | undefined;
    const onAnswered = () => done(ok({ kind: 'answered' }));
    const request = requestListener(context, server, listenerName, {
      onMessage: () => (timer ??= clock.setTimer(onAnswered, READ_MS, true)),
      onClosed: (status) => done(ok({ kind: 'closed', status })),
      onAnswered,
    });
    return () => {
      timer?.release();
      request.release();
    };
  });
}

/** Where a management server is. */
export type ServerAddress =
  /** `host` is a name or an IP address. */
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'file'; readonly path: string }
  /** Of a scheme whose addresses only grpc-js resolves. */
  | { readonly kind: 'other' };

/** The port of a name without one, as in grpc-js and URLs. */
const DEFAULT_PORT = 443;

/** Finds the address in a valid server URI. */
export function addressOf(serverUri: string): ServerAddress {
  const protocol = serverProtocol(serverUri);
  if (protocol === 'file') return { kind: 'file', path: new URL(serverUri).pathname };
  if (protocol === 'http' || protocol === 'https') {
    const { hostname, port } = new URL(serverUri);
    const usual = protocol === 'http' ? 80 : DEFAULT_PORT;
    return tcp(hostname.replace(/^\[(.*)\]$/, '$1'), port === '' ? usual : Number(port));
  }
  const target = channelTarget(serverUri);
  const unix = socketPathOf(target);
  if (unix !== undefined) return { kind: 'unix', path: unix };
  const scheme = /^([a-z][a-z0-9+.-]*):(?:\/\/[^/]*\/|(?!\d+$))(.*)$/i.exec(target);
  if (scheme === null) return parseHostPort(target);
  const [, name = '', rest = ''] = scheme;
  return ['dns', 'ipv4', 'ipv6'].includes(name.toLowerCase())
    ? parseHostPort(rest.split(',', 1).join())
    : { kind: 'other' };
}

function parseHostPort(text: string): ServerAddress {
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(text);
  if (bracketed !== null) return tcp(bracketed[1] ?? '', Number(bracketed[2] ?? DEFAULT_PORT));
  if (isIP(text) === 6) return tcp(text, DEFAULT_PORT);
  const [host = '', port] = text.split(':', 2);
  return tcp(host, port === undefined ? DEFAULT_PORT : Number(port));
}

function tcp(host: string, port: number): ServerAddress {
  return { kind: 'tcp', host, port };
}
