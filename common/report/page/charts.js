// Charts on top of Chart.js. A Figure keeps what it shows, so that it can be drawn anew in another theme or over another
// axis; legends and tooltips are elements of the page, which wrap on a phone and can be read by a test.

Chart.defaults.animation = false;
Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
Chart.defaults.plugins.legend.display = false;

const tooltip = document.getElementById('tooltip');

// rows: [{color, label, text}]; x and y in the window.
function showTooltip(title, rows, x, y) {
  tooltip.replaceChildren(make('b', {}, title), ...rows.map(({color, label, text}) => {
    const dot = color ? make('i', {}) : null;
    if (dot) dot.style.background = color;
    return make('div', {}, make('span', {}, dot, label), make('span', {}, text));
  }));
  tooltip.hidden = false;
  const {width, height} = tooltip.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  const left = x + 14 + width < room ? x + 14 : x - 14 - width;
  tooltip.style.left = `${Math.max(8, Math.min(left, room - width - 8))}px`;
  tooltip.style.top = `${y - height - 12 > 4 ? y - height - 12 : y + 16}px`;
}

function hideTooltip() { tooltip.hidden = true; }
window.addEventListener('scroll', hideTooltip, {passive: true});

// Chart.js asks for it on each move: `tell` gives {title, rows} of the active elements.
function externalTooltip(tell) {
  return ({chart, tooltip: model}) => {
    const active = model.opacity === 0 ? [] : chart.getActiveElements();
    const told = active.length > 0 ? tell(chart, active) : null;
    if (!told) return hideTooltip();
    const box = chart.canvas.getBoundingClientRect();
    return showTooltip(told.title, told.rows, box.left + model.caretX, box.top + model.caretY);
  };
}

// Of each line the point whose x is nearest to the pointer: lines have points at different places.
Chart.Interaction.modes.nearestOfEachLine = (chart, event) => {
  const found = [];
  chart.data.datasets.forEach((dataset, datasetIndex) => {
    if (dataset.isBand || !chart.isDatasetVisible(datasetIndex)) return;
    let best = null;
    chart.getDatasetMeta(datasetIndex).data.forEach((element, index) => {
      const distance = Math.abs(element.x - event.x);
      if (!Number.isNaN(element.y) && (best === null || distance < best.distance)) {
        best = {element, datasetIndex, index, distance};
      }
    });
    if (best !== null) found.push(best);
  });
  const nearest = Math.min(...found.map(({distance}) => distance));
  return found.filter(({distance}) => distance <= nearest + 24);
};

function axis(title, format, more) {
  return {
    title: {display: title !== '', text: title, color: styleColor('muted')},
    grid: {color: styleColor('grid'), borderColor: styleColor('line')},
    ticks: {color: styleColor('muted'), callback: format, maxRotation: 0, autoSkipPadding: 12, includeBounds: false},
    ...more,
  };
}

// A heading, a legend and a chart.
//   read()        {title, lines, …} as `configure` takes them; called on each drawing
//   configure()   Chart.js's configuration
class Figure {
  constructor(title, hint, read, configure) {
    this.read = read;
    this.configure = configure;
    this.hidden = new Set();
    this.chart = null;
    this.legend = make('div', {className: 'legend'});
    this.canvas = make('canvas', {});
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', title);
    this.box = make('div', {className: 'chart'}, this.canvas);
    this.hint = make('p', {className: 'hint'}, hint);
    this.element = section(title, this.legend, this.box, this.hint);
  }

  draw() {
    if (this.chart) this.chart.destroy();
    this.chart = null;
    const content = this.read();
    // What was not measured has no place on the page.
    this.element.hidden = content.lines.length === 0;
    if (this.element.hidden) return;
    if (content.height) this.box.style.height = `${content.height}px`;
    if (content.hint !== undefined) this.hint.textContent = content.hint;
    this.drawLegend(content);
    this.chart = new Chart(this.canvas, this.configure(content, this.hidden));
  }

  drawLegend({entries}) {
    this.legend.replaceChildren(...entries.map(({name, color, look}) => {
      const mark = make('i', {className: look || ''});
      mark.style.borderColor = color;
      const button = make('button', {type: 'button'}, mark, name);
      button.setAttribute('aria-pressed', String(!this.hidden.has(name)));
      button.addEventListener('click', () => {
        if (!this.hidden.delete(name)) this.hidden.add(name);
        this.draw();
      });
      return button;
    }));
  }
}
