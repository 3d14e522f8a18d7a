import { isHiddenHeader, isSecretKey, isSubjectName } from './secrets';
import { REDACTED, redactSecrets } from './text';

/**
 * Redacts JSON that has no schema, such as the config of a filter of an application: secrets in texts, members with the name
 * of a secret or of a hidden header, and what an object has besides the name of a hidden header.
 */
export function redactConfig(value: unknown): unknown {
  if (typeof value === 'string') return redactSecrets(value);
  if (Array.isArray(value)) return value.map(redactConfig);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries<unknown>({ ...value });
  const isHidden = members.some(([name, member]) => isSubject(name, member));
  return Object.fromEntries(
    members.map(([name, member]) => {
      const isSecret = isSecretKey(name) || (isHidden && !isSubjectName(name));
      return [name, isSecret ? REDACTED : redactConfig(member)];
    }),
  );
}

function isSubject(name: string, member: unknown): boolean {
  return isSubjectName(name) && typeof member === 'string' && isHiddenHeader(member);
}
