// The one place that knows where the repository is.
//
//   npm run update -- repository https://github.com/OWNER/NAME   writes repository, homepage and bugs into package.json
//   node scripts/repository.mjs check                     fails while they are missing: before a publication
//   node scripts/repository.mjs restore                   takes back what rewriteLinks() has done: after packing
//
// Links in the pages are relative, and lead to files of the repository. A packed page has links to the repository in their
// place, at the tag of its version; without an address, only links to packed files, and the texts of the others. Each command is about the package of the folder it is run in; the address is written into all.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packages, root } from './packages.mjs';

/** The pages as they were. */
const KEPT = join('dist', 'relative-pages');

const readManifest = (folder = '.') =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

function fail(message) {
  console.error(message);
  process.exit(1);
}

/** The address of the repository for browsers, or undefined. */
function addressOf({ repository }) {
  return repository?.url?.replace(/^git\+/, '').replace(/\.git$/, '');
}

function writeAddress(text) {
  const [, address] = /^(https:\/\/[\w.-]+\/[\w.-]+(?:\/[\w.-]+?)+)(?:\.git)?\/?$/.exec(text) ?? [];
  if (address === undefined)
    fail(`${text} is not an address such as https://github.com/OWNER/NAME`);
  for (const { folder } of packages) {
    const { name, version, description, keywords, ...rest } = readManifest(join(root, folder));
    const directory = folder === '.' ? {} : { directory: folder };
    const fields = {
      homepage: `${address}#readme`,
      bugs: { url: `${address}/issues` },
      repository: { type: 'git', url: `git+${address}.git`, ...directory },
    };
    const manifest = { name, version, description, keywords, ...fields, ...omit(rest, fields) };
    writeFileSync(join(root, folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  }
  console.log(`package.json of each package: repository, homepage and bugs of ${address}`);
}

function omit(object, other) {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !(name in other)));
}

function check() {
  const manifest = readManifest();
  const missing = ['repository', 'homepage', 'bugs'].filter((name) => manifest[name] === undefined);
  if (missing.length > 0) {
    fail(
      `package.json: without ${missing.join(', ')}. Run: npm run update -- repository https://github.com/OWNER/NAME`,
    );
  }
}

/** The files of the package. */
function packedFiles() {
  const shell = process.platform === 'win32'; // npm is a batch file there
  const args = ['pack', '--dry-run', '--json', '--silent', '--ignore-scripts'];
  const [{ files }] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8', shell }));
  return files.map(({ path }) => path);
}

const isPage = (path) => path.endsWith('.md');

/** Makes the links in the pages of the package lead to something for whoever has only the package, until `restore` is called. */
export function rewriteLinks() {
  restore();
  const manifest = readManifest();
  const files = packedFiles();
  const hrefOf = addressOf(manifest) === undefined ? packed(files) : inRepository(manifest);
  for (const page of files.filter(isPage)) {
    const text = readFileSync(page, 'utf8');
    mkdirSync(dirname(join(KEPT, page)), { recursive: true });
    writeFileSync(join(KEPT, page), text);
    writeFileSync(
      page,
      withLinks(text, (href, mark) => hrefOf(href, mark, page)),
    );
  }
}

function restore() {
  if (!existsSync(KEPT)) return;
  for (const page of readdirSync(KEPT, { recursive: true }).filter(isPage)) {
    writeFileSync(page, readFileSync(join(KEPT, page)));
  }
  rmSync(KEPT, { recursive: true });
}

/** Returns links to files of the repository. */
function inRepository(manifest) {
  const address = addressOf(manifest);
  const folder = /^https:\/\/gitlab\./.test(address) ? `${address}/-` : address;
  const own = relative(root, process.cwd()).replaceAll('\\', '/');
  return (href, mark, page) => {
    const view = mark.startsWith('!') ? 'raw' : 'blob';
    return `${folder}/${view}/v${manifest.version}/${posix.join(own, posix.dirname(page), href)}`;
  };
}

/** Returns a link as it is if its file is packed. */
const packed = (files) => (href, _mark, page) =>
  files.includes(posix.join(posix.dirname(page), href.split('#')[0])) ? href : undefined;

/** Code, in which nothing is a link, or a link: its mark, and where it leads. */
const CODE_OR_LINK =
  /^(`{3,})[^]*?^\1$|(`+)[^]*?[^`]\2(?!`)|(!?\[(?:[^[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)/gm;

/** Returns a page with other links to files; without one, the text of the link stays. */
function withLinks(text, hrefOf) {
  return text.replace(CODE_OR_LINK, (whole, _fence, _code, mark, href) => {
    if (href === undefined || /^[a-z][a-z+.-]*:|^#/i.test(href)) return whole;
    // A picture may be the text of a link.
    const label = withLinks(mark.slice(mark.indexOf('[') + 1, -1), hrefOf);
    const to = hrefOf(href, mark);
    return to === undefined ? label : `${mark.startsWith('!') ? '!' : ''}[${label}](${to})`;
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [argument = ''] = process.argv.slice(2);
  if (argument === 'check') check();
  else if (argument === 'restore') restore();
  else writeAddress(argument);
}
