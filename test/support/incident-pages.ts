// The pages of docs/guides/incidents, and whether the demo shows what they say.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DemoMesh, ShownRow } from './demo-mesh';

/** The folder of the pages. */
export const INCIDENT_FOLDER = join(__dirname, '..', '..', 'docs', 'guides', 'incidents');

/** A row of a table of a page about an incident. */
export interface Claim {
  readonly target: string;
  readonly view: string;
  /** Those that the row of the view has, in code. */
  readonly texts: readonly string[];
}

/** The section of a page about one step. */
export interface Section {
  /** The text of its step. */
  readonly title: string;
  readonly claims: readonly Claim[];
}

/** Reads the page about an incident. */
export function readSections(name: string): readonly Section[] {
  const text = readFileSync(join(INCIDENT_FOLDER, `${name}.md`), 'utf8');
  const [, ...sections] = text.split(/^## /m);
  return sections.map((section) => {
    const [title = '', ...lines] = section.split('\n');
    const cells = lines.filter((line) => /^\| \d/.test(line)).map((line) => line.split('|'));
    const claims = cells.map(([, , target = '', view = '', row = '']) => ({
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
