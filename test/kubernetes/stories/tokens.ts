import { createSign } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestCertificates } from '../../support/test-certificates';
import { eventually } from '../../support/eventually';
import { ensureNamespace, type ServiceAccount } from '../cluster/install';
import type { BadClientsOptions } from '../children/bad-clients';
import { attemptAds } from '../workload/ads-attempt';
import { CallingClient } from '../workload/calling-client';
import { forkChild } from '../workload/child';
import type { ControlPlaneProcess } from '../workload/control-plane';
import { inScene, type ActResult, type Scene } from './scene';
import type { Story, StoryContext } from './story';

const AUDIENCE = 'grpc-xds';
const OTHER_NAMESPACE = 'elsewhere';
/** A stream has ended by then. */
const ATTEMPT_MS = 3000;
const BAD_CLIENTS_PER_SECOND = 1000;

/** What the clients of a control plane with TLS and tokens have. */
interface Access {
  readonly ca: string;
  readonly caFile: string;
  readonly controlPlaneArgs: readonly string[];
}

/** Writes the certificate of the control plane. */
function createAccess({ cluster }: StoryContext): Access {
  const certificates = new TestCertificates();
  const authority = certificates.authority('control plane');
  const names = ['DNS:localhost', 'IP:127.0.0.1'];
  const { certificateChain, privateKey } = authority.sign('localhost', { names });
  certificates.close();
  const write = (name: string, content: string) => {
    const path = cluster.pathOf(name);
    writeFileSync(path, content);
    return path;
  };
  const certificateFile = write('control-plane.pem', certificateChain);
  const keyFile = write('control-plane.key', privateKey);
  const tls = ['--tls-cert', certificateFile, '--tls-key', keyFile];
  return {
    ca: authority.certificate,
    caFile: write('control-plane-ca.pem', authority.certificate),
    controlPlaneArgs: [...tls, '--audience', AUDIENCE, '--visible', 'own'],
  };
}

/** A token of an account, in the file that the kubelet would write. */
async function tokenFile(
  { cluster }: StoryContext,
  account: ServiceAccount,
  audience = AUDIENCE,
): Promise<string> {
  const path = cluster.pathOf(`token-${account.namespace}-${audience}`);
  writeFileSync(path, await cluster.api.token(account, audience));
  return path;
}

function bootstrapOf(address: string, { caFile }: Access, jwt_token_file: string): object {
  const server = {
    server_uri: address,
    channel_creds: [{ type: 'tls', config: { ca_certificate_file: caFile } }],
    call_creds: [{ type: 'jwt_token_file', config: { jwt_token_file } }],
    server_features: ['xds_v3', 'grpc_xds_delta'],
  };
  return { xds_servers: [server], node: { id: 'tokens' } };
}

/** A token as the API server signed it, but for the time when it expires. */
function expire(token: string, key: string): string {
  const [header = '', payload = ''] = token.split('.');
  const claims = JSON.parse(String(Buffer.from(payload, 'base64url'))) as { exp: number };
  const exp = Math.floor(Date.now() / 1000) - 60;
  const expired = { ...claims, iat: exp - 3600, nbf: exp - 3600, exp };
  const signed = `${header}.${Buffer.from(JSON.stringify(expired)).toString('base64url')}`;
  return `${signed}.${createSign('RSA-SHA256').update(signed).sign(key, 'base64url')}`;
}

/** The tokens that are refused, by what is wrong with them. */
async function refusedTokens(
  context: StoryContext,
  account: ServiceAccount,
): Promise<ReadonlyMap<string, string | undefined>> {
  const { cluster } = context;
  const good = await cluster.api.token(account, AUDIENCE);
  const forged = `${good.slice(0, -8)}AAAAAAAA`;
  return new Map([
    ['none', undefined],
    ['no JWT', 'not-a-token'],
    ['another audience', await cluster.api.token(account, 'other')],
    ['expired', expire(good, readFileSync(cluster.pathOf('service-accounts.key'), 'utf8'))],
    ['another signature', forged],
  ]);
}

/** Each refused token ends its stream with UNAUTHENTICATED. @returns what became of each. */
async function judgeRefusals(
  port: number,
  { ca }: Access,
  tokens: ReadonlyMap<string, string | undefined>,
): Promise<readonly string[]> {
  const facts: string[] = [];
  for (const [what, token] of tokens) {
    const attempt = { port, ca, ...(token !== undefined && { token }) };
    const outcome = await attemptAds(attempt, ATTEMPT_MS);
    if (!outcome.startsWith('16 ')) throw new Error(`token: ${what}: ${outcome}`);
    facts.push(`${what}: ${outcome}`);
  }
  return facts;
}

/** A client of another namespace is served, but sees nothing of the service. */
async function judgeOtherNamespace(
  context: StoryContext,
  { address }: ControlPlaneProcess,
  access: Access,
  target: string,
): Promise<string> {
  const path = await tokenFile(context, { name: 'caller', namespace: OTHER_NAMESPACE });
  const bootstrap = bootstrapOf(address, access, path);
  const client = CallingClient.start({ target, bootstrap, callsPerSecond: 10 });
  try {
    const { failures } = await eventually(
      () => client.report(),
      ({ failed }) => failed > 0,
      40_000,
    );
    const [failure = ''] = Object.keys(failures);
    if (!failure.includes('no such resource')) throw new Error(failure);
    return `from another namespace: ${failure}`;
  } finally {
    client.kill();
  }
}

/** Many clients with forged tokens, while pods are replaced. @returns what became of them. */
async function withstand({ deployment }: Scene, options: BadClientsOptions, ms: number) {
  const child = forkChild('bad-clients', [JSON.stringify(options)]);
  try {
    const endMs = performance.now() + ms;
    while (performance.now() < endMs) await deployment.roll({ maxSurge: 2, preStopMs: 500 });
    const answer = once(child, 'message');
    child.send('report');
    const [{ perSecond, outcomes }] = (await answer) as [
      { readonly perSecond: number; readonly outcomes: Readonly<Record<string, number>> },
    ];
    if ('3' in outcomes) throw new Error(JSON.stringify(outcomes));
    return `${perSecond.toFixed(0)} forged tokens a second: ${JSON.stringify(outcomes)}`;
  } finally {
    child.kill('SIGKILL');
  }
}

async function act(context: StoryContext, scene: Scene, access: Access): Promise<ActResult> {
  const { cluster, isShort } = context;
  const [controlPlane] = scene.controlPlanes;
  if (controlPlane === undefined) throw new Error('no control plane');
  const { port } = controlPlane;
  const tokens = await refusedTokens(context, { name: 'caller', namespace: 'default' });
  const facts = [...(await judgeRefusals(port, access, tokens))];
  const { target } = scene.deployment;
  facts.push(await judgeOtherNamespace(context, controlPlane, access, target));
  const good = await cluster.api.token({ name: 'caller', namespace: 'default' }, AUDIENCE);
  // The request, which has no type, is read after the token.
  const accepted = await attemptAds({ port, ca: access.ca, token: good }, ATTEMPT_MS);
  if (!accepted.startsWith('3 ')) throw new Error(`a good token: ${accepted}`);
  const bad = { port, ca: access.ca, audience: AUDIENCE, perSecond: BAD_CLIENTS_PER_SECOND };
  const firstWrite = scene.deployment.writes.length;
  facts.push(await withstand(scene, bad, isShort ? 2000 : 20_000));
  await sleep(100);
  return { facts, firstWrite };
}

/** Clients are known by service account tokens. */
export const tokens: Story = {
  name: 'tokens of clients',
  isInShortForm: false,
  async run(context) {
    const { api } = context.cluster;
    await ensureNamespace(api, OTHER_NAMESPACE);
    for (const namespace of ['default', OTHER_NAMESPACE]) {
      const metadata = { name: 'caller', namespace };
      await api.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata });
    }
    const access = createAccess(context);
    const path = await tokenFile(context, { name: 'caller', namespace: 'default' });
    const options = {
      name: 'tokens',
      pods: 4,
      callsPerSecond: 300,
      isTimeJudged: false,
      args: access.controlPlaneArgs,
      bootstrap: ([address = '']: readonly string[]) => bootstrapOf(address, access, path),
    };
    return inScene(context, options, (scene) => act(context, scene, access));
  },
};
