import type { XdsConfig } from '../../../dependency-manager/xds-config';
import type { TargetName } from '../../../resolver/xds-scheme';
import { describeDuration } from '../../../util/duration';
import type { Result } from '../../../util/result';
import type { ResourceType } from '../../../xds-client/resource-type';
import type { ResourceSnapshot } from '../../../xds-client/client-snapshot';
import { TargetWatch } from '../target-watch';
import type { DoctorContext } from './doctor-context';
import { runStep } from './probe-net';

/** Accepted resources of a type are listed up to this number, and counted beyond it. */
const MAX_LISTED = 10;

/**
 * Watches everything that a target depends on until its config is complete, and reports each resource.
 *
 * @returns the config, if there is one.
 */
export async function checkTarget(
  target: TargetName,
  context: DoctorContext,
): Promise<XdsConfig | undefined> {
  const { bootstrap, parts, access, clock, adsMs, findings } = context;
  let started: Result<TargetWatch, string> | undefined;
  const settled = await runStep<Result<XdsConfig, string>>(clock, adsMs, (done) => {
    const onUpdate = (update: Result<XdsConfig, string>) => done({ ok: true, value: update });
    const { transportFactory } = access;
    started = TargetWatch.start({ bootstrap, target, parts, transportFactory, onUpdate });
    if (!started.ok) done(started);
    return () => {};
  });
  if (started?.ok !== true) {
    const text = settled.ok ? '' : settled.error;
    findings.fail('target', 'target', text, 'correct the target, or add the authority');
    return undefined;
  }
  const watch = started.value;
  try {
    const before = findings.count('fail');
    reportResources([...watch.client.resources()], context);
    const update = settled.ok ? settled.value.value : undefined;
    if (update === undefined) return undefined;
    if (update.ok) {
      reportClusters(update.value, context);
      return update.value;
    }
    // A missing or rejected resource is reported above.
    if (findings.count('fail') === before) {
      findings.fail('routes', 'target', update.error, 'add a virtual host with this domain');
    }
    return undefined;
  } finally {
    watch.close();
  }
}

function reportResources(resources: readonly ResourceSnapshot[], context: DoctorContext): void {
  const types: readonly ResourceType<unknown>[] = Object.values(context.parts.types);
  for (const type of types) {
    const own = resources.filter(({ typeUrl }) => typeUrl === type.typeUrl);
    const isListed = own.length <= MAX_LISTED;
    for (const resource of own) reportResource(type, resource, isListed, context);
    if (isListed) continue;
    const accepted = own.filter(({ status }) => status === 'ACKED').length;
    context.findings.ok('resource', type.typeName, `${accepted} of ${own.length} accepted`);
  }
}

function reportResource(
  type: ResourceType<unknown>,
  { name, status, accepted, failure }: ResourceSnapshot,
  isListed: boolean,
  { findings, adsMs, bootstrap }: DoctorContext,
): void {
  const subject = `${type.typeName} ${JSON.stringify(name)}`;
  switch (status) {
    case 'ACKED': {
      if (isListed) findings.ok('resource', subject, `version ${accepted?.version ?? ''}`);
      const unused = accepted === undefined ? [] : type.describeUnusedFields(accepted.bytes);
      if (unused.length === 0) return;
      const text = `without effect on gRPC clients: ${unused.join(', ')}`;
      findings.warn('unused-field', subject, text, 'do not rely on these fields');
      return;
    }
    case 'NACKED': {
      const inUse = accepted === undefined ? '' : `; version ${accepted.version} stays in use`;
      const text = `rejected (NACK), version ${failure?.version ?? ''}: ${failure?.details ?? ''}${inUse}`;
      const remedy =
        'correct the resource at the control plane; grpc-xds check lists all violations';
      findings.fail('resource-nacked', subject, text, remedy);
      return;
    }
    default:
      findings.fail(
        'resource-missing',
        subject,
        status === 'REQUESTED'
          ? `not received within ${describeDuration(adsMs)}`
          : (failure?.details ?? 'does not exist'),
        `add it at the control plane for node id ${JSON.stringify(bootstrap.node.id)}${hintFor(type.typeName, name)}`,
      );
  }
}

/** Istio answers a name without a port with listeners of other names. */
function hintFor(typeName: string, name: string): string {
  return typeName === 'Listener' && !/:\d+$/.test(name) ? '; names of Istio end with a port' : '';
}

function reportClusters({ clusters }: XdsConfig, { findings }: DoctorContext): void {
  for (const [name, cluster] of clusters) {
    const subject = `Cluster ${JSON.stringify(name)}`;
    if (!cluster.ok) {
      findings.fail('cluster', subject, cluster.error, 'correct the cluster at the control plane');
      continue;
    }
    const { children } = cluster.value;
    if (children.kind === 'aggregate') continue;
    const localities = children.endpoints?.priorities.flatMap((each) => each.localities) ?? [];
    const count = localities.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
    if (count > 0) continue;
    const note = children.resolutionNote;
    const text = `no usable endpoint${note === '' ? '' : `: ${note}`}`;
    const remedy =
      'check that backends run, are healthy, and are registered with the control plane';
    findings.fail('endpoints', subject, text, remedy);
  }
}
