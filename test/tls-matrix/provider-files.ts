import {
  mkdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../support/xds-json';
import type { CertificateFolder } from './certificates';
import type { FileContent, OwnFiles } from './tls-case';

/** The members of the configuration by file. */
const MEMBERS: Readonly<Record<string, string>> = {
  'cert.pem': 'certificate_file',
  'key.pem': 'private_key_file',
  'ca.pem': 'ca_certificate_file',
  'bundles.json': 'spiffe_trust_bundle_map_file',
};

/** The files of one provider instance, in a directory of their own. */
export class ProviderFiles {
  private generation = 0;

  /** @param isMounted Whether the files are links into `..data`, which is a link itself, as Kubernetes mounts them. */
  constructor(
    private readonly folder: string,
    private readonly certificates: CertificateFolder,
    private readonly isMounted = false,
  ) {
    mkdirSync(folder, { recursive: true });
  }

  /** The names of the certificates that files are made of. */
  static certificatesOf(files: OwnFiles): readonly string[] {
    return Object.values(files).flatMap(namesOf);
  }

  /** The element of `certificate_providers`, for the files that are there now or later. */
  bootstrap(files: OwnFiles): { readonly plugin_name: string; readonly config: Json } {
    const members = Object.keys(files).map((name) => [MEMBERS[name], join(this.folder, name)]);
    return {
      plugin_name: 'file_watcher',
      config: { ...Object.fromEntries(members), refresh_interval: '1s' },
    };
  }

  /** Writes files, each by renaming, as agents do. */
  write(files: OwnFiles): void {
    if (this.isMounted) this.swap(files);
    else
      for (const [name, content] of Object.entries(files))
        this.writeOne(this.folder, name, content);
  }

  /** Replaces all files at once. */
  swap(files: OwnFiles): void {
    const data = `..${this.generation++}`;
    mkdirSync(join(this.folder, data));
    for (const [name, content] of Object.entries(files)) {
      this.writeOne(join(this.folder, data), name, content);
      if (this.generation === 1) symlinkSync(join('..data', name), join(this.folder, name));
    }
    symlinkSync(data, join(this.folder, '..new'));
    renameSync(join(this.folder, '..new'), join(this.folder, '..data'));
  }

  private writeOne(folder: string, name: string, content: FileContent): void {
    const path = join(folder, name);
    const text = this.textOf(content);
    if (text === undefined || content.kind === 'directory') {
      rmSync(path, { recursive: true, force: true });
      if (content.kind === 'directory') mkdirSync(path);
      return;
    }
    rmSync(`${path}.new`, { force: true });
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) rmdirSync(path);
    renameSync(`${path}.new`, path);
  }

  /** @returns `undefined` for what is no file. */
  private textOf(content: FileContent): string | undefined {
    const { certificates } = this;
    switch (content.kind) {
      case 'certificates':
        return content.names.map((name) => certificates.leaf(name)).join('');
      case 'half':
        return this.textOfLast(content.names, (last) => last.slice(0, last.length / 2));
      case 'damaged':
        return this.textOfLast(content.names, damage);
      case 'chain':
        return certificates.chain(content.name);
      case 'key':
        return certificates.key(content.name);
      case 'text':
        return content.text;
      case 'absent':
      case 'directory':
        return undefined;
      default:
        return this.bundlesOf(content);
    }
  }

  private textOfLast(names: readonly string[], change: (last: string) => string): string {
    const texts = names.map((name) => this.certificates.leaf(name));
    return [...texts.slice(0, -1), change(texts.at(-1) ?? '')].join('');
  }

  private bundlesOf(content: BundleContent): string {
    if (content.kind === 'bundles') {
      const keys = Object.entries(content.domains).map(
        ([domain, names]) =>
          [domain, names.map((name) => this.certificates.bundleKey(name))] as const,
      );
      return bundleMap(Object.fromEntries(keys));
    }
    const keys = content.names.map((name) => this.certificates.bundleKey(name));
    if (content.kind === 'bundles of use') {
      return bundleMap({ 'td.test': keys.map((key) => ({ ...key, use: content.use })) });
    }
    if (content.kind === 'jwt bundles') return bundleMap({ 'td.test': [...keys, JWT_KEY] });
    const x5c = keys.flatMap((key) => ('x5c' in key && Array.isArray(key.x5c) ? key.x5c : []));
    return bundleMap({ 'td.test': [{ ...keys[0], x5c }] });
  }
}

type BundleContent = Extract<
  FileContent,
  { readonly kind: 'bundles' | 'jwt bundles' | 'bundles of use' | 'two in a key' }
>;

const JWT_KEY = { kty: 'EC', use: 'jwt-svid', kid: 'k', crv: 'P-256', x: 'AA', y: 'AA' };

function bundleMap(keys: Readonly<Record<string, readonly object[]>>): string {
  const domains = Object.entries(keys).map(
    ([domain, list]) => [domain, { spiffe_sequence: 1, keys: list }] as const,
  );
  return JSON.stringify({ trust_domains: Object.fromEntries(domains) });
}

function namesOf(content: FileContent): readonly string[] {
  if (content.kind === 'bundles') return Object.values(content.domains).flat();
  if ('names' in content) return content.names;
  return content.kind === 'chain' || content.kind === 'key' ? [content.name] : [];
}

/** Changes one character of the base64. */
function damage(pem: string): string {
  const middle = Math.floor(pem.length / 2);
  return `${pem.slice(0, middle)}!${pem.slice(middle + 1)}`;
}
