import { diffLines, type ComparedLine } from './diff-lines';
import { REDACTED } from '../../../../src/util/text';
import { type ResourceChange, diffValues, formatYaml, resourceToJson } from 'grpc-xds/internal';
import { cellText } from '../live-page/view';
import { describeDifference } from './resource-rows';

/** The encoded size of two values together up to which they are compared line by line, and at all. */
const MAX_LINE_BYTES = 64 * 1024;
const MAX_COMPARED_BYTES = 512 * 1024;
/** Lines that are the same above and below one that differs. */
const CONTEXT = 3;
const MAX_LINES = 1000;

/** How a resource differs before and after an event. */
export interface ResourceDifference {
  /** Lines of YAML, each with its sign in front; `@` for those that are left out, and `~` for a difference by its path. */
  readonly lines: readonly string[];
  /** What is not shown, and why. */
  readonly note?: string;
}

/** Compares the values of a resource as YAML, without what may be a secret. @param before undefined if there was none. */
export function compareValues(
  typeUrl: string,
  before: ResourceChange['before'],
  after: ResourceChange['before'],
): ResourceDifference {
  const values = [before, after].filter((value) => value !== undefined);
  if (values.some(({ bytes }) => bytes === undefined)) {
    return { lines: [], note: 'the value is no longer kept, or was too large to be' };
  }
  const [from, to] = [before?.bytes, after?.bytes];
  const size = (from?.length ?? 0) + (to?.length ?? 0);
  if (size <= MAX_LINE_BYTES) return compareLines(toLines(typeUrl, from), toLines(typeUrl, to));
  const note = `${size} bytes: too large to be shown`;
  if (from === undefined || to === undefined || size > MAX_COMPARED_BYTES)
    return { lines: [], note };
  const differences = diffValues(typeUrl, from, to);
  return {
    lines: differences.map((difference) => `~ ${describeDifference(difference)}`),
    note: `${note} as a whole: at most 100 differences by their paths`,
  };
}

function toLines(typeUrl: string, bytes: Uint8Array | undefined): readonly string[] {
  if (bytes === undefined) return [];
  return formatYaml(resourceToJson(typeUrl, bytes)).trimEnd().split('\n');
}

function compareLines(before: readonly string[], after: readonly string[]): ResourceDifference {
  const compared = diffLines(before, after);
  if (compared.every(({ sign }) => sign === ' ')) {
    const hasSecret = before.some((line) => line.includes(REDACTED));
    return { lines: [], note: `nothing that is shown differs${hasSecret ? '; a secret may' : ''}` };
  }
  const lines = withContext(compared);
  if (lines.length <= MAX_LINES) return { lines };
  return {
    lines: lines.slice(0, MAX_LINES),
    note: `${lines.length - MAX_LINES} more lines are left out`,
  };
}

/** Leaves out what is the same, but for some lines around what differs. */
function withContext(compared: readonly ComparedLine[]): readonly string[] {
  const isNear = compared.map(() => false);
  compared.forEach(({ sign }, index) => {
    if (sign !== ' ') isNear.fill(true, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  });
  const lines: string[] = [];
  let leftOut = 0;
  const endGap = () => {
    if (leftOut > 0)
      lines.push(`@ ${leftOut} ${leftOut === 1 ? 'line' : 'lines'} that did not change`);
    leftOut = 0;
  };
  compared.forEach(({ sign, text }, index) => {
    if (isNear[index] !== true) {
      leftOut++;
      return;
    }
    endGap();
    lines.push(`${sign} ${cellText(text)}`);
  });
  endGap();
  return lines;
}
