// A cluster that runs in the page: a Web Worker with the program in it. Nothing is loaded until
// somebody wants one.
//
//   const cluster = await Cluster.load(base)            // base is the folder of playground.wasm.gz
//   const off = cluster.on((message) => { ... })        // states, events, and whatever else comes
//   await cluster.send({ do: 'start' })                 // rejects with what the cluster says
//   const watch = cluster.begin({ do: 'kubectl', line: 'get pods -w' }, (text) => { ... })
//   watch.cancel()
//   cluster.clock.fast(600_000)                         // ten minutes, at once

import type { Command, Heard } from './messages'
import type { FromWorker, ToWorker } from './worker'
import PlaygroundWorker from './worker?worker&inline'

/** Begun is a command that runs. */
export interface Begun {
  id: number // which press and cancel want
  done: Promise<void>
  cancel(): void // as Ctrl-C does
}

interface Waiting {
  output: (text: string) => void
  words: string[]
  resolve: () => void
  reject: (e: Error) => void
}

export class Cluster {
  readonly clock: WorldClock
  private lastID = 0
  private closed = '' // why
  private waiting = new Map<number, Waiting>()
  private listeners = new Set<(message: Heard) => void>()

  /** load starts a cluster's program. Its error says what to do. */
  static async load(base: string): Promise<Cluster> {
    const worker = new PlaygroundWorker() // which starts while the program is compiled
    return new Promise((resolve, reject) => {
      const failed = (why: string) => reject(new Error(`The program doesn't start here: ${why}. Try another browser.`))
      const cluster = new Cluster(worker, () => resolve(cluster))
      worker.onerror = (e) => cluster.ends(e.message || 'the browser allows no worker')
      cluster.on((m) => { if (m.is === 'ended') failed(m.error) })
      moduleOf(base).then((module) => cluster.post({ module }), (e: Error) => { worker.terminate(); reject(e) })
    })
  }

  private constructor(private worker: Worker, private ready: () => void) {
    this.clock = new WorldClock((order) => this.post(order))
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.hear(data)
  }

  private post(message: ToWorker) { this.worker.postMessage(message) }

  private hear({ texts, began, now, speed, ended }: FromWorker) {
    const before = this.clock.speed
    this.clock.is(began, now, speed)
    if (speed !== before) this.tell({ is: 'clock' })
    for (const text of texts) {
      const message = JSON.parse(text) as Heard | { is: 'ready' }
      if (message.is === 'ready') this.ready()
      else this.take(message)
    }
    if (ended !== undefined) this.ends(ended)
  }

  private ends(why: string) {
    this.tell({ is: 'ended', error: why })
    this.close(`The program has ended: ${why}`)
  }

  private take(message: Heard) {
    if ('id' in message) {
      const command = this.waiting.get(message.id)
      if (message.is === 'output') command?.output(message.text)
      if (message.is === 'words') command?.words.push(...message.words)
      if (message.is === 'done') {
        this.waiting.delete(message.id)
        if (message.error) command?.reject(new Error(message.error))
        else command?.resolve()
      }
    }
    this.tell(message)
  }

  private tell(message: Heard) { for (const listener of this.listeners) listener(message) }

  /** on calls a listener with all that is heard, until the function that it returns is called. */
  on(listener: (message: Heard) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** begin sends a command that may go on for long. */
  begin(command: Command, output: (text: string) => void = () => {}): Begun {
    const { id, done } = this.ask(command, output)
    return { id, done, cancel: () => { this.send({ do: 'cancel', of: id }).catch(() => {}) } }
  }

  /** send sends a command, and resolves when it's done. */
  send(command: Command, output?: (text: string) => void): Promise<void> {
    return this.begin(command, output).done
  }

  /** complete returns what the last word of a line can become. */
  async complete(line: string): Promise<string[]> {
    const { done, words } = this.ask({ do: 'complete', line }, () => {})
    await done
    return words
  }

  private ask(command: Command, output: (text: string) => void) {
    const id = ++this.lastID
    const words: string[] = []
    const done = new Promise<void>((resolve, reject) => {
      if (this.closed) return reject(new Error(this.closed))
      this.waiting.set(id, { output, words, resolve, reject })
      this.post({ send: JSON.stringify({ id, ...command }) })
    })
    return { id, done, words }
  }

  /** close ends the cluster. What still runs is rejected. */
  close(why = 'the cluster was closed') {
    this.closed ||= why
    this.worker.terminate()
    for (const { reject } of this.waiting.values()) reject(new Error(this.closed))
    this.waiting.clear()
    this.listeners.clear()
  }
}

/** WorldClock is the time in the cluster, which the page drives. */
export class WorldClock {
  speed = 1 // 0 is paused, Infinity is as fast as it can
  began = 0 // when it was 0 there, in ms since 1970
  private at = 0
  private since = 0

  constructor(private order: (o: ToWorker) => void) {}

  /** is takes over what the worker says. */
  is(began: number, now: number, speed: number) {
    this.began = began
    this.at = now
    this.since = performance.now()
    this.speed = speed
  }

  /** The ms that have passed in the cluster. */
  get now(): number {
    return Number.isFinite(this.speed) ? this.at + (performance.now() - this.since) * this.speed : this.at
  }

  run(speed = 1) { this.order({ clock: 'run', value: speed }) }
  slow() { this.run(0.1) }
  pause() { this.order({ clock: 'pause' }) }
  /** step goes on until there's something to see, and stops there. */
  step() { this.order({ clock: 'step' }) }
  /** fast passes so many ms as fast as it can, and goes on as before. */
  fast(ms: number) { this.order({ clock: 'fast', value: ms }) }
}

// A page compiles the program once, however many clusters it has.
const modules = new Map<string, Promise<WebAssembly.Module>>()

function moduleOf(base: string): Promise<WebAssembly.Module> {
  let module = modules.get(base)
  if (!module) {
    module = compile(base)
    modules.set(base, module)
    module.catch(() => modules.delete(base)) // so that one can try again
  }
  return module
}

async function compile(base: string): Promise<WebAssembly.Module> {
  if (typeof WebAssembly !== 'object') {
    throw new Error('This browser has no WebAssembly, or it is switched off. Switch it on, or try another browser.')
  }
  const bytes = await bytesOf(base)
  const [a, b, c, d] = bytes
  let program: ReadableStream<Uint8Array> = new Blob([bytes]).stream()
  if (a === 0x1f && b === 0x8b) program = program.pipeThrough(new DecompressionStream('gzip') as ReadableWritablePair<Uint8Array, Uint8Array>)
  else if (a !== 0 || b !== 0x61 || c !== 0x73 || d !== 0x6d) { // some servers have unpacked it already
    throw new Error(`${base}playground.wasm.gz is something else than the program. Is the folder complete? \`make playground\` makes it.`)
  }
  try {
    return await WebAssembly.compileStreaming(new Response(program as ReadableStream<Uint8Array<ArrayBuffer>>, { headers: { 'Content-Type': 'application/wasm' } }))
  } catch (e) {
    throw new Error(`The program has arrived damaged (${(e as Error).message}). Reload the page.`)
  }
}

async function bytesOf(base: string): Promise<Uint8Array<ArrayBuffer>> {
  if (base.startsWith('file:')) return fromScript(base)
  let answer: Response
  try {
    answer = await fetch(`${base}playground.wasm.gz`)
  } catch {
    throw new Error(`${base}playground.wasm.gz can't be reached. Is the network there? Then try again.`)
  }
  if (!answer.ok) throw new Error(`${base}playground.wasm.gz can't be loaded: ${answer.status}. \`make playground\` makes it.`)
  try {
    return new Uint8Array(await answer.arrayBuffer())
  } catch {
    throw new Error('The connection was cut while the program was loading. Try again.')
  }
}

/** A page from file:// may not fetch, but it may load scripts: there the program is text in one. */
async function fromScript(base: string): Promise<Uint8Array<ArrayBuffer>> {
  const url = `${base}playground.wasm.js`
  await new Promise((resolve, reject) => {
    const failed = () => reject(new Error(`${url} can't be loaded. \`make playground\` makes it.`))
    document.head.append(Object.assign(document.createElement('script'), { src: url, onload: resolve, onerror: failed }))
  })
  const there = globalThis as { loopwrightPlaygroundProgram?: string }
  const text = there.loopwrightPlaygroundProgram
  delete there.loopwrightPlaygroundProgram
  if (!text) throw new Error(`${url} is not complete. \`make playground\` makes it anew.`)
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0))
}
