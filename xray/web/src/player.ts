// The player: where events come from, and which of them have been played.

import { type Event, parse, parseRecording } from './event'
import { Machine } from './machine'

/** kept bounds what a page that is open for a day has in memory. */
const kept = 200_000

/** Steps is the state of the buttons of step mode. */
export interface Steps {
  workers: boolean // can be held
  holding: boolean
  watched: string[]
  held: string[]
  loseNext: boolean
  leases: boolean // there are some
  cutLease: boolean
}

export type Source = 'none' | 'live' | 'file'

export class Player {
  source: Source = 'none'
  program = ''
  connected = false
  error = ''
  paused = false
  speed = 1
  events: Event[] = []
  lost = 0 // events that came too fast
  played = 0 // how many of events are in the machine
  machine = new Machine()
  steps: Steps | undefined

  private start = new Machine() // what the events lead on from
  private started = ''
  private offset = 0 // of the program's clock to ours
  private at = 0 // the moment that is shown, when it is not the present
  private ticked = 0
  private stream: EventSource | undefined

  /** connect shows a live program. */
  connect(url: string) {
    this.reset('live')
    this.stream = new EventSource(url)
    this.stream.addEventListener('hello', (message) => {
      const hello = JSON.parse(message.data) as { program: string; started: string; now: string }
      if (this.started && this.started !== hello.started) this.clear() // the program has started again
      this.started = hello.started
      this.program = hello.program
      this.offset = Date.parse(hello.now) - Date.now()
      this.connected = true
    })
    this.stream.addEventListener('lost', (message) => { this.lost += Number(message.data) })
    this.stream.addEventListener('steps', (message) => { this.steps = JSON.parse(message.data) as Steps })
    this.stream.onmessage = (message) => this.add((message.data as string).split('\n').map(parse))
    this.stream.onerror = () => { this.connected = false }
  }

  /** feed shows a program that is in this page: lines are what trace.WriteState and WriteJSON write. */
  feed(program: string, lines: string) {
    if (this.source !== 'live') this.reset('live')
    Object.assign(this, { program, connected: true })
    this.add(lines.trimEnd().split('\n').map(parse))
  }

  /** open shows a file. */
  open(text: string, name: string) {
    try {
      const events = parseRecording(text)
      this.reset('file')
      this.program = name
      this.events = events
      this.seek(events.length)
      this.paused = true
    } catch (e) {
      this.error = (e as Error).message
    }
  }

  private reset(source: Source) {
    this.stream?.close()
    Object.assign(this, { source, program: '', started: '', connected: false, error: '', paused: false, steps: undefined })
    this.clear()
  }

  private clear() {
    Object.assign(this, { events: [], played: 0, lost: 0, machine: new Machine(), start: new Machine(), at: 0 })
  }

  private add(events: Event[]) {
    this.events.push(...events)
    if (this.events.length > kept) {
      const gone = this.events.splice(0, this.events.length - kept)
      for (const e of gone) this.start.note(e)
      if (this.played < gone.length) this.machine = this.start.copy()
      this.played = Math.max(0, this.played - gone.length)
    }
  }

  /** live is true while the present is shown. */
  get live() { return this.source === 'live' && !this.paused }

  /** now is the moment that is shown. */
  get now(): number {
    if (this.live) return Date.now() + this.offset
    return this.at || this.events[this.played - 1]?.at || 0
  }

  /** tick plays what is due, and reports whether there is something to draw. */
  tick(): boolean {
    const elapsed = Math.min(1000, performance.now() - this.ticked)
    this.ticked = performance.now()
    if (this.live) {
      this.play(this.events.length)
      return true
    }
    if (this.paused || this.source !== 'file') return false
    this.at = this.now + elapsed * this.speed
    let until = this.played
    while (until < this.events.length && this.events[until]!.at <= this.at) until++
    this.play(until)
    if (until === this.events.length) this.paused = true
    return true
  }

  private play(until: number) {
    for (; this.played < until; this.played++) this.machine.note(this.events[this.played]!)
  }

  /** press sends a button of step mode to the program. */
  async press(button: string, resource = '') {
    try {
      const answer = await fetch('steps', { method: 'POST', body: JSON.stringify({ do: button, resource }) })
      this.error = answer.ok ? '' : await answer.text()
    } catch (e) {
      this.error = `The program does not answer: ${(e as Error).message}.`
    }
  }

  pause() {
    this.at = this.now
    this.paused = true
  }

  /** resume goes on from here in a file, and to the present of a live program. */
  resume() {
    this.paused = false
    this.ticked = performance.now()
    if (this.source === 'file' && this.played === this.events.length) this.seek(0)
    this.paused = false
  }

  /** seek shows the moment after so many events. */
  seek(played: number) {
    this.paused = true
    if (played < this.played) {
      this.machine = this.start.copy()
      this.played = 0
    }
    const first = this.events[0]?.state ? 1 : 0 // what the recorder has forgotten is no moment
    this.play(Math.max(first, Math.min(played, this.events.length)))
    this.at = this.events[this.played - 1]?.at ?? this.events[0]?.at ?? 0
  }
}
