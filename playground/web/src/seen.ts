// What the page knows of its cluster: the newest state, and for each process a machine, which folds
// its events. A page draws it once a frame.

import { type Event, parse } from '../../../xray/web/src/event'
import { Machine } from '../../../xray/web/src/machine'
import type { Heard, State } from './messages'
import type { Moment } from './tries'

const kept = 10_000 // events of a process, for stories

/** Observed is what is known of one process. */
interface Observed {
  machine: Machine
  events: Event[]
}

export class Seen {
  state: State | undefined
  private processes = new Map<string, Observed>()
  private counts = new Map<string, number>() // see Moment.count

  /** take returns true if there's something new to draw. */
  take(m: Heard): boolean {
    switch (m.is) {
      case 'state':
        this.state = m.state
        for (const p of m.state.processes) if (!p.alive) this.processes.delete(p.name) // nobody looks at it any more
        return true
      case 'events':
        this.note(m.from, m.lines)
        return true
    }
    return false
  }

  private note(from: string, lines: string) {
    let process = this.of(from)
    for (const line of lines.trimEnd().split('\n')) {
      const e = parse(line)
      if (e.seq === 1) process = this.anew(from) // of a new world
      process.machine.note(e)
      process.events.push(e)
      if (e.kind !== 'list' && e.kind !== 'watch start') continue
      const what = `${e.kind} ${e.object}`
      this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
    }
    if (process.events.length > 2 * kept) process.events.splice(0, process.events.length - kept)
  }

  private of(process: string) { return this.processes.get(process) ?? this.anew(process) }

  private anew(name: string): Observed {
    const process = { machine: new Machine(), events: [] }
    this.processes.set(name, process)
    return process
  }

  /** moment is what is so now, and stays like that. */
  moment(time: number): Moment | undefined {
    const counts = new Map(this.counts)
    return this.state && { state: this.state, time, count: (what) => counts.get(what) ?? 0 }
  }

  /** working is the process whose controllers work. */
  get working(): Observed {
    const alive = this.state?.processes.filter((p) => p.alive) ?? []
    return this.of((alive.find((p) => p.leads) ?? alive[0])?.name ?? 'mini-1')
  }
}
