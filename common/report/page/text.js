// Numbers as text, and elements of the page. What comes from a run (names, paths, messages) goes into the page as text
// only, never as HTML.

const NONE = '–';

function isNumber(value) { return typeof value === 'number' && Number.isFinite(value); }

// Three significant digits, more only where the whole part has more.
function digits(value) {
  if (!isNumber(value)) return NONE;
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return Number(value.toPrecision(3)).toExponential();
  if (size >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

function scaled(value, step, units) {
  if (!isNumber(value)) return NONE;
  let unit = 0;
  while (Math.abs(value) >= step && unit + 1 < units.length) {
    value /= step;
    unit += 1;
  }
  return `${digits(value)} ${units[unit]}`;
}

const inBytes = (value) => scaled(value, 1000, ['B', 'kB', 'MB', 'GB', 'TB', 'PB']);
const inUs = (value) => isNumber(value) && Math.abs(value) >= 1e6 ? inSeconds(value * 1e-6)
  : scaled(value, 1000, ['µs', 'ms']);
const inPercent = (value) => isNumber(value) ? `${digits(value * 100)} %` : NONE;
const inAccuracy = (value) => isNumber(value) ? `${(value * 100).toFixed(2)} %` : NONE;
const inCount = (value) => isNumber(value) ? value.toLocaleString('en-US') : NONE;
const inTimes = (value) => isNumber(value) ? `${digits(value)} ×` : NONE;

function inSeconds(value) {
  if (!isNumber(value)) return NONE;
  if (Math.abs(value) < 1) return inUs(value * 1e6);
  if (Math.abs(value) < 120) return `${digits(value)} s`;
  const whole = Math.round(value);
  const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (part) => String(part).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)} h` : `${minutes}:${two(seconds)} min`;
}

function inText(value) {
  if (value === null || value === undefined || value === '') return NONE;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

// A field of what may be missing or of another type: at(run, 'summary', 'staleness', 'mean').
function at(value, ...path) {
  for (const key of path) {
    if (value === null || typeof value !== 'object') return undefined;
    value = value[key];
  }
  return value;
}

function listAt(value, ...path) {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

// make('p', {className: 'hint'}, 'text', element, …)
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null));
  return element;
}

function section(title, ...children) {
  return make('section', {}, make('h2', {}, title), ...children);
}

function scrolling(table) { return make('div', {className: table.className ? 'scroll whole' : 'scroll'}, table); }

// rows: [[label, text], …]; those without a text are left out.
function factsTable(rows) {
  const table = make('table', {className: 'facts'});
  for (const [label, text] of rows) {
    if (text === NONE || text === '') continue;
    table.append(make('tr', {}, make('th', {scope: 'row'}, label), make('td', {}, text)));
  }
  return scrolling(table);
}

// columns: [[heading, (row) => text, 'number' or ''], …]
function rowsTable(columns, rows) {
  const head = make('tr', {});
  for (const [heading, , kind] of columns) head.append(make('th', {scope: 'col', className: kind}, heading));
  const body = rows.map((row) => {
    const line = make('tr', {});
    for (const [, text, kind] of columns) line.append(make('td', {className: kind}, text(row)));
    return line;
  });
  return scrolling(make('table', {}, make('thead', {}, head), make('tbody', {}, ...body)));
}

// One of several, as buttons side by side. options: [[value, text], …]
function choice(label, options, chosen, onChoose) {
  const buttons = options.map(([value, text]) => {
    const button = make('button', {type: 'button'}, text);
    button.dataset.value = value;
    button.setAttribute('aria-pressed', String(value === chosen));
    button.addEventListener('click', () => {
      for (const other of buttons) other.setAttribute('aria-pressed', String(other === button));
      onChoose(value);
    });
    return button;
  });
  const group = make('div', {className: 'choice'}, ...buttons);
  group.setAttribute('role', 'group');
  group.setAttribute('aria-label', label);
  return group;
}
