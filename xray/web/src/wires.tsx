// The wires of the loop, and the objects that travel along them. They run in the gutters between the
// boxes, whose places are measured.

import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Group } from './groups'
import type { Machine } from './machine'

interface Props {
  loop: RefObject<HTMLDivElement>
  machine: Machine
  kinds: string[]
  controllers: Group[]
  now: number
}

/** Wire leads from one box to another. at is when something last took it. */
interface Wire {
  id: string
  at: number
  d: string
}

const travels = 900 // milliseconds

export function Wires({ loop, machine, kinds, controllers, now }: Props) {
  const svg = useRef<SVGSVGElement>(null)
  const [drawn, draw] = useState<Wire[]>([])
  useLayoutEffect(() => {
    const box = loop.current?.getBoundingClientRect()
    if (!box || getComputedStyle(svg.current!).display === 'none') return
    const wires = measure(loop.current!, box, machine, kinds, controllers)
    if (JSON.stringify(wires) !== JSON.stringify(drawn)) draw(wires)
  })
  return <svg ref={svg} class="wires" aria-hidden="true">
    {drawn.map((w) => <path key={w.id} d={w.d} class={`${w.id.split(' ')[0]} ${now - w.at < travels ? 'fresh' : ''}`} />)}
    <path class="head" d={head(drawn)} />
    {drawn.filter((w) => now - w.at < travels).map((w) =>
      <circle key={`${w.id} ${w.at}`} class="traveller" r="5" style={{ offsetPath: `path("${w.d}")`, animationDuration: `${travels}ms` }} />)}
  </svg>
}

/** head is the arrow at which the writes arrive. */
function head(wires: Wire[]): string {
  const end = /L([\d.]+),([\d.]+)$/.exec(wires.find((w) => w.id === 'rail')?.d ?? '')
  return end ? `M${Number(end[1]) - 8},${end[2]} l10,-6 v12 z` : ''
}

function measure(loop: HTMLElement, box: DOMRect, machine: Machine, kinds: string[], controllers: Group[]): Wire[] {
  const place = (selector: string) => {
    const r = loop.querySelector(selector)?.getBoundingClientRect()
    return r && { left: Math.round(r.left - box.left), right: Math.round(r.right - box.left), bottom: Math.round(r.bottom - box.top),
      middle: Math.round(r.top + r.height / 2 - box.top) }
  }
  const server = place('.server')
  const back = place('.back')
  if (!server || !back) return []
  const wires: Wire[] = []
  for (const kind of kinds) {
    const to = place(`[data-kind="${CSS.escape(kind)}"]`)
    if (to) wires.push({ id: `feed ${kind}`, at: machine.watched.get(kind)?.events.lastAt ?? 0, d: `M${server.right},${to.middle} L${to.left - 2},${to.middle}` })
  }
  const rail = Math.round(box.width) - 6
  const end = place('.controllers > :last-child')
  if (end) wires.push({ id: 'rail', at: 0, d: `M${rail},${end.middle} L${rail},${back.middle} L${server.right + 9},${back.middle}` })
  for (const g of controllers) {
    const box = place(`[data-controller="${CSS.escape(g.name)}"]`)
    if (!box) continue
    for (const kind of kinds) {
      const asked = g.queues.map((c) => c.sources.get(kind)).filter((s) => s !== undefined)
      const from = place(`[data-kind="${CSS.escape(kind)}"]`)
      if (asked.length === 0 || !from) continue
      const middle = Math.round((from.right + box.left) / 2)
      wires.push({ id: `ask ${kind} ${g.name}`, at: Math.max(...asked.map((s) => s.lastAt)),
        d: `M${from.right + 2},${from.middle} C${middle},${from.middle} ${middle},${box.middle} ${box.left - 2},${box.middle}` })
    }
    const wrote = g.queues.flatMap((c) => c.writes.at(-1)?.at ?? [])
    if (wrote.length > 0) {
      wires.push({ id: `write ${g.name}`, at: Math.max(...wrote), d: `M${box.right + 2},${box.middle} L${rail},${box.middle} L${rail},${back.middle} L${server.right + 9},${back.middle}` })
    }
  }
  return wires
}
