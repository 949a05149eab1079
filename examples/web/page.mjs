// The page: what is typed is gone on with while it is typed.
import { CAPACITY, Writer } from "./writer.mjs";

const SIZE = 160; // bytes that follow
const PATIENCE = 12; // milliseconds of writing before the page is drawn again
const $ = (id) => document.getElementById(id);
const [text, rest, said, heat, heatShown, seed] = ["text", "rest", "said", "heat", "heat-shown", "seed"].map($);
let writer;
let turn = 0;

const bytesOf = (string) => new TextEncoder().encode(string);
const shownOf = (bytes) => new TextDecoder().decode(Uint8Array.from(bytes));
const pause = () => new Promise((resolve) => setTimeout(resolve));

function settings() {
  const wanted = Number(seed.value);
  return { seed: Number.isSafeInteger(wanted) ? wanted : 0, temperature: Math.fround(Number(heat.value)) };
}

/** Go on with the text as it is now; another input ends this. */
async function goOn() {
  const mine = ++turn;
  const { seed: key, temperature } = settings();
  heatShown.textContent = temperature.toFixed(2);
  const prompt = bytesOf(text.value).slice(-(CAPACITY - SIZE));
  rest.textContent = "";
  rest.dataset.tokens = "";
  if (prompt.length === 0) return;
  const written = [];
  const began = performance.now();
  let drawn = began;
  for (const token of writer.write(prompt, SIZE, key, temperature)) {
    written.push(token);
    if (performance.now() - drawn < PATIENCE) continue;
    rest.textContent = shownOf(written);
    await pause();
    if (turn !== mine) return;
    drawn = performance.now();
  }
  rest.textContent = shownOf(written);
  rest.dataset.tokens = written.join(" ");
  const rate = Math.round((1000 * SIZE) / (performance.now() - began));
  said.textContent = `${rate} bytes a second, in this page`;
}

function keep(event) {
  if (event.key !== "Tab" || rest.textContent === "") return;
  event.preventDefault();
  text.value += rest.textContent;
  goOn();
}

async function begin() {
  const answer = await fetch("weights.safetensors");
  if (!answer.ok) throw new Error(`weights.safetensors: ${answer.status}`);
  writer = await Writer.load(await answer.arrayBuffer());
  for (const each of [text, heat, seed]) each.addEventListener("input", goOn);
  text.addEventListener("keydown", keep);
  text.disabled = false;
  text.focus();
  await goOn();
  document.body.dataset.ready = "yes";
}

begin().catch((error) => {
  said.textContent = String(error);
  document.body.dataset.ready = "no";
});
