// One try, from its question to what has come of it. It sends the commands, and looks at each picture
// for the end.

import type { Cluster } from './cluster'
import { type About, commandsOf, type Moment, type Question, type Try } from './tries'

export class Trial {
  phase: 'asked' | 'running' | 'over' | 'refused' = 'asked'
  picked = -1 // of the answers
  hurries = false // the reader doesn't want to wait
  text = '' // what has happened, or why not
  readonly question: Question
  readonly lines: string[]
  private before: Moment

  constructor(readonly what: Try, readonly about: About, now: Moment) {
    this.question = what.question(now, about)
    this.lines = what.lines(now, about)
    this.before = now
  }

  /** run does it. echo gets the lines of kubectl, and what they print. */
  async run(cluster: Cluster, now: Moment, echo: (text: string) => void) {
    this.before = now
    this.phase = 'running'
    try {
      for (const command of commandsOf(this.what, now, this.about)) {
        if (command.do === 'kubectl') echo(`$ ${command.line}\n`)
        await cluster.send(command, echo)
      }
    } catch (e) {
      this.phase = 'refused'
      this.text = (e as Error).message
      echo(`${this.text}\n`)
    }
  }

  /** look returns true when it has just come to its end. */
  look(now: Moment): boolean {
    if (this.phase !== 'running' || !this.what.over(now, this.before, this.about)) return false
    this.text = this.what.says(now, this.before, this.about)
    this.phase = 'over'
    return true
  }

  /** lasted is how long it has run, in the world's ms. */
  lasted(now: Moment): number { return this.phase === 'running' ? now.time - this.before.time : 0 }
}
