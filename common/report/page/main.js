// Puts the page together: of one run all sections; of several the comparison, and then one of them.

const RUNS = listAt(JSON.parse(document.getElementById('data').textContent), 'runs');

// Runs of the same name are told apart by their folders, or else by a number.
function nameApart(runs) {
  const seen = new Map();
  for (const run of runs) {
    if (runs.filter(({name}) => name === run.name).length > 1) run.shown = run.directory;
  }
  for (const run of runs) {
    run.name = run.shown || run.name;
    const count = (seen.get(run.name) || 0) + 1;
    seen.set(run.name, count);
    if (count > 1) run.name = `${run.name} (${count})`;
  }
}

function notesOf(run) {
  const notes = listAt(run, 'notes').map((note) => make('p', {className: 'hint'}, note));
  const failed = at(run, 'summary', 'exit_code');
  if (failed !== undefined && failed !== 0) notes.unshift(make('p', {className: 'bad'}, outcome(run)));
  return notes.length > 0 ? section('Notes', ...notes) : null;
}

function axisBar(view, runs, draw) {
  const epochs = runs.every((run) => at(run, 'metrics', 'iterations_per_epoch') > 0);
  const options = [['iteration', 'iteration'], ...(epochs ? [['epoch', 'epoch']] : []), ['seconds', 'time']];
  return make('div', {className: 'bar'}, make('span', {}, 'Over'), choice('Axis', options, view.axis, (axisName) => {
    view.axis = axisName;
    draw();
  }));
}

// The sections of one run that do not compare; returns its figures.
function showRun(run, place) {
  const figures = [slotFigure(run), bytesFigure(run)].filter((figure) => figure !== null);
  const parts = [...figures.map(({element}) => element), exchangeSection(run), planSection(run), runSection(run)];
  place.replaceChildren(...parts.filter((part) => part !== null));
  return figures;
}

function start(runs) {
  nameApart(runs);
  const main = document.getElementById('main');
  const several = runs.length > 1;
  const view = {axis: several ? 'seconds' : 'iteration', run: 0};
  const curves = curveFigures(runs, view);
  const details = make('div', {});
  const comparison = make('div', {});
  let figures = [];
  const drawCurves = () => curves.forEach((figure) => figure.draw());
  const drawRun = () => {
    figures = showRun(runs[view.run], details);
    figures.forEach((figure) => figure.draw());
  };

  const title = several ? `${runs.length} runs compared` : runs[0].name;
  document.title = `${title} – Weft report`;
  document.getElementById('title').textContent = title;
  document.getElementById('subtitle').textContent = several ? runs.map(({name}) => name).join(', ') :
    [inText(at(runs[0], 'summary', 'strategy')), inText(at(runs[0], 'summary', 'model')), outcome(runs[0])]
      .filter((text) => text !== NONE).join(' · ');

  const target = make('input', {type: 'number', min: 0, max: 100, step: 0.5, value: (commonAccuracy(runs) * 100).toFixed(0)});
  const drawComparison = () => comparison.replaceChildren(compareTable(runs, Number(target.value) / 100));
  target.addEventListener('input', drawComparison);

  const curveGrid = make('div', {className: 'grid'}, ...curves.map(({element}) => element));
  if (several) {
    const select = make('select', {}, ...runs.map((run, i) => make('option', {value: String(i)}, run.name)));
    select.addEventListener('change', () => {
      view.run = Number(select.value);
      drawRun();
    });
    const table = section('Summary', make('div', {className: 'bar'}, make('label', {}, 'Time to an accuracy of ', target, ' %')),
      comparison);
    table.id = 'comparison';
    main.replaceChildren(table, axisBar(view, runs, drawCurves), curveGrid,
      make('div', {className: 'bar'}, make('label', {}, 'One of them: ', select)), details);
    for (const run of runs) {
      const notes = notesOf(run);
      if (notes) {
        notes.querySelector('h2').textContent = `Notes on ${run.name}`;
        main.append(notes);
      }
    }
    drawComparison();
  } else {
    const rows = summaryRows().map(([label, text]) => [label, text(runs[0])]);
    const notes = notesOf(runs[0]);
    if (notes) main.append(notes);
    main.replaceChildren(...(notes ? [notes] : []), cards(runs[0]), axisBar(view, runs, drawCurves), curveGrid, details,
      section('Summary', factsTable(rows)));
  }
  drawCurves();
  drawRun();
  startTheme(() => {
    if (several) drawComparison();
    drawCurves();
    figures.forEach((figure) => figure.draw());
  });
}

start(RUNS);
