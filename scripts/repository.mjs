// The one place that knows where the repository is.
//
//   npm run update -- repository https://github.com/OWNER/NAME   writes repository, homepage and bugs into package.json
//   node scripts/repository.mjs check                     fails while they are missing: before a publication
//   node scripts/repository.mjs restore                   takes back what makeLinksAbsolute() has done: after it
//
// Links in the pages are relative, and lead to files of the repository. A published page has links to the repository in their
// place, at the tag of its version. Each command is about the package of the folder it is run in; the address is written into all.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

/** The pages of the package. */
function packedPages() {
  const shell = process.platform === 'win32'; // npm is a batch file there
  const args = ['pack', '--dry-run', '--json', '--silent', '--ignore-scripts'];
  const [{ files }] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8', shell }));
  return files.map(({ path }) => path).filter((path) => path.endsWith('.md'));
}

/** Makes relative links in the pages of the package lead to the repository, until `restore` is called. */
export function makeLinksAbsolute() {
  restore();
  const manifest = readManifest();
  const address = addressOf(manifest);
  const folder = /^https:\/\/gitlab\./.test(address) ? `${address}/-` : address;
  for (const page of packedPages()) {
    const text = readFileSync(page, 'utf8');
    mkdirSync(dirname(join(KEPT, page)), { recursive: true });
    writeFileSync(join(KEPT, page), text);
    const path = join(relative(root, process.cwd()), page);
    writeFileSync(page, absoluteLinks(text, path, folder, `v${manifest.version}`));
  }
}

function restore() {
  if (!existsSync(KEPT)) return;
  for (const page of packedPages()) {
    if (existsSync(join(KEPT, page))) writeFileSync(page, readFileSync(join(KEPT, page)));
  }
  rmSync(KEPT, { recursive: true });
}

/** Code, in which nothing is a link, or a link: its mark, and where it leads. */
const CODE_OR_LINK =
  /^(`{3,})[^]*?^\1$|(`+)[^]*?[^`]\2(?!`)|(!?\[(?:[^[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)/gm;

function absoluteLinks(text, page, folder, tag) {
  return text.replace(CODE_OR_LINK, (whole, _fence, _code, mark, href) => {
    if (href === undefined || /^[a-z][a-z+.-]*:|^#/i.test(href)) return whole;
    const [path, anchor] = href.split('#');
    const view = mark.startsWith('!') ? 'raw' : 'blob';
    const target = posix.join(posix.dirname(page.replaceAll('\\', '/')), path);
    const inner = mark.slice(0, -1);
    // A picture may be the text of a link.
    const label = `${absoluteLinks(inner, page, folder, tag)}]`;
    return `${label}(${folder}/${view}/${tag}/${target}${anchor === undefined ? '' : `#${anchor}`})`;
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [argument = ''] = process.argv.slice(2);
  if (argument === 'check') check();
  else if (argument === 'restore') restore();
  else writeAddress(argument);
}
