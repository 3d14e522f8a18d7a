import { err, ok, type Result } from '../../util/result';

/** The part of a text in PEM from the first line of a block to its last one. */
export interface PemBlock {
  /** Such as `CERTIFICATE`. */
  readonly label: string;
  readonly pem: string;
}

const DASHES = '-----';
const BEGIN = `${DASHES}BEGIN `;
const END = `${DASHES}END `;
const NO_END = 'a PEM block has no end';

/**
 * Finds the blocks of a text in PEM. Text between them is skipped, unless it is what is left of a damaged block: that is an
 * error, after which there are no more blocks. No character is looked at more often than a few times, whatever the text is, so
 * that this has no regular expression.
 */
export function* scanPem(text: string): Generator<Result<PemBlock, string>, void> {
  let at = 0;
  let isValid = true;
  while (isValid) {
    const begin = text.indexOf(BEGIN, at);
    const problem = findRemains(text.slice(at, begin < 0 ? undefined : begin));
    if (problem === undefined && begin < 0) return;
    const block = problem === undefined ? readBlock(text, begin) : err(problem);
    isValid = block.ok;
    if (block.ok) at = begin + block.value.pem.length;
    yield block;
  }
}

/** Describes what a text outside of blocks has of a damaged one. */
function findRemains(gap: string): string | undefined {
  // A first line without a label.
  if (gap.includes(BEGIN.trimEnd())) return NO_END;
  return isDamaged(gap) ? 'a PEM block has no beginning' : undefined;
}

/** Reads a block, which ends with its own label before another one begins. */
function readBlock(text: string, begin: number): Result<PemBlock, string> {
  const labelAt = begin + BEGIN.length;
  const labelEnd = text.indexOf(DASHES, labelAt);
  const end = labelEnd < 0 ? -1 : text.indexOf(END, labelEnd + DASHES.length);
  if (end < 0) return err(NO_END);
  const label = text.slice(labelAt, labelEnd);
  const isLabel = !label.includes('\n') && !label.includes('-');
  const last = END + label + DASHES;
  if (!isLabel || !text.startsWith(last, end)) return err(NO_END);
  const body = text.slice(labelEnd, end);
  if (body.includes(BEGIN.trimEnd())) return err(NO_END);
  return ok({ label, pem: text.slice(begin, end + last.length) });
}

/** Whether a text outside of blocks has what is left of a first or last line, such as `BEGIN CERTIFICATE-----`. */
function isDamaged(gap: string): boolean {
  if (gap.includes(END.trimEnd())) return true;
  let from = 0;
  for (let dashes = gap.indexOf(DASHES); dashes >= 0; dashes = gap.indexOf(DASHES, from)) {
    let start = dashes;
    while (start > from && isLabelCharacter(gap.charCodeAt(start - 1))) start--;
    const label = gap.slice(start, dashes - 1);
    if (label.includes('BEGIN ') || label.includes('END ')) return true;
    from = dashes + DASHES.length;
  }
  return false;
}

/** Whether it is a capital letter, a digit or a space. */
function isLabelCharacter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 32;
}
