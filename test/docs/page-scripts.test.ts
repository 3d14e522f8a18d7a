import { scriptsNotRun } from './page-scripts';
import { parsePage, readPages } from './pages';

describe('scriptsNotRun', () => {
  const manifest =
    '```json file=package.json\n{ "scripts": { "a": "npm run b", "b": "ls", "c": "ls" } }\n```\n';

  it('names a script that neither the page nor another script runs', () => {
    const page = parsePage('docs/a.md', `${manifest}\n\`\`\`sh run\nnpm run a\n\`\`\`\n`);
    expect(scriptsNotRun([page])).toEqual(['docs/a.md:2: the page does not run the script "c"']);
  });

  it('does not count commands that are only shown', () => {
    const page = parsePage('docs/a.md', `${manifest}\n\`\`\`sh\nnpm run a\n\`\`\`\n`);
    expect(scriptsNotRun([page])).toHaveLength(3);
  });

  it('finds none in the pages', () => {
    expect(scriptsNotRun(readPages())).toEqual([]);
  });
});
