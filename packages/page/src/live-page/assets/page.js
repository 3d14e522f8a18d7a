import { PAGES } from './columns.js';
import { GraphView } from './graph.js';
import { NOTICES, showAnswers, showLinks, showNotice, showOthers } from './answers.js';
import { ConnectionState } from './connection-state.js';
import { showResource } from './details.js';
import {
  breakable,
  byId,
  draw,
  element,
  lookOf,
  refreshAges,
  showDialog,
  worstLook,
} from './dom.js';
import { showEvent } from './event-details.js';
import { readFragment, readGroups, writeFragment, writeGroups } from './page-link.js';
import { clearStatus, showStatus } from './status-messages.js';
import { get, openStream } from './stream.js';
import { Table } from './table.js';
import { Timeline } from './timeline.js';
import { ViewStates } from './view-state.js';

const AGE_INTERVAL_MS = 1000;
/** The time between two looks at what changes without a message: the line of events, and the states of other pages. */
const REFRESH_INTERVAL_MS = 5000;
/** The shortest time between two announcements to screen readers. */
const ANNOUNCE_INTERVAL_MS = 5000;
/** The id of the row of all targets together. */
const ALL = '#all';

const { token } = readFragment(location.hash).parts;
const views = new ViewStates();
const connection = new ConnectionState();
/** The groups of the graph that a person has opened. */
let opened = new Set();
const page = PAGES[document.documentElement.dataset.kind];
const tabNames = Object.keys(page.tabs);
const overview = new Table(
  { label: page.overview.title, ...page.overview },
  { show: choose, turn: connect },
);
/** What the process says of itself. */
let about = '';
/** The pages of other processes: their URLs by their names, and the states of those that are known. */
let otherPages = {};
let otherStates = [];
/** What the tab shows: one of these. */
let table;
let graph;
/** The line of events; undefined on a page without one. */
let timeline;
let chosen = '';
let tab = '';
/** The event after which the graph is shown, and the one whose details are; empty for none. */
let at = '';
let shownEvent = '';
/** How often the details of an event were requested: only those of the last one are shown. */
let lookups = 0;
/** Reads what a link names besides views; undefined once that is done. It waits for the process to accept the token. */
let lookUpLink;
/** The call whose way is shown, as it was asked for; undefined without one. */
let asked;
/** What is missing of the graph after the event. */
let thenNote = '';
let filter = '';
let close = () => {};
let lastStates = new Map();

byId('login').addEventListener('submit', (event) => {
  event.preventDefault();
  const { parts } = readFragment(location.hash);
  const typed = byId('token').value.trim();
  history.replaceState(null, '', writeFragment({ ...parts, token: typed }));
  location.reload();
});
globalThis.addEventListener('hashchange', followAddress);
start();

function start() {
  byId('overview-title').textContent = page.overview.title;
  byId('overview').replaceChildren(...overview.elements);
  createTabs();
  addControls();
  if (page.hasAnswers) createTimeline();
  byId('overview-fold').open = globalThis.matchMedia('(min-width: 60rem)').matches;
  showLink(readAddress());
  unlessPaused(AGE_INTERVAL_MS, () => refreshAges(document));
  unlessPaused(REFRESH_INTERVAL_MS, () => {
    timeline?.refresh();
    void askLinks();
  });
}

function unlessPaused(intervalMs, act) {
  setInterval(() => {
    if (!connection.isPaused) act();
  }, intervalMs);
}

/** Returns the parts of the address, and names those that cannot be used. */
function readAddress() {
  const { parts, problems } = readFragment(location.hash, tabNames);
  if (problems.length === 0) clearStatus('link');
  else showStatus('link', `Parts of the link are not used: ${problems.join('; ')}.`);
  return parts;
}

/** Shows what the address says that the tab has now, by a link that was pasted or the history of the tab. */
function followAddress() {
  const { parts, isLink } = readFragment(location.hash);
  if (isLink && parts.token !== '' && parts.token !== token) location.reload();
  else if (isLink) showLink(readAddress());
  // Such as the link that skips to the view.
  else showAddress();
}

function showLink(parts) {
  byId('details').close();
  lookups++;
  leaveThen();
  opened = readGroups(parts.opened);
  ({ target: chosen, at, event: shownEvent } = parts);
  showTab(parts.view || tabNames[0], parts.filter);
  lookUpLink = () => {
    if (shownEvent !== '') void openEvent(shownEvent);
    if (at !== '') void showThen(at);
  };
  if (!byId('content').hidden) showContent();
}

/** Shows the views: the token is right. */
function showContent() {
  byId('content').hidden = false;
  const lookUp = lookUpLink;
  lookUpLink = undefined;
  lookUp?.();
}

function showLogin() {
  close();
  byId('content').hidden = true;
  byId('login').hidden = false;
  connection.set(token === '' ? 'The URL has no token' : 'The token is wrong');
}

function createTabs() {
  const tabs = Object.entries(page.tabs).map(([name, { title }]) => {
    const created = element(
      'button',
      { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': 'panel' },
      title,
    );
    created.addEventListener('click', () => showTab(name));
    return created;
  });
  byId('tabs').replaceChildren(...tabs);
  byId('tabs').addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const names = shownTabs();
    const next = names.at((names.indexOf(tab) + step) % names.length);
    showTab(next);
    byId(`tab-${next}`).focus();
  });
}

function addControls() {
  byId('pause').addEventListener('click', () => {
    byId('pause').setAttribute('aria-pressed', !connection.isPaused);
    if (connection.isPaused) {
      connection.resume();
      connect();
      askAgain();
    } else {
      close();
      connection.pause();
    }
  });
  let typing;
  byId('filter').addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      filter = byId('filter').value;
      showFirst();
    }, 200);
  });
  byId('find').addEventListener('input', showOverview);
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.matches('input, textarea, select');
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    byId('overview-fold').open = true;
    byId('find').focus();
  });
  byId('copy-link').addEventListener('click', () => void copyLink());
  byId('details').addEventListener('close', () => {
    shownEvent = '';
    showAddress();
  });
  byId('call')
    .querySelector('form')
    .addEventListener('submit', (event) => {
      event.preventDefault();
      void explain({ method: byId('method').value, headers: byId('headers').value });
    });
}

function createTimeline() {
  timeline = new Timeline(([newest, ...others]) => {
    if (others.length === 0) openListed(newest.id);
    else listEvents(newest.id);
  });
  byId('timeline').replaceChildren(timeline.element);
}

/** Opens an event of the list. Among those of all targets, it is looked up by its own. */
function openListed(id) {
  const { target } = views.get('events').rows.find((row) => row.id === id) ?? {};
  if (target !== undefined && target !== chosen) choose(target);
  void openEvent(id);
}

/** Lists the events, at the one with an id. */
function listEvents(id) {
  const known = views.get('events');
  showTab('events');
  table.update(known, '');
  byId('view').querySelector(`[data-id="${id}"] button`)?.focus();
}

/** @param text The filter that it begins with. */
function showTab(name, text = '') {
  [tab, filter] = [name, text];
  const view = page.tabs[name];
  byId('filter').value = text;
  byId('then').classList.toggle('other-view', name !== 'graph');
  byId('search').hidden = !view.hasFilter;
  byId('panel').setAttribute('aria-labelledby', `tab-${name}`);
  for (const other of byId('tabs').children) {
    const isSelected = other.id === `tab-${name}`;
    other.setAttribute('aria-selected', isSelected);
    other.tabIndex = isSelected ? 0 : -1;
  }
  byId('explanation').hidden = true;
  asked = undefined;
  graph = table = undefined;
  const label = view.title;
  if (view.isPicture) graph = new GraphView(label, { toggle, choose, askAgain });
  else {
    const show = name === 'events' ? openListed : showDetails;
    table = new Table({ label, ...view }, { show, turn: connect });
  }
  byId('view').replaceChildren(...(graph ? [graph.element] : table.elements));
  graph?.update(views.get(tab).rows);
  showWhatIsMissing();
  connect();
}

/** Requests the first rows of a view. */
function showFirst() {
  if (table !== undefined) table.offset = 0;
  connect();
}

function choose(id) {
  chosen = id;
  clearStatus('target');
  byId('explanation').hidden = true;
  asked = undefined;
  leaveThen();
  graph?.light(undefined);
  const { views: names } = chosenRow() ?? {};
  if (names === undefined || names.includes(tab)) showFirst();
  else showTab(names[0]);
}

function toggle(id, isOpen) {
  if (isOpen) opened.add(id);
  else opened.delete(id);
  connect();
}

/** Reads the views that are shown. A paused page reads them once. */
function connect() {
  close();
  showAddress();
  const query = [
    ['view', `${page.overview.name}:${overview.offset}`],
    ['view', `${tab}:${table?.offset ?? 0}`],
    ...(timeline !== undefined && tab !== 'events' ? [['view', 'events:0']] : []),
    ...(at === '' ? [] : [['at', at]]),
    ...(page.hasAnswers ? [['view', NOTICES]] : []),
    ['target', chosen],
    ['filter', filter],
    ...(opened.size > 0 ? [['opened', writeGroups(opened)]] : []),
  ];
  close = openStream(query, token, {
    onMessage(message) {
      connection.setLive();
      if (message.about !== undefined) {
        showTitle(message.about);
        showContent();
      }
      clearStatus('request');
      const changed = views.apply(message);
      // Before something else is chosen, which opens another stream.
      if (connection.isPaused) close();
      show(message.revision === 1 ? undefined : changed);
    },
    onState: (text) => connection.set(text),
    onLogin: showLogin,
    onRefusal: showRefusal,
  });
}

/** @param links Pages of other processes, whose states are asked for from then on. */
function showTitle({ title, links = {} }) {
  about = title;
  otherPages = links;
  void askLinks();
}

async function askLinks() {
  showLinks(otherPages, otherStates);
  if (Object.keys(otherPages).length === 0) return;
  otherStates = await get('/api/links', {}, token).then(
    (response) => response.json(),
    () => [],
  );
  showLinks(otherPages, otherStates);
}

/** What the page shows, as a link has it. */
function linkState() {
  const state = { target: chosen, view: tab, filter, at, event: shownEvent };
  return { ...state, opened: writeGroups(opened) };
}

function showAddress() {
  history.replaceState(null, '', writeFragment({ token, ...linkState() }));
}

/** @param changed The names of the views that have changed; all by default. */
function show(changed = [page.overview.name, tab, 'events', NOTICES]) {
  if (changed.includes(NOTICES)) showNotice(views.get(NOTICES).rows, choose);
  if (changed.includes(page.overview.name)) showOverview();
  if (changed.includes(tab)) showView();
  if (changed.includes('events')) timeline?.update(views.get('events').rows);
  showWhatIsMissing();
}

function showRefusal(text) {
  showStatus('request', `The request was refused: ${text}.`);
  // What was requested can be chosen again.
  showContent();
}

function showOverview() {
  const view = views.get(page.overview.name);
  const { rows } = view;
  // Of a list of several pages, the chosen one may be on another.
  const isNone = chosen === '' || rows.length === view.total;
  if (chosenRow() === undefined && isNone && rows.length > 0 && view.offset === 0) {
    chooseInstead(rows[0]);
  }
  const found = byId('find').value.toLowerCase();
  const shown = rows
    .filter((row) => nameOf(row).toLowerCase().includes(found))
    .map((row) => ({ ...row, isChosen: row.id === chosen }));
  overview.update({ ...view, shown }, describeNone(), '');
  // That of all targets together, if there are several, where the headline does not say it.
  const { reason } = (chosen !== ALL && rows.find(({ id }) => id === ALL)) || {};
  const title = [page.overview.title, reason].filter(Boolean).join(': ');
  const { tone, mark } = worstLook(rows) ?? {};
  const isWrong = tone === 'bad' || tone === 'busy';
  draw(byId('overview-title'), [title, isWrong && tone, isWrong && mark], () => [
    isWrong ? element('span', { class: `badge ${tone}`, 'data-mark': mark }, title) : title,
  ]);
  showChosen(chosenRow());
  announceChanges(rows);
}

/** Shows what is known of the row that is chosen; undefined if it is not there. */
function showChosen(row) {
  const { noun, describe } = page.overview;
  byId('about').textContent = [row?.nodeId, about].filter(Boolean).join(' · ');
  document.title = byId('about').textContent;
  const name = row === undefined ? `No ${noun}` : nameOf(row);
  if (byId('subject').title !== name) byId('subject').replaceChildren(...breakable(name));
  byId('subject').title = name;
  byId('verdict').replaceChildren(...(row === undefined ? [describeNone()] : describe(row)));
  byId('headline').dataset.tone = row === undefined ? '' : lookOf(row.state, row.flaw).tone;
  if (page.hasAnswers) {
    showAnswers(row);
    const { rows } = views.get(page.overview.name);
    const fails = (each) => lookOf(each.state, each.flaw).tone === 'bad';
    const isOther = ({ id }) => chosen !== ALL && id !== ALL && id !== row?.id;
    showOthers(
      rows.filter((each) => isOther(each) && fails(each)),
      choose,
    );
  }
  timeline?.showCalls(row);
  showTabs(row?.views);
}

/** Hides the tabs of views that have nothing of what is chosen, but for the one that a link names. */
function showTabs(names = tabNames) {
  for (const name of tabNames) {
    byId(`tab-${name}`).hidden = !names.includes(name) && name !== tab;
  }
}

function shownTabs() {
  return tabNames.filter((name) => !byId(`tab-${name}`).hidden);
}

function chosenRow() {
  return views.get(page.overview.name).rows.find(({ id }) => id === chosen);
}

function nameOf(row) {
  return row.target ?? row.node;
}

function describeNone() {
  const { name, noun } = page.overview;
  return views.get(name).total === 0
    ? `There is no ${noun} at the moment.`
    : `The ${noun} is not in this part of the list.`;
}

/** Chooses one because the one that was is not there; at first none was. */
function chooseInstead(row) {
  const missing = chosen;
  if (missing === '' && page.overview.hasFirst) {
    // The views without a target are those of the first one already.
    chosen = row.id;
    showAddress();
    return;
  }
  choose(row.id);
  if (missing === '') return;
  const { noun } = page.overview;
  showStatus('target', `The ${noun} ${missing} is not there: what is shown is ${nameOf(row)}.`);
}

/** Says why there is no graph, and has the form of a call only where one can be explained. */
function showWhatIsMissing() {
  const isEmpty = views.has(tab) && graph?.hasCalls === false && filter === '';
  const isMissing = chosenRow() === undefined || isEmpty;
  byId('call').hidden = !page.tabs[tab].hasCall || isMissing || chosen === ALL;
  graph?.setReason(reasonOfNothing());
}

function reasonOfNothing() {
  if (!views.has(tab)) return 'Not received yet.';
  const row = chosenRow();
  if (row === undefined) return describeNone();
  if (at !== '') return thenNote || 'The graph of then is not there yet.';
  // What is not about calls is not about the one that is chosen either.
  if (!page.tabs[tab].hasCall) return views.get(tab).rows.length > 0 ? '' : reasonOfNone();
  const { state, reason } = row;
  const found = filter === '' ? '' : `Nothing has "${filter}" in its name. `;
  return `${found}${nameOf(row)} is ${state}${reason ? `: ${reason}` : ''}.`;
}

function showView() {
  const view = views.get(tab);
  graph?.update(view.rows);
  table?.update(view, reasonOfNone());
}

/** Why a table has no rows. */
function reasonOfNone() {
  return filter === '' ? page.tabs[tab].none : `Nothing has "${filter}" in it.`;
}

let announcement;
let announced = '';

/** Announces what is in another state than before, not more often than can be listened to. */
function announceChanges(rows) {
  const states = new Map(rows.map((row) => [row.id, `${nameOf(row)}: ${row.state}`]));
  const changes = [...states].filter(
    ([id, text]) => lastStates.has(id) && lastStates.get(id) !== text,
  );
  lastStates = states;
  if (changes.length === 0) return;
  announced = changes
    .slice(0, 3)
    .map(([, change]) => change)
    .join('; ');
  announcement ??= setTimeout(() => {
    announcement = undefined;
    byId('announcements').textContent = announced;
  }, ANNOUNCE_INTERVAL_MS);
}

/** @param call It is explained again when the graph has changed. */
async function explain(call) {
  asked = call;
  const query = { target: chosen, ...call, filter, opened: writeGroups(opened) };
  const output = byId('explanation');
  try {
    const { text, way } = await (await get('/api/explain', query, token)).json();
    // Another call was asked for meanwhile, or another target chosen.
    if (asked !== call) return;
    const other = graph && way && otherTime();
    output.textContent = [text, connection.readNote(), other].filter(Boolean).join('\n\n');
    graph?.light(other ? undefined : way, call.method);
  } catch (error) {
    if (asked !== call) return;
    output.textContent =
      error.status === 431 ? 'The headers are too long for a request.' : error.message;
  }
  output.hidden = false;
}

function askAgain() {
  if (asked !== undefined) void explain(asked);
}

/** Why the way of a call of now is not in the picture; undefined while the picture is that of now. */
function otherTime() {
  if (at !== '') return 'The way is that of now, and the picture is not: it is lit back there.';
  if (connection.isPaused)
    return 'The picture is that of the pause: the way is lit once updates go on.';
  return undefined;
}

async function getEvent(id) {
  return await (await get('/api/event', { target: chosen, id }, token)).json();
}

async function openEvent(id) {
  const lookup = ++lookups;
  try {
    const event = await getEvent(id);
    if (lookup !== lookups) return;
    shownEvent = id;
    showAddress();
    clearStatus('event');
    showReadNote(connection.readNote());
    showEvent(event, page.tabs.graph && (() => void showThen(id)));
  } catch (error) {
    if (lookup !== lookups) return;
    shownEvent = '';
    showAddress();
    showStatus('event', describeMissing('The event', error));
  }
}

/** Shows the graph as it was after an event. */
async function showThen(id) {
  at = id;
  try {
    const event = await getEvent(id);
    // The present was chosen meanwhile, or another time.
    if (at !== id) return;
    clearStatus('then');
    showThenBanner(event);
    showTab('graph', tab === 'graph' ? filter : '');
  } catch (error) {
    if (at !== id) return;
    leaveThen();
    connect();
    const missing = describeMissing('The event after which the graph was to be shown', error);
    showStatus('then', `${missing} What is shown is the present.`);
  }
}

function describeMissing(subject, error) {
  return error.status === 404
    ? `${subject} is no longer kept.`
    : `${subject} cannot be read: ${error.message}.`;
}

function showThenBanner({ at: time, kind, subject, state }) {
  thenNote = state.note;
  const back = element('button', { type: 'button' }, 'Back to now');
  back.addEventListener('click', () => {
    leaveThen();
    connect();
    askAgain();
    byId('tab-graph').focus();
  });
  const after = `${time}, after ${kind} ${subject}`;
  byId('then').replaceChildren(
    state.isKnown ? `The graph is as it was at ${after}. ` : `The graph of ${after} is not known. `,
    ...(thenNote === '' ? [] : [element('span', { class: 'note' }, ` ${thenNote} `)]),
    back,
  );
  byId('then').hidden = false;
  timeline?.showMoment(at);
}

function leaveThen() {
  [at, thenNote] = ['', ''];
  byId('then').hidden = true;
  timeline?.showMoment('');
}

function showReadNote(text) {
  byId('details-moment').textContent = text;
}

/** Copies the link, or shows it to be copied by hand where a browser does not allow that. */
async function copyLink() {
  const link = `${location.origin}/${writeFragment(linkState())}`;
  try {
    await navigator.clipboard.writeText(link);
    showStatus('copied', 'Link copied');
  } catch {
    showReadNote('');
    const attributes = { tabindex: '0', role: 'region', 'aria-label': 'Link' };
    showDialog('Link', element('pre', attributes, link));
  }
}

async function showDetails(id) {
  try {
    const resource = await (await get('/api/resource', { target: chosen, id }, token)).json();
    clearStatus('resource');
    showReadNote(connection.readNote());
    showResource(resource);
  } catch (error) {
    showStatus('resource', describeMissing('The resource', error));
  }
}
