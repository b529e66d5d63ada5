// Step mode: buttons that disturb the program, so that one can see what follows.

import { useState } from 'preact/hooks'
import type { Player, Steps } from './player'

/** whatIsHeld says what the buttons of step mode keep from going on. */
export function whatIsHeld(steps: Steps | undefined): string {
  if (!steps) return ''
  return [steps.holding ? 'the workers' : '', ...steps.held.map((w) => `the watch of ${w}`), steps.cutLease ? 'the lease' : '']
    .filter(Boolean).join(', ')
}

/** StepBar has the buttons that disturb the program, so that one can see what follows. */
export function StepBar({ player, steps }: { player: Player; steps: Steps }) {
  const [chosen, choose] = useState('')
  const watched = steps.watched.includes(chosen) ? chosen : steps.watched[0] ?? ''
  const held = steps.held.includes(watched)
  const button = (text: string, press: string, resource = '') => <button disabled={player.paused} onClick={() => void player.press(press, resource)}>{text}</button>
  return <section class="steps" aria-label="Step mode">
    {steps.workers && <>
      <span>workers</span>
      {steps.holding ? <>{button('One step', 'one step')}{button('Go on', 'release workers')}</> : button('Hold', 'hold workers')}
    </>}
    {watched && <>
      <label>watch of <select value={watched} onChange={(e) => choose(e.currentTarget.value)}>{steps.watched.map((w) => <option key={w}>{w}</option>)}</select></label>
      {held ? button('Go on', 'release watch', watched) : button('Hold', 'hold watch', watched)}
      {button('Cut', 'drop watch', watched)}
      {button('410 Gone', 'expire watch', watched)}
    </>}
    <span>next write</span>
    {steps.loseNext ? <b>its answer will be lost</b> : button('Lose the answer', 'lose an answer')}
    {steps.leases && <>
      <span>lease</span>
      {steps.cutLease ? button('Reach it again', 'restore the lease') : button('Cut off', 'cut the lease')}
    </>}
  </section>
}
