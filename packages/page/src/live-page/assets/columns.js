// What the views of a page are, and what their columns show.

import { age, element, stateBadge } from './dom.js';
import { describeWay } from './graph-facts.js';
import { toOutline } from './outline.js';
import { counted, percentFailing } from './graph-layout.js';
import { rateTexts, traffic, trendOf } from './rates.js';

const text = (name, title) => ({ name, title, cell: (row) => row[name] ?? [] });
const state = (name, title) => ({
  name,
  title,
  cell: (row) => (row[name] ? stateBadge(row[name]) : []),
});
const time = (name, title) => ({ name, title, cell: (row) => (row[name] ? age(row[name]) : []) });

/** A text with a second line below it, such as an error. */
const withNote = (name, note, title) => ({
  name,
  title,
  cell: (row) => [
    row[name] ?? '',
    ...(row[note] ? [element('p', { class: 'note' }, row[note])] : []),
  ],
});

/** A text with further ones below it. */
const withCounts = (name, title, counts) => ({
  name,
  title,
  cell: (row) => [
    row[name] ?? '',
    ...counts(row).map((parts) => element('p', { class: 'count' }, ...[parts].flat())),
  ],
});

const button = (name, title, use, attributes = () => ({})) => ({
  name,
  title,
  cell(row) {
    const created = element(
      'button',
      { type: 'button', ...attributes(row) },
      row[name] || '(no name)',
    );
    created.addEventListener('click', () => use(row.id));
    return created;
  },
});

/** Drawn by modules that run once it is shown. */
const graph = {
  title: 'Graph',
  hasFilter: true,
  hasCall: true,
  load: async () => (await import('./graph.js')).GraphView,
};

/** The parts of the graph as a table: what each leads to is below it, what fails first. */
const topology = {
  title: 'Topology',
  view: 'graph',
  none: 'The target has no clusters: its state says why.',
  hasFilter: true,
  rowsOf: toOutline,
  columns: ({ toggle }) => [
    {
      name: 'name',
      title: 'Part',
      cell: (row) => {
        const part = row.opens === undefined ? partName(row) : groupButton(row, toggle);
        part.style.setProperty('--depth', row.depth);
        return part;
      },
    },
    {
      name: 'status',
      title: 'State',
      cell: ({ state: of, flaw, text: why }) => [
        stateBadge(of, flaw),
        ...(why ? [element('p', { class: 'count' }, why)] : []),
      ],
    },
    {
      name: 'share',
      title: 'Calls to it',
      cell: ({ ways }) => ways.map((way) => element('p', {}, describeWay(way))),
    },
    traffic,
  ],
};

function partName({ column, name }) {
  const kind = element('span', { class: 'kind' }, column);
  return element('span', { class: 'outline' }, kind, ' ', name);
}

function groupButton({ column, name, opens, isOpen }, toggle) {
  const attributes = { type: 'button', class: 'outline', 'aria-expanded': `${isOpen}` };
  const created = element('button', attributes, `${isOpen ? '▾' : '▸'} ${column} ${name}`);
  created.addEventListener('click', () => toggle(opens, !isOpen));
  return created;
}

const resources = {
  title: 'Resources',
  none: 'Nothing has been requested for the target.',
  hasFilter: true,
  columns: ({ showDetails }) => [
    text('type', 'Type'),
    button('name', 'Name', showDetails),
    state('status', 'State'),
    {
      name: 'version',
      title: 'Version',
      cell: ({ version, failure, failedVersion, unused }) => [
        version ?? 'none',
        ...(failure
          ? [
              element(
                'p',
                { class: 'note' },
                failedVersion ? `rejected ${failedVersion}: ${failure}` : failure,
              ),
            ]
          : []),
        ...(unused > 0
          ? [element('p', { class: 'hint' }, `${counted(unused, 'field')} without effect`)]
          : []),
      ],
    },
    {
      name: 'updatedAt',
      title: 'Updated',
      cell: ({ updatedAt, waitingSince }) =>
        updatedAt ? age(updatedAt) : waitingSince ? ['requested ', age(waitingSince)] : [],
    },
    text('bytes', 'Bytes'),
  ],
};

const events = {
  title: 'Events',
  none: 'Nothing has happened yet.',
  pageSize: 200,
  hasFilter: true,
  columns: () => [
    time('at', 'When'),
    state('kind', 'What'),
    text('subject', 'Of'),
    text('text', 'Details'),
  ],
};

/** The log of a command, whose lines name what they are about. */
const log = {
  ...events,
  columns: () => [time('at', 'When'), state('kind', 'What'), text('text', 'Details')],
};

const servers = {
  title: 'Management servers',
  none: 'The bootstrap has no management server.',
  columns: () => [
    text('server', 'Management server'),
    state('state', 'State'),
    time('connectedAt', 'Stream opened'),
    text('acked', 'ACKs'),
    text('nacked', 'NACKs'),
    time('lastAt', 'Last resource'),
    withNote('retry', 'error', 'Next attempt'),
  ],
};

const routes = {
  title: 'Routes',
  none: 'The target has no routes: its state says why.',
  hasFilter: true,
  hasCall: true,
  columns: () => [
    text('index', 'Index'),
    text('name', 'Name'),
    text('match', 'Matches'),
    text('action', 'Action'),
    traffic,
  ],
};

const certificates = {
  title: 'Certificates',
  none: 'No certificate provider is in use.',
  columns: () => [
    text('instance', 'Instance'),
    text('plugin', 'Plugin'),
    text('name', 'Name'),
    text('identity', 'Identity'),
    text('roots', 'Authorities'),
  ],
};

const types = {
  title: 'Subscriptions',
  none: 'Nothing has been requested yet.',
  columns: () => [
    text('type', 'Type'),
    state('state', 'State'),
    text('sent', 'Sent'),
    withNote('acked', 'rejection', 'Acknowledged'),
    text('names', 'Requested'),
  ],
};

const served = {
  title: 'Served resources',
  none: 'No resource is served.',
  hasFilter: true,
  columns: () => [text('type', 'Type'), text('name', 'Name'), text('version', 'Version')],
};

const connections = {
  title: 'Connections',
  none: 'There is no client at the moment.',
  columns: () => [
    text('node', 'Node'),
    text('stream', 'Stream'),
    text('agent', 'User agent'),
    text('version', 'Version'),
    text('peer', 'Address'),
    time('connectedAt', 'Connected'),
  ],
};

const upstream = {
  title: 'Management servers',
  none: 'The relay has no management server.',
  columns: () => [withNote('server', 'error', 'Server'), state('state', 'State')],
};

const relayed = {
  title: 'Relayed resources',
  none: 'No client has requested a resource.',
  columns: () => [
    text('type', 'Type'),
    text('names', 'Requested'),
    text('resources', 'Resources'),
    text('errors', 'Errors'),
    text('absent', 'Do not exist'),
  ],
};

const loads = {
  title: 'Reported calls',
  none: 'No client has reported its load.',
  columns: () => [
    text('node', 'Node'),
    text('issued', 'Issued'),
    text('succeeded', 'Succeeded'),
    text('failed', 'Failed'),
    text('dropped', 'Dropped'),
  ],
};

/** A number of a few digits, aligned with those above it. */
const numeric = (title, valueOf) => ({
  name: 'number',
  title,
  cell: (row) => {
    const value = valueOf(row);
    return value === undefined ? [] : `${Number(value.toPrecision(value < 100 ? 2 : 3))}`;
  },
});

/** Whether anything is wrong, and how many calls there are. */
function describeTarget(row) {
  const { state: of, flaw, reason, waiting, heldBack = [], sameTarget } = row;
  const { listener, routeConfig, clusters } = row;
  const line = (text) => element('span', { class: 'path' }, text);
  const texts = rateTexts(row);
  const others =
    'No rates: the calls of channels with bootstraps of their own are of this target, too: ';
  const parts = [
    stateBadge(of, flaw),
    ...(reason ? [`${reason}${waiting > 1 ? ` (${waiting} resources are pending)` : ''}`] : []),
    ...(texts.length === 0
      ? []
      : [
          element(
            'span',
            {},
            `${texts.join(', ')}, ${percentFailing(row)} % fail `,
            ...trendOf(row),
          ),
        ]),
    ...heldBack.map((text) => line(`Held back: ${text}`)),
    ...(sameTarget ? [line(`${others}${sameTarget}`)] : []),
    ...(listener
      ? [line(`Listener ${listener} → routes ${routeConfig} → ${counted(clusters, 'cluster')}`)]
      : []),
  ];
  return parts.flatMap((part) => [part, ' ']);
}

const list = (name, title) => ({
  name,
  title,
  cell: (row) => (row[name] ?? []).map((line) => element('p', {}, line)),
});

const differences = {
  title: 'Differences',
  none: 'There are no differences.',
  hasFilter: true,
  columns: () => [text('fact', 'What'), text('usual', 'Most have'), list('others', 'Differs')],
};

const chosenButton = (name, title, choose) =>
  button(name, title, choose, ({ isChosen }) => ({
    'aria-current': isChosen ? 'true' : undefined,
  }));

/** What one of several has otherwise than the others, and the verdict of all. */
const describeDifferences = ({ differs = [], verdict }) => [
  ...differs.map((line) => element('span', { class: 'path' }, `Differs: ${line}`)),
  ...(verdict ? [element('span', { class: 'path' }, `All: ${verdict}`)] : []),
];

const services = {
  title: 'Services',
  none: 'There are no Services in the namespaces that are watched.',
  hasFilter: true,
  columns: () => [
    withNote('name', 'problems', 'Service'),
    text('ports', 'Ports'),
    state('state', 'State'),
    withCounts('endpoints', 'Endpoints', ({ zones }) => (zones ? [zones] : [])),
    text('clients', 'Clients'),
  ],
};

const grpcRoutes = {
  title: 'GRPCRoutes',
  none: 'There are no GRPCRoutes, or their kind is not installed.',
  hasFilter: true,
  columns: () => [
    withNote('name', 'problems', 'GRPCRoute'),
    text('services', 'Services'),
    state('accepted', 'Accepted'),
    state('resolved', 'References'),
  ],
};

const watches = {
  title: 'Watches',
  none: 'Nothing is watched.',
  columns: () => [
    text('resource', 'Kind'),
    text('namespace', 'Namespace'),
    state('state', 'State'),
    text('objects', 'Objects'),
    text('version', 'Version'),
    text('age', 'Confirmed'),
    withNote('retry', 'error', 'Next attempt'),
  ],
};

/** The list of clients of a server. @param last The last column. */
const clients = (last) => ({
  name: 'clients',
  title: 'Clients',
  noun: 'client',
  columns: (choose) => [chosenButton('node', 'Node', choose), state('state', 'State'), last],
  describe: ({ state: of, reason, identity, about, method, connectedAt, ...compared }) => [
    stateBadge(of),
    ...(reason ? [' ', reason] : []),
    ...(about ? [element('span', { class: 'path' }, about)] : []),
    ...(identity ? [element('span', { class: 'path' }, identity)] : []),
    ...describeDifferences(compared),
    element('span', { class: 'path' }, `${method}, connected `, age(connectedAt)),
  ],
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
      columns: (choose) => [
        {
          name: 'target',
          title: 'Target',
          cell: (row) => [
            chosenButton('target', 'Target', choose).cell(row),
            element('div', {}, stateBadge(row.state, row.flaw)),
          ],
        },
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
      topology,
      resources,
      routes,
      servers,
      certificates,
      events,
    },
  },
  'control-plane': {
    overview: clients(text('peer', 'Address')),
    // Without a channel there is no call to explain.
    tabs: { graph: { ...graph, hasCall: false }, types, served, events: log },
  },
  kubernetes: {
    overview: clients(text('place', 'Namespace, zone')),
    tabs: { types, services, routes: grpcRoutes, watches, events: log },
  },
  relay: {
    overview: clients(text('stream', 'Stream')),
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
