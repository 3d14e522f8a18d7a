import { serverListenerName, ServerWatch, type SocketListener } from 'grpc-xds/internal';
import type { IpPort } from '../../../../../src/util/host-port';
import type { Result } from '../../../../../src/util/result';
import { joinHostPort } from '../../../../../src/util/text';
import type { DoctorContext } from './finding';
import { probeListen, runStep } from './probes';
import { describeChains, describeUseless, type DescribedChain } from '../served-listener';
import { reportResources } from './target-checks';

/** Filter chains, and warnings about them, are listed up to this number, and counted beyond it. */
const MAX_LISTED = 10;
const CONTROL_PLANE = 'correct the Listener at the control plane';

/** The subject of the findings about a server. */
export function serverSubject({ address, port }: IpPort): string {
  return `server ${joinHostPort(address, port)}`;
}

/** Checks what a server that is bound to an address gets from the control plane, and whether it can listen there. */
export async function checkListeningServer(server: IpPort, context: DoctorContext): Promise<void> {
  const { bootstrap, findings } = context;
  if (bootstrap.serverListenerResourceNameTemplate === undefined) {
    const text =
      'the bootstrap has no server_listener_resource_name_template, which names the Listener of a server';
    const remedy = 'add it, such as "xds.istio.io/grpc/lds/inbound/%s" for Istio';
    findings.fail('listener-name', serverSubject(server), text, remedy);
    const skipped = 'its Listener, filter chains and certificates are not checked: it has no name';
    findings.skip('serving', serverSubject(server), skipped);
  } else await checkListener(server, context);
  await checkPort(server, context);
}

/** Watches the Listener until a server would use it, and reports each resource and filter chain. */
async function checkListener(server: IpPort, context: DoctorContext): Promise<void> {
  const { clock, adsMs, findings } = context;
  const subject = serverSubject(server);
  const name = serverListenerName(context.bootstrap, server.address, server.port);
  if (!name.ok) {
    findings.fail('listener-name', subject, name.error, 'correct the bootstrap');
    return;
  }
  let watch: ServerWatch | undefined;
  const settled = await runStep<Result<SocketListener, string>>(clock, adsMs, (done) => {
    watch = new ServerWatch(context, name.value, server, (value) => done({ ok: true, value }));
    return () => {};
  });
  if (watch === undefined) return;
  try {
    const before = findings.count('fail');
    reportResources([...watch.client.resources()], context, 'servers');
    const state = settled.ok ? settled.value.value : undefined;
    if (state?.ok === true) {
      reportListener(server, { watch, listener: state.value }, context);
    } else if (findings.count('fail') > before) {
      findings.skip('serving', subject, 'it would not serve, because of the failure above');
    } else {
      const text = `it would not serve: ${state?.error ?? (settled.ok ? '' : settled.error)}`;
      findings.fail('serving', subject, text, CONTROL_PLANE);
    }
  } finally {
    watch.close();
  }
}

function reportListener(
  server: IpPort,
  { watch, listener }: { readonly watch: ServerWatch; readonly listener: SocketListener },
  context: DoctorContext,
): void {
  const { findings } = context;
  const subject = `Listener ${JSON.stringify(listener.name)}`;
  const all = describeChains(listener);
  const text = `it would serve by ${subject}: ${all.length} filter ${all.length === 1 ? 'chain' : 'chains'}`;
  findings.ok('serving', serverSubject(server), text);
  for (const chain of all.slice(0, MAX_LISTED)) reportChain({ watch, chain }, context);
  const more = all.length - MAX_LISTED;
  if (more > 0) findings.note('filter-chain', subject, `${more} more filter chains`);
  const warnings = describeUseless(listener, (name) => watch.routesOf(name));
  for (const warning of warnings.slice(0, MAX_LISTED)) {
    findings.warn('useless-on-server', subject, warning, CONTROL_PLANE);
  }
  const left = warnings.length - MAX_LISTED;
  if (left > 0) findings.warn('useless-on-server', subject, `${left} more of these`, CONTROL_PLANE);
}

function reportChain(
  { watch, chain }: { readonly watch: ServerWatch; readonly chain: DescribedChain },
  { findings }: DoctorContext,
): void {
  const { subject, providers, routeConfigName, text } = chain;
  const failed = providers.find((name) => findings.hasFailed(`provider ${name}`));
  if (failed !== undefined) {
    const reason = `its TLS handshakes fail, because of the failure of provider ${failed} above`;
    findings.skip('filter-chain', subject, reason);
    return;
  }
  if (routeConfigName !== undefined && watch.routesOf(routeConfigName) === undefined) {
    const reason = `calls fail, because of the failure of RouteConfiguration ${JSON.stringify(routeConfigName)} above`;
    findings.skip('filter-chain', subject, reason);
    return;
  }
  findings.ok('filter-chain', subject, text);
}

/** Checks whether a server can listen on its address. */
export async function checkPort(
  server: IpPort,
  { clock, findings, stepMs }: Pick<DoctorContext, 'clock' | 'findings' | 'stepMs'>,
): Promise<void> {
  const subject = serverSubject(server);
  const listened = await probeListen(server, clock, stepMs);
  if (listened.ok) {
    findings.ok('port', subject, 'the port is free');
    return;
  }
  const { error } = listened;
  if (error.includes('EADDRINUSE')) {
    const remedy = 'if this is not the server itself, stop what listens there, or use another port';
    findings.warn('port', subject, `the port is in use: ${error}`, remedy);
    return;
  }
  findings.fail('port', subject, `it cannot listen there: ${error}`, remedyFor(error));
}

function remedyFor(error: string): string {
  if (error.includes('EADDRNOTAVAIL')) {
    return 'use an address of this machine, such as 0.0.0.0, or run the command where the server runs';
  }
  return error.includes('EACCES')
    ? 'use a port from 1024 on, or give the process the permission'
    : 'use another address';
}
