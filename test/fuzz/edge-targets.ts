import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { encodeStatus, type ObservedClient } from '../../src/observe/admin/status-queue';
import { readJwtExpiry } from '../../src/util/jwt-expiry';
import { Node } from '../../src/wire/generated/envoy/config/core/v3/base';
import { ClientStatusResponse } from '../../src/wire/generated/envoy/service/status/v3/csds';
import { readConnectAnswer } from '../../src/security/client/http-connect';
import { readResponse } from '../../src/transport/rest/discovery-json';
import { decodeSnapshot, encodeSnapshot } from '../../src/xds-client/saved-snapshot/snapshot-file';
import { parseBoundedJson } from '../../src/util/bounded-json';
import type { Random } from '../../src/util/random';
import { ok } from '../../src/util/result';
import { sanitizeText } from '../../src/util/text';
import { runSteps } from '../support/run-steps';
import type { ResourceSnapshot } from '../../src/xds-client/client-snapshot';
import type { FuzzTarget } from './targets';
import type { JsonMutations } from './json-mutations';
import type { WireMutations } from './wire-mutations';

const TYPE = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
const IDENTITY = 'a'.repeat(64);

/** The mutations and the randomness that all targets share. */
export interface EdgeTargetOptions {
  readonly random: Random;
  readonly wire: WireMutations;
  readonly json: JsonMutations;
}

/** What takes input from outside beside the resources: bodies, files, tokens, names that are shown. */
export function createEdgeTargets(options: EdgeTargetOptions): readonly FuzzTarget[] {
  return [
    repeatedTarget(options),
    snapshotTarget(options),
    tokenTarget(options),
    jsonTarget(options),
    proxyTarget(options),
    statusTarget(options),
    sanitizeTarget(options),
  ];
}

/** Small parts of a response that may be there many times. */
const parts = [
  '{}',
  '[]',
  '""',
  '1',
  'null',
  '{"@type":"x/a.b"}',
  '{"@type":"x/a.b#"}',
  '{"a":{}}',
];
const frames: readonly (readonly [before: string, after: string])[] = [
  ['{"resources":[', ']}'],
  ['[', ']'],
  ['{"control_plane":{"identifier":[', ']}}'],
  [
    '{"resources":[{"@type":"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment","endpoints":[',
    ']}]}',
  ],
];

/** A REST response of many equal parts: none may cost much more than its bytes. */
function repeatedTarget({ random }: EdgeTargetOptions): FuzzTarget {
  const pick = <T>(list: readonly T[], otherwise: T): T =>
    list[Math.floor(random() * list.length)] ?? otherwise;
  return {
    name: 'REST response of many parts',
    share: 1,
    maxMsPerKiB: 10,
    make() {
      const part = pick(parts, '{}');
      const [before, after] = pick(frames, ['[', ']']);
      const count = Math.floor(random() * 5000);
      const list = Array.from({ length: count }, (_, i) => part.replace('#', String(i)));
      return `${before}${list.join(',')}${after}`;
    },
    run(input) {
      const result = readResponse(Buffer.from(input).toString());
      return result.ok || (result.error !== '' && result.error.length < 10_000)
        ? undefined
        : 'a reason that is empty or too long';
    },
  };
}

/** A snapshot file, of which half have a digest that fits. */
function snapshotTarget({ random, wire }: EdgeTargetOptions): FuzzTarget {
  const resource = { typeUrl: TYPE, name: 'a', version: '1', bytes: Buffer.from([10, 1, 97]) };
  const sample = encodeSnapshot({
    identity: IDENTITY,
    savedAtMs: 1_700_000_000_000,
    resources: [resource, { ...resource, name: 'b' }],
  });
  const start = sample.indexOf('\n') + 1;
  return {
    name: 'snapshot file',
    share: 2,
    maxMsPerKiB: 10,
    make() {
      if (random() < 0.5) return wire.mutate(sample);
      const payload = wire.mutate(sample.subarray(start));
      const digest = createHash('sha256').update(payload).digest('hex');
      const header = `grpc-xds-snapshot/1 ${IDENTITY} 2026-01-01T00:00:00.000Z ${digest}\n`;
      return Buffer.concat([Buffer.from(header), payload]);
    },
    run(input) {
      const read = decodeSnapshot(Buffer.from(input), IDENTITY);
      if (!read.ok) return read.error === '' ? 'refused without a reason' : undefined;
      const again = decodeSnapshot(encodeSnapshot(read.value), IDENTITY);
      const size = again.ok ? again.value.resources.length : -1;
      return size === read.value.resources.length ? undefined : 'cannot be written again';
    },
  };
}

/** A JSON Web Token, which no message may quote. */
function tokenTarget({ random, wire, json }: EdgeTargetOptions): FuzzTarget {
  const claims = { exp: 1_700_000_000, iss: 'https://issuer.test', aud: ['a', 'b'] };
  return {
    name: 'JWT',
    share: 2,
    maxMsPerKiB: 10,
    make() {
      const payload = Buffer.from(json.text(claims, 1000)).toString('base64url');
      const token = `eyJhbGciOiJIUzI1NiJ9.${payload}.c2lnbmF0dXJl`;
      return random() < 0.5 ? token : Buffer.from(wire.mutate(Buffer.from(token))).toString();
    },
    run(input) {
      const read = readJwtExpiry(Buffer.from(input).toString());
      if (read.ok) return Number.isFinite(read.value) ? undefined : 'an expiry that is no time';
      return /^(not a JWT: |a JWT (?:without|whose))[\w ",:-]*$/.test(read.error)
        ? undefined
        : `quotes the token: ${read.error}`;
    },
  };
}

/** JSON that is long enough to be parsed in pieces: the value is that of `JSON.parse`. */
function jsonTarget({ random, json }: EdgeTargetOptions): FuzzTarget {
  const long = 'x'.repeat(9000);
  const sample = { a: [long, { b: [1, { c: long }, []] }, long, ''], '': {}, d: [[long, [long]]] };
  return {
    name: 'JSON in pieces',
    share: 1,
    maxMsPerKiB: 10,
    make() {
      const text = json.text(sample, 190);
      if (random() < 0.5) return text;
      const [from, to] = [random() * text.length, random() * text.length];
      const piece = [',', '[', ']', '{', '}', '"', ' ', ':', '\\'][Math.floor(random() * 9)] ?? '';
      return text.slice(0, from) + piece + text.slice(random() < 0.5 ? from : to);
    },
    run(input) {
      const text = Buffer.from(input).toString();
      const [expected, value] = [JSON.parse, parseLimited].map((parse) => outcomeOf(parse, text));
      return expected === value ? undefined : 'another value than JSON.parse returns';
    },
  };
}

function parseLimited(text: string): unknown {
  return parseBoundedJson(text, { maxLength: 2 ** 24, maxValues: 2 ** 24 });
}

/** The value as text, or that there is none. */
function outcomeOf(parse: (text: string) => unknown, text: string): string {
  try {
    return JSON.stringify(parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return 'no JSON';
    throw error;
  }
}

/** Answers of HTTP proxies, which mean the same in whatever pieces they come. */
function proxyTarget({ wire }: EdgeTargetOptions): FuzzTarget {
  const answer = Buffer.from('HTTP/1.1 200 Connection established\r\nVia: a\r\n\r\nrest');
  return {
    name: 'CONNECT',
    share: 2,
    maxMsPerKiB: 10,
    make: () => wire.mutate(answer),
    run(input) {
      const bytes = Buffer.from(input);
      const whole = readConnectAnswer(bytes);
      for (let length = 0; length <= bytes.length; length++) {
        const read = readConnectAnswer(bytes.subarray(0, length));
        if (read === undefined) continue;
        const rest = read.ok ? ok(bytes.subarray(length)) : read;
        return isDeepStrictEqual(whole, rest) ? undefined : 'the pieces decide what it means';
      }
      return whole === undefined ? undefined : 'only the whole means something';
    },
  };
}

/** Resources of any content as CSDS shows them. */
function statusTarget({ wire }: EdgeTargetOptions): FuzzTarget {
  return {
    name: 'CSDS',
    share: 2,
    maxMsPerKiB: 20,
    make: () => wire.mutate(Buffer.from([10, 1, 97, 18, 2, 98, 99])),
    run(input) {
      const bytes = Buffer.from(input);
      const accepted = { version: bytes.toString(), bytes, updatedAtMs: 1 };
      const one: ResourceSnapshot = {
        typeUrl: TYPE,
        name: bytes.toString(),
        status: 'ACKED',
        accepted,
        failure: undefined,
        watchers: 1,
        waitingSinceMs: undefined,
      };
      // Many or large ones: what is shown is as long as they are.
      const count = 1 + Math.min(bytes.length % 600, Math.floor(2 ** 19 / (bytes.length + 1)));
      const resources = new Array<ResourceSnapshot>(count).fill(one);
      const client = { node: Node.create(), scope: bytes.toString(), resources };
      return checkStatus(client, resources.length, bytes);
    },
  };
}

function checkStatus(client: ObservedClient, count: number, bytes: Buffer): string | undefined {
  const response = runSteps(encodeStatus([client], { excludeContents: false }));
  const shown = ClientStatusResponse.decode(response).config[0]?.genericXdsConfigs ?? [];
  const isWhole = shown.length === count && shown.every((each) => each.typeUrl === TYPE);
  const last = shown.at(-1)?.xdsConfig?.value;
  return isWhole && last !== undefined && bytes.equals(last) ? undefined : 'not what there is';
}

/** Text from the network as logs and statuses show it. */
function sanitizeTarget({ wire }: EdgeTargetOptions): FuzzTarget {
  const sample = Buffer.from('a \u001b[2J\u202e\n Bearer 0123456789abcdef eyJhbGciOiJub25lIn0.e.');
  return {
    name: 'shown text',
    share: 2,
    maxMsPerKiB: 10,
    make: () => Buffer.from(wire.mutate(sample)).toString(),
    run(input) {
      const shown = sanitizeText(Buffer.from(input).toString());
      if (/[\p{Cc}\p{Cf}\p{Cs}]/u.test(shown)) return 'shows what cannot be printed';
      return sanitizeText(shown) === shown ? undefined : 'changes when it is shown again';
    },
  };
}
