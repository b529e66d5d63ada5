// One kind: its watch and its cache.

import { plural, span } from './event'
import { recently, type Watched } from './machine'
import { last, perSecond } from './rate'

export function KindView({ w, now, stuck }: { w: Watched; now: number; stuck: boolean }) {
  const state = w.state === 'failing'
    ? `failing${w.failures > 1 ? `, ${w.failures} times` : ''}${w.retryAt > now ? `; again in ${span(w.retryAt - now)}` : ''}`
    : w.state
  // One line: what is as usual needs no word when there is something else to say.
  const echo = w.echoAt > 0 && now - w.echoAt < recently
  const words = [
    (w.state !== 'watching' || !echo) && state,
    !echo && w.version && `version ${w.version}`,
    w.relists > 0 && `${plural(w.relists, 'relist')}${w.relistReason && `: ${w.relistReason}`}`,
  ].filter(Boolean).join(' · ')
  return <article class={`kind ${w.state} ${stuck ? 'stuck' : ''} ${fresh(w.events.lastAt, now)}`} data-kind={w.kind} aria-label={w.kind}
    title={`${w.kind}: ${state}, version ${w.version || 'unknown'}, ${perSecond(w.events, now).toFixed(1)} events a second`}>
    <h3>{w.kind}</h3>
    <Sparkline values={halfMinute(w.events, now)} />
    <p class="cache">{w.objects < 0 ? <span class="quiet" title="The recording does not say how many there were.">objects: unknown</span>
      : <><b class="number">{w.objects.toLocaleString('en')}</b> <span class="quiet">object{w.objects === 1 ? '' : 's'}</span></>}</p>
    <p class="watch quiet">{words}{echo && <>{words && ' · '}<span class={`echo ${fresh(w.echoAt, now)}`}>own write back {span(Math.max(0, now - w.echoAt))} ago</span></>}</p>
    {w.state === 'failing' && <p class="why">{w.reason}</p>}
  </article>
}

/** fresh marks what has just changed. */
export const fresh = (at: number, now: number) => (now - at < 600 ? 'fresh' : '')

/** Sparkline is the last half minute. */
export function Sparkline({ values }: { values: number[] }) {
  const most = Math.max(1, ...values)
  return <svg class="sparkline" viewBox="0 0 60 14" aria-hidden="true">
    <polyline points={values.map((v, i) => `${i * 2},${13 - 12 * v / most}`).join(' ')} />
  </svg>
}

export const halfMinute = (r: Parameters<typeof last>[0], now: number) => last(r, 30, now)
