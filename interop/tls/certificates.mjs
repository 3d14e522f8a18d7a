// The certificates of servers and clients, made by openssl.
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const QUIET = { stdio: 'pipe' };
const openssl = (...args) => execFileSync('openssl', args, QUIET);

const VALID = ['20200101000000Z', '21000101000000Z'];

/** Makes certificates in a folder, each with its files `NAME.pem` (the chain), `NAME.key` (PKCS #8) and `NAME.leaf.pem`. */
class CertificateMaker {
  #serial = 1000;

  constructor(folder) {
    this.folder = folder;
    writeFileSync(this.#path('index'), '');
  }

  #path(name) {
    return join(this.folder, name);
  }

  /**
   * Makes one certificate.
   * @param options.by The name of the certificate that signs it; its own if there is none.
   * @param options.names Subject alternative names, each `TYPE:value` as openssl writes them.
   * @returns the paths of the chain and of the key.
   */
  make(name, { by, cn = name, names = [], validity = VALID, isAuthority = false, usage } = {}) {
    const path = this.#path(name);
    // Of the authorities in trust bundle maps, grpc-java 1.75 takes RSA keys only.
    const algorithm = isAuthority
      ? ['RSA', '-pkeyopt', 'rsa_keygen_bits:2048']
      : ['EC', '-pkeyopt', 'ec_paramgen_curve:P-256'];
    openssl('genpkey', '-algorithm', ...algorithm, '-out', `${path}.key`);
    openssl('req', '-new', '-key', `${path}.key`, '-subj', `/CN=${cn}`, '-out', `${path}.csr`);
    writeFileSync(`${path}.cnf`, this.#config(path, { names, isAuthority, usage }));
    writeFileSync(`${path}.serial`, String(this.#serial++));
    const signer = this.#path(by ?? name);
    const issuer = by === undefined ? ['-selfsign'] : ['-cert', `${signer}.leaf.pem`];
    openssl(
      'ca',
      '-batch',
      '-notext',
      '-config',
      `${path}.cnf`,
      '-extensions',
      'extensions',
      '-in',
      `${path}.csr`,
      '-keyfile',
      `${signer}.key`,
      ...issuer,
      '-startdate',
      validity[0],
      '-enddate',
      validity[1],
      '-out',
      `${path}.leaf.pem`,
    );
    const leaf = readFileSync(`${path}.leaf.pem`, 'utf8');
    // A root is not part of the chains that it signs.
    const isRoot = by === undefined && isAuthority;
    const above = by === undefined ? '' : readFileSync(`${signer}.pem`, 'utf8');
    writeFileSync(`${path}.pem`, isRoot ? '' : leaf + above);
    return { certificate: `${path}.pem`, key: `${path}.key` };
  }

  #config(path, { names, isAuthority, usage }) {
    const alternatives = names.map((name, index) => {
      const colon = name.indexOf(':');
      return `${name.slice(0, colon)}.${index}=${name.slice(colon + 1)}`;
    });
    return [
      '[ca]',
      'default_ca=default',
      '[default]',
      `database=${this.#path('index')}`,
      `new_certs_dir=${this.folder}`,
      `serial=${path}.serial`,
      'default_md=sha256',
      'policy=policy',
      'unique_subject=no',
      '[policy]',
      'commonName=supplied',
      '[extensions]',
      `basicConstraints=critical,CA:${isAuthority}`,
      `keyUsage=${isAuthority ? 'keyCertSign,cRLSign' : 'digitalSignature'}`,
      'subjectKeyIdentifier=hash',
      ...(usage === undefined ? [] : [`extendedKeyUsage=${usage}`]),
      ...(names.length === 0 ? [] : ['subjectAltName=@names', '[names]', ...alternatives]),
      '',
    ].join('\n');
  }
}

const SPIFFE_ID = 'URI:spiffe://td.test/ns/a/sa/server';

/** The certificates of servers by name, each as the options of `make`. */
const SERVERS = {
  spiffe: { names: [SPIFFE_ID, 'DNS:server.test'] },
  'several-uris': { names: ['URI:spiffe://td.test/one', 'URI:spiffe://td.test/two'] },
  'odd-uri': { names: ['URI:https://a.test/x, URI:spiffe://td.test/forged'] },
  'path-less-id': { names: ['URI:spiffe://td.test'] },
  'upper-case-id': { names: ['URI:spiffe://TD.test/server'] },
  dns: { names: ['DNS:server.test'] },
  'dns-upper-case': { names: ['DNS:SERVER.test'] },
  'dns-final-dot': { names: ['DNS:server.test.'] },
  wildcard: { names: ['DNS:*.wild.test'] },
  'wildcard-partial': { names: ['DNS:s*.wild.test'] },
  'wildcard-inside': { names: ['DNS:a.*.test'] },
  'wildcard-alone': { names: ['DNS:*'] },
  'several-dns': { names: ['DNS:one.test', 'DNS:two.test', 'DNS:three.test'] },
  ip: { names: ['IP:127.0.0.1', 'IP:2001:db8::1'] },
  email: { names: ['email:ops@server.test'] },
  'other-name': { names: ['otherName:1.2.3.4;UTF8:server.test'] },
  nameless: { cn: 'server.test' },
  expired: { names: [SPIFFE_ID], validity: [VALID[0], '20210101000000Z'] },
  future: { names: [SPIFFE_ID], validity: ['20900101000000Z', VALID[1]] },
  'client-usage': { names: [SPIFFE_ID], usage: 'clientAuth' },
  'server-usage': { names: [SPIFFE_ID], usage: 'serverAuth' },
  'other-root': { by: 'other-root-ca', names: [SPIFFE_ID] },
  'other-domain': { by: 'other-root-ca', names: ['URI:spiffe://other.test/server'] },
  'unknown-domain': { names: ['URI:spiffe://unknown.test/server'] },
  'system-root': { by: 'system-root-ca', names: ['DNS:server.test'] },
  intermediate: { by: 'intermediate-ca', names: [SPIFFE_ID] },
};

const CLIENT = { by: 'root-ca', names: ['URI:spiffe://td.test/ns/a/sa/client'] };
const STRANGER = { by: 'other-root-ca', names: ['URI:spiffe://x.test/y'] };

/**
 * Makes in a folder what one server and its clients need.
 * @returns the paths of the authority of the mesh and of another one, and of the identities that they sign.
 */
export const makeMeshCertificates = (folder) => {
  mkdirSync(folder, { recursive: true });
  const maker = new CertificateMaker(folder);
  for (const name of ['root-ca', 'other-root-ca']) maker.make(name, { isAuthority: true });
  return {
    server: maker.make('server', { by: 'root-ca', ...SERVERS.spiffe }),
    nextServer: maker.make('next-server', { by: 'root-ca', ...SERVERS.spiffe }),
    otherServer: maker.make('other-server', SERVERS['other-root']),
    client: maker.make('client', CLIENT),
    stranger: maker.make('stranger', STRANGER),
    root: join(folder, 'root-ca.leaf.pem'),
    otherRoot: join(folder, 'other-root-ca.leaf.pem'),
  };
};

/** The trust bundle map (gRFC A87) with the root of each domain. */
const bundleMap = (maker, rootsByDomain) => {
  const keyOf = (root) => {
    const certificate = new X509Certificate(readFileSync(join(maker.folder, `${root}.leaf.pem`)));
    const key = certificate.publicKey.export({ format: 'jwk' });
    return { use: 'x509-svid', ...key, x5c: [certificate.raw.toString('base64')] };
  };
  const domains = Object.entries(rootsByDomain).map(([domain, root]) => [
    domain,
    { spiffe_sequence: 1, keys: [keyOf(root)] },
  ]);
  return JSON.stringify({ trust_domains: Object.fromEntries(domains) });
};

/**
 * Makes all certificates in a folder.
 * @param options.hasJava Whether to make a trust store for Java, which needs its tools.
 * @returns the identities of servers by name, and the paths of what clients use.
 */
export const makeCertificates = (folder, { hasJava = false } = {}) => {
  mkdirSync(folder, { recursive: true });
  const maker = new CertificateMaker(folder);
  for (const name of ['root-ca', 'other-root-ca', 'system-root-ca']) {
    maker.make(name, { isAuthority: true });
  }
  maker.make('intermediate-ca', { by: 'root-ca', isAuthority: true });
  const servers = Object.fromEntries(
    Object.entries(SERVERS).map(([name, options]) => [
      name,
      maker.make(`server-${name}`, { by: 'root-ca', cn: name, ...options }),
    ]),
  );
  servers['self-signed'] = maker.make('server-self-signed', { names: [SPIFFE_ID] });
  servers['missing-intermediate'] = {
    ...servers.intermediate,
    certificate: join(folder, 'server-intermediate.leaf.pem'),
  };
  const bundles = join(folder, 'bundles.json');
  writeFileSync(bundles, bundleMap(maker, { 'td.test': 'root-ca', 'other.test': 'other-root-ca' }));
  // Java reads the authorities of the system from a store of its own.
  const trustStore = join(folder, 'system-root.p12');
  const entry = ['-alias', 'root', '-file', join(folder, 'system-root-ca.leaf.pem')];
  const store = ['-keystore', trustStore, '-storetype', 'PKCS12', '-storepass', 'changeit'];
  if (hasJava) execFileSync('keytool', ['-importcert', '-noprompt', ...entry, ...store], QUIET);
  const noBundles = join(folder, 'no-bundles.json');
  writeFileSync(noBundles, bundleMap(maker, {}));
  const root = (name) => join(folder, `${name}.leaf.pem`);
  return {
    servers,
    client: maker.make('client', CLIENT),
    stranger: maker.make('stranger', STRANGER),
    root: root('root-ca'),
    otherRoot: root('other-root-ca'),
    systemRoot: root('system-root-ca'),
    trustStore,
    intermediate: root('intermediate-ca'),
    bundles,
    noBundles,
  };
};
