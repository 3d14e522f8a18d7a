import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BootstrapConfig } from '../../src';
import { ControlPlane, Snapshot } from '../../src/control-plane';
import { resourcesOf } from './case-resources';
import { CERTIFICATES } from './certificate-table';
import { CertificateFolder, type CertificateDescription } from './certificates';
import { ProviderFiles } from './provider-files';
import { PROVIDERS } from './provider-table';
import { certificateName, nameOfNames, RecordingBackend } from './recording-backend';
import type { ClusterSettings, OwnFiles, ServerSettings, TlsCase } from './tls-case';

/** An element of `certificate_providers`. */
export type Provider = ReturnType<ProviderFiles['bootstrap']>;

/** A control plane, backends, and the certificates of cases. */
export class MatrixWorld {
  readonly certificates: CertificateFolder;
  private readonly controlPlane = new ControlPlane();
  private readonly providers: Record<string, Provider> = {};
  private address = '';

  /** @param folder Where files are written; the caller removes it. */
  constructor(
    private readonly folder: string,
    cases: readonly TlsCase[],
  ) {
    const table = { ...CERTIFICATES, ...leavesOf(cases) };
    this.certificates = new CertificateFolder(join(folder, 'certificates'), table);
  }

  /** Makes the certificates that cases need, writes the files of all provider instances, and starts the control plane. */
  async start(cases: readonly TlsCase[]): Promise<this> {
    const named = new Set(['root', 'other-root', 'good']);
    const files = Object.values(PROVIDERS);
    for (const one of cases) {
      for (const server of serversOf(one)) {
        for (const name of server.chain ?? [certificateName(server)]) named.add(name);
      }
      files.push(...filesOf(one));
    }
    for (const one of files) ProviderFiles.certificatesOf(one).forEach((name) => named.add(name));
    await this.certificates.make(named);
    for (const [name, one] of Object.entries(PROVIDERS)) {
      const folder = join(this.folder, 'providers', name.replaceAll(/[^\w-]/g, '_'));
      const written = new ProviderFiles(folder, this.certificates);
      written.write(one);
      this.providers[name] = written.bootstrap(one);
    }
    ({ address: this.address } = await this.controlPlane.start());
    return this;
  }

  /** Starts the server of a case. */
  backend(settings: ServerSettings = {}): Promise<RecordingBackend> {
    return new RecordingBackend(this.certificates, settings).start();
  }

  /** Creates the files of the instance `own` of a case. */
  ownFiles(caseId: string, isMounted: boolean): ProviderFiles {
    const folder = join(this.folder, 'own', caseId);
    mkdirSync(folder, { recursive: true });
    return new ProviderFiles(folder, this.certificates, isMounted);
  }

  /** The bootstrap of a client. @param own The element of `certificate_providers` for the instance `own`. */
  bootstrap(nodeId: string, own?: Provider): BootstrapConfig {
    const server = { server_uri: this.address, channel_creds: [{ type: 'insecure' }] };
    return {
      xds_servers: [{ ...server, server_features: ['xds_v3'] }],
      node: { id: nodeId },
      certificate_providers: { ...this.providers, ...(own && { own }) },
    };
  }

  /** Serves the resources of a case to a node. */
  serve(nodeId: string, caseId: string, settings: ClusterSettings, port: number): void {
    const snapshot = Snapshot.from(resourcesOf(caseId, settings, port));
    this.controlPlane.setSnapshot(snapshot, { nodeId });
  }

  stop(): void {
    void this.controlPlane.close({ force: true });
  }
}

function serversOf({ server = {}, steps = [] }: TlsCase): readonly ServerSettings[] {
  return [server, ...steps.flatMap((step) => (step.do === 'server' ? [step.server] : []))];
}

function filesOf({ files = {}, steps = [] }: TlsCase): readonly OwnFiles[] {
  return [
    files,
    ...steps.flatMap((step) => (step.do === 'files' || step.do === 'swap' ? [step.files] : [])),
  ];
}

/** The certificates of servers that cases describe by their names. */
function leavesOf(cases: readonly TlsCase[]): Readonly<Record<string, CertificateDescription>> {
  const lists = cases
    .flatMap(serversOf)
    .flatMap(({ names }) => (names === undefined ? [] : [names]));
  return Object.fromEntries(
    lists.map((names) => [nameOfNames(names), { by: 'root', commonName: 'server.test', names }]),
  );
}
