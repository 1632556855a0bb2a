// What goes over the run: loss, accuracy, Gamma, time of an iteration.

const AXES = {
  iteration: {title: 'iteration', of: (run, iteration) => iteration, format: inCount},
  epoch: {
    title: 'epoch',
    of: (run, iteration) => iteration / at(run, 'metrics', 'iterations_per_epoch'),
    format: (value) => digits(value),
  },
  seconds: {title: 'time of training', of: (run, iteration, seconds) => seconds, format: inSeconds},
};

// Points {x, y} of columns of a run, over the chosen axis; what is no number is left out, which cuts no line.
function points(run, axisName, columns, values) {
  const iterations = listAt(columns, 'iteration');
  const seconds = listAt(columns, 'seconds');
  const found = [];
  values.forEach((y, i) => {
    const x = AXES[axisName].of(run, iterations[i], seconds[i]);
    if (isNumber(x) && isNumber(y)) found.push({x, y});
  });
  // Sketches and evaluations are told as they are ready, which is not always in order.
  return found.sort((a, b) => a.x - b.x);
}

function evaluationColumns(run) {
  const evaluations = listAt(run, 'metrics', 'evaluations');
  return {iteration: evaluations.map((one) => one.iteration), seconds: evaluations.map((one) => one.seconds)};
}

// The first line is drawn last, on top of the others.
// line: {name, color, data, band: [lower, upper], dashed, faint, dots, label}
function lineDatasets(line) {
  const main = {
    label: line.label || line.name,
    data: line.data,
    borderColor: line.faint ? withAlpha(line.color, 0.45) : line.color,
    solidColor: line.color,
    backgroundColor: line.color,
    borderWidth: line.faint ? 1.2 : 2,
    borderDash: line.dashed ? [5, 4] : [],
    pointRadius: line.dots && line.data.length < 60 || line.data.length === 1 ? 2.5 : 0,
    pointHoverRadius: 4,
    clip: {left: 5, right: 5, top: 0, bottom: 5},  // points at the edges stay round
    fill: false,
  };
  if (!line.band) return [main];
  const edge = {isBand: true, borderWidth: 0, pointRadius: 0, pointHoverRadius: 0};
  return [
    main,
    {...edge, data: line.band[0], fill: false},
    {...edge, data: line.band[1], fill: '-1', backgroundColor: withAlpha(line.color, 0.16)},
  ];
}

function configureLines(content, hidden) {
  const {axisName, format, lines, logarithmic, y} = content;
  const shown = lines.filter((line) => !hidden.has(line.name));
  const across = AXES[axisName];
  return {
    type: 'line',
    data: {datasets: shown.flatMap(lineDatasets)},
    options: {
      responsive: true,
      maintainAspectRatio: false,
      parsing: false,
      normalized: true,
      interaction: {mode: 'nearestOfEachLine'},
      scales: {
        x: axis(across.title, (value) => across.format(value), {type: 'linear', min: 0, max: content.end}),
        y: axis('', (value) => format(value), {type: logarithmic ? 'logarithmic' : 'linear', ...y}),
      },
      plugins: {
        tooltip: {
          enabled: false,
          external: externalTooltip((chart, active) => ({
            title: `${across.title} ${across.format(active[0].element.$context.raw.x)}`,
            rows: active.map(({datasetIndex, index}) => {
              const dataset = chart.data.datasets[datasetIndex];
              return {color: dataset.solidColor, label: dataset.label, text: format(dataset.data[index].y)};
            }),
          })),
        },
      },
    },
  };
}

// Lines of the same name share an entry of the legend.
function legendOf(lines) {
  const entries = new Map();
  for (const {name, color, dashed} of lines) {
    if (!entries.has(name)) entries.set(name, {name, color, look: dashed ? 'dashed' : ''});
  }
  return [...entries.values()];
}

function content(axisName, lines, format, more) {
  const filled = lines.filter((line) => line.data.length > 0);
  const end = Math.max(...filled.flatMap((line) => line.data.map(({x}) => x)));
  return {axisName, lines: filled, entries: legendOf(filled), format, end, ...more};
}

function lossLines(run, i, several, axisName) {
  const curves = at(run, 'metrics', 'curves');
  const of = (name) => points(run, axisName, curves, listAt(curves, name));
  const evaluations = listAt(run, 'metrics', 'evaluations').map((one) => one.loss);
  const evaluated = points(run, axisName, evaluationColumns(run), evaluations);
  if (several) {
    const color = seriesColor(i);
    return [
      {name: run.name, label: `${run.name}, test`, color, data: evaluated, dots: true},
      {name: run.name, label: `${run.name}, training`, color, data: of('loss'), faint: true},
    ];
  }
  return [
    {name: 'test', color: seriesColor(1), data: evaluated, dots: true},
    {name: 'training', color: seriesColor(0), data: of('loss'), band: [of('loss_min'), of('loss_max')]},
  ];
}

function accuracyLines(run, i, several, axisName) {
  const curves = at(run, 'metrics', 'curves');
  const evaluations = listAt(run, 'metrics', 'evaluations');
  const of = (name) => points(run, axisName, evaluationColumns(run), evaluations.map((one) => one[name]));
  if (several) {
    const color = seriesColor(i);
    return [
      {name: run.name, color, data: of('accuracy'), dots: true},
      {name: run.name, label: `${run.name}, worst worker`, color, data: of('worst_accuracy'), dots: true, dashed: true},
    ];
  }
  return [
    {name: 'test', color: seriesColor(1), data: of('accuracy'), dots: true},
    {name: 'test, worst worker', color: seriesColor(2), data: of('worst_accuracy'), dots: true, dashed: true},
    {name: 'training', color: seriesColor(0), data: points(run, axisName, curves, listAt(curves, 'accuracy')), faint: true},
  ];
}

function varianceLines(run, i, several, axisName) {
  const variance = at(run, 'metrics', 'variance');
  const data = points(run, axisName, variance, listAt(variance, 'value')).filter(({y}) => y > 0);
  return [{name: several ? run.name : 'Γ', color: seriesColor(several ? i : 3), data, dots: true}];
}

function timeLines(run, i, several, axisName) {
  const curves = at(run, 'metrics', 'curves');
  const of = (name) => points(run, axisName, curves, listAt(curves, name));
  const iteration = of('iteration_us');
  if (several) {
    const color = seriesColor(i);
    return [
      {name: run.name, label: `${run.name}, iteration`, color, data: iteration},
      {name: run.name, label: `${run.name}, computing`, color, data: of('compute_us'), dashed: true},
    ];
  }
  const predicted = at(run, 'plan', 'iteration_us');
  const ends = isNumber(predicted) && iteration.length > 1 ? [iteration[0], iteration[iteration.length - 1]] : [];
  return [
    {name: 'iteration', color: seriesColor(0), data: iteration, band: [of('iteration_us_min'), of('iteration_us_max')]},
    {name: 'computing', color: seriesColor(2), data: of('compute_us')},
    {name: 'stall', color: seriesColor(1), data: of('stall_us')},
    {name: 'predicted iteration', color: seriesColor(7), data: ends.map(({x}) => ({x, y: predicted})), dashed: true},
  ];
}

// Single slow iterations would press all others to the ground: the axis ends a little above the means' 98 %.
function timeTop(lines) {
  const values = lines.flatMap((line) => line.data.map(({y}) => y)).sort((a, b) => a - b);
  const most = values[Math.floor(0.98 * (values.length - 1))];
  return isNumber(most) && most > 0 ? {min: 0, max: 1.35 * most} : {min: 0};
}

function curveFigures(runs, view) {
  const several = runs.length > 1;
  const all = (lines) => runs.flatMap((run, i) => lines(run, i, several, view.axis));
  const width = Math.max(1, ...runs.map((run) => at(run, 'metrics', 'curves', 'width') || 1));
  const thinned = width > 1 ? `Each point is the mean over up to ${width} iterations and all workers` :
    'Each point is the mean over the workers';
  const range = several ? '.' : '; the band goes from the smallest to the largest.';
  // The replay model has a loss and an accuracy of 0.
  const trained = (lines) => lines.some((line) => line.data.some(({y}) => y !== 0)) ? lines : [];
  return [
    new Figure('Loss', thinned + range,
      () => content(view.axis, trained(all(lossLines)), digits, {y: {}}), configureLines),
    new Figure('Accuracy', several ? 'On the test split.' : 'On the test split, and of the batches trained on.',
      () => content(view.axis, trained(all(accuracyLines)), inPercent, {y: {}}),
      configureLines),
    new Figure('Time of an iteration', thinned + range, () => {
      const lines = all(timeLines);
      return content(view.axis, lines, inUs, {y: timeTop(lines)});
    }, configureLines),
    new Figure('Γ, how far the workers’ models are apart',
      'Sum of the squared distances to their mean; from sketches between evaluations.',
      () => content(view.axis, all(varianceLines), digits, {logarithmic: true, y: {}}),
      configureLines),
  ];
}
