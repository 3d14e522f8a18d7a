import { extname } from 'node:path';
import { DiscoveryResponse } from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { errorMessage } from '../../util/error-message';
import { err, ok, type Result } from '../../util/result';
import { runSteps, STEP_SIZE, type Steps } from '../../util/steps';
import type * as TextReading from './read-text-file';
import {
  identifyResource,
  type FileResource,
  type ReadOptions,
  type ResourceFile,
} from './file-resource';
import { late } from '../../util/late';

/** Loads the reader of text late: the schema is large, and binary files do not need it. */
const loadTextReader = late<typeof TextReading>(() => require('./read-text-file'));

/** The extensions of resource files. */
export const resourceFileExtensions = ['.json', '.yaml', '.yml', '.pb', '.binpb'] as const;

/** Returns whether a file is a resource file, by its name. */
export function isResourceFile(path: string): boolean {
  const extension = extname(path);
  return resourceFileExtensions.some((each) => each === extension);
}

/**
 * Parses a resource file: a `DiscoveryResponse`, in which the resources may be of several types, in JSON, YAML or
 * binary, by the extension of the file.
 *
 * @returns the resources, or every mistake, with the path and, in text, the line and column.
 */
export function readResourceFile(
  path: string,
  content: Buffer,
  options: ReadOptions,
): Result<ResourceFile, readonly string[]> {
  return runSteps(readFileInSteps(path, content, options));
}

/** Does the same as {@link readResourceFile} in steps. */
export function* readFileInSteps(
  path: string,
  content: Buffer,
  options: ReadOptions,
): Steps<Result<ResourceFile, readonly string[]>> {
  switch (extname(path)) {
    case '.json':
      return yield* readText('json', path, content, options);
    case '.yaml':
    case '.yml':
      return yield* readText('yaml', path, content, options);
    case '.pb':
    case '.binpb':
      return yield* readBinary(path, content);
    default:
      return err([`${path}: its name must end in ${resourceFileExtensions.join(', ')}`]);
  }
}

function* readText(
  syntax: 'json' | 'yaml',
  path: string,
  content: Buffer,
  options: ReadOptions,
): Steps<Result<ResourceFile, readonly string[]>> {
  const { readTextInSteps } = loadTextReader();
  yield;
  return yield* readTextInSteps(path, content.toString('utf8'), syntax, options);
}

function* readBinary(
  path: string,
  content: Buffer,
): Steps<Result<ResourceFile, readonly string[]>> {
  let response: DiscoveryResponse;
  try {
    response = DiscoveryResponse.decode(content);
  } catch (error) {
    return err([`${path}: not a DiscoveryResponse: ${errorMessage(error)}`]);
  }
  const resources: FileResource[] = [];
  const problems: string[] = [];
  for (const [index, item] of response.resources.entries()) {
    const resource = identifyResource(item);
    if (resource.ok) resources.push(resource.value);
    else problems.push(`${path}: resources[${index}]: ${resource.error}`);
    if (index % STEP_SIZE === STEP_SIZE - 1) yield;
  }
  if (problems.length > 0) return err(problems);
  return ok({ version: response.versionInfo || undefined, resources });
}
