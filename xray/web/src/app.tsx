// The page: the header, what is stuck, the picture, and the story of one object.

import { useEffect, useRef, useState } from 'preact/hooks'
import { plural, pluralOf, span } from './event'
import { Header } from './header'
import { Picture } from './picture'
import type { Player } from './player'
import { StepBar, whatIsHeld } from './steps'
import type { Chosen } from './story'
import { StoryView } from './storyview'
import { type Report, reports, type Trouble, troubles } from './troubles'

const shownTroubles = 4
const remembered = 20_000 // events in which a story is looked for

export function App({ player }: { player: Player }) {
  const [, draw] = useState(0)
  const [chosen, choose] = useState<Chosen>()
  useEffect(() => {
    // At most 20 pictures a second, and none in a tab that nobody sees.
    let frame = 0
    let drawn = 0
    const tick = (at: number) => {
      frame = requestAnimationFrame(tick)
      if (at - drawn < 50) return
      drawn = at
      player.tick()
      draw((n) => n + 1)
    }
    frame = requestAnimationFrame(tick)
    return () => cancelAnimationFrame(frame)
  }, [player])
  useEffect(() => {
    const drop = (e: DragEvent) => {
      e.preventDefault()
      const file = e.dataTransfer?.files[0]
      if (e.type === 'drop' && file) void file.text().then((text) => player.open(text, file.name))
    }
    for (const type of ['dragover', 'drop'] as const) addEventListener(type, drop)
    return () => { for (const type of ['dragover', 'drop'] as const) removeEventListener(type, drop) }
  }, [player])
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement || e.ctrlKey || e.metaKey || e.altKey) return
      if (e.key === 'Escape') choose(undefined)
      else if (e.key === 'p') player.paused ? player.resume() : player.pause()
      else if (e.key === 'ArrowLeft') player.seek(player.played - 1)
      else if (e.key === 'ArrowRight') player.seek(player.played + 1)
      else return
      e.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [player])

  const { machine, now } = player
  // What somebody holds is not stuck.
  const held = player.source === 'live' && !player.paused ? whatIsHeld(player.steps) : ''
  const found = troubles(machine, now).filter((t) => !(player.steps?.holding && t.byReconcile))
  const empty = player.events.length === 0
  const said = useAnnounced(found)
  return <>
    <Header player={player} chosen={chosen} choose={choose} />
    {player.steps && player.source === 'live' && <StepBar player={player} steps={player.steps} />}
    {player.error && <p class="error" role="alert">{player.error}</p>}
    <p class="unseen" role="status">{said}</p>
    {!empty && <Troubles found={found} reported={reports(machine, now)} held={held} choose={choose} />}
    <main>
      {empty ? <Empty player={player} /> : <Picture machine={machine} now={now} troubles={found} choose={choose} />}
      {chosen && <StoryView chosen={chosen} events={player.events.slice(Math.max(0, player.played - remembered), player.played)} machine={machine} now={now} close={() => choose(undefined)} choose={choose} />}
    </main>
  </>
}

interface TroublesProps { found: Trouble[]; reported: Report[]; held: string; choose: (c: Chosen) => void }

/** Troubles says what is stuck of the machinery, and then which objects say that they are. */
function Troubles({ found, reported, held, choose }: TroublesProps) {
  return <section class="troubles" aria-label="Troubles">
    {held && <p class="held">Held by step mode: {held}.</p>}
    {!held && found.length === 0 && <p class="fine">No queue, watch or worker is stuck.</p>}
    <ul>
      {found.slice(0, shownTroubles).map((t) => <li key={t.id}>
        {t.text}
        {t.key && <> <button class="link" onClick={() => choose({ kinds: t.kinds, name: t.key })}>Its story</button></>}
      </li>)}
      {reported.map((r) => <li key={`says ${r.kind}`} class="says">
        <button class="link" onClick={() => choose({ kinds: [r.kind], name: r.key })}>{r.kind} {r.key}</button> isn’t getting anywhere: {r.reason}, for {span(r.since)}.
        {r.more > 0 && ` ${plural(r.more, 'more object').replace(/objects?$/, r.more > 1 ? pluralOf(r.kind) : r.kind)} too.`}
      </li>)}
    </ul>
    {found.length > shownTroubles && <p class="quiet">and {plural(found.length - shownTroubles, 'more trouble')}</p>}
  </section>
}

/**
 * useAnnounced returns what a screen reader is to say: a trouble when it comes, and not each time
 * that a number in its sentence changes.
 */
function useAnnounced(found: Trouble[]): string {
  const known = useRef(new Set<string>())
  const said = useRef('')
  const fresh = found.filter((t) => !known.current.has(t.id))
  if (fresh.length > 0) said.current = fresh.map((t) => t.text).join(' ')
  if (found.length === 0) said.current = ''
  known.current = new Set(found.map((t) => t.id))
  return said.current
}

function Empty({ player }: { player: Player }) {
  if (player.source === 'live') return <p class="empty">{player.connected ? 'Nothing has been recorded yet.' : 'Waiting for the program.'}</p>
  return <p class="empty">Drop a recording here, or open one: a file that X-ray has saved.</p>
}
