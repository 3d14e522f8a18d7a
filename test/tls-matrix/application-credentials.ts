import {
  CallCredentials,
  ChannelCredentials,
  credentials,
  Metadata,
  type ChannelOptions,
} from '@grpc/grpc-js';
import { dirname, join, sep } from 'node:path';
import * as own from '../../src';
import type { CertificateFolder } from './certificates';
import { TOKEN } from './echo-server';
import type { CredentialsKind, TokenPlace } from './tls-case';

type Package = typeof own;
type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;
type Target = Parameters<ChannelCredentials['_createSecureConnector']>[0];

/** Credentials of the application that hand on to others, as those of a library around this package could. */
class WrappedCredentials extends ChannelCredentials {
  constructor(private readonly inner: ChannelCredentials) {
    super();
  }

  _isSecure(): boolean {
    return this.inner._isSecure();
  }

  _equals(other: ChannelCredentials): boolean {
    return other instanceof WrappedCredentials && this.inner._equals(other.inner);
  }

  _createSecureConnector(
    target: Target,
    options: ChannelOptions,
    call?: CallCredentials,
  ): Connector {
    return this.inner._createSecureConnector(target, options, call);
  }
}

class Subclass extends own.XdsChannelCredentials {}

class EqualSubclass extends own.XdsChannelCredentials {
  override _equals(other: ChannelCredentials): boolean {
    return other instanceof EqualSubclass;
  }
}

/** Creates the channel credentials that a case has. */
export function createCredentials(
  certificates: CertificateFolder,
  kind: CredentialsKind,
  token: TokenPlace | undefined,
): ChannelCredentials {
  const [base = '', ...layers] = kind.split('+').reverse();
  let made = createBase(certificates, base);
  if (token === 'fallback') made = credentials.combineChannelCredentials(made, tokenCredentials());
  for (const layer of layers) made = wrap(layer, made);
  return token === 'channel'
    ? credentials.combineChannelCredentials(made, tokenCredentials())
    : made;
}

/** Call credentials that send the token. */
export function tokenCredentials(): CallCredentials {
  return CallCredentials.createFromMetadataGenerator((_options, callback) => {
    const metadata = new Metadata();
    metadata.set('authorization', TOKEN);
    callback(null, metadata);
  });
}

function createBase(certificates: CertificateFolder, name: string): ChannelCredentials {
  if (name === 'insecure') return credentials.createInsecure();
  const root = name === 'tls' ? 'root' : 'other-root';
  return credentials.createSsl(Buffer.from(certificates.leaf(root)));
}

function wrap(layer: string, inner: ChannelCredentials): ChannelCredentials {
  switch (layer) {
    case 'xds':
      return own.createXdsChannelCredentials(inner);
    case 'subclass':
      return new Subclass(inner);
    case 'equal subclass':
      return new EqualSubclass(inner);
    case 'wrapper':
      return new WrappedCredentials(own.createXdsChannelCredentials(inner));
    case 'second copy':
      return secondCopy().createXdsChannelCredentials(inner);
    default:
      throw new Error(`There are no credentials "${layer}".`);
  }
}

let copy: Package | undefined;

/** The package loaded once more, as from a second folder, with the same grpc-js. */
function secondCopy(): Package {
  if (copy !== undefined) return copy;
  const folder = join(dirname(require.resolve('../../src')), sep);
  const loaded = Object.entries(require.cache).filter(([path]) => path.startsWith(folder));
  for (const [path] of loaded) Reflect.deleteProperty(require.cache, path);
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- a module is loaded twice by `require` only
  const second: Package = require('../../src');
  copy = second;
  for (const path of Object.keys(require.cache)) {
    if (path.startsWith(folder)) Reflect.deleteProperty(require.cache, path);
  }
  for (const [path, module] of loaded) require.cache[path] = module;
  return second;
}
