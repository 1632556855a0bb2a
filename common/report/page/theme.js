// Light and dark: as the system has it, until the button says otherwise. Charts take their colours from here.

const PALETTE = {
  light: ['#0b6bcb', '#c2410c', '#15803d', '#9333ea', '#a16207', '#be185d', '#0e7490', '#4d5b70'],
  dark: ['#5eb0ff', '#ff9554', '#4fd07f', '#c792ff', '#e5b93c', '#ff7eb2', '#45cbe0', '#aab6c8'],
};
const systemDark = window.matchMedia('(prefers-color-scheme: dark)');

function theme() { return document.documentElement.dataset.theme || (systemDark.matches ? 'dark' : 'light'); }

function styleColor(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }

// The i-th of a few things that are compared; of more than the palette has, hues that lie far apart.
function seriesColor(i) {
  const palette = PALETTE[theme()];
  if (i < palette.length) return palette[i];
  return `hsl(${Math.round((i * 137.508) % 360)}, 62%, ${theme() === 'dark' ? 66 : 38}%)`;
}

function withAlpha(color, alpha) {
  if (color.startsWith('hsl(')) return color.replace('hsl(', 'hsla(').replace(')', `, ${alpha})`);
  const part = (i) => parseInt(color.slice(i, i + 2), 16);
  return `rgba(${part(1)}, ${part(3)}, ${part(5)}, ${alpha})`;
}

function startTheme(onChange) {
  const button = document.getElementById('theme');
  const show = () => { button.textContent = theme() === 'dark' ? 'Light' : 'Dark'; };
  // Where a page from file:// may keep nothing, each opening starts with the system's.
  const stored = (action) => { try { return action(window.localStorage); } catch { return null; } };
  const kept = stored((storage) => storage.getItem('weft-report-theme'));
  if (kept === 'light' || kept === 'dark') document.documentElement.dataset.theme = kept;
  button.addEventListener('click', () => {
    const next = theme() === 'dark' ? 'light' : 'dark';
    document.documentElement.dataset.theme = next;
    stored((storage) => storage.setItem('weft-report-theme', next));
    show();
    onChange();
  });
  systemDark.addEventListener('change', () => {
    show();
    onChange();
  });
  show();
}
