import type { Page, Sample } from './pages';

/**
 * Returns the scripts of a `package.json` in a page that the page does not run, neither itself nor through another script, each
 * as `file:line: text`.
 */
export function scriptsNotRun(pages: readonly Page[]): readonly string[] {
  return pages.flatMap(({ samples }) => samples.flatMap((sample) => faultsOf(sample, samples)));
}

function faultsOf(sample: Sample, samples: readonly Sample[]): readonly string[] {
  const scripts = scriptsOf(sample);
  const isRun = ({ words }: Sample) => words.includes('run') || words.includes('start');
  const commands = samples.filter(isRun).map(({ text }) => text);
  const reached = new Set<string>();
  // A script that is run adds its own text, in which others may be named.
  for (const command of commands) {
    for (const [, name = ''] of command.matchAll(/\bnpm (?:run )?([\w:-]+)/g)) {
      const script = scripts[name];
      if (script === undefined || reached.has(name)) continue;
      reached.add(name);
      commands.push(script);
    }
  }
  return Object.keys(scripts)
    .filter((name) => !reached.has(name))
    .map((name) => `${sample.page}:${sample.line}: the page does not run the script "${name}"`);
}

function scriptsOf({ language, text }: Sample): Readonly<Record<string, string>> {
  if (language !== 'json' || !text.includes('"scripts"')) return {};
  const manifest: { readonly scripts?: Record<string, string> } = JSON.parse(text);
  return manifest.scripts ?? {};
}
