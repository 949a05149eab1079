// Types into the page in a browser: node page.mjs PLAYWRIGHT CHROMIUM ADDRESS SCREENSHOT, run by test_web_page.py.
import { pathToFileURL } from "node:url";

const [playwright, executablePath, address, screenshot] = process.argv.slice(2);
const { chromium } = (await import(pathToFileURL(playwright))).default;
const args = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const browser = await chromium.launch({ executablePath, args, headless: true });
const page = await browser.newPage({ viewport: { width: 900, height: 700 } });
const failures = [];
page.on("pageerror", (error) => failures.push(String(error)));
page.on("console", (message) => message.type() === "error" && failures.push(message.text()));
page.on("requestfailed", (request) => failures.push(request.url()));

const written = async () => {
  await page.waitForFunction(() => document.getElementById("rest").dataset.tokens, null, { timeout: 120000 });
  return page.locator("#rest").getAttribute("data-tokens");
};
await page.goto(address);
await page.waitForFunction(() => document.body.dataset.ready, null, { timeout: 120000 });
const shown = { ready: await page.locator("body").getAttribute("data-ready") };
shown.first = await written();
await page.fill("#text", "");
await page.type("#text", "The old goat ");
shown.typed = await written();
await page.fill("#seed", "8");
shown.seed = await written();
await page.screenshot({ path: screenshot });
await page.keyboard.press("Tab");
await page.focus("#text");
const before = await page.inputValue("#text");
await page.keyboard.press("Tab");
await written();
shown.kept = (await page.inputValue("#text")).startsWith(before) && (await page.inputValue("#text")).length > before.length;
shown.failures = failures;
console.log(JSON.stringify(shown));
await browser.close();
