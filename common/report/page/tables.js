// What is told in figures and words: the summary, the plan with its reasons, exchanges without servers, and the run.

// The first evaluation that reached `target`; of long runs with thinned evaluations, of those that were kept.
function reaching(run, target) {
  return listAt(run, 'metrics', 'evaluations').find((one) => isNumber(one.accuracy) && one.accuracy >= target);
}

function averagings(run) { return at(run, 'summary', 'interactions', 'averaged'); }

// Of what workers sent, each bit counted once, by each weight of an averaging.
function bitsPerWeight(run) {
  return at(run, 'summary', 'exchanged_bits') / (averagings(run) * at(run, 'summary', 'parameters'));
}

function timesCompute(run) {
  return at(run, 'summary', 'iteration_seconds', 'median') / at(run, 'summary', 'compute_seconds', 'median');
}

function predictedToMeasured(run) {
  return at(run, 'summary', 'predicted_iteration_seconds') / at(run, 'summary', 'iteration_seconds', 'median');
}

// The replay model sleeps instead of learning: its loss, accuracy and Γ are 0.
function learned(value) { return (run) => at(run, 'summary', 'model') === 'replay' ? undefined : at(run, 'summary', value); }

function outcome(run) {
  const code = at(run, 'summary', 'exit_code');
  if (code === undefined) return 'no summary: it goes on, or ended without one';
  if (code === 0) return 'finished';
  const message = at(run, 'summary', 'message');
  return `${code === 130 ? 'stopped' : 'failed'}${message ? `: ${message}` : ''}`;
}

// [label, text of a run]
function summaryRows() {
  const field = (format, ...path) => (run) => format(at(run, 'summary', ...path));
  return [
    ['outcome', outcome],
    ['strategy', field(inText, 'strategy')],
    ['model', field(inText, 'model')],
    ['weights', field(inCount, 'parameters')],
    ['workers', field(inCount, 'workers')],
    ['servers', field(inCount, 'servers')],
    ['period T or H', field(inCount, 'period')],
    ['topology', field(inText, 'topology')],
    ['bits', field((bits) => bits === 0 ? 'floats' : inCount(bits), 'quantization_bits')],
    ['accuracy', (run) => inAccuracy(learned('accuracy')(run))],
    ['worst worker’s accuracy', (run) => inAccuracy(learned('worst_accuracy')(run))],
    ['test loss', (run) => digits(learned('loss')(run))],
    ['Γ at the end', (run) => digits(learned('model_variance')(run))],
    ['epochs', field(inCount, 'epochs')],
    ['iterations', field(inCount, 'iterations')],
    ['time', field(inSeconds, 'seconds')],
    ['samples per second', field(digits, 'images_per_second')],
    ['iteration, median', field(inSeconds, 'iteration_seconds', 'median')],
    ['iteration, 95 %', field(inSeconds, 'iteration_seconds', 'p95')],
    ['compute alone, median', field(inSeconds, 'compute_seconds', 'median')],
    ['iteration ÷ compute', (run) => inTimes(timesCompute(run))],
    ['predicted iteration', field(inSeconds, 'predicted_iteration_seconds')],
    ['predicted ÷ measured', (run) => inTimes(predictedToMeasured(run))],
    ['stall', field(inPercent, 'stall_fraction')],
    ['bytes an iteration', field(inBytes, 'bytes_per_iteration')],
    ['staleness, mean', field(digits, 'staleness', 'mean')],
    ['staleness, largest', field(digits, 'staleness', 'max')],
    ['averagings', (run) => inCount(averagings(run))],
    ['bits a weight and averaging', (run) => digits(bitsPerWeight(run))],
  ];
}

function cards(run) {
  const chosen = [
    ['accuracy', inAccuracy(learned('accuracy')(run))],
    ['test loss', digits(learned('loss')(run))],
    ['time', inSeconds(at(run, 'summary', 'seconds'))],
    ['iteration', inSeconds(at(run, 'summary', 'iteration_seconds', 'median'))],
    ['iteration ÷ compute', inTimes(timesCompute(run))],
    ['stall', inPercent(at(run, 'summary', 'stall_fraction'))],
    ['sent and received an iteration', inBytes(at(run, 'summary', 'bytes_per_iteration'))],
    ['samples per second', digits(at(run, 'summary', 'images_per_second'))],
    ['Γ', digits(learned('model_variance')(run))],
  ].filter(([, text]) => text !== NONE);
  return make('div', {className: 'cards'}, ...chosen.map(([label, text]) =>
    make('div', {className: 'card'}, make('b', {}, text), make('span', {}, label))));
}

function compareTable(runs, target) {
  const head = make('tr', {}, make('th', {}, ''));
  runs.forEach((run, i) => {
    const dot = make('i', {});
    dot.style.background = seriesColor(i);
    head.append(make('th', {scope: 'col'}, dot, run.name));
  });
  const reached = (tell) => (run) => {
    const one = reaching(run, target);
    return one === undefined ? NONE : tell(one);
  };
  const rows = [
    ...summaryRows(),
    [`time to ${inAccuracy(target)}`, reached((one) => inSeconds(one.seconds))],
    [`iterations to ${inAccuracy(target)}`, reached((one) => inCount(one.iteration))],
  ];
  const body = make('tbody', {});
  for (const [label, text] of rows) {
    const texts = runs.map(text);
    if (texts.every((one) => one === NONE) && !label.includes(' to ')) continue;
    body.append(make('tr', {}, make('th', {scope: 'row'}, label), ...texts.map((one) => make('td', {}, one))));
  }
  return scrolling(make('table', {className: 'compare'}, make('thead', {}, head), body));
}

// The best accuracy that all runs reached, rounded down to a percent.
function commonAccuracy(runs) {
  const best = runs.map((run) => Math.max(0, ...listAt(run, 'metrics', 'evaluations').map((one) => one.accuracy || 0)));
  return Math.floor(Math.min(...best) * 100) / 100;
}

function layersText(layers) {
  if (Array.isArray(layers)) return layers.join(', ');
  const {count, first, last} = layers || {};
  return count > 1 ? `${first} … ${last} (${count})` : inText(first);
}

function planSection(run) {
  const plan = run.plan;
  if (!plan) return section('The plan', make('p', {className: 'hint'}, 'There is no plan.'));
  const measured = at(run, 'summary', 'iteration_seconds', 'median');
  const withSlots = listAt(plan, 'groups').some((group) => at(group, 'slot_us') > 0);
  const period = isNumber(plan.period) ? plan.period : 1;
  const stalls = listAt(run, 'metrics', 'group_stall_us');
  const facts = listAt(run, 'summary', 'groups');
  const statistics = (group) => facts.find((one) => at(one, 'group') === group.index) || {};
  const window = (group) => listAt(group, 'window_us');
  const servers = String(plan.strategy).endsWith('PS');
  const columns = [
    ['group', (group) => inText(group.index), 'number'],
    ['layers', (group) => layersText(group.layers), ''],
    ['bytes', (group) => inBytes(group.bytes), 'number'],
    ...(period > 1 && withSlots ? [['phase', (group) => inText(group.phase), 'number']] : []),
    ['from', (group) => inUs(window(group)[0]), 'number'],
    ['to', (group) => inUs(window(group)[1]), 'number'],
    ...(withSlots ? [['slot', (group) => inUs(group.slot_us), 'number']] : []),
    ['transfer, planned', (group) => inUs(group.transfer_us), 'number'],
    ...(servers ? [
      ['transfer, measured', (group) => inSeconds(statistics(group).transfer_seconds), 'number'],
      ['wait for the grant', (group) => inSeconds(statistics(group).grant_wait_seconds), 'number'],
      ['start − planned', (group) => inSeconds(statistics(group).start_error_seconds), 'number'],
      ['overruns', (group) => inPercent(statistics(group).overruns / statistics(group).transfers), 'number'],
    ] : []),
    ['stall, predicted', (group) => inUs(group.stall_us), 'number'],
    ['stall, measured', (group) => inUs(stalls[group.index] * (servers ? period : 1)), 'number'],
  ];
  return section('The plan and its reasons',
    make('p', {}, inText(plan.reason)),
    factsTable([
      ['strategy', inText(plan.strategy)],
      ['period T or H', inCount(plan.period)],
      ['fusion', inText(plan.fusion)],
      ['phase, window, tail', servers ? `${inText(plan.phase)}, ${inText(plan.window)}, ${inText(plan.tail)}` : NONE],
      ['iteration', `predicted ${inUs(plan.iteration_us)}, measured ${inSeconds(measured)}, ` +
        `compute alone ${inSeconds(at(run, 'summary', 'compute_seconds', 'median'))}`],
      ['busiest link', `predicted busy for ${inPercent(plan.link_use)} of the time`],
      ['a worker sends', `${inBytes(plan.wire_bytes)} an iteration, predicted`],
    ]),
    make('h3', {}, 'Groups of layers'),
    make('p', {className: 'hint'}, 'Times count from the start of backward. Predicted stall: the worst worker’s, in an ' +
      'iteration in which the group is sent; measured: the mean of all workers, for each such iteration.'),
    rowsTable(columns, listAt(plan, 'groups')));
}

function exchangeSection(run) {
  const interactions = at(run, 'summary', 'interactions');
  if (interactions === null || typeof interactions !== 'object') return null;
  const entries = Object.entries(interactions);
  const all = entries.reduce((sum, [, count]) => sum + (isNumber(count) ? count : 0), 0);
  const rows = entries.filter(([name, count]) => count > 0 || name === 'averaged');
  const failures = at(run, 'summary', 'quantizer_failures');
  const element = section('Exchanges between workers',
    rowsTable([
      ['ended as', ([name]) => name.replaceAll('_', ' '), ''],
      ['interactions', ([, count]) => inCount(count), 'number'],
      ['share', ([, count]) => inPercent(count / all), 'number'],
    ], rows),
    make('h3', {}, 'How they reach each other'),
    factsTable([
      ['mechanism', inText(at(run, 'summary', 'registers', 'mechanism'))],
      ['reason', inText(at(run, 'summary', 'registers', 'reason'))],
      ['averagings a worker', digits(at(run, 'summary', 'parallel_time'))],
      ['bits a weight and averaging', digits(bitsPerWeight(run))],
      ['staleness', `mean ${digits(at(run, 'summary', 'staleness', 'mean'))}, largest ${digits(at(run, 'summary', 'staleness', 'max'))} iterations`],
      ['worst worker’s accuracy', inAccuracy(learned('worst_accuracy')(run))],
      ['blocks sent again with more digits', inCount(at(failures, 'low_digits'))],
      ['blocks sent again as floats', inCount(at(failures, 'all_digits'))],
    ]));
  element.id = 'exchanges';
  return element;
}

function workersTable(run) {
  const workers = listAt(run, 'metrics', 'workers');
  if (workers.length === 0) return null;
  const bytes = (name) => ({rank}) => inBytes(listAt(run, 'summary', name)[rank]);
  return rowsTable([
    ['worker', ({rank}) => inText(rank), 'number'],
    ['iterations', ({iterations}) => inCount(iterations), 'number'],
    ['iteration, mean', ({iteration_us: time}) => inUs(time), 'number'],
    ['computing', ({compute_us: time}) => inUs(time), 'number'],
    ['stall', ({iteration_us: time, stall_us: stall}) => inPercent(stall / time), 'number'],
    ['sent', bytes('sent_bytes'), 'number'],
    ['received', bytes('received_bytes'), 'number'],
  ], workers);
}

function serversTable(run) {
  const links = listAt(run, 'summary', 'server_links');
  if (links.length === 0) return null;
  const seconds = at(run, 'summary', 'seconds');
  return rowsTable([
    ['server', ({index}) => String(index), 'number'],
    ['busy', (one) => inPercent(one.busy_seconds / seconds), 'number'],
    ['several at once', (one) => inPercent(one.concurrent_seconds / seconds), 'number'],
    ['peak', (one) => `${inBytes(one.peak_bytes_per_second)}/s`, 'number'],
    ['received', (one) => inBytes(one.received_bytes), 'number'],
    ['sent', (one) => inBytes(one.sent_bytes), 'number'],
  ], links.map((one, index) => ({...one, index})));
}

function hostsText(run) {
  return listAt(run, 'summary', 'hosts').map((one) => `${inText(at(one, 'name'))}: ${listAt(one, 'ranks').join(', ')}`)
    .join('; ');
}

function runSection(run) {
  const field = (...path) => inText(at(run, 'summary', ...path));
  const [workers, servers] = [workersTable(run), serversTable(run)];
  const software = at(run, 'summary', 'software');
  return section('The run',
    factsTable([
      ['folder', run.directory],
      ['command', field('command')],
      ['began', field('started')],
      ['ended', field('ended')],
      ['seed', field('seed')],
      ['hosts', hostsText(run)],
      ['transport', field('transport')],
      ['versions', software ? Object.entries(software).map(([name, version]) => `${name} ${version}`).join(', ') : ''],
      ['model', field('model_path')],
    ]),
    workers && make('h3', {}, 'Workers'), workers,
    servers && make('h3', {}, 'Servers’ links'), servers,
    typeof run.job === 'string' ? make('details', {}, make('summary', {}, 'The job, as it was run'), make('pre', {}, run.job)) : null);
}
