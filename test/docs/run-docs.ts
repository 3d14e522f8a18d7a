// Builds the site with the pages of `docs` and the API reference into `build/site`, and checks every page: links, anchors, the
// types of programs, JSON and YAML, and what can be run: `npm run docs`. Follows only the pages with a word in their path:
// `npm run docs -- guides`. Ends with 1 after a fault, each of which is printed.
import { join } from 'node:path';
import { deadLinks } from './links';
import { scriptsNotRun } from './page-scripts';
import { isRunnable, PageWalk, prepareWalks } from './page-walk';
import { readPages, ROOT } from './pages';
import { faultsOfData, isData } from './resource-samples';
import { unlistedPages, writeSite } from './site';
import { isProgram, typeErrors } from './type-samples';

/** Most of the time they wait. */
const AT_A_TIME = 3;

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(words: readonly string[]): Promise<number> {
  const pages = readPages();
  const samples = pages.flatMap((page) => page.samples);
  const programs = samples.filter(isProgram);
  const data = samples.filter(isData);
  const faults = [
    ...unlistedPages(pages).map((path) => `${path}:1: docs/README.md does not list it`),
    ...deadLinks(pages),
    ...scriptsNotRun(pages),
    ...typeErrors(programs),
    ...(await Promise.all(data.map(faultsOfData))).flat(),
  ];
  const unknown = words.filter((word) => !pages.some(({ path }) => path.includes(word)));
  for (const word of unknown) faults.push(`"${word}": no page has this in its path`);
  const runnable = pages.filter(isRunnable).filter(({ path }) => isChosen(path, words));
  prepareWalks();
  const waiting = [...runnable];
  const followNext = async (): Promise<void> => {
    for (let page = waiting.shift(); page !== undefined; page = waiting.shift()) {
      const found = await new PageWalk(page).follow();
      print(`${found.length === 0 ? 'ok    ' : 'FAILED'} ${page.path}`);
      faults.push(...found);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, followNext));
  const written = writeSite(pages, join(ROOT, 'build', 'site'));
  for (const fault of faults) print(fault);
  print(`${written} pages in build/site`);
  print(`${programs.length} programs compiled, ${data.length} texts in JSON or YAML checked`);
  print(`${runnable.length} pages followed; ${faults.length} faults`);
  return faults.length === 0 ? 0 : 1;
}

function isChosen(path: string, words: readonly string[]): boolean {
  return words.length === 0 || words.some((word) => path.includes(word));
}

void main(process.argv.slice(2)).then((code) => (process.exitCode = code));
