// Opens HTML pages in a headless Chromium and looks for what a reader would stumble over.
//
//   node scripts/browser-test.mjs [--shots DIR] PAGE.html ...
//
// Every page is opened at 380 and 1200 pixels, in the light and the dark scheme, and as paper. It fails on an error of the page, on anything that
// is fetched, on a page that scrolls sideways, on a figure without size, and on text that can hardly be told from what is behind it. With --shots,
// screenshots are left in a folder. Exit codes: 0 all well, 1 something is wrong, 77 there is no browser.
//
// It needs the packages puppeteer-core and @sparticuz/chromium, which carries the browser. They are looked for as usual, and in the folder
// that BROWSER_MODULES names; CHROMIUM may name another browser.

import { createRequire } from 'node:module';
import { mkdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const NO_BROWSER = 77;
const WIDTHS = [380, 1200];
const SCHEMES = ['light', 'dark'];
// Contrast of text with its ground: the Web Content Accessibility Guidelines ask for 4.5, and for 3 where letters are large.
const LEAST_CONTRAST = 3;

const places = [import.meta.url, process.env.BROWSER_MODULES && pathToFileURL(join(resolve(process.env.BROWSER_MODULES), 'x.js'))];

async function load(name) {
  for (const place of places.filter(Boolean)) {
    try {
      return (await import(pathToFileURL(createRequire(place).resolve(name)))).default;
    } catch {
      // Perhaps at the next place.
    }
  }
  return null;
}

async function launch() {
  const puppeteer = await load('puppeteer-core');
  const chromium = process.env.CHROMIUM ? null : await load('@sparticuz/chromium');
  if (!puppeteer || !(process.env.CHROMIUM || chromium)) return null;
  const executablePath = process.env.CHROMIUM ?? (await chromium.executablePath());
  return puppeteer.launch({ executablePath, args: [...(chromium?.args ?? []), '--no-sandbox'], headless: 'shell' });
}

// Runs in the page: sentences on what is wrong with it.
function faults(least, narrow) {
  const found = [];
  const wide = document.documentElement.scrollWidth;
  if (narrow && wide > window.innerWidth) found.push(`the page scrolls sideways: ${wide} pixels in ${window.innerWidth}`);
  for (const figure of document.querySelectorAll('svg.sgf')) {
    const { width, height } = figure.getBoundingClientRect();
    if (width < 50 || height < 50) found.push(`figure "${figure.getAttribute('aria-label')}" is ${width} x ${height} pixels`);
    const marks = [...figure.querySelectorAll('path, circle, rect:not(.ground), text')];
    if (marks.length === 0) found.push(`figure "${figure.getAttribute('aria-label')}" is empty`);
  }
  const parsed = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const over = ([r, g, b], share, ground) => [r, g, b].map((v, k) => v * share + ground[k] * (1 - share));
  // What is behind an element of a page: the nearest background that is not transparent.
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, a = 1] = parsed(getComputedStyle(at).backgroundColor);
      if (a > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const judge = (element, ink, ground) => {
    const ratio = contrast(ink, ground);
    const words = element.textContent.trim().slice(0, 30);
    if (ratio < least) found.push(`"${words}" has a contrast of ${ratio.toFixed(2)} (${ink.map(Math.round)} on ${ground.map(Math.round)})`);
  };
  for (const element of document.querySelectorAll('h1, h2, p, li, dt, dd, th, td, figcaption, code')) {
    if (element.textContent.trim()) judge(element, parsed(getComputedStyle(element).color).slice(0, 3), behind(element));
  }
  for (const figure of document.querySelectorAll('svg.sgf')) {
    const base = figure.querySelector('.ground');
    if (!base) { found.push('a figure has no ground'); continue; }
    const ground = parsed(getComputedStyle(base).fill).slice(0, 3);
    const cells = [...figure.querySelectorAll('rect.cell')].map((cell) => [cell.getBoundingClientRect(), cell]);
    for (const text of figure.querySelectorAll('text')) {
      if (!text.textContent.trim()) continue;
      const box = text.getBoundingClientRect();
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      const under = cells.find(([r]) => x >= r.left && x <= r.right && y >= r.top && y <= r.bottom)?.[1];
      const style = under && getComputedStyle(under);
      judge(text, parsed(getComputedStyle(text).fill).slice(0, 3), under ? over(parsed(style.fill), Number(style.fillOpacity), ground) : ground);
    }
    // Marks of a series must be seen too.
    for (const mark of figure.querySelectorAll('[class^="s"]:not(text)')) {
      const style = getComputedStyle(mark);
      const colour = style.fill !== 'none' ? style.fill : style.stroke;
      if (contrast(parsed(colour).slice(0, 3), ground) < 2) { found.push(`a mark of class "${mark.getAttribute('class')}" is hardly seen`); break; }
    }
  }
  return found;
}

async function examine(browser, file, shots) {
  const problems = [];
  const name = basename(file).replace(/\.html?$/, '');
  for (const width of WIDTHS) {
    for (const scheme of SCHEMES) {
      const page = await browser.newPage();
      const say = (what) => problems.push(`${file} (${width} pixels, ${scheme}): ${what}`);
      page.on('console', (message) => message.type() === 'error' && say(`console: ${message.text()}`));
      page.on('pageerror', (error) => say(`error: ${error.message}`));
      page.on('request', (request) => !/^(file|data):/.test(request.url()) && say(`fetches ${request.url()}`));
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.setViewport({ width, height: 900 });
      await page.goto(pathToFileURL(resolve(file)).href, { waitUntil: 'load' });
      (await page.evaluate(faults, LEAST_CONTRAST, width === WIDTHS[0])).forEach(say);
      if (shots) await page.screenshot({ path: join(shots, `${name}-${width}-${scheme}.png`), fullPage: true });
      if (width === WIDTHS[1] && scheme === 'dark') {
        // Paper is light, whatever the screen is.
        await page.emulateMediaType('print');
        (await page.evaluate(faults, LEAST_CONTRAST, false)).forEach((what) => say(`printed: ${what}`));
        const [r, g, b, a = 1] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number));
        if (a > 0 && r + g + b < 600) say('printed: the paper would be dark');
        if (shots) await page.pdf({ path: join(shots, `${name}.pdf`), format: 'A4' });
      }
      await page.close();
    }
  }
  return problems;
}

const args = process.argv.slice(2);
const at = args.indexOf('--shots');
const shots = at >= 0 ? args.splice(at, 2)[1] : null;
if (args.length === 0) {
  console.error('usage: node scripts/browser-test.mjs [--shots DIR] PAGE.html ...');
  process.exit(2);
}
const browser = await launch().catch((error) => {
  console.error(`the browser does not start: ${error.message}`);
  return null;
});
if (!browser) {
  console.error('skipped: no browser (npm install puppeteer-core @sparticuz/chromium)');
  process.exit(NO_BROWSER);
}
if (shots) mkdirSync(shots, { recursive: true });
let failed = false;
for (const file of args) {
  const problems = await examine(browser, file, shots);
  failed ||= problems.length > 0;
  problems.forEach((problem) => console.error(problem));
  if (problems.length === 0) console.log(`${file}: fine`);
}
await browser.close();
process.exit(failed ? 1 : 0);
