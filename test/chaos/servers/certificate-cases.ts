import { eventually } from '../../support/eventually';
import { mutualTlsSocket } from '../../support/mutual-tls';
import { inlineRoutes, serverChain, strictTls } from '../../support/xds-server-world';
import type { LoadReport } from './client-process';
import { MeshCertificates, type CertificateSource } from './mesh-certificates';
import { problemsOf, type CaseResult, type ServerCase } from './server-case';
import type { Config, ServedCluster, ServerStage } from './server-stage';

/** Identities that are made before the load begins, and used by turns. */
const IDENTITIES = 4;

/** The chain of a server with mutual TLS. */
export const strictChain = () => serverChain(inlineRoutes(), strictTls());

/** The cluster of such a server. */
export function strictCluster(name: string, port: number): ServedCluster {
  return { name, ports: [port], extra: { transport_socket: mutualTlsSocket('default') } };
}

function strictConfig(stage: ServerStage): Config {
  return {
    listeners: [stage.listener(strictChain())],
    clusters: [strictCluster('echo', stage.ports[0])],
  };
}

/** Whether each client has had one connection. */
const hasStayed = ({ connections }: LoadReport) => connections.every((count) => count === 1);

function rotation(source: Exclude<CertificateSource, 'SPIFFE bundles in files'>): ServerCase {
  return {
    name: `certificates of ${source} rotated every second`,
    seconds: 60,
    shortSeconds: 2,
    isVariation: source === 'SDS',
    async run(stage) {
      const mesh = await MeshCertificates.start(stage, source);
      const tls = mesh.client('client');
      const identities = Array.from({ length: IDENTITIES }, (_, i) => mesh.identity(`server-${i}`));
      stage.serve(strictConfig(stage));
      await stage.startServer();
      const plain = stage.plainClient(tls);
      await stage.startLoad({ clients: [plain, plain, plain, plain, stage.xdsClient] });
      const rotations = await stage.repeat(1000, async (round) => {
        const index = (round + 1) % IDENTITIES;
        const next = identities[index];
        if (next === undefined) return;
        mesh.useIdentity(next);
        await eventually(
          () => mesh.presented(tls),
          (name) => name === `server-${index}`,
        );
      });
      const load = await stage.stopLoad();
      const problems = problemsOf({ 'connections were replaced': hasStayed(load) });
      return { load, problems, notes: `${rotations} rotations` };
    },
  };
}

/** Replaces the authority of clients: both are trusted before the first client of the next one comes. */
async function replaceRoots(stage: ServerStage, source: CertificateSource): Promise<CaseResult> {
  const start = await MeshCertificates.start(stage, source);
  const roots = Array.from({ length: 3 }, (_, i) => start.authority(`root ${i}`));
  const clients = roots.map((root, i) => stage.plainClient(start.client(`client-${i}`, root)));
  const [first = start.authority('none')] = roots;
  start.useRoots([first]);
  stage.serve(strictConfig(stage));
  await stage.startServer();
  const loaded = [clients[0], clients[0], stage.xdsClient].flatMap((client) => client ?? []);
  await stage.startLoad({ clients: loaded });
  const isServed = (client: (typeof clients)[number] | undefined, isExpected: boolean) =>
    eventually(
      () => stage.call(client),
      (code) => (code === 'OK') === isExpected,
    );
  let current = 0;
  const replacements = await stage.repeat(500, async () => {
    const next = (current + 1) % roots.length;
    const both = [current, next].flatMap((index) => roots[index] ?? []);
    start.useRoots(both);
    await isServed(clients[next], true);
    await isServed(clients[current], true);
    start.useRoots(both.slice(1));
    await isServed(clients[current], false);
    await isServed(clients[next], true);
    current = next;
  });
  const load = await stage.stopLoad();
  const problems = problemsOf({ 'connections were replaced': hasStayed(load) });
  return { load, problems, notes: `${replacements} replacements` };
}

function rootReplacement(source: CertificateSource): ServerCase {
  return {
    name: `authorities of ${source} replaced in two steps`,
    seconds: 60,
    shortSeconds: 2,
    isVariation: source !== 'SPIFFE bundles in files',
    run: (stage) => replaceRoots(stage, source),
  };
}

/** Cases in which certificates and authorities are replaced. */
export const certificateCases: readonly ServerCase[] = [
  rotation('files'),
  rotation('SDS'),
  rootReplacement('files'),
  rootReplacement('SPIFFE bundles in files'),
  rootReplacement('SDS'),
];
