/** What a member of a definition must be. */
export type MemberKind = 'a string' | 'a function' | 'a list of strings';

/** The members of a definition, by name. */
export interface DefinitionShape {
  readonly required: Readonly<Record<string, MemberKind>>;
  readonly optional?: Readonly<Record<string, MemberKind>>;
}

/**
 * Checks a definition that an application registers, whose members would otherwise be missed when they are used: in the course
 * of an update, or of a call.
 *
 * @param caller The function of the package that takes it.
 * @throws TypeError that names the function and the member.
 */
export function checkDefinition(
  caller: string,
  definition: unknown,
  { required, optional = {} }: DefinitionShape,
): void {
  if (typeof definition !== 'object' || definition === null) {
    const members = Object.keys(required).join(', ');
    throw new TypeError(`grpc-xds: ${caller}() takes an object with the members ${members}`);
  }
  for (const [name, kind] of Object.entries({ ...required, ...optional })) {
    const value: unknown = Reflect.get(definition, name);
    if (value === undefined && Object.hasOwn(optional, name)) continue;
    if (isOfKind(value, kind)) continue;
    throw new TypeError(`grpc-xds: ${name} of ${caller}() must be ${kind}`);
  }
}

/**
 * Checks the names of options, and returns a copy.
 *
 * @param caller The function of the package that takes them.
 * @throws TypeError if they are no object, or if one is unknown.
 */
export function checkOptionNames(
  caller: string,
  options: unknown,
  known: readonly string[],
): Readonly<Record<string, unknown>> {
  const list = known.join(', ');
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError(`grpc-xds: ${caller}() takes an object with the options ${list}`);
  }
  for (const option of Object.keys(options)) {
    if (known.includes(option)) continue;
    throw new TypeError(
      `grpc-xds: unknown option "${option}" of ${caller}(); the options are ${list}`,
    );
  }
  return { ...options };
}

function isOfKind(value: unknown, kind: MemberKind): boolean {
  if (kind === 'a string') return typeof value === 'string';
  if (kind === 'a function') return typeof value === 'function';
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
