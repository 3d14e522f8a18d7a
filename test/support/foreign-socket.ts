import { chownSync } from 'node:fs';

/** The id of a user that no test runs as. */
const OTHER_USER = 4711;

/**
 * Makes a file another user's: really, where the test may, and otherwise by making this process one of another user.
 *
 * @returns the owner of the file and the user of the process, as `4711, not to 0`.
 */
export function makeForeign(path: string): string {
  const uid = process.getuid?.() ?? 0;
  if (uid === 0) {
    chownSync(path, OTHER_USER, OTHER_USER);
    return `${OTHER_USER}, not to ${uid}`;
  }
  jest.spyOn(process, 'getuid').mockReturnValue(OTHER_USER);
  return `${uid}, not to ${OTHER_USER}`;
}
