// A chapter's program that runs in the page: what it has printed, what X-ray knows of it, and the
// buttons that disturb it. It says when there's something new to draw, and draws nothing itself.

import { Player } from '../../../xray/web/src/index'
import type { Begun, Cluster, WorldClock } from './cluster'

/** Live is a player whose moment is that of the program's clock: it may be slow, or stand still. */
class Live extends Player {
  constructor(private clock: WorldClock) { super() }

  override get now() {
    return this.live ? Math.max(this.clock.began + this.clock.now, this.events.at(-1)?.at ?? 0) : super.now
  }
}

export type Phase = 'runs' | 'over' | 'stopped' | 'failed'

export class Program {
  phase: Phase = 'runs'
  output = ''
  error = ''
  watched: string[] = [] // the resources whose watches can be disturbed
  held: string[] = []
  readonly player: Player
  readonly began: number // on the cluster's clock
  ended: number | undefined
  private begun: Begun
  private off: () => void

  constructor(private cluster: Cluster, readonly name: string, private changed: () => void) {
    this.player = new Live(cluster.clock)
    this.began = cluster.clock.now
    this.off = cluster.on((m) => {
      if (m.is === 'events' && m.from === name) this.player.feed(name, m.lines)
      else if (m.is === 'lost' && m.from === name) this.player.lost += m.count
      else if (m.is === 'watches' && m.id === this.begun.id) Object.assign(this, { watched: m.watched ?? [], held: m.held ?? [] })
      else return
      changed()
    })
    this.begun = cluster.begin({ do: 'chapter', name }, (text) => {
      this.output += text
      changed()
    })
    this.begun.done.then(() => this.end('over'), (e: Error) => {
      this.error = e.message
      this.end('failed')
    })
  }

  private end(phase: Phase) {
    this.off()
    this.ended = this.cluster.clock.now
    if (this.phase === 'runs') this.phase = phase
    this.changed()
  }

  /** press disturbs the program's connection: see xray.Steps. */
  async press(name: string, resource = '') {
    try {
      await this.cluster.send({ do: 'press', of: this.begun.id, name, args: [resource] })
      this.error = ''
    } catch (e) {
      this.error = (e as Error).message
    }
    this.changed()
  }

  /** stop ends it, as Ctrl-C does. */
  stop() {
    if (this.phase !== 'runs') return
    this.phase = 'stopped'
    this.begun.cancel()
  }
}
