// The slot chart: a row a worker, across one period. An outline is the window that the plan gave a transfer, a bar the
// transfer itself, from the grant on; both in the colour of the group.

// The rows of a table that stands as columns' names and rows of values.
function asObjects(columns, rows) {
  return rows.filter(Array.isArray).map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
}

function periodOf(period) {
  const iterations = asObjects(listAt(period, 'iteration_columns'), listAt(period, 'iterations'));
  const transfers = asObjects(listAt(period, 'transfer_columns'), listAt(period, 'transfers'));
  // On hosts with clocks of their own the starts have nothing to do with each other: each worker then starts at 0.
  const starts = new Map();
  for (const {rank, start_us: start} of iterations) starts.set(rank, Math.min(start, starts.get(rank) ?? Infinity));
  const longest = Math.max(...iterations.map(({iteration_us: time}) => time), 0);
  const apart = Math.max(...starts.values()) - Math.min(...starts.values()) > 10 * longest * iterations.length;
  const shift = (rank) => apart ? starts.get(rank) || 0 : 0;
  for (const one of iterations) one.start_us -= shift(one.rank);
  for (const one of transfers) for (const name of ['planned_us', 'start_us', 'granted_us']) one[name] -= shift(one.rank);
  const end = Math.max(...iterations.map((one) => one.start_us + one.iteration_us), 0);
  return {iterations, transfers, end, apart};
}

function slotLength(run, group) { return at(listAt(run, 'plan', 'groups')[group], 'slot_us') || 0; }

function transferTooltip(run, one) {
  const planned = slotLength(run, one.group);
  return {
    title: `worker ${one.rank}, group ${one.group}`,
    rows: [
      ['slot, round, server', `${one.slot}, ${one.round}, ${one.server}`],
      ['pushed, pulled', `${inBytes(one.push_bytes)}, ${inBytes(one.pull_bytes)}`],
      ['planned start', inUs(one.planned_us)],
      ['actual start', inUs(one.start_us)],
      ['waited for the grant', inUs(one.granted_us - one.start_us)],
      ['waited for the round before', inUs(one.staleness_wait_us)],
      ['slot', planned > 0 ? inUs(planned) : 'none'],
      ['transfer', inUs(one.transfer_us)],
      ['overrun', one.overrun ? `yes, ended ${inUs(one.granted_us + one.transfer_us - one.planned_us - planned)} after its slot` : 'no'],
    ].map(([label, text]) => ({color: label.startsWith('slot,') ? seriesColor(one.group) : null, label, text})),
  };
}

// The element of a row under the pointer, or near to it: many bars are narrower than a finger or a pixel. Transfers go
// before windows.
Chart.Interaction.modes.barOfRow = (chart, event) => {
  let best = null;
  chart.data.datasets.forEach((dataset, datasetIndex) => {
    chart.getDatasetMeta(datasetIndex).data.forEach((element, index) => {
      const {x, base, y} = element.getProps(['x', 'base', 'y'], true);
      if (Math.abs(event.y - y) > dataset.reach) return;
      const distance = Math.max(Math.min(x, base) - event.x, event.x - Math.max(x, base), 0) + dataset.handicap;
      // Of bars that lie upon each other the last one is drawn on top.
      if (distance <= 12 && (best === null || distance <= best.distance)) best = {element, datasetIndex, index, distance};
    });
  });
  return best === null ? [] : [best];
};

// Behind the bars: every second iteration of a worker shaded, and its time of stall at the row's foot.
const iterationShades = {
  id: 'iterationShades',
  beforeDatasetsDraw(chart, _, options) {
    const {ctx, chartArea, scales} = chart;
    const height = options.rowHeight;
    ctx.save();
    ctx.beginPath();
    ctx.rect(chartArea.left, chartArea.top, chartArea.right - chartArea.left, chartArea.bottom - chartArea.top);
    ctx.clip();
    for (const one of options.iterations) {
      const middle = scales.y.getPixelForValue(options.ranks.indexOf(one.rank));
      const left = scales.x.getPixelForValue(one.start_us);
      const right = scales.x.getPixelForValue(one.start_us + one.iteration_us);
      if (one.iteration % 2 === 0) {
        ctx.fillStyle = options.shade;
        ctx.fillRect(left, middle - height / 2, right - left, height);
      }
      ctx.fillStyle = options.line;
      ctx.fillRect(left, middle - height / 2, 1, height);
    }
    ctx.restore();
  },
};

function slotBars(transfers, run, ranks) {
  const row = (one) => `worker ${one.rank}`;
  const planned = [];
  const actual = [];
  for (const one of transfers) {
    const slot = slotLength(run, one.group);
    if (!ranks.includes(one.rank)) continue;
    if (slot > 0) planned.push({x: [one.planned_us, one.planned_us + slot], y: row(one), transfer: one});
    actual.push({x: [one.granted_us, one.granted_us + one.transfer_us], y: row(one), transfer: one});
  }
  // Short ones last, so that none lies hidden beneath a longer one.
  const shorterLast = (a, b) => (b.x[1] - b.x[0]) - (a.x[1] - a.x[0]);
  return {planned: planned.sort(shorterLast), actual: actual.sort(shorterLast)};
}

function configureSlots(content, hidden) {
  const {run, ranks, iterations, from, to, rowHeight} = content;
  const {planned, actual} = slotBars(content.transfers.filter(({group}) => !hidden.has(`group ${group}`)), run, ranks);
  const color = ({transfer}) => seriesColor(transfer.group);
  return {
    type: 'bar',
    data: {
      labels: ranks.map((rank) => `worker ${rank}`),
      datasets: [
        {
          label: 'planned', data: planned, grouped: false, barThickness: 0.72 * rowHeight, borderSkipped: false,
          borderWidth: 1.5, borderColor: planned.map(color), backgroundColor: 'rgba(0, 0, 0, 0)', minBarLength: 3,
          reach: rowHeight / 2, handicap: 1,
        },
        {
          label: 'actual', data: actual, grouped: false, barThickness: 0.4 * rowHeight, borderSkipped: false,
          backgroundColor: actual.map(color), minBarLength: 2, reach: rowHeight / 2, handicap: 0,
        },
      ],
    },
    options: {
      indexAxis: 'y',
      responsive: true,
      maintainAspectRatio: false,
      interaction: {mode: 'barOfRow'},
      scales: {
        x: axis('', (value) => inUs(value), {type: 'linear', min: from, max: to}),
        y: axis('', undefined, {
          type: 'category',
          grid: {display: false, borderColor: styleColor('line')},
          ticks: {color: styleColor('muted'), autoSkip: false,
            callback: (i) => window.innerWidth < 760 ? String(ranks[i]) : `worker ${ranks[i]}`},
        }),
      },
      plugins: {
        iterationShades: {iterations, ranks, rowHeight, shade: styleColor('shade'), line: styleColor('line')},
        tooltip: {
          enabled: false,
          external: externalTooltip((chart, active) =>
            transferTooltip(run, active[0].element.$context.raw.transfer)),
        },
      },
    },
    plugins: [iterationShades],
  };
}

const MOST_ROWS = 32;

// The section, with choices of the period and of the part of it that is shown; null without servers.
function slotFigure(run) {
  const periods = listAt(run, 'metrics', 'periods').filter((one) => listAt(one, 'transfers').length > 0);
  if (periods.length === 0) return null;
  const view = {period: Math.floor(periods.length / 2), part: 'all'};

  const read = () => {
    const period = periods[view.period];
    const {iterations, transfers, end, apart} = periodOf(period);
    const all = [...new Set(iterations.map(({rank}) => rank))].sort((a, b) => a - b);
    const ranks = all.slice(0, MOST_ROWS);
    const chosen = iterations.filter(({iteration}) => view.part === 'all' || String(iteration) === view.part);
    const from = Math.min(...chosen.map((one) => one.start_us));
    const to = Math.max(...chosen.map((one) => one.start_us + one.iteration_us));
    const groups = [...new Set(transfers.map(({group}) => group))].sort((a, b) => a - b);
    const rowHeight = ranks.length > 16 ? 22 : 32;
    const left = at(period, 'left_out') || 0;
    return {
      run, ranks, iterations: iterations.filter(({rank}) => ranks.includes(rank)), transfers, from, to, rowHeight,
      lines: iterations.length > 0 ? ranks : [],
      height: ranks.length * rowHeight + 60,
      entries: groups.map((group) => ({name: `group ${group}`, color: seriesColor(group), look: 'block'})),
      hint: 'Outline: the planned slot. Bar: the transfer, from the grant to its end; what is too short for the screen is ' +
        'drawn 2 pixels long. A line is where a worker’s iteration starts.' +
        (apart ? ' The hosts’ clocks differ: each worker starts at 0.' : '') +
        (left > 0 ? ` ${inCount(left)} further transfers are left out.` : '') +
        (all.length > ranks.length ? ` Of ${all.length} workers the first ${ranks.length}.` : ''),
    };
  };
  const figure = new Figure('Slots and transfers', '', read, configureSlots);

  const parts = make('div', {className: 'bar'});
  const drawParts = () => {
    view.part = 'all';
    const numbers = [...new Set(periodOf(periods[view.period]).iterations.map(({iteration}) => iteration))];
    const options = numbers.sort((a, b) => a - b).slice(0, 16).map((number) => [String(number), String(number)]);
    parts.replaceChildren(make('span', {}, 'Iteration'), choice('Iteration', [['all', 'all'], ...options], 'all', (part) => {
      view.part = part;
      figure.draw();
    }));
  };
  drawParts();
  const places = choice('Period', periods.map((period, i) => [String(i), at(period, 'place')]), String(view.period), (i) => {
    view.period = Number(i);
    drawParts();
    figure.draw();
  });
  figure.element.querySelector('h2').after(make('div', {className: 'bar'}, make('span', {}, 'Period'), places), parts);
  figure.element.id = 'slots';
  return figure;
}

// Bytes by group: what went each way, per iteration of all workers.
function bytesFigure(run) {
  const groups = listAt(run, 'summary', 'groups').filter((one) => isNumber(at(one, 'push_bytes')));
  if (groups.length === 0) return null;
  const iterations = at(run, 'summary', 'iterations') || 1;
  const read = () => ({
    lines: groups,
    entries: [{name: 'pushed', color: seriesColor(0), look: 'block'}, {name: 'pulled', color: seriesColor(1), look: 'block'}],
  });
  const configure = (_, hidden) => ({
    type: 'bar',
    data: {
      labels: groups.map(({group}) => String(group)),
      datasets: [['pushed', 'push_bytes', 0], ['pulled', 'pull_bytes', 1]].filter(([name]) => !hidden.has(name))
        .map(([label, field, i]) => ({label, data: groups.map((one) => one[field] / iterations), backgroundColor: seriesColor(i), maxBarThickness: 44})),
    },
    options: {
      responsive: true,
      maintainAspectRatio: false,
      interaction: {mode: 'index', intersect: false},
      scales: {x: axis('group', undefined, {}), y: axis('', (value) => inBytes(value), {min: 0})},
      plugins: {
        tooltip: {
          enabled: false,
          external: externalTooltip((chart, active) => ({
            title: `group ${groups[active[0].index].group}`,
            rows: active.map(({datasetIndex, index}) => ({
              color: chart.data.datasets[datasetIndex].backgroundColor,
              label: chart.data.datasets[datasetIndex].label,
              text: inBytes(chart.data.datasets[datasetIndex].data[index]),
            })),
          })),
        },
      },
    },
  });
  // A category axis gives its callback positions, not names.
  const figure = new Figure('Bytes by group', 'Payload an iteration, all workers together.', read, (content, hidden) => {
    const config = configure(content, hidden);
    delete config.options.scales.x.ticks.callback;
    return config;
  });
  figure.element.id = 'bytes';
  return figure;
}
