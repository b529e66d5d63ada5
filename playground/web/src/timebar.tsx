// The reader owns time.

import type { WorldClock } from './cluster'

const ten = 600_000

export function TimeBar({ clock, again }: { clock: WorldClock; again: () => void }) {
  const { speed } = clock
  const fast = speed === Infinity
  return <div class="time" role="group" aria-label="Time">
    <button class="run" onClick={() => (speed === 0 ? clock.run() : clock.pause())}>{speed === 0 ? 'Run' : 'Pause'}</button>
    <button aria-pressed={speed === 0.1} onClick={() => (speed === 0.1 ? clock.run() : clock.slow())}>Slow</button>
    <button onClick={() => clock.step()} title="On to the next thing that happens, and stop">Step</button>
    <button aria-pressed={fast} disabled={fast} onClick={() => clock.fast(ten)} title="As fast as it can, for ten minutes">Skip 10 min</button>
    <output aria-label="The cluster’s time">{hours(clock.now)}{fast ? ' …' : speed === 0 ? ' paused' : speed < 1 ? ' slow' : ''}</output>
    <button class="again" onClick={again}>Start over</button>
  </div>
}

const two = (n: number) => String(Math.floor(n)).padStart(2, '0')

/** hours is how long the cluster has run. */
export const hours = (ms: number) => `${two(ms / 3_600_000)}:${two(ms / 60_000 % 60)}:${two(ms / 1000 % 60)}.${Math.floor(ms / 100 % 10)}`
