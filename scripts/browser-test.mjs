// Checks HTML pages in a headless Chromium.
//
//   node scripts/browser-test.mjs [--shots DIR] PAGE.html ...
//
// Opens every page at 380 and 1200 pixels, in the light and the dark colour scheme, and as a printed page.
// Fails on page errors, network requests, sideways scrolling, figures without size, and low contrast.
// --shots DIR writes screenshots and PDF files to DIR.
// Exit codes: 0 no problems, 1 problems found, 2 wrong usage, 77 no browser available.
//
// Needs the packages puppeteer-core and @sparticuz/chromium (which includes the browser), installed as usual or
// in the folder named by BROWSER_MODULES. CHROMIUM names another browser.

import { createRequire } from 'node:module';
import { mkdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const NO_BROWSER = 77;
const WIDTHS = [380, 1200];
const SCHEMES = ['light', 'dark'];
// Minimum contrast of text with its background. The Web Content Accessibility Guidelines require 4.5, and 3 for large text.
const MIN_CONTRAST = 3;

const places = [import.meta.url, process.env.BROWSER_MODULES && pathToFileURL(join(resolve(process.env.BROWSER_MODULES), 'x.js'))];

async function load(name) {
  for (const place of places.filter(Boolean)) {
    try {
      return (await import(pathToFileURL(createRequire(place).resolve(name)))).default;
    } catch {
      // Not installed here: try the next location.
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

// Runs inside the page and returns one message per problem.
function findProblems(minContrast, narrow) {
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
  // Background colour of an element: the nearest background that is not transparent.
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
    if (ratio < minContrast) found.push(`"${words}" has a contrast of ${ratio.toFixed(2)} (${ink.map(Math.round)} on ${ground.map(Math.round)})`);
  };
  for (const element of document.querySelectorAll('h1, h2, p, li, dt, dd, th, td, figcaption, code')) {
    if (element.textContent.trim()) judge(element, parsed(getComputedStyle(element).color).slice(0, 3), behind(element));
  }
  for (const figure of document.querySelectorAll('svg.sgf')) {
    const base = figure.querySelector('.ground');
    if (!base) { found.push('a figure has no background'); continue; }
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
    // Marks of a series need contrast as well.
    for (const mark of figure.querySelectorAll('[class^="s"]:not(text)')) {
      const style = getComputedStyle(mark);
      const colour = style.fill !== 'none' ? style.fill : style.stroke;
      if (contrast(parsed(colour).slice(0, 3), ground) < 2) { found.push(`a mark of class "${mark.getAttribute('class')}" has low contrast`); break; }
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
      (await page.evaluate(findProblems, MIN_CONTRAST, width === WIDTHS[0])).forEach(say);
      if (shots) await page.screenshot({ path: join(shots, `${name}-${width}-${scheme}.png`), fullPage: true });
      if (width === WIDTHS[1] && scheme === 'dark') {
        // Printed pages must be light in either colour scheme.
        await page.emulateMediaType('print');
        (await page.evaluate(findProblems, MIN_CONTRAST, false)).forEach((what) => say(`printed: ${what}`));
        const [r, g, b, a = 1] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number));
        if (a > 0 && r + g + b < 600) say('printed: the background is dark');
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
  console.error(`cannot start the browser: ${error.message}`);
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
  if (problems.length === 0) console.log(`${file}: no problems`);
}
await browser.close();
process.exit(failed ? 1 : 0);
