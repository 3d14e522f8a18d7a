import { createSecureContext } from 'node:tls';
import { errorMessage } from '../../../../src/util/errors';
import { readRegularFile } from '../../../../src/util/read-regular-file';
import { err, type Result } from '../../../../src/util/result';
import type { KubernetesFlags } from './kubernetes-flags';

/** Far more than a chain of certificates takes. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Returns why the files of `--tls-cert`, `--tls-key` and `--client-ca` cannot be used as they are; `undefined` if they can. */
export function findCertificateProblem(flags: KubernetesFlags): string | undefined {
  const cert = read('--tls-cert', flags.tlsCert);
  const key = read('--tls-key', flags.tlsKey);
  const ca = read('--client-ca', flags.clientCa);
  for (const each of [cert, key, ca]) if (each?.ok === false) return each.error;
  if (cert?.ok !== true || key?.ok !== true) return undefined;
  try {
    createSecureContext({
      cert: cert.value,
      key: key.value,
      ...(ca?.ok === true && { ca: ca.value }),
    });
    return undefined;
  } catch (error) {
    return `--tls-cert and --tls-key cannot be used together: ${errorMessage(error)}`;
  }
}

function read(flag: string, path: string | undefined): Result<Buffer, string> | undefined {
  if (path === undefined) return undefined;
  const content = readRegularFile(path, { maxBytes: MAX_BYTES });
  return content.ok ? content : err(`${flag}: ${content.error}`);
}
