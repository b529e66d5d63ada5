// The worker: Go's program, its clock, and the way of the messages. What comes within a sixtieth of a
// second is one message to the page, with no more than one picture of the world in it.

import 'go/wasm_exec.js'
import { Clock } from '../clock.js'

/** ToWorker is what the page sends. */
export type ToWorker =
  | { module: WebAssembly.Module }
  | { send: string }
  | { clock: 'run' | 'fast'; value: number }
  | { clock: 'pause' | 'step' }

/** FromWorker is what it gets: messages, and what time it was when they were sent. */
export interface FromWorker {
  texts: string[]
  began: number // when the world began, in ms since 1970
  now: number // its ms since then
  speed: number
  ended?: string
}

interface Go {
  importObject: WebAssembly.Imports
  run(instance: WebAssembly.Instance): Promise<void>
}
interface Worker {
  Go: new () => Go
  playgroundHear: (text: string) => void
  playgroundSend: (text: string) => void
  postMessage: (message: FromWorker) => void
  onmessage: (event: MessageEvent<ToWorker>) => void
}
const worker = globalThis as unknown as Worker

const frame = 16
const steps = 200 // timers that a step fires at most, until something happens

let texts: string[] = []
let picture = -1 // where in texts the state is
let sending = false
let changed = false // since the last step

// A browser makes each timer wait for 4 ms, and a world that goes as fast as it can has thousands.
const now = new MessageChannel()
const due = new Map<number, () => void>()
let lastDue = 0
now.port1.onmessage = (event: MessageEvent<number>) => {
  const f = due.get(event.data)
  due.delete(event.data)
  f?.()
}

const began = Date.now()
const clock = new Clock({
  wall: began,
  setTimer: (f: () => void, ms: number) => {
    if (ms > 0) return setTimeout(f, ms)
    due.set(--lastDue, f)
    now.port2.postMessage(lastDue)
    return lastDue
  },
  clearTimer: (id: number) => (id < 0 ? due.delete(id) : clearTimeout(id)),
})
clock.onSpeed(() => later())

function later() {
  if (sending) return
  sending = true
  setTimeout(flush, frame)
}

function flush(ended?: string) {
  sending = false
  worker.postMessage({ texts: texts.filter(Boolean), began, now: clock.now(), speed: clock.speed, ended })
  texts = []
  picture = -1
}

worker.playgroundHear = (text) => {
  if (text.startsWith('{"is":"state"')) {
    if (picture >= 0) texts[picture] = ''
    picture = texts.length
    changed = true
  }
  changed ||= text.startsWith('{"is":"events"')
  texts.push(text)
  later()
}

/** step goes on until there's something to see. */
function step() {
  changed = false
  for (let i = 0; i < steps && !changed && clock.step(); i++);
  later()
}

async function run(module: WebAssembly.Module) {
  const go = new worker.Go()
  clock.drive(go)
  clock.run()
  try {
    await go.run(await WebAssembly.instantiate(module, go.importObject))
    flush('the program has ended')
  } catch (e) {
    flush(String(e))
  }
}

worker.onmessage = ({ data }) => {
  if ('module' in data) void run(data.module)
  else if ('send' in data) worker.playgroundSend(data.send)
  else if (data.clock === 'run') clock.run(data.value)
  else if (data.clock === 'fast') clock.fast(data.value)
  else if (data.clock === 'pause') clock.pause()
  else step()
}
