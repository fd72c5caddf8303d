"use strict";
// The data of the page: gzip in base64, in script elements that no browser runs. The index of all
// episodes is opened at once, a chunk of their texts when one of them is wanted.

const HELD_CHUNKS = 12; // opened ones that are kept
const HELD_TEXT = 120e6; // characters that are kept for searching

async function unpacked(id) {
  const binary = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// as texts are compared: small letters, and any white space as good as another
function plain(text) {
  return text.toLowerCase().replace(/\s+/g, " ");
}

function searchable(body) {
  const texts = [];
  for (const turn of body.turns) {
    texts.push(turn.prompt);
    for (const answer of turn.answers) {
      texts.push(answer.text, answer.sampled ?? "", answer.error ?? "", answer.reply ?? "");
    }
  }
  return plain(texts.join("\n"));
}

class Episodes {
  constructor(columns, runs) {
    this.columns = columns;
    this.count = columns.run.length;
    this.chunks = new Map(); // number -> promise of its bodies, oldest first
    this.texts = new Map(); // number -> what is searched in, of each of its episodes
    this.held = 0;
    this.byChunk = new Map();
    this.keys = new Map(); // what an episode is called in an address -> its number
    this.names = [];
    const seen = new Map();
    for (let i = 0; i < this.count; i++) {
      const chunk = columns.chunk[i];
      if (!this.byChunk.has(chunk)) this.byChunk.set(chunk, []);
      this.byChunk.get(chunk).push(i);
      const name = `${runs[columns.run[i]].name}|${columns.step[i]}|${columns.seed[i]}`;
      const before = seen.get(name) ?? 0; // the same task may be played twice
      seen.set(name, before + 1);
      this.names.push(`${name}|${before}`);
      this.keys.set(this.names[i], i);
    }
  }

  static async open(runs) {
    const columns = await unpacked("index");
    return new Episodes(columns, runs);
  }

  async body(i) {
    return (await this.chunk(this.columns.chunk[i]))[this.columns.place[i]];
  }

  chunk(number) {
    const bodies = this.chunks.get(number) ?? unpacked(`chunk-${number}`);
    this.chunks.delete(number);
    this.chunks.set(number, bodies);
    if (this.chunks.size > HELD_CHUNKS) this.chunks.delete(this.chunks.keys().next().value);
    return bodies;
  }

  // the mean return of an agent, or of all of them
  paid(i, agent) {
    const returns = this.columns.returns[i];
    const values = agent ? [returns[agent]] : Object.values(returns);
    const numbers = values.filter((value) => typeof value === "number");
    return numbers.length ? numbers.reduce((a, b) => a + b, 0) / numbers.length : NaN;
  }

  // Marks in `hits` the episodes that hold `text`; calls `told(share)` now and then, and stops when
  // it answers false.
  async search(text, hits, told) {
    const wanted = plain(text);
    const numbers = [...this.byChunk.keys()];
    let last = performance.now();
    for (let done = 0; done < numbers.length; done++) {
      const number = numbers[done];
      const episodes = this.byChunk.get(number);
      const texts = await this.textsOf(number);
      for (const i of episodes) {
        const found = texts[this.columns.place[i]].includes(wanted);
        hits[i] = found || this.columns.seed[i].includes(wanted) ? 1 : 0;
      }
      if (performance.now() - last > 60) {
        await new Promise((resume) => setTimeout(resume)); // let the page be drawn
        last = performance.now();
        if (told((done + 1) / numbers.length) === false) return false;
      }
    }
    return told(1) !== false;
  }

  async textsOf(number) {
    let texts = this.texts.get(number);
    if (!texts) {
      texts = (await unpacked(`chunk-${number}`)).map(searchable);
      const length = texts.reduce((sum, one) => sum + one.length, 0);
      if (this.held + length < HELD_TEXT) {
        this.held += length;
        this.texts.set(number, texts);
      }
    }
    return texts;
  }
}
