import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { processVariables } from '../../../../src/util/feature-flags';
import { readRegularText } from '../../../../src/util/read-regular-file';
import { err, ok, type Result } from '../../../../src/util/result';
import { listAt, valueAt } from '../../../../src/util/value-at';
import { YamlDocument } from 'grpc-xds/internal';

/** Bytes of a kubeconfig. */
export const MAX_KUBECONFIG_BYTES = 16 * 1024 * 1024;
/** Bytes of a token for the API server. */
const MAX_TOKEN_BYTES = 64 * 1024;

/**
 * Returns the absolute path of the `tokenFile` of a user, which the official client does not read
 * (https://github.com/kubernetes-client/javascript/blob/1.4.0/src/config_types.ts); `undefined` if the user has none.
 *
 * @param kubeconfig The path of a kubeconfig. Default: those that kubectl finds.
 * @throws if a kubeconfig is not YAML.
 */
export function findTokenFile(kubeconfig: string | undefined, user: string): string | undefined {
  const paths = kubeconfig === undefined ? defaultPaths() : [kubeconfig];
  for (const path of paths) {
    const text = readRegularText(path, { maxBytes: MAX_KUBECONFIG_BYTES });
    // Most have none, and are not parsed twice.
    if (!text.ok || !text.value.includes('tokenFile')) continue;
    const { value, mistakes } = YamlDocument.parse(text.value);
    const [mistake] = mistakes;
    if (mistake !== undefined) {
      throw new Error(`${path}:${mistake.position.line}: ${mistake.reason}`);
    }
    const found = listAt(value, 'users').find((each) => valueAt(each, 'name') === user);
    const tokenFile = valueAt(found, 'user', 'tokenFile');
    if (typeof tokenFile === 'string' && tokenFile !== '') {
      return resolve(dirname(path), tokenFile);
    }
  }
  return undefined;
}

/** Reads a token as it is now, since its file is replaced when it is renewed. @returns an error text that names the file. */
export function readTokenFile(path: string): Result<string, string> {
  const text = readRegularText(path, { maxBytes: MAX_TOKEN_BYTES });
  const name = `the tokenFile ${path} of the kubeconfig`;
  if (!text.ok) return err(`${name} cannot be read: ${text.error}`);
  const token = text.value.trim();
  return token === '' ? err(`${name} is empty`) : ok(token);
}

function defaultPaths(): readonly string[] {
  const { KUBECONFIG = '' } = processVariables();
  const paths = KUBECONFIG.split(delimiter).filter((path) => path !== '');
  return paths.length > 0 ? paths : [join(homedir(), '.kube', 'config')];
}
