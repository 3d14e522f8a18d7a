// What tests of TLS between clients and backends have in common.

import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import type { BootstrapConfig } from '../../src';
import { bootstrapFor } from './mesh';
import type { TestCertificate } from './test-certificates';
import type { Json } from './xds-json';

const TYPE = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3';

/** A folder of its own, whose files are replaced at once. */
export class Folder {
  private readonly folder = mkdtempSync(join(tmpdir(), 'grpc-xds-'));

  path(name: string): string {
    return join(this.folder, name);
  }

  /** @returns the path. */
  write(name: string, content: string): string {
    const path = this.path(name);
    writeFileSync(`${path}.new`, content, { mode: 0o600 });
    renameSync(`${path}.new`, path);
    return path;
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Returns a folder for the tests of a file or a block. */
export function useFolder(): Folder {
  const folder = new Folder();
  afterAll(() => folder.close());
  return folder;
}

/** Credentials of a server of grpc-js. @param roots Those that clients are verified by. Default: they are not. */
export function serverTls(
  { certificateChain, privateKey }: TestCertificate,
  roots?: string,
): ServerCredentials {
  const pair = { cert_chain: Buffer.from(certificateChain), private_key: Buffer.from(privateKey) };
  const isVerified = roots !== undefined;
  return ServerCredentials.createSsl(isVerified ? Buffer.from(roots) : null, [pair], isVerified);
}

/** The transport socket of a cluster. @param common Its `common_tls_context`. */
export function upstreamTls(common: Json, extra: Json = {}): Json {
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': `${TYPE}.UpstreamTlsContext`,
      common_tls_context: common,
      ...extra,
    },
  };
}

/** The transport socket of a cluster whose servers are verified by an instance, and by names unless there are none. */
export function verifiedTls(instance_name: string, uris: readonly string[] = [], extra?: Json) {
  const validation_context = {
    ca_certificate_provider_instance: { instance_name },
    match_typed_subject_alt_names: uris.map((exact) => ({ san_type: 'URI', matcher: { exact } })),
  };
  return upstreamTls({ validation_context }, extra);
}

/** A bootstrap with certificates in files: by the name of each instance, its config. */
export function bootstrapWithFiles(
  serverUri: string,
  instances: Readonly<Record<string, Json>>,
  features?: readonly string[],
): BootstrapConfig {
  const certificate_providers = Object.fromEntries(
    Object.entries(instances).map(([name, config]) => [
      name,
      { plugin_name: 'file_watcher', config },
    ]),
  );
  return { ...bootstrapFor(serverUri, features), certificate_providers };
}
