// The buttons: what users do, and what goes wrong. A button that can't do anything now says why.

import * as faults from './faults'
import * as tries from './tries'
import type { About, Moment, Try } from './tries'

interface Props {
  moment: Moment
  deployment: string
  small: boolean
  press: (t: Try, about: About) => void
}

export function Buttons({ moment, deployment, small, press }: Props) {
  const about: About = { deployment }
  const d = tries.deploymentOf(moment, about)
  const button = (t: Try, more: About = {}, label = t.label) => {
    const all = { ...about, ...more }
    const why = t.cannot(moment, all)
    return <button key={t.id + label} data-try={t.id} aria-disabled={why !== ''} title={why || t.lines(moment, all).join('\n')} onClick={() => press(t, all)}>{label}</button>
  }
  const state = moment.state
  const held = state.processes.some((p) => p.leads && p.held.includes('pods'))
  const alone = state.processes.length < 2
  const alive = state.processes.filter((p) => p.alive).length
  return <div class="buttons">
    <p role="group" aria-label="What users do">
      {d ? <>
        {button(tries.scaleUp, { replicas: d.wanted + 1 })}
        {button(tries.scaleDown, { replicas: d.wanted - 1 })}
        {button(tries.setImage, { image: nextImage(d.image) }, `Image ${nextImage(d.image)}`)}
        {button(tries.breakIt)}
        {button(tries.rollback)}
        {!small && (d.paused ? button(tries.resume) : button(tries.pause))}
        {!small && button(tries.deleteForeground)}
      </> : button(tries.create)}
    </p>
    {!small && <p role="group" aria-label="What goes wrong" class="faults">
      {held ? button(faults.releaseWatch) : button(faults.holdWatch)}
      {button(faults.cutWatch)}
      {button(faults.expireWatch)}
      {button(faults.loseAnswer)}
      {alone ? button(faults.twoReplicas) : alive < 2 ? button(faults.startProcess) : button(faults.killLeader)}
    </p>}
  </div>
}

/** nextImage is web:2 after web:1, and web:2 after one that doesn't work. */
export function nextImage(image: string): string {
  const [, name, version] = /^([^/]+):(\d+)$/.exec(image) ?? []
  return name ? `${name}:${Number(version) + 1}` : 'web:2'
}
