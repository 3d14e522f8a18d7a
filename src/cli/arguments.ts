import { InvalidArgumentError } from 'commander';
import type { Services } from '../control-plane';

/** Adds `name=host:port,host:port` to the services of the options before. */
export function addService(text: string, before: Services = {}): Services {
  const separator = text.indexOf('=');
  if (separator < 1) throw new InvalidArgumentError('Expected NAME=HOST:PORT.');
  const name = text.slice(0, separator);
  const addresses = text.slice(separator + 1).split(',');
  return { ...before, [name]: [...(before[name] ?? []), ...addresses] };
}

/** Parses the id of a process. */
export function parsePid(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected the id of a process.');
}

/** Parses a number of seconds above zero. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds > 0) return seconds;
  throw new InvalidArgumentError('Expected a number of seconds, more than 0.');
}

/** Parses a port, or 0. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65535) return port;
  throw new InvalidArgumentError('Expected a number from 0 to 65535.');
}
