import { readFileSync } from 'node:fs';
import { BOOTSTRAP_OPTION, CHILD_CHANNEL_OPTION } from '../../src/util/channel-options';
import { join } from 'node:path';
import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { checkRegisterOptions, readShutdownTimeout } from '../../src/runtime/register-options';
import { formatMetrics, StreamCounts } from '../../packages/cli/src/kubernetes/metrics-text';
import {
  MAX_KNOWN_TOKENS,
  MAX_REFUSED_OF_ADDRESS,
  MAX_REVIEWS,
  MAX_WAITING_REVIEWS,
  MAX_WAITING_REVIEWS_OF_ADDRESS,
} from '../../packages/kubernetes/src/access/access-limits';
import { readFeatureFlags } from '../../src/util/feature-flags';
import { sourceFiles } from '../support/source-files';
import { ROOT } from './pages';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const sources = sourceFiles('.ts').map(read).join('\n');
const found = (pattern: RegExp, text = sources) =>
  [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))].sort();

/** The options that the error about an unknown one lists. */
function optionsInError(check: () => void): readonly string[] {
  try {
    check();
  } catch (error) {
    const [, list = ''] = /the options are (.*)$/.exec(String(error)) ?? [];
    return list.split(', ').filter((name) => name !== '');
  }
  throw new Error('an unknown option was accepted');
}

describe('docs/contributing/tests.md', () => {
  it('has every package of package.json', () => {
    const manifest: Record<string, Record<string, string> | undefined> = JSON.parse(
      read('package.json'),
    );
    const packages = ['dependencies', 'devDependencies', 'peerDependencies'].flatMap((key) =>
      Object.keys(manifest[key] ?? {}),
    );
    const page = read('docs/contributing/tests.md');
    const isListed = (name: string) =>
      page.includes(`\`${name}\``) || page.includes(`\`${name.split('/')[0]}/*\``);
    expect(packages.length).toBeGreaterThan(30);
    expect(packages.filter((name) => !isListed(name))).toEqual([]);
  });
});

describe('docs/reference/configuration.md', () => {
  const page = read('docs/reference/configuration.md');
  const flags = [...page.matchAll(/^\| `(\w+)` +\| (?:A\d|none).*?\| (on|off) +\|/gm)];

  it('has every variable that the source reads', () => {
    const variables = [
      ...found(/\benv(?:\.|\[')([A-Z]\w+)/g),
      ...found(/'((?:GRPC|POD|INSTANCE|GCE)_[A-Z_]+)'/g),
      ...found(/'((?:no_)?(?:grpc|https?)_proxy|no_proxy)'/g),
    ];
    expect(variables.length).toBeGreaterThan(40);
    expect(variables.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it('has every feature flag, with its default', () => {
    const variables = found(
      /(?:\b(?:on|off)\(|^export const \w+ = )'(GRPC_\w+)'/gm,
      read('src/util/feature-flags.ts'),
    );
    expect(flags.map(([, name]) => name).sort()).toEqual(variables);
    const defaults = new Map(flags.map(([, name = '', value]) => [name, value === 'on']));
    const byDefault = readFeatureFlags({});
    for (const [name, isOn] of defaults) {
      const opposite = readFeatureFlags({ [name]: String(!isOn) });
      expect({ name, changes: JSON.stringify(opposite) !== JSON.stringify(byDefault) }).toEqual({
        name,
        changes: true,
      });
    }
  });

  it('has every tracer', () => {
    const tracers = [...found(/\bTRACER = '(\w+)'/g), ...found(/\.trace\(\s*'(\w+)'/g)];
    expect(tracers.length).toBeGreaterThan(8);
    const rows = found(/^\| `(\w+)` +\| [a-z]/gm, page.slice(page.indexOf('### Tracers')));
    expect(tracers.filter((name) => !rows.includes(name))).toEqual([]);
  });

  it('has every key that the parsers read', () => {
    const parsers = ['bootstrap-parser', 'server-config-parser'].map((name) =>
      read(`src/bootstrap/${name}.ts`),
    );
    const keys = [
      ...found(/(?:fields|node)\.(?:get|has)\('(\w+)'\)/g, parsers.join('\n')),
      ...found(/read\w+\(\s*\w+,\s*'(\w+)'/g, parsers.join('\n')),
      ...found(/const name = '(\w+)'/g, parsers.join('\n')),
    ];
    expect(keys.length).toBeGreaterThan(15);
    expect(keys.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it('has every server feature', () => {
    const [, list = ''] =
      /KNOWN_FEATURES[^[]*\[([^\]]*)\]/.exec(read('src/bootstrap/server-config-parser.ts')) ?? [];
    const features = found(/'(\w+)'/g, list);
    expect(features.length).toBeGreaterThan(5);
    expect(features.filter((name) => !page.includes(`| \`${name}\` `))).toEqual([]);
  });

  it('has every key of certificate files and of secret discovery', () => {
    const parsers = ['certificate-files.ts', 'sds.ts'].map((path) =>
      read(join('src/security/providers', path)),
    );
    const keys = found(/'([a-z]+(?:_[a-z]+)+)'/g, parsers.join('\n'));
    expect(keys.length).toBeGreaterThan(5);
    expect(keys.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it('has every option of register()', () => {
    const options = optionsInError(() => checkRegisterOptions({ other: 1 } as object));
    expect(options.length).toBeGreaterThan(3);
    expect(options.filter((name) => !page.includes(`| \`${name}\` `))).toEqual([]);
  });

  it('has every option of shutdown()', () => {
    const options = optionsInError(() => readShutdownTimeout({ other: 1 } as object));
    expect(options.length).toBeGreaterThan(0);
    expect(options.filter((name) => !page.includes(`| \`${name}\` `))).toEqual([]);
  });

  it('has every limit, with its default', () => {
    const rows = [...page.matchAll(/^\| `(max\w+)` +\| ([\d,]+) /gm)].map(
      ([, name, value = '']) => [name, Number(value.replaceAll(',', ''))],
    );
    expect(Object.fromEntries(rows)).toEqual(DEFAULT_LIMITS);
  });

  it('has the channel options that the source reads', () => {
    const own = [BOOTSTRAP_OPTION, CHILD_CHANNEL_OPTION];
    const options = [...own, ...found(/options\['(grpc\.\w+)'\]/g)];
    expect(options.length).toBeGreaterThan(2);
    expect(options.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('docs/kubernetes.md', () => {
  const page = read('docs/kubernetes.md');

  it('has every metric, and no other', () => {
    const state = {
      resource: 'services',
      namespace: undefined,
      phase: 'watching',
      objectCount: 1,
      resourceVersion: '1',
      lastError: undefined,
      isInstalled: true,
      retryInMs: undefined,
    } as const;
    const streams = new StreamCounts();
    const text = formatMetrics({
      state: {
        address: '',
        isReady: true,
        isListed: true,
        failingForMs: undefined,
        changes: 0,
        tokens: { reviews: 0, accepted: 0, refused: 0, failed: 0 },
        watches: [{ ...state, ageMs: 1 }],
      },
      streams,
      startedMs: 0,
    });
    const types = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(
      ([, name, type]) => `${name} ${type}`,
    );
    const rows = [...page.matchAll(/^\| `(\w+)` +\| (gauge|counter) /gm)].map(
      ([, name, type]) => `${name} ${type}`,
    );
    expect(types.length).toBeGreaterThan(10);
    expect(rows.sort()).toEqual(types.sort());
  });

  it('has the limits of tokens', () => {
    const [, row = ''] = /^\| TokenReviews in progress[^|]*\| ([^|]*)\|/m.exec(page) ?? [];
    const limits = [MAX_REVIEWS, MAX_WAITING_REVIEWS, MAX_WAITING_REVIEWS_OF_ADDRESS];
    expect(row.trim()).toBe(limits.map((limit) => limit.toLocaleString('en')).join('; '));
    expect(page).toContain(`| ${MAX_KNOWN_TOKENS.toLocaleString('en')} each `);
    expect(page).toContain(`| ${MAX_REFUSED_OF_ADDRESS} at once, then one a second `);
  });
});
