import { UpstreamResources } from '../../packages/relay/src/upstream-resources';
import { CDS } from '../control-plane/resources';
import { DISTANT_VARIANTS } from '../support/mesh';
import { Harness, serverConfig } from '../xds-client/harness';

/** What the server has of the resource: a value, an error of its own (gRFC A88), or nothing. */
type Served = 'one' | 'two' | 'denied' | 'nothing';

const NAME = 'a';
/** Longer than the wait for a resource, twice (gRFC A57), and than the interval of streams. */
const WAIT_MS = 40_000;

function encode(text: string): Uint8Array {
  return Buffer.concat([Buffer.from([0x0a, 1]), Buffer.from(NAME), Buffer.from(`\x12\x03${text}`)]);
}

/** The resources of a relay over the client that it uses, and a server in one variant. */
class Scene {
  private readonly h: Harness;
  private readonly resources: UpstreamResources;
  private step = 0;

  constructor(
    features: readonly string[],
    private served: Served,
  ) {
    const servers = [serverConfig('xds.test:1', features)];
    this.h = new Harness({ servers, dataErrorHandling: true });
    this.resources = new UpstreamResources(this.h.client, this.h.clock);
    this.resources.refer(CDS, [NAME], []);
    this.h.clock.flush();
    this.answerRequest();
  }

  /** The server has something else from now on, and sends it. */
  change(served: Served): void {
    this.served = served;
    this.send();
  }

  /** The server restarts, and has something else then. */
  restart(served: Served): void {
    this.served = served;
    this.h.stream.end(14, 'Connection dropped');
    this.h.clock.advance(WAIT_MS);
    this.answerRequest();
  }

  /** Returns what clients receive, in the words of what the server has. */
  show(): string {
    this.h.clock.advance(WAIT_MS);
    const served = this.resources.resourcesFor();
    const set = served.set(CDS);
    const error = set?.errors.get(NAME);
    if (error !== undefined) return error.message;
    const resource = set?.byName.get(NAME);
    if (resource !== undefined) return Buffer.from(resource.value).toString().slice(-3);
    return served.isPending(CDS, NAME) ? 'pending' : 'nothing';
  }

  close(): void {
    this.resources.close();
    this.h.client.close();
  }

  /** Incremental servers do not send what the client has. */
  private answerRequest(): void {
    const { stream } = this.h;
    const known = stream.isDelta && stream.deltaRequest.initialResourceVersions.get(NAME);
    if (known !== this.served) this.send();
  }

  private send(): void {
    const { served } = this;
    const { stream } = this.h;
    const hasValue = served === 'one' || served === 'two';
    const resource = { typeUrl: CDS, value: encode(served) };
    const errorDetail = { code: 7, message: served, details: [] };
    const resourceErrors =
      served === 'denied' ? [{ resourceName: { name: NAME }, errorDetail }] : [];
    this.step++;
    if (stream.isDelta) {
      const content = { name: NAME, version: served, resource };
      const wrapped = { aliases: [], ttl: undefined, cacheControl: undefined, metadata: undefined };
      stream.respondDelta({
        typeUrl: CDS,
        resources: hasValue ? [{ ...wrapped, ...content, resourceName: undefined }] : [],
        removedResources: served === 'nothing' ? [NAME] : [],
        resourceErrors,
      });
    } else {
      const resources = hasValue ? [resource] : [];
      stream.respond({ typeUrl: CDS, versionInfo: `${this.step}`, resources, resourceErrors });
    }
  }
}

const ALL: readonly Served[] = ['one', 'two', 'denied', 'nothing'];
const rows = ALL.flatMap((first) =>
  ALL.flatMap((second) => ALL.map((third) => [first, second, third] as const)),
);

describe.each(DISTANT_VARIANTS)(
  'clients of a relay whose server is used: %s',
  (_variant, features) => {
    const run = (row: readonly Served[], moves: readonly ('change' | 'restart')[]) => {
      const [first = 'nothing', ...later] = row;
      const scene = new Scene(features, first);
      const shown: string[] = [scene.show()];
      for (const [i, served] of later.entries()) {
        scene[moves[i] ?? 'change'](served);
        shown.push(scene.show());
      }
      scene.close();
      return shown;
    };

    it.each(rows)('receive what the server has: %s, %s, then %s', (...row) => {
      expect(run(row, ['change', 'change'])).toEqual(row);
      expect(run(row, ['change', 'restart'])).toEqual(row);
      expect(run(row, ['restart', 'change'])).toEqual(row);
      expect(run(row, ['restart', 'restart'])).toEqual(row);
    });
  },
);
