// What the views of a page are, and what their columns show.

import { age, breakable, element, stateBadge, timeText } from './dom.js';
import { counted, number, percentFailing } from './graph-layout.js';
import { rateTexts, traffic } from './rates.js';

const badge = (row, name) => (row[name] ? stateBadge(row[name]) : []);
const time = (row, name) => (row[name] ? age(row[name]) : []);
const line = (name, ...parts) => element('p', { class: name }, ...parts);

/** A text with a second line below it, such as an error. */
const withNote = (note) => (row, name) => [
  row[name] ?? '',
  ...(row[note] ? [line('note', row[note])] : []),
];

/** A name that shows more of it. */
function button(row, name, { show }) {
  const current = row.isChosen ? 'true' : undefined;
  const attributes = { type: 'button', 'aria-current': current };
  const created = element('button', attributes, ...breakable(row[name] || '(no name)'));
  created.addEventListener('click', () => show(row.id));
  return created;
}

/** A text, without a cell that shows more. */
const text = (row, name) => row[name] ?? [];

/** Columns by their names: their titles and, where they show more than a text, their cells. */
const columns = (titles, cells = {}) =>
  Object.entries(titles).map(([name, title]) => ({ name, title, cell: cells[name] ?? text }));

const graph = { title: 'Graph', isPicture: true, hasFilter: true, hasCall: true };

const resources = {
  title: 'Resources',
  none: 'Nothing has been requested for the target.',
  hasFilter: true,
  columns: columns(
    {
      type: 'Type',
      name: 'Name',
      status: 'State',
      version: 'Version',
      updatedAt: 'Updated',
      bytes: 'Bytes',
    },
    {
      name: button,
      status: badge,
      version: ({ version, failure, failedVersion, unused }) => [
        version ?? 'none',
        ...(failure
          ? [line('note', failedVersion ? `rejected ${failedVersion}: ${failure}` : failure)]
          : []),
        ...(unused > 0 ? [line('hint', `${counted(unused, 'field')} without effect`)] : []),
      ],
      updatedAt: ({ updatedAt, waitingSince }) =>
        updatedAt ? age(updatedAt) : waitingSince ? ['requested ', age(waitingSince)] : [],
    },
  ),
};

const events = {
  title: 'Events',
  none: 'Nothing has happened yet.',
  pageSize: 200,
  hasFilter: true,
  columns: columns(
    { at: 'When', kind: 'What', subject: 'Of', text: 'Details' },
    {
      at: ({ at }) => timeText(at),
      kind: badge,
      subject: (row, name, actions) =>
        button({ ...row, subject: row.subject || row.kind }, name, actions),
    },
  ),
};

/** The log of a command, whose lines name what they are about. */
const log = {
  ...events,
  columns: columns({ at: 'When', kind: 'What', text: 'Details' }, { at: time, kind: badge }),
};

const servers = {
  title: 'Management servers',
  none: 'The bootstrap has no management server.',
  columns: columns(
    {
      server: 'Management server',
      state: 'State',
      connectedAt: 'Stream opened',
      acked: 'ACKs',
      nacked: 'NACKs',
      lastAt: 'Last resource',
      retry: 'Next attempt',
    },
    { state: badge, connectedAt: time, lastAt: time, retry: withNote('error') },
  ),
};

const routes = {
  title: 'Routes',
  none: 'The target has no routes: its state says why.',
  hasFilter: true,
  hasCall: true,
  columns: [
    ...columns({ index: 'Index', name: 'Name', match: 'Matches', action: 'Action' }),
    traffic,
  ],
};

const certificates = {
  title: 'Certificates',
  none: 'No certificate provider is in use.',
  columns: columns({
    instance: 'Instance',
    plugin: 'Plugin',
    name: 'Name',
    identity: 'Identity',
    roots: 'Authorities',
  }),
};

const types = {
  title: 'Subscriptions',
  none: 'Nothing has been requested yet.',
  columns: columns(
    { type: 'Type', state: 'State', sent: 'Sent', acked: 'Acknowledged', names: 'Requested' },
    { state: badge, acked: withNote('rejection') },
  ),
};

const served = {
  title: 'Served resources',
  none: 'No resource is served.',
  hasFilter: true,
  columns: columns({ type: 'Type', name: 'Name', version: 'Version' }),
};

const connections = {
  title: 'Connections',
  none: 'There is no client at the moment.',
  columns: columns(
    {
      node: 'Node',
      stream: 'Stream',
      agent: 'User agent',
      version: 'Version',
      peer: 'Address',
      connectedAt: 'Connected',
    },
    { connectedAt: time },
  ),
};

const upstream = {
  title: 'Management servers',
  none: 'The relay has no management server.',
  columns: columns(
    { server: 'Server', state: 'State' },
    { server: withNote('error'), state: badge },
  ),
};

const relayed = {
  title: 'Relayed resources',
  none: 'No client has requested a resource.',
  columns: columns({
    type: 'Type',
    names: 'Requested',
    resources: 'Resources',
    errors: 'Errors',
    absent: 'Do not exist',
  }),
};

const loads = {
  title: 'Reported calls',
  none: 'No client has reported its load.',
  columns: columns({
    node: 'Node',
    issued: 'Issued',
    succeeded: 'Succeeded',
    failed: 'Failed',
    dropped: 'Dropped',
  }),
};

/** A number of a few digits, aligned with those above it. */
const numeric = (title, valueOf) => ({
  name: 'number',
  title,
  cell: (row) => {
    const value = valueOf(row);
    return value === undefined ? [] : number(value);
  },
});

const path = (...parts) => element('span', { class: 'path' }, ...parts);

/** Whether anything is wrong, and how many calls there are. */
function describeTarget(row) {
  const { state, flaw, reason, waiting, heldBack = [], sameTarget } = row;
  const { listener, routeConfig, clusters } = row;
  const window = `last ${row.seconds ?? 10}\u00a0s`;
  const rates = `${rateTexts(row).join(', ')}, ${percentFailing(row)} % fail (${window})`;
  const pending = waiting > 1 ? ` (${waiting} resources are pending)` : '';
  const others =
    'No rates: the calls of channels with bootstraps of their own are of this target, too: ';
  const parts = [
    stateBadge(state, flaw),
    reason && element('span', { class: 'reason' }, reason, pending),
    row.rate !== undefined && element('span', { class: 'rates' }, rates),
    ...heldBack.map((text) => path(`Held back: ${text}`)),
    sameTarget && path(`${others}${sameTarget}`),
    listener &&
      path(`Listener ${listener} → routes ${routeConfig} → ${counted(clusters, 'cluster')}`),
  ];
  return parts.filter(Boolean).flatMap((part) => [part, ' ']);
}

const differences = {
  title: 'Differences',
  none: 'There are no differences.',
  hasFilter: true,
  columns: columns(
    { fact: 'What', usual: 'Most have', others: 'Differs' },
    { others: ({ others = [] }) => others.map((text) => element('p', {}, text)) },
  ),
};

const services = {
  title: 'Services',
  none: 'There are no Services in the namespaces that are watched.',
  hasFilter: true,
  columns: columns(
    {
      name: 'Service',
      ports: 'Ports',
      state: 'State',
      endpoints: 'Endpoints',
      clients: 'Clients',
    },
    {
      name: withNote('problems'),
      state: badge,
      endpoints: ({ endpoints = '', zones }) => [
        endpoints,
        ...(zones ? [line('count', zones)] : []),
      ],
    },
  ),
};

const grpcRoutes = {
  title: 'GRPCRoutes',
  none: 'There are no GRPCRoutes, or their kind is not installed.',
  hasFilter: true,
  columns: columns(
    { name: 'GRPCRoute', services: 'Services', accepted: 'Accepted', resolved: 'References' },
    { name: withNote('problems'), accepted: badge, resolved: badge },
  ),
};

const watches = {
  title: 'Watches',
  none: 'Nothing is watched.',
  columns: columns(
    {
      resource: 'Kind',
      namespace: 'Namespace',
      state: 'State',
      objects: 'Objects',
      version: 'Version',
      age: 'Confirmed',
      retry: 'Next attempt',
    },
    { state: badge, retry: withNote('error') },
  ),
};

/** The list of clients of a server. @param last The name and the title of the last column. */
const clients = (last) => ({
  name: 'clients',
  title: 'Clients',
  noun: 'client',
  columns: columns({ node: 'Node', state: 'State', ...last }, { node: button, state: badge }),
  describe: ({ state, reason, identity, about, method, connectedAt, differs = [], verdict }) =>
    [
      stateBadge(state),
      ...(reason ? [' ', reason] : []),
      about && path(about),
      identity && path(identity),
      // What it has otherwise than the others, and what all have.
      ...differs.map((text) => path(`Differs: ${text}`)),
      verdict && path(`All: ${verdict}`),
      path(`${method}, connected `, age(connectedAt)),
    ].filter(Boolean),
});

/**
 * The pages by what they are about: the list that the others depend on, and the views of what is chosen in it. One with `hasFirst`
 * sends the views of the first of the list while none is chosen.
 */
export const PAGES = {
  client: {
    overview: {
      name: 'targets',
      title: 'Targets',
      noun: 'target',
      hasFirst: true,
      columns: [
        ...columns(
          { target: 'Target' },
          {
            target: (row, ...rest) => [
              button(row, ...rest),
              element('div', {}, stateBadge(row.state, row.flaw)),
            ],
          },
        ),
        numeric('Calls/s', ({ rate }) => rate),
        numeric('Fails %', (row) => row.rate && percentFailing(row)),
        numeric('p50 ms', ({ p50 }) => p50),
        numeric('p99 ms', ({ p99 }) => p99),
      ],
      describe: describeTarget,
    },
    hasAnswers: true,
    tabs: {
      graph,
      resources,
      routes,
      servers,
      certificates,
      events,
    },
  },
  'control-plane': {
    overview: clients({ peer: 'Address' }),
    // Without a channel there is no call to explain.
    tabs: { graph: { ...graph, hasCall: false }, types, served, events: log },
  },
  kubernetes: {
    overview: clients({ place: 'Namespace, zone' }),
    tabs: { types, services, routes: grpcRoutes, watches, events: log },
  },
  relay: {
    overview: clients({ stream: 'Stream' }),
    tabs: {
      types,
      graph: { ...graph, hasCall: false },
      connections,
      differences,
      upstream,
      relayed,
      loads,
      events: log,
    },
  },
};
