// docs/guides/incidents.md, and whether the demo shows what it says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DemoMesh, ShownRow } from './demo-mesh';

const PAGE = join(__dirname, '..', '..', 'docs', 'guides', 'incidents.md');

/** A row of a table about a step of an incident. */
export interface Claim {
  readonly target: string;
  readonly view: string;
  /** The texts in code, which the row of the view contains. */
  readonly texts: readonly string[];
}

/** The section of the page about one step. */
export interface Section {
  /** The text of its step. */
  readonly title: string;
  readonly claims: readonly Claim[];
}

/** The names of the incidents on the page. */
export function incidentNames(): readonly string[] {
  return Array.from(
    readFileSync(PAGE, 'utf8').matchAll(/ --incident ([a-z-]+)$/gm),
    ([, name = '']) => name,
  );
}

/** Reads the sections about the steps of an incident. */
export function readSections(name: string): readonly Section[] {
  const incidents = readFileSync(PAGE, 'utf8').split(/^## /m);
  const text = incidents.find((each) => each.includes(` --incident ${name}\n`)) ?? '';
  const [, ...sections] = text.split(/^### /m);
  return sections.map((section) => {
    const [title = '', ...lines] = section.split('\n');
    const [, , ...rows] = lines.filter((line) => line.startsWith('|'));
    const claims = rows
      .map((line) => line.split('|'))
      .map(([, target = '', view = '', row = '']) => ({
        target: codeOf(target)[0] ?? '',
        view: view.trim().toLowerCase(),
        texts: codeOf(row),
      }));
    return { title, claims };
  });
}

function codeOf(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/** Whether a cell is a text, has it in a list, or begins or ends with it, if the text has an ellipsis there. */
function hasText(cell: string, text: string): boolean {
  if (text.startsWith('… ')) return cell.endsWith(text.slice(2));
  if (text.endsWith(' …')) return cell.startsWith(text.slice(0, -2));
  return cell === text || cell.split(', ').includes(text);
}

/** Waits until the page has the notice of a step. */
export const untilStep = (shown: DemoMesh, title: string) =>
  shown.until('notices', '', ([newest]) => newest?.includes(title) === true);

/** Waits until a row has all texts; an event, since the notice of the step. */
export function untilClaim(
  shown: DemoMesh,
  title: string,
  { view, target, texts }: Claim,
): Promise<void> {
  const isRow = (cells: ShownRow) =>
    texts.every((text) => cells.some((cell) => hasText(cell, text)));
  const named = target || (texts.find((text) => text.startsWith('xds:///')) ?? '');
  return shown.until(view, named, (rows) => {
    // The newest is the first.
    const end = rows.findIndex((cells) => cells.includes(title));
    return (view === 'events' ? rows.slice(0, Math.max(end, 0)) : rows).some(isRow);
  });
}

/** Waits for the end of the demo, which has had no call that failed. */
export async function expectNoFailures({ closed }: DemoMesh): Promise<void> {
  const { code, output } = await closed;
  expect(output).toMatch(/^[1-9]\d+ calls, 0 failed\.$/m);
  expect(code).toBe(0);
}
